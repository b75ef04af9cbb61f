//! What keeps a pending measurement alert and what clears it: deactivation, loss of authorization, and resets. Also what
//! a reset and a loss of authorization leave in the sampling control registers.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use guests::end;
use guests::externals::{alerts, wait_for_the_operator};
use guests::insn::control::stnsm;
use guests::insn::cpu::Order;
use guests::insn::measurement::{
    ACTIVATE_BASIC, ACTIVATE_DIAGNOSTIC, ENABLE_BASIC, ENABLE_DIAGNOSTIC, SamplingRequest,
    controls, lcctl, lsctl, qsi, set,
};
use guests::insn::yield_cpu;
use guests::misdirected::load;
use guests::reset::clear_reset;
use guests::sampling::{self, ALERT, FULL, TRAILER, busy};
use guests::{shows, smp};

guests::clause!(
    "SA23-2260, Measurement Alert; Sampling Control Registers; State of Sampling Function",
    native = false,
    cpus = 2,
    options = "--operator 'AUTH CPU ALL SAMPLING DIAGNOSTIC ON'",
    when_waiting = "AUTH CPU 0 SAMPLING BASIC OFF; INTERRUPT CPU 0; AUTH CPU 0 SAMPLING BASIC ON; INTERRUPT CPU 0;\
        AUTH CPU 0 SAMPLING BASIC OFF; INTERRUPT CPU 0; AUTH CPU 0 SAMPLING BASIC ON; INTERRUPT CPU 0;\
        AUTH CPU 1 SAMPLING BASIC OFF; AUTH CPU 1 COUNTERS BASIC OFF; INTERRUPT CPU 0;\
        AUTH CPU 1 SAMPLING BASIC ON; AUTH CPU 1 COUNTERS BASIC ON; INTERRUPT CPU 0;\
        AUTH CPU 1 SAMPLING BASIC OFF; AUTH CPU 1 COUNTERS BASIC OFF; INTERRUPT CPU 0;\
        AUTH CPU 1 SAMPLING BASIC ON; AUTH CPU 1 COUNTERS BASIC ON; INTERRUPT CPU 0"
);
guests::case!(run);

const INTERVAL: u64 = 1000;
const PROGRAM_REQUEST: u32 = 0x2000_0000;
const INCORRECT_ENTRY: u32 = 0x4000_0000;
const SAMPLING_AUTHORIZATION: u32 = 0x0080_0000;
/// Basic sampling of an enabled and inactive function, in the state that QSI stores.
const INACTIVE: u32 = 0x0000_0200;

/// How far CPU 1 is.
static STEP: AtomicU32 = AtomicU32::new(0);
/// What CPU 1 found: its alerts, and TEAR with DEAR.
static FOUND: [AtomicU64; 2] = [const { AtomicU64::new(u64::MAX) }; 2];

fn reached(step: u32) -> ! {
    STEP.store(step, Ordering::Release);
    loop {
        yield_cpu();
    }
}

/// Starts CPU 1 and stops it when it has reached a step.
fn on_cpu_1(function: extern "C" fn() -> !, step: u32) {
    smp::start(1, function);
    while STEP.load(Ordering::Acquire) != step {
        yield_cpu();
    }
    smp::stop(1);
}

