//! SIGNAL PROCESSOR, sense running status: a CPU that waits or is stopped is not running, and one that executes
//! instructions is. A program that senses it again and again sees each change.

use core::sync::atomic::{AtomicBool, Ordering};

use guests::externals::{self, EMERGENCY_SIGNAL};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, wait};
use guests::insn::cpu::Order;
use guests::insn::yield_cpu;
use guests::{psw, shows, smp};

guests::clause!(
    "SA22-7832, Chapter 4, Signal-Processor Orders (sense running status)",
    native = true,
    cpus = 2,
    options = "; --real-time"
);
guests::case!(run);

static MAY_WAIT: AtomicBool = AtomicBool::new(false);

/// Works, waits for an emergency signal, and works again.
extern "C" fn second() -> ! {
    externals::record();
    while !MAY_WAIT.load(Ordering::Acquire) {
        yield_cpu();
    }
    lctlg_0(stctg_0() | EMERGENCY_SIGNAL);
    wait(psw::EXTERNAL);
    stnsm::<0xFE>();
    loop {
        yield_cpu();
    }
}

const RUNNING: (u8, u32) = (0, 0);
const NOT_RUNNING: (u8, u32) = (1, 0x400);

/// Senses until the other CPU is as it should be.
fn becomes(expected: (u8, u32)) -> bool {
    while smp::signal(1, Order::SenseRunningStatus, 0) != expected {
        yield_cpu();
    }
    true
}

fn run() {
    shows!(
        "SIGP-11",
        smp::signal(0, Order::SenseRunningStatus, 0),
        RUNNING
    );
    shows!("SIGP-11", becomes(NOT_RUNNING));
    smp::start(1, second);
    shows!("SIGP-11", becomes(RUNNING));
    MAY_WAIT.store(true, Ordering::Release);
    shows!("SIGP-32", becomes(NOT_RUNNING));
    shows!("SIGP-32", smp::signal(1, Order::Sense, 0).0, 0);
    shows!("SIGP-32", smp::signal(1, Order::EmergencySignal, 0).0, 0);
    shows!("SIGP-32", becomes(RUNNING));
    smp::stop(1);
    shows!("SIGP-11", becomes(NOT_RUNNING));
}
