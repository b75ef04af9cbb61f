//! Invalid entry address: a data entry in 0-8191, inside a trailer or beyond storage, and a table entry
//! beyond storage, give a measurement alert (80000000) and make sampling inactive.
#![no_std]
#![no_main]

use guests::check::check;
use guests::externals;
use guests::insn::control::{stnsm, stosm};
use guests::insn::measurement::{SamplingRequest, lsctl, qsi};
use guests::sampling::{self, TRAILER, busy};

guests::clause!("SA23-2260, Invalid Entry Address", native = false);
guests::guest!(run);

const INTERVAL: u64 = 10_000;

fn attempt(name: &str, request: &SamplingRequest) {
    check(name, lsctl(request), 0);
    stosm::<0x01>();
    busy(INTERVAL * 130);
    stnsm::<0xFE>();
    check("  alerts", externals::recorded(), 1);
    check("  parameter", externals::get(0).parameter, 0x8000_0000);
    check("  code", externals::take_codes(), 0x1407);
    check("  enabled and inactive", qsi().state & 0x0303, 0x0200);
    check("  disable", sampling::stop(), 0);
}

fn run() {
    externals::record();
    let request = sampling::prepare(4, INTERVAL);
    attempt(
        "data entry at 1000",
        &SamplingRequest {
            dear: 0x1000,
            ..request
        },
    );
    attempt(
        "data entry at 1FE0",
        &SamplingRequest {
            dear: 0x1FE0,
            ..request
        },
    );
    // At the trailer's first byte a block is merely full; behind it the address is invalid.
    attempt(
        "data entry in a trailer",
        &SamplingRequest {
            dear: sampling::block(0) + TRAILER as u64 + 32,
            ..request
        },
    );
    attempt(
        "data entry beyond storage",
        &SamplingRequest {
            dear: 0x7000_0000,
            ..request
        },
    );
    // The table is looked at when the block becomes full.
    let request = sampling::prepare(4, INTERVAL);
    attempt(
        "table entry beyond storage",
        &SamplingRequest {
            tear: 0x7000_0000,
            ..request
        },
    );
    let request = sampling::prepare(4, INTERVAL);
    attempt(
        "table entry in 0-8191",
        &SamplingRequest {
            tear: 0x1000,
            ..request
        },
    );
    let request = sampling::prepare(4, INTERVAL);
    sampling::set_table_entry(1, 0x7000_0000);
    attempt("a block beyond storage", &request);
    let request = sampling::prepare(4, INTERVAL);
    sampling::set_table_entry(1, 0x7000_0001);
    attempt("a table beyond storage", &request);
}
