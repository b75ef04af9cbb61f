//! Translation of addresses, and access to storage by real address.

use crate::hardware::Hardware;
use crate::millicode::execution::{Execution, fault};
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::path::Path;
use crate::state::access::{Access, AccessKey, Fault, Manner, Space};
use crate::storage::dat::{self, Stop};
use crate::storage::{self};
use arch::address::{Real, Virtual};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption as Exception;
use insn::Operand;

/// Bit 32: R1 holds an interruption code instead of an address.
const NO_ADDRESS: u32 = 1 << 31;

/// The result of LOAD REAL ADDRESS.
enum Found {
    /// An address: real, or of the invalid entry, with its condition code.
    Address(u64, ConditionCode),
    /// An interruption code, with condition code 3.
    Code(u16),
}

/// Translates the second-operand address by the space of the PSW, whether DAT is on or off.
#[inline(always)]
fn find<H: Hardware, P: Path>(
    run: &Execution<'_, H, P>,
    second: Operand,
) -> Result<Found, P::Refusal> {
    run.supervisor()?;
    let at = run.address(second);
    let asce = run.operand_space().asce(run.cpu);
    match dat::walk(run.cpu, run.configuration, run.hardware, asce, at) {
        Ok(found) => Ok(Found::Address(found.real.0, ConditionCode::Zero)),
        Err(stop) => P::general_only(|| stopped(run, asce, at, stop)),
    }
}

/// The result of LOAD REAL ADDRESS when a walk stopped.
#[inline(never)]
fn stopped<H: Hardware, P: Path>(
    run: &Execution<'_, H, P>,
    asce: u64,
    at: Virtual,
    stop: Stop,
) -> Result<Found, Fault> {
    let Stop {
        interruption,
        entry,
    } = stop;
    match interruption {
        Exception::Addressing | Exception::TranslationSpecification => fault(interruption),
        Exception::PageTranslation => Ok(Found::Address(entry.0, ConditionCode::Two)),
        Exception::SegmentTranslation if in_table(run, asce, at, entry) => {
            Ok(Found::Address(entry.0, ConditionCode::One))
        }
        _ => Ok(Found::Code(interruption.code())),
    }
}

/// Whether a segment-table entry at which a walk stopped is inside its table. If so it is invalid;
/// otherwise the table is too short for the address.
fn in_table<H: Hardware, P: Path>(
    run: &Execution<'_, H, P>,
    asce: u64,
    at: Virtual,
    entry: Real,
) -> bool {
    use arch::control::asce::{DESIGNATION_TYPE, TABLE_LENGTH};
    use arch::table::{RTE_LENGTH, RTE_OFFSET, STE_INVALID};
    let part = at.0 >> 29 & 3;
    let inside = if asce & DESIGNATION_TYPE == 0 {
        part <= asce & TABLE_LENGTH
    } else {
        // The region-third-table entry that led here has the length and the offset of the segment
        // table.
        match region_third(run, asce, at) {
            Some(above) => part >= (above & RTE_OFFSET) >> 6 && part <= above & RTE_LENGTH,
            None => false,
        }
    };
    inside && run.entry(entry).is_ok_and(|value| value & STE_INVALID != 0)
}

/// The region-third-table entry of an address whose walk has passed it.
fn region_third<H: Hardware, P: Path>(
    run: &Execution<'_, H, P>,
    asce: u64,
    at: Virtual,
) -> Option<u64> {
    use arch::control::asce::{DESIGNATION_TYPE, ORIGIN};
    use arch::table::RTE_ORIGIN;
    let mut level = (asce & DESIGNATION_TYPE) >> 2;
    let mut origin = asce & ORIGIN;
    loop {
        let index = at.0 >> (20 + 11 * level) & 0x7FF;
        let entry = run.entry(Real(origin.wrapping_add(index * 8))).ok()?;
        if level <= 1 {
            return Some(entry);
        }
        origin = entry & RTE_ORIGIN;
        level -= 1;
    }
}

