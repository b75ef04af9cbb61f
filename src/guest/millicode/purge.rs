//! The instructions that follow a change of a translation: invalidation and purging.
//!
//! The hardware translates by shadow tables, so nothing here purges the hardware itself. A request to
//! drop entries is posted to all CPUs, and each drops them from its shadow and from its TLB when it
//! notices the request.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::access::{Access, Fault};
use crate::state::shadow::Request;
use crate::storage::{self, Checked, scanner, shadow};
use arch::address::{Absolute, Real, Virtual};
use arch::condition::ConditionCode;
use arch::control::asce::{DESIGNATION_TYPE, ORIGIN};
use arch::interruption::ProgramInterruption;
use arch::table::{PTE_INVALID, RTE_INVALID, STE_ORIGIN};

/// The operand-2 bit of COMPARE AND SWAP AND PURGE that requests a purge of the TLB.
const PURGE: u64 = 1;
/// The operand-2 bits of INVALIDATE DAT TABLE ENTRY that must be zeros: 44-51.
const IDTE_RESERVED: u64 = 0xF_F000;
/// Bit 52: clearing by ASCE only, without an invalidation.
const IDTE_CLEARING: u64 = 0x800;

/// Bit 3 of M4, the local-clearing control: the other CPUs need not purge now.
const LOCAL: u8 = 1;

/// Makes every CPU purge its shadow: before this instruction ends, unless M4 says otherwise.
fn purge<H: Hardware>(run: &mut Execution<'_, H>, what: Request, m4: u8) -> Performed {
    if m4 & LOCAL == 0 {
        shadow::purge(run.configuration, run.hardware, what);
    } else {
        shadow::purge_locally(run.configuration, what);
    }
    Ok(Outcome::Completed)
}

/// Sets the invalid bit of a table entry in one interlocked update; returns where the entry is.
fn invalidate<H: Hardware>(
    run: &mut Execution<'_, H>,
    entry: Real,
    invalid: u64,
) -> Result<Absolute, Fault> {
    let at = storage::checked_absolute(run.configuration, run.cpu.absolute(entry), 8)?;
    scanner::store_into(run.configuration, run.hardware, at.absolute());
    let mut found = run.hardware.load_u64(at);
    while found & invalid == 0 {
        match run
            .hardware
            .compare_and_swap_u64(at, found, found | invalid)
        {
            Ok(()) => break,
            Err(other) => found = other,
        }
    }
    Ok(at.absolute())
}

/// INVALIDATE PAGE TABLE ENTRY: R1 is the page-table origin (a real address, bits 53-63 ignored), R2 an
/// address whose page index (bits 44-51) selects the entry, which becomes invalid. The form for a range
/// is not installed, so R3 is ignored. With the local-clearing control in M4 only this CPU need purge.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; addressing (the page-table entry).
///
/// Source: Principles of Operation, "INVALIDATE PAGE TABLE ENTRY".
pub(super) fn ipte<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8, m4: u8) -> Performed {
    run.supervisor()?;
    let index = run.register(r2) >> 12 & 0xFF;
    let entry = Real((run.register(r1) & STE_ORIGIN).wrapping_add(index * 8));
    let entry = invalidate(run, entry, PTE_INVALID)?;
    purge(run, Request::Entry(entry), m4)
}

/// INVALIDATE DAT TABLE ENTRY: unless bit 52 of R2 requests clearing only, invalidates entries of the
/// region or segment table that R1 designates: bits 53-63 of R2 are one less than their number, and the
/// corresponding index in bits 0-43 selects the first. Clearing only is limited to the spaces of the ASCE
/// in R3. Limits of the clearing after an invalidation are ignored: everything is purged. M4 is as for IPTE.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when bits 44-51 of R2 are not zeros;
/// addressing (an entry; entries before it are invalid then, as the manual permits).
///
/// Source: Principles of Operation, "INVALIDATE DAT TABLE ENTRY".
pub(super) fn idte<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    r2: u8,
    r3: u8,
    m4: u8,
) -> Performed {
    run.supervisor()?;
    let (table, selection) = (run.register(r1), run.register(r2));
    if selection & IDTE_RESERVED != 0 {
        return fault(ProgramInterruption::Specification);
    }
    if selection & IDTE_CLEARING != 0 {
        let origin = run.register(r3) & ORIGIN;
        return purge(run, Request::Space(origin), m4);
    }
    let level = (table & DESIGNATION_TYPE) >> 2;
    let first = selection >> (20 + 11 * level);
    for n in 0..=(selection & 0x7FF) {
        let index = first.wrapping_add(n) & 0x7FF;
        let entry = Real((table & ORIGIN).wrapping_add(index * 8));
        if let Err(found) = invalidate(run, entry, RTE_INVALID) {
            let _ = purge(run, Request::All, m4);
            return Err(found);
        }
    }
    purge(run, Request::All, m4)
}

