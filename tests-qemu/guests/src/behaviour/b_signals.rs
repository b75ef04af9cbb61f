//! Emergency signal (1201) and external call (1202) from one CPU to another carry the sender's address;
//! a second external call finds the first pending (condition code 1, status 80).

use core::sync::atomic::{AtomicU32, Ordering};

use guests::check::check;
use guests::externals::{self, EMERGENCY_SIGNAL, EXTERNAL_CALL};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, wait};
use guests::insn::cpu::{Order, stap};
use guests::insn::yield_cpu;
use guests::{psw, smp};

guests::clause!(
    "Principles of Operation, SIGNAL PROCESSOR; External Interruption (emergency signal, external call)",
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
    check("CPUs", u16::from(smp::count() >= 2), 1);
    smp::start(1, second);
    wait_for(1);
    check(
        "address of the second CPU",
        ADDRESS.load(Ordering::Acquire),
        1,
    );
    check(
        "status of the second call; condition codes: call, call again, emergency",
        ANSWERS.load(Ordering::Acquire),
        0x80_0010,
    );
    lctlg_0(cr0 | EMERGENCY_SIGNAL | EXTERNAL_CALL);
    wait(psw::EXTERNAL);
    stnsm::<0xFE>();
    check("how many came", externals::recorded(), 2);
    check("first: code", externals::get(0).code, 0x1201);
    check("first: CPU address", externals::get(0).cpu, 1);
    check("second: code", externals::get(1).code, 0x1202);
    check("second: CPU address", externals::get(1).cpu, 1);
    lctlg_0(cr0);
}
