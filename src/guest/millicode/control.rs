//! Control registers: loaded and stored by ranges that wrap around from 15 to 0.
//!
//! A range is at most sixteen registers. The whole operand is accessed before any register changes.

use crate::hardware::Hardware;
use crate::millicode::execution::Execution;
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::path::Path;
use crate::state::access::Access;
use crate::state::pending_work::PendingWork;
use arch::psw::{ADDRESS_SPACE, DAT};
use insn::Operand;

/// The number of registers in the range from `r1` to `r3`.
#[inline]
const fn count(r1: u8, r3: u8) -> usize {
    (r3.wrapping_sub(r1) & 15) as usize + 1
}

/// The control registers with subclass masks: of external and I/O interruptions, and machine checks.
const WITH_MASKS: u16 = 1 << 0 | 1 << 6 | 1 << 14;

/// Loads one control register. If that changes it, the way out must update what is mirrored in the
/// hardware and what selects an address space, and a subclass mask may have opened.
#[inline(always)]
fn load<H: Hardware, P: Path>(run: &mut Execution<'_, H, P>, number: u8, value: u64) {
    let register = &mut run.cpu.control[usize::from(number & 15)];
    if *register != value {
        *register = value;
        if matches!(number & 15, 1 | 7)
            && run.cpu.psw.mask & (DAT | ADDRESS_SPACE) == DAT | ADDRESS_SPACE
            && !run.cpu.pending_work.any(PendingWork::PER)
        {
            // What the hardware has, and what is kept of translations, depends on neither the primary nor the secondary space
            // in the home-space mode, in which Linux enters and leaves its kernel. What is kept of programs is looked at
            // when the guest enters another mode.
            return;
        }
        run.cpu.pending_work |= PendingWork::CONTROLS;
        if WITH_MASKS >> (number & 15) & 1 != 0 {
            run.cpu.pending_work |= PendingWork::OPENED;
        }
    }
}

/// LOAD CONTROL (64): the doublewords at the second-operand address are loaded into control
/// registers R1 to R3.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a doubleword
/// boundary; access (fetch, operand 2: the whole of it before any register changes).
///
/// Source: Principles of Operation, "LOAD CONTROL (LCTLG)".
#[inline(always)]
pub(super) fn lctlg<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    r1: u8,
    r3: u8,
    second: Operand,
) -> Performed<P::Refusal> {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 8)?;
    if r1 == r3 {
        let value = run.fetch_u64(at)?;
        load(run, r1, value);
        return Ok(Outcome::Completed);
    }
    let mut operand = [0; 128];
    let bytes = operand.split_at_mut(count(r1, r3) * 8).0;
    run.fetch(at, bytes)?;
    for (number, value) in (r1..).zip(bytes.as_chunks::<8>().0) {
        load(run, number, u64::from_be_bytes(*value));
    }
    Ok(Outcome::Completed)
}

/// LOAD CONTROL (32): the words at the second-operand address are loaded into bits 32-63 of control
/// registers R1 to R3; bits 0-31 stay.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (fetch, operand 2: the whole of it before any register changes).
///
/// Source: Principles of Operation, "LOAD CONTROL (LCTL)".
pub(super) fn lctl<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    r3: u8,
    second: Operand,
) -> Performed {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 4)?;
    let mut operand = [0; 64];
    let bytes = operand.split_at_mut(count(r1, r3) * 4).0;
    run.fetch(at, bytes)?;
    for (number, value) in (r1..).zip(bytes.as_chunks::<4>().0) {
        let left = run.cpu.control[usize::from(number & 15)] & !0xFFFF_FFFF;
        load(run, number, left | u64::from(u32::from_be_bytes(*value)));
    }
    Ok(Outcome::Completed)
}

/// STORE CONTROL (64): control registers R1 to R3 are stored as doublewords at the second-operand
/// address.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a doubleword
/// boundary; access (store, operand 2).
///
/// Source: Principles of Operation, "STORE CONTROL (STCTG)".
#[inline]
pub(super) fn stctg<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    r3: u8,
    second: Operand,
) -> Performed {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 8)?;
    if r1 == r3 {
        run.put_u64(at, run.cpu.control[usize::from(r1 & 15)])?;
        return Ok(Outcome::Completed);
    }
    let mut operand = [0; 128];
    let bytes = operand.split_at_mut(count(r1, r3) * 8).0;
    for (number, value) in (r1..).zip(bytes.as_chunks_mut::<8>().0) {
        *value = run.cpu.control[usize::from(number & 15)].to_be_bytes();
    }
    run.put(at, bytes)?;
    Ok(Outcome::Completed)
}

/// STORE CONTROL (32): bits 32-63 of control registers R1 to R3 are stored as words at the
/// second-operand address.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a word
/// boundary; access (store, operand 2).
///
/// Source: Principles of Operation, "STORE CONTROL (STCTL)".
pub(super) fn stctl<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    r3: u8,
    second: Operand,
) -> Performed {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 4)?;
    let length = count(r1, r3) * 4;
    let claim = run.claim(at, length as u64, Access::Store)?;
    let mut operand = [0; 64];
    let bytes = operand.split_at_mut(length).0;
    for (number, value) in (r1..).zip(bytes.as_chunks_mut::<4>().0) {
        *value = (run.cpu.control[usize::from(number & 15)] as u32).to_be_bytes();
    }
    claim.store(run.configuration, run.hardware, bytes);
    Ok(Outcome::Completed)
}
