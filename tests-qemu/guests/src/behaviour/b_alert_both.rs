//! An alert about sample data makes all active functions of its CPU inactive: basic and diagnostic sampling together.
//! It leaves a function as it is that is not active, and the registers as the update process left them.

use guests::externals::{alerts, wait_for_the_operator};
use guests::insn::measurement::{
    ACTIVATE_BASIC, ACTIVATE_DIAGNOSTIC, ENABLE_BASIC, ENABLE_DIAGNOSTIC, SamplingRequest, lsctl,
    qsi,
};
use guests::misdirected::{INCORRECT, INVALID, no_room};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Measurement Alert (all active sampling functions)",
    native = false,
    options = "--operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON'",
    when_waiting = "ALERT CPU 0 SAMPLES; INTERRUPT CPU 0; ALERT CPU 0 SAMPLES; INTERRUPT CPU 0;\
        ALERT CPU 0 SAMPLES; INTERRUPT CPU 0; ALERT CPU 0 SAMPLES; INTERRUPT CPU 0;\
        ALERT CPU 0 SAMPLES; INTERRUPT CPU 0; ALERT CPU 0 SAMPLES; INTERRUPT CPU 0"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const LOSS: u32 = 0x0040_0000;
const BASIC: u64 = ENABLE_BASIC | ACTIVATE_BASIC;
const DIAGNOSTIC: u64 = ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC;
/// The controls before and after an alert: both active, and one of them while the other is inactive or disabled.
const STATES: [(u64, u64); 5] = [
    (BASIC | DIAGNOSTIC, ENABLE_BASIC | ENABLE_DIAGNOSTIC),
    (BASIC | ENABLE_DIAGNOSTIC, ENABLE_BASIC | ENABLE_DIAGNOSTIC),
    (BASIC, ENABLE_BASIC),
    (DIAGNOSTIC | ENABLE_BASIC, ENABLE_BASIC | ENABLE_DIAGNOSTIC),
    (DIAGNOSTIC, ENABLE_DIAGNOSTIC),
];

/// The alerts that sampling for two intervals leads to, and the controls and registers afterwards.
fn sample(request: &SamplingRequest) -> ((usize, u32), u64, (u64, u64)) {
    lsctl(request);
    busy(2 * INTERVAL);
    let now = qsi();
    let found = (alerts(), u64::from(now.state & 0x303), (now.tear, now.dear));
    sampling::stop();
    found
}

fn invalid_entry(state: u64, after: u64) {
    let request = SamplingRequest {
        state,
        dear: 0x1000,
        ..sampling::prepare(2, INTERVAL)
    };
    let found = sample(&request);
    let expected = ((1, INVALID), after, (request.tear, request.dear));
    shows!(["ALERT-49", "ALERT-52", "STEP-21"], found, expected);
}

fn incorrect_entry(state: u64, after: u64) {
    let request = SamplingRequest {
        state,
        dear: no_room(),
        ..sampling::prepare(1, INTERVAL)
    };
    sampling::set_table_entry(1, sampling::second_table() | 1);
    sampling::set_table_entry(512, sampling::table() | 1);
    let found = sample(&request);
    let registers = (sampling::second_table(), no_room());
    let expected = ((1, INCORRECT), after, registers);
    shows!(["ALERT-50", "ALERT-52", "STEP-20"], found, expected);
}

fn loss(state: u64, after: u64) {
    let request = SamplingRequest {
        state,
        interval: 1 << 30,
        ..sampling::prepare(2, INTERVAL)
    };
    lsctl(&request);
    wait_for_the_operator();
    let now = qsi();
    let registers = (now.tear, now.dear);
    shows!(
        ["ALERT-51", "ALERT-52"],
        (alerts(), u64::from(now.state & 0x303)),
        ((1, LOSS), after)
    );
    shows!("SREG-15", registers, (request.tear, request.dear));
    sampling::stop();
}

fn run() {
    for (state, after) in STATES {
        invalid_entry(state, after);
        incorrect_entry(state, after);
        loss(state, after);
    }
    // No function is active, so there is no sample data to lose.
    lsctl(&SamplingRequest {
        state: ENABLE_BASIC | ENABLE_DIAGNOSTIC,
        ..sampling::prepare(2, INTERVAL)
    });
    wait_for_the_operator();
    shows!("ALERT-64", alerts(), (0, 0));
    sampling::stop();
}
