//! Storage keys: SET, INSERT and RESET REFERENCE BIT EXTENDED.

use core::ptr::write_volatile;

use guests::attempt::suppressed;
use guests::insn::cpu::Page;
use guests::insn::storage::{iske, rrbe, sske, with_psw_key};
use guests::{attempt, dat, shows};

guests::clause!(
    "SA22-7832, SET STORAGE KEY EXTENDED; INSERT STORAGE KEY EXTENDED; RESET REFERENCE BIT EXTENDED",
    native = true
);
guests::case!(run);

static mut PAGE: Page = Page([0; 4096]);

/// Reference and change bits of a key.
const RC: u8 = 0x06;
/// No storage is there, in any addressing mode but the 24-bit one.
const BEYOND: u64 = 0x7000_0000;

fn run() {
    let page = &raw mut PAGE as u64;
    for key in [0x00_u8, 0x90, 0xF8, 0x16] {
        sske(key, page);
        shows!(["SSKE-1", "ISKE-1"], iske(page), key);
    }
    for (key, code) in [(0x30, 0), (0x3A, 1), (0x5C, 2), (0x36, 3)] {
        sske(key, page);
        let found = rrbe(page);
        match code {
            0 => shows!("RRBE-3", found, 0),
            1 => shows!("RRBE-4", found, 1),
            2 => shows!("RRBE-5", found, 2),
            _ => shows!("RRBE-6", found, 3),
        }
        shows!(["RRBE-1", "RRBE-2"], iske(page), key & !4);
    }
    sske(0, page);
    // SAFETY: a page of its own.
    unsafe { write_volatile(page as *mut u64, 1) };
    guests::check::holds("a store sets reference and change", iske(page) & RC == RC);
    registers(page);
    sske(0x50, page + 0x123);
    shows!(["SSKE-3", "ISKE-3"], iske(page + 0xFFF), 0x50);
    sske(0x54, page);
    shows!("RRBE-7", (rrbe(page + 0xABC), iske(page)), (2, 0x50));
    modes(page);
    with_dat(page);
    protection(page);
    let far = attempt!("iske %r1, {a}", a = in(reg) BEYOND);
    shows!("ISKE-9", far.number(), suppressed(5, 4));
    let far = attempt!(".insn rrf,0xb22b0000,%r1,{a},0,0", a = in(reg) BEYOND);
    shows!("SSKE-9", far.number(), suppressed(5, 4));
    let far = attempt!("rrbe %r1, {a}", a = in(reg) BEYOND);
    shows!("RRBE-10", far.number(), suppressed(5, 4));
    sske(0, page);
}

/// Which bits of the first operand are used.
fn registers(page: u64) {
    let set = attempt!(
        ".insn rrf,0xb22b0000,{k},{a},0,0",
        k = in(reg) 0xFFFF_FFFF_FFFF_FF71_u64,
        a = in(reg) page
    );
    shows!("SSKE-2", (set.code(), iske(page)), (0, 0x70));
    let mut key = 0x1234_5678_9ABC_DEFF_u64;
    let inserted = attempt!("iske {k}, {a}", k = inout(reg) key, a = in(reg) page);
    shows!(
        ["ISKE-1", "ISKE-2"],
        (inserted.code(), key),
        (0, 0x1234_5678_9ABC_DE70)
    );
    let mut unchanged = 0x5A5A_u64;
    let far = attempt!("iske {k}, {a}", k = inout(reg) unchanged, a = in(reg) BEYOND);
    shows!("ISKE-9", (far.code(), unchanged), (5, 0x5A5A));
}

/// The addressing modes, whose address in the register has 31 or 24 bits.
fn modes(page: u64) {
    let wide = page | 0xFFFF_FFFF_8000_0000;
    let set = attempt!(
        "sam31\n .insn rrf,0xb22b0000,{k},{a},0,0\n sam64",
        k = in(reg) 0x40_u64,
        a = in(reg) wide
    );
    shows!("SSKE-4", (set.code(), iske(page)), (0, 0x40));
    let mut key = 0_u64;
    let inserted = attempt!("sam31\n iske {k}, {a}\n sam64", k = inout(reg) key, a = in(reg) wide);
    shows!("ISKE-4", (inserted.code(), key), (0, 0x40));
    let wide = page | 0xFFFF_FFFF_FF00_0000;
    let set = attempt!(
        "sam24\n .insn rrf,0xb22b0000,{k},{a},0,0\n sam64",
        k = in(reg) 0x60_u64,
        a = in(reg) wide
    );
    shows!("SSKE-5", (set.code(), iske(page)), (0, 0x60));
    let inserted = attempt!("sam24\n iske {k}, {a}\n sam64", k = inout(reg) key, a = in(reg) wide);
    shows!("ISKE-5", (inserted.code(), key), (0, 0x60));
}

/// With DAT on the address is real, too: as a virtual one it is invalid.
fn with_dat(page: u64) {
    dat::prepare();
    dat::set_identity(page, false);
    dat::on();
    sske(0x84, page);
    let (code, key) = (rrbe(page), iske(page));
    dat::off();
    dat::set_identity(page, true);
    shows!(["SSKE-6", "ISKE-6"], key, 0x80);
    shows!("RRBE-8", code, 2);
}

/// The block has another key than the PSW, and is fetch-protected.
fn protection(page: u64) {
    sske(0x3C, page);
    let (reset, inserted) = with_psw_key(5, || {
        (
            attempt!("rrbe %r1, {a}", a = in(reg) page),
            attempt!("iske %r1, {a}", a = in(reg) page),
        )
    });
    shows!("RRBE-9", reset.condition_code(), 2);
    shows!("ISKE-7", inserted.code(), 0);
    let set = with_psw_key(
        5,
        || attempt!(".insn rrf,0xb22b0000,{k},{a},0,0", k = in(reg) 0x70_u64, a = in(reg) page),
    );
    shows!("SSKE-7", (set.code(), iske(page)), (0, 0x70));
}
