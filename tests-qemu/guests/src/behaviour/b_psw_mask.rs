//! SET SYSTEM MASK, STORE THEN AND SYSTEM MASK and STORE THEN OR SYSTEM MASK replace PSW bits 0-7, and
//! the stores give the mask as it was.

use guests::check::check;
use guests::insn::control::{epsw, ssm, stnsm, stosm};

guests::clause!(
    "Principles of Operation, SET SYSTEM MASK; STORE THEN AND SYSTEM MASK; STORE THEN OR SYSTEM MASK",
    native = true
);
guests::case!(run);

fn mask() -> u8 {
    (epsw().0 >> 24) as u8
}

fn run() {
    check("mask at start", mask(), 0);
    check("STOSM 03 stores", stosm::<0x03>(), 0);
    check("mask after STOSM 03", mask(), 0x03);
    check("STNSM FE stores", stnsm::<0xFE>(), 0x03);
    check("mask after STNSM FE", mask(), 0x02);
    ssm(0x01);
    check("mask after SSM 01", mask(), 0x01);
    ssm(0x00);
    check("mask after SSM 00", mask(), 0x00);
    check("STOSM 40 (PER) stores", stosm::<0x40>(), 0);
    check("mask after STOSM 40", mask(), 0x40);
    check("STNSM 00 stores", stnsm::<0x00>(), 0x40);
    check("mask at the end", mask(), 0);
}
