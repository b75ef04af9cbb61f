//! MULTIPLY of short BFP operands to a long product, which an older QEMU performs wrongly: it takes the first operand for a long
//! one. Where the hardware is right, none arrives here.
//!
//! A long significand has room for the product of two short ones, and its exponent for theirs. So the product is exact, and
//! always a normal number: no rounding, overflow or underflow, and an invalid operation is the only IEEE exception.

use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::access::Fault;
use arch::control::CR0_AFP;
use insn::sensitive::MDEBR;
use insn::split::{self, halfwords, is_product};

/// The sign of a short operand.
const SIGN: u32 = 1 << 31;
/// The exponent of short infinity, which is that of a NaN, too.
const INFINITY: u32 = 0xFF << FRACTION;
/// The first bit of the fraction: a NaN with it is quiet.
const QUIET: u32 = 1 << (FRACTION - 1);
/// The number of bits of a short fraction, and of a long one.
const FRACTION: u32 = 23;
const LONG_FRACTION: u32 = 52;
/// Infinity, and the default NaN, of the long format.
const LONG_INFINITY: u64 = 0x7FF << LONG_FRACTION;
const DEFAULT_NAN: u64 = LONG_INFINITY | 1 << (LONG_FRACTION - 1);
/// The biases of the exponents.
const BIAS: i32 = 127;
const LONG_BIAS: i32 = 1023;

/// The mask of an invalid operation in the floating-point-control register, and the flag.
const INVALID_MASK: u32 = 1 << 31;
const INVALID_FLAG: u32 = 1 << 23;
/// The data-exception code in the floating-point-control register.
const CODE: u32 = 0xFF00;

/// The data-exception codes of a BFP instruction without the AFP-register control, and of an invalid operation.
const BFP_INSTRUCTION: u8 = 0x02;
const INVALID_OPERATION: u8 = 0x80;

/// A product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Product {
    /// The long operand.
    value: u64,
    /// Whether the operation is an invalid one. The value is what it has if that does not trap.
    is_invalid: bool,
}

const fn is_nan(operand: u32) -> bool {
    operand & !SIGN > INFINITY
}

const fn is_signaling(operand: u32) -> bool {
    is_nan(operand) && operand & QUIET == 0
}

/// The long quiet NaN of a short NaN.
fn quiet(operand: u32) -> u64 {
    let fraction = u64::from(operand & !(SIGN | INFINITY)) << (LONG_FRACTION - FRACTION);
    u64::from(operand & SIGN) << 32 | DEFAULT_NAN | fraction
}

/// The significand of a finite operand without its sign, as an integer, and the exponent of that.
fn finite(operand: u32) -> (u64, i32) {
    let (exponent, fraction) = (operand >> FRACTION, operand & !INFINITY);
    let (exponent, significand) = match exponent {
        0 => (1, fraction),
        _ => (exponent, fraction | 1 << FRACTION),
    };
    let exponent = exponent as i32 - BIAS - FRACTION as i32;
    (significand.into(), exponent)
}

/// The product of two short operands. A signaling NaN goes before a quiet one, and the first operand before the second.
fn product(first: u32, second: u32) -> Product {
    let operands = [first, second];
    let nan = |is_one: fn(u32) -> bool| operands.into_iter().find(|&operand| is_one(operand));
    if let Some(operand) = nan(is_signaling) {
        return Product {
            value: quiet(operand),
            is_invalid: true,
        };
    }
    if let Some(operand) = nan(is_nan) {
        return Product {
            value: quiet(operand),
            is_invalid: false,
        };
    }
    let sign = u64::from((first ^ second) & SIGN) << 32;
    let operands = operands.map(|operand| operand & !SIGN);
    let value = match (operands.contains(&INFINITY), operands.contains(&0)) {
        (true, true) => {
            return Product {
                value: DEFAULT_NAN,
                is_invalid: true,
            };
        }
        (true, false) => LONG_INFINITY,
        (false, true) => 0,
        (false, false) => {
            let [(one, one_exponent), (other, other_exponent)] = operands.map(finite);
            let significand = one * other;
            let shift = significand.leading_zeros() - (u64::BITS - 1 - LONG_FRACTION);
            let fraction = (significand << shift) & ((1 << LONG_FRACTION) - 1);
            let exponent = one_exponent + other_exponent + LONG_BIAS + LONG_FRACTION as i32;
            let exponent = exponent - shift as i32;
            (exponent as u64) << LONG_FRACTION | fraction
        }
    };
    Product {
        value: sign | value,
        is_invalid: false,
    }
}

