//! QUERY COUNTER INFORMATION: versions, authorization, and enable and activation controls as LCCTL set
//! them; everything else zero.
#![no_std]
#![no_main]

use guests::attempt;
use guests::check::{check, fact, holds};
use guests::insn::measurement::{controls, lcctl, qctri, set};

guests::clause!("SA23-2260, QUERY COUNTER INFORMATION", native = false);
guests::guest!(run);

fn run() {
    let information = qctri();
    fact("counter first version number", information.first_version);
    fact("counter second version number", information.second_version);
    holds(
        "the first version is 1 or 3",
        [1, 3].contains(&information.first_version),
    );
    holds(
        "the second version is 1 to 7",
        (1..=7).contains(&information.second_version),
    );
    check(
        "authorized: basic and problem-state",
        information.authorization,
        set::BASIC | set::PROBLEM_STATE,
    );
    check("enabled at start", information.enable, 0);
    check("active at start", information.activation, 0);
    check(
        "coprocessor-group-address change, reserved byte 15",
        information.change,
        0,
    );
    check(
        "reserved bytes 16-63",
        information.reserved.iter().fold(0, |all, word| all | word),
        0,
    );
    for (enable, activate) in [(2, 0), (6, 4), (6, 6), (4, 4), (0, 0)] {
        check("LCCTL", lcctl(controls(enable, activate)), 0);
        let information = qctri();
        check("enabled", information.enable, enable);
        check("active", information.activation, activate);
    }
    let mut block = [0xAA_u8; 80];
    let odd = block.as_mut_ptr() as u64 + 1;
    check(
        "any alignment",
        attempt!(".insn s,0xb28e0000,0({a})", a = in(reg_addr) odd).code(),
        0,
    );
    // SAFETY: stored by the instruction.
    let block = unsafe { core::ptr::read_volatile(&raw const block) };
    check("the byte before the block", block[0], 0xAA);
    check("the byte behind the block", block[65], 0xAA);
    check("the last byte of the block", block[64], 0);
    let far = 0x7000_0000_u64;
    check(
        "beyond storage",
        attempt!(".insn s,0xb28e0000,0({a})", a = in(reg_addr) far).code(),
        5,
    );
    let cc =
        attempt!("lghi %r1, 1\n ltgr %r1, %r1\n .insn s,0xb28e0000,0({a})", a = in(reg_addr) odd);
    check("the condition code remains", cc.condition_code(), 2);
}