/// Ends LOAD REAL ADDRESS with a 64-bit result.
#[inline(always)]
fn load<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    r1: u8,
    found: Found,
) -> Performed<P::Refusal> {
    match found {
        Found::Address(address, code) => {
            run.set_register(r1, address);
            run.done(code)
        }
        Found::Code(interruption) => {
            run.set_word(r1, NO_ADDRESS | u32::from(interruption));
            run.done(ConditionCode::Three)
        }
    }
}

/// LOAD REAL ADDRESS (64): the real address of the second operand goes to R1.
///
/// Condition codes: 0, translated; 1, the segment-table entry is invalid, and R1 has its address;
/// 2, the page-table entry is invalid, and R1 has its address; 3, an entry is not in its table or a
/// region is invalid, and bits 32-63 of R1 have a one and the code of the exception that an access
/// would meet.
///
/// Program exceptions: privileged operation; addressing, translation specification (operand 2).
///
/// Source: Principles of Operation, "LOAD REAL ADDRESS (LRAG)".
pub(super) fn lrag<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, second: Operand) -> Performed {
    let found = find(run, second)?;
    load(run, r1, found)
}

/// LOAD REAL ADDRESS (32): as LRAG in the 64-bit addressing mode. In the other modes the real
/// address, of 31 bits, goes to bits 32-63 of R1, and bits 0-31 stay; the address of an entry beyond
/// 2 GiB does not fit there, so condition code 3 and the exception code are given instead.
///
/// Program exceptions: as LRAG; special operation, for a real address beyond 2 GiB in the 24- or
/// 31-bit addressing mode.
///
/// Source: Principles of Operation, "LOAD REAL ADDRESS (LRA, LRAY)".
#[inline(always)]
pub(super) fn lra<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    r1: u8,
    second: Operand,
) -> Performed<P::Refusal> {
    let found = find(run, second)?;
    if P::FAST || run.extended() {
        return load(run, r1, found);
    }
    let found = match found {
        Found::Address(address, ConditionCode::Zero) if address >> 31 != 0 => {
            return fault(Exception::SpecialOperation);
        }
        Found::Address(address, ConditionCode::One) if address >> 31 != 0 => {
            Found::Code(Exception::SegmentTranslation.code())
        }
        Found::Address(address, _) if address >> 31 != 0 => {
            Found::Code(Exception::PageTranslation.code())
        }
        found => found,
    };
    let (word, code) = match found {
        Found::Address(address, code) => (address as u32, code),
        Found::Code(interruption) => (NO_ADDRESS | u32::from(interruption), ConditionCode::Three),
    };
    run.set_word(r1, word);
    run.done(code)
}

/// The real address in register R2, which must be on a boundary.
#[inline]
fn real<H: Hardware, P: Path>(
    run: &Execution<'_, H, P>,
    r2: u8,
    unit: u64,
) -> Result<Real, P::Refusal> {
    run.supervisor()?;
    let at = run.address_in(r2);
    run.boundary(Virtual(at), unit)?;
    Ok(Real(at))
}

/// LOAD USING REAL ADDRESS (32): the word at the real address in R2 goes to bits 32-63 of R1.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the address is not on a word
/// boundary; addressing; protection (key-controlled only).
///
/// Source: Principles of Operation, "LOAD USING REAL ADDRESS".
pub(super) fn lura<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let at = real(run, r2, 4)?;
    let word = storage::real_u32(run.cpu, run.configuration, run.hardware, run.key(), at)?;
    run.set_word(r1, word);
    Ok(Outcome::Completed)
}

/// LOAD USING REAL ADDRESS (64): the doubleword at the real address in R2 goes to R1.
///
/// Condition code: unchanged. Program exceptions: as LURA, on a doubleword boundary.
///
/// Source: Principles of Operation, "LOAD USING REAL ADDRESS".
pub(super) fn lurag<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let at = real(run, r2, 8)?;
    let doubleword = storage::real_u64(run.cpu, run.configuration, run.hardware, run.key(), at)?;
    run.set_register(r1, doubleword);
    Ok(Outcome::Completed)
}

