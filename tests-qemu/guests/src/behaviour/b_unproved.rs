//! Code that is reached only by an address in a register, behind data and before data: an EXTRACT PSW, a STORE
//! FACILITY LIST EXTENDED and a TEST PROTECTION there act like any other the first time they are reached, and see the
//! condition code that was set before them. Data beside them with the same bits stay as the program stored them. When
//! a store into the page removes the last such bits, the page is code like any other.

use core::arch::asm;
use core::ptr::read_volatile;

use guests::check::{check, holds};
use guests::dat;
use guests::insn::control::ssm;
use guests::insn::cpu::Page;
use guests::psw;

guests::clause!(
    "Principles of Operation, EXTRACT PSW; STORE FACILITY LIST EXTENDED; TEST PROTECTION; Conceptual Sequence",
    native = true
);
guests::case!(run);

static mut CODE: Page = Page([0; 4096]);

fn put(offset: usize, halfwords: &[u16]) {
    // SAFETY: the page is this program's own, and nothing refers to it.
    unsafe { Page::put(&raw mut CODE, offset, halfwords) }
}

fn get(offset: usize) -> u16 {
    // SAFETY: inside the page.
    unsafe { read_volatile((&raw const CODE as *const u8).add(offset).cast()) }
}

/// The results of a piece of the page: general registers 2, 3, 4 and 5.
#[derive(Clone, Copy)]
struct Left {
    two: u64,
    three: u64,
    four: u64,
    five: u64,
}

/// Branches to this offset of the page with a condition code that shows the sign of `sign`. General register 7
/// designates the page.
fn perform(offset: usize, sign: i32) -> Left {
    let mut left = Left {
        two: 0,
        three: 0,
        four: 0,
        five: 0,
    };
    // SAFETY: each piece uses only these registers and returns by register 14.
    unsafe {
        asm!(
            "chi {sign}, 0",
            "basr %r14, {c}",
            sign = in(reg) sign,
            c = in(reg_addr) &raw const CODE as u64 + offset as u64,
            in("r7") &raw const CODE as u64,
            inout("r0") 0_u64 => _,
            inout("r2") 0_u64 => left.two,
            inout("r3") 0_u64 => left.three,
            inout("r4") 0_u64 => left.four,
            inout("r5") 0_u64 => left.five,
            out("r14") _,
        );
    }
    left
}

/// COMPARE of a register with itself and a conditional branch that is always taken, then bits that no instruction
/// begins with. A decode cannot know that the code ends here.
const BACK: [u16; 3] = [0x1900, 0x078E, 0x0000];
/// INSERT PROGRAM MASK into register 5: the condition code in bits 34-35.
const IPM_5: [u16; 2] = [0xB222, 0x0050];
const EPSW_2_3: [u16; 2] = [0xB98D, 0x0023];
/// STFLE 0x800(7), and TPROT 0(7),0.
const STFLE: [u16; 2] = [0xB2B0, 0x7800];
const TPROT: [u16; 3] = [0xE501, 0x7000, 0x0000];
/// LGHI 2,5 and BR 14.
const PLAIN: [u16; 3] = [0xA729, 5, 0x07FE];
/// The bits of all four instructions, between zeros. Nothing executes them.
const DATA: [u16; 9] = [0, 0xB98D, 0x0045, 0, 0xB2B0, 0x7800, 0xE501, 0xB928, 0x0000];

/// IPM, `instruction`, and the return.
fn piece(offset: usize, instruction: &[u16]) {
    put(offset, &IPM_5);
    put(offset + 4, instruction);
    put(offset + 4 + 2 * instruction.len(), &BACK);
}

const fn condition_code(left: Left) -> u64 {
    left.five >> 28 & 3
}

fn build() {
    put(0x100, &PLAIN);
    for at in [0x180, 0x280, 0x480, 0x680, 0xFE0] {
        put(at, &DATA);
    }
    for at in [0x200, 0x300, 0x400] {
        piece(at, &EPSW_2_3);
    }
    piece(0x500, &STFLE);
    piece(0x600, &TPROT);
    // LR 4,5 comes first here, so the branch leads to an instruction that leaves the condition code alone.
    put(0x700, &[0x1845]);
    piece(0x702, &EPSW_2_3);
}

fn data_are_whole() -> bool {
    [0x180, 0x280, 0x480, 0x680, 0xFE0].into_iter().all(|at| {
        DATA.iter()
            .enumerate()
            .all(|(index, &halfword)| get(at + 2 * index) == halfword)
    })
}

/// Performs the pieces, each for the first time and once more.
fn pieces(system_mask: u64) {
    check("plain code first", perform(0x100, 0).two, 5);
    holds("data beside it", data_are_whole());
    for round in 0..2 {
        for (at, sign, code) in [(0x200, -7, 1), (0x300, 7, 2), (0x400, 0, 0)] {
            let left = perform(at, sign);
            check("condition code before EPSW", condition_code(left), code);
            check(
                "EPSW: bits 0-31 without the condition code",
                left.two & !0x3000,
                system_mask << 24 | 1,
            );
            check("EPSW: bits 32-63", left.three, 0x8000_0000);
        }
        holds("data beside it", data_are_whole());
        let left = perform(0x500, -1);
        check("condition code before STFLE", condition_code(left), 1);
        // Three facilities that z/Architecture always has: bits 0-2.
        check("STFLE: bits 0-2", get(0x800) >> 13, 7);
        // The program has just stored into the page, so the piece is new code again.
        let left = perform(0x600, 1);
        check("condition code before TPROT", condition_code(left), 2);
        let left = perform(0x700, -1);
        check(
            "a piece that begins with LR",
            left.two & !0x3000,
            system_mask << 24 | 1,
        );
        check("its condition code", condition_code(left), 1);
        check("LR came before IPM", left.four, 0);
        holds("data beside it", data_are_whole());
        check("round", round, round);
    }
}

/// Replaces the part of the page that could not be proved. A condition code that is set before that place must still
/// be there behind it.
fn rewritten() {
    build();
    let before = perform(0x200, -7);
    // CHI 6,0; LGR 8,8 many times; IPM 5; BR 14.
    put(0x140, &[0xA76E, 0]);
    for at in (0x144..0x6F0).step_by(4) {
        put(at, &[0xB904, 0x0088]);
    }
    put(0x6F0, &IPM_5);
    put(0x6F4, &[0x07FE]);
    put(0xFE0, &[0; 9]);
    // Nothing is printed in between, because printing gives the machine control.
    let after = [-1_i32, 1, 0].map(|six| {
        let after: u64;
        // SAFETY: the piece uses only these registers and returns by register 14.
        unsafe {
            asm!(
                "basr %r14, {c}",
                c = in(reg_addr) &raw const CODE as u64 + 0x140,
                in("r6") six,
                inout("r5") 0_u64 => after,
                out("r14") _,
            );
        }
        after >> 28 & 3
    });
    check("condition code before EPSW", condition_code(before), 1);
    for (after, code) in after.into_iter().zip([1, 2, 0]) {
        check("condition code where other code was", after, code);
    }
}

fn run() {
    build();
    pieces(0);
    rewritten();
    ssm(0x02);
    build();
    pieces(2);
    ssm(0);
    // The same with DAT on: first by the same address; then the program stores into the page, which makes it new.
    dat::prepare();
    build();
    psw::load_psw(psw::INITIAL | psw::DAT);
    pieces(4);
    put(0x400, &IPM_5);
    pieces(4);
    rewritten();
    build();
    pieces(4);
    psw::load_psw(psw::INITIAL);
    pieces(0);
    rewritten();
}
