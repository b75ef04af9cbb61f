//! How the performance of an instruction ends.

use crate::guest::state::access::Fault;

/// How the performance of an instruction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is completed: the instruction address advances, one instruction counts.
    Completed,
    /// It is completed, and the CPU gives up the rest of its turn: another one is waited for.
    Yield,
    /// It is completed, and a coprocessor is busy with it: the CPU gives its turn up until then.
    Occupied,
    /// It is completed but for what the machine does with all CPUs: the request of a profiler, designated by
    /// general register 2.
    Service,
    /// It is completed and has replaced the PSW: the instruction address stays.
    Jumped,
    /// Not performed here: an operation exception, and one line in the log.
    Unknown,
}

/// What a routine ends with. A fault is a program interruption whose kind says what becomes of the
/// instruction address.
pub type Performed<Refusal = Fault> = Result<Outcome, Refusal>;
