//! Work in phases, for collection runs: two CPUs work, then both wait for the operator. In the second phase minutes
//! pass as well. In phase n CPU 0 issues 1,000 n monitor calls of class 2, and CPU 1 issues 500 n of class 9. The
//! guest has enabled neither class.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering};
use guests::externals::{self, CLOCK_COMPARATOR, wait_for_the_operator};
use guests::insn::clock::{MICROSECOND, sckc, stck};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, wait};
use guests::insn::yield_cpu;
use guests::monitor::mc;
use guests::sampling::busy;
use guests::{psw, smp};

guests::clause!(
    "measure: phases of work on two CPUs",
    native = false,
    cpus = 2
);
guests::guest!(run);

/// Turns of a phase.
const TURNS: u64 = 3_000_000;

/// Phases that CPU 1 has done.
static DONE: AtomicU64 = AtomicU64::new(0);

extern "C" fn other() -> ! {
    let phase = DONE.load(Ordering::Relaxed) + 1;
    for _ in 0..500 * phase {
        mc::<9>(1499);
    }
    busy(TURNS / 2);
    DONE.fetch_add(1, Ordering::Release);
    loop {
        yield_cpu();
    }
}

fn work(phase: u64) {
    smp::start(1, other);
    for _ in 0..1000 * phase {
        mc::<2>(40);
    }
    busy(TURNS);
    while DONE.load(Ordering::Acquire) != phase {
        yield_cpu();
    }
    smp::stop(1);
}

/// Waits two and a half minutes.
fn pass_time() {
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(CLOCK_COMPARATOR);
    sckc(stck() + 150_000_000 * MICROSECOND);
    wait(psw::EXTERNAL);
    stnsm::<0xFE>();
    lctlg_0(cr0);
}

fn run() {
    for phase in 1..=4 {
        work(phase);
        if phase == 2 {
            pass_time();
        }
        wait_for_the_operator();
    }
    guests::println!("four phases");
}
