//! QUERY SAMPLING INFORMATION: what is authorized, the sizes and limits, and the controls as LSCTL set
//! them; the two address registers show only while a function is enabled.
#![no_std]
#![no_main]

use guests::attempt;
use guests::check::{check, fact, holds};
use guests::insn::measurement::{ENABLE_BASIC, SamplingRequest, lsctl, qsi};
use guests::sampling;

guests::clause!("SA23-2260, QUERY SAMPLING INFORMATION", native = false);
guests::guest!(run);

/// As bits 14, 22 and 30: authorization, enable and activation of basic sampling.
const AUTHORIZED: u32 = 1 << 17;
const ENABLED: u32 = 1 << 9;
const ACTIVE: u32 = 1 << 1;

fn run() {
    let information = qsi();
    check(
        "authorized only",
        information.state & !(1 << 16),
        AUTHORIZED,
    );
    check(
        "basic-sampling-data-entry size",
        information.basic_entry_size,
        32,
    );
    fact(
        "diagnostic-sampling-data-entry size",
        information.diagnostic_entry_size,
    );
    holds(
        "minimum and maximum interval",
        information.minimum_interval > 0
            && information.minimum_interval <= information.maximum_interval,
    );
    fact("minimum interval", information.minimum_interval);
    fact("maximum interval", information.maximum_interval);
    holds("a CPU speed", information.cpu_speed > 0);
    check(
        "TEAR, DEAR while disabled",
        information.tear | information.dear,
        0,
    );
    check(
        "reserved bytes 48-63",
        information.reserved[0] | information.reserved[1],
        0,
    );
    check("reserved bytes 40-42", information.reserved_for_ibm >> 8, 0);
    check(
        "enable",
        lsctl(&SamplingRequest {
            state: ENABLE_BASIC,
            tear: 0x111,
            dear: 0x222,
            ..Default::default()
        }),
        0,
    );
    let information = qsi();
    check(
        "enabled",
        information.state & !(1 << 16),
        AUTHORIZED | ENABLED,
    );
    check(
        "no function became active: TEAR, DEAR not loaded",
        information.tear | information.dear,
        0,
    );
    let request = sampling::prepare(4, 1_000_000);
    check("activate", lsctl(&request), 0);
    let information = qsi();
    check(
        "active",
        information.state & !(1 << 16),
        AUTHORIZED | ENABLED | ACTIVE,
    );
    check(
        "TEAR as loaded",
        u64::from(information.tear == request.tear),
        1,
    );
    check(
        "DEAR as loaded, no sample yet",
        u64::from(information.dear == request.dear),
        1,
    );
    check(
        "deactivate",
        lsctl(&SamplingRequest {
            state: ENABLE_BASIC,
            tear: 0x111,
            ..Default::default()
        }),
        0,
    );
    let information = qsi();
    check(
        "inactive",
        information.state & !(1 << 16),
        AUTHORIZED | ENABLED,
    );
    check(
        "TEAR is preserved",
        u64::from(information.tear == request.tear),
        1,
    );
    check("disable", sampling::stop(), 0);
    let information = qsi();
    check("disabled", information.state & !(1 << 16), AUTHORIZED);
    check(
        "TEAR, DEAR are cleared",
        information.tear | information.dear,
        0,
    );
    let mut block = [0xAA_u8; 80];
    let odd = block.as_mut_ptr() as u64 + 1;
    check(
        "any alignment",
        attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) odd).code(),
        0,
    );
    // SAFETY: stored by the instruction.
    let block = unsafe { core::ptr::read_volatile(&raw const block) };
    check(
        "64 bytes are stored",
        u64::from(block[0] == 0xAA && block[64] == 0 && block[65] == 0xAA),
        1,
    );
    let far = 0x7000_0000_u64;
    check(
        "beyond storage",
        attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) far).code(),
        5,
    );
}
