//! TEST BLOCK clears a block and finds it usable.

use guests::attempt::suppressed;
use guests::insn::control::{lctlg_0, stctg_0};
use guests::insn::cpu::Page;
use guests::insn::storage::{iske, sske, with_psw_key};
use guests::psw::bit;
use guests::{attempt, attempt_on_registers, shows};

guests::clause!("SA22-7832, TEST BLOCK", native = true);
guests::case!(run);

/// What storage holds before.
const BEFORE: u8 = 0x5A;

static mut BLOCKS: [Page; 3] = [const { Page([BEFORE; 4096]) }; 3];

/// The condition code of the test of a block.
fn test(at: u64) -> u8 {
    attempt_on_registers!("tb %r5, %r2", &mut [0, at, 0, 0, 0]).condition_code()
}

/// Whether every byte of one of the three blocks has this value.
fn holds_only(block: usize, value: u8) -> bool {
    // SAFETY: nothing else refers to the blocks meanwhile.
    unsafe {
        (*(&raw const BLOCKS[block]))
            .0
            .iter()
            .all(|&byte| byte == value)
    }
}

fn run() {
    let middle = &raw const BLOCKS as u64 + 4096;
    sske(0x38, middle);
    let found = with_psw_key(5, || test(middle + 0xABC));
    shows!(["TB-1", "TB-7"], found, 0);
    shows!(
        ["TB-2", "TB-3"],
        [0, 1, 2].map(|n| holds_only(n, if n == 1 { 0 } else { BEFORE })),
        [true; 3]
    );
    shows!("TB-8", iske(middle) & 0xF8, 0x38);
    sske(0, middle);
    let cr0 = stctg_0();
    for low in [0_u64, 0x1000] {
        lctlg_0(cr0 | bit(35));
        let refused = attempt!("tb %r1, {a}", a = in(reg) low);
        lctlg_0(cr0);
        // The runtime's own fields are there, so the attempt could not end if they were cleared.
        shows!("TB-6", refused.number(), suppressed(4, 4));
    }
    let far = attempt!("tb %r1, {a}", a = in(reg) 0x7000_0000_u64);
    shows!("TB-9", far.number(), suppressed(5, 4));
}
