//! SIGNAL PROCESSOR, sense running status: a CPU that waits or is stopped is not running, and one that executes
//! instructions is. A program that senses it again and again sees each change.

use core::sync::atomic::{AtomicBool, Ordering};

use guests::check::{check, holds};
use guests::externals::{self, EMERGENCY_SIGNAL};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, wait};
use guests::insn::cpu::Order;
use guests::insn::yield_cpu;
use guests::{psw, smp};

guests::clause!(
    "Principles of Operation, Signal-Processor Orders (sense running status)",
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
fn becomes(name: &str, expected: (u8, u32)) {
    while smp::signal(1, Order::SenseRunningStatus, 0) != expected {
        yield_cpu();
    }
    holds(name, true);
}

fn run() {
    let (cc, status) = smp::signal(0, Order::SenseRunningStatus, 0);
    check("the CPU itself: condition code", cc, 0);
    check("  status", status, 0);
    becomes("a stopped CPU is not running", NOT_RUNNING);
    smp::start(1, second);
    becomes("it is restarted and runs", RUNNING);
    MAY_WAIT.store(true, Ordering::Release);
    becomes("it waits and is not running", NOT_RUNNING);
    let (cc, _) = smp::signal(1, Order::Sense, 0);
    check("  it operates: condition code of sense", cc, 0);
    check(
        "emergency signal: condition code",
        smp::signal(1, Order::EmergencySignal, 0).0,
        0,
    );
    becomes("it has been interrupted and runs", RUNNING);
    smp::stop(1);
    becomes("it is stopped and not running", NOT_RUNNING);
}
