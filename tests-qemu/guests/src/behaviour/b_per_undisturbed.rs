//! Program-event recording: recorded instructions execute as without recording, and without the PER mask nothing
//! takes longer.

use guests::psw::DAT;
use guests::recording::{
    self, BRANCH, Event, FETCH, OPERANDS, PER, REGISTERS, Run, STORE, form, text,
};
use guests::{dat, shows_per};

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, Programming Note and Operation",
    native = false,
    options = "--no-sampling; --per-format s370 --no-sampling"
);
guests::case!(run);

const EVERYTHING: u64 = BRANCH | FETCH | STORE | REGISTERS | 0xFFFF;

/// All kinds: each condition code, branches, loops, moves, and instructions that the machine performs.
const PROGRAM: [u8; 70] = [
    0xA7, 0x29, 0x00, 0x07, // 0: LGHI 2,7
    0xA7, 0x39, 0x00, 0x03, // 4: LGHI 3,3
    0x18, 0x42, // 8: LR 4,2
    0x1A, 0x43, // 10: AR 4,3
    0x1B, 0x54, // 12: SR 5,4
    0x50, 0x40, 0x10, 0x08, // 14: ST 4,8(1)
    0xD2, 0x07, 0x10, 0x10, 0x10, 0x08, // 18: MVC 16(8,1),8(1)
    0xBA, 0x67, 0x10, 0x20, // 24: CS 6,7,32(1)
    0xB2, 0x12, 0x10, 0x30, // 28: STAP 48(1)
    0xB2, 0x02, 0x10, 0x38, // 32: STIDP 56(1)
    0xA7, 0x36, 0xFF, 0xF3, // 36: BRCT 3,*-26, the AR
    0x4D, 0xA0, 0x10, 0xFC, // 40: BAS 10,252(1), where a BCR 15,10 is
    0x44, 0x20, 0x10, 0xF8, // 44: EX 2,248(1), where a TM 8(1),0 is
    0xE3, 0xB0, 0x10, 0x08, 0x00, 0x16, // 48: LLGF 11,8(1)
    0xB9, 0x1F, 0x00, 0xCB, // 54: LRVR 12,11
    0x1D, 0xD2, // 58: DR 13,2, whose first register is odd
    0x15, 0x42, // 60: CLR 4,2
    0xA7, 0x84, 0xFF, 0xE0, // 62: BRC 8,*-64, not taken
    0x17, 0xEE, // 66: XR 14,14
    0x19, 0x24, // 68: CR 2,4
];

/// Registers, condition code and operands after a program, with these events recorded or with none.
fn after(events: u64) -> ([u64; 16], u64, [u8; 256]) {
    recording::put(0, &[0; 256]);
    // TM 0(1),0 and BR 10.
    recording::put(0xF8, &[0x91, 0, 0x10, 0x08, 0x07, 0xFA]);
    let (interruptions, registers) = Run::of(events)
        .with(7, 0xABCD)
        .with(13, 9)
        .execute(&PROGRAM);
    let last = interruptions
        .last()
        .map_or(0, |event| event.old.mask & !PER);
    // SAFETY: in the page of the operands.
    let operands = unsafe { core::ptr::read_volatile((text() + OPERANDS) as *const [u8; 256]) };
    (registers, last, operands)
}

fn run() {
    let usual = after(0);
    guests::println!("{:x?}", usual.0);
    shows_per!([21], usual.0[4] != 0 && usual.0[3] == 0);
    shows_per!([21], after(EVERYTHING) == usual);
    for event in [BRANCH, FETCH, STORE, REGISTERS | 0xFFFF] {
        shows_per!([21], after(event) == usual);
    }
    suppressed();
    nullified();
    in_time();
}

/// The first interruption of a text, and the contents of a register after it.
fn first(run: &Run, words: &[u8]) -> (Event, u64) {
    let (events, registers) = run.execute(words);
    guests::println!("{}", events[0]);
    (events[0], registers[2])
}

fn suppressed() {
    // DR 3,2, whose first register is odd; LPSWE 1(1); an operation that is not assigned.
    for words in [
        [0x1D, 0x32, 0, 0],
        [0xB2, 0xB2, 0x10, 1],
        [0xB2, 0xFF, 0, 0],
    ] {
        let run = |events| Run::of(events).with(2, 0x1234);
        let (plain, two) = first(&run(0), &words);
        let (recorded, same) = first(&run(EVERYTHING), &words);
        let right = recorded.code == plain.code | 0x80
            && recorded.stored[0] == 0x40
            && recorded.old.address == plain.old.address
            && (two, same) == (0x1234, 0x1234);
        shows_per!([22, 37], right);
    }
}

fn nullified() {
    dat::prepare();
    dat::set_identity(text() + OPERANDS, false);
    // L 2,0(1); ST 2,0(1).
    for words in [[0x58, 0x20, 0x10, 0], [0x50, 0x20, 0x10, 0]] {
        let run = |events| Run::of(events).with(2, 0x1234).under(form().psw() | DAT);
        let (plain, two) = first(&run(0), &words);
        let (recorded, same) = first(&run(EVERYTHING), &words);
        let right = (plain.code, recorded.code) == (0x11, 0x91)
            && recorded.stored[0] == 0x40
            && plain.old.address == text()
            && recorded.old.address == text()
            && (two, same) == (0x1234, 0x1234);
        shows_per!([23, 37], right);
    }
    dat::set_identity(text() + OPERANDS, true);
}

/// Loads between two readings of the clock.
const LOADS: usize = 100;

/// With the PER mask zero, control registers 9 to 11 cost no time.
fn in_time() {
    // STNSM 16(1),BF; STCKF 0(1); LGHI 2,5 many times; STCKF 8(1).
    let mut words = [0; 12 + 4 * LOADS];
    words[..8].copy_from_slice(&[0xAC, 0xBF, 0x10, 16, 0xB2, 0x7C, 0x10, 0]);
    for load in words[8..8 + 4 * LOADS].chunks_exact_mut(4) {
        load.copy_from_slice(&[0xA7, 0x29, 0, 5]);
    }
    words[8 + 4 * LOADS..].copy_from_slice(&[0xB2, 0x7C, 0x10, 8]);
    let took = |events| {
        let events = Run::of(events).execute(&words).0.len();
        // SAFETY: two doublewords of the page of operands.
        let at = (text() + OPERANDS) as *const [u64; 2];
        let [first, last] = unsafe { core::ptr::read_volatile(at) };
        (events, last - first)
    };
    let _ = took(EVERYTHING);
    let (_, usual) = took(0);
    let (events, disabled) = took(EVERYTHING);
    guests::println!("{usual:x} {disabled:x}");
    // The STNSM has an event. A clock unit is a fourth of an instruction, so a difference of one does not count.
    let same = disabled.abs_diff(usual) <= 1;
    shows_per!([15, 17], events == 2 && same);
}
