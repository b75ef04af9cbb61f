//! Which pending requests are cleared when no sampling function, or no counter set, is enabled any more: each kind by
//! itself. While one function or one set is enabled, they stay.

use guests::externals::{alerts, wait_for_the_operator};
use guests::insn::measurement::{
    ENABLE_DIAGNOSTIC, SamplingRequest, controls, ecctr, lcctl, lsctl, qctri, set,
};
use guests::misdirected::{INCORRECT, INVALID, no_room};
use guests::sampling::{self, ALERT, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Measurement Alert (pending requests)",
    native = false,
    options = "--operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON'",
    when_waiting = "ALERT CPU 0 SAMPLES; INTERRUPT CPU 0; ALERT CPU 0 SAMPLES; INTERRUPT CPU 0;\
        AUTH CPU 0 SAMPLING BASIC OFF; INTERRUPT CPU 0; AUTH CPU 0 SAMPLING BASIC ON; INTERRUPT CPU 0;\
        ALERT CPU 0 COUNTERS BASIC; INTERRUPT CPU 0; ALERT CPU 0 COUNTERS PROBLEM; INTERRUPT CPU 0;\
        ALERT CPU 0 COUNTERS BASIC; INTERRUPT CPU 0;\
        ALERT CPU 0 COUNTERS BASIC; AUTH CPU 0 COUNTERS BASIC OFF; INTERRUPT CPU 0;\
        AUTH CPU 0 COUNTERS BASIC ON; ALERT CPU 0 COUNTERS BASIC; INTERRUPT CPU 0"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const PROGRAM_REQUEST: u32 = 0x2000_0000;
const SAMPLING_AUTHORIZATION: u32 = 0x0080_0000;
const SAMPLE_LOSS: u32 = 0x0040_0000;
const COUNTER_LOSS: u32 = 0x40;
const COUNTER_AUTHORIZATION: u32 = 0x80;
const SETS: u16 = set::BASIC | set::PROBLEM_STATE;

fn sample(request: &SamplingRequest) {
    lsctl(request);
    busy(2 * INTERVAL);
}

fn invalid() {
    sample(&SamplingRequest {
        dear: 0x1000,
        ..sampling::prepare(2, INTERVAL)
    });
}

fn incorrect() {
    let request = sampling::prepare(1, INTERVAL);
    sampling::set_table_entry(1, sampling::second_table() | 1);
    sampling::set_table_entry(512, sampling::table() | 1);
    sample(&SamplingRequest {
        dear: no_room(),
        ..request
    });
}

fn requested() {
    let request = sampling::prepare(2, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    sample(&SamplingRequest {
        dear: no_room(),
        ..request
    });
}

fn lost() {
    lsctl(&sampling::prepare(2, 1 << 30));
    wait_for_the_operator();
}

/// What is pending after diagnostic sampling alone stays enabled, and after nothing does.
fn pending(make: fn()) -> [(usize, u32); 2] {
    [ENABLE_DIAGNOSTIC, 0].map(|state| {
        make();
        lsctl(&SamplingRequest {
            state,
            ..SamplingRequest::default()
        });
        let found = alerts();
        sampling::stop();
        found
    })
}

fn sampling_functions() {
    shows!("ALERT-54", pending(invalid), [(1, INVALID), (0, 0)]);
    shows!("ALERT-55", pending(incorrect), [(1, INCORRECT), (0, 0)]);
    shows!(
        "ALERT-56",
        pending(requested),
        [(1, PROGRAM_REQUEST), (0, 0)]
    );
    shows!("ALERT-57", pending(lost), [(1, SAMPLE_LOSS), (0, 0)]);
    // The external means takes the authorization of the only enabled function away.
    requested();
    wait_for_the_operator();
    shows!("ALERT-58", alerts(), (1, SAMPLING_AUTHORIZATION));
    wait_for_the_operator();
    sampling::stop();
}

fn counter_sets() {
    lcctl(controls(SETS, SETS));
    wait_for_the_operator();
    let counter = ecctr(33);
    lcctl(controls(set::PROBLEM_STATE, set::PROBLEM_STATE));
    shows!("ALERT-59", alerts(), (1, COUNTER_LOSS));
    lcctl(controls(SETS, SETS));
    wait_for_the_operator();
    shows!(
        "ALERT-45",
        (qctri().enable, qctri().activation, counter.0),
        (SETS, set::BASIC, 0)
    );
    let before = ecctr(1).1;
    busy(1000);
    shows!("ALERT-45", ecctr(1).1 - before > 1000);
    shows!(["ALERT-19", "ALERT-36"], alerts(), (1, COUNTER_LOSS));
    lcctl(0);
    // A set that is not active has nothing to lose.
    lcctl(controls(set::BASIC, 0));
    wait_for_the_operator();
    shows!("ALERT-64", alerts(), (0, 0));
    // The external means takes the authorization of the only enabled set away.
    lcctl(controls(set::BASIC, set::BASIC));
    wait_for_the_operator();
    shows!("ALERT-58", alerts(), (1, COUNTER_AUTHORIZATION));
    wait_for_the_operator();
    shows!("ALERT-46", alerts(), (0, 0));
}

fn run() {
    sampling_functions();
    counter_sets();
}
