//! The external means, which are the operator's commands: counter sets and sampling functions lose and gain their
//! authorization in every state, with an alert if they were enabled.

use guests::externals::{alerts, wait_for_the_operator};
use guests::insn::measurement::{
    ACTIVATE_BASIC, ENABLE_BASIC, SamplingRequest, controls, ecctr, lcctl, lsctl, qctri, qsi,
    scctr, set,
};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, State Transition (external control); authorization-change alerts",
    native = false,
    when_waiting = "AUTH CPU 0 COUNTERS PROBLEM OFF; INTERRUPT CPU 0;\
        AUTH CPU 0 COUNTERS PROBLEM ON; INTERRUPT CPU 0;\
        AUTH CPU 0 COUNTERS BASIC OFF; INTERRUPT CPU 0;\
        AUTH CPU 0 COUNTERS BASIC ON; INTERRUPT CPU 0;\
        AUTH CPU 0 COUNTERS PROBLEM OFF; INTERRUPT CPU 0;\
        AUTH CPU 0 SAMPLING BASIC OFF; INTERRUPT CPU 0;\
        AUTH CPU 0 SAMPLING BASIC ON; INTERRUPT CPU 0;\
        AUTH CPU 0 SAMPLING BASIC OFF; INTERRUPT CPU 0;\
        AUTH CPU 0 SAMPLING BASIC ON; INTERRUPT CPU 0;\
        AUTH CPU 0 SAMPLING BASIC OFF; INTERRUPT CPU 0"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const COUNTER_ALERT: u32 = 0x80;
const SAMPLING_ALERT: u32 = 0x0080_0000;
const ACTIVE: u64 = ENABLE_BASIC | ACTIVATE_BASIC;

/// Authorization, enable and activation control of a set.
fn state(set: u16) -> (bool, bool, bool) {
    let information = qctri();
    (
        information.authorization & set != 0,
        information.enable & set != 0,
        information.activation & set != 0,
    )
}

const UNAUTHORIZED: (bool, bool, bool) = (false, false, false);
const DISABLED: (bool, bool, bool) = (true, false, false);

/// The same of basic sampling.
fn sampling_state() -> (bool, bool, bool) {
    let state = qsi().state;
    (
        state >> 17 & 1 != 0,
        state >> 9 & 1 != 0,
        state >> 1 & 1 != 0,
    )
}

fn counters() {
    wait_for_the_operator();
    shows!(
        ["TRANSITION-4", "LOCAL-12"],
        state(set::PROBLEM_STATE),
        UNAUTHORIZED
    );
    shows!("ALERT-12", alerts(), (0, 0));
    shows!(["STATE-1", "ECCTR-8"], ecctr(33).0, 3);
    shows!(["STATE-1", "SCCTR-8"], scctr(33, 1), 3);
    wait_for_the_operator();
    shows!(
        ["TRANSITION-1", "LOCAL-12", "TRANSITION-2"],
        state(set::PROBLEM_STATE),
        DISABLED
    );
    shows!("ALERT-12", alerts(), (0, 0));
    lcctl(controls(set::BASIC, set::BASIC));
    scctr(1, 1 << 40);
    wait_for_the_operator();
    shows!("TRANSITION-11", state(set::BASIC), UNAUTHORIZED);
    shows!("STATE-1", (ecctr(1).0, scctr(1, 7)), (3, 3));
    shows!("ALERT-30", lcctl(0), 0);
    shows!(
        ["ALERT-11", "ALERT-13", "ALERT-30"],
        alerts(),
        (1, COUNTER_ALERT)
    );
    busy(1000);
    wait_for_the_operator();
    shows!("ALERT-46", alerts(), (0, 0));
    shows!(
        ["TRANSITION-1", "TRANSITION-2"],
        state(set::BASIC),
        DISABLED
    );
    lcctl(controls(set::BASIC, 0));
    shows!(["CPUSET-2", "STATE-2"], ecctr(1), (0, 0));
    lcctl(controls(set::BASIC | set::PROBLEM_STATE, 0));
    scctr(33, 33);
    wait_for_the_operator();
    shows!("TRANSITION-7", state(set::PROBLEM_STATE), UNAUTHORIZED);
    shows!(["ALERT-11", "ALERT-13"], alerts(), (1, COUNTER_ALERT));
    lcctl(0);
}

fn request(state: u64) -> SamplingRequest {
    SamplingRequest {
        state,
        ..sampling::prepare(4, INTERVAL)
    }
}

fn samples() {
    wait_for_the_operator();
    shows!(["STRANSITION-2", "SREG-5"], sampling_state(), UNAUTHORIZED);
    shows!("ALERT-15", alerts(), (0, 0));
    shows!(["SSTATE-1", "LSCTL-21"], lsctl(&request(ACTIVE)), 3);
    shows!(["SSTATE-1", "LSCTL-21"], lsctl(&request(ENABLE_BASIC)), 3);
    shows!(["LSCTL-23", "STRANSITION-17"], lsctl(&request(0)), 0);
    busy(3 * INTERVAL);
    shows!("SSTATE-1", sampling::stored(0), 0);
    wait_for_the_operator();
    shows!(["STRANSITION-1", "SREG-5"], sampling_state(), DISABLED);
    shows!("ALERT-15", alerts(), (0, 0));
    lsctl(&request(ACTIVE));
    busy(2 * INTERVAL);
    wait_for_the_operator();
    let stored = sampling::stored(0);
    busy(3 * INTERVAL);
    shows!("SSTATE-16", stored >= 2 && sampling::stored(0) == stored);
    shows!("STRANSITION-9", sampling_state(), UNAUTHORIZED);
    shows!("ALERT-31", sampling::stop(), 0);
    shows!(
        ["ALERT-14", "ALERT-16", "ALERT-31"],
        alerts(),
        (1, SAMPLING_ALERT)
    );
    wait_for_the_operator();
    shows!("ALERT-47", alerts(), (0, 0));
    shows!("STRANSITION-1", sampling_state(), DISABLED);
    lsctl(&request(ENABLE_BASIC));
    wait_for_the_operator();
    shows!("STRANSITION-5", sampling_state(), UNAUTHORIZED);
    shows!(["ALERT-14", "ALERT-16"], alerts(), (1, SAMPLING_ALERT));
}

fn run() {
    counters();
    samples();
}
