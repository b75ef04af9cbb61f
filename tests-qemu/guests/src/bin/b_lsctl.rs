//! LOAD SAMPLING CONTROLS: every valid state transition, condition code 3 with nothing changed for an
//! invalid one, specification exceptions for bits that must be zero and for an interval out of range.
#![no_std]
#![no_main]

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::measurement::{ACTIVATE_BASIC, ENABLE_BASIC, SamplingRequest, lsctl, qsi};
use guests::sampling;

guests::clause!(
    "SA23-2260, LOAD SAMPLING CONTROLS; State of Sampling Function; State Transition",
    native = false
);
guests::guest!(run);

/// Diagnostic-sampling enable and activation controls, bits 55 and 63.
const ENABLE_DIAGNOSTIC: u64 = 1 << 8;
const ACTIVATE_DIAGNOSTIC: u64 = 1;

const INTERVAL: u64 = 1_000_000;

/// Enable and activation controls in the places a request has them.
fn state() -> u64 {
    let state = u64::from(qsi().state);
    (state & 0x300) | (state & 3)
}

fn request(state: u64) -> SamplingRequest {
    let mut request = sampling::prepare(4, INTERVAL);
    request.state = state;
    request
}

fn number(request: &SamplingRequest) -> u64 {
    attempt!(".insn s,0xb2870000,0({a})", a = in(reg_addr) &raw const *request).number()
}

fn run() {
    let states = [0, ENABLE_BASIC, ENABLE_BASIC | ACTIVATE_BASIC];
    for from in states {
        for to in states {
            lsctl(&request(from));
            check("valid transition: condition code", lsctl(&request(to)), 0);
            check("  state", state(), to);
        }
    }
    let diagnostic_authorized = qsi().state >> 16 & 1 == 1;
    let mut wrong = [
        ACTIVATE_BASIC,
        ENABLE_BASIC | ACTIVATE_DIAGNOSTIC,
        ACTIVATE_BASIC | ACTIVATE_DIAGNOSTIC,
        0,
    ];
    if !diagnostic_authorized {
        wrong[3] = ENABLE_BASIC | ENABLE_DIAGNOSTIC;
    }
    for wanted in wrong.into_iter().filter(|&wanted| wanted != 0) {
        for before in states {
            lsctl(&request(before));
            let registers = (qsi().tear, qsi().dear);
            check(
                "invalid transition: condition code",
                lsctl(&request(wanted)),
                3,
            );
            check("  state unchanged", state(), before);
            check(
                "  registers unchanged",
                u64::from((qsi().tear, qsi().dear) == registers),
                1,
            );
        }
    }
    lsctl(&request(ENABLE_BASIC));
    for bit in (2..54).chain(56..62) {
        let outcome = number(&request(ENABLE_BASIC | 1 << (63 - bit)));
        if outcome != suppressed(6, 4) {
            check(
                "a bit that must be zero",
                (bit as u64) << 40 | outcome,
                (bit as u64) << 40 | suppressed(6, 4),
            );
        }
    }
    let limits = qsi();
    let active = ENABLE_BASIC | ACTIVATE_BASIC;
    for interval in [
        0,
        limits.minimum_interval - 1,
        limits.maximum_interval + 1,
        u64::MAX,
    ] {
        let outcome = number(&SamplingRequest {
            interval,
            ..request(active)
        });
        check("an interval out of range", outcome, suppressed(6, 4));
        check("  state unchanged", state(), ENABLE_BASIC);
    }
    for interval in [limits.minimum_interval, limits.maximum_interval] {
        check(
            "an interval at the limit",
            number(&SamplingRequest {
                interval,
                ..request(active)
            }),
            0,
        );
        lsctl(&request(ENABLE_BASIC));
    }
    check(
        "the interval does not matter while none becomes active",
        number(&SamplingRequest {
            interval: 0,
            ..request(ENABLE_BASIC)
        }),
        0,
    );
    check(
        "bytes 32-63 are ignored",
        number(&SamplingRequest {
            ignored: [u64::MAX; 4],
            ..request(active)
        }),
        0,
    );
    check("active", state(), active);
    check(
        "active to active loads the registers anew",
        number(&SamplingRequest {
            dear: sampling::block(1),
            ..request(active)
        }),
        0,
    );
    check("  DEAR", u64::from(qsi().dear == sampling::block(1)), 1);
    check("S and H may be one", number(&request(active | 3 << 62)), 0);
    check("disable", sampling::stop(), 0);
    check("disabled", state(), 0);
    let far = 0x7000_0000_u64;
    check(
        "beyond storage",
        attempt!(".insn s,0xb2870000,0({a})", a = in(reg_addr) far).code(),
        5,
    );
}
