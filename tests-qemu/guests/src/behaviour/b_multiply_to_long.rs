//! MULTIPLY of two short BFP operands to a long product. Older versions of QEMU take the first operand for a long one; the
//! machine performs it there, wherever it is and however it comes there.

use core::arch::{asm, global_asm};

use guests::attempt::{Outcome, suppressed};
use guests::check::{check, holds};
use guests::insn::control::{lctlg_0, stctg_0};
use guests::psw::bit;
use guests::{attempt, attempt_in_problem_state};

guests::clause!("SA22-7832, MULTIPLY (short to long BFP)", native = false);
guests::case!(run);

global_asm!(
    ".section .text.multiply_to_long,\"ax\",@progbits",
    ".p2align 12",
    // One page ends in the first four bytes of MDEB, the next one in the first two, and one in those of MDEBR.
    ".skip 4096 - 4",
    "mdeb_four: mdeb %f2, 0(%r3)",
    "br %r14",
    ".skip 4096 - 4 - 4",
    "mdeb_two: mdeb %f2, 0(%r3)",
    "br %r14",
    ".skip 4096 - 6 - 2",
    "mdebr_two: mdebr %f2, %f4",
    "br %r14",
    ".skip 4096 - 4",
    ".section .data.multiply_to_long,\"awx\",@progbits",
    ".p2align 12",
    // A page in which the program makes one: LA, or what is stored there.
    ".skip 256",
    "multiplies: la %r4, 0(%r4)",
    "nopr",
    "br %r14",
    ".p2align 12",
    ".text",
);

unsafe extern "C" {
    fn mdeb_four();
    fn mdeb_two();
    fn mdebr_two();
    fn multiplies();
}

const SIGN: u32 = 1 << 31;
const ONE: u32 = 0x3F80_0000;
const INFINITY: u32 = 0x7F80_0000;
const QNAN: u32 = 0xFFC0_1234;
const OTHER_QNAN: u32 = 0x7FC0_0001;
const SNAN: u32 = 0x7F80_0042;

const LONG_SIGN: u64 = 1 << 63;
const LONG_INFINITY: u64 = 0x7FF0 << 48;
const LONG_QNAN: u64 = 0xFFF8_0246_8000_0000;
const LONG_OTHER_QNAN: u64 = 0x7FF8_0000_2000_0000;
const LONG_SNAN: u64 = 0x7FF8_0008_4000_0000;
const DEFAULT_NAN: u64 = 0x7FF8 << 48;

/// The floating-point-control register: the mask of an invalid operation, its flag, and its data-exception code.
const MASK: u32 = 1 << 31;
const FLAG: u32 = 1 << 23;
const CODE: u32 = 0x80 << 8;
/// What else it has: other masks, another flag, another code, and a rounding mode.
const OTHERS: u32 = 0x7808_1001;

/// Bits 32-63 of the registers, which are no part of a short operand.
const REST: u64 = 0x5A5A_5A5A;

/// Loads floating-point registers 2 and 4, and the floating-point-control register.
fn load(first: u32, second: u32, control: u32) {
    let values = [first, second].map(|operand| u64::from(operand) << 32 | REST);
    // SAFETY: fetches the array into registers that no compiled code uses.
    unsafe {
        asm!(
            "ld %f2, 0({v})",
            "ld %f4, 8({v})",
            "sfpc {c}",
            v = in(reg_addr) values.as_ptr(),
            c = in(reg) u64::from(control),
        );
    }
}

/// What floating-point register 2 and the floating-point-control register hold.
fn stored() -> (u64, u32) {
    let (mut product, mut control) = (0_u64, 0_u32);
    // SAFETY: stores into these two.
    unsafe {
        asm!(
            "std %f2, 0({p})",
            "stfpc 0({c})",
            p = in(reg_addr) &raw mut product,
            c = in(reg_addr) &raw mut control,
        );
    }
    (product, control)
}

