//! Program-event recording: an EXECUTE outside of the range whose target is in it, wherever the EXECUTE is.

use guests::check::check;
use guests::dat::{self, WINDOW};
use guests::insn::cpu::Page;
use guests::psw::{DAT, PROBLEM};
use guests::recording::{FETCH, NULLIFY, Run, text};

guests::clause!(
    "Principles of Operation, Program-Event Recording, Instruction Fetching; EXECUTE",
    native = false,
    options = "; --strict"
);
guests::case!(run);

/// The page of the range, between two other pages.
const PAGE: u64 = WINDOW + 0x1000;
/// The range in it, and one of more pages than are protected.
const RANGE: [u64; 2] = [PAGE + 0x800, PAGE + 0x807];
const LARGE: [u64; 2] = [PAGE + 0x800, PAGE + 0x20_0000];
/// The whole page, and all but the first half of it: that range wraps.
const WHOLE: [u64; 2] = [PAGE, PAGE + 0xFFF];
const WRAPPED: [u64; 2] = [PAGE + 0x800, PAGE - 1];

/// A target in the range, and one beside it: AGHI 2,1.
const INSIDE: u64 = PAGE + 0x800;
const BESIDE: u64 = PAGE + 0x600;
const COUNT: [u8; 4] = [0xA7, 0x2B, 0, 1];
/// A routine: EX 0,0(5), EX 7,0(5) with zeros in register 7, EXRL 0 of [`INSIDE`] and BR 14.
const ROUTINE: u64 = 0x100;
const EXECUTES: [u64; 3] = [ROUTINE, ROUTINE + 4, ROUTINE + 8];
/// One without EXECUTE, whose immediate operand looks like one: LGHI 3,4400, and BR 14.
const DATA: u64 = 0x200;
/// A loop: EX 0,0(5); LGR 5,6; BRCTG 4,*-8; BR 14.
const LOOP: u64 = 0x300;

static mut FRAMES: [Page; 3] = [const { Page([0; 4096]) }; 3];

fn frame(number: u64) -> u64 {
    (&raw const FRAMES) as u64 + 0x1000 * number
}

/// Puts text into the page of the range, or the one before it.
fn put(at: u64, text: &[u8]) {
    let at = (frame(0) + (at - WINDOW)) as *mut u8;
    // SAFETY: in the three pages.
    unsafe { core::ptr::copy(text.as_ptr(), at, text.len()) };
}

/// Puts the routines into a page.
fn put_routines(page: u64) {
    let mut routine = [
        0x44, 0, 0x50, 0, 0x44, 0x70, 0x50, 0, 0xC6, 0, 0, 0, 0, 0, 0x07, 0xFE,
    ];
    let distance = INSIDE.wrapping_sub(page + ROUTINE + 8) as u32 / 2;
    routine[10..14].copy_from_slice(&distance.to_be_bytes());
    put(page + ROUTINE, &routine);
    put(page + DATA, &[0xA7, 0x39, 0x44, 0, 0x07, 0xFE]);
    let again = [
        0x44, 0, 0x50, 0, 0xB9, 0x04, 0, 0x56, 0xA7, 0x47, 0xFF, 0xFC, 0x07, 0xFE,
    ];
    put(page + LOOP, &again);
}

fn run_of(range: [u64; 2]) -> Run {
    let mut run = Run::of(FETCH).in_mode(DAT).with(1, PAGE);
    run.range = range;
    run.with(5, INSIDE).with(6, INSIDE)
}

/// Executes a text. The recorded fetches must have these addresses, apart from those in the page of the text, and register 2
/// must be this.
fn expect(name: &str, run: Run, words: &[u8], fetched: &[u64], count: u64) {
    let (events, registers) = run.execute(words);
    let found = events
        .iter()
        .filter(|event| event.code & 0x80 != 0 && event.stored[0] & 0x40 != 0)
        .map(|event| event.per_address().0)
        .filter(|&at| at & !0xFFF != text() || run.range[0] <= run.range[1]);
    let right = found.clone().eq(fetched.iter().copied());
    if !right {
        guests::println!("{name}: {} events", found.clone().count());
        for at in found {
            guests::println!("  {:x}", at.wrapping_sub(PAGE));
        }
    }
    check(name, u8::from(right), 1);
    check("instructions that counted", registers[2], count);
}

/// BAS 14 of a place in the page in register 1.
fn call(at: u64) -> [u8; 4] {
    [0x4D, 0xE0, 0x10 | (at >> 8) as u8, at as u8]
}

fn run() {
    dat::prepare();
    for number in 0..3 {
        dat::set_window(number, frame(number as u64));
    }
    put(INSIDE, &COUNT);
    put(BESIDE, &COUNT);
    put_routines(PAGE);
    put_routines(WINDOW);
    for mode in [0, PROBLEM] {
        guests::println!("{}", if mode == 0 { "supervisor" } else { "problem" });
        in_the_page_of_the_range(mode);
        elsewhere(mode);
    }
    looping();
    nullified();
    after_many_visits();
    performed();
    changed();
}

