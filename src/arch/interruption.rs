//! Interruption classes and codes.

/// The six classes of interruption, in the order of their PSWs in low storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Restart.
    Restart,
    /// External.
    External,
    /// Supervisor call.
    SupervisorCall,
    /// Program.
    Program,
    /// Machine check.
    MachineCheck,
    /// Input/output.
    InputOutput,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Restart,
        Self::External,
        Self::SupervisorCall,
        Self::Program,
        Self::MachineCheck,
        Self::InputOutput,
    ];
}

/// How an instruction with a program exception ends, which determines what the old PSW designates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As if it had not begun: the old PSW designates the instruction itself.
    Nullification,
    /// As a no-operation: the old PSW designates the next sequential instruction.
    Suppression,
    /// Wholly or partly performed: the old PSW designates the next sequential instruction.
    CompletionOrTermination,
}

/// A program interruption that the machine recognizes itself; its code is the architected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum ProgramInterruption {
    /// 0001
    Operation = 0x01,
    /// 0002
    PrivilegedOperation = 0x02,
    /// 0003
    Execute = 0x03,
    /// 0004
    Protection = 0x04,
    /// 0005
    Addressing = 0x05,
    /// 0006
    Specification = 0x06,
    /// 0007
    Data = 0x07,
    /// 0009
    FixedPointDivide = 0x09,
    /// 0010
    SegmentTranslation = 0x10,
    /// 0011
    PageTranslation = 0x11,
    /// 0012
    TranslationSpecification = 0x12,
    /// 0013
    SpecialOperation = 0x13,
    /// 0015
    Operand = 0x15,
    /// 0018
    TransactionConstraint = 0x18,
    /// 0038
    AsceType = 0x38,
    /// 0039
    RegionFirstTranslation = 0x39,
    /// 003A
    RegionSecondTranslation = 0x3A,
    /// 003B
    RegionThirdTranslation = 0x3B,
    /// 0040
    MonitorEvent = 0x40,
}

impl ProgramInterruption {
    /// The program-interruption code.
    #[must_use]
    #[inline]
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The ending of an instruction that causes this interruption.
    #[must_use]
    #[inline]
    pub const fn ending(self) -> Ending {
        ending(self as u16)
    }
}

/// The bits of the codes from `first` to `last`, of which bit 63 is that of code 0.
#[must_use]
pub const fn codes(first: u16, last: u16) -> u64 {
    u64::MAX >> (63 - (last - first)) << first
}

/// Whether a set of [`codes`] has this one.
#[must_use]
#[inline(always)]
pub const fn is_one_of(codes: u64, code: u16) -> bool {
    code < 64 && codes >> code & 1 != 0
}

/// The codes of the conditions that nullify.
const NULLIFYING: u64 = codes(0x10, 0x11) | codes(0x20, 0x2D) | codes(0x38, 0x3B);

/// The codes of access exceptions.
const ACCESS: u64 = codes(0x04, 0x05) | codes(0x10, 0x11) | codes(0x38, 0x3B);

/// The ending of an instruction that causes a program interruption with this code.
///
/// Translation exceptions nullify, so that the program can supply the page and issue the
/// instruction again; the other conditions that the firmware itself recognizes suppress.
#[must_use]
#[inline]
pub const fn ending(code: u16) -> Ending {
    match code & 0x7F {
        code if is_one_of(NULLIFYING, code) => Ending::Nullification,
        0x40 => Ending::CompletionOrTermination,
        _ => Ending::Suppression,
    }
}

/// Whether a program-interruption code is that of an access exception, which depends on the guest's own tables.
#[must_use]
#[inline]
pub const fn is_access(code: u16) -> bool {
    is_one_of(ACCESS, code)
}

/// External-interruption codes.
pub mod external {
    /// Interrupt key.
    pub const INTERRUPT_KEY: u16 = 0x0040;
    /// Clock comparator.
    pub const CLOCK_COMPARATOR: u16 = 0x1004;
    /// CPU timer.
    pub const CPU_TIMER: u16 = 0x1005;
    /// Malfunction alert.
    pub const MALFUNCTION_ALERT: u16 = 0x1200;
    /// Emergency signal.
    pub const EMERGENCY_SIGNAL: u16 = 0x1201;
    /// External call.
    pub const EXTERNAL_CALL: u16 = 0x1202;
    /// Measurement alert (SA23-2260).
    pub const MEASUREMENT_ALERT: u16 = 0x1407;
    /// Service signal.
    pub const SERVICE_SIGNAL: u16 = 0x2401;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translation_exceptions_nullify_and_the_rest_suppress() {
        assert_eq!(
            ProgramInterruption::PageTranslation.ending(),
            Ending::Nullification
        );
        assert_eq!(
            ProgramInterruption::AsceType.ending(),
            Ending::Nullification
        );
        assert_eq!(
            ProgramInterruption::Protection.ending(),
            Ending::Suppression
        );
        assert_eq!(ProgramInterruption::Operation.ending(), Ending::Suppression);
    }
}
