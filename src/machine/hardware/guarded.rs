//! An instruction that the machine below may refuse with a program interruption.
//!
//! [`crate::machine::trap`] returns from such an interruption to here, instead of treating it as a failure of the firmware.

use crate::arch::condition::ConditionCode;
use crate::machine::hardware::lowcore;

/// Performs an instruction with these operands of `asm!`. Returns the condition code, or the program-interruption code if the
/// machine below refused.
///
/// # Safety
/// As for `asm!`. A refused instruction must leave the operands valid.
macro_rules! guarded {
    ($text:expr, $($operands:tt)*) => {{
        let ipm: u64;
        ::core::arch::asm!(
            "larl {ipm},8f",
            "stg {ipm},{continue_at}(%r0)",
            $text,
            "ipm {ipm}",
            "j 9f",
            "8: lghi {ipm},-1",
            "9: stg {zero},{continue_at}(%r0)",
            ipm = out(reg) ipm,
            zero = in(reg) 0_u64,
            continue_at = const ::core::mem::offset_of!(
                $crate::machine::hardware::lowcore::Lowcore,
                continue_at
            ),
            options(nostack),
            $($operands)*
        );
        $crate::machine::hardware::guarded::ended(ipm)
    }};
}
pub(crate) use guarded;

/// How the instruction ended: by the result of INSERT PROGRAM MASK behind it, or all ones if it was refused.
pub fn ended(ipm: u64) -> Result<ConditionCode, u16> {
    match ipm {
        u64::MAX => Err(lowcore::PROGRAM_IDENTIFICATION.get() as u16),
        _ => Ok(ConditionCode::from_bits((ipm >> 28) as u8)),
    }
}
