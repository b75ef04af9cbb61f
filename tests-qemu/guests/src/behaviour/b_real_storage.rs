//! LOAD and STORE USING REAL ADDRESS.

use core::ptr::{read_volatile, write_volatile};

use guests::attempt::suppressed;
use guests::insn::control::{lctlg_0, stctg_0};
use guests::insn::storage::{lurag, sturg};
use guests::psw::bit;
use guests::{attempt, dat, shows};

guests::clause!(
    "SA22-7832, LOAD USING REAL ADDRESS; STORE USING REAL ADDRESS",
    native = true
);
guests::case!(run);

#[repr(C, align(4096))]
struct Block([u64; 512]);
static mut BLOCK: Block = Block([0; 512]);

/// What a register or storage holds before.
const BEFORE: u64 = 0x5A5A_5A5A_5A5A_5A5A;
const VALUE: u64 = 0x0123_4567_89AB_CDEF;

/// The first two doublewords of the block.
fn doublewords() -> [u64; 2] {
    let block = (&raw const BLOCK).cast::<u64>();
    // SAFETY: inside the block.
    [0, 1].map(|n| unsafe { read_volatile(block.add(n)) })
}

fn set(value: u64) {
    // SAFETY: inside the block.
    unsafe { write_volatile((&raw mut BLOCK).cast::<u64>(), value) }
}

fn run() {
    let at = &raw const BLOCK as u64;
    set(VALUE);
    let mut register = BEFORE;
    let loaded = attempt!("lura {r}, {a}", r = inout(reg) register, a = in(reg) at + 4);
    shows!(
        "LURA-1",
        (loaded.code(), register),
        (0, 0x5A5A_5A5A_89AB_CDEF)
    );
    shows!("LURA-2", lurag(at), VALUE);
    set(BEFORE);
    let stored = attempt!("stura {r}, {a}", r = in(reg) VALUE, a = in(reg) at);
    shows!(
        "STURA-1",
        (stored.code(), doublewords()),
        (0, [0x89AB_CDEF_5A5A_5A5A, 0])
    );
    sturg(VALUE, at);
    shows!("STURA-2", doublewords(), [VALUE, 0]);

    let wide = at | 0xFFFF_FFFF_8000_0000;
    register = 0;
    let loaded =
        attempt!("sam31\n lurag {r}, {a}\n sam64", r = inout(reg) register, a = in(reg) wide);
    shows!("LURA-5", (loaded.code(), register), (0, VALUE));
    let stored = attempt!("sam31\n sturg {r}, {a}\n sam64", r = in(reg) !VALUE, a = in(reg) wide);
    shows!("STURA-5", (stored.code(), doublewords()), (0, [!VALUE, 0]));

    // As a virtual address it is invalid.
    dat::prepare();
    dat::set_identity(at, false);
    dat::on();
    let found = lurag(at);
    sturg(VALUE, at);
    dat::off();
    dat::set_identity(at, true);
    shows!("LURA-3", found, !VALUE);
    shows!("STURA-3", doublewords(), [VALUE, 0]);

    const BEYOND: u64 = 0x7000_0000;
    shows!(
        "LURA-9",
        attempt!("lura %r1, {a}", a = in(reg) BEYOND).number(),
        suppressed(5, 4)
    );
    shows!(
        "LURA-9",
        attempt!("lurag %r1, {a}", a = in(reg) BEYOND).number(),
        suppressed(5, 4)
    );
    shows!(
        "STURA-9",
        attempt!("stura %r1, {a}", a = in(reg) BEYOND).number(),
        suppressed(5, 4)
    );
    shows!(
        "STURA-9",
        attempt!("sturg %r1, {a}", a = in(reg) BEYOND).number(),
        suppressed(5, 4)
    );
    let cr0 = stctg_0();
    lctlg_0(cr0 | bit(35));
    let low = [0x1F8_u64, 0x11F8].map(|at| attempt!("sturg %r1, {a}", a = in(reg) at).number());
    let word = attempt!("stura %r1, {a}", a = in(reg) 0x1FC_u64).number();
    lctlg_0(cr0);
    shows!("STURA-10", [low[0], low[1], word], [suppressed(4, 4); 3]);
}
