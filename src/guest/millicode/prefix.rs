//! The prefix register.

use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::Vcpu;
use crate::storage::{self, shadow};
use arch::address::{Absolute, PREFIX_AREA};
use insn::Operand;

/// The bits of a prefix: a 31-bit address on an 8 KiB boundary.
pub(super) const PREFIX: u64 = 0x7FFF_E000;

/// SET PREFIX: bits 1-18 of the word at the second-operand address become the prefix; the other
/// bits are ignored.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (fetch, operand 2); addressing, when the new prefix area is not in the
/// configuration, in which case the prefix stays.
///
/// The TLB of this CPU is purged, even if the prefix does not change ([`set`]).
///
/// Source: Principles of Operation, "SET PREFIX".
pub(super) fn spx<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 4)?;
    let prefix = u64::from(run.fetch_u32(at)?) & PREFIX;
    storage::checked_absolute(run.configuration, Absolute(prefix), PREFIX_AREA)?;
    set(run.cpu, run.configuration, run.hardware, prefix);
    Ok(Outcome::Completed)
}

/// Gives a CPU its prefix and purges its TLB.
///
/// With another prefix every shadow entry of real 0-1FFF and of the two prefix areas leads elsewhere, and the
/// way out empties the shadow. With the same prefix, only the entries that the tables no longer say must go.
pub(super) fn set<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    prefix: u64,
) {
    if cpu.prefix == prefix {
        shadow::renew(cpu, configuration, hardware);
        return;
    }
    cpu.prefix = prefix;
    cpu.pending_work |= PendingWork::CONTROLS;
}

/// STORE PREFIX: the prefix is stored as a word at the second-operand address.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (store, operand 2).
///
/// Source: Principles of Operation, "STORE PREFIX".
pub(super) fn stpx<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 4)?;
    run.put_u32(at, run.cpu.prefix as u32)?;
    Ok(Outcome::Completed)
}
