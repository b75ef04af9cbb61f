//! EXTRACT PSW shows the program's own PSW: its state, masks and condition code, whatever PSW the machine below runs
//! it with.

use core::arch::asm;

use guests::insn::control::{epsw, spm, ssm};
use guests::psw::{EXTERNAL, INITIAL, IO, MACHINE_CHECK, Psw, bit, load_psw};
use guests::{attempt_in_problem_state, shows};

guests::clause!("SA22-7832, EXTRACT PSW; LOAD PSW EXTENDED", native = true);
guests::case!(run);

/// The condition code depends on the compiler, so it is not compared.
const WITHOUT_CC: u32 = !0x0000_3000;

/// The condition code after LOAD PSW EXTENDED of a PSW with this one.
fn loaded_condition_code(code: u8) -> u8 {
    let mut psw = Psw::new(INITIAL | u64::from(code) << 44, 0);
    let found: u64;
    // SAFETY: control goes on with the next instruction.
    unsafe {
        asm!(
            "larl {t}, 31f",
            "stg {t}, 8({p})",
            "lpswe 0({p})",
            "31: ipm {t}",
            p = in(reg_addr) &raw mut psw,
            t = inout(reg) 0_u64 => found,
        );
    }
    (found >> 28) as u8
}

fn run() {
    shows!("EPSW-1", epsw().0 & WITHOUT_CC, 0x0000_0001);
    shows!("EPSW-2", epsw().1, 0x8000_0000);
    for (mask, left) in [
        (EXTERNAL | IO, 0x0300_0001),
        (MACHINE_CHECK | 5 << 52, 0x0054_0001),
        // Secondary-space mode, which has no effect with DAT off.
        (bit(16), 0x0000_8001),
    ] {
        load_psw(INITIAL | mask);
        shows!(["EPSW-1", "LPSWE-1"], epsw().0 & WITHOUT_CC, left);
    }
    load_psw(INITIAL);
    for code in 0..4 {
        shows!("LPSWE-2", loaded_condition_code(code), code);
    }
    spm(0x0A);
    shows!("EPSW-1", epsw().0 & WITHOUT_CC, 0x0000_0A01);
    spm(0);
    ssm(0);
    // In the problem state it is performed, and shows that state.
    let mut left = 0_u64;
    let outcome = attempt_in_problem_state!("epsw {l}, %r0", l = inout(reg) left);
    shows!("EPSW-5", outcome.code(), 0);
    shows!("EPSW-5", left as u32 & WITHOUT_CC, 0x0001_0001);
}
