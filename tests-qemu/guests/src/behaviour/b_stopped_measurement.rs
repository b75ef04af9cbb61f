//! A CPU that is stopped while it counts and samples: its blocks, registers and counters stay as they are, and when it
//! is started again it goes on as if no time had passed. What was inactive is inactive again.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use guests::externals::alerts;
use guests::insn::cpu::Order;
use guests::insn::measurement::{
    ENABLE_BASIC, SamplingRequest, controls, ecctr, lcctl, lsctl, qctri, qsi, scctr, set,
};
use guests::insn::yield_cpu;
use guests::misdirected::{INVALID, load};
use guests::sampling::{self, BLOCKS, busy};
use guests::{shows, smp};

guests::clause!(
    "SA23-2260, State of Counter Set; State of Sampling Function (stopped state)",
    native = false,
    cpus = 2
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const SETS: u16 = set::BASIC | set::PROBLEM_STATE;
const PROBLEM: u64 = 3333;

/// How often CPU 1 has reported.
static REPORTS: AtomicU32 = AtomicU32::new(0);
/// Its latest report.
static STATE: AtomicU32 = AtomicU32::new(0);
static COUNTER_CONTROLS: AtomicU64 = AtomicU64::new(0);
static CYCLES: AtomicU64 = AtomicU64::new(0);
static OTHER: AtomicU64 = AtomicU64::new(0);
/// TEAR and DEAR.
static REGISTERS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
/// Whether it may open the mask, and the parameter of the alert that came then.
static RELEASED: AtomicU32 = AtomicU32::new(0);
static ALERTS: AtomicU32 = AtomicU32::new(0);
/// The cycles that it had when sampling became active.
static BEGAN: AtomicU64 = AtomicU64::new(0);

fn report() {
    let (counters, samples) = (qctri(), qsi());
    STATE.store(samples.state & 0x303, Ordering::Relaxed);
    COUNTER_CONTROLS.store(
        controls(counters.enable, counters.activation),
        Ordering::Relaxed,
    );
    REGISTERS[0].store(samples.tear, Ordering::Relaxed);
    REGISTERS[1].store(samples.dear, Ordering::Relaxed);
    OTHER.store(ecctr(33).1, Ordering::Relaxed);
    CYCLES.store(ecctr(0).1, Ordering::Relaxed);
    REPORTS.fetch_add(1, Ordering::Release);
}

fn reports() -> ! {
    loop {
        report();
        busy(1000);
        yield_cpu();
    }
}

/// Basic set and basic sampling active, problem-state set inactive.
extern "C" fn active() -> ! {
    lcctl(controls(SETS, set::BASIC));
    scctr(33, PROBLEM);
    let request = sampling::prepare(BLOCKS, INTERVAL);
    BEGAN.store(ecctr(0).1, Ordering::Relaxed);
    lsctl(&request);
    reports()
}

/// Both sets and basic sampling inactive, with values in counters and registers.
extern "C" fn inactive() -> ! {
    let request = sampling::prepare(BLOCKS, INTERVAL);
    lsctl(&request);
    busy(3 * INTERVAL + INTERVAL / 2);
    lsctl(&SamplingRequest {
        state: ENABLE_BASIC,
        ..request
    });
    lcctl(controls(SETS, 0));
    scctr(33, PROBLEM);
    reports()
}

fn wait_for_reports(more: u32) {
    let before = REPORTS.load(Ordering::Acquire);
    while REPORTS.load(Ordering::Acquire) < before + more {
        yield_cpu();
    }
}

/// A sum over all blocks.
fn blocks() -> u64 {
    let begin = sampling::block(0);
    (begin..begin + 4096 * BLOCKS as u64)
        .step_by(8)
        .fold(0, |sum: u64, at| sum.rotate_left(5).wrapping_add(load(at)))
}

fn stopped_for_long() -> bool {
    let before = blocks();
    busy(100 * INTERVAL);
    blocks() == before
}

fn while_active() {
    smp::start(1, active);
    wait_for_reports(50);
    smp::stop(1);
    let (cycles, dear) = (
        CYCLES.load(Ordering::Relaxed),
        REGISTERS[1].load(Ordering::Relaxed),
    );
    shows!("SSTATE-12", stopped_for_long());
    smp::signal(1, Order::Start, 0);
    wait_for_reports(1);
    // What was counted between the last report and the stop, and since the start: a turn or two.
    let after = CYCLES.load(Ordering::Relaxed);
    shows!("STATE-17", cycles < after && after < cycles + 10_000);
    shows!("STATE-18", OTHER.load(Ordering::Relaxed), PROBLEM);
    shows!(
        ["STATE-12", "STATE-18"],
        COUNTER_CONTROLS.load(Ordering::Relaxed),
        controls(SETS, set::BASIC)
    );
    let now = REGISTERS[1].load(Ordering::Relaxed);
    shows!(
        "SSTATE-13",
        REGISTERS[0].load(Ordering::Relaxed) == sampling::table()
            && (dear..=dear + 2 * 32).contains(&now)
    );
    // One entry behind the other, and as many as there are intervals of its own time.
    wait_for_reports(50);
    smp::stop(1);
    let stored = sampling::stored(0) as u64;
    let cycles = CYCLES.load(Ordering::Relaxed) - BEGAN.load(Ordering::Relaxed);
    shows!("SSTATE-9", STATE.load(Ordering::Relaxed), 0x202);
    shows!(
        "SSTATE-14",
        stored >= 9 && (cycles / INTERVAL..=cycles / INTERVAL + 1).contains(&stored)
    );
}

fn while_inactive() {
    smp::start(1, inactive);
    wait_for_reports(10);
    smp::stop(1);
    let before = REGISTERS
        .each_ref()
        .map(|register| register.load(Ordering::Relaxed));
    let cycles = CYCLES.load(Ordering::Relaxed);
    shows!("SSTATE-12", stopped_for_long());
    smp::signal(1, Order::Start, 0);
    wait_for_reports(30);
    let after = REGISTERS
        .each_ref()
        .map(|register| register.load(Ordering::Relaxed));
    shows!(
        "SSTATE-15",
        (STATE.load(Ordering::Relaxed), after),
        (0x200, before)
    );
    shows!("SSTATE-15", sampling::stored(0), 3);
    shows!(
        "STATE-18",
        (
            COUNTER_CONTROLS.load(Ordering::Relaxed),
            OTHER.load(Ordering::Relaxed),
            CYCLES.load(Ordering::Relaxed)
        ),
        (controls(SETS, 0), PROBLEM, cycles)
    );
    smp::stop(1);
}

/// A request becomes pending, and stays so until the CPU has been stopped for a while.
extern "C" fn pending() -> ! {
    lsctl(&SamplingRequest {
        dear: 0x1000,
        ..sampling::prepare(2, INTERVAL)
    });
    busy(2 * INTERVAL);
    while RELEASED.load(Ordering::Acquire) == 0 {
        report();
        yield_cpu();
    }
    ALERTS.store(alerts().1, Ordering::Relaxed);
    reports()
}

fn while_pending() {
    smp::start(1, pending);
    wait_for_reports(1);
    smp::stop(1);
    busy(10 * INTERVAL);
    smp::signal(1, Order::Start, 0);
    RELEASED.store(1, Ordering::Release);
    wait_for_reports(2);
    shows!("ALERT-66", ALERTS.load(Ordering::Relaxed), INVALID);
    smp::stop(1);
}

fn run() {
    while_active();
    while_inactive();
    while_pending();
}
