//! Conversions between decimal and binary. QEMU lacks them before version 9.0; where the hardware has them, none arrives
//! here.
//!
//! A decimal operand is packed: a digit in each four bits, and the sign in the rightmost four. The routines store the
//! data-exception code of a decimal operand, 0; they leave the floating-point-control register alone, which a program uses
//! only with the floating-point facilities.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use arch::interruption::ProgramInterruption as Exception;
use insn::Operand;

/// The preferred codes of the signs.
const PLUS: u128 = 0xC;
const MINUS: u128 = 0xD;

/// The value of a packed decimal number. `None` if a digit or the sign is not valid.
fn binary(packed: u128) -> Option<i128> {
    let sign = packed & 15;
    let mut value = 0;
    for place in (1..32).rev() {
        let digit = packed >> (4 * place) & 15;
        if digit > 9 {
            return None;
        }
        // 31 digits fit.
        value = 10 * value + digit as i128;
    }
    match sign {
        0xB | MINUS => Some(-value),
        0xA | 0xC | 0xE | 0xF => Some(value),
        _ => None,
    }
}

/// The packed decimal number with this value, with a preferred sign.
fn decimal(value: i64) -> u128 {
    let mut packed = if value < 0 { MINUS } else { PLUS };
    let mut rest = value.unsigned_abs();
    for place in 1..=19 {
        packed |= u128::from(rest % 10) << (4 * place);
        rest /= 10;
    }
    packed
}

/// CVB, CVBY R1,D2(X2,B2): CONVERT TO BINARY. Operand 2 is 8 bytes of packed decimal. The value goes into bits 32-63 of
/// R1. The condition code is unchanged.
///
/// Program exceptions: access (fetch, operand 2), data, fixed-point divide. The last one is recognized when the value is not
/// one of 32 bits with a sign; the operation is completed then, with the rightmost 32 bits of the value.
pub(super) fn cvb<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, second: Operand) -> Performed {
    let packed = run.fetch_u64(run.address(second))?;
    let Some(value) = binary(packed.into()) else {
        return fault(Exception::Data);
    };
    run.set_word(r1, value as u32);
    if i32::try_from(value).is_err() {
        // It counts: a fault by itself does not.
        let problem = run.cpu.psw.problem_state();
        run.cpu.account.correct(1, 0, problem);
        return fault(Exception::FixedPointDivide);
    }
    Ok(Outcome::Completed)
}

/// CVBG R1,D2(X2,B2): CONVERT TO BINARY. Operand 2 is 16 bytes of packed decimal. The value goes into R1. The condition code
/// is unchanged.
///
/// Program exceptions: access (fetch, operand 2), data, fixed-point divide. The last one is recognized when the value is not
/// one of 64 bits with a sign, and suppresses the operation.
pub(super) fn cvbg<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, second: Operand) -> Performed {
    let [left, right] = run.fetch_pair(run.address(second))?;
    let Some(value) = binary(u128::from(left) << 64 | u128::from(right)) else {
        return fault(Exception::Data);
    };
    let Ok(value) = i64::try_from(value) else {
        return fault(Exception::FixedPointDivide);
    };
    run.set_register(r1, value as u64);
    Ok(Outcome::Completed)
}

/// CVDG R1,D2(X2,B2): CONVERT TO DECIMAL. Stores the value of R1, 64 bits with a sign, as 16 bytes of packed decimal. The
/// condition code is unchanged.
///
/// Program exceptions: access (store, operand 2).
pub(super) fn cvdg<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, second: Operand) -> Performed {
    let packed = decimal(run.register(r1) as i64);
    run.put(run.address(second), &packed.to_be_bytes())?;
    Ok(Outcome::Completed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The digits of a number as a text, four bits each, and a sign.
    fn packed(text: &str, sign: u128) -> u128 {
        u128::from_str_radix(text, 16).unwrap() << 4 | sign
    }

    #[test]
    fn every_sign_code_is_plus_or_minus_and_every_other_code_is_none() {
        let of = |sign| binary(packed("25594", sign));
        for plus in [0xA, 0xC, 0xE, 0xF] {
            assert_eq!(of(plus), Some(25_594));
        }
        for minus in [0xB, 0xD] {
            assert_eq!(of(minus), Some(-25_594));
        }
        for none in 0..10 {
            assert_eq!(of(none), None);
        }
    }

    #[test]
    fn a_code_that_is_no_digit_is_found_in_each_place() {
        let nines = packed(&"9".repeat(31), PLUS);
        assert_eq!(binary(nines), Some(10_i128.pow(31) - 1));
        for place in 1..32 {
            for code in 10..16 {
                let wrong = nines & !(15 << (4 * place)) | code << (4 * place);
                assert_eq!(binary(wrong), None, "{place} {code}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_number_has_the_digits_of_its_text_and_is_converted_back(value: i64) {
            let sign = if value < 0 { MINUS } else { PLUS };
            let text = value.unsigned_abs().to_string();
            prop_assert_eq!(decimal(value), packed(&text, sign));
            prop_assert_eq!(binary(decimal(value)), Some(value.into()));
        }
    }
}
