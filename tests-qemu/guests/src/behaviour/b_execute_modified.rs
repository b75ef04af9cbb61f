//! EXECUTE modifies the second byte of its target, and what is performed is the modified instruction, whatever the
//! target is by itself: an EXTRACT PSW, a STORE FACILITY LIST EXTENDED, a SET ADDRESS SPACE CONTROL FAST or a TEST
//! PROTECTION that only the modification makes, and other instructions that it makes of these. No modification makes an
//! assigned instruction of three codes that are unassigned whatever is ORed into them.

use core::ptr::read_volatile;

use guests::attempt::{Outcome, suppressed};
use guests::check::{check, holds};
use guests::insn::control::{epsw, lctlg_0, stctg_0};
use guests::insn::cpu::{Page, stfle};
use guests::psw::bit;
use guests::{attempt_on_registers, dat};

guests::clause!(
    "Principles of Operation, EXECUTE; EXECUTE RELATIVE LONG; EXTRACT PSW; STORE FACILITY LIST EXTENDED",
    native = true
);
guests::case!(run);

/// A page with routines, and one with a target.
static mut ROUTINES: [Page; 2] = [const { Page([0; 4096]) }; 2];

static mut TARGETS: [Page; 2] = [Page([0; 4096]), Page([0; 4096])];

/// The last halfword of the first page: the rest of a target there is on the next page.
const CROSSING: usize = 4094;

fn address(offset: usize) -> u64 {
    &raw const TARGETS as u64 + offset as u64
}

fn put(offset: usize, halfwords: &[u16]) {
    for (index, halfword) in halfwords.iter().enumerate() {
        let at = address(offset + 2 * index) as *mut u16;
        // SAFETY: inside the two pages, which are this program's own.
        unsafe { at.write_volatile(*halfword) }
    }
}

fn get(offset: usize) -> u16 {
    // SAFETY: inside the two pages.
    unsafe { read_volatile(address(offset) as *const u16) }
}

/// What an EXECUTE of a target has left: how it ended, and general registers 0, 4 and 5.
struct Left {
    ended: Outcome,
    zero: u64,
    four: u64,
    five: u64,
}

/// EXECUTE of the target at an offset, modified by `mask`, with general registers 0, 4 and 5 set before. Each call has an
/// EXECUTE of its own.
#[inline(always)]
fn execute(offset: usize, mask: u8, [zero, four, five]: [u64; 3]) -> Left {
    let mut registers = [zero, mask.into(), address(offset), four, five];
    let ended = attempt_on_registers!("ex %r2, 0(%r3)", &mut registers);
    let [zero, _, _, four, five] = registers;
    Left {
        ended,
        zero,
        four,
        five,
    }
}

/// The same by an EXECUTE RELATIVE LONG of a target of the program's text.
macro_rules! relative {
    ($target:literal, $mask:expr) => {{
        let mut registers = [0, $mask, 0, 0, 0];
        let ended = attempt_on_registers!(concat!("exrl %r2, ", $target), &mut registers);
        (ended, registers[3], registers[4])
    }};
}

/// Where targets are put: well inside a page, and over its end.
const PLACES: [usize; 2] = [0x200, CROSSING];

/// The condition code is not compared.
const WITHOUT_CODE: u64 = !0x3000;

fn is_epsw(four: u64, five: u64) {
    check("  bits 0-31 of the PSW", four & WITHOUT_CODE, 1);
    check("  bits 32-63", five, 0x8000_0000);
}

fn made_sensitive() {
    for place in PLACES {
        put(place, &[0xB900, 0x0045, 0]);
        let left = execute(place, 0x8D, [0; 3]);
        check("B900 with 8D is EPSW", left.ended.code(), 0);
        is_epsw(left.four, left.five);
        // LPGR 4,5, as it stands there.
        let left = execute(place, 0, [0, 1, -7_i64 as u64]);
        check("B900 with 00 is LPGR", left.four, 7);
        put(place, &[0xB200, 0x4000, 0]);
        let mut list = [0_u64; 4];
        let whole = stfle(&mut list);
        let mut found = [0_u64; 4];
        let left = execute(place, 0xB0, [3, found.as_mut_ptr() as u64, 0]);
        check(
            "B200 with B0 is STFLE",
            left.ended.condition_code(),
            whole.0,
        );
        check("  doublewords", (left.zero & 0xFF) as usize + 1, whole.1);
        holds("  its list", found == list);
    }
    let (ended, four, five) = relative!("execute_lpgr", 0x8D_u64);
    check("EXRL of B900 with 8D is EPSW", ended.code(), 0);
    is_epsw(four, five);
    let (ended, four, five) = relative!("execute_lpgr_crossing", 0x8D_u64);
    check("EXRL over a page boundary", ended.code(), 0);
    is_epsw(four, five);
}

