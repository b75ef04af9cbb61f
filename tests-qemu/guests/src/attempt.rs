//! Perform one instruction and say how it ended.
//!
//! The instruction stands inline, with its operands. While it is attempted, a program interruption (or a supervisor
//! call) resumes behind it instead of reaching a handler, and the attempt reads the assigned locations to tell what
//! happened. General register 1 belongs to the attempt.

use crate::interruption::{Class, old_psw};
use crate::lowcore;
use crate::psw::Psw;

/// A program interruption as it was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramInterruption {
    /// Program-interruption code.
    pub code: u16,
    /// Instruction length in bytes, from the instruction-length code (0, 2, 4 or 6).
    pub length: u16,
    /// Old PSW.
    pub old: Psw,
    /// How far the old PSW's address is behind the attempted instruction: 0 nullified, the length suppressed.
    pub advanced: i64,
    /// Translation-exception identification. Only access exceptions store it; otherwise an earlier value.
    pub teid: u64,
    /// Data-exception code. Only data exceptions store it; otherwise an earlier value.
    pub data_exception_code: u32,
}

/// How an attempted instruction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It completed with this condition code.
    Completed(u8),
    /// A program interruption.
    Program(ProgramInterruption),
    /// A supervisor call with this code.
    SupervisorCall(u16),
}

impl Outcome {
    /// The program-interruption code, or 0 when there was none.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Program(program) => program.code,
            _ => 0,
        }
    }

    /// The condition code; 0xFF when the instruction did not complete.
    #[must_use]
    pub fn condition_code(self) -> u8 {
        match self {
            Self::Completed(cc) => cc,
            _ => 0xFF,
        }
    }

    /// The outcome as one number to print: the condition code, or code, length and advance as `CCCCLLAA` with a
    /// leading one.
    #[must_use]
    pub fn number(self) -> u64 {
        match self {
            Self::Completed(cc) => cc.into(),
            Self::Program(program) => interrupted(program.code, program.length, program.advanced),
            Self::SupervisorCall(code) => 0x2_0000_0000 | u64::from(code) << 16,
        }
    }
}

/// The [`Outcome::number`] of a program interruption: code, length and how far the old PSW advanced.
#[must_use]
pub const fn interrupted(code: u16, length: u16, advanced: i64) -> u64 {
    0x1_0000_0000 | (code as u64) << 16 | (length as u8 as u64) << 8 | advanced as u8 as u64
}

/// A suppressed instruction of this length: the old PSW designates the next one.
#[must_use]
pub const fn suppressed(code: u16, length: u16) -> u64 {
    interrupted(code, length, length as i64)
}

/// A nullified instruction of this length: the old PSW designates the instruction itself.
#[must_use]
pub const fn nullified(code: u16, length: u16) -> u64 {
    interrupted(code, length, 0)
}

/// Reads what an attempt left; `ipm` is the result of INSERT PROGRAM MASK behind the instruction.
#[must_use]
pub fn outcome(ipm: u64) -> Outcome {
    let ended_by: u64 = lowcore::read(lowcore::ENDED_BY);
    lowcore::write(lowcore::RESUME, 0_u64);
    if ended_by == Class::Program as u64 + 1 {
        let old = old_psw(Class::Program);
        return Outcome::Program(ProgramInterruption {
            code: lowcore::read(lowcore::PROGRAM_CODE),
            length: lowcore::read::<u16>(lowcore::PROGRAM_LENGTH) & 6,
            old,
            advanced: old.address.wrapping_sub(lowcore::read(lowcore::ATTEMPTED)) as i64,
            teid: lowcore::read(lowcore::TRANSLATION_EXCEPTION),
            data_exception_code: lowcore::read(lowcore::DATA_EXCEPTION_CODE),
        });
    }
    if ended_by == Class::SupervisorCall as u64 + 1 {
        return match lowcore::read(lowcore::SVC_CODE) {
            RETURN => Outcome::Completed(old_psw(Class::SupervisorCall).condition_code()),
            code => Outcome::SupervisorCall(code),
        };
    }
    Outcome::Completed((ipm >> 28 & 3) as u8)
}

/// The supervisor call that ends an attempt in problem state.
pub const RETURN: u16 = 0xFF;

/// The stub of every attempt: the instruction between what leads to it and what leads back, and the operands of `asm!`.
#[doc(hidden)]
#[macro_export]
macro_rules! attempt_between {
    ($to:literal, $text:expr, $back:literal, $($operands:tt)*) => {{
        let ipm: u64;
        #[allow(unused_unsafe)]
        // SAFETY: a guest owns its machine; the stub resumes behind the instruction however it ends.
        unsafe {
            core::arch::asm!(
                "larl %r1, 32f",
                "stg %r1, 0x720(%r0)",
                "mvghi 0x708(%r0), 0",
                "larl %r1, 33f",
                "stg %r1, 0x700(%r0)",
                $to,
                "32:",
                $text,
                $back,
                "33: ipm %r1",
                out("r1") ipm,
                $($operands)*
            );
        }
        $crate::attempt::outcome(ipm)
    }};
}

/// Attempts one instruction in the state the program is in: `attempt!("stap 0({a})", a = in(reg_addr) p)`.
#[macro_export]
macro_rules! attempt {
    ($text:expr $(, $($operands:tt)*)?) => {
        $crate::attempt_between!("", $text, "", $($($operands)*)?)
    };
}

/// Like [`attempt!`], with the instruction in problem state, and with the other bits of the problem PSW's mask.
/// The supervisor call [`RETURN`] behind the instruction brings supervisor state back.
#[macro_export]
macro_rules! attempt_in_problem_state {
    ($text:expr $(, $($operands:tt)*)?) => {
        $crate::attempt_between!(
            "mvc 0x738(8, %r0), 0x720(%r0)\n lpswe 0x730(%r0)",
            $text,
            "svc 255",
            $($($operands)*)?
        )
    };
}

/// Like [`attempt!`], with general registers 0 and 2 to 5 from these five doublewords, and their contents afterwards
/// stored there. For instructions with pairs of registers as operands.
#[macro_export]
macro_rules! attempt_on_registers {
    (by $attempt:ident, $text:expr, $registers:expr) => {{
        let [r0, r2, r3, r4, r5]: &mut [u64; 5] = $registers;
        $crate::$attempt!(
            $text,
            inout("r0") *r0,
            inout("r2") *r2,
            inout("r3") *r3,
            inout("r4") *r4,
            inout("r5") *r5,
        )
    }};
    ($text:expr, $registers:expr) => {
        $crate::attempt_on_registers!(by attempt, $text, $registers)
    };
}

/// Like [`attempt_on_registers!`], with the instruction in problem state.
#[macro_export]
macro_rules! attempt_on_registers_in_problem_state {
    ($text:expr, $registers:expr) => {
        $crate::attempt_on_registers!(by attempt_in_problem_state, $text, $registers)
    };
}
