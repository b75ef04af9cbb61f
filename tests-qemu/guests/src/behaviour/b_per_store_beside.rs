//! Program-event recording: stores beside a range and into it, in a page that has both. Whoever makes a store, the
//! hardware for a free program, the machine for one whose stores are recorded, or the hardware for an instruction that is
//! executed on its own: storage, registers, condition code, events and the number of instructions are the same.

use guests::check::{check, holds};
use guests::dat::{self, PROTECTED, WINDOW};
use guests::insn::cpu::Page;
use guests::insn::measurement::{controls, ecctr, lcctl, set};
use guests::interruption::Registers;
use guests::psw::{DAT, PROBLEM};
use guests::recording::{BRANCH, Event, Run, STORE, text};

guests::clause!(
    "Principles of Operation, Program-Event Recording, Storage Alteration",
    native = false
);
guests::case!(run);

/// Where register 1 points to, in the first of two pages.
const HERE: u64 = 0x400;
/// A range beside all stores, and one that most of them touch.
const BESIDE: [u64; 2] = [HERE + 0x800, HERE + 0x807];
const TOUCHED: [u64; 2] = [HERE + 3, HERE + 3];
/// The counter of instructions.
const INSTRUCTIONS: u64 = 1;

static mut FRAMES: [Page; 2] = [const { Page([0; 4096]) }; 2];

/// The stores, and whether they touch byte 3.
const STORES: [(&str, &[u8], bool); 34] = [
    ("ST", &[0x50, 0x20, 0x10, 0], true),
    ("ST on no boundary", &[0x50, 0x20, 0x10, 1], true),
    ("ST behind", &[0x50, 0x20, 0x10, 4], false),
    ("ST with index", &[0x50, 0x21, 0x60, 0], false),
    ("STH", &[0x40, 0x20, 0x10, 2], true),
    ("STC", &[0x42, 0x20, 0x10, 3], true),
    ("STC before", &[0x42, 0x20, 0x10, 2], false),
    ("STG", &[0xE3, 0x20, 0x10, 0, 0, 0x24], true),
    ("STG on no boundary", &[0xE3, 0x20, 0x10, 3, 0, 0x24], true),
    (
        "STG on two pages",
        &[0xE3, 0x20, 0x1B, 0xFD, 0, 0x24],
        false,
    ),
    ("STY", &[0xE3, 0x20, 0x10, 0, 0, 0x50], true),
    ("STY before", &[0xE3, 0x20, 0x1F, 0xFF, 0xFF, 0x50], false),
    ("STHY", &[0xE3, 0x20, 0x10, 3, 0, 0x70], true),
    ("STCY", &[0xE3, 0x20, 0x10, 3, 0, 0x72], true),
    ("MVI", &[0x92, 0x5A, 0x10, 3], true),
    ("MVIY", &[0xEB, 0x5A, 0x10, 3, 0, 0x52], true),
    ("MVHHI", &[0xE5, 0x44, 0x10, 2, 0x87, 0x65], true),
    ("MVHI", &[0xE5, 0x4C, 0x10, 0, 0x87, 0x65], true),
    ("MVGHI", &[0xE5, 0x48, 0x10, 0, 0x87, 0x65], true),
    ("STM", &[0x90, 0x25, 0x10, 0], true),
    ("STM from 15 to 0", &[0x90, 0xE3, 0x10, 0], true),
    ("STM on two pages", &[0x90, 0x25, 0x1B, 0xF8], false),
    ("STMY", &[0xEB, 0x25, 0x10, 2, 0, 0x90], true),
    ("STMG", &[0xEB, 0x2F, 0x10, 0, 0, 0x24], true),
    ("STMG on no boundary", &[0xEB, 0x24, 0x10, 1, 0, 0x24], true),
    ("MVC", &[0xD2, 7, 0x10, 0, 0x10, 0x40], true),
    (
        "MVC of its own result",
        &[0xD2, 0x3F, 0x10, 3, 0x10, 2],
        true,
    ),
    ("long MVC", &[0xD2, 0xFF, 0x10, 0, 0x1A, 0], true),
    ("XC that clears", &[0xD7, 0x0F, 0x10, 0, 0x10, 0], true),
    ("XC", &[0xD7, 0x0F, 0x10, 0, 0x10, 0x41], true),
    // Those that the machine does not make.
    ("OI", &[0x96, 0x5A, 0x10, 3], true),
    ("CS", &[0xBA, 0x23, 0x10, 4], false),
    ("STD", &[0x60, 0, 0x10, 0], true),
    ("EX of MVC", &[0x44, 0, 0x16, 0], true),
];

/// What a text has done.
struct Done {
    events: &'static [Event],
    registers: Registers,
    storage: u64,
    instructions: u64,
}

fn frame() -> *mut u8 {
    (&raw mut FRAMES).cast()
}

/// A sum of the two pages.
fn sum() -> u64 {
    (0..8192).fold(0xCBF2_9CE4_8422_2325, |sum, offset| {
        // SAFETY: in the two pages.
        let byte = unsafe { frame().add(offset).read_volatile() };
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    })
}

