//! Emergency signal (1201) and external call (1202) from one CPU to another carry the sender's address;
//! a second external call finds the first pending (condition code 1, status 80).

use core::sync::atomic::{AtomicU32, Ordering};

use guests::externals::{self, EMERGENCY_SIGNAL, EXTERNAL_CALL};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, wait};
use guests::insn::cpu::{Order, stap};
use guests::insn::yield_cpu;
use guests::{psw, shows, smp};

guests::clause!(
    "SA22-7832, Chapter 4, Signal-Processor Orders; Chapter 6, External Interruption (emergency signal, external call)",
    native = true,
    cpus = 2
);
guests::case!(run);

static STAGE: AtomicU32 = AtomicU32::new(0);
static ADDRESS: AtomicU32 = AtomicU32::new(99);
static ANSWERS: AtomicU32 = AtomicU32::new(99);

fn wait_for(stage: u32) {
    while STAGE.load(Ordering::Acquire) != stage {
        yield_cpu();
    }
}

extern "C" fn second() -> ! {
    ADDRESS.store(stap().into(), Ordering::Release);
    let first = smp::signal(0, Order::ExternalCall, 0).0;
    let (second, status) = smp::signal(0, Order::ExternalCall, 0);
    let emergency = smp::signal(0, Order::EmergencySignal, 0).0;
    ANSWERS.store(
        status << 16 | u32::from(first) << 8 | u32::from(second) << 4 | u32::from(emergency),
        Ordering::Release,
    );
    STAGE.store(1, Ordering::Release);
    loop {
        yield_cpu();
    }
}

fn run() {
    externals::record();
    let cr0 = stctg_0();
    shows!("SIGP-2", smp::count() >= 2);
    smp::start(1, second);
    wait_for(1);
    shows!("SIGP-2", ADDRESS.load(Ordering::Acquire), 1);
    // The status of the second call; condition codes of the call, the second call, and the emergency signal.
    shows!(
        ["SIGP-3", "SIGP-4"],
        ANSWERS.load(Ordering::Acquire),
        0x80_0010
    );
    shows!("SIGP-5", smp::signal(0, Order::Sense, 0), (1, 0x80));
    lctlg_0(cr0 | EMERGENCY_SIGNAL | EXTERNAL_CALL);
    wait(psw::EXTERNAL);
    stnsm::<0xFE>();
    let (first, second) = (externals::get(0), externals::get(1));
    let number = externals::recorded();
    shows!(
        "EXTERNALINTERRUPTION-23",
        (number, first.code, second.code),
        (2, 0x1201, 0x1202)
    );
    shows!("EXTERNALINTERRUPTION-23", (first.cpu, second.cpu), (1, 1));
    shows!("SIGP-5", smp::signal(0, Order::Sense, 0), (0, 0));
    lctlg_0(cr0);
}
