//! SET SYSTEM MASK, STORE THEN AND SYSTEM MASK and STORE THEN OR SYSTEM MASK replace PSW bits 0-7, and
//! the stores give the mask as it was.

use guests::insn::control::{epsw, ssm, stnsm, stosm};
use guests::shows;

guests::clause!(
    "SA22-7832, SET SYSTEM MASK; STORE THEN AND SYSTEM MASK; STORE THEN OR SYSTEM MASK",
    native = true
);
guests::case!(run);

fn mask() -> u8 {
    (epsw().0 >> 24) as u8
}

/// Bits 8-63 of the PSW without the condition code, which depends on the compiler.
fn rest() -> u64 {
    let (left, right) = epsw();
    u64::from(left & 0x00FF_CFFF) << 32 | u64::from(right)
}

fn run() {
    let before = rest();
    shows!("STOSM-1", stosm::<0x03>(), 0);
    shows!("STOSM-2", mask(), 0x03);
    shows!("STOSM-3", rest(), before);
    shows!("STNSM-1", stnsm::<0xFE>(), 0x03);
    shows!("STNSM-2", mask(), 0x02);
    shows!("STNSM-3", rest(), before);
    ssm(0x01);
    shows!("SSM-1", mask(), 0x01);
    shows!("SSM-2", rest(), before);
    ssm(0x00);
    shows!("SSM-1", mask(), 0x00);
    shows!("STOSM-1", stosm::<0x40>(), 0);
    shows!("STOSM-2", mask(), 0x40);
    shows!("STNSM-1", stnsm::<0x00>(), 0x40);
    shows!("STNSM-2", mask(), 0);
}
