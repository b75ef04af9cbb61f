//! One EXECUTE with one target after the other: harmless ones first, then one that only the modification makes an EXTRACT
//! PSW. In the supervisor state, and in a program with DAT on that has executed no such instruction before.

use guests::check::{check, holds};
use guests::insn::cpu::Page;
use guests::{attempt, attempt_in_problem_state, dat, lowcore};

guests::clause!(
    "Principles of Operation, EXECUTE; EXTRACT PSW",
    native = true,
    options = "--strict; --strict --interval 1000"
);
guests::case!(run);

/// A routine: EX 2,0(3) and BR 14. Data stand around it.
static mut ROUTINE: Page = Page([0; 4096]);
const ROUTINE_AT: usize = 0x300;
/// Its targets, 8 bytes apart.
static mut TARGETS: Page = Page([0; 4096]);

/// MVC 0(1,4),0(5); XC; OC; NC; AHI 4,0; LPGR 4,5 and LGR 4,5.
const TEXTS: [[u16; 3]; 7] = [
    [0xD200, 0x4000, 0x5000],
    [0xD700, 0x4000, 0x5000],
    [0xD600, 0x4000, 0x5000],
    [0xD400, 0x4000, 0x5000],
    [0xA70A, 0, 0],
    [0xB900, 0x0045, 0],
    [0xB904, 0x0045, 0],
];

fn target(number: usize) -> u64 {
    &raw const TARGETS as u64 + 8 * number as u64
}

/// Real storage that nothing else uses: general registers 2 to 5 of the routine, and its address.
const REGISTERS: usize = 0xB00;

/// Executes a target with a mask, and registers 4 and 5. Returns the condition code, and the registers.
fn execute(is_problem: bool, number: usize, mask: u64, five: [u64; 2]) -> (u8, [u64; 2]) {
    /// Loads the registers, calls the routine, and puts everything back.
    macro_rules! call {
        ($attempt:ident) => {
            $attempt!(concat!(
                "stmg %r2, %r5, 0xB40(%r0)\n stg %r14, 0xB60(%r0)\n",
                "lmg %r2, %r5, 0xB00(%r0)\n lg %r1, 0xB20(%r0)\n",
                "basr %r14, %r1\n",
                "stmg %r4, %r5, 0xB10(%r0)\n",
                "lmg %r2, %r5, 0xB40(%r0)\n lg %r14, 0xB60(%r0)"
            ))
        };
    }
    let at = &raw const ROUTINE as u64 + ROUTINE_AT as u64;
    lowcore::write(REGISTERS, [mask, target(number), five[0], five[1], at]);
    let ended = if is_problem {
        call!(attempt_in_problem_state)
    } else {
        call!(attempt)
    };
    (ended.condition_code(), lowcore::read(REGISTERS + 16))
}

fn one_after_the_other(is_problem: bool, mask: u64) {
    for round in 0..3 {
        let (mut to, from) = (*b"abcdefgh", *b"ijklmnop");
        let operands = [to.as_mut_ptr() as u64, from.as_ptr() as u64];
        execute(is_problem, 0, 5, operands);
        holds("MVC of six bytes", to == *b"ijklmngh");
        let over = [operands[0] + 1, operands[0]];
        execute(is_problem, 0, 4, over);
        holds("MVC of a byte that it propagates", to == *b"iiiiiigh");
        let (code, _) = execute(is_problem, 1, 3, over);
        check("XC over itself", code, 1);
        holds("  what is left", to == *b"i\0i\0iigh");
        let (code, _) = execute(is_problem, 1, 7, [operands[0]; 2]);
        check("XC of the same", code, 0);
        holds("  zeros", to == [0; 8]);
        let (code, _) = execute(is_problem, 2, 7, operands);
        check("OC", code, 1);
        holds("  the operand", to == from);
        let (code, _) = execute(is_problem, 3, 3, [operands[0], operands[0] + 4]);
        check("NC", code, 1);
        let (_, registers) = execute(is_problem, 4, 0x40, [12, 0]);
        check("AHI", registers[0], 12);
        // LPGR and LGR as they stand in the first round.
        for number in [5, 6] {
            if round == 0 {
                let (_, registers) = execute(is_problem, number, 0, [1, 7]);
                check("a register", registers[0], 7);
            }
            let (_, [four, five]) = execute(is_problem, number, 0x8D, [0; 2]);
            // Without the condition code.
            check("EPSW, bits 0-31", four & !0x3000, mask >> 32);
            check("  bits 32-63", five, mask & 0xFFFF_FFFF);
        }
    }
}

fn run() {
    // SAFETY: the pages are this program's own, and nothing refers to them.
    unsafe {
        Page::put(
            &raw mut ROUTINE,
            ROUTINE_AT - 2,
            &[0x4444, 0x4420, 0x3000, 0x07FE, 0x4444],
        );
        for (number, text) in TEXTS.iter().enumerate() {
            Page::put(&raw mut TARGETS, 8 * number, text);
        }
    }
    one_after_the_other(false, 0x0000_0001_8000_0000);
    dat::prepare();
    dat::on();
    one_after_the_other(false, 0x0400_0001_8000_0000);
    one_after_the_other(true, 0x0401_0001_8000_0000);
    dat::off();
}
