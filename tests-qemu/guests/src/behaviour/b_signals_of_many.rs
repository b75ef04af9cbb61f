//! Emergency signals of several CPUs are pending together: one interruption for each, which names the CPU. (QEMU
//! sometimes leaves a started CPU asleep, hence not native.)

use core::sync::atomic::{AtomicU32, Ordering};

use guests::externals::{self, EMERGENCY_SIGNAL};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::cpu::{Order, stap};
use guests::insn::yield_cpu;
use guests::{shows, smp};

guests::clause!(
    "SA22-7832, Chapter 6, External Interruption (emergency signal)",
    native = false,
    cpus = 3
);
guests::case!(run);

static SIGNALLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn other() -> ! {
    for _ in 0..3 {
        smp::signal(0, Order::EmergencySignal, 0);
    }
    SIGNALLED.fetch_or(1 << stap(), Ordering::AcqRel);
    loop {
        yield_cpu();
    }
}

fn run() {
    externals::record();
    let cr0 = stctg_0();
    for cpu in [2, 1] {
        smp::start(cpu, other);
    }
    while SIGNALLED.load(Ordering::Acquire) != 0b110 {
        yield_cpu();
    }
    lctlg_0(cr0 | EMERGENCY_SIGNAL);
    stosm::<0x01>();
    stnsm::<0xFE>();
    lctlg_0(cr0);
    let mut cpus = [externals::get(0).cpu, externals::get(1).cpu];
    cpus.sort_unstable();
    let number = externals::recorded();
    shows!("EXTERNALINTERRUPTION-26", (number, cpus), (2, [1, 2]));
    smp::stop_others();
}
