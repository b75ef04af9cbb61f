//! Dynamic address translation by the guest's own tables.
//!
//! The hardware translates by shadow tables. The guest's tables are used here, once for each shadow
//! fill and for every operand that millicode accesses. So this file alone decides whether an access
//! exception is the guest's. The walk is that of the Principles of Operation for a machine without
//! enhanced DAT: there are no large pages, the protection bit of a region-table entry is ignored,
//! and so are format control and page-frame size.
//!
//! Nothing is trusted. A table entry outside the guest's storage is an addressing exception, and the
//! walk has at most five steps whatever the tables contain.

use crate::hardware::Hardware;
use crate::state::access::{Access, Fault, Space, Translation};
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::storage::checked::Checked;
use arch::address::{Real, Virtual};
use arch::control::{CR0_INSTRUCTION_EXECUTION_PROTECTION, asce as control};
use arch::interruption::ProgramInterruption;
use arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_FRAME, PTE_INVALID, PTE_PROTECTION, PTE_ZERO, RTE_INVALID,
    RTE_LENGTH, RTE_OFFSET, RTE_ORIGIN, STE_COMMON, STE_INVALID, STE_ORIGIN, STE_PROTECTION,
    TABLE_TYPE,
};

/// Why a walk found no real address, and at which entry it stopped.
///
/// LOAD REAL ADDRESS shows the entry to the program; an access shows only the interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The exception that an access would meet.
    pub interruption: ProgramInterruption,
    /// The real address of the entry that is invalid or wrong, or that its table is too short for.
    /// If no entry could be designated, the table's origin plus the index.
    pub entry: Real,
}

/// Translates by the guest's tables, for an access that is then checked against their protection.
///
/// `asce` is the address-space-control element, and `space` is its name in the identification. The
/// caller still has to prefix the real address and check it against the end of storage.
///
/// # Errors
/// In priority order, one of: ASCE type (38), then at each table region-first (39), -second (3A),
/// -third (3B), segment (10) or page translation (11) for an index outside the table or an invalid
/// entry, addressing (05) for an entry outside storage, translation specification (12) for an entry
/// of the wrong type, for a common segment in a private space or for a one in bit 52 of a page-table
/// entry; last, protection (04) for a store to a protected page and for a fetch of an instruction
/// from a page with instruction-execution protection.
///
/// z/Architecture Principles of Operation, chapter 3, "Translation Process".
#[inline]
pub fn translate<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    asce: u64,
    space: Space,
    at: Virtual,
    access: Access,
) -> Result<Translation, Fault> {
    match walk(cpu, configuration, hardware, asce, at) {
        Ok(found) if access == Access::Store && found.protected => {
            Err(Fault::dat_protection(at, space))
        }
        Ok(found) if access == Access::Execute && found.execution_protected => {
            Err(Fault::execution_protection(at, space))
        }
        Ok(found) => Ok(found),
        Err(stop) => Err(Fault::access(stop.interruption, at, access, space)),
    }
}

/// Translates by the guest's tables; returns protection without enforcing it.
///
/// # Errors
/// As [`translate`], without protection.
#[inline]
pub fn walk<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    asce: u64,
    at: Virtual,
) -> Result<Translation, Stop> {
    use ProgramInterruption as P;
    if asce & control::REAL_SPACE != 0 {
        return Ok(Translation::untranslated(at));
    }
    // One table after the other, each indexed by its part of the address; `level` is the type of the
    // table (3 region first, 2 second, 1 third, 0 segment).
    let mut level = (asce & control::DESIGNATION_TYPE) >> 2;
    let mut origin = asce & control::ORIGIN;
    let mut first = 0;
    let mut last = asce & control::TABLE_LENGTH;
    if level < 3 && at.0 >> (31 + 11 * level) != 0 {
        return Err(Stop {
            interruption: P::AsceType,
            entry: Real(origin),
        });
    }
    let entry = loop {
        let index = at.0 >> (20 + 11 * level) & 0x7FF;
        let entry = Real(origin.wrapping_add(index * 8));
        // The two leftmost bits of the index select the 4096 bytes of the table that contain the
        // entry.
        let part = index >> 9;
        if part < first || part > last {
            return Err(Stop {
                interruption: translation_exception(level),
                entry,
            });
        }
        let value = load(cpu, configuration, hardware, entry)?;
        // The invalid bit is in the same place in region- and segment-table entries.
        const { assert!(RTE_INVALID == STE_INVALID) };
        if value & (RTE_INVALID | TABLE_TYPE) != level << 2 {
            let interruption = if value & RTE_INVALID != 0 {
                translation_exception(level)
            } else {
                P::TranslationSpecification
            };
            return Err(Stop {
                interruption,
                entry,
            });
        }
        if level == 0 {
            if value & STE_COMMON != 0 && asce & control::PRIVATE_SPACE != 0 {
                return Err(Stop {
                    interruption: P::TranslationSpecification,
                    entry,
                });
            }
            break value;
        }
        level -= 1;
        origin = value & RTE_ORIGIN;
        first = (value & RTE_OFFSET) >> 6;
        last = value & RTE_LENGTH;
    };
    let page = Real((entry & STE_ORIGIN).wrapping_add((at.0 >> 12 & 0xFF) * 8));
    let value = load(cpu, configuration, hardware, page)?;
    if value & PTE_INVALID != 0 {
        return Err(Stop {
            interruption: P::PageTranslation,
            entry: page,
        });
    }
    if value & PTE_ZERO != 0 {
        return Err(Stop {
            interruption: P::TranslationSpecification,
            entry: page,
        });
    }
    Ok(Translation {
        real: Real(value & PTE_FRAME | at.byte_index()),
        entry: page,
        protected: entry & STE_PROTECTION != 0 || value & PTE_PROTECTION != 0,
        execution_protected: value & PTE_EXECUTION_PROTECTION != 0
            && cpu.control[0] & CR0_INSTRUCTION_EXECUTION_PROTECTION != 0,
    })
}

/// The exception for an index outside a table of this type, and for an invalid entry in it.
#[inline]
const fn translation_exception(level: u64) -> ProgramInterruption {
    match level {
        0 => ProgramInterruption::SegmentTranslation,
        1 => ProgramInterruption::RegionThirdTranslation,
        2 => ProgramInterruption::RegionSecondTranslation,
        _ => ProgramInterruption::RegionFirstTranslation,
    }
}

/// Fetches a table entry: a real address, to which prefixing applies.
#[inline]
fn load<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    entry: Real,
) -> Result<u64, Stop> {
    match Checked::doubleword(cpu.absolute(entry), &configuration.storage) {
        Some(at) => Ok(hardware.load_u64(at)),
        None => Err(Stop {
            interruption: ProgramInterruption::Addressing,
            entry,
        }),
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