/// Two blocks, of which the first has room for one entry and requests an alert.
fn nearly_full() -> SamplingRequest {
    let mut request = sampling::prepare(2, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    request.dear = sampling::block(0) + TRAILER as u64 - 32;
    request
}

/// A program-request alert becomes pending, and sampling is active.
fn make_pending() -> SamplingRequest {
    let request = nearly_full();
    lsctl(&request);
    busy(3 * INTERVAL);
    request
}

/// A request stays while a function is enabled, and goes when none is.
fn deactivation() {
    let request = make_pending();
    let inactive = SamplingRequest {
        state: ENABLE_BASIC,
        ..request
    };
    shows!("ALERT-42", lsctl(&inactive), 0);
    shows!("ALERT-42", qsi().state & 0xFFFF, INACTIVE);
    shows!("ALERT-42", alerts(), (1, PROGRAM_REQUEST));
    make_pending();
    lsctl(&inactive);
    sampling::stop();
    shows!("ALERT-28", alerts(), (0, 0));
}

/// The alert that A asks for is recognized whatever becomes of the sample.
fn next_block() {
    let request = nearly_full();
    sampling::set_trailer(1, 0, FULL);
    lsctl(&request);
    busy(5 * INTERVAL);
    stnsm::<0xFE>();
    shows!(["STEP-6", "ALERT-9"], alerts(), (1, PROGRAM_REQUEST));
    sampling::stop();
    shows!(
        "STEP-6",
        sampling::trailer(0, 0) >> 62,
        (FULL | ALERT) >> 62
    );
    shows!("STEP-14", sampling::trailer(1, 1) >= 3);
    shows!("STEP-14", sampling::stored(1), 0);
    // The second table begins with a table-link entry.
    let request = nearly_full();
    sampling::set_table_entry(1, sampling::second_table() | 1);
    sampling::set_table_entry(512, sampling::table() | 1);
    lsctl(&request);
    busy(3 * INTERVAL);
    shows!(
        ["STEP-6", "STEP-10", "ALERT-40"],
        alerts(),
        (1, PROGRAM_REQUEST | INCORRECT_ENTRY)
    );
    sampling::stop();
}

/// Basic sampling loses its authorization while diagnostic sampling is active.
fn authorization() {
    let mut request = nearly_full();
    request.state = ENABLE_BASIC | ACTIVATE_BASIC | ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC;
    request.dear = sampling::block(0);
    request.interval = 1 << 30;
    lsctl(&request);
    wait_for_the_operator();
    shows!(
        ["ALERT-14", "SSTATE-11"],
        alerts(),
        (1, SAMPLING_AUTHORIZATION)
    );
    let information = qsi();
    shows!("SSTATE-11", information.state, 0x0001_0101);
    shows!("SSTATE-11", information.tear, sampling::table());
    shows!("SSTATE-11", information.dear, sampling::block(0));
    // The interval of a function that cannot become active does not matter.
    for interval in [0, 1, u64::MAX] {
        let refused = SamplingRequest {
            state: ENABLE_BASIC | ACTIVATE_BASIC,
            interval,
            ..request
        };
        shows!(["LSCTL-21", "LSCTL-16"], lsctl(&refused), 3);
    }
    sampling::stop();
    wait_for_the_operator();
}

/// Diagnostic sampling goes on, with entries of its own, while basic sampling has lost its authorization.
fn goes_on() {
    let mut request = sampling::prepare(2, 10 * INTERVAL);
    request.state = ENABLE_BASIC | ACTIVATE_BASIC | ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC;
    lsctl(&request);
    wait_for_the_operator();
    let before = qsi().dear;
    busy(55 * INTERVAL);
    let after = qsi();
    let size = u64::from(after.diagnostic_entry_size);
    shows!(
        "SSTATE-17",
        (5..=6).any(|samples| after.dear == before + samples * size) && load(before) >> 63 != 0
    );
    sampling::stop();
    shows!("ALERT-31", alerts(), (1, SAMPLING_AUTHORIZATION));
    wait_for_the_operator();
}

/// On CPU 1: a counter set and a sampling function are enabled.
extern "C" fn enable() -> ! {
    stnsm::<0xFE>();
    lcctl(controls(set::BASIC, set::BASIC));
    let mut request = sampling::prepare(2, 1 << 30);
    request.state = ENABLE_BASIC | ACTIVATE_BASIC;
    lsctl(&request);
    reached(1)
}

/// On CPU 1 after a reset: what is pending.
extern "C" fn look() -> ! {
    stnsm::<0xFE>();
    FOUND[0].store(alerts().1.into(), Ordering::Relaxed);
    reached(2)
}

/// On CPU 1 after a reset and with its authorization: enables basic sampling without activating it.
extern "C" fn enable_only() -> ! {
    stnsm::<0xFE>();
    FOUND[1].store(registers_when_enabled(), Ordering::Relaxed);
    reached(3)
}

/// TEAR and DEAR after basic sampling was enabled and not activated.
fn registers_when_enabled() -> u64 {
    let request = SamplingRequest {
        state: ENABLE_BASIC,
        ..SamplingRequest::default()
    };
    lsctl(&request);
    let information = qsi();
    information.tear | information.dear
}

/// Each reset clears pending changes of authorization; initial CPU reset clears the registers as well.
fn resets() {
    for order in [Order::CpuReset, Order::InitialCpuReset] {
        on_cpu_1(enable, 1);
        wait_for_the_operator();
        smp::signal(1, order, 0);
        on_cpu_1(look, 2);
        shows!("ALERT-27", FOUND[0].load(Ordering::Relaxed), 0);
        wait_for_the_operator();
    }
    // With its authorization all the time: a change of that would clear the registers, too.
    on_cpu_1(enable, 1);
    smp::signal(1, Order::InitialCpuReset, 0);
    on_cpu_1(enable_only, 3);
    shows!(["SREG-1", "SSTATE-3"], FOUND[1].load(Ordering::Relaxed), 0);
}

fn run() {
    deactivation();
    next_block();
    goes_on();
    authorization();
    resets();
    let request = sampling::prepare(2, 1 << 30);
    lsctl(&request);
    lsctl(&SamplingRequest {
        state: ENABLE_BASIC,
        ..request
    });
    clear_reset(after_reset)
}

extern "C" fn after_reset() -> ! {
    shows!(["SAMPLING-7", "STRANSITION-22"], qsi().state & 0xFFFF, 0);
    shows!("SREG-2", registers_when_enabled(), 0);
    sampling::stop();
    end::end_success()
}
