//! Instructions that store into the page that they are in: over the next instruction, over themselves, and as the target of
//! an EXECUTE. What a store creates right behind it is caught like any other, at once. (Bare QEMU may execute what was there
//! before.)

use guests::check::{check, holds};
use guests::insn::cpu::Page;
use guests::routines::{Program, put, routine};

guests::clause!(
    "Principles of Operation, Conceptual Sequence (instruction fetching); EXTRACT PSW",
    native = false,
    options = "; --strict; --real-time; --interval 1000"
);
guests::case!(run);

/// What the routines move into themselves.
static mut SOURCE: Page = Page([0; 4096]);

const LGHI_2: u16 = 0xA729;
const BR_14: u16 = 0x07FE;

const NEXT: usize = 0x200;
const EXECUTED: usize = 0x300;
const ITSELF: usize = 0x400;
const AGAIN: usize = 0x500;
/// Extends into the second page.
const CROSSING: usize = 0xFFC;

/// Calls the routine at an offset. General register 4 designates the first page, register 5 what it moves. Returns
/// registers 2 and 3.
fn call(program: &Program, at: usize, source: u64) -> (u64, u64) {
    let source = &raw const SOURCE as u64 + source;
    // Register 6 is the length of four bytes for an EXECUTE.
    let [two, three, ..] = program.call(at, &[(4, routine(0)), (5, source), (6, 3)]);
    (two, three)
}

fn has_psw(program: &Program, title: &str, (two, three): (u64, u64)) {
    program.has_psw(title, two, three);
}

fn test(program: &Program) {
    for _ in 0..3 {
        // MVC 206(4,4),0(5): over the LGHI behind it.
        put(NEXT, &[0xD203, 0x4206, 0x5000, LGHI_2, 1, BR_14]);
        has_psw(program, "EPSW in the place of LGHI", call(program, NEXT, 0));
        check("LGHI in its place", call(program, NEXT, 8).0, 99);
        has_psw(program, "EPSW again", call(program, NEXT, 0));

        // EX 6 of MVC 304(1,4),0(5), in the same page.
        put(EXECUTED, &[0x4460, 0x4310, LGHI_2, 1, BR_14]);
        put(EXECUTED + 0x10, &[0xD200, 0x4304, 0x5000]);
        has_psw(program, "EPSW by an EXECUTE", call(program, EXECUTED, 0));
        check("LGHI by an EXECUTE", call(program, EXECUTED, 8).0, 99);

        // MVC 400(6,4),0(5): over itself.
        put(ITSELF, &[0xD205, 0x4400, 0x5000, BR_14]);
        check("MVC over itself", call(program, ITSELF, 16).0, 0);
        check("  then LGHI", call(program, ITSELF, 16).0, 98);

        // LHI 2,5; STC 2,520(4); BRCT 2,*-4.
        put(AGAIN, &[0xA728, 5, 0x4220, 0x4520, 0xA726, 0xFFFE, BR_14]);
        check("a loop of stores", call(program, AGAIN, 0).0, 0);
        // SAFETY: inside the page.
        let left = unsafe { (routine(AGAIN + 0x20) as *const u8).read_volatile() };
        check("  the last one", left, 1);

        // MVC FFE(12,4),0(5): over its end, and what follows it in the second page.
        put(CROSSING, &[0xD20B, 0x4FFE, 0x5000, LGHI_2, 1, BR_14]);
        has_psw(
            program,
            "EPSW in the next page",
            call(program, CROSSING, 24),
        );
        holds("  is what was moved", {
            // SAFETY: inside the pages.
            let text = unsafe { (routine(CROSSING + 6) as *const u32).read_unaligned() };
            text == 0xB98D_0023
        });
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
    Program::each(test);
}
