//! Two virtual pages of one real page are one page: stores through one are fetched, and executed,
//! through the other.

use core::arch::asm;
use core::ptr::{
    read_volatile, with_exposed_provenance, with_exposed_provenance_mut, write_volatile,
};

use guests::check::check;
use guests::dat::{self, WINDOW};
use guests::insn::cpu::Page;

guests::clause!(
    "Principles of Operation, Dynamic Address Translation; Conceptual Sequence",
    native = true
);
guests::case!(run);

static mut PAGE: Page = Page([0; 4096]);

fn put(address: u64, word: u32) {
    // SAFETY: a page of the window.
    unsafe { write_volatile(with_exposed_provenance_mut(address as usize), word) };
}

fn get(address: u64) -> u32 {
    // SAFETY: as above.
    unsafe { read_volatile(with_exposed_provenance(address as usize)) }
}

fn perform(address: u64) -> u64 {
    let result: u64;
    // SAFETY: the page holds one instruction and BR 14.
    unsafe {
        asm!("basr %r14, {c}", c = in(reg_addr) address, inout("r2") 0_u64 => result, inout("r3") 0_u64 => _, out("r14") _)
    };
    result
}

fn run() {
    let real = &raw mut PAGE as u64;
    let (one, two) = (WINDOW, WINDOW + 0x3000);
    dat::prepare();
    dat::set_window(0, real);
    dat::set_window(3, real);
    dat::on();
    for n in 0..5_u32 {
        put(one + 0x80, n);
        check(
            "stored through one, fetched through the other",
            get(two + 0x80),
            n,
        );
        check("and at the real address", get(real + 0x80), n);
        put(one + 0x100, 0xA729_0000 | n);
        put(two + 0x104, 0x07FE_0700);
        check("LGHI executed through one", perform(one + 0x100), n.into());
        check("and through the other", perform(two + 0x100), n.into());
        put(two + 0x100, 0xB98D_0023);
        check(
            "EPSW executed through one",
            perform(one + 0x100) & !0x3000,
            0x0400_0001,
        );
        check(
            "and through the other",
            perform(two + 0x100) & !0x3000,
            0x0400_0001,
        );
        check(
            "and at the real address",
            perform(real + 0x100) & !0x3000,
            0x0400_0001,
        );
        // An executed page may be fetched from a copy; a store makes it data, and it reads as stored.
        put(two + 0x180, n);
        check("the page reads as stored", get(one + 0x100), 0xB98D_0023);
    }
    dat::off();
}
