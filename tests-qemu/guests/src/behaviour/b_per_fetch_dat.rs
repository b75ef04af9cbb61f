//! Program-event recording: instruction fetches with DAT on, where the range shares its page with other instructions,
//! in the supervisor and the problem state, in two spaces, and through another virtual page.

use guests::check::check;
use guests::dat::{self, INVALID, WINDOW};
use guests::insn::cpu::Page;
use guests::interruption::{Class, Registers, old_psw};
use guests::lowcore;
use guests::psw::{DAT, PROBLEM};
use guests::recording::{self, FETCH, NULLIFY, Run, text};

guests::clause!(
    "Principles of Operation, Program-Event Recording, Instruction Fetching; Dynamic Address Translation",
    native = false
);
guests::case!(run);

/// The page of the range, between two other pages.
const PAGE: u64 = WINDOW + 0x1000;
/// A second virtual address of the same page.
const ALIAS: u64 = WINDOW + 0x8000;
/// The range in it.
const RANGE: [u64; 2] = [0x800, 0x807];

/// BAS 14,100(1), to a routine beside the range; and 7F8(1), to one that goes through it.
const BESIDE: [u8; 4] = [0x4D, 0xE0, 0x11, 0];
const THROUGH: [u8; 4] = [0x4D, 0xE0, 0x17, 0xF8];
/// AGHI 2,1 and BR 14.
const COUNT: [u8; 4] = [0xA7, 0x2B, 0, 1];
const RETURN: [u8; 2] = [0x07, 0xFE];

static mut FRAMES: [Page; 3] = [const { Page([0; 4096]) }; 3];
/// The address at which the interruption of [`once`] occurred.
static mut MET: u64 = 0;

fn frame(number: u64) -> u64 {
    (&raw const FRAMES) as u64 + 0x1000 * number
}

/// Puts text at a distance from the beginning of the page.
fn put(offset: i64, text: &[u8]) {
    let at = frame(1).wrapping_add_signed(offset) as *mut u8;
    // SAFETY: in the three pages.
    unsafe { core::ptr::copy(text.as_ptr(), at, text.len()) };
}

/// Executes a text. Register 1 designates the page, and register 2 counts. The recorded fetches in the range must be
/// these, by their distance from the page, and register 2 must be this.
fn expect(name: &str, run: Run, text: &[u8], fetched: &[u64], count: u64) {
    guests::println!("{name}:");
    let (events, registers) = run.execute(text);
    for (number, event) in events.iter().enumerate() {
        let Some(wanted) = fetched.get(number) else {
            check("the end", event.code & 0x7F, 1);
            continue;
        };
        check("the fetch", event.stored[0] & 0x40, 0x40);
        check(
            "its address",
            event.per_address().0.wrapping_sub(PAGE),
            *wanted,
        );
    }
    check("interruptions", events.len(), fetched.len() + 1);
    check("instructions that counted", registers[2], count);
}

/// Records fetches in a range given by its distance from the page.
fn run_of(range: [u64; 2]) -> Run {
    let mut run = Run::of(FETCH).in_mode(DAT).with(1, PAGE);
    run.range = range.map(|offset| PAGE.wrapping_add(offset));
    run
}

fn run() {
    dat::prepare();
    for number in 0..3 {
        dat::set_window(number, frame(number as u64));
    }
    dat::set_window(8, frame(1));
    put(0x100, &RETURN);
    for offset in (0x7F8..0x80C).step_by(4) {
        put(offset, &COUNT);
    }
    put(0x80C, &RETURN);
    beside_it();
    over_pages();
    again_and_again();
    refused();
    dat::with_home_space(in_two_spaces);
}