/// Multiplies with each instruction, in both states and as the target of EXECUTE; the outcomes and what they left.
fn multiplied(first: u32, second: u32, control: u32) -> [(Outcome, (u64, u32)); 6] {
    let at = &raw const second;
    macro_rules! one {
        ($attempt:ident, $text:literal) => {{
            load(first, second, control);
            let outcome = $attempt!($text, in("r3") at, in("r4") 0x20_u64, in("r5") 0x0C_u64);
            (outcome, stored())
        }};
    }
    [
        one!(attempt, "mdebr %f2, %f4"),
        one!(attempt, "mdeb %f2, 0(%r3)"),
        one!(attempt_in_problem_state, "mdebr %f2, %f4"),
        one!(attempt_in_problem_state, "mdeb %f2, 0(%r3)"),
        // The R1 field of MDEB is in the mask.
        one!(
            attempt,
            "exrl %r4, 34f\n j 35f\n 34: mdeb %f0, 0(%r3)\n 35:"
        ),
        // LPEBR 2,4 becomes MDEBR.
        one!(
            attempt,
            "exrl %r5, 34f\n j 35f\n 34: .long 0xb3000024\n 35:"
        ),
    ]
}

fn products() {
    for (first, second, product) in [
        (0x4040_0000, 0x4040_0000, 0x4022 << 48),
        (0x3FC0_0000, 0xC020_0000, 0xC00E << 48),
        (0, ONE, 0),
        (0, ONE | SIGN, LONG_SIGN),
        (SIGN, SIGN, 0),
        // The largest number, and the smallest ones: subnormal as short operands, normal as long ones.
        (0x7F7F_FFFF, 0x7F7F_FFFF, 0x4FEF_FFFF_C000_0020),
        (1, 1, 0x2D50 << 48),
        (1, 0x8000_0003, 0xAD68 << 48),
        (0x7F_FFFF, ONE, 0x380F_FFFF_C000_0000),
        (INFINITY, ONE, LONG_INFINITY),
        (INFINITY, INFINITY | SIGN, LONG_SIGN | LONG_INFINITY),
        (1, INFINITY | SIGN, LONG_SIGN | LONG_INFINITY),
        (QNAN, ONE, LONG_QNAN),
        (ONE, QNAN, LONG_QNAN),
        (INFINITY, QNAN, LONG_QNAN),
        (QNAN, OTHER_QNAN, LONG_QNAN),
        (OTHER_QNAN, QNAN, LONG_OTHER_QNAN),
    ] {
        // The mask of an invalid operation changes nothing.
        for control in [OTHERS, OTHERS | MASK] {
            for (outcome, left) in multiplied(first, second, control) {
                holds("completes", matches!(outcome, Outcome::Completed(_)));
                check("product", left.0, product);
                check("  control", left.1, control);
            }
        }
    }
}

fn invalid_operations() {
    for (first, second, product) in [
        (SNAN, ONE, LONG_SNAN),
        (ONE, SNAN, LONG_SNAN),
        (SNAN, QNAN, LONG_SNAN),
        (0, INFINITY, DEFAULT_NAN),
        (INFINITY | SIGN, 0, DEFAULT_NAN),
    ] {
        for (outcome, left) in multiplied(first, second, OTHERS) {
            holds(
                "invalid completes",
                matches!(outcome, Outcome::Completed(_)),
            );
            check("  product", left.0, product);
            check("  control", left.1, OTHERS | FLAG);
        }
        let lengths = [4, 6, 4, 6, 6, 6];
        let attempts = multiplied(first, second, OTHERS | MASK);
        for ((outcome, left), length) in attempts.into_iter().zip(lengths) {
            trapped(outcome, (0x80, length));
            check("  operand", left.0, u64::from(first) << 32 | REST);
            check("  control", left.1, OTHERS & !0xFF00 | MASK | CODE);
        }
    }
}

