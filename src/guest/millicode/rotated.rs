//! Tests of rotated bits, at which an older QEMU ends: ROTATE THEN AND, OR or EXCLUSIVE OR SELECTED BITS with the T bit.
//!
//! Without the T bit the hardware performs these instructions.

use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::{Outcome, Performed};
use arch::condition::ConditionCode;
use insn::split::{halfwords, is_test};

/// The bits from the one that I3 numbers to the one that I4 numbers. If that is to the left, they go on at bit 0.
const fn selected(i3: u8, i4: u8) -> u64 {
    let from = u64::MAX >> (i3 & 63);
    let to = u64::MAX << (63 - (i4 & 63));
    if i3 & 63 <= i4 & 63 {
        from & to
    } else {
        from | to
    }
}

/// RNSBG, ROSBG, RXSBG R1,R2,I3,I4,I5: ROTATE THEN AND, OR, EXCLUSIVE OR SELECTED BITS, if the CPU's text is that of one of
/// these with the T bit. The outcome of any other is unknown. It is not decoded with what the machine always performs, which is to
/// stay as fast as it is.
///
/// Combines the selected bits of R1 with those of R2, which is rotated left by I5. Registers stay what they are; condition
/// code 0 says that all the selected bits of the result are zeros, and 1 that they are not.
#[cold]
#[inline(never)]
pub(super) fn test<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    let text = run.cpu.text.bytes;
    if !is_test(halfwords(&text)) {
        return Ok(Outcome::Unknown);
    }
    let [_, registers, i3, i4, i5, opcode] = text;
    let first = run.register(registers >> 4);
    let rotated = run.register(registers & 15).rotate_left((i5 & 63).into());
    let combined = match opcode {
        0x54 => first & rotated,
        0x56 => first | rotated,
        _ => first ^ rotated,
    };
    match combined & selected(i3, i4) {
        0 => run.done(ConditionCode::Zero),
        _ => run.done(ConditionCode::One),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_selected_one_by_one(i3: u8, i4: u8) {
            let mut expected = 0;
            let mut bit = i3 & 63;
            loop {
                expected |= 1 << (63 - bit);
                if bit == i4 & 63 {
                    break;
                }
                bit = (bit + 1) & 63;
            }
            prop_assert_eq!(selected(i3, i4), expected);
        }
    }
}