/// Targets that are sensitive as they stand, and become other instructions.
fn made_others() {
    for place in PLACES {
        put(place, &[0xB98D, 0x0045, 0]);
        let left = execute(place, 0, [0; 3]);
        check("B98D with 00 is EPSW", left.ended.code(), 0);
        is_epsw(left.four, left.five);
        // COMPARE HIGH, of the left halves of registers 4 and 5.
        let left = execute(place, 0x40, [0, 1 << 32, 2 << 32]);
        check("B98D with 40 is CHHR", left.ended.condition_code(), 1);
        let left = execute(place, 0x20, [0; 3]);
        check(
            "B98D with 20 is unassigned",
            left.ended.number(),
            suppressed(1, 4),
        );
        // SEARCH STRING: the string that ends at register 4, from register 5.
        let text = *b"abcdefgh";
        let from = text.as_ptr() as u64;
        put(place, &[0xB254, 0x0045, 0]);
        let left = execute(place, 0x0A, [b'd'.into(), from + 8, from]);
        check("B254 with 0A is SRST", left.ended.condition_code(), 1);
        check("  where it found it", left.four, from + 3);
        // STORE CLOCK FAST.
        let mut clock = [0_u64; 1];
        put(place, &[0xB254, 0x4000, 0]);
        let left = execute(place, 0x28, [0, clock.as_mut_ptr() as u64, 0]);
        check("B254 with 28 is STCKF", left.ended.condition_code(), 0);
        // SAFETY: a local, which the instruction has stored into.
        holds(
            "  the clock",
            unsafe { read_volatile(&raw const clock[0]) } != 0,
        );
        // COMPARE LOGICAL IMMEDIATE of a halfword.
        let halfword = [0x1234_u16];
        put(place, &[0xE501, 0x4000, 0x1235]);
        let left = execute(place, 0x54, [0, halfword.as_ptr() as u64, 0]);
        check("E501 with 54 is CLHHSI", left.ended.condition_code(), 1);
        let left = execute(place, 0x80, [0, halfword.as_ptr() as u64, 0]);
        check(
            "E501 with 80 is unassigned",
            left.ended.number(),
            suppressed(1, 4),
        );
        // With DAT off, SACF is suppressed.
        put(place, &[0xB279, 0x0000, 0]);
        let left = execute(place, 0, [0; 3]);
        check(
            "B279 with 00 is SACF",
            left.ended.number(),
            suppressed(0x13, 4),
        );
        let left = execute(place, 0x80, [0; 3]);
        check(
            "B279 with 80 is unassigned",
            left.ended.number(),
            suppressed(1, 4),
        );
    }
    let (ended, four, five) = relative!("execute_epsw", 0_u64);
    check("EXRL of EPSW", ended.code(), 0);
    is_epsw(four, five);
    let (ended, ..) = relative!("execute_epsw", 0x20_u64);
    check("EXRL of B98D with 20", ended.number(), suppressed(1, 6));
}

/// Instructions that no modification makes sensitive, with their targets on other pages: they do what they always do.
fn ordinary() {
    for place in PLACES {
        let (mut to, from) = (*b"abcdefgh", *b"ijklmnop");
        let [t, f] = [to.as_mut_ptr() as u64, from.as_ptr() as u64];
        // MVC 0(1,4),0(5), then the same over itself, CLC and XC.
        put(place, &[0xD200, 0x4000, 0x5000]);
        execute(place, 5, [0, t, f]);
        holds("MVC of six bytes", to == *b"ijklmngh");
        execute(place, 4, [0, t + 1, t]);
        holds("MVC of a byte that it propagates", to == *b"iiiiiigh");
        put(place, &[0xD500, 0x4000, 0x5000]);
        let left = execute(place, 7, [0, t, f]);
        check("CLC", left.ended.condition_code(), 1);
        put(place, &[0xD700, 0x4000, 0x5000]);
        let left = execute(place, 7, [0, t, t]);
        check("XC", left.ended.condition_code(), 0);
        holds("  zeros", to == [0; 8]);
        // TRANSLATE AND TEST, AHI, and a branch that is not taken.
        let mut table = [0_u8; 256];
        table[usize::from(b'l')] = 9;
        put(place, &[0xDD00, 0x5000, 0x4000]);
        let left = execute(place, 7, [0, table.as_ptr() as u64, f]);
        check("TRT", left.ended.condition_code(), 1);
        put(place, &[0xA70A, 0x0007, 0]);
        let left = execute(place, 0x40, [0, 5, 0]);
        check("AHI 4", left.four, 12);
        put(place, &[0xA704, 0x0010, 0]);
        check("BRC 0", execute(place, 0, [0; 3]).ended.code(), 0);
        put(place, &[0x4400, 0x3000, 0]);
        check(
            "EX of EX",
            execute(place, 0x10, [0; 3]).ended.number(),
            suppressed(3, 4),
        );
        put(place, &[0x0A00, 0]);
        let Outcome::SupervisorCall(code) = execute(place, 0x51, [0; 3]).ended else {
            check("EX of SVC", 0, 1);
            continue;
        };
        check("EX of SVC", code, 0x51);
    }
}

/// The same EXECUTE each time: first it moves a byte, and then it has targets that are sensitive as they stand.
#[inline(never)]
fn same(mask: u8, operands: [u64; 3]) -> Left {
    execute(0x200, mask, operands)
}