/// STORE USING REAL ADDRESS (32): bits 32-63 of R1 are stored at the real address in R2.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the address is not on a word
/// boundary; protection (low-address and key-controlled protection only); addressing.
///
/// Source: Principles of Operation, "STORE USING REAL ADDRESS".
pub(super) fn stura<H: Hardware>(run: &mut Execution<'_, H>, r1: u8, r2: u8) -> Performed {
    let at = real(run, r2, 4)?;
    let (word, key) = (run.register(r1) as u32, run.key());
    run.cpu.per.note_store_real();
    storage::put_real_u32(run.cpu, run.configuration, run.hardware, key, at, word)?;
    Ok(Outcome::Completed)
}

/// STORE USING REAL ADDRESS (64): R1 is stored at the real address in R2.
///
/// Condition code: unchanged. Program exceptions: as STURA, on a doubleword boundary.
///
/// Source: Principles of Operation, "STORE USING REAL ADDRESS".
#[inline(always)]
pub(super) fn sturg<H: Hardware, P: Path>(
    run: &mut Execution<'_, H, P>,
    r1: u8,
    r2: u8,
) -> Performed<P::Refusal> {
    let at = real(run, r2, 8)?;
    let (doubleword, key) = (run.register(r1), run.key());
    run.cpu.per.note_store_real();
    storage::put_real_u64(
        run.cpu,
        run.configuration,
        run.hardware,
        key,
        at,
        doubleword,
    )?;
    Ok(Outcome::Completed)
}

/// STORE REAL ADDRESS: the real address of the second operand is stored as a doubleword at the
/// first-operand address.
///
/// Condition code: unchanged.
///
/// Program exceptions: privileged operation; specification, when the first operand is not on a
/// doubleword boundary; access (operand 2: translation exceptions as interruptions); access (store,
/// operand 1).
///
/// Source: Principles of Operation, "STORE REAL ADDRESS".
pub(super) fn strag<H: Hardware>(
    run: &mut Execution<'_, H>,
    first: Operand,
    second: Operand,
) -> Performed {
    run.supervisor()?;
    let at = run.address(first);
    run.boundary(at, 8)?;
    let (cpu, space) = (&*run.cpu, run.operand_space());
    let (asce, of) = (space.asce(cpu), run.address(second));
    let (configuration, access) = (run.configuration, Access::Fetch);
    let found = dat::translate(cpu, configuration, run.hardware, asce, space, of, access)?;
    run.put_u64(at, found.real.0)?;
    Ok(Outcome::Completed)
}

/// TEST PROTECTION: tells which accesses the first-operand location permits with the access key in bits 56-59 of the
/// second-operand address.
///
/// It is privileged, but does not trap below; the scanner makes it trap.
///
/// Condition codes: 0, fetch and store permitted; 1, fetch permitted, store not; 2, neither permitted; 3, translation
/// not available.
///
/// Program exceptions: privileged operation; addressing, translation specification (operand 1).
///
/// Source: Principles of Operation, "TEST PROTECTION".
pub(super) fn tprot<H: Hardware>(
    run: &mut Execution<'_, H>,
    first: Operand,
    second: Operand,
) -> Performed {
    run.supervisor()?;
    let at = run.address(first);
    let key = AccessKey::new((run.address(second).0 >> 4) as u8);
    let test = |access| {
        let space = Space::current(run.cpu, access);
        let manner = Manner { space, access, key };
        storage::locate(run.cpu, run.configuration, run.hardware, manner, at, 1)
    };
    let store = test(Access::Store);
    let found = match store {
        Err(fault) if fault.interruption == Exception::Protection => test(Access::Fetch),
        found => found,
    };
    match found {
        Ok(_) if store.is_ok() => run.done(ConditionCode::Zero),
        Ok(_) => run.done(ConditionCode::One),
        Err(fault) => match fault.interruption {
            Exception::Protection => run.done(ConditionCode::Two),
            Exception::Addressing | Exception::TranslationSpecification => Err(fault),
            _ => run.done(ConditionCode::Three),
        },
    }
}
