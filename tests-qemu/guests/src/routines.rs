//! Routines that a guest writes as text, and calls as its control program and as a program of it.

use crate::check::check;
use crate::insn::cpu::Page;
use crate::{attempt, attempt_in_problem_state, dat, lowcore};

/// How many pages there are for routines.
pub const PAGES: usize = 3;

/// The routines, which end with BR 14.
static mut ROUTINES: [Page; PAGES] = [const { Page([0; 4096]) }; PAGES];

/// General registers 2 to 12.
pub type Registers = [u64; 11];

/// Real storage that nothing else uses: the registers of a routine, and its address.
const REGISTERS: usize = 0xB00;
const ADDRESS: usize = REGISTERS + size_of::<Registers>();

/// The address of the routine at an offset.
#[must_use]
pub fn routine(at: usize) -> u64 {
    &raw const ROUTINES as u64 + at as u64
}

/// Puts halfwords into the routines.
pub fn put(at: usize, text: &[u16]) {
    for (at, halfword) in (at..).step_by(2).zip(text) {
        assert!(at < 4096 * PAGES);
        // SAFETY: inside the pages, which are this module's own, and nothing refers to them.
        unsafe {
            let page = (&raw mut ROUTINES).cast::<Page>().add(at / 4096);
            Page::put(page, at % 4096, &[*halfword]);
        }
    }
}

/// A program that calls routines.
pub struct Program {
    is_problem: bool,
    /// The mask of its PSW, without the condition code.
    mask: u64,
}

impl Program {
    /// Runs a test as the control program with DAT off and on, and as a program of it.
    pub fn each(test: impl Fn(&Self)) {
        let supervisor = |mask| Self {
            is_problem: false,
            mask,
        };
        test(&supervisor(0x0000_0001_8000_0000));
        dat::prepare();
        dat::on();
        test(&supervisor(0x0400_0001_8000_0000));
        test(&Self {
            is_problem: true,
            mask: 0x0401_0001_8000_0000,
        });
        dat::off();
    }

    /// Calls the routine at an offset with these registers: a number and a value each; the others are zeros. Returns the
    /// registers afterwards.
    #[must_use]
    pub fn call(&self, at: usize, registers: &[(usize, u64)]) -> Registers {
        self.call_with_code(at, registers).0
    }

    /// The same; returns the condition code, too.
    #[must_use]
    pub fn call_with_code(&self, at: usize, registers: &[(usize, u64)]) -> (Registers, u8) {
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
        let mut all: Registers = [0; 11];
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
        (lowcore::read(REGISTERS), ended.condition_code())
    }

    /// Checks that two registers have what EXTRACT PSW puts there.
    pub fn has_psw(&self, title: &str, high: u64, low: u64) {
        // Without the condition code.
        check(title, high & !0x3000, self.mask >> 32);
        check("  bits 32-63", low, self.mask & 0xFFFF_FFFF);
    }
}
