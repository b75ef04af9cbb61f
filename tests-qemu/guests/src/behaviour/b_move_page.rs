//! A page-translation exception of MOVE PAGE stores its register fields as the operand access identification. No
//! other instruction does.

use guests::attempt::nullified;
use guests::attempt_on_registers;
use guests::check::check;
use guests::dat::{self, INVALID, WINDOW};
use guests::insn::control::{lctlg_0, stctg_0};
use guests::lowcore;
use guests::psw::bit;

guests::clause!(
    "Principles of Operation, MOVE PAGE; Assigned Storage Locations (operand access identification)",
    native = true
);
guests::case!(run);

const PAGE: u64 = 4096;
/// The operand access identification, a byte.
const OPERAND_ACCESS: usize = 0xA2;
/// What was there before.
const BEFORE: u8 = 0x77;

#[repr(C, align(4096))]
struct Frames([[u8; PAGE as usize]; 2]);
static mut FRAMES: Frames = Frames([[0; PAGE as usize]; 2]);

/// Checks an attempt, and what is at the location afterwards.
fn identified(name: &str, length: u16, attempt: impl FnOnce() -> u64, expected: u8) {
    dat::off();
    lowcore::write(OPERAND_ACCESS, BEFORE);
    dat::on();
    let number = attempt();
    dat::off();
    check(name, number, nullified(0x11, length));
    check("  stored", lowcore::read::<u8>(OPERAND_ACCESS), expected);
}

fn run() {
    // Without low-address protection, for the location is in the first 512 bytes.
    lctlg_0(stctg_0() & !bit(35));
    dat::prepare();
    // SAFETY: the address only.
    let frame = unsafe { &raw const FRAMES.0 } as u64;
    dat::set_window(0, frame);
    dat::set_window(1, frame + PAGE);
    dat::set_window(2, INVALID);
    let (valid, invalid) = (WINDOW, WINDOW + 2 * PAGE);
    identified(
        "second operand invalid",
        4,
        || attempt_on_registers!("mvpg %r2, %r3", &mut [0, valid, invalid, 0, 0]).number(),
        0x23,
    );
    identified(
        "first operand invalid",
        4,
        || attempt_on_registers!("mvpg %r4, %r3", &mut [0, 0, valid, invalid, 0]).number(),
        0x43,
    );
    identified(
        "both invalid",
        4,
        || attempt_on_registers!("mvpg %r3, %r2", &mut [0, invalid, invalid, 0, 0]).number(),
        0x32,
    );
    identified(
        "another instruction",
        6,
        || attempt_on_registers!("lg %r4, 0(%r2)", &mut [0, invalid, 0, 0, 0]).number(),
        BEFORE,
    );
}
