//! STORE FACILITY LIST stores the first word of STORE FACILITY LIST EXTENDED at real location 200.

use core::arch::asm;

use guests::check::fact;
use guests::insn::control::{lctlg_0, stctg_0};
use guests::insn::cpu::{stfl, stfle};
use guests::psw::bit;
use guests::{attempt, attempt_in_problem_state, lowcore, shows};

guests::clause!(
    "SA22-7832, STORE FACILITY LIST; STORE FACILITY LIST EXTENDED",
    native = true
);
guests::case!(run);

/// What is at a place before.
const BEFORE: u32 = 0x5A5A_5A5A;
/// Low-address protection.
const PROTECTION: u64 = bit(35);

/// The words at 196, 200 and 204.
fn words() -> [u32; 3] {
    [
        lowcore::FACILITY_LIST - 4,
        lowcore::FACILITY_LIST,
        lowcore::FACILITY_LIST + 4,
    ]
    .map(lowcore::read)
}

fn run() {
    for at in (lowcore::FACILITY_LIST - 4..).step_by(4).take(3) {
        lowcore::write(at, BEFORE);
    }
    let word = stfl();
    fact("facility bits 0-31", word);
    shows!(["STFL-1", "STFL-2"], words(), [BEFORE, word, BEFORE]);
    lowcore::write(lowcore::FACILITY_LIST, BEFORE);
    // Odd, and beyond storage.
    let ignored = attempt!("stfl 0({a})", a = in(reg_addr) 0x7FFF_FFFF_FFFF_FFFF_u64);
    shows!(
        ["STFL-3", "STFL-1"],
        (ignored.code(), words()),
        (0, [BEFORE, word, BEFORE])
    );
    lowcore::write(lowcore::FACILITY_LIST, BEFORE);
    let cr0 = stctg_0();
    lctlg_0(cr0 | PROTECTION);
    // SAFETY: stores at the location.
    unsafe { asm!("stfl 0") };
    lctlg_0(cr0);
    shows!("STFL-4", words()[1], word);

    let mut list = [u64::MAX; 32];
    let (code, count) = stfle(&mut list);
    shows!("STFLE-5", code, 0);
    shows!(
        "STFLE-1",
        list[..count]
            .iter()
            .all(|&doubleword| doubleword != u64::MAX)
    );
    shows!(
        "STFLE-4",
        list[count..]
            .iter()
            .all(|&doubleword| doubleword == u64::MAX)
    );
    shows!("STFLE-7", (list[0] >> 32) as u32, word);
    let mut part = [u64::MAX; 4];
    let (code, needed) = stfle(&mut part[..1]);
    shows!("STFLE-6", code, 3);
    shows!("STFLE-3", needed, count);
    shows!("STFLE-2", part, [list[0], u64::MAX, u64::MAX, u64::MAX]);
    let zero: u64;
    // SAFETY: stores at most 32 doublewords.
    unsafe {
        asm!(
            "stfle 0({a})",
            a = in(reg_addr) list.as_mut_ptr(),
            inout("r0") 0x5A5A_5A5A_A5A5_A51F_u64 => zero,
        );
    }
    shows!("STFLE-3", zero, 0x5A5A_5A5A_A5A5_A500 | (count as u64 - 1));
    // However many doublewords register 0 asks for, they fit.
    let problem = attempt_in_problem_state!(
        "stfle 0({a})",
        a = in(reg_addr) (&raw mut LARGEST).cast::<u64>(),
    );
    shows!("STFLE-10", problem.code(), 0);
}

/// Room for the longest list.
static mut LARGEST: [u64; 256] = [0; 256];
