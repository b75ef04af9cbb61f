//! Storage keys: SET, INSERT and RESET REFERENCE BIT EXTENDED.

use core::ptr::{read_volatile, write_volatile};

use guests::attempt;
use guests::check::{check, holds};
use guests::insn::cpu::Page;
use guests::insn::storage::{iske, rrbe, sske};

guests::clause!(
    "Principles of Operation, SET STORAGE KEY EXTENDED; INSERT STORAGE KEY EXTENDED; RESET REFERENCE BIT EXTENDED",
    native = true
);
guests::case!(run);

static mut PAGE: Page = Page([0; 4096]);

/// Reference and change bits of a key.
const RC: u8 = 0x06;

fn run() {
    let page = &raw mut PAGE as u64;
    for key in [0x00_u8, 0x90, 0xF8, 0x16] {
        sske(key, page);
        check("ISKE after SSKE", iske(page), key);
    }
    sske(0x30 | RC, page);
    check(
        "RRBE: condition code, reference and change one",
        rrbe(page),
        3,
    );
    check("ISKE after RRBE", iske(page), 0x32);
    check("RRBE again: change one", rrbe(page), 1);
    sske(0x00, page);
    check("RRBE: both zero", rrbe(page), 0);
    sske(0x04, page);
    check("RRBE: reference one", rrbe(page), 2);
    // SAFETY: a page of its own.
    unsafe { write_volatile(page as *mut u64, 1) };
    holds("a store sets reference and change", iske(page) & RC == RC);
    sske(0, page);
    // SAFETY: as above.
    holds(
        "a fetch gives what was stored",
        unsafe { read_volatile(page as *const u64) } == 1,
    );
    sske(0, page);
    check(
        "bits 52-63 of the address are ignored",
        {
            sske(0x50, page + 0x123);
            iske(page + 0xFFF)
        },
        0x50,
    );
    sske(0, page);
    let far = 0x7000_0000_u64;
    check(
        "ISKE beyond storage",
        attempt!("iske %r1, {a}", a = in(reg) far).code(),
        5,
    );
    check(
        "SSKE beyond storage",
        attempt!(".insn rrf,0xb22b0000,%r1,{a},0,0", a = in(reg) far).code(),
        5,
    );
    check(
        "RRBE beyond storage",
        attempt!("rrbe %r1, {a}", a = in(reg) far).code(),
        5,
    );
}
