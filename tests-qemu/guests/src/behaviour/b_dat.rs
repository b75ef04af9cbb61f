//! Dynamic address translation by the program's own tables: valid, invalid and protected pages, an
//! invalid segment, the translation-exception identification, and INVALIDATE PAGE TABLE ENTRY.

use core::ptr::{
    read_volatile, with_exposed_provenance, with_exposed_provenance_mut, write_volatile,
};

use guests::attempt::{Outcome, interrupted};
use guests::check::check;
use guests::dat::{self, INVALID, PROTECTED, WINDOW};
use guests::insn::cpu::Page;
use guests::insn::storage::{ipte, lrag, ptlb, tprot};
use guests::{attempt, attempt_in_problem_state};

guests::clause!(
    "Principles of Operation, Dynamic Address Translation; Translation-Exception Identification; LOAD REAL ADDRESS",
    native = true
);
guests::case!(run);

static mut PAGE: Page = Page([0; 4096]);

fn page(n: u64) -> u64 {
    WINDOW + (n << 12)
}

// Not inline: QEMU purges what IPTE invalidates only behind the next branch.
#[inline(never)]
fn fetch(name: &str, address: u64, number: u64, teid: Option<u64>) {
    let outcome = attempt!("lg %r1, 0({a})", a = in(reg_addr) address);
    ends(name, outcome, number, teid);
}

fn store(name: &str, address: u64, number: u64, teid: Option<u64>) {
    let outcome = attempt!("mvhi 0({a}), 0x77", a = in(reg_addr) address);
    ends(name, outcome, number, teid);
}

/// Checks the number of an outcome, which is zero if the instruction completed, and the identification.
fn ends(name: &str, outcome: Outcome, number: u64, teid: Option<u64>) {
    let found = match outcome {
        Outcome::Completed(_) => 0,
        _ => outcome.number(),
    };
    check(name, found, number);
    identify(outcome, teid);
}

/// Bits 0-51 and 62-63 of the identification. Bits 52-61 belong to the access-exception facility.
fn identify(outcome: Outcome, teid: Option<u64>) {
    if let (Outcome::Program(program), Some(expected)) = (outcome, teid) {
        check(
            "  identification",
            program.teid & 0xFFFF_FFFF_FFFF_F003,
            expected,
        );
    }
}

fn run() {
    let real = &raw mut PAGE as u64;
    dat::prepare();
    dat::set_window(1, real);
    dat::set_window(2, real | PROTECTED);
    dat::set_window(3, real | INVALID);
    dat::set_segment(65, dat::SEGMENT_INVALID);
    dat::on();

    store("store into a valid page", page(1) + 0x10, 0, None);
    // SAFETY: the window's first page is PAGE.
    let seen = unsafe { read_volatile(with_exposed_provenance::<u32>(real as usize + 0x10)) };
    check("seen at its real address", seen, 0x77);
    fetch("fetch from a protected page", page(2) + 0x10, 0, None);
    // Protection suppresses, translation nullifies.
    store(
        "store into a protected page",
        page(2) + 0x10,
        interrupted(4, 6, 6),
        None,
    );
    fetch(
        "fetch from an invalid page",
        page(3) + 0x123,
        interrupted(0x11, 6, 0),
        Some(page(3)),
    );
    store(
        "store into an invalid page",
        page(3) + 0x20,
        interrupted(0x11, 6, 0),
        Some(page(3)),
    );
    fetch(
        "fetch from an invalid segment",
        WINDOW + (1 << 20) + 0x5000,
        interrupted(0x10, 6, 0),
        Some(WINDOW + (1 << 20) + 0x5000),
    );
    let beyond = 1 << 33;
    fetch(
        "fetch beyond the table",
        beyond,
        interrupted(0x38, 6, 0),
        Some(beyond),
    );
    let outcome = attempt_in_problem_state!("lg %r1, 0({a})", a = in(reg_addr) page(3));
    check(
        "in problem state",
        outcome.number(),
        interrupted(0x11, 6, 0),
    );

    check("LRAG of a valid page", lrag(page(1) + 0x123).0, 0);
    check(
        "  its real address",
        u64::from(lrag(page(1) + 0x123).1 == real + 0x123),
        1,
    );
    check("TPROT of a valid page", tprot(page(1), 0), 0);
    check("TPROT of a protected page", tprot(page(2), 0), 1);
    check("TPROT of an invalid page", tprot(page(3), 0), 3);

    // Valid to invalid by IPTE, and back by a store.
    // SAFETY: a valid page of the window.
    unsafe { write_volatile(with_exposed_provenance_mut::<u32>(page(1) as usize), 1) };
    ipte(dat::window_origin(), page(1));
    fetch(
        "after IPTE",
        page(1) + 8,
        interrupted(0x11, 6, 0),
        Some(page(1)),
    );
    // SAFETY: an entry of the window's table.
    let entry = unsafe { (&raw const (*dat::window()).0[1]).read_volatile() };
    check(
        "IPTE set the invalid bit of the entry",
        entry & INVALID,
        INVALID,
    );
    dat::set_window(1, real);
    fetch("valid again", page(1) + 8, 0, None);
    // Valid to protected with a purge.
    dat::set_window(1, real | PROTECTED);
    ptlb();
    store("protected after PTLB", page(1), interrupted(4, 6, 6), None);
    dat::off();
    check("DAT off again: LRAG still translates", lrag(page(2)).0, 0);
}
