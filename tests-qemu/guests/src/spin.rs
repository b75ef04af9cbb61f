//! The CPU-bound loop for ratios of host time.

use core::arch::asm;

/// Turns of the loop.
pub const TURNS: u64 = 150_000_000;
/// Instructions of one turn.
pub const INSTRUCTIONS_PER_TURN: u64 = 10;
/// What [`spin`] returns.
pub const RESULT: u64 = result();

const fn turn(x: u64) -> u64 {
    let x = x ^ (x << 13);
    let x = x ^ (x >> 7);
    x ^ (x << 17)
}

/// The compiler checks the result of a shorter loop. The loop prints the result of the whole.
const fn result() -> u64 {
    let mut x = 0x0123_4567_89AB_CDEF;
    let mut n = 0;
    while n < 1000 {
        x = turn(x);
        n += 1;
    }
    x
}

/// Performs `turns` turns of a xorshift generator, of ten instructions each.
#[must_use]
pub fn turns(turns: u64) -> u64 {
    let result;
    // SAFETY: registers only.
    unsafe {
        asm!(
            "0: sllg {t}, {x}, 13",
            "xgr {x}, {t}",
            "srlg {t}, {x}, 7",
            "xgr {x}, {t}",
            "sllg {t}, {x}, 17",
            "xgr {x}, {t}",
            "lgr {u}, {x}",
            "agr {u}, {t}",
            "lgr {t}, {u}",
            "brctg {n}, 0b",
            x = inout(reg) 0x0123_4567_89AB_CDEF_u64 => result,
            t = out(reg) _,
            u = out(reg) _,
            n = inout(reg) turns => _,
        );
    }
    result
}

/// The whole loop, after a check that a thousand turns give the same as in the compiler.
#[must_use]
pub fn spin() -> u64 {
    crate::check::check("a thousand turns", turns(1000), RESULT);
    turns(TURNS)
}
