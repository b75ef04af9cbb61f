//! The TOD clock, the clock comparator and the CPU timer.
//!
//! STORE CLOCK and its variants, and EXTRACT CPU TIME, run without the firmware: the clock and the
//! CPU timer are the guest's. The real clock comparator also serves the sampling interval. So the
//! guest's comparator is a value here, and whether the clock has passed it is always computed.

use crate::hardware::Hardware;
use crate::measuring::epoch;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::path::Path;
use crate::state::access::Fault;
use crate::state::pending_work::PendingWork;
use arch::interruption::ProgramInterruption;
use insn::Operand;

/// Computes the two pending conditions again, after something that they depend on was set.
fn recompute<H: Hardware>(run: &mut Execution<'_, H>) {
    let pending = &mut run.cpu.pending;
    pending.clock_comparator = run.hardware.guest_clock() > run.cpu.clock_comparator;
    pending.cpu_timer = (run.hardware.cpu_timer() as i64) < 0;
    run.cpu.pending_work |= PendingWork::CLOCK | PendingWork::ATTENTION;
}

/// The doubleword operand of the instructions that set a clock.
#[inline]
fn operand<H: Hardware>(run: &Execution<'_, H>, second: Operand) -> Result<u64, Fault> {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 8)?;
    run.fetch_u64(at)
}

/// SET CLOCK: the TOD clock takes the value of the doubleword at the second-operand address.
///
/// Condition codes: 0, the value is set; 1, the clock is secure; 3, it is not operational. They
/// come from the machine below. The CPU timer is not affected.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a doubleword
/// boundary; access (fetch, operand 2).
///
/// Source: Principles of Operation, "SET CLOCK".
pub(super) fn sck<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let value = operand(run, second)?;
    let code = epoch::set_clock(run.cpu, run.configuration, run.hardware, value);
    recompute(run);
    run.done(code)
}

/// SET CLOCK COMPARATOR: the clock comparator takes the value of the doubleword at the
/// second-operand address.
///
/// Condition code: unchanged. Program exceptions: as SET CLOCK.
///
/// Source: Principles of Operation, "SET CLOCK COMPARATOR".
pub(super) fn sckc<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    run.cpu.clock_comparator = operand(run, second)?;
    recompute(run);
    Ok(Outcome::Completed)
}

/// SET CPU TIMER: the CPU timer takes the value of the doubleword at the second-operand address.
///
/// Condition code: unchanged. Program exceptions: as SET CLOCK.
///
/// Source: Principles of Operation, "SET CPU TIMER".
pub(super) fn spt<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let value = operand(run, second)?;
    run.hardware.set_cpu_timer(value);
    recompute(run);
    Ok(Outcome::Completed)
}

/// Stores a doubleword for the instructions that show a clock.
#[inline(always)]
fn show<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    second: Operand,
    value: impl FnOnce(&Execution<'_, H, P>) -> u64,
) -> Performed<P::Refusal> {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 8)?;
    let value = value(run);
    run.put_u64(at, value)?;
    Ok(Outcome::Completed)
}

/// STORE CPU TIMER: the CPU timer is stored as a doubleword at the second-operand address.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a doubleword
/// boundary; access (store, operand 2).
///
/// Source: Principles of Operation, "STORE CPU TIMER".
#[inline(always)]
pub(super) fn stpt<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    second: Operand,
) -> Performed<P::Refusal> {
    show(run, second, |run| run.hardware.cpu_timer())
}

/// STORE CLOCK COMPARATOR: the clock comparator is stored as a doubleword at the second-operand
/// address.
///
/// Condition code: unchanged. Program exceptions: as STORE CPU TIMER.
///
/// Source: Principles of Operation, "STORE CLOCK COMPARATOR".
pub(super) fn stckc<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    show(run, second, |run| run.cpu.clock_comparator)
}

/// SET CLOCK PROGRAMMABLE FIELD: bits 48-63 of general register 0 become the TOD programmable
/// register, which STORE CLOCK EXTENDED shows.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when bits 32-47 of general register 0
/// are not zeros.
///
/// Source: Principles of Operation, "SET CLOCK PROGRAMMABLE FIELD".
pub(super) fn sckpf<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    run.supervisor()?;
    let value = run.register(0) as u32;
    if value >> 16 != 0 {
        return fault(ProgramInterruption::Specification);
    }
    run.cpu.tod_programmable = value;
    run.hardware.set_clock_programmable_field(value);
    Ok(Outcome::Completed)
}
