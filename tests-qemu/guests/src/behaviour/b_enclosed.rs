//! Instructions that enclose the bits of others: each is executed as it stands, from its beginning and from its middle. In
//! the supervisor state, and in a program with DAT on that has executed no such instruction before.

use guests::check::{check, holds};
use guests::insn::cpu::Page;
use guests::routines::{Program, put, routine};

guests::clause!(
    "Principles of Operation, Instruction Formats; Branching; EXTRACT PSW",
    native = true,
    options = "--strict; --strict --interval 1000"
);
guests::case!(run);

/// LPGR 4,5, the target of an EXECUTE.
static mut TARGET: Page = Page([0; 4096]);

const LGFI: usize = 0x100;
const CHAIN: usize = 0x140;
const BRANCH: usize = 0x180;
const CALL: usize = 0x1C0;
const COUNT: usize = 0x200;
const EXECUTE: usize = 0x240;
const ENCLOSED_EXECUTE: usize = 0x280;
const STORE: usize = 0x2C0;
/// Extends into the second page, which begins with EXTRACT PSW.
const INTO_SECOND: usize = 0xFFE;
const IN_SECOND: usize = 0x1040;
/// Extends into the third page, which begins with nothing in particular.
const INTO_THIRD: usize = 0x1FFE;

const TEXT: [(usize, &[u16]); 11] = [
    // LGFI 4,B98D0045: EPSW 4,5 two bytes further.
    (LGFI, &[0xC041, 0xB98D, 0x0045, 0x07FE]),
    // LHI 4,C001 and the same: the immediate value has the length of a longer instruction.
    (CHAIN, &[0xA748, 0xC001, 0xC041, 0xB98D, 0x0045, 0x07FE]),
    // BC 15,98D(11): EPSW 4,5 two bytes further, whose other half is LR 4,5.
    (BRANCH, &[0x47F0, 0xB98D, 0x1845, 0x07FE]),
    // BAS 10,98D(11).
    (CALL, &[0x4DA0, 0xB98D, 0x1845, 0x07FE]),
    // BCT 10,98D(11).
    (COUNT, &[0x46A0, 0xB98D, 0x1845, 0x07FE]),
    // EX 0,98D(11).
    (EXECUTE, &[0x4400, 0xB98D, 0x1845, 0x07FE]),
    // LGFI 4,44903000: EX 9,0(3) two bytes further.
    (ENCLOSED_EXECUTE, &[0xC041, 0x4490, 0x3000, 0x07FE]),
    // STG 5,30490(4): EX 9,24(3) two bytes further.
    (STORE, &[0xE350, 0x4490, 0x3024, 0x07FE]),
    (INTO_SECOND, &[0xC041, 0xB98D, 0x0045, 0x07FE]),
    (IN_SECOND, &[0xC041, 0x4490, 0x3000, 0x07FE]),
    // LGFI 4,10045.
    (INTO_THIRD, &[0xC041, 0x0001, 0x0045, 0x07FE]),
];

/// Calls a routine. Returns registers 4, 5 and 10.
fn call(program: &Program, at: usize, registers: &[(usize, u64)]) -> [u64; 3] {
    let all = program.call(at, registers);
    [all[2], all[3], all[8]]
}

/// Registers 4 and 5 are what EXTRACT PSW puts there.
fn has_psw(program: &Program, title: &str, [four, five, _]: [u64; 3]) {
    program.has_psw(title, four, five);
}

fn test(program: &Program) {
    let low = 0xB98D_0045_u32 as i32 as u64;
    let base = |to: usize| [(11, routine(to) - 0x98D), (10, 7)];
    let target = &raw const TARGET as u64;
    for _ in 0..3 {
        check("LGFI", call(program, LGFI, &[])[0], low);
        has_psw(program, "EPSW within LGFI", call(program, LGFI + 2, &[]));
        check("LGFI behind LHI", call(program, CHAIN, &[])[0], low);
        check("  from LGFI on", call(program, CHAIN + 4, &[])[0], low);
        has_psw(program, "EPSW within it", call(program, CHAIN + 6, &[]));

        for (at, title) in [(BRANCH, "BC"), (CALL, "BAS"), (COUNT, "BCT")] {
            let [four, _, ten] = call(program, at, &base(at + 6));
            let link = if at == CALL { routine(at + 4) } else { 7 };
            let ten_is = if at == COUNT { 6 } else { link };
            check(title, four, 0);
            check("  register 10", ten, ten_is);
            has_psw(program, "  into itself", call(program, at, &base(at + 2)));
        }
        // Not taken.
        let [four, _, ten] = call(program, COUNT, &[(11, 0), (10, 1)]);
        check("BCT to zero", ten, 0);
        holds("  goes on", four == 0);

        // LPGR 4,5; then a branch into the EXECUTE.
        let of_target = [(11, target - 0x98D), (5, 9)];
        check("EX of LPGR", call(program, EXECUTE, &of_target)[0], 9);
        let branches = [(11, target + 8 - 0x98D), (7, routine(EXECUTE + 2))];
        has_psw(
            program,
            "EX of BR 7 into itself",
            call(program, EXECUTE, &branches),
        );
        has_psw(program, "EPSW within EX", call(program, EXECUTE + 2, &[]));

        let masked = [(3, target), (9, 0x8D)];
        for at in [ENCLOSED_EXECUTE, IN_SECOND] {
            check("LGFI", call(program, at, &masked)[0], 0x4490_3000);
            has_psw(program, "EX within LGFI", call(program, at + 2, &masked));
        }
        let mut word = 0_u64;
        let place = &raw mut word as u64;
        call(program, STORE, &[(4, place - 0x3_0490), (5, 0x1234)]);
        // SAFETY: a local variable.
        check("STG", unsafe { (&raw const word).read_volatile() }, 0x1234);
        let masked = [(3, target - 0x24), (9, 0x8D)];
        has_psw(program, "EX within STG", call(program, STORE + 2, &masked));

        check(
            "LGFI into the next page",
            call(program, INTO_SECOND, &[])[0],
            low,
        );
        has_psw(
            program,
            "EPSW at its beginning",
            call(program, INTO_SECOND + 2, &[]),
        );
    }
    // What an instruction extends into becomes something else.
    for _ in 0..2 {
        put(INTO_THIRD + 2, &[0x0001]);
        check(
            "LGFI into the next page",
            call(program, INTO_THIRD, &[])[0],
            0x1_0045,
        );
        check("  again", call(program, INTO_THIRD, &[])[0], 0x1_0045);
        put(INTO_THIRD + 2, &[0xB98D]);
        has_psw(
            program,
            "EPSW at its beginning",
            call(program, INTO_THIRD + 2, &[]),
        );
        check("LGFI then", call(program, INTO_THIRD, &[])[0], low);
    }
}

fn run() {
    for (at, text) in TEXT {
        put(at, text);
    }
    // SAFETY: the page is this program's own, and nothing refers to it.
    unsafe {
        Page::put(&raw mut TARGET, 0, &[0xB900, 0x0045]);
        Page::put(&raw mut TARGET, 8, &[0x07F7]);
    }
    Program::each(test);
}