fn beside_it() {
    let mut calls = [0; 16];
    for (part, call) in calls
        .chunks_exact_mut(4)
        .zip([BESIDE, THROUGH, BESIDE, THROUGH])
    {
        part.copy_from_slice(&call);
    }
    let events = [0x800, 0x804, 0x800, 0x804];
    expect("around the range", run_of(RANGE), &calls, &events, 10);
    let program = run_of(RANGE).in_mode(PROBLEM);
    expect("in the problem state", program, &calls, &events, 10);
    let alias = run_of(RANGE).with(1, ALIAS);
    expect("by another address", alias, &calls, &[], 10);
    let mut nullified = run_of(RANGE);
    nullified.events |= NULLIFY;
    expect("nullified", nullified, &THROUGH, &[0x800], 5);
    // EX 0,300(1), where an AGR 2,3 is.
    put(0x300, &[0xB9, 0x08, 0, 0x23]);
    let executing = run_of(RANGE).with(3, 7);
    expect(
        "executed from elsewhere",
        executing,
        &[0x44, 0, 0x13, 0],
        &[],
        7,
    );
    // EX 0,804(1), where an AGHI 2,1 is: the address is that of the EXECUTE.
    let ex = [0x44, 0, 0x18, 4];
    let here = text().wrapping_sub(PAGE);
    expect(
        "of the range, from elsewhere",
        run_of(RANGE),
        &ex,
        &[here],
        1,
    );
    let mut nullified = run_of(RANGE);
    nullified.events |= NULLIFY;
    expect("nullified there", nullified, &ex, &[here], 1);
    // MVI 803(1),5: the second operand of an AGHI in the range.
    let mut stores = [0x92, 5, 0x18, 3, 0, 0, 0, 0];
    stores[4..].copy_from_slice(&THROUGH);
    expect(
        "after a store into it",
        run_of(RANGE),
        &stores,
        &[0x800, 0x804],
        9,
    );
    put(0x800, &COUNT);
}

/// Instructions on the pages before and behind, and across page boundaries.
fn over_pages() {
    // BAS 14,FFC(3), with register 3 designating the page before; and BAS 14,FFE(3).
    let from = |range| run_of(range).with(3, PAGE - 0x1000);
    put(-4, &COUNT);
    put(0, &COUNT);
    put(4, &RETURN);
    let text = [0x4D, 0xE0, 0x3F, 0xFC];
    expect("in from before it", from([0, 3]), &text, &[0], 2);
    put(-2, &COUNT);
    put(2, &RETURN);
    let text = [0x4D, 0xE0, 0x3F, 0xFE];
    expect("the second half of one", from([0, 1]), &text, &[], 1);
    expect("behind it", from([2, 3]), &text, &[2], 1);
    put(0xFFE, &COUNT);
    put(0x1002, &RETURN);
    let text = [0x4D, 0xE0, 0x1F, 0xFE];
    expect(
        "the first half of one",
        run_of([0xFFE, 0xFFF]),
        &text,
        &[0xFFE],
        1,
    );
    let both = run_of([0xFFE, 0x1002]);
    expect("and behind it", both, &text, &[0xFFE, 0x1002], 1);
}

/// Enters the page so often without an event that checking each entry no longer pays.
fn again_and_again() {
    // LGHI 4,100; BAS 14,100(1); BRCTG 4,*-4; BAS 14,7F8(1).
    let once = [
        0xA7, 0x49, 0, 100, 0x4D, 0xE0, 0x11, 0, 0xA7, 0x47, 0xFF, 0xFE, 0x4D, 0xE0, 0x17, 0xF8,
    ];
    let mut text = [0; 48];
    for part in text.chunks_exact_mut(16) {
        part.copy_from_slice(&once);
    }
    let events = [0x800, 0x804, 0x800, 0x804, 0x800, 0x804];
    expect("again and again", run_of(RANGE), &text, &events, 15);
}

/// A page that is invalid in the guest's own table.
fn refused() {
    dat::replace_window(1, INVALID);
    let _ = run_of(RANGE).execute_with(&[0x4D, 0xE0, 0x18, 0], once);
    let code: u16 = lowcore::read(lowcore::PROGRAM_CODE);
    check("what is not there is not fetched", code, 0x11);
    // SAFETY: one CPU, and the handler has run.
    check("from where", unsafe { MET }, PAGE + 0x800);
    dat::set_window(1, frame(1));
    expect("it is there", run_of(RANGE), &THROUGH, &[0x800, 0x804], 5);
}

/// Ends a text with its first interruption.
extern "C" fn once(registers: &mut Registers) {
    // SAFETY: one CPU; interruptions are disabled here.
    unsafe { MET = old_psw(Class::Program).address };
    recording::leave(registers);
}

/// The primary space and the home space.
fn in_two_spaces() {
    // SAC 300; BAS 14,7F8(1); SAC 0; BAS 14,7F8(1).
    let text = [
        0xB2, 0x19, 0x03, 0, 0x4D, 0xE0, 0x17, 0xF8, 0xB2, 0x19, 0, 0, 0x4D, 0xE0, 0x17, 0xF8,
    ];
    let events = [0x800, 0x804, 0x800, 0x804];
    expect("in two spaces", run_of(RANGE), &text, &events, 10);
}
