//! All CPUs of a configuration show one TOD clock, also after it was set. (QEMU sometimes leaves a started CPU asleep,
//! hence not native.)

use core::sync::atomic::{AtomicU64, Ordering};

use guests::insn::clock::{MICROSECOND, sck, stck};
use guests::insn::yield_cpu;
use guests::{shows, smp};

guests::clause!("SA22-7832, Chapter 4, TOD Clock", native = false, cpus = 2);
guests::case!(run);

/// Of a clock: an hour.
const HOUR: u64 = 3_600_000_000 * MICROSECOND;

/// What the other CPU's clock shows after each request.
static REQUESTED: AtomicU64 = AtomicU64::new(0);
static SEEN: AtomicU64 = AtomicU64::new(0);

extern "C" fn other() -> ! {
    loop {
        if REQUESTED.swap(0, Ordering::AcqRel) != 0 {
            SEEN.store(stck(), Ordering::Release);
        }
        yield_cpu();
    }
}

/// The other CPU's clock now.
fn clock_of_other() -> u64 {
    SEEN.store(0, Ordering::Relaxed);
    REQUESTED.store(1, Ordering::Release);
    loop {
        match SEEN.load(Ordering::Acquire) {
            0 => yield_cpu(),
            seen => return seen,
        }
    }
}

fn run() {
    smp::start(1, other);
    let before = stck();
    let seen = clock_of_other();
    let after = stck();
    shows!("CLOCK-5", before < seen && seen < after);
    shows!("CLOCK-6", sck(after + HOUR), 0);
    let seen = clock_of_other();
    shows!("CLOCK-6", seen >= after + HOUR && seen < stck());
    smp::stop(1);
}
