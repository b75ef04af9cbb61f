//! LOAD SAMPLING CONTROLS places the maximum-buffer-size indicator, the host indicator and the interval whenever a
//! function becomes or stays active, whatever was there before.

use guests::attempt;
use guests::attempt::suppressed;
use guests::insn::measurement::{
    ACTIVATE_BASIC, ENABLE_BASIC, LARGE_BLOCKS, SamplingRequest, lpp, lsctl, qsi,
};
use guests::misdirected::{load, store};
use guests::sampling::{self, TRAILER, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, LOAD SAMPLING CONTROLS (additional controls)",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const INACTIVE: u64 = ENABLE_BASIC;
const ACTIVE: u64 = ENABLE_BASIC | ACTIVATE_BASIC;
/// H, bit 1 of the request block.
const HOST: u64 = 1 << 62;
/// Storage that nothing else uses: a block of 1M bytes.
const BLOCK: u64 = 0x810_0000;
const MEGABYTE: u64 = 1 << 20;
/// Where a block of 4K bytes has its trailer, and one of 1M bytes an entry.
const PLACE: u64 = BLOCK + TRAILER as u64;
const PARAMETER: u64 = 0x1357_9BDF;

/// Disabled, inactive, or active with these controls.
fn before(state: u64, indicators: u64, interval: u64) {
    sampling::stop();
    let request = SamplingRequest {
        state: indicators | ACTIVE,
        interval,
        ..sampling::prepare(4, INTERVAL)
    };
    if state != 0 {
        lsctl(&request);
        lpp(PARAMETER);
        lsctl(&SamplingRequest { state, ..request });
    }
    if state == ACTIVE {
        lsctl(&request);
    }
}

/// A request that activates, for three samples and a half.
fn activate(indicators: u64, dear: u64) -> SamplingRequest {
    let request = SamplingRequest {
        state: indicators | ACTIVE,
        dear,
        ..sampling::prepare(4, INTERVAL)
    };
    lsctl(&request);
    lpp(PARAMETER);
    busy(3 * INTERVAL + INTERVAL / 2);
    request
}

fn indicators(state: u64) {
    for wanted in [0, LARGE_BLOCKS] {
        store(PLACE, 0);
        store(BLOCK + MEGABYTE - 64, 0);
        before(state, LARGE_BLOCKS ^ wanted, INTERVAL);
        activate(wanted, PLACE);
        let expected = if wanted == 0 {
            sampling::block(1) + 3 * 32
        } else {
            PLACE + 3 * 32
        };
        shows!("LSCTL-27", qsi().dear, expected);
    }
    for wanted in [0, HOST] {
        before(state, HOST ^ wanted, INTERVAL);
        activate(wanted, sampling::block(0));
        let entry = sampling::entry(0, 1);
        let (guest, host) = if wanted == 0 {
            (PARAMETER, 0)
        } else {
            (0, PARAMETER)
        };
        shows!(
            "LSCTL-28",
            (
                entry.level >> 13 & 1,
                entry.guest_parameter,
                entry.host_parameter
            ),
            (u16::from(wanted != 0), guest, host)
        );
    }
}

/// The interval of the request counts from now on, whether the one before was longer or shorter.
fn interval(state: u64) {
    for other in [INTERVAL / 5, 1 << 30] {
        before(state, 0, other);
        let request = activate(0, sampling::block(0));
        shows!("LSCTL-29", qsi().dear, request.dear + 3 * 32);
    }
}

/// An interval out of range leaves everything as it was, the active state included.
fn refused(state: u64) {
    let limits = qsi();
    for interval in [limits.minimum_interval - 1, limits.maximum_interval + 1] {
        before(state, 0, INTERVAL);
        let registers = qsi();
        let wrong = SamplingRequest {
            state: HOST | LARGE_BLOCKS | ACTIVE,
            interval,
            tear: 0x1000,
            dear: 0x2000,
            ignored: [0; 4],
        };
        let outcome = attempt!(".insn s,0xb2870000,0({a})", a = in(reg_addr) &raw const wrong);
        shows!(
            "LSCTL-31",
            (outcome.number(), qsi()),
            (suppressed(6, 4), registers)
        );
        busy(3 * INTERVAL + INTERVAL / 2);
        let (samples, entry) = (sampling::stored(0), sampling::entry(0, 2));
        if state == ACTIVE {
            shows!("LSCTL-31", (samples, entry.level >> 13 & 1), (3, 0));
        } else {
            shows!("LSCTL-31", samples, 0);
        }
    }
}

fn run() {
    for state in [0, INACTIVE, ACTIVE] {
        indicators(state);
        interval(state);
        refused(state);
    }
    shows!("LSCTL-27", load(BLOCK + MEGABYTE - 64) >> 63, 0);
    sampling::stop();
}
