//! Invalid entry address: a data entry in 0-8191, inside a trailer or beyond storage, and a table entry
//! beyond storage, give a measurement alert (80000000) and make sampling inactive.

use guests::check::check;
use guests::externals;
use guests::insn::control::{stnsm, stosm};
use guests::insn::measurement::{SamplingRequest, lsctl, qsi};
use guests::sampling::{self, TRAILER, busy};
use guests::shows;

guests::clause!("SA23-2260, Invalid Entry Address", native = false);
guests::case!(run);

const INTERVAL: u64 = 10_000;

/// Whether sampling at this request ends with the alert.
fn attempt(name: &str, request: &SamplingRequest) -> bool {
    check(name, lsctl(request), 0);
    stosm::<0x01>();
    busy(INTERVAL * 130);
    stnsm::<0xFE>();
    let found = (externals::recorded(), externals::get(0).parameter);
    check("  alerts", externals::recorded(), 1);
    shows!("ALERT-5", externals::get(0).parameter, 0x8000_0000);
    shows!("ALERT-1", externals::take_codes(), 0x1407);
    shows!(
        ["ALERT-33", "STRANSITION-14", "UPDATE-7", "UPDATE-8"],
        qsi().state & 0x0303,
        0x0200
    );
    check("  disable", sampling::stop(), 0);
    found == (1, 0x8000_0000)
}

fn run() {
    externals::record();
    let request = sampling::prepare(4, INTERVAL);
    shows!(
        ["UPDATE-9", "ALERT-3", "UPDATE-7"],
        attempt(
            "data entry at 1000",
            &SamplingRequest {
                dear: 0x1000,
                ..request
            },
        )
    );
    shows!(
        ["UPDATE-9", "ALERT-3"],
        attempt(
            "data entry at 1FE0",
            &SamplingRequest {
                dear: 0x1FE0,
                ..request
            },
        )
    );
    // At the trailer's first byte a block is merely full. Behind that byte the address is invalid.
    shows!(
        ["UPDATE-10", "STEP-1", "ALERT-3"],
        attempt(
            "data entry in a trailer",
            &SamplingRequest {
                dear: sampling::block(0) + TRAILER as u64 + 32,
                ..request
            },
        )
    );
    shows!(
        ["UPDATE-11", "ALERT-3"],
        attempt(
            "data entry beyond storage",
            &SamplingRequest {
                dear: 0x7000_0000,
                ..request
            },
        )
    );
    // The machine fetches the table entry when the block becomes full.
    let request = sampling::prepare(4, INTERVAL);
    shows!(
        ["UPDATE-11", "ALERT-4", "UPDATE-8"],
        attempt(
            "table entry beyond storage",
            &SamplingRequest {
                tear: 0x7000_0000,
                ..request
            },
        )
    );
    let request = sampling::prepare(4, INTERVAL);
    shows!(
        ["UPDATE-9", "ALERT-4"],
        attempt(
            "table entry in 0-8191",
            &SamplingRequest {
                tear: 0x1000,
                ..request
            },
        )
    );
    let request = sampling::prepare(4, INTERVAL);
    sampling::set_table_entry(1, 0x7000_0000);
    shows!(
        ["UPDATE-11", "ALERT-3"],
        attempt("a block beyond storage", &request)
    );
    let request = sampling::prepare(4, INTERVAL);
    sampling::set_table_entry(1, 0x7000_0001);
    shows!(
        ["UPDATE-11", "ALERT-4"],
        attempt("a table beyond storage", &request)
    );
}