/// Checks that an instruction of this length ended with a data exception with this code.
fn trapped(outcome: Outcome, (code, length): (u32, u16)) {
    check("data exception", outcome.number(), suppressed(7, length));
    if let Outcome::Program(program) = outcome {
        check("  code", program.data_exception_code, code);
    }
}

/// Without the AFP-register control both are data exceptions, and the floating-point-control register stays.
fn without_control(cr0: u64) {
    load(ONE, ONE, OTHERS);
    // The next two come before the operand's exception.
    lctlg_0(cr0 & !bit(45));
    let in_register = attempt!("mdebr %f2, %f4");
    let in_storage = attempt!("mdeb %f2, 0(%r3)", in("r3") 1_u64 << 62);
    lctlg_0(cr0 | bit(45));
    trapped(in_register, (2, 4));
    trapped(in_storage, (2, 6));
    let left = stored();
    check("  operand", left.0, u64::from(ONE) << 32 | REST);
    check("  control", left.1, OTHERS);
    let addressing = attempt!("mdeb %f2, 0(%r3)", in("r3") 1_u64 << 62);
    check("no storage there", addressing.number(), suppressed(5, 6));
}

/// Calls code with an operand in floating-point register 2, and three in floating-point register 4 and at general register 3.
fn call(code: unsafe extern "C" fn(), first: u32) -> u64 {
    let three = 0x4040_0000;
    load(first, three, 0);
    // SAFETY: each of the pieces above uses only these registers.
    unsafe {
        asm!(
            "basr %r14, {c}",
            c = in(reg_addr) code as *const () as u64,
            in("r3") &raw const three,
            out("r1") _,
            out("r4") _,
            out("r5") _,
            out("r14") _,
        );
    }
    stored().0
}

fn at_the_ends_of_pages() {
    for _ in 0..3 {
        for code in [mdeb_four, mdeb_two, mdebr_two] {
            check("across pages", call(code, 0x40A0_0000), 0x402E << 48);
        }
    }
}

/// Stores the text of one, or a part of it, where code has been executed.
fn stored_texts() {
    // MDEB 2,0(0,3), whose last two bytes are SVC 12 by themselves, and a branch; MDEBR 2,4, NOPR and a branch.
    const MDEB: u64 = 0xED20_3000_000C_07FE;
    const MDEBR: u64 = 0xB30C_0024_0700_07FE;
    let place = core::ptr::with_exposed_provenance_mut::<u64>(multiplies as *const () as usize);
    // SAFETY: the page belongs to this guest alone, and the code there is that of the store.
    let before = unsafe { place.read_volatile() };
    let store = |value: u64| {
        // SAFETY: the same.
        unsafe { place.write_volatile(value) };
    };
    let plain = u64::from(0x40A0_0000_u32) << 32 | REST;
    for text in [MDEB, MDEBR] {
        for _ in 0..2 {
            check("ordinary code", call(multiplies, 0x40A0_0000), plain);
            store(text);
            check("a stored one", call(multiplies, 0x40A0_0000), 0x402E << 48);
            store(before);
        }
    }
}

/// Any operands, with the products that this program's compiler makes of them: it uses no floating-point registers.
fn any_operands() {
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for round in 0..100 {
        random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        let [mut first, second] = [(random >> 32) as u32, (random >> 16) as u32];
        if round % 4 == 0 {
            first >>= 9;
        }
        let [one, other] = [first, second].map(|bits| f64::from(f32::from_bits(bits)));
        let product = one * other;
        if !product.is_nan() {
            for (_, left) in multiplied(first, second, 0) {
                check("any", left.0, product.to_bits());
                check("  control", left.1, 0);
            }
        }
    }
}

fn run() {
    let cr0 = stctg_0();
    lctlg_0(cr0 | bit(45));
    products();
    invalid_operations();
    without_control(cr0);
    at_the_ends_of_pages();
    stored_texts();
    any_operands();
    load(0, 0, 0);
    lctlg_0(cr0);
}