/// MDEBR R1,R2; MDEB R1,D2(X2,B2): MULTIPLY, if the CPU's text is that of one of these and the machine below performs them
/// wrongly. The outcome of any other is unknown. They are not decoded with what the machine always performs, which is to stay
/// as fast as it is.
///
/// Multiplies the short operand in bits 0-31 of floating-point register R1 by that of R2, or in storage. The long product
/// goes into R1. The condition code is unchanged.
///
/// Program exceptions: data (code 2, BFP instruction, without the AFP-register control), access (fetch, operand 2), data
/// (code 80, an invalid operation whose mask is one). The last one suppresses the operation.
#[cold]
#[inline(never)]
pub(super) fn to_long<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    let text = run.cpu.text.bytes;
    let halfwords = halfwords(&text);
    let in_storage = is_product(halfwords);
    if !run.configuration.quirks.multiplies_wrongly || !in_storage && halfwords[0] != MDEBR {
        return Ok(Outcome::Unknown);
    }
    if run.cpu.control[0] & CR0_AFP == 0 {
        return Err(Fault::data(BFP_INSTRUCTION));
    }
    let saved = run.hardware.saved_registers();
    let register = |n: u8| (saved.floating_point[usize::from(n & 15)] >> 32) as u32;
    let (r1, second) = if in_storage {
        let at = run.address(split::second(&text));
        (text[1] >> 4, run.fetch_u32(at)?)
    } else {
        (text[3] >> 4, register(text[3]))
    };
    let Product { value, is_invalid } = product(register(r1), second);
    let control = saved.floating_point_control;
    if is_invalid && control & INVALID_MASK != 0 {
        let code = u32::from(INVALID_OPERATION) << CODE.trailing_zeros();
        run.hardware
            .set_floating_point_control(control & !CODE | code);
        return Err(Fault::data(INVALID_OPERATION));
    }
    if is_invalid {
        run.hardware
            .set_floating_point_control(control | INVALID_FLAG);
    }
    run.hardware.load_floating_point(r1, value);
    Ok(Outcome::Completed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bits of a short operand, of which many are special.
    fn operand() -> impl Strategy<Value = u32> {
        let special = [
            0,
            1,
            0x7F_FFFF,
            0x80_0000,
            0x3F80_0000,
            0x7F7F_FFFF,
            INFINITY,
            0x7F80_0001,
            0x7FBF_FFFF,
            0x7FC0_0000,
            0x7FFF_FFFF,
        ];
        let special = (prop::sample::select(special.to_vec()), any::<bool>());
        prop_oneof![
            any::<u32>(),
            // Subnormal numbers, of any size.
            (any::<u32>(), 9..32_u32).prop_map(|(bits, shift)| bits >> shift),
            special.prop_map(|(bits, negative)| bits | u32::from(negative) << 31),
        ]
    }

    #[test]
    fn a_nan_keeps_its_sign_and_fraction_and_a_signaling_one_goes_first() {
        const QNAN: u32 = 0xFFC0_1234;
        const OTHER: u32 = 0x7FC0_0001;
        const SNAN: u32 = 0x7F80_0042;
        const LONG_QNAN: u64 = 0xFFF8_0246_8000_0000;
        const LONG_OTHER: u64 = 0x7FF8_0000_2000_0000;
        const LONG_SNAN: u64 = 0x7FF8_0008_4000_0000;
        const ONE: u32 = 0x3F80_0000;
        for (first, second, value, is_invalid) in [
            (QNAN, ONE, LONG_QNAN, false),
            (ONE, QNAN, LONG_QNAN, false),
            (INFINITY, QNAN, LONG_QNAN, false),
            (QNAN, OTHER, LONG_QNAN, false),
            (OTHER, QNAN, LONG_OTHER, false),
            (SNAN, ONE, LONG_SNAN, true),
            (QNAN, SNAN, LONG_SNAN, true),
            (SNAN, QNAN, LONG_SNAN, true),
            (SNAN | SIGN, SNAN, LONG_SNAN | 1 << 63, true),
            (0, INFINITY, DEFAULT_NAN, true),
            (INFINITY | SIGN, 0, DEFAULT_NAN, true),
        ] {
            let expected = Product { value, is_invalid };
            assert_eq!(product(first, second), expected, "{first:08X} {second:08X}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Rust converts short operands exactly, and a long product of theirs is exact.
        #[test]
        fn a_product_is_what_the_host_makes_of_it(first in operand(), second in operand()) {
            let Product { value, is_invalid } = product(first, second);
            let [one, other] = [first, second].map(|bits| f64::from(f32::from_bits(bits)));
            let expected = one * other;
            if expected.is_nan() {
                prop_assert!(f64::from_bits(value).is_nan());
                let is_nan = [first, second].into_iter().any(is_nan);
                let is_signaling = [first, second].into_iter().any(is_signaling);
                prop_assert_eq!(is_invalid, is_signaling || !is_nan);
            } else {
                prop_assert_eq!(value, expected.to_bits());
                prop_assert!(!is_invalid);
            }
        }
    }
}