/// Targets that are sensitive as they stand, by an EXECUTE that has had another target before.
fn again() {
    let mut byte = [1_u8, 2];
    let at = byte.as_mut_ptr() as u64;
    put(0x200, &[0xD200, 0x4000, 0x5000]);
    same(0, [0, at, at + 1]);
    holds("MVC", byte == [2, 2]);
    put(0x200, &[0xB98D, 0x0045, 0]);
    let left = same(0, [0; 3]);
    check("then EPSW", left.ended.code(), 0);
    is_epsw(left.four, left.five);
    let left = same(0x40, [0, 1 << 32, 2 << 32]);
    check("B98D with 40 is CHHR", left.ended.condition_code(), 1);
    let unassigned = (0..=255_u8)
        .filter(|mask| matches!(0x8D | mask, 0xAD | 0xEF | 0xFF))
        .filter(|&mask| same(mask, [0; 3]).ended.number() != suppressed(1, 4));
    check("modifications that are assigned", unassigned.count(), 0);
}

/// Calls the routine at an offset of [`ROUTINES`] with an EXECUTE's mask in register 2 and its target in 3; returns
/// registers 4 and 5.
fn call(offset: u64, mask: u64, target: u64) -> [u64; 2] {
    let (mut four, mut five) = (0_u64, 0_u64);
    // SAFETY: the routines change registers 4 and 5 only.
    unsafe {
        core::arch::asm!(
            "basr %r14, {at}",
            at = in(reg_addr) &raw const ROUTINES as u64 + offset,
            in("r2") mask,
            in("r3") target,
            inout("r4") four,
            inout("r5") five,
            out("r14") _,
        );
    }
    [four, five]
}

/// An EXECUTE in a page that has been executed before; nothing in the page shows that control comes to it.
fn reached_by_register() {
    let routine = |offset: usize, halfwords: &[u16]| {
        // SAFETY: the page is this program's own, and nothing refers to it.
        unsafe { Page::put((&raw mut ROUTINES).cast(), offset, halfwords) }
    };
    // LGHI 4,5 and BR 14; behind data, EX 2,0(3) and BR 14.
    routine(0x100, &[0xA749, 5, 0x07FE, 0x4444]);
    // The same again, and EXRL 2 of offset 200 in the next page.
    routine(0x300, &[0x4420, 0x3000, 0x07FE, 0x4444]);
    routine(0x400, &[0x4420, 0x3000, 0x07FE, 0x4444]);
    routine(0x500, &[0xC620, 0, 0x0680, 0x07FE, 0x4444]);
    check("a routine", call(0x100, 0, 0)[0], 5);
    put(0x200, &[0xB900, 0x0045, 0]);
    let [four, five] = call(0x300, 0x8D, address(0x200));
    is_epsw(four, five);
    // A harmless target: LGHI 0,17, which a mask makes LGHI 4,17.
    let harmless = [0xA709, 0x0017, 0];
    put(0x208, &harmless);
    // SAFETY: as above.
    unsafe { Page::put((&raw mut ROUTINES).cast::<Page>().add(1), 0x200, &harmless) };
    for _ in 0..3 {
        check("EX of LGHI", call(0x400, 0x40, address(0x208))[0], 0x17);
        check("EXRL of LGHI", call(0x500, 0x40, 0)[0], 0x17);
    }
}

/// Every modification of three codes: none is assigned.
fn unassigned() {
    for place in PLACES {
        for text in [0x0000, 0xB9FF, 0xE5FF] {
            put(place, &[text, 0, 0]);
            let wrong = (0..=255)
                .filter(|&mask| execute(place, mask, [0; 3]).ended.number() != suppressed(1, 4));
            check("modifications that are assigned", wrong.count(), 0);
        }
    }
}

/// With DAT on: the address spaces, and operands in a page with a sensitive instruction.
fn spaces() {
    let space = || epsw().0 >> 14 & 3;
    lctlg_0(stctg_0() | bit(37));
    dat::prepare();
    dat::on();
    put(0x300, &[0xB98D, 0x0045, 0x07FE]);
    let left = execute(0x300, 0, [0; 3]);
    check("EPSW with DAT on", left.ended.code(), 0);
    for (operand, expected) in [(0x100, 2), (0x300, 3), (0, 0)] {
        put(CROSSING, &[0xB200, operand, 0]);
        let left = execute(CROSSING, 0x79, [0; 3]);
        let found = (space(), get(0x300));
        check("B200 with 79 is SACF", left.ended.code(), 0);
        check("  the space", found.0, expected);
        check("  the operand", found.1, 0xB98D);
    }
    dat::off();
}

fn run() {
    made_sensitive();
    made_others();
    spaces();
    reached_by_register();
    ordinary();
    again();
    unassigned();
}

core::arch::global_asm!(
    ".section .text.modified,\"ax\",@progbits",
    ".p2align 12",
    "execute_lpgr: lpgr %r4, %r5",
    "execute_epsw: epsw %r4, %r5",
    ".space 4086",
    "execute_lpgr_crossing: lpgr %r4, %r5",
);