/// The EXECUTE is beside the range in its page.
fn in_the_page_of_the_range(mode: u64) {
    let all = EXECUTES.map(|at| PAGE + at);
    let routine = call(ROUTINE);
    for (name, range) in [("part of a page", RANGE), ("a large range", LARGE)] {
        let run = run_of(range).in_mode(mode);
        expect(name, run, &routine, &all, 3);
        let other = run.with(5, BESIDE);
        expect("another target", other, &routine, &all[2..], 3);
        expect("what looks like one", run, &call(DATA), &[], 0);
    }
    let run = run_of(WRAPPED).in_mode(mode);
    expect("a range that wraps", run, &routine, &all, 3);
    let other = run.with(5, BESIDE);
    expect("another target of that", other, &routine, &all[2..], 3);
}

/// The EXECUTE is in another page.
fn elsewhere(mode: u64) {
    let all = EXECUTES.map(|at| WINDOW + at);
    let routine = call(ROUTINE);
    for (name, range) in [
        ("from another page", RANGE),
        ("into a whole page", WHOLE),
        ("into a large range", LARGE),
    ] {
        let run = run_of(range).in_mode(mode).with(1, WINDOW);
        expect(name, run, &routine, &all, 3);
    }
    // EX 0,0(5) in the page of the text.
    let run = run_of(LARGE).in_mode(mode);
    expect("from the text", run, &[0x44, 0, 0x50, 0], &[text()], 1);
}

/// The same EXECUTE has its target first beside the range, and then in it.
fn looping() {
    for (range, page) in [
        (RANGE, PAGE),
        (LARGE, PAGE),
        (LARGE, WINDOW),
        (RANGE, WINDOW),
    ] {
        let run = run_of(range).with(1, page).with(5, BESIDE).with(4, 3);
        expect("in a loop", run, &call(LOOP), &[page + LOOP; 2], 3);
    }
}

/// The fetch of the target nullifies the EXECUTE.
fn nullified() {
    for (range, page) in [
        (RANGE, PAGE),
        (LARGE, PAGE),
        (LARGE, WINDOW),
        (RANGE, WINDOW),
    ] {
        let mut run = run_of(range).with(1, page);
        run.events |= NULLIFY;
        let (events, registers) = run.execute(&call(ROUTINE));
        check("the first one is nullified", events[0].stored[0], 0x41);
        check("where", events[0].old.address, page + ROUTINE);
        check("and is executed later", registers[2], 3);
    }
}

/// The page of the range was entered often without an event.
fn after_many_visits() {
    // LGHI 4,100; BAS 14,200(1); BRCTG 4,*-4; BAS 14,100(1); BAS 14,100(8).
    let mut visits = [
        0xA7, 0x49, 0, 100, 0x4D, 0xE0, 0x12, 0, 0xA7, 0x47, 0xFF, 0xFE, 0x4D, 0xE0, 0x11, 0, 0x4D,
        0xE0, 0x81, 0,
    ];
    let run = run_of(RANGE).with(8, WINDOW);
    let all = EXECUTES.map(|at| PAGE + at);
    let others = EXECUTES.map(|at| WINDOW + at);
    let [a, b, c] = all;
    let [d, e, f] = others;
    expect("after many visits", run, &visits, &[a, b, c, d, e, f], 6);
    // The other page first.
    visits[14] = 0x81;
    visits[18] = 0x11;
    expect("and from elsewhere", run, &visits, &[d, e, f, a, b, c], 6);
    // LGHI 4,40; EX 0,0(5); BRCTG 4,*-4.
    let again = [0xA7, 0x49, 0, 40, 0x44, 0, 0x50, 0, 0xA7, 0x47, 0xFF, 0xFE];
    for range in [RANGE, LARGE] {
        expect(
            "again and again",
            run_of(range),
            &again,
            &[text() + 4; 40],
            40,
        );
    }
}

/// The machine performs the target: STAP 900(1), and EPSW 2,3 by a mask.
fn performed() {
    for (target, mask) in [([0xB2, 0x12, 0x19, 0], 0), ([0xB9, 0x04, 0, 0x23], 0x89)] {
        put(INSIDE, &target);
        for (range, page) in [
            (RANGE, PAGE),
            (LARGE, PAGE),
            (LARGE, WINDOW),
            (RANGE, WINDOW),
        ] {
            let run = run_of(range).with(1, page).with(7, mask);
            let (events, _) = run.execute(&call(ROUTINE + 4));
            check("an event", events[0].stored[0], 0x40);
            check("of", events[0].per_address().0, page + ROUTINE + 4);
        }
    }
    put(INSIDE, &COUNT);
}

/// The program puts an EXECUTE where none was: MVC 400(4,1),900(1), and BAS 14,400(1).
fn changed() {
    for (range, page) in [(RANGE, PAGE), (LARGE, PAGE), (LARGE, WINDOW)] {
        put(page + 0x900, &[0x44, 0, 0x50, 0]);
        put(page + 0x400, &COUNT);
        put(page + 0x404, &[0x07, 0xFE]);
        let stores = [
            0x4D, 0xE0, 0x14, 0, 0xD2, 3, 0x14, 0, 0x19, 0, 0x4D, 0xE0, 0x14, 0,
        ];
        let run = run_of(range).with(1, page);
        expect("put there", run, &stores, &[page + 0x400], 2);
    }
}
