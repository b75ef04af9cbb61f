//! The states of the basic-sampling function, every transition between them by LOAD SAMPLING CONTROLS, what is stored
//! in each state, and which controls a request changes.

use guests::insn::measurement::{ACTIVATE_BASIC, ENABLE_BASIC, SamplingRequest, lsctl, qsi};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, State of Sampling Function; State Transition; Sampling Control Registers",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const DISABLED: u64 = 0;
const INACTIVE: u64 = ENABLE_BASIC;
const ACTIVE: u64 = ENABLE_BASIC | ACTIVATE_BASIC;

fn state() -> u64 {
    u64::from(qsi().state & 0x303)
}

fn request(state: u64) -> SamplingRequest {
    SamplingRequest {
        state,
        ..sampling::prepare(4, INTERVAL)
    }
}

/// Performs a transition. Returns the condition code, and the state afterwards.
fn transition(from: u64, to: u64) -> (u8, u64) {
    lsctl(&request(DISABLED));
    lsctl(&request(from));
    (lsctl(&request(to)), state())
}

fn run() {
    shows!(
        ["STRANSITION-3", "LSCTL-5"],
        transition(DISABLED, INACTIVE),
        (0, INACTIVE)
    );
    shows!(
        ["STRANSITION-4", "LSCTL-5"],
        transition(DISABLED, ACTIVE),
        (0, ACTIVE)
    );
    shows!(
        "STRANSITION-6",
        transition(INACTIVE, DISABLED),
        (0, DISABLED)
    );
    shows!("STRANSITION-8", transition(INACTIVE, ACTIVE), (0, ACTIVE));
    shows!(
        "STRANSITION-10",
        transition(ACTIVE, DISABLED),
        (0, DISABLED)
    );
    shows!(
        "STRANSITION-12",
        transition(ACTIVE, INACTIVE),
        (0, INACTIVE)
    );
    for same in [DISABLED, INACTIVE, ACTIVE] {
        shows!(
            ["STRANSITION-17", "LSCTL-22", "LSCTL-18"],
            transition(same, same),
            (0, same)
        );
    }
    // Disabled and inactive: nothing is stored.
    for (state, is_enabled) in [(DISABLED, false), (INACTIVE, true)] {
        sampling::stop();
        let request = sampling::prepare(4, INTERVAL);
        lsctl(&SamplingRequest { state, ..request });
        busy(10 * INTERVAL);
        let empty = sampling::stored(0) == 0 && sampling::trailer(0, 0) == 0;
        if is_enabled {
            shows!("SSTATE-4", empty);
        } else {
            shows!("SSTATE-2", empty);
        }
    }
    // Active: an entry in each interval, and the registers are visible.
    let request = sampling::prepare(4, INTERVAL);
    lsctl(&request);
    shows!(
        ["SSTATE-7", "LSCTL-10", "QSI-10", "QSI-11"],
        (qsi().tear, qsi().dear),
        (request.tear, request.dear)
    );
    busy(10 * INTERVAL + INTERVAL / 2);
    shows!(
        [
            "SSTATE-6",
            "SSTATE-7",
            "SAMPLING-1",
            "UPDATE-1",
            "UPDATE-2",
            "STEP-3",
            "SREG-11"
        ],
        qsi().dear,
        request.dear + 10 * 32
    );
    // Active to active: all controls are loaded again.
    let other = SamplingRequest {
        tear: request.tear + 8,
        dear: sampling::block(1),
        interval: 5 * INTERVAL,
        ..request
    };
    lsctl(&other);
    shows!(
        "LSCTL-11",
        (qsi().tear, qsi().dear),
        (other.tear, other.dear)
    );
    busy(10 * INTERVAL + INTERVAL / 2);
    shows!(["LSCTL-11", "SREG-11"], qsi().dear, other.dear + 2 * 32);
    // Inactive: the registers stay, whatever the request says.
    let before = qsi();
    lsctl(&SamplingRequest {
        state: INACTIVE,
        tear: 0x10,
        dear: 0x20,
        interval: 1,
        ..request
    });
    busy(10 * INTERVAL);
    shows!(
        ["SSTATE-5", "LSCTL-12", "LSCTL-16"],
        (qsi().tear, qsi().dear),
        (before.tear, before.dear)
    );
    // Inactive to active: the request's controls again.
    lsctl(&request);
    shows!(
        "LSCTL-10",
        (qsi().tear, qsi().dear),
        (request.tear, request.dear)
    );
    // Disabled: nothing remains.
    sampling::stop();
    shows!(
        ["SSTATE-3", "SREG-3", "QSI-12"],
        (qsi().tear, qsi().dear),
        (0, 0)
    );
    lsctl(&SamplingRequest {
        state: INACTIVE,
        ..request
    });
    shows!(
        ["SSTATE-3", "SREG-3", "LSCTL-12"],
        (qsi().tear, qsi().dear),
        (0, 0)
    );
    sampling::stop();
    // Disabled to active loads them as well.
    lsctl(&request);
    shows!(
        "LSCTL-9",
        (qsi().tear, qsi().dear),
        (request.tear, request.dear)
    );
    sampling::stop();
    // The figure shows all combinations.
    for bits in 0..16_u64 {
        lsctl(&SamplingRequest {
            state: (bits & 0xC) << 6 | bits & 3,
            ..request
        });
        let now = qsi().state;
        let (authorized, enabled, active) = (now >> 16 & 3, now >> 8 & 3, now & 3);
        shows!(
            ["SSTATE-10", "SREG-10"],
            enabled & !authorized == 0 && active & !enabled == 0
        );
        sampling::stop();
    }
}
