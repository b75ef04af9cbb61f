//! ROTATE THEN AND, OR and EXCLUSIVE OR SELECTED BITS with the T bit, at which older versions of QEMU end. The machine performs
//! them there, wherever they are and however they come there.

use core::arch::{asm, global_asm};

use guests::attempt::Outcome;
use guests::check::{check, holds};
use guests::{attempt_on_registers, attempt_on_registers_in_problem_state};

guests::clause!(
    "SA22-7832, ROTATE THEN AND SELECTED BITS; ROTATE THEN EXCLUSIVE OR SELECTED BITS; ROTATE THEN OR SELECTED BITS",
    native = false
);
guests::case!(run);

global_asm!(
    ".section .text.rotated_tests,\"ax\",@progbits",
    ".p2align 12",
    // One page ends in the first four bytes of a test, the next one in the first two.
    ".skip 4096 - 4",
    "across_four: rxsbg %r2, %r3, 128, 63, 0",
    "br %r14",
    ".skip 4096 - 4 - 4",
    "across_two: rosbg %r2, %r3, 128, 63, 0",
    "br %r14",
    // The same without the T bit, which runs below, and is no end of a test.
    ".skip 4096 - 4 - 4",
    "across_plain: rxsbg %r2, %r3, 0, 63, 0",
    "br %r14",
    ".skip 4096 - 4",
    ".section .data.rotated_tests,\"awx\",@progbits",
    ".p2align 12",
    // A page in which the program makes one: LA, or what is stored there.
    ".skip 256",
    "made: la %r4, 0(%r4)",
    "nopr",
    "br %r14",
    ".p2align 12",
    ".text",
);

unsafe extern "C" {
    fn across_four();
    fn across_two();
    fn across_plain();
    fn made();
}

/// Calls code with general registers 2 and 3; returns both and the condition code, which is 3 before.
fn call(code: unsafe extern "C" fn(), [mut one, mut other]: [u64; 2]) -> ([u64; 2], u64) {
    let ipm: u64;
    // SAFETY: each of the pieces above uses only these registers.
    unsafe {
        asm!(
            "tmll %r0, 1",
            "basr %r14, {c}",
            "ipm %r0",
            c = in(reg_addr) code as *const () as u64,
            inout("r0") 1_u64 => ipm,
            inout("r2") one,
            inout("r3") other,
            out("r1") _,
            out("r4") _,
            out("r5") _,
            out("r14") _,
        );
    }
    ([one, other], ipm >> 28 & 3)
}

/// Attempts a test of registers 2 and 3; the condition code, which is 3 before, if both registers stay.
macro_rules! test {
    ($text:literal, $one:expr, $other:expr) => {{
        let before = [1, $one, $other, 0, 0];
        let mut registers = before;
        let outcome = attempt_on_registers!($text, &mut registers);
        let mut again = before;
        let in_problem_state = attempt_on_registers_in_problem_state!($text, &mut again);
        holds("the registers stay", registers[1..3] == before[1..3]);
        holds("  in problem state", again[1..3] == before[1..3]);
        check(
            "  condition code there",
            in_problem_state.number(),
            outcome.number(),
        );
        outcome
    }};
}

/// Checks what a call left.
fn leaves(name: &str, got: ([u64; 2], u64), expected: ([u64; 2], u64)) {
    check(name, got.1, expected.1);
    holds("  registers", got.0 == expected.0);
}

fn is(name: &str, outcome: Outcome, cc: u8) {
    check(name, outcome.number(), cc.into());
}

