//! Translation never leads beyond the end of storage: a page frame, a page, segment or region table, or a table
//! origin in an address-space-control element that lies there is an addressing exception, in every address space.
//! Real addresses 0-1FFF are the program's own prefix area.

use guests::attempt::Outcome;
use guests::check::{check, holds};
use guests::dat::{self, SEGMENT_INVALID, WINDOW};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::insn::storage::ptlb;
use guests::misdirected::{end, load, store};
use guests::{attempt, attempt_in_problem_state, attempt_on_registers, lowcore};

guests::clause!(
    "Principles of Operation, Dynamic Address Translation; Addressing Exception; MOVE WITH OPTIONAL SPECIFICATIONS",
    native = true
);
guests::case!(run);

/// A doubleword that nothing may replace.
const MARK: u64 = 0x5A5A_A5A5_1234_8765;

/// The secondary-space control of control register 0.
const SECONDARY_SPACE: u64 = 1 << (63 - 37);
/// The real-space control of an address-space-control element.
const REAL_SPACE: u64 = 0x20;
/// The format control of a segment- or region-third-table entry: a large frame instead of a table, on a machine that
/// has such frames.
const FORMAT: u64 = 0x400;
/// The largest table length.
const FULL: u64 = 3;

/// A page of the program's own.
static mut HERE: Page = Page([0; 4096]);
/// A region table: the first 512 entries.
static mut REGION: Page = Page([0; 4096]);

/// Page frames from the end of storage on.
fn beyond() -> [u64; 10] {
    let end = end();
    [
        end,
        end + 0x1000,
        end + 0x8_0000,
        end + (1 << 20),
        end + (4 << 20),
        end + (16 << 20) - 4096,
        0x7FFF_F000,
        0x8000_0000,
        1 << 40,
        4096_u64.wrapping_neg(),
    ]
}

/// Expects the addressing exception for each of these.
const EVERY: u64 = 0x55_5555_5555;

/// Attempts an access with each of these frames, which `prepare` enters into tables.
fn every(name: &str, prepare: impl Fn(u64), attempt: impl Fn() -> Outcome) {
    let here = &raw mut HERE as u64;
    for at in (here..here + 4096).step_by(8) {
        store(at, MARK);
    }
    let codes = beyond().iter().fold(0, |all: u64, &at| {
        prepare(at);
        ptlb();
        all << 4 | u64::from(attempt().code().min(15))
    });
    check(name, codes, EVERY);
    let changed = (here..here + 4096).step_by(8).any(|at| load(at) != MARK);
    holds("  nothing came from there", !changed);
}

/// MOVE WITH OPTIONAL SPECIFICATIONS of 8 bytes, with these controls.
fn mvcos(controls: u64, to: u64, from: u64) -> Outcome {
    attempt_on_registers!(
        ".insn ssf, 0xc80000000000, 0(%r2), 0(%r3), %r5",
        &mut [controls, to, from, 0, 8]
    )
}

/// Attempts an instruction of the page at `a` of the window, and of the program's own page at `h`.
macro_rules! window {
    ($text:literal) => {
        every(
            concat!("frame: ", $text),
            |frame| dat::set_window(5, frame),
            || {
                let (a, h) = (WINDOW + 0x5000, &raw mut HERE as u64);
                attempt!(concat!($text, "\n lgr {h}, {h}"), h = in(reg_addr) h, a = in(reg_addr) a)
            },
        )
    };
}

fn frames() {
    window!("lg %r1, 0({a})");
    window!("lg %r1, 4088({a})");
    window!("mvghi 0({a}), 1");
    window!("mvc 0(256,{h}), 0({a})");
    window!("mvc 0(256,{a}), 0({h})");
    window!("asi 0({a}), 1");
    window!("stmg %r0, %r15, 0({a})");
    window!("basr %r1, {a}");
    window!("ex %r0, 0({a})");
    window!("stctg 0, 15, 0({a})");
    window!("lctlg 1, 1, 0({a})");
    window!("lpswe 0({a})");
    window!("stosm 0({a}), 0");
    window!("stap 0({a})");
    window!("stfle 0({a})");
    window!("tprot 0({a}), 0(%r0)");
    window!("ssch 0({a})");
    let moved = |to, from| move || attempt_on_registers!("mvpg %r2, %r3", &mut [0, to, from, 0, 0]);
    let (a, h) = (WINDOW + 0x5000, &raw mut HERE as u64);
    let enter = |frame| dat::set_window(5, frame);
    every("frame: MVPG from there", enter, moved(h, a));
    every("frame: MVPG to there", enter, moved(a, h));
    every("frame: MVCOS from there", enter, || mvcos(0, h, a));
    every("frame: MVCOS to there", enter, || mvcos(0, a, h));
    every("frame: CSPG", enter, || {
        attempt_on_registers!(
            ".insn rre, 0xb98a0000, %r2, %r4",
            &mut [0, MARK, MARK, a, 0]
        )
    });
    every(
        "frame: in problem state",
        enter,
        || attempt_in_problem_state!("mvghi 0({a}), 1", a = in(reg_addr) a),
    );
    // The operand begins in the last page of storage.
    dat::set_window(4, end() - 4096);
    every(
        "frame: STMG across",
        enter,
        || attempt!("stmg %r0, %r15, 0({a})", a = in(reg_addr) a - 64),
    );
    dat::set_window(5, dat::INVALID);
}

