//! Instructions that store into the page that they are in: over the next instruction, over themselves, and as the target of
//! an EXECUTE. What a store creates right behind it is caught like any other, at once. (Bare QEMU may execute what was there
//! before.)

use guests::check::{check, holds};
use guests::insn::cpu::Page;
use guests::{attempt, attempt_in_problem_state, dat, lowcore};

guests::clause!(
    "Principles of Operation, Conceptual Sequence (instruction fetching); EXTRACT PSW",
    native = false,
    options = "; --strict; --real-time; --interval 1000"
);
guests::case!(run);

/// Two pages of routines, which end with BR 14. General register 4 designates the first one.
static mut ROUTINES: [Page; 2] = [const { Page([0; 4096]) }; 2];
/// What the routines move into themselves.
static mut SOURCE: Page = Page([0; 4096]);

/// Real storage that nothing else uses: general registers 2 to 6 of a routine, and its address.
const REGISTERS: usize = 0xB00;
const ADDRESS: usize = REGISTERS + 5 * 8;

const LGHI_2: u16 = 0xA729;
const BR_14: u16 = 0x07FE;

const NEXT: usize = 0x200;
const EXECUTED: usize = 0x300;
const ITSELF: usize = 0x400;
const AGAIN: usize = 0x500;
/// Extends into the second page.
const CROSSING: usize = 0xFFC;

fn put(at: usize, text: &[u16]) {
    for (at, halfword) in (at..).step_by(2).zip(text) {
        // SAFETY: inside the pages, which are this program's own, and nothing refers to them.
        unsafe {
            let page = (&raw mut ROUTINES).cast::<Page>().add(at / 4096);
            Page::put(page, at % 4096, &[*halfword]);
        }
    }
}

fn routine(at: usize) -> u64 {
    &raw const ROUTINES as u64 + at as u64
}

/// The program that executes the routines, and the mask of its PSW.
struct Program {
    is_problem: bool,
    mask: u64,
}

impl Program {
    /// Calls the routine at an offset, with the distance of what it moves in register 5. Returns registers 2 and 3.
    fn call(&self, at: usize, source: u64) -> (u64, u64) {
        /// Loads the registers, calls the routine, and puts everything back.
        macro_rules! call {
            ($attempt:ident) => {
                $attempt!(concat!(
                    "stmg %r2, %r15, 0xB80(%r0)\n",
                    "lmg %r2, %r6, 0xB00(%r0)\n lg %r1, 0xB28(%r0)\n",
                    "basr %r14, %r1\n",
                    "stmg %r2, %r6, 0xB00(%r0)\n",
                    "lmg %r2, %r15, 0xB80(%r0)"
                ))
            };
        }
        let source = &raw const SOURCE as u64 + source;
        // Four bytes, for an EXECUTE.
        lowcore::write(REGISTERS, [0, 0, routine(0), source, 3]);
        lowcore::write(ADDRESS, routine(at));
        let ended = if self.is_problem {
            call!(attempt_in_problem_state)
        } else {
            call!(attempt)
        };
        check("the program interruption", ended.code(), 0);
        let all: [u64; 5] = lowcore::read(REGISTERS);
        (all[0], all[1])
    }

    fn has_psw(&self, title: &str, (two, three): (u64, u64)) {
        // Without the condition code.
        check(title, two & !0x3000, self.mask >> 32);
        check("  bits 32-63", three, self.mask & 0xFFFF_FFFF);
    }

    fn run(&self) {
        for _ in 0..3 {
            // MVC 206(4,4),0(5): over the LGHI behind it.
            put(NEXT, &[0xD203, 0x4206, 0x5000, LGHI_2, 1, BR_14]);
            self.has_psw("EPSW in the place of LGHI", self.call(NEXT, 0));
            check("LGHI in its place", self.call(NEXT, 8).0, 99);
            self.has_psw("EPSW again", self.call(NEXT, 0));

            // EX 6 of MVC 304(1,4),0(5), in the same page.
            put(EXECUTED, &[0x4460, 0x4310, LGHI_2, 1, BR_14]);
            put(EXECUTED + 0x10, &[0xD200, 0x4304, 0x5000]);
            self.has_psw("EPSW by an EXECUTE", self.call(EXECUTED, 0));
            check("LGHI by an EXECUTE", self.call(EXECUTED, 8).0, 99);

            // MVC 400(6,4),0(5): over itself.
            put(ITSELF, &[0xD205, 0x4400, 0x5000, BR_14]);
            check("MVC over itself", self.call(ITSELF, 16).0, 0);
            check("  then LGHI", self.call(ITSELF, 16).0, 98);

            // LHI 2,5; STC 2,520(4); BRCT 2,*-4.
            put(AGAIN, &[0xA728, 5, 0x4220, 0x4520, 0xA726, 0xFFFE, BR_14]);
            check("a loop of stores", self.call(AGAIN, 0).0, 0);
            // SAFETY: inside the page.
            let left = unsafe { (routine(AGAIN + 0x20) as *const u8).read_volatile() };
            check("  the last one", left, 1);

            // MVC FFE(12,4),0(5): over its end, and what follows it in the second page.
            put(CROSSING, &[0xD20B, 0x4FFE, 0x5000, LGHI_2, 1, BR_14]);
            self.has_psw("EPSW in the next page", self.call(CROSSING, 24));
            holds("  is what was moved", {
                // SAFETY: inside the pages.
                let text = unsafe { (routine(CROSSING + 6) as *const u32).read_unaligned() };
                text == 0xB98D_0023
            });
        }
    }
}

fn run() {
    // SAFETY: the page is this program's own, and nothing refers to it.
    unsafe {
        Page::put(&raw mut SOURCE, 0, &[0xB98D, 0x0023]);
        Page::put(&raw mut SOURCE, 8, &[LGHI_2, 99]);
        Page::put(&raw mut SOURCE, 16, &[LGHI_2, 98, BR_14]);
        // The rest of an MVC, EPSW 2,3 and BR 14 twice.
        Page::put(
            &raw mut SOURCE,
            24,
            &[0x4FFE, 0x5000, 0xB98D, 0x0023, BR_14, BR_14],
        );
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
