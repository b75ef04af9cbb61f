//! One EXECUTE with one target after the other: harmless ones first, then one that only the modification makes an EXTRACT
//! PSW. In the supervisor state, and in a program with DAT on that has executed no such instruction before.

use guests::check::{check, holds};
use guests::routines::{self, Program, routine};

guests::clause!(
    "Principles of Operation, EXECUTE; EXTRACT PSW",
    native = true,
    options = "--strict; --strict --interval 1000"
);
guests::case!(run);

/// EX 2,0(3) and BR 14. Data stand around them.
const EXECUTE: usize = 0x300;
/// Its targets, 8 bytes apart, in another page.
const TARGETS: usize = 0x1000;

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

/// Executes a target with a mask, and registers 4 and 5. Returns the condition code, and these registers.
fn execute(program: &Program, number: usize, mask: u64, [four, five]: [u64; 2]) -> (u8, [u64; 2]) {
    let target = routine(TARGETS + 8 * number);
    let registers = [(2, mask), (3, target), (4, four), (5, five)];
    let (registers, code) = program.call_with_code(EXECUTE, &registers);
    (code, [registers[2], registers[3]])
}

fn one_after_the_other(program: &Program) {
    for round in 0..3 {
        let (mut to, from) = (*b"abcdefgh", *b"ijklmnop");
        let operands = [to.as_mut_ptr() as u64, from.as_ptr() as u64];
        execute(program, 0, 5, operands);
        holds("MVC of six bytes", to == *b"ijklmngh");
        let over = [operands[0] + 1, operands[0]];
        execute(program, 0, 4, over);
        holds("MVC of a byte that it propagates", to == *b"iiiiiigh");
        let (code, _) = execute(program, 1, 3, over);
        check("XC over itself", code, 1);
        holds("  what is left", to == *b"i\0i\0iigh");
        let (code, _) = execute(program, 1, 7, [operands[0]; 2]);
        check("XC of the same", code, 0);
        holds("  zeros", to == [0; 8]);
        let (code, _) = execute(program, 2, 7, operands);
        check("OC", code, 1);
        holds("  the operand", to == from);
        let (code, _) = execute(program, 3, 3, [operands[0], operands[0] + 4]);
        check("NC", code, 1);
        let (_, registers) = execute(program, 4, 0x40, [12, 0]);
        check("AHI", registers[0], 12);
        // LPGR and LGR as they stand in the first round.
        for number in [5, 6] {
            if round == 0 {
                let (_, registers) = execute(program, number, 0, [1, 7]);
                check("a register", registers[0], 7);
            }
            let (_, [four, five]) = execute(program, number, 0x8D, [0; 2]);
            program.has_psw("EPSW, bits 0-31", four, five);
        }
    }
}

fn run() {
    routines::put(EXECUTE - 2, &[0x4444, 0x4420, 0x3000, 0x07FE, 0x4444]);
    for (number, text) in TEXTS.iter().enumerate() {
        routines::put(TARGETS + 8 * number, text);
    }
    Program::each(one_after_the_other);
}
