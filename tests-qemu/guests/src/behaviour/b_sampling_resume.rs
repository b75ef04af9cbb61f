//! A program makes sampling inactive and resumes it with the values from QUERY SAMPLING INFORMATION: entry follows
//! entry, the first one an interval after the activation. A refused LSCTL does not delay sampling.

use guests::check::{check, holds};
use guests::insn::measurement::{ENABLE_BASIC, SamplingRequest, lsctl, qsi};
use guests::sampling::{self, busy};

guests::clause!(
    "SA23-2260, LOAD SAMPLING CONTROLS; QUERY SAMPLING INFORMATION; Programming Notes",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const INACTIVE: SamplingRequest = SamplingRequest {
    state: ENABLE_BASIC,
    interval: 0,
    tear: 0x666,
    dear: 0x777,
    ignored: [0; 4],
};

fn run() {
    let request = sampling::prepare(4, INTERVAL);
    let mut tear = request.tear;
    let mut dear = request.dear;
    for round in 0..100 {
        let again = SamplingRequest {
            tear,
            dear,
            ..request
        };
        if lsctl(&again) != 0 {
            check("resume", round, u64::MAX);
        }
        // Never for a whole interval, and then for one and a half.
        busy(if round % 2 == 0 {
            INTERVAL / 2
        } else {
            INTERVAL * 3 / 2
        });
        if lsctl(&INACTIVE) != 0 {
            check("deactivate", round, u64::MAX);
        }
        let information = qsi();
        let samples = (information.dear - dear) / 32;
        if samples != round % 2 {
            check(
                "samples of a round",
                round << 8 | samples,
                round << 8 | round % 2,
            );
        }
        busy(3 * INTERVAL);
        if qsi() != information {
            check("inactive sampling stands still", round, u64::MAX);
        }
        (tear, dear) = (information.tear, information.dear);
    }
    check("all samples, one behind the other", sampling::stored(0), 50);
    check("DEAR", dear, sampling::block(0) + 50 * 32);

    // Condition code 3 again and again within an interval: the samples arrive regardless.
    let again = SamplingRequest {
        tear,
        dear,
        ..request
    };
    check("activate", lsctl(&again), 0);
    let diagnostic = SamplingRequest {
        state: request.state | 1 << (63 - 55),
        ..again
    };
    for _ in 0..100 {
        if lsctl(&diagnostic) != 3 {
            check("an unauthorized function", 0, 3);
        }
        busy(INTERVAL / 4);
    }
    let samples = (qsi().dear - dear) / 32;
    holds(
        "a refused LSCTL does not put off the next sample",
        (24..=26).contains(&samples),
    );
    check("disable", sampling::stop(), 0);
    check("TEAR and DEAR are zeros", qsi().tear | qsi().dear, 0);
}
