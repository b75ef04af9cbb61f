//! STORE CPU ADDRESS on the CPU that was IPLed, its operand's alignment, and the operand's alignment of STORE CPU ID.

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::cpu::{stap, stidp};

guests::clause!(
    "Principles of Operation, STORE CPU ADDRESS; STORE CPU ID",
    native = true
);
guests::case!(run);

fn run() {
    check("CPU address", stap(), 0);
    holds("a CPU ID names a machine type", stidp() >> 16 & 0xFFFF != 0);
    holds("it is the same twice", stidp() == stidp());
    let mut block = [0_u64; 2];
    let a = block.as_mut_ptr() as u64;
    check(
        "STAP on an odd address",
        attempt!("stap 0({a})", a = in(reg_addr) a + 1).number(),
        suppressed(6, 4),
    );
    check(
        "STIDP on a word",
        attempt!("stidp 0({a})", a = in(reg_addr) a + 4).number(),
        suppressed(6, 4),
    );
    check("nothing was stored", block[0] | block[1], 0);
}
