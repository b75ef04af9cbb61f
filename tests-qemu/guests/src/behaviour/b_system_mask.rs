//! SSM suppression, and system masks that are not valid. (QEMU has neither the suppression nor the early exception,
//! hence not native.)

use guests::attempt::{Outcome, suppressed};
use guests::insn::control::{lctlg_0, stctg_0};
use guests::psw::bit;
use guests::{attempt, attempt_in_problem_state, shows};

guests::clause!(
    "SA22-7832, SET SYSTEM MASK; STORE THEN OR SYSTEM MASK; Early Exception Recognition",
    native = false
);
guests::case!(run);

/// The SSM-suppression control.
const SUPPRESSION: u64 = bit(33);

/// The system mask in the old PSW of a program interruption.
fn old_system_mask(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Program(program) => program.old.mask >> 56,
        _ => 0xFFFF,
    }
}

fn run() {
    let cr0 = stctg_0();
    let mut byte = 0x03_u8;
    let at = &raw mut byte as u64;
    lctlg_0(cr0 | SUPPRESSION);
    let suppressed_ssm = attempt!("ssm 0({a})", a = in(reg_addr) at);
    shows!("SSM-3", suppressed_ssm.number(), suppressed(0x13, 4));
    shows!("SSM-3", old_system_mask(suppressed_ssm), 0);
    let privileged = attempt_in_problem_state!("ssm 0({a})", a = in(reg_addr) at);
    shows!("SSM-4", privileged.number(), suppressed(2, 4));
    let or = attempt!("stosm 0({a}), 0", a = in(reg_addr) at);
    shows!("STOSM-5", (or.code(), byte), (0, 0));
    byte = 0xFF;
    let and = attempt!("stnsm 0({a}), 0", a = in(reg_addr) at);
    shows!("STNSM-5", (and.code(), byte), (0, 0));
    lctlg_0(cr0);
    for invalid in [0x80_u8, 0x20, 0x10, 0x08] {
        byte = invalid;
        let outcome = attempt!("ssm 0({a})", a = in(reg_addr) at);
        shows!("SSM-5", outcome.number(), suppressed(6, 4));
        shows!("SSM-5", old_system_mask(outcome), u64::from(invalid));
    }
    macro_rules! introduced {
        ($($invalid:literal),*) => {
            $(
                let outcome = attempt!(concat!("stosm 0({a}), ", $invalid), a = in(reg_addr) at);
                shows!("STOSM-6", outcome.number(), suppressed(6, 4));
                shows!("STOSM-6", (old_system_mask(outcome), byte), ($invalid, 0));
            )*
        };
    }
    introduced!(0x80, 0x20, 0x10, 0x08);
}
