//! Program-event recording: storage alteration with DAT on, where the range shares its page with other data, in
//! the supervisor and in the problem state, in two spaces, and through another virtual page.

use guests::check::check;
use guests::dat::{self, INVALID, PROTECTED, WINDOW};
use guests::insn::cpu::Page;
use guests::interruption::Registers;
use guests::lowcore;
use guests::psw::{DAT, PROBLEM};
use guests::recording::{self, Event, FETCH, Run, STORE, STORE_REAL, text};
use guests::stores;

guests::clause!(
    "Principles of Operation, Program-Event Recording, Storage Alteration; Dynamic Address Translation",
    native = false
);
guests::case!(run);

/// A page.
const BEFORE: u64 = WINDOW;
/// The page behind it. Its middle is the range.
const RANGE: u64 = WINDOW + 0x1000;
/// The page behind that.
const BEHIND: u64 = WINDOW + 0x2000;
/// A second virtual address of the page of the range.
const ALIAS: u64 = WINDOW + 0x8000;
/// The offset of the range in its page, and its length.
const OFFSET: u64 = 0x800;
const LENGTH: u64 = 16;

static mut FRAMES: [Page; 3] = [const { Page([0; 4096]) }; 3];

/// Stores into the range with DAT on; register 1 designates the beginning of the page.
fn run_of(events: u64) -> Run {
    let mut run = Run::of(events).in_mode(DAT).with(1, RANGE);
    run.range = [RANGE + OFFSET, RANGE + OFFSET + LENGTH - 1];
    run
}

fn stored(registers: &[(usize, u64)], text: &[u8]) -> (&'static [Event], Registers) {
    let mut run = run_of(STORE);
    for &(register, value) in registers {
        run = run.with(register, value);
    }
    run.execute(text)
}

fn expect(name: &str, got: (&[Event], Registers), expected: &[&str]) {
    recording::expect(name, got.0, expected);
}

fn run() {
    dat::prepare();
    let frame = |number| (&raw const FRAMES) as u64 + 0x1000 * number;
    for number in 0..3 {
        dat::set_window(number, frame(number as u64));
    }
    dat::set_window(8, frame(1));
    stores::check(DAT);
    beside_it();
    over_pages();
    refused(frame(2));
    in_other_modes();
    counted();
}

