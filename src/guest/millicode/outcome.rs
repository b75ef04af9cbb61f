//! How the performance of an instruction ends.

use crate::state::access::Fault;

/// How the performance of an instruction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is completed: the instruction address advances, one instruction counts.
    Completed,
    /// It is completed, and the CPU gives up the rest of its turn because it waits for another CPU.
    Yield,
    /// It is completed, and a coprocessor is busy with it: the CPU gives up its turn until then.
    Occupied,
    /// It is completed but for what concerns all CPUs: the request of a profiler, which general register 2
    /// designates.
    Service,
    /// It is completed and has replaced the PSW: the instruction address stays.
    Jumped,
    /// It has no routine: an operation exception, and one line in the log.
    Unknown,
}

/// The result of a routine. A fault is a program interruption; its type decides what becomes of the
/// instruction address.
pub type Performed<Refusal = Fault> = Result<Outcome, Refusal>;