fn page_tables() {
    let a = WINDOW + (1 << 20) + 0x3000;
    for (name, more) in [
        ("segment-table entry", 0),
        ("  with format control", FORMAT),
    ] {
        every(
            name,
            |frame| dat::set_segment(65, frame | more),
            || attempt!("lg %r1, 0({a})", a = in(reg_addr) a),
        );
    }
    dat::set_segment(65, SEGMENT_INVALID);
}

/// Replaces the address-space-control elements of the secondary and the home space.
fn set_spaces(element: u64) {
    let mut registers = stctg_all();
    registers[0] |= SECONDARY_SPACE;
    registers[7] = element;
    registers[13] = element;
    lctlg_all(&registers);
}

/// Attempts accesses in the secondary and in the home space with these elements.
fn spaces(name: &str, element: impl Fn(u64) -> u64, at: u64) {
    let h = &raw mut HERE as u64;
    let enter = |frame| set_spaces(element(frame));
    every(
        name,
        enter,
        || attempt!("sacf 0x100\n lg %r1, 0({a})\n sacf 0", a = in(reg_addr) at),
    );
    every(
        "  store",
        enter,
        || attempt!("sacf 0x100\n mvghi 0({a}), 1\n sacf 0", a = in(reg_addr) at),
    );
    every("  MVCOS from the secondary space", enter, || {
        mvcos(0x81, h, at)
    });
    every("  MVCOS to the secondary space", enter, || {
        mvcos(0x81_0000, at, h)
    });
    every("  MVCOS from the home space", enter, || mvcos(0xC1, h, at));
    every("  MVCOS to the home space", enter, || {
        mvcos(0xC1_0000, at, h)
    });
}

/// An entry of the region table, and the address-space-control element of a space that begins there.
fn region(level: u64, entry: u64) -> u64 {
    let table = &raw mut REGION as u64;
    store(table, entry | level << 2 | FULL);
    table | level << 2 | FULL
}

fn table_origins() {
    for (name, kind) in [
        ("segment table", 0),
        ("region-third table", 4),
        ("region-second table", 8),
        ("region-first table", 12),
    ] {
        spaces(name, |frame| frame & !0xFFF | kind | FULL, 0x1000);
    }
    for (name, level, more) in [
        ("region-third-table entry", 1, 0),
        ("region-third-table entry with format control", 1, FORMAT),
        ("region-second-table entry", 2, 0),
        ("region-first-table entry", 3, 0),
    ] {
        spaces(name, |frame| region(level, frame | more), 0x1000);
    }
}

fn real_space() {
    let h = &raw mut HERE as u64;
    let kept = stctg_all();
    let mut registers = kept;
    registers[0] |= SECONDARY_SPACE;
    registers[7] = REAL_SPACE;
    lctlg_all(&registers);
    store(h, MARK);
    let (mut codes, mut moved_there, mut moved_from) = (0, 0, 0);
    for at in beyond() {
        let natively = attempt!("sacf 0x100\n lg %r1, 0({a})\n sacf 0", a = in(reg_addr) at);
        codes = codes << 4 | u64::from(natively.code());
        moved_there = moved_there << 4 | u64::from(mvcos(0x81_0000, at, h).code());
        moved_from = moved_from << 4 | u64::from(mvcos(0x81, h, at).code());
    }
    check("real space", codes, EVERY);
    check("  MVCOS to there", moved_there, EVERY);
    check("  MVCOS from there", moved_from, EVERY);
    check("  nothing came from there", load(h), MARK);
    lctlg_all(&kept);
}

/// Real 0-1FFF by a page-table entry.
fn prefix_area() {
    dat::set_window(6, 0);
    lowcore::write(0xF00, MARK);
    let seen = load(WINDOW + 0x6F00);
    check("real 0 is the program's own prefix area", seen, MARK);
    holds(
        "  with its new PSWs",
        (0x1A0..0x200)
            .step_by(8)
            .all(|at| load(WINDOW + 0x6000 + at) == lowcore::read(at as usize)),
    );
}

fn run() {
    dat::prepare();
    dat::on();
    frames();
    page_tables();
    let kept = stctg_all();
    table_origins();
    lctlg_all(&kept);
    real_space();
    prefix_area();
    dat::off();
}
