//! The operator makes sample data and CPU counter data get lost: which alert is recognized, what becomes inactive,
//! and what clears the request.

use guests::externals::{alerts, wait_for_the_operator};
use guests::insn::measurement::{controls, ecctr, lcctl, lsctl, qctri, qsi, set};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Loss of Sample Data Alert; Loss of CPU Counter Data Alert",
    native = false,
    when_waiting = "ALERT CPU 0 SAMPLES; INTERRUPT CPU 0; ALERT CPU 0 SAMPLES; INTERRUPT CPU 0;\
        ALERT CPU 0 COUNTERS BASIC; INTERRUPT CPU 0; ALERT CPU 0 COUNTERS BASIC; INTERRUPT CPU 0"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const SETS: u16 = set::BASIC | set::PROBLEM_STATE;

fn state() -> u64 {
    let information = qctri();
    controls(information.enable, information.activation)
}

fn run() {
    lsctl(&sampling::prepare(4, INTERVAL));
    wait_for_the_operator();
    shows!(["ALERT-35", "STRANSITION-16"], qsi().state & 0x303, 0x200);
    shows!(["ALERT-17", "ALERT-18"], alerts(), (1, 0x0040_0000));
    lsctl(&sampling::prepare(4, INTERVAL));
    wait_for_the_operator();
    sampling::stop();
    shows!("ALERT-28", alerts(), (0, 0));
    lcctl(controls(SETS, SETS));
    wait_for_the_operator();
    shows!(
        ["ALERT-36", "TRANSITION-16"],
        state(),
        controls(SETS, set::PROBLEM_STATE)
    );
    let value = ecctr(1);
    busy(100);
    shows!("ALERT-36", (value.0, ecctr(1)), (0, value));
    shows!(["ALERT-19", "ALERT-20"], alerts(), (1, 0x40));
    lcctl(controls(SETS, SETS));
    wait_for_the_operator();
    lcctl(0);
    shows!("ALERT-29", alerts(), (0, 0));
}
