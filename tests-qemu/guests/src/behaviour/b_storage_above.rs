//! Storage above 2 GiB. The hardware system area lies below 2 GiB and is a hole in storage: READ STORAGE INFO shows
//! where, and every access there is an addressing exception. On both sides of it, and at the last byte, storage is like
//! any other, with keys of its own.

use guests::attempt;
use guests::attempt::Outcome;
use guests::check::{check, holds};
use guests::insn::cpu::{spx, stpx};
use guests::insn::storage::{iske, sske, tprot};
use guests::misdirected::{load, store};
use guests::sccb::{self, READ_SCP_INFO, READ_STORAGE_INFO, with_block};

guests::clause!(
    "Principles of Operation, Addressing Exception; SCLP, READ SCP INFO",
    native = false,
    options = "--storage 4G; --storage 3G --cpus 2"
);
guests::case!(run);

const LOW_END: u64 = 1 << 31;

/// The block of a command that fills a page.
fn answer(command: u32) -> [u8; 4096] {
    with_block(
        command,
        |block| block[..2].copy_from_slice(&4096_u16.to_be_bytes()),
        |block| *block,
    )
}

fn halfword(block: &[u8; 4096], at: usize) -> u64 {
    u16::from_be_bytes([block[at], block[at + 1]]).into()
}

/// The end of the first part of storage, from the increments that are there.
fn hole() -> u64 {
    let information = answer(READ_SCP_INFO);
    check("the hole is announced", information[50] & 0x40, 0x40);
    let element = answer(READ_STORAGE_INFO);
    check("the hole is shown", halfword(&element, 6), 0x0010);
    check("in one element", halfword(&element, 8), 0);
    let increment = u64::from(information[10]) << 20;
    let mut all = element[16..]
        .chunks(4)
        .take(halfword(&element, 10) as usize)
        .map(|entry| (u64::from(u16::from_be_bytes([entry[0], entry[1]])) - 1) * increment);
    let mut begin = 0;
    let mut parts = 0;
    let mut next = 0;
    for at in &mut all {
        if at != next {
            begin = next;
            parts += 1;
            check("storage goes on", at, LOW_END);
        }
        next = at + increment;
    }
    check("holes", parts, 1);
    holds("storage ends there", next == sccb::storage_end() as u64);
    begin
}

fn every_access(at: u64) {
    let codes = [
        attempt!("lg %r1, 0({a})", a = in(reg_addr) at).code(),
        attempt!("mvghi 0({a}), 1", a = in(reg_addr) at).code(),
        attempt!("stck 0({a})", a = in(reg_addr) at).code(),
        attempt!("stpt 0({a})", a = in(reg_addr) at).code(),
        attempt!("lctlg 5, 5, 0({a})", a = in(reg_addr) at).code(),
        attempt!("lpswe 0({a})", a = in(reg_addr) at).code(),
        attempt!("stidp 0({a})", a = in(reg_addr) at).code(),
        attempt!("iske %r1, {a}", a = in(reg) at).code(),
        attempt!("sske %r1, {a}", a = in(reg) at).code(),
        attempt!("lurag %r1, {a}", a = in(reg) at).code(),
        attempt!("sturg %r1, {a}", a = in(reg) at).code(),
        attempt!("tprot 0({a}), 0", a = in(reg_addr) at).code(),
        attempt!("basr %r1, {a}", a = in(reg_addr) at & !1).code(),
    ];
    let codes = codes
        .iter()
        .fold(0_u64, |all, code| all << 4 | u64::from(*code));
    check("every access", codes, 0x5_5555_5555_5555);
}

/// Storage that is there: the doubleword at an address and its key are its own.
fn is_there(at: u64) {
    store(at, !at);
    check("loaded", load(at), !at);
    sske(0x30, at);
    check("key", iske(at), 0x30);
    sske(0, at);
    check("TEST PROTECTION", tprot(at, 0), 0);
}

fn run() {
    let (begin, end) = (hole(), sccb::storage_end() as u64);
    for at in [
        begin - 8,
        LOW_END,
        LOW_END + 0x1000,
        end / 2,
        end - 4096,
        end - 8,
    ] {
        is_there(at);
    }
    for at in [
        begin,
        begin + 0x2000,
        (begin + LOW_END) / 2,
        LOW_END - 8,
        end,
        end + 0x1000,
        1 << 40,
    ] {
        every_access(at);
    }
    let across = attempt!("lg %r1, 4({a})", a = in(reg_addr) begin - 8);
    check("a doubleword into the hole", across.code(), 5);
    let across = attempt!("lg %r1, 4({a})", a = in(reg_addr) end - 8);
    check("a doubleword across the end", across.code(), 5);
    // From one side to the other.
    let [from, to] = [begin - 4096, LOW_END + (1 << 20)];
    store(from + 8, 0x1234);
    let moved = attempt!("lghi %r0, 0\n mvpg {t}, {f}", t = in(reg_addr) to, f = in(reg_addr) from);
    holds(
        "MOVE PAGE completes",
        matches!(moved, Outcome::Completed(_)),
    );
    check("what MOVE PAGE moved", load(to + 8), 0x1234);
    // A prefix has 31 bits: the last area below the hole, and the first one in it.
    let mine = stpx();
    spx((begin - 8192) as u32);
    check("the last prefix", stpx(), (begin - 8192) as u32);
    spx(mine);
    let word = begin as u32;
    let beyond = attempt!("spx 0({a})", a = in(reg_addr) &raw const word as u64);
    check("a prefix in the hole", beyond.code(), 5);
    // What lies above is executed as well: a return.
    let text = LOW_END + 0x10_2000;
    store(text, 0x07FE_0707_0707_0707);
    let executed = attempt!("basr %r14, {a}", a = in(reg_addr) text, out("r14") _);
    holds("execution", matches!(executed, Outcome::Completed(_)));
}
