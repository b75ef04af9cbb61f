//! QUERY COUNTER INFORMATION: versions, authorization, and enable and activation controls as LCCTL set
//! them; everything else zero.

use guests::attempt;
use guests::check::{check, fact};
use guests::insn::measurement::{controls, lcctl, qctri, set};
use guests::shows;

guests::clause!("SA23-2260, QUERY COUNTER INFORMATION", native = false);
guests::case!(run);

fn run() {
    let information = qctri();
    fact("counter first version number", information.first_version);
    fact("counter second version number", information.second_version);
    shows!(
        ["QCTRI-2", "COUNTER-6"],
        [1, 3].contains(&information.first_version),
    );
    shows!(
        ["QCTRI-7", "COUNTER-6"],
        (1..=7).contains(&information.second_version),
    );
    shows!(
        ["QCTRI-3", "LOCAL-2"],
        information.authorization & !(0x8000 | 0x3F) == 0
            && information.authorization & (set::BASIC | set::PROBLEM_STATE)
                == set::BASIC | set::PROBLEM_STATE
    );
    shows!("QCTRI-10", information.change & 0x7FFF, 0);
    shows!("QCTRI-6", information.maximum_cpu_address, 0);
    check("enabled at start", information.enable, 0);
    check("active at start", information.activation, 0);
    check(
        "coprocessor-group-address change, reserved byte 15",
        information.change,
        0,
    );
    shows!(
        "QCTRI-11",
        information.reserved.iter().fold(0, |all, word| all | word),
        0,
    );
    for (enable, activate) in [(2, 0), (6, 4), (6, 6), (4, 4), (0, 0)] {
        check("LCCTL", lcctl(controls(enable, activate)), 0);
        let information = qctri();
        shows!("QCTRI-4", information.enable, enable);
        shows!("QCTRI-5", information.activation, activate);
    }
    let mut block = [0xAA_u8; 80];
    let odd = block.as_mut_ptr() as u64 + 1;
    shows!(
        "QCTRI-17",
        attempt!(".insn s,0xb28e0000,0({a})", a = in(reg_addr) odd).code(),
        0,
    );
    // SAFETY: stored by the instruction.
    let block = unsafe { core::ptr::read_volatile(&raw const block) };
    shows!("QCTRI-1", block[0], 0xAA);
    shows!("QCTRI-1", block[65], 0xAA);
    shows!(["QCTRI-1", "QCTRI-11"], block[64], 0);
    let far = 0x7000_0000_u64;
    shows!(
        "QCTRI-13",
        attempt!(".insn s,0xb28e0000,0({a})", a = in(reg_addr) far).code(),
        5,
    );
    let cc =
        attempt!("lghi %r1, 1\n ltgr %r1, %r1\n .insn s,0xb28e0000,0({a})", a = in(reg_addr) odd);
    shows!("QCTRI-12", cc.condition_code(), 2);
}
