//! Which bits SIGNAL PROCESSOR takes its order, CPU and parameter from, and where it puts status.

use core::sync::atomic::{AtomicU64, Ordering};

use guests::attempt::Outcome;
use guests::insn::cpu::stpx;
use guests::insn::yield_cpu;
use guests::{attempt_on_registers, shows, smp};

guests::clause!(
    "SA22-7832, SIGNAL PROCESSOR (operands and condition codes)",
    native = true,
    cpus = 2
);
guests::case!(run);

/// The prefix of the other CPU, plus one, when it runs.
static PREFIX: AtomicU64 = AtomicU64::new(0);

extern "C" fn report() -> ! {
    PREFIX.store(u64::from(stpx()) + 1, Ordering::Release);
    loop {
        yield_cpu();
    }
}

/// Orders: sense, stop, and set prefix. The other bits of the second-operand address are ignored.
const SENSE: u64 = 0xFFFF_5A5A_5A5A_5A01;
const STOP: u64 = 0xFFFF_5A5A_5A5A_5A05;
const SET_PREFIX: u64 = 0xFFFF_5A5A_5A5A_5A0D;
/// CPU addresses with bits that are ignored.
const OTHER: u64 = 0x5A5A_5A5A_5A5A_0001;
const NOBODY: u64 = 0x5A5A_5A5A_5A5A_0007;
/// What R1 holds before.
const BEFORE: u64 = 0x1234_5678_9ABC_DEF0;
const LEFT: u64 = 0x1234_5678_0000_0000;

/// SIGNAL PROCESSOR with an even R1: condition code, and R1 afterwards.
fn even(order: u64, cpu: u64, parameter: u64) -> (u8, u64) {
    let mut registers = [0, BEFORE, parameter, cpu, order];
    let outcome = retry(|| attempt_on_registers!("sigp %r2, %r4, 0(%r5)", &mut registers));
    (outcome.condition_code(), registers[1])
}

/// SIGNAL PROCESSOR with an odd R1, which is the parameter.
fn odd(order: u64, cpu: u64, parameter: u64) -> (u8, u64) {
    let mut registers = [0, BEFORE, parameter, cpu, order];
    let outcome = retry(|| attempt_on_registers!("sigp %r3, %r4, 0(%r5)", &mut registers));
    (outcome.condition_code(), registers[2])
}

/// Repeats an order while the other CPU is busy with an earlier one.
fn retry(mut signal: impl FnMut() -> Outcome) -> Outcome {
    loop {
        let outcome = signal();
        if outcome.condition_code() != 2 {
            return outcome;
        }
        yield_cpu();
    }
}

/// Starts the other CPU, whose prefix is then that of the runtime, and stops it.
fn start_and_stop() {
    PREFIX.store(0, Ordering::Relaxed);
    smp::start(1, report);
    while PREFIX.load(Ordering::Acquire) == 0 {
        yield_cpu();
    }
    let stopped = even(STOP, OTHER, 0);
    shows!(["SIGNAL-1", "SIGNAL-2", "SIGNAL-5"], stopped, (0, BEFORE));
    smp::stop(1);
}

fn run() {
    start_and_stop();
    // The status of a stopped CPU.
    let status = LEFT | u64::from(smp::STOPPED);
    shows!(
        ["SIGNAL-1", "SIGNAL-2", "SIGNAL-6"],
        even(SENSE, OTHER, 0),
        (1, status)
    );
    shows!("SIGNAL-6", odd(SENSE, OTHER, BEFORE), (1, status));
    shows!(
        ["SIGNAL-2", "SIGNAL-7"],
        even(SENSE, NOBODY, 0),
        (3, BEFORE)
    );
    // No prefix area is at an address beyond storage, so the parameter is seen to be invalid.
    let beyond = 0x5A5A_5A5A_7000_0000;
    let area = 0x5A5A_5A5A_0000_0000 | smp::prefix_area(1) as u64;
    let invalid = |left: u64| left | u64::from(smp::INVALID_PARAMETER);
    shows!(
        "SIGNAL-3",
        even(SET_PREFIX, OTHER, beyond),
        (1, invalid(LEFT))
    );
    shows!("SIGNAL-3", even(SET_PREFIX, OTHER, area), (0, BEFORE));
    shows!(
        "SIGNAL-4",
        odd(SET_PREFIX, OTHER, beyond),
        (1, invalid(beyond & !0xFFFF_FFFF))
    );
    shows!(
        ["SIGNAL-4", "SIGNAL-5"],
        odd(SET_PREFIX, OTHER, area),
        (0, area)
    );
}