/// Stores into the page beside the range, and into the range.
fn beside_it() {
    // MVI 7FF(1),5; MVI 810(1),5; MVI 800(1),5; MVI 80F(1),5.
    let around = [
        0x92, 5, 0x17, 0xFF, 0x92, 5, 0x18, 0x10, 0x92, 5, 0x18, 0, 0x92, 5, 0x18, 0x0F,
    ];
    let altered = [
        "0080 4 20 0008 000c cc0",
        "0080 4 20 000c 0010 cc0",
        "0001 2 - 0012 cc0",
    ];
    expect("around the range", stored(&[], &around), &altered);
    let none = ["0001 2 - 0012 cc0"];
    expect(
        "the same storage by another address",
        stored(&[(1, ALIAS)], &around),
        &none,
    );
    expect("pages beside it", stored(&[(1, BEFORE)], &around), &none);
    expect("and again around the range", stored(&[], &around), &altered);
    // EX 0,20(3); EX 0,28(3); BRC: MVC 800(8,1),0(1) and MVI 900(1),5.
    let mut text_of_executed = [0_u8; 0x30];
    text_of_executed[..4].copy_from_slice(&[0x44, 0, 0x30, 0x20]);
    text_of_executed[4..8].copy_from_slice(&[0x44, 0, 0x30, 0x28]);
    text_of_executed[8..12].copy_from_slice(&[0xA7, 0xF4, 0, 0x14]);
    text_of_executed[0x20..0x26].copy_from_slice(&[0xD2, 7, 0x18, 0, 0x10, 0]);
    text_of_executed[0x28..0x2C].copy_from_slice(&[0x92, 5, 0x19, 0]);
    expect(
        "what EXECUTE executes",
        stored(&[(3, text())], &text_of_executed),
        &["0080 4 20 0000 0004 cc0", "0001 2 - 0032 cc0"],
    );
    // CS 2,3,800(1) of equal and of unequal operands; CS 2,3,0(1).
    let swap = [
        0xBA, 0x23, 0x18, 0, 0xBA, 0x23, 0x18, 0, 0xBA, 0x43, 0x10, 0,
    ];
    // SAFETY: a word of the page.
    let word = unsafe {
        (&raw const FRAMES)
            .cast::<u32>()
            .add(0x1800 / 4)
            .read_volatile()
    };
    expect(
        "COMPARE AND SWAP stores if operands are equal",
        stored(&[(2, word.into()), (3, u64::from(!word)), (4, 1)], &swap),
        &["0080 4 20 0000 0004 cc0", "0001 2 - 000e cc1"],
    );
    // STCTG 9,9,800(1); STCTG 9,9,0(1); STAP 80E(1); STAP 0(1).
    let control = [
        0xEB, 0x99, 0x18, 0, 0, 0x25, 0xEB, 0x99, 0x10, 0, 0, 0x25, 0xB2, 0x12, 0x18, 0x0E, 0xB2,
        0x12, 0x10, 0,
    ];
    expect(
        "what is performed for the program",
        stored(&[], &control),
        &[
            "0080 6 20 0000 0006 cc0",
            "0080 4 20 000c 0010 cc0",
            "0001 2 - 0016 cc0",
        ],
    );
    // STURG 2,4, by a real address, with a range enabled and with none.
    for events in [STORE | STORE_REAL, STORE_REAL] {
        let run = run_of(events).with(4, (&raw const FRAMES) as u64);
        expect(
            "a store by a real address",
            run.execute(&[0xA7, 0x69, 0, 5, 0xB9, 0x25, 0, 0x24, 0xA7, 0x69, 0, 6]),
            &["0080 4 08 0004 0008 cc0", "0001 2 - 000e cc0"],
        );
    }
    // MVI 100(1),5; MVI 108(1),5; MVI 100(1),5.
    let mut own = run_of(STORE).with(1, text());
    own.range = [text() + 0x100, text() + 0x107];
    expect(
        "the page that the text stands in",
        own.execute(&[0x92, 5, 0x11, 0, 0x92, 5, 0x11, 8, 0x92, 5, 0x11, 0]),
        &[
            "0080 4 20 0000 0004 cc0",
            "0080 4 20 0008 000c cc0",
            "0001 2 - 000e cc0",
        ],
    );
    // MVI 800(1),5 at 0, and LGHI 6,5 at 4: the same range holds fetched text and stored data.
    let mut both = run_of(STORE | FETCH);
    both.range = [text() + 4, RANGE + OFFSET];
    expect(
        "a range too large to be protected, for both events",
        both.execute(&[0x92, 5, 0x18, 0, 0xA7, 0x69, 0, 5]),
        &[
            "0080 4 20 0000 0004 cc0",
            "0080 4 40 0004 0008 cc0",
            "0081 2 40 0008 000a cc0",
        ],
    );
    both.range = [text() + 4, text() + 7];
    expect(
        "a range of text, for both events",
        both.execute(&[0x92, 5, 0x18, 0, 0xA7, 0x69, 0, 5]),
        &["0080 4 40 0004 0008 cc0", "0001 2 - 000a cc0"],
    );
}

/// Operands on two pages and on three.
fn over_pages() {
    // STG 2,FFC(1), which ends in the page; then 4 bytes beyond it are the page behind.
    let mut run = run_of(STORE).with(1, BEFORE);
    run.range = [RANGE + 2, RANGE + 3];
    expect(
        "a store that ends in the range's page",
        run.execute(&[
            0xE3, 0x20, 0x1F, 0xFC, 0, 0x24, 0xE3, 0x20, 0x1F, 0xFA, 0, 0x24,
        ]),
        &["0080 6 20 0000 0006 cc0", "0001 2 - 000e cc0"],
    );
    run.range = [BEFORE + 0xFFE, BEFORE + 0xFFE];
    expect(
        "a store that begins in the range's page",
        run.execute(&[
            0xE3, 0x20, 0x1F, 0xFC, 0, 0x24, 0xE3, 0x20, 0x1F, 0xFF, 0, 0x24,
        ]),
        &["0080 6 20 0000 0006 cc0", "0001 2 - 000e cc0"],
    );
    run.range = [BEFORE + 0xFFF, RANGE];
    // STMG 2,5,FF0(1); MVC FF8(16,1),0(1); STMG 2,5,FE0(1): up to FFF; STMG 2,5,FD8(1).
    let several = [
        0xEB, 0x25, 0x1F, 0xF0, 0, 0x24, 0xD2, 15, 0x1F, 0xF8, 0x10, 0, 0xEB, 0x25, 0x1F, 0xE0, 0,
        0x24, 0xEB, 0x25, 0x1F, 0xD8, 0, 0x24,
    ];
    expect(
        "a range on two pages",
        run.execute(&several),
        &[
            "0080 6 20 0000 0006 cc0",
            "0080 6 20 0006 000c cc0",
            "0080 6 20 000c 0012 cc0",
            "0001 2 - 001a cc0",
        ],
    );
    // MVCL 2,4 of nearly three pages, the second of which has the range; MVCL of less; and of nothing.
    let moved = |length: u64| {
        let run = run_of(STORE).with(2, BEFORE + 0x10).with(3, length);
        run.with(4, text()).with(5, 0).execute(&[0x0E, 0x24])
    };
    for (length, altered) in [(0x2800, true), (0x17F1, true), (0x17F0, false), (0, false)] {
        let (events, registers) = moved(length);
        let condition_code = if length == 0 { 0 } else { 2 };
        let with_event: [&str; 2] = ["0080 2 20 0000 0002 cc2", "0001 2 - 0004 cc2"];
        let without: [&str; 1] = [["0001 2 - 0004 cc0"], ["0001 2 - 0004 cc2"]][condition_code / 2];
        let expected: &[&str] = if altered { &with_event } else { &without };
        expect("MOVE LONG", (events, registers), expected);
        check("and how far it came", registers[2], BEFORE + 0x10 + length);
    }
}

