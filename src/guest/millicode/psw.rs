//! The PSW: its system mask, its key, and its replacement.
//!
//! The guest's masks, problem-state and wait bits are values in the firmware. A control program changes
//! them more often than anything else, so these routines are the shortest.

use crate::delivery;
use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::path::Path;
use crate::state::access::AccessKey;
use arch::control::CR0_SSM_SUPPRESSION;
use arch::interruption::ProgramInterruption;
use arch::psw::{KEY, Psw};
use insn::Operand;

/// Position of the system mask in the left half of the PSW: bits 0-7.
const SYSTEM_MASK: u32 = 56;
/// Bit 12 of the operand of LOAD PSW: one in every short-format PSW.
const SHORT_PSW: u64 = 1 << 51;

/// The left half of the PSW with another system mask. If the CPU will refuse it, the fast path ends here,
/// before anything is stored.
#[inline(always)]
fn with_system_mask<H: Hardware, P: Path>(
    run: &Execution<'_, H, P>,
    system_mask: u8,
) -> Result<u64, P::Refusal> {
    let rest = run.cpu.psw.mask & (u64::MAX >> 8);
    let mask = u64::from(system_mask) << SYSTEM_MASK | rest;
    if refused(mask) {
        P::general_only(|| Ok(()))?;
    }
    Ok(mask)
}

/// Whether the CPU refuses a PSW with this left half.
#[inline(always)]
const fn refused(mask: u64) -> bool {
    delivery::refused(&Psw { mask, address: 0 })
}

/// Introduces a system mask. If it makes the PSW invalid, the program interruption is an early one: the
/// instruction is completed, and the old PSW shows the new mask.
#[inline(always)]
fn introduce<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    mask: u64,
) -> Performed<P::Refusal> {
    run.set_mask(mask);
    if !P::FAST && refused(mask) {
        return fault(ProgramInterruption::Specification);
    }
    Ok(Outcome::Completed)
}

/// SET SYSTEM MASK: the byte at the second-operand address replaces bits 0-7 of the PSW.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; special operation, when the SSM-suppression control
/// (bit 33 of control register 0) is one; access (fetch, operand 2); after completion,
/// specification, when bit 0, 2, 3 or 4 is a one.
///
/// Source: Principles of Operation, "SET SYSTEM MASK" and "Early Exception Recognition".
#[inline(always)]
pub(super) fn ssm<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    second: Operand,
) -> Performed<P::Refusal> {
    run.supervisor()?;
    if run.cpu.control[0] & CR0_SSM_SUPPRESSION != 0 {
        return fault(ProgramInterruption::SpecialOperation);
    }
    let system_mask = run.fetch_u8(run.address(second))?;
    let mask = with_system_mask(run, system_mask)?;
    introduce(run, mask)
}

/// Bits 0-7 of the PSW.
#[inline(always)]
const fn system_mask<H, P>(run: &Execution<'_, H, P>) -> u8 {
    (run.cpu.psw.mask >> SYSTEM_MASK) as u8
}

/// STORE THEN AND SYSTEM MASK: bits 0-7 of the PSW are stored at the first-operand address, then
/// ANDed with the immediate byte.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; access (store, operand 1). If the store is refused, the AND
/// does not take place.
///
/// Source: Principles of Operation, "STORE THEN AND SYSTEM MASK".
#[inline(always)]
pub(super) fn stnsm<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    first: Operand,
    i2: u8,
) -> Performed<P::Refusal> {
    run.supervisor()?;
    run.put_u8(run.address(first), system_mask(run))?;
    // An AND sets no bit to one: the PSW stays valid and opens no mask. It may turn DAT off.
    run.set_mask(run.cpu.psw.mask & (u64::from(i2) << SYSTEM_MASK | u64::MAX >> 8));
    Ok(Outcome::Completed)
}

