//! QUERY SAMPLING INFORMATION: authorization, sizes and limits, and the controls as LSCTL set them. The two address
//! registers appear only while a function is enabled.

use guests::attempt;
use guests::check::{check, fact};
use guests::insn::measurement::{ENABLE_BASIC, SamplingRequest, lsctl, qsi};
use guests::sampling;
use guests::shows;

guests::clause!("SA23-2260, QUERY SAMPLING INFORMATION", native = false);
guests::case!(run);

/// As bits 14, 22 and 30: authorization, enable and activation of basic sampling.
const AUTHORIZED: u32 = 1 << 17;
const ENABLED: u32 = 1 << 9;
const ACTIVE: u32 = 1 << 1;

fn run() {
    let information = qsi();
    shows!(
        ["QSI-2", "QSI-5"],
        information.state & !(1 << 16),
        AUTHORIZED
    );
    shows!("QSI-5", information.state & !0x3_0303, 0);
    shows!("QSI-6", information.basic_entry_size, 32,);
    fact(
        "diagnostic-sampling-data-entry size",
        information.diagnostic_entry_size,
    );
    shows!(
        ["QSI-8", "QSI-9"],
        information.minimum_interval > 0
            && information.minimum_interval <= information.maximum_interval,
    );
    fact("minimum interval", information.minimum_interval);
    fact("maximum interval", information.maximum_interval);
    shows!("QSI-13", information.cpu_speed > 0);
    shows!("QSI-12", information.tear | information.dear, 0,);
    shows!(
        "QSI-14",
        information.reserved[0] | information.reserved[1],
        0,
    );
    shows!("QSI-14", information.reserved_for_ibm >> 8, 0);
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
    shows!(
        "QSI-3",
        information.state & !(1 << 16),
        AUTHORIZED | ENABLED
    );
    check(
        "no function became active: TEAR, DEAR not loaded",
        information.tear | information.dear,
        0,
    );
    let request = sampling::prepare(4, 1_000_000);
    check("activate", lsctl(&request), 0);
    let information = qsi();
    shows!(
        ["QSI-4", "QSI-5"],
        information.state & !(1 << 16),
        AUTHORIZED | ENABLED | ACTIVE
    );
    shows!("QSI-10", u64::from(information.tear == request.tear), 1,);
    shows!("QSI-11", u64::from(information.dear == request.dear), 1,);
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
    shows!(
        ["QSI-10", "SSTATE-5"],
        u64::from(information.tear == request.tear),
        1,
    );
    check("disable", sampling::stop(), 0);
    let information = qsi();
    check("disabled", information.state & !(1 << 16), AUTHORIZED);
    shows!(["QSI-12", "SREG-3"], information.tear | information.dear, 0,);
    let mut block = [0xAA_u8; 80];
    let odd = block.as_mut_ptr() as u64 + 1;
    shows!(
        "QSI-18",
        attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) odd).code(),
        0,
    );
    // SAFETY: stored by the instruction.
    let block = unsafe { core::ptr::read_volatile(&raw const block) };
    shows!(
        "QSI-1",
        u64::from(block[0] == 0xAA && block[64] == 0 && block[65] == 0xAA),
        1,
    );
    let cc =
        attempt!("lghi %r1, 1\n ltgr %r1, %r1\n .insn s,0xb2860000,0({a})", a = in(reg_addr) odd);
    shows!("QSI-15", cc.condition_code(), 2);
    let far = 0x7000_0000_u64;
    shows!(
        "QSI-16",
        attempt!(".insn s,0xb2860000,0({a})", a = in(reg_addr) far).code(),
        5,
    );
}
