//! The two paths through a routine: the general path with every case of the manual, and the fast path.
//!
//! A routine is written once and compiled for both. On the [`General`] path it translates its operands by
//! the guest's tables and ends with the fault that it meets. The [`Fast`] path handles the usual case only:
//! 64-bit addressing mode, operands in pages whose translation is kept, no exception. In any other case it
//! ends without having changed anything, and the general path performs the instruction from the start.

use crate::state::access::Fault;
use arch::interruption::ProgramInterruption;

/// How far a routine goes.
pub(super) trait Path {
    /// Whether this is the fast path.
    const FAST: bool;

    /// What a routine returns when it does not complete.
    type Refusal: From<Fault> + From<ProgramInterruption>;

    /// What a routine does on the general path only; the fast path gives up here.
    fn general_only<T>(rest: impl FnOnce() -> Result<T, Fault>) -> Result<T, Self::Refusal>;
}

/// Every case.
pub(super) enum General {}

impl Path for General {
    const FAST: bool = false;
    type Refusal = Fault;

    #[inline(always)]
    fn general_only<T>(rest: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        rest()
    }
}

/// The usual case only.
pub(super) enum Fast {}

/// The fast path does not handle this case and has changed nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotFast;

impl From<Fault> for NotFast {
    #[inline(always)]
    fn from(_: Fault) -> Self {
        Self
    }
}

impl From<ProgramInterruption> for NotFast {
    #[inline(always)]
    fn from(_: ProgramInterruption) -> Self {
        Self
    }
}

impl Path for Fast {
    const FAST: bool = true;
    type Refusal = NotFast;

    #[inline(always)]
    fn general_only<T>(_: impl FnOnce() -> Result<T, Fault>) -> Result<T, NotFast> {
        Err(NotFast)
    }
}
