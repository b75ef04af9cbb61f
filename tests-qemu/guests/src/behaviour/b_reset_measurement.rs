//! CPU reset makes counter sets and sampling inactive and keeps counters and registers. Initial CPU reset disables
//! them and clears both. Both clear pending alerts. A stopped CPU counts nothing; when started it goes on counting.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use guests::check::{check, holds};
use guests::insn::control::{stctg_0, stnsm};
use guests::insn::cpu::Order;
use guests::insn::measurement::{controls, ecctr, lcctl, lpp, lsctl, qctri, qsi, set};
use guests::insn::yield_cpu;
use guests::sampling::{self, busy};
use guests::smp::{self, signal};

guests::clause!(
    "SA23-2260, Resets; CPU Reset; Initial CPU Reset",
    native = false,
    cpus = 2
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const BASIC: u64 = controls(set::BASIC, set::BASIC);

static STEP: AtomicU32 = AtomicU32::new(0);
static CYCLES: AtomicU64 = AtomicU64::new(0);

fn reached(step: u32) {
    STEP.store(step, Ordering::Release);
}

fn wait_for(step: u32) {
    while STEP.load(Ordering::Acquire) != step {
        yield_cpu();
    }
}

/// Counts and samples for a while, and goes on counting.
extern "C" fn measure() -> ! {
    stnsm::<0xFE>();
    check("counters active", lcctl(BASIC), 0);
    let mut request = sampling::prepare(4, INTERVAL);
    check("sampling active", lsctl(&request), 0);
    busy(35 * INTERVAL / 10);
    // An alert that stays pending: the table entry does not exist.
    request.dear = 8;
    check("sampling into low storage", lsctl(&request), 0);
    busy(2 * INTERVAL);
    check(
        "an alert has made sampling inactive",
        qsi().state,
        0x0002_0200,
    );
    request.dear = sampling::block(1);
    check("sampling active again", lsctl(&request), 0);
    lpp(0x1234_5678);
    CYCLES.store(ecctr(1).1, Ordering::Relaxed);
    reached(1);
    loop {
        yield_cpu();
    }
}

/// After CPU reset.
extern "C" fn after_cpu_reset() -> ! {
    let information = qctri();
    check(
        "CPU reset: authorized",
        information.authorization & set::BASIC,
        set::BASIC,
    );
    check("  enabled", information.enable, set::BASIC);
    check("  inactive", information.activation, 0);
    let (cc, value) = ecctr(1);
    check("  the counter is available", cc, 0);
    holds(
        "  and keeps its value",
        value >= CYCLES.load(Ordering::Relaxed),
    );
    check("  and stands still", ecctr(1).1, value);
    let information = qsi();
    check(
        "  sampling is enabled and inactive",
        information.state,
        0x0002_0200,
    );
    check("  TEAR stays", information.tear, sampling::table());
    holds("  DEAR stays", information.dear >= sampling::block(1));
    no_alert();
    check("counters active", lcctl(BASIC), 0);
    check("sampling active", lsctl(&sampling::prepare(4, INTERVAL)), 0);
    reached(2);
    loop {
        yield_cpu();
    }
}

/// After initial CPU reset.
extern "C" fn after_initial_cpu_reset() -> ! {
    let information = qctri();
    check(
        "initial CPU reset: authorized",
        information.authorization & set::BASIC,
        set::BASIC,
    );
    check("  disabled", information.enable | information.activation, 0);
    check("  the counter is not available", ecctr(1).0, 3);
    check("  enable", lcctl(controls(set::BASIC, 0)), 0);
    check("  it was cleared", ecctr(1).1, 0);
    let information = qsi();
    check("  sampling is disabled", information.state, 0x0002_0000);
    check("  TEAR and DEAR", information.tear | information.dear, 0);
    no_alert();
    // The program parameter: the first sample shows what LPP loaded last.
    let request = sampling::prepare(4, INTERVAL);
    check("sampling active", lsctl(&request), 0);
    busy(INTERVAL * 3 / 2);
    check(
        "  the program parameter was cleared",
        sampling::entry(0, 0).guest_parameter,
        0,
    );
    sampling::stop();
    check("counters active", lcctl(BASIC), 0);
    reached(3);
    loop {
        CYCLES.store(ecctr(1).1, Ordering::Relaxed);
        yield_cpu();
    }
}

/// Opens external interruptions for a moment. With an interruption the new PSW of this CPU would end the guest with
/// failure.
fn no_alert() {
    check("  bit 58 of control register 0", stctg_0() >> 5 & 1, 1);
    guests::insn::control::stosm::<0x01>();
    stnsm::<0xFE>();
    holds("  no alert is pending", true);
}

fn run() {
    smp::start(1, measure);
    wait_for(1);
    check("CPU reset", signal(1, Order::CpuReset, 0).0, 0);
    smp::start(1, after_cpu_reset);
    wait_for(2);
    check(
        "initial CPU reset",
        signal(1, Order::InitialCpuReset, 0).0,
        0,
    );
    smp::start(1, after_initial_cpu_reset);
    wait_for(3);
    // Stop and start.
    let before = CYCLES.load(Ordering::Relaxed);
    while CYCLES.load(Ordering::Relaxed) == before {
        yield_cpu();
    }
    smp::stop(1);
    let stopped = CYCLES.load(Ordering::Relaxed);
    busy(1_000_000);
    check("start", signal(1, Order::Start, 0).0, 0);
    while CYCLES.load(Ordering::Relaxed) == stopped {
        yield_cpu();
    }
    let started = CYCLES.load(Ordering::Relaxed);
    holds("a stopped CPU counts nothing", started - stopped < 10_000);
    smp::stop(1);
}
