//! A stopped CPU resumes where it was when it is started, and begins anew when it is restarted. Both orders work
//! again and again. (QEMU sometimes leaves a started CPU asleep, hence not native.)

use core::sync::atomic::{AtomicU32, Ordering};

use guests::check::check;
use guests::insn::cpu::Order;
use guests::insn::yield_cpu;
use guests::smp::{self, signal};

guests::clause!(
    "Principles of Operation, Signal-Processor Orders (start, stop, restart)",
    native = false,
    cpus = 2
);
guests::case!(run);

static STARTS: AtomicU32 = AtomicU32::new(0);
static COUNT: AtomicU32 = AtomicU32::new(0);

extern "C" fn count() -> ! {
    STARTS.fetch_add(1, Ordering::Relaxed);
    loop {
        COUNT.fetch_add(1, Ordering::Relaxed);
        yield_cpu();
    }
}

fn wait_for_progress() {
    let before = COUNT.load(Ordering::Relaxed);
    while COUNT.load(Ordering::Relaxed) == before {
        yield_cpu();
    }
}

fn run() {
    smp::start(1, count);
    wait_for_progress();
    for round in 0..20 {
        smp::stop(1);
        let stopped = COUNT.load(Ordering::Relaxed);
        yield_cpu();
        if COUNT.load(Ordering::Relaxed) != stopped || signal(1, Order::Start, 0).0 != 0 {
            check("a round failed", round, u32::MAX);
        }
        wait_for_progress();
    }
    check(
        "twenty stops and starts: it began once",
        STARTS.load(Ordering::Relaxed),
        1,
    );
    check("start of an operating CPU", signal(1, Order::Start, 0).0, 0);
    check(
        "restart of an operating CPU",
        signal(1, Order::Restart, 0).0,
        0,
    );
    while STARTS.load(Ordering::Relaxed) == 1 {
        yield_cpu();
    }
    smp::stop(1);
    check(
        "restart of a stopped CPU",
        signal(1, Order::Restart, 0).0,
        0,
    );
    while STARTS.load(Ordering::Relaxed) == 2 {
        yield_cpu();
    }
    check("three beginnings", STARTS.load(Ordering::Relaxed), 3);
}
