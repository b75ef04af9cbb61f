//! The states of a counter set, every transition between them by LOAD CPU-COUNTER-SET CONTROLS, and the operations on
//! counters that each state allows.

use guests::insn::measurement::{controls, ecctr, lcctl, qctri, scctr, set};
use guests::sampling::busy;
use guests::shows;

guests::clause!(
    "SA23-2260, State of Counter Set; State Transition",
    native = false
);
guests::case!(run);

const DISABLED: u64 = 0;
const INACTIVE: u64 = controls(set::BASIC, 0);
const ACTIVE: u64 = controls(set::BASIC, set::BASIC);

fn state() -> u64 {
    let information = qctri();
    controls(information.enable, information.activation)
}

/// Performs a transition. Returns the condition code, and the state afterwards.
fn transition(from: u64, to: u64) -> (u8, u64) {
    lcctl(from);
    (lcctl(to), state())
}

fn run() {
    shows!(
        ["TRANSITION-5", "LCCTL-1"],
        transition(DISABLED, INACTIVE),
        (0, INACTIVE)
    );
    shows!(
        ["TRANSITION-6", "LCCTL-1"],
        transition(DISABLED, ACTIVE),
        (0, ACTIVE)
    );
    shows!(
        "TRANSITION-8",
        transition(INACTIVE, DISABLED),
        (0, DISABLED)
    );
    shows!("TRANSITION-10", transition(INACTIVE, ACTIVE), (0, ACTIVE));
    shows!("TRANSITION-12", transition(ACTIVE, DISABLED), (0, DISABLED));
    shows!("TRANSITION-14", transition(ACTIVE, INACTIVE), (0, INACTIVE));
    for same in [DISABLED, INACTIVE, ACTIVE] {
        shows!(
            ["TRANSITION-17", "LCCTL-16"],
            transition(same, same),
            (0, same)
        );
    }
    shows!("CPUSET-4", transition(ACTIVE, DISABLED), (0, DISABLED));
    // Disabled.
    shows!("STATE-3", (ecctr(1).0, scctr(1, 5)), (3, 3));
    lcctl(INACTIVE);
    shows!("STATE-4", ecctr(1), (0, 0));
    // Inactive.
    shows!("STATE-7", scctr(1, 1000), 0);
    busy(1000);
    shows!(["STATE-5", "STATE-6"], ecctr(1), (0, 1000));
    shows!("STATE-5", ecctr(1), (0, 1000));
    // Active.
    lcctl(ACTIVE);
    busy(1000);
    let value = ecctr(1);
    shows!(["STATE-8", "STATE-9"], value.0 == 0 && value.1 > 2000);
    shows!("STATE-10", scctr(1, 1 << 40), 0);
    shows!(
        "STATE-10",
        ecctr(1).1 > 1 << 40 && ecctr(1).1 < (1 << 40) + 100_000
    );
    lcctl(INACTIVE);
    let value = ecctr(1).1;
    busy(1000);
    shows!("STATE-5", ecctr(1).1, value);
    shows!("TRANSITION-14", value > 1 << 40);
    lcctl(DISABLED);
    lcctl(INACTIVE);
    shows!("CPUSET-1", ecctr(1), (0, 0));
    // Sets without authorization. These are all combinations of the figure.
    let authorized = qctri().authorization;
    for (unauthorized, number) in [(set::CRYPTO, 64), (set::EXTENDED, 128)] {
        if authorized & unauthorized != 0 {
            continue;
        }
        shows!("STATE-1", (ecctr(number).0, scctr(number, 1)), (3, 3));
        shows!(
            "TRANSITION-2",
            transition(INACTIVE, controls(set::BASIC | unauthorized, 0)),
            (3, INACTIVE)
        );
        shows!(
            ["TRANSITION-2", "LCCTL-15"],
            transition(INACTIVE, controls(unauthorized, unauthorized)),
            (3, INACTIVE)
        );
        shows!(
            ["TRANSITION-17", "LCCTL-17"],
            transition(INACTIVE, INACTIVE),
            (0, INACTIVE)
        );
    }
    for enable in 0..4 {
        for activate in 0..4 {
            let information = |bits: u16| bits << 1;
            lcctl(controls(information(enable), information(activate)));
            let now = qctri();
            shows!(
                "STATE-16",
                now.enable & !now.authorization == 0 && now.activation & !now.enable == 0
            );
        }
    }
    lcctl(0);
}
