//! LOAD SAMPLING CONTROLS: every valid state transition, condition code 3 with nothing changed for an
//! invalid one, specification exceptions for bits that must be zero and for an interval out of range.

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::measurement::{ACTIVATE_BASIC, ENABLE_BASIC, SamplingRequest, lsctl, qsi};
use guests::sampling;
use guests::shows;

guests::clause!(
    "SA23-2260, LOAD SAMPLING CONTROLS; State of Sampling Function; State Transition",
    native = false
);
guests::case!(run);

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
            shows!("LSCTL-18", lsctl(&request(to)), 0);
            check("  state", state(), to);
        }
    }
    let diagnostic_authorized = qsi().state >> 16 & 1 == 1;
    if !diagnostic_authorized {
        // Every request so far has set the diagnostic controls to zeros.
        shows!("LSCTL-23", lsctl(&request(ENABLE_BASIC)), 0);
        sampling::stop();
    }
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
            shows!("LSCTL-19", lsctl(&request(wanted)), 3,);
            shows!(["LSCTL-8", "LSCTL-19"], state(), before);
            if wanted == ACTIVATE_BASIC {
                shows!("LSCTL-20", lsctl(&request(wanted)), 3);
            }
            if wanted == ENABLE_BASIC | ENABLE_DIAGNOSTIC {
                shows!(["LSCTL-21", "LSCTL-6"], lsctl(&request(wanted)), 3);
            }
            shows!(
                "LSCTL-8",
                u64::from((qsi().tear, qsi().dear) == registers),
                1,
            );
        }
    }
    lsctl(&request(ENABLE_BASIC));
    for bit in (2..54).chain(56..62) {
        let outcome = number(&request(ENABLE_BASIC | 1 << (63 - bit)));
        shows!(
            "LSCTL-7",
            (bit as u64) << 40 | outcome,
            (bit as u64) << 40 | suppressed(6, 4),
        );
    }
    shows!("LSCTL-7", state(), ENABLE_BASIC);
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
        let found = (outcome, state());
        let expected = (suppressed(6, 4), ENABLE_BASIC);
        if interval < limits.minimum_interval {
            shows!("LSCTL-13", found, expected);
        } else {
            shows!("LSCTL-14", found, expected);
        }
    }
    let wide = sampling::prepare(4, INTERVAL);
    let mut bytes = [0_u8; 68];
    // SAFETY: 64 bytes into 68, from the fourth on.
    unsafe {
        core::ptr::copy_nonoverlapping((&raw const wide).cast(), bytes.as_mut_ptr().add(3), 64);
    }
    let odd = bytes.as_ptr() as u64 + 3;
    let outcome = attempt!(".insn s,0xb2870000,0({a})", a = in(reg_addr) odd);
    shows!(
        "LSCTL-1",
        (outcome.number(), qsi().tear, qsi().dear),
        (0, wide.tear, wide.dear)
    );
    sampling::stop();
    lsctl(&request(ENABLE_BASIC));
    for interval in [limits.minimum_interval, limits.maximum_interval] {
        shows!(
            ["LSCTL-15", "QSI-8", "QSI-9"],
            number(&SamplingRequest {
                interval,
                ..request(active)
            }),
            0,
        );
        lsctl(&request(ENABLE_BASIC));
    }
    shows!(
        "LSCTL-16",
        number(&SamplingRequest {
            interval: 0,
            ..request(ENABLE_BASIC)
        }),
        0,
    );
    shows!(
        "LSCTL-17",
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
    shows!("LSCTL-11", u64::from(qsi().dear == sampling::block(1)), 1);
    check("S and H may be one", number(&request(active | 3 << 62)), 0);
    check("disable", sampling::stop(), 0);
    check("disabled", state(), 0);
    let far = 0x7000_0000_u64;
    shows!(
        "LSCTL-24",
        attempt!(".insn s,0xb2870000,0({a})", a = in(reg_addr) far).code(),
        5,
    );
}