fn conditions() {
    const ALL: u64 = u64::MAX;
    is("RXSBG, equal", test!("rxsbg %r2, %r3, 128, 63, 0", 5, 5), 0);
    is(
        "RXSBG, not equal",
        test!("rxsbg %r2, %r3, 128, 63, 0", 5, 4),
        1,
    );
    is(
        "RXSBG of itself, rotated",
        test!("rxsbg %r2, %r2, 128, 63, 32", 0x1_0000_0001, 0),
        0,
    );
    is(
        "RXSBG, rotated",
        test!("rxsbg %r2, %r3, 128, 63, 63", 1 << 63 | 2, 5),
        0,
    );
    is(
        "RXSBG, other bits",
        test!("rxsbg %r2, %r3, 188, 63, 0", 0x105, 0x5),
        0,
    );
    is(
        "RXSBG, bits that go on at bit 0",
        test!("rxsbg %r2, %r3, 191, 0, 0", 0x10, 0x20),
        0,
    );
    is(
        "  the last",
        test!("rxsbg %r2, %r3, 191, 0, 0", 0x11, 0x20),
        1,
    );
    is(
        "  the first",
        test!("rxsbg %r2, %r3, 191, 0, 0", 1 << 63, 0x20),
        1,
    );
    is(
        "RNSBG, no common bit",
        test!("rnsbg %r2, %r3, 128, 63, 0", 0xF0, 0x0F),
        0,
    );
    is(
        "RNSBG, rotated",
        test!("rnsbg %r2, %r3, 128, 63, 4", 0xF0, 0x0F),
        1,
    );
    is(
        "RNSBG, common bits beside",
        test!("rnsbg %r2, %r3, 128, 55, 0", ALL, 0xFF),
        0,
    );
    is(
        "ROSBG, zeros",
        test!("rosbg %r2, %r3, 160, 63, 0", ALL << 32, ALL << 32),
        0,
    );
    is(
        "ROSBG, one",
        test!("rosbg %r2, %r3, 160, 63, 0", ALL << 32, 1),
        1,
    );
    is(
        "ROSBG, the other",
        test!("rosbg %r2, %r3, 160, 63, 0", 1, 0),
        1,
    );
}

/// As the target of EXECUTE, with registers of the mask: R1 is register 2 or 6, R2 is 3.
fn executed() {
    is(
        "EXRL",
        test!(
            "exrl %r0, 34f\n j 35f\n 34: rxsbg %r2, %r3, 128, 63, 0\n 35:",
            9,
            9
        ),
        0,
    );
    let mut registers = [0x20, 9, 8, 0x03, 0];
    let outcome = attempt_on_registers!(
        "larl %r5, 34f\n ex %r4, 0(%r5)\n j 35f\n 34: rxsbg %r2, %r0, 128, 63, 0\n 35:",
        &mut registers
    );
    is("EX, modified", outcome, 1);
    check("  R1", registers[1], 9);
}

fn at_the_ends_of_pages() {
    for _ in 0..3 {
        leaves(
            "RXSBG across, four bytes before",
            call(across_four, [7, 7]),
            ([7, 7], 0),
        );
        leaves("  not equal", call(across_four, [7, 6]), ([7, 6], 1));
        leaves(
            "ROSBG across, two bytes before",
            call(across_two, [0, 0]),
            ([0, 0], 0),
        );
        leaves("  one", call(across_two, [0, 6]), ([0, 6], 1));
        leaves("without the T bit", call(across_plain, [7, 6]), ([1, 6], 1));
    }
}

/// Stores the text of a test, or a part of it, where code has been executed.
fn stored() {
    // Its last two bytes are LR 5,7 by themselves.
    const TEST: u64 = 0xEC23_803F_1857_07FE;
    const EQUAL: [u64; 2] = [1 << 24, 1];
    let at = made as *const () as u64;
    let place = core::ptr::with_exposed_provenance_mut::<u64>(at as usize);
    // SAFETY: the page belongs to this guest alone, and the code there is that of the store.
    let before = unsafe { place.read_volatile() };
    let real = |value: u64| {
        // SAFETY: the same.
        unsafe { asm!(".insn rre, 0xb9250000, {v}, {a}", v = in(reg) value, a = in(reg_addr) at) };
    };
    let real_word = |at: u64, value: u32| {
        // SAFETY: the same.
        unsafe {
            asm!(".insn rre, 0xb2460000, {v}, {a}", v = in(reg) u64::from(value), a = in(reg_addr) at);
        }
    };
    for round in 0..3 {
        leaves("ordinary code", call(made, EQUAL), (EQUAL, 3));
        match round {
            // SAFETY: as above.
            0 => unsafe { place.write_volatile(TEST) },
            1 => real(TEST),
            _ => {
                // The opcode's second part first, and then the rest.
                real_word(at + 4, TEST as u32);
                leaves("with the second half", call(made, EQUAL), (EQUAL, 3));
                real_word(at, (TEST >> 32) as u32);
            }
        }
        leaves("a stored test, equal", call(made, EQUAL), (EQUAL, 0));
        leaves("  not equal", call(made, [1, 2]), ([1, 2], 1));
        real(before);
    }
}

fn run() {
    conditions();
    executed();
    at_the_ends_of_pages();
    stored();
}