/// STORE THEN OR SYSTEM MASK: bits 0-7 of the PSW are stored at the first-operand address, then
/// ORed with the immediate byte.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; access (store, operand 1); after completion,
/// specification, when bit 0, 2, 3 or 4 is a one.
///
/// Source: Principles of Operation, "STORE THEN OR SYSTEM MASK".
#[inline(always)]
pub(super) fn stosm<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    first: Operand,
    i2: u8,
) -> Performed<P::Refusal> {
    run.supervisor()?;
    let mask = with_system_mask(run, system_mask(run) | i2)?;
    run.put_u8(run.address(first), system_mask(run))?;
    introduce(run, mask)
}

/// LOAD PSW EXTENDED: the 16 bytes at the second-operand address replace the PSW.
///
/// Condition code: as in the new PSW.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a doubleword
/// boundary; access (fetch, operand 2); after completion, specification, when the new PSW is not
/// valid, with the new PSW as the old one ([`delivery::load_psw`]).
///
/// Source: Principles of Operation, "LOAD PSW EXTENDED".
#[inline(always)]
pub(super) fn lpswe<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    second: Operand,
) -> Performed<P::Refusal> {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 8)?;
    let [mask, address] = run.fetch_pair(at)?;
    delivery::load_psw(run.cpu, Psw { mask, address });
    Ok(Outcome::Jumped)
}

/// LOAD PSW: the doubleword at the second-operand address, in the short format, replaces the PSW:
/// bits 0-32 with bit 12 inverted, and bits 33-63 as the instruction address.
///
/// Condition code: as in the new PSW.
///
/// Program exceptions: privileged operation; specification, when the operand is not on a doubleword
/// boundary; access (fetch, operand 2); specification, when bit 12 of the operand is zero (the
/// operation is suppressed); after completion, specification, when the new PSW is not valid.
///
/// Source: Principles of Operation, "LOAD PSW".
pub(super) fn lpsw<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    run.supervisor()?;
    let at = run.address(second);
    run.boundary(at, 8)?;
    let short = run.fetch_u64(at)?;
    if short & SHORT_PSW == 0 {
        return fault(ProgramInterruption::Specification);
    }
    delivery::load_psw(run.cpu, Psw::from_short(short));
    Ok(Outcome::Jumped)
}

/// EXTRACT PSW: bits 0-31 of the PSW go to bits 32-63 of R1, and, unless the R2 field is zero, bits
/// 32-63 of the PSW to bits 32-63 of R2. Bits 0-31 of the registers stay.
///
/// It is not privileged and does not trap below. The scanner makes it trap, because the hardware would
/// show the PSW under which the guest really runs.
///
/// Condition code: unchanged. Program exceptions: none.
///
/// Source: Principles of Operation, "EXTRACT PSW".
pub(super) fn epsw<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let mask = run.cpu.psw.mask;
    run.set_word(r1, (mask >> 32) as u32);
    if r2 != 0 {
        run.set_word(r2, mask as u32);
    }
    Ok(Outcome::Completed)
}

/// SET PSW KEY FROM ADDRESS: bits 56-59 of the second-operand address replace the PSW key.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation, in the problem state when the PSW-key mask has a zero
/// for the key.
///
/// Source: Principles of Operation, "SET PSW KEY FROM ADDRESS".
pub(super) fn spka<H: Hardware>(run: &mut Execution<'_, H>, second: Operand) -> Performed {
    let key = AccessKey::new((run.address(second).0 >> 4) as u8);
    if !run.may_use_key(key) {
        return fault(ProgramInterruption::PrivilegedOperation);
    }
    let mask = &mut run.cpu.psw.mask;
    *mask = *mask & !KEY | u64::from(key.number()) << KEY.trailing_zeros();
    Ok(Outcome::Completed)
}

/// INSERT PSW KEY: the PSW key goes to bits 56-59 of general register 2, zeros to bits 60-63.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation, in the problem state when the extraction-authority
/// control is zero.
///
/// Source: Principles of Operation, "INSERT PSW KEY".
pub(super) fn ipk<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    run.extraction()?;
    let key = u64::from(AccessKey::of(&run.cpu.psw).number());
    run.set_register(2, run.register(2) & !0xFF | key << 4);
    Ok(Outcome::Completed)
}
