//! SET ADDRESS SPACE CONTROL FAST: with DAT off it is a special-operation exception; in the problem state the home
//! space is privileged; otherwise EXTRACT PSW shows the space that it set.

use core::arch::asm;

use guests::check::check;
use guests::insn::control::{epsw, lctlg_0, stctg_0};
use guests::psw::bit;
use guests::{attempt, attempt_in_problem_state, dat};

guests::clause!(
    "Principles of Operation, SET ADDRESS SPACE CONTROL FAST",
    native = true
);
guests::case!(run);

/// The address-space control in the left half of the PSW.
fn space() -> u32 {
    epsw().0 >> 14 & 3
}

fn run() {
    lctlg_0(stctg_0() | bit(37));
    check("DAT off: primary", attempt!("sacf 0(%r0)").code(), 0x13);
    check(
        "DAT off: secondary",
        attempt!("sacf 0x100(%r0)").code(),
        0x13,
    );
    check("DAT off: home", attempt!("sacf 0x300(%r0)").code(), 0x13);
    check("  the space", space(), 0);
    dat::prepare();
    dat::on();
    let home = attempt_in_problem_state!("sacf 0x300(%r0)");
    check("problem state: home", home.code(), 2);
    check("code 4", attempt!("sacf 0x400(%r0)").code(), 6);
    // SAFETY: all three spaces are the same, so the program goes on in each of them.
    unsafe { asm!("sacf 0x100(%r0)") };
    let secondary = space();
    // SAFETY: as above.
    unsafe { asm!("sacf 0x300(%r0)") };
    let home = space();
    // SAFETY: as above.
    unsafe { asm!("sacf 0(%r0)") };
    check("secondary", secondary, 2);
    check("home", home, 3);
    check("primary", space(), 0);
    dat::off();
}