/// The tests of COMPARE AND SWAP AND PURGE: the even register, and the operand in R2, whose bits below
/// its boundary are ignored.
fn operand<H: Hardware>(
    run: &mut Execution<'_, H>,
    r1: u8,
    r2: u8,
    unit: u64,
) -> Result<Checked, Fault> {
    run.supervisor()?;
    if r1 & 1 != 0 {
        return fault(ProgramInterruption::Specification);
    }
    let at = Virtual(run.address_in(r2) & !(unit - 1));
    let at = run.claim(at, unit, Access::Store)?.first.start();
    scanner::store_into(run.configuration, run.hardware, at.absolute());
    Ok(at)
}

/// Ends COMPARE AND SWAP AND PURGE.
fn swapped<H: Hardware>(run: &mut Execution<'_, H>, r2: u8, swapped: bool) -> Performed {
    if !swapped {
        return run.done(ConditionCode::One);
    }
    run.cpu.set_cc(ConditionCode::Zero);
    if run.register(r2) & PURGE != 0 {
        return purge(run, Request::All, 0);
    }
    Ok(Outcome::Completed)
}

/// COMPARE AND SWAP AND PURGE (32): if the word at the logical address in R2 (bits 62-63 ignored) equals
/// bits 32-63 of R1, bits 32-63 of R1 + 1 replace it, and if bit 63 of R2 is one the TLBs of all CPUs are
/// purged. Otherwise the word goes to bits 32-63 of R1. (Bit 62 requests a purge of the ALB, which does
/// not exist here.)
///
/// Condition codes: 0, equal and replaced; 1, unequal.
///
/// Program exceptions: privileged operation; specification, when R1 is odd; access (fetch and
/// store, operand 2).
///
/// Source: Principles of Operation, "COMPARE AND SWAP AND PURGE".
pub(super) fn csp<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let at = operand(run, r1, r2, 4)?;
    let (expected, new) = (run.register(r1) as u32, run.register(r1 | 1) as u32);
    let found = run.hardware.compare_and_swap_u32(at, expected, new);
    if let Err(found) = found {
        run.set_word(r1, found);
    }
    swapped(run, r2, found.is_ok())
}

/// COMPARE AND SWAP AND PURGE (64): as CSP, with a doubleword, whole registers, and bits 61-63 of R2
/// ignored in the address.
///
/// Condition codes and program exceptions: as CSP.
///
/// Source: Principles of Operation, "COMPARE AND SWAP AND PURGE (CSPG)".
pub(super) fn cspg<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let at = operand(run, r1, r2, 8)?;
    let (expected, new) = (run.register(r1), run.register(r1 | 1));
    let found = run.hardware.compare_and_swap_u64(at, expected, new);
    if let Err(found) = found {
        run.set_register(r1, found);
    }
    swapped(run, r2, found.is_ok())
}

/// PURGE TLB, of this CPU.
///
/// Condition code: unchanged. Program exceptions: privileged operation.
///
/// Source: Principles of Operation, "PURGE TLB".
pub(super) fn ptlb<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    run.supervisor()?;
    shadow::renew(run.cpu, run.configuration, run.hardware);
    Ok(Outcome::Completed)
}

/// PURGE ALB: there is no ART-lookaside buffer to purge, because no program runs in the access-register
/// mode.
///
/// Condition code: unchanged. Program exceptions: privileged operation.
///
/// Source: Principles of Operation, "PURGE ALB".
pub(super) fn palb<H: Hardware>(run: &mut Execution<'_, H>) -> Performed {
    run.supervisor()?;
    Ok(Outcome::Completed)
}
