//! The two ways to perform a routine: with every case the manual has, or in the plain case alone.
//!
//! A routine is written once. Performed the [`Whole`] way it translates its operands by the guest's
//! tables and ends with the fault that it meets. Performed the [`Plain`] way it goes on only as long
//! as everything is as it nearly always is (64-bit addressing mode, operands in pages whose
//! translation is kept, no exception) and otherwise ends having changed nothing; the whole way then
//! begins anew. So the plain way is the same text with all that is rarely needed left out.

use crate::arch::interruption::ProgramInterruption;
use crate::guest::state::access::Fault;

/// How far a routine goes.
pub(super) trait Way {
    /// Whether only the plain case is performed.
    const PLAIN: bool;

    /// What a routine ends with that does not complete.
    type Refusal: From<Fault> + From<ProgramInterruption>;

    /// What a routine does outside of the plain case.
    fn otherwise<T>(rest: impl FnOnce() -> Result<T, Fault>) -> Result<T, Self::Refusal>;
}

/// Every case.
pub(super) enum Whole {}

impl Way for Whole {
    const PLAIN: bool = false;
    type Refusal = Fault;

    #[inline(always)]
    fn otherwise<T>(rest: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        rest()
    }
}

/// The plain case alone.
pub(super) enum Plain {}

/// The case is not plain, and nothing has been changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotPlain;

impl From<Fault> for NotPlain {
    #[inline(always)]
    fn from(_: Fault) -> Self {
        Self
    }
}

impl From<ProgramInterruption> for NotPlain {
    #[inline(always)]
    fn from(_: ProgramInterruption) -> Self {
        Self
    }
}

impl Way for Plain {
    const PLAIN: bool = true;
    type Refusal = NotPlain;

    #[inline(always)]
    fn otherwise<T>(_: impl FnOnce() -> Result<T, Fault>) -> Result<T, NotPlain> {
        Err(NotPlain)
    }
}
