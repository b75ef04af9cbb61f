//! SET ADDRESS SPACE CONTROL FAST: with DAT off it is a special-operation exception; in the problem state the home
//! space is privileged; otherwise EXTRACT PSW shows the space that it set.

use core::arch::asm;

use guests::attempt::suppressed;
use guests::insn::control::{epsw, lctlg_0, stctg_0};
use guests::psw::bit;
use guests::{attempt, attempt_in_problem_state, attempt_on_registers, dat, shows};

guests::clause!("SA22-7832, SET ADDRESS SPACE CONTROL FAST", native = true);
guests::case!(run);

/// The address-space control in the left half of the PSW.
fn space() -> u32 {
    epsw().0 >> 14 & 3
}

/// Attempts it with codes 0, 1 and 3.
fn each_code() -> [u64; 3] {
    [0_u64, 1, 3].map(|code| attempt!("sacf 0({a})", a = in(reg_addr) code << 8).number())
}

fn run() {
    let cr0 = stctg_0();
    lctlg_0(cr0 | bit(37));
    shows!(
        "SACF-6",
        (each_code(), space()),
        ([suppressed(0x13, 4); 3], 0)
    );
    dat::prepare();
    dat::on();
    let home = attempt_in_problem_state!("sacf 0x300(%r0)");
    let invalid =
        [4_u64, 9, 15].map(|code| attempt!("sacf 0({a})", a = in(reg_addr) code << 8).number());
    // SAFETY: all three spaces are the same, so the program goes on in each of them.
    unsafe { asm!("sacf 0x100(%r0)") };
    let secondary = space();
    // SAFETY: as above.
    unsafe { asm!("sacf 0x300(%r0)") };
    let at_home = space();
    // SAFETY: as above.
    unsafe { asm!("sacf 0(%r0)") };
    let primary = space();
    let kept = [0_u64, 1, 2, 3].map(|code| {
        let mut registers = [0, code << 28, 0, 0, 0];
        attempt_on_registers!("spm %r2\n sacf 0x100(%r0)\n sacf 0(%r0)", &mut registers)
            .condition_code()
    });
    dat::off();
    shows!("SACF-9", home.number(), suppressed(2, 4));
    shows!("SACF-8", invalid, [suppressed(6, 4); 3]);
    shows!("SACF-2", secondary, 2);
    shows!("SACF-4", at_home, 3);
    shows!("SACF-1", primary, 0);
    shows!("SACF-5", kept, [0, 1, 2, 3]);
}