/// Executes a text with the pages in their first state.
fn execute(run: &Run, text: &[u8]) -> Done {
    for offset in 0..8192 {
        // SAFETY: in the two pages.
        unsafe { frame().add(offset).write_volatile((offset * 7 >> 2) as u8) };
    }
    // The target of the EXECUTE: MVC 0(8,1),64(1).
    let target = [0xD2, 7, 0x10, 0, 0x10, 0x40];
    // SAFETY: as above.
    unsafe { core::ptr::copy(target.as_ptr(), frame().add(HERE as usize + 0x600), 6) };
    let before = ecctr(INSTRUCTIONS).1;
    let (events, registers) = run.execute(text);
    Done {
        events,
        registers,
        storage: 0,
        instructions: ecctr(INSTRUCTIONS).1 - before,
    }
}

/// The same, with the sum of the pages.
fn done(run: &Run, text: &[u8]) -> Done {
    let done = execute(run, text);
    Done {
        storage: sum(),
        ..done
    }
}

/// Whether two events are the same.
fn same(a: &Event, b: &Event) -> bool {
    (a.code, a.length, a.stored) == (b.code, b.length, b.stored)
        && (a.old.mask, a.old.address) == (b.old.mask, b.old.address)
}

/// Events are kept in one place, so those of the first text are taken apart.
fn first_and_last(events: &[Event]) -> [Event; 2] {
    [events[0], events[events.len() - 1]]
}

/// Executes a store in three ways.
fn compare(name: &str, base: &Run, text: &[u8], altered: bool) {
    let mut free = *base;
    free.events = 0;
    let free = done(&free, text);
    let mut recorded = *base;
    recorded.events = STORE;
    let recorded = done(&recorded, text);
    let count = recorded.events.len();
    let events = first_and_last(recorded.events);
    let mut stepped = *base;
    stepped.events = STORE | BRANCH;
    let stepped = done(&stepped, text);
    let storage = [free.storage, recorded.storage] == [stepped.storage; 2];
    let registers = [free.registers, recorded.registers] == [stepped.registers; 2];
    let counted = recorded.instructions == stepped.instructions;
    let others = first_and_last(stepped.events);
    let events_are_same =
        count == stepped.events.len() && events.iter().zip(&others).all(|(a, b)| same(a, b));
    let right = storage && registers && counted && events_are_same;
    if !right {
        guests::println!("  {storage} {registers} {counted} {events_are_same}");
        for event in events.iter().chain(&others) {
            guests::println!("  {event}");
        }
    }
    holds(name, right);
    let is_event = events[0].stored[0] == 0x20 && events[0].code & 0x80 != 0;
    check("an event", u8::from(is_event), altered.into());
}

/// A run in a mode of the PSW, with the pages at an address.
fn run_of(mode: u64, at: u64, range: [u64; 2]) -> Run {
    let mut run = Run::of(STORE).in_mode(mode | 2 << 44).with(1, at + HERE);
    run.range = range.map(|offset| at + offset);
    for register in 2..16 {
        let value = 0x0123_4567_89AB_CDEF_u64.rotate_left(5 * register as u32);
        run = run.with(register, value);
    }
    // An index and a base.
    run.with(6, 0x40)
}

fn run() {
    lcctl(controls(set::BASIC, set::BASIC));
    dat::prepare();
    for number in 0..2 {
        dat::set_window(number, frame() as u64 + 0x1000 * number as u64);
    }
    for (name, mode, at) in [
        ("DAT on", DAT, WINDOW),
        ("problem state", DAT | PROBLEM, WINDOW),
        ("DAT off", 0, frame() as u64),
    ] {
        guests::println!("{name}");
        for (name, text, touches) in STORES {
            compare(name, &run_of(mode, at, BESIDE), text, false);
            compare(name, &run_of(mode, at, TOUCHED), text, touches);
        }
    }
    relative();
    refused();
    lcctl(0);
}

/// STGRL 2, of an operand that is far from the text.
fn relative() {
    let distance = (WINDOW + HERE).wrapping_sub(text()) as i64 / 2;
    let mut words = [0xC4, 0x2B, 0, 0, 0, 0];
    words[2..].copy_from_slice(&(distance as i32).to_be_bytes());
    for (range, touches) in [(BESIDE, false), (TOUCHED, true)] {
        compare("STGRL", &run_of(DAT, WINDOW, range), &words, touches);
    }
}

/// The second page is protected by the program's own table.
fn refused() {
    let second = frame() as u64 + 0x1000;
    dat::replace_window(1, second | PROTECTED);
    for (name, text) in [
        (
            "STG into a protected page",
            [0xE3, 0x20, 0x1B, 0xFD, 0, 0x24],
        ),
        ("STMG into one", [0xEB, 0x25, 0x1B, 0xF0, 0, 0x24]),
        ("MVC into one", [0xD2, 7, 0x1B, 0xFC, 0x10, 0]),
    ] {
        compare(name, &run_of(DAT, WINDOW, BESIDE), &text, false);
    }
    dat::replace_window(1, second);
}