/// Stores that the guest's own tables prevent.
fn refused(behind: u64) {
    // STG 2,FFC(1), which ends in an invalid page and is nullified.
    const CROSSING: [u8; 6] = [0xE3, 0x20, 0x1F, 0xFC, 0, 0x24];
    let mut run = run_of(STORE);
    run.range = [RANGE + 0xFF0, BEHIND];
    dat::replace_window(2, INVALID);
    let _ = run.execute_with(&CROSSING, once);
    check(
        "a store that ends in an invalid page alters nothing",
        lowcore::read::<u16>(lowcore::PROGRAM_CODE),
        0x11,
    );
    dat::replace_window(2, behind | PROTECTED);
    let mut text = [0x92, 5, 0x1F, 0xFE, 0, 0, 0, 0, 0, 0];
    text.copy_within(..4, 6);
    text[..6].copy_from_slice(&CROSSING);
    expect(
        "a store that ends in a protected page alters nothing",
        run.execute(&text),
        &[
            "0004 6 - 0006 cc0",
            "0080 4 20 0006 000a cc0",
            "0001 2 - 000c cc0",
        ],
    );
    dat::replace_window(2, behind);
}

/// Ends a text with its first interruption.
extern "C" fn once(registers: &mut Registers) {
    recording::leave(registers);
}

/// The problem state, and another space.
fn in_other_modes() {
    // MVI 0(1),5; MVI 800(1),5; MVI 0(1),5.
    let stores = [0x92, 5, 0x10, 0, 0x92, 5, 0x18, 0, 0x92, 5, 0x10, 0];
    let program = run_of(STORE).in_mode(PROBLEM).execute(&stores);
    expect(
        "in the problem state",
        program,
        &["0080 4 20 0004 0008 cc0", "0001 2 - 000e cc0"],
    );
    dat::with_home_space(in_two_spaces);
}

/// The primary space and the home space.
fn in_two_spaces() {
    // MVI 0(1),5; SAC 300; MVI 0(1),5; MVI 800(1),5; SAC 0; MVI 800(1),5.
    let spaces = [
        0x92, 5, 0x10, 0, 0xB2, 0x19, 0x03, 0, 0x92, 5, 0x10, 0, 0x92, 5, 0x18, 0, 0xB2, 0x19, 0,
        0, 0x92, 5, 0x18, 0,
    ];
    let (events, _) = run_of(STORE).execute(&spaces);
    // The addressing mode and space of the instruction, and in the last two bits the space of the alteration.
    let modes = [0x20FF, 0x20F0];
    for (event, mode) in events.iter().zip(modes) {
        let [code, identification, ..] = event.stored;
        check(
            "the space",
            u16::from_be_bytes([code, identification]),
            mode,
        );
    }
    check("interruptions", events.len(), modes.len() + 1);
}

/// Many stores: as many events as there are in the range.
fn counted() {
    // LGHI 2,40; STG 2,0(3); STG 2,0(1); STG 2,808(1); BRCTG 2,*-18.
    let loops = [
        0xA7, 0x29, 0, 40, 0xE3, 0x20, 0x30, 0, 0, 0x24, 0xE3, 0x20, 0x10, 0, 0, 0x24, 0xE3, 0x20,
        0x18, 0x08, 0, 0x24, 0xA7, 0x27, 0xFF, 0xF7,
    ];
    let (events, registers) = stored(&[(3, BEFORE)], &loops);
    let altered = |event: &&Event| event.code == 0x80 && event.stored[0] == 0x20;
    check(
        "stores into the range",
        events.iter().filter(altered).count(),
        40,
    );
    check("and the end", events.len(), 41);
    check("of the loop", registers[2], 0);
}
