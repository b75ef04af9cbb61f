//! Two adjacent pages, each with data that look like instructions. An instruction that begins on one and ends on the
//! other is executed, and so is an EXECUTE on one with its target on the other.

use core::arch::asm;

use guests::check::check;
use guests::insn::cpu::Page;

guests::clause!(
    "Principles of Operation, Instruction Fetching; EXECUTE",
    native = true
);
guests::case!(run);

#[repr(C, align(4096))]
struct CodePages([Page; 2]);

static mut CODE: CodePages = CodePages([const { Page([0; 4096]) }; 2]);

/// The bits of EXTRACT PSW and TEST PROTECTION, between zeros. Nothing executes them.
const DATA: [u16; 6] = [0, 0xB98D, 0x0045, 0xE501, 0, 0];
/// LGHI 2,7; LGHI 3,8; then a return by a branch that a decode cannot know to be taken, and bits that are no
/// instruction.
const CROSSING: [u16; 2] = [0xA729, 7];
const BEHIND: [u16; 5] = [0xA739, 8, 0x1900, 0x078E, 0x0000];
/// EX 0,100(7), and the same return.
const EXECUTE: [u16; 5] = [0x4400, 0x7100, 0x1900, 0x078E, 0x0000];
/// LGHI 2,9.
const TARGET: [u16; 2] = [0xA729, 9];
/// EX 0,140(7), and EPSW 2,3.
const EXECUTE_EPSW: [u16; 5] = [0x4400, 0x7140, 0x1900, 0x078E, 0x0000];
const EPSW: [u16; 2] = [0xB98D, 0x0023];

fn put(page: usize, offset: usize, halfwords: &[u16]) {
    // SAFETY: the pages are this program's own, and nothing refers to them.
    unsafe { Page::put((&raw mut CODE).cast::<Page>().add(page), offset, halfwords) }
}

/// Branches to this offset of the pages, with general register 7 at the second page. Returns general registers 2 and
/// 3.
fn perform(offset: u64) -> (u64, u64) {
    let code = &raw const CODE as u64;
    let (mut two, mut three) = (0_u64, 0_u64);
    // SAFETY: each piece uses only these registers and returns by register 14.
    unsafe {
        asm!(
            "basr %r14, {c}",
            c = in(reg_addr) code + offset,
            in("r7") code + 4096,
            inout("r0") 0_u64 => _,
            inout("r2") two,
            inout("r3") three,
            out("r14") _,
        );
    }
    (two, three)
}

fn run() {
    for page in 0..2 {
        put(page, 0x800, &DATA);
    }
    put(0, 0xFFE, &CROSSING[..1]);
    put(1, 0, &CROSSING[1..]);
    put(1, 2, &BEHIND);
    put(0, 0x200, &EXECUTE);
    put(1, 0x100, &TARGET);
    put(0, 0x300, &EXECUTE_EPSW);
    put(1, 0x140, &EPSW);
    for _ in 0..3 {
        let (two, three) = perform(0xFFE);
        check("LGHI across the boundary", two, 7);
        check("  and what follows", three, 8);
        check("EXECUTE of a target on the other page", perform(0x200).0, 9);
        let (mask, rest) = perform(0x300);
        check(
            "EXECUTE of EXTRACT PSW there: problem state",
            mask & 0x1_0000,
            0,
        );
        check("  and bits 32-63", rest, 0x8000_0000);
    }
}
