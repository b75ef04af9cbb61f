//! The other CPU: it performs the requests of the first one, one at a time.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::{insn, smp};

/// The function that a CPU must perform, with its argument.
type Work = fn(&mut u64);

static WORK: AtomicU64 = AtomicU64::new(0);
static ARGUMENT: AtomicU64 = AtomicU64::new(0);

/// Starts CPU 1.
pub(super) fn start() {
    smp::start(1, serve);
}

/// Stops it again.
pub(super) fn rest() {
    smp::stop_others();
}

extern "C" fn serve() -> ! {
    loop {
        let work = WORK.load(Ordering::Acquire);
        if work == 0 {
            insn::yield_cpu();
            continue;
        }
        // SAFETY: `on` put a function of this type there.
        let work: Work = unsafe { core::mem::transmute(work as usize) };
        let mut argument = ARGUMENT.load(Ordering::Relaxed);
        work(&mut argument);
        ARGUMENT.store(argument, Ordering::Relaxed);
        WORK.store(0, Ordering::Release);
    }
}

/// Performs `work` on a CPU and returns its result for this argument.
pub(super) fn on(cpu: u16, work: Work, mut argument: u64) -> u64 {
    if cpu == 0 {
        work(&mut argument);
        return argument;
    }
    ARGUMENT.store(argument, Ordering::Relaxed);
    WORK.store(work as usize as u64, Ordering::Release);
    while WORK.load(Ordering::Acquire) != 0 {
        insn::yield_cpu();
    }
    ARGUMENT.load(Ordering::Relaxed)
}

/// Performs `work` on every CPU.
pub(super) fn on_all(cpus: u16, work: Work) {
    for cpu in 0..cpus.min(2) {
        on(cpu, work, 0);
    }
}
