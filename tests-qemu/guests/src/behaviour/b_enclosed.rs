//! Instructions that enclose the bits of others: each is executed as it stands, from its beginning and from its middle. In
//! the supervisor state, and in a program with DAT on that has executed no such instruction before.

use guests::check::{check, holds};
use guests::insn::cpu::Page;
use guests::{attempt, attempt_in_problem_state, dat, lowcore};

guests::clause!(
    "Principles of Operation, Instruction Formats; Branching; EXTRACT PSW",
    native = true,
    options = "--strict; --strict --interval 1000"
);
guests::case!(run);

/// Three pages of routines, which end with BR 14.
static mut ROUTINES: [Page; 3] = [const { Page([0; 4096]) }; 3];
/// LPGR 4,5, the target of an EXECUTE.
static mut TARGET: Page = Page([0; 4096]);

/// Real storage that nothing else uses: general registers 2 to 12 of a routine, and its address.
const REGISTERS: usize = 0xB00;
const ADDRESS: usize = REGISTERS + 11 * 8;

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

/// The address of a routine.
fn routine(at: usize) -> u64 {
    &raw const ROUTINES as u64 + at as u64
}

/// Puts halfwords into the routines.
fn put(at: usize, text: &[u16]) {
    for (at, halfword) in (at..).step_by(2).zip(text) {
        // SAFETY: inside the pages, which are this program's own, and nothing refers to them.
        unsafe {
            let page = (&raw mut ROUTINES).cast::<Page>().add(at / 4096);
            Page::put(page, at % 4096, &[*halfword]);
        }
    }
}

/// The program that executes the routines, and the mask of its PSW.
struct Program {
    is_problem: bool,
    mask: u64,
}

impl Program {
    /// Calls the routine at an offset with these registers: a number and a value each. Returns registers 4, 5 and 10.
    fn call(&self, at: usize, registers: &[(usize, u64)]) -> [u64; 3] {
        /// Loads the registers, calls the routine, and puts everything back.
        macro_rules! call {
            ($attempt:ident) => {
                $attempt!(concat!(
                    "stmg %r2, %r15, 0xB80(%r0)\n",
                    "lmg %r2, %r12, 0xB00(%r0)\n lg %r1, 0xB58(%r0)\n",
                    "basr %r14, %r1\n",
                    "stmg %r2, %r12, 0xB00(%r0)\n",
                    "lmg %r2, %r15, 0xB80(%r0)"
                ))
            };
        }
        let mut all = [0_u64; 11];
        for &(number, value) in registers {
            all[number - 2] = value;
        }
        lowcore::write(REGISTERS, all);
        lowcore::write(ADDRESS, routine(at));
        let ended = if self.is_problem {
            call!(attempt_in_problem_state)
        } else {
            call!(attempt)
        };
        check("the program interruption", ended.code(), 0);
        let all: [u64; 11] = lowcore::read(REGISTERS);
        [all[2], all[3], all[8]]
    }

    /// Registers 4 and 5 are what EXTRACT PSW puts there.
    fn has_psw(&self, title: &str, [four, five, _]: [u64; 3]) {
        // Without the condition code.
        check(title, four & !0x3000, self.mask >> 32);
        check("  bits 32-63", five, self.mask & 0xFFFF_FFFF);
    }

    fn run(&self) {
        let low = 0xB98D_0045_u32 as i32 as u64;
        let base = |to: usize| [(11, routine(to) - 0x98D), (10, 7)];
        let target = &raw const TARGET as u64;
        for _ in 0..3 {
            check("LGFI", self.call(LGFI, &[])[0], low);
            self.has_psw("EPSW within LGFI", self.call(LGFI + 2, &[]));
            check("LGFI behind LHI", self.call(CHAIN, &[])[0], low);
            check("  from LGFI on", self.call(CHAIN + 4, &[])[0], low);
            self.has_psw("EPSW within it", self.call(CHAIN + 6, &[]));

            for (at, title) in [(BRANCH, "BC"), (CALL, "BAS"), (COUNT, "BCT")] {
                let [four, _, ten] = self.call(at, &base(at + 6));
                let link = if at == CALL { routine(at + 4) } else { 7 };
                let ten_is = if at == COUNT { 6 } else { link };
                check(title, four, 0);
                check("  register 10", ten, ten_is);
                self.has_psw("  into itself", self.call(at, &base(at + 2)));
            }
            // Not taken.
            let [four, _, ten] = self.call(COUNT, &[(11, 0), (10, 1)]);
            check("BCT to zero", ten, 0);
            holds("  goes on", four == 0);

            // LPGR 4,5; then a branch into the EXECUTE.
            let of_target = [(11, target - 0x98D), (5, 9)];
            check("EX of LPGR", self.call(EXECUTE, &of_target)[0], 9);
            let branches = [(11, target + 8 - 0x98D), (7, routine(EXECUTE + 2))];
            self.has_psw("EX of BR 7 into itself", self.call(EXECUTE, &branches));
            self.has_psw("EPSW within EX", self.call(EXECUTE + 2, &[]));

            let masked = [(3, target), (9, 0x8D)];
            for at in [ENCLOSED_EXECUTE, IN_SECOND] {
                check("LGFI", self.call(at, &masked)[0], 0x4490_3000);
                self.has_psw("EX within LGFI", self.call(at + 2, &masked));
            }
            let mut word = 0_u64;
            let place = &raw mut word as u64;
            self.call(STORE, &[(4, place - 0x3_0490), (5, 0x1234)]);
            // SAFETY: a local variable.
            check("STG", unsafe { (&raw const word).read_volatile() }, 0x1234);
            let masked = [(3, target - 0x24), (9, 0x8D)];
            self.has_psw("EX within STG", self.call(STORE + 2, &masked));

            check(
                "LGFI into the next page",
                self.call(INTO_SECOND, &[])[0],
                low,
            );
            self.has_psw("EPSW at its beginning", self.call(INTO_SECOND + 2, &[]));
        }
        // What an instruction extends into becomes something else.
        for _ in 0..2 {
            put(INTO_THIRD + 2, &[0x0001]);
            check(
                "LGFI into the next page",
                self.call(INTO_THIRD, &[])[0],
                0x1_0045,
            );
            check("  again", self.call(INTO_THIRD, &[])[0], 0x1_0045);
            put(INTO_THIRD + 2, &[0xB98D]);
            self.has_psw("EPSW at its beginning", self.call(INTO_THIRD + 2, &[]));
            check("LGFI then", self.call(INTO_THIRD, &[])[0], low);
        }
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
    let mut program = Program {
        is_problem: false,
        mask: 0x0000_0001_8000_0000,
    };
    program.run();
    dat::prepare();
    dat::on();
    program.mask = 0x0400_0001_8000_0000;
    program.run();
    program.is_problem = true;
    program.mask = 0x0401_0001_8000_0000;
    program.run();
    dat::off();
}
