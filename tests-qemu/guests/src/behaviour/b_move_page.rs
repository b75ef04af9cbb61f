//! MOVE PAGE. Its page-translation exception stores the register fields as the operand access identification; that of
//! no other instruction does.

use guests::attempt::{Outcome, nullified, suppressed};
use guests::check::check;
use guests::dat::{self, INVALID, PROTECTED, WINDOW};
use guests::insn::control::{lctlg_0, stctg_0};
use guests::psw::bit;
use guests::{attempt_on_registers, lowcore, shows};

guests::clause!(
    "SA22-7832, MOVE PAGE; Assigned Storage Locations (operand access identification)",
    native = true
);
guests::case!(run);

const PAGE: u64 = 4096;
/// The operand access identification, a byte.
const OPERAND_ACCESS: usize = 0xA2;
/// The condition-code option in general register 0.
const OPTION: u64 = bit(55);
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
    let stored = lowcore::read::<u8>(OPERAND_ACCESS);
    if expected == BEFORE {
        check(name, number, nullified(0x11, length));
        check("  stored", stored, expected);
    } else {
        shows!(
            ["MVPG-7", "MVPG-8"],
            (number, stored),
            (nullified(0x11, length), expected)
        );
    }
}

/// The bytes of the frames, if all bytes of a frame are the same.
fn frames() -> Option<[u8; 2]> {
    // SAFETY: nothing refers to the frames meanwhile.
    let frames = unsafe { &*(&raw const FRAMES.0) };
    let [first, second] = [0, 1].map(|n| frames[n][0]);
    let same =
        frames[0].iter().all(|&byte| byte == first) && frames[1].iter().all(|&byte| byte == second);
    same.then_some([first, second])
}

/// Fills the frames.
fn fill(bytes: [u8; 2]) {
    // SAFETY: as `frames`.
    let frames = unsafe { &mut *(&raw mut FRAMES.0) };
    for (frame, byte) in frames.iter_mut().zip(bytes) {
        frame.fill(byte);
    }
}

/// Moves a page with these controls.
fn move_page(controls: u64, to: u64, from: u64) -> Outcome {
    attempt_on_registers!("mvpg %r2, %r3", &mut [controls, to, from, 0, 0])
}

fn run() {
    // Without low-address protection, for the location is in the first 512 bytes.
    lctlg_0(stctg_0() & !bit(35));
    moves();
    dat::prepare();
    // SAFETY: the address only.
    let frame = unsafe { &raw const FRAMES.0 } as u64;
    dat::set_window(0, frame);
    dat::set_window(1, frame + PAGE);
    dat::set_window(2, INVALID);
    dat::set_window(3, frame | PROTECTED);
    let (valid, invalid, protected) = (WINDOW, WINDOW + 2 * PAGE, WINDOW + 3 * PAGE);
    fill([1, 2]);
    dat::on();
    let [to_invalid, from_invalid, both] = [(invalid, valid), (valid, invalid), (invalid, invalid)]
        .map(|(to, from)| move_page(OPTION, to, from).condition_code());
    let to_protected =
        [0, OPTION].map(|option| move_page(option, protected, valid + PAGE).number());
    dat::off();
    shows!("MVPG-4", to_invalid, 1);
    shows!("MVPG-5", from_invalid, 2);
    shows!("MVPG-6", both, 2);
    shows!("MVPG-15", to_protected, [suppressed(4, 4); 2]);
    shows!(["MVPG-4", "MVPG-5", "MVPG-15"], frames(), Some([1, 2]));
    dat::on();
    let moved = move_page(OPTION, valid, valid + PAGE).condition_code();
    dat::off();
    shows!("MVPG-1", (moved, frames()), (0, Some([2, 2])));
    fill([1, 2]);
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
    shows!("MVPG-7", frames(), Some([1, 2]));
}

/// With DAT off, and controls that are not valid.
fn moves() {
    // SAFETY: the address only.
    let frame = unsafe { &raw const FRAMES.0 } as u64;
    fill([1, 2]);
    let moved = move_page(0, frame + 0x123, frame + PAGE + 0xABC);
    shows!(["MVPG-1", "MVPG-2", "MVPG-3"], moved.condition_code(), 0);
    shows!(["MVPG-1", "MVPG-2", "MVPG-3"], frames(), Some([2, 2]));
    fill([1, 2]);
    shows!(
        "MVPG-12",
        move_page(0xC00, frame, frame + PAGE).number(),
        suppressed(6, 4)
    );
    for n in 48..52 {
        shows!(
            "MVPG-13",
            move_page(bit(n), frame, frame + PAGE).number(),
            suppressed(6, 4)
        );
    }
    shows!(["MVPG-12", "MVPG-13"], frames(), Some([1, 2]));
}
