//! Dynamic address translation by the guest's own tables.
//!
//! The hardware translates by shadow tables; what the guest's tables say is found here, once per
//! shadow fill and for every operand that millicode accesses. So this is the one place that decides
//! whether an access exception is the guest's. The walk is the one of the Principles of Operation
//! for a machine without enhanced DAT: no large pages, no validity of a region's protection, and
//! neither format control nor page-frame size is looked at.
//!
//! Nothing is trusted. A table entry that lies outside the guest's storage is an addressing
//! exception, and the walk has at most five steps whatever the tables contain.

use crate::arch::address::{Real, Virtual};
use crate::arch::control::{CR0_INSTRUCTION_EXECUTION_PROTECTION, asce as control};
use crate::arch::interruption::ProgramInterruption;
use crate::arch::psw::AddressSpace;
use crate::arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_FRAME, PTE_INVALID, PTE_PROTECTION, PTE_ZERO, RTE_INVALID,
    RTE_LENGTH, RTE_OFFSET, RTE_ORIGIN, STE_COMMON, STE_INVALID, STE_ORIGIN, STE_PROTECTION,
    TABLE_TYPE, TEID_ADDRESS, TEID_DAT_PROTECTION, TEID_EXECUTION_PROTECTION, TEID_FETCH,
    TEID_LOW_ADDRESS, TEID_STORE,
};
use crate::guest::configuration::Configuration;
use crate::guest::hardware::Hardware;
use crate::guest::vcpu::Vcpu;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Fetches an operand.
    Fetch,
    /// Stores an operand.
    Store,
    /// Fetches an instruction, or the target of an EXECUTE.
    Execute,
}

/// The address space of an access: which control register holds its address-space-control element.
///
/// The values are those of bits 62-63 of the translation-exception identification. The
/// access-register mode is never run, so its value does not occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Space {
    /// The primary address space, by control register 1.
    Primary = 0,
    /// The secondary address space, by control register 7.
    Secondary = 2,
    /// The home address space, by control register 13.
    Home = 3,
}

impl Space {
    /// The space of operands (fetch and store) or of instructions (execute) in the current mode.
    ///
    /// Instructions come from the primary space, but from the home space in the home-space mode.
    #[must_use]
    #[inline]
    pub const fn of(cpu: &Vcpu, access: Access) -> Self {
        Self::in_mode(cpu.psw.address_space(), access)
    }

    /// As [`Space::of`]; `None` with DAT off, when an address is a real one.
    #[must_use]
    #[inline(always)]
    pub const fn current(cpu: &Vcpu, access: Access) -> Option<Self> {
        if cpu.psw.dat() {
            Some(Self::of(cpu, access))
        } else {
            None
        }
    }

    /// As [`Space::of`], in the mode of another PSW.
    #[must_use]
    #[inline]
    pub const fn in_mode(mode: AddressSpace, access: Access) -> Self {
        match (mode, access) {
            (AddressSpace::Home, _) => Self::Home,
            (AddressSpace::Secondary, Access::Fetch | Access::Store) => Self::Secondary,
            _ => Self::Primary,
        }
    }

    /// The address-space-control element of this space.
    #[must_use]
    #[inline]
    pub const fn asce(self, cpu: &Vcpu) -> u64 {
        match self {
            Self::Primary => cpu.control[1],
            Self::Secondary => cpu.control[7],
            Self::Home => cpu.control[13],
        }
    }
}

/// A failed access: the program interruption that it is, with what the interruption stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which exception.
    pub interruption: ProgramInterruption,
    /// Translation-exception identification as stored; zero where none is stored.
    pub identification: u64,
    /// Exception access identification as stored.
    pub access_id: u8,
}

impl Fault {
    /// A program interruption that is not an access exception, or an addressing exception.
    #[must_use]
    #[inline]
    pub const fn plain(interruption: ProgramInterruption) -> Self {
        Self {
            interruption,
            identification: 0,
            access_id: 0,
        }
    }

    /// An access exception with its identification.
    #[must_use]
    #[cold]
    pub const fn access(
        interruption: ProgramInterruption,
        at: Virtual,
        access: Access,
        space: Space,
    ) -> Self {
        let identification = match interruption {
            // Neither of these stores one.
            ProgramInterruption::Addressing | ProgramInterruption::TranslationSpecification => 0,
            _ => identify(at, access, space),
        };
        Self {
            interruption,
            identification,
            access_id: 0,
        }
    }

    /// A store that DAT protection forbids.
    #[must_use]
    #[cold]
    pub const fn dat_protection(at: Virtual, space: Space) -> Self {
        Self::protection(at, Access::Store, space, TEID_DAT_PROTECTION)
    }

    /// An instruction fetch that instruction-execution protection forbids.
    #[must_use]
    #[cold]
    pub const fn execution_protection(at: Virtual, space: Space) -> Self {
        Self::protection(at, Access::Execute, space, TEID_EXECUTION_PROTECTION)
    }

    /// A store that low-address protection forbids.
    #[must_use]
    #[cold]
    pub const fn low_address_protection(at: Virtual, space: Space) -> Self {
        Self::protection(at, Access::Store, space, TEID_LOW_ADDRESS)
    }

    const fn protection(at: Virtual, access: Access, space: Space, kind: u64) -> Self {
        Self {
            interruption: ProgramInterruption::Protection,
            identification: identify(at, access, space) | kind,
            access_id: 0,
        }
    }
}

impl From<ProgramInterruption> for Fault {
    fn from(interruption: ProgramInterruption) -> Self {
        Self::plain(interruption)
    }
}

/// The translation-exception identification: page, fetch or store, and space.
const fn identify(at: Virtual, access: Access, space: Space) -> u64 {
    let kind = match access {
        Access::Store => TEID_STORE,
        Access::Fetch | Access::Execute => TEID_FETCH,
    };
    at.0 & TEID_ADDRESS | kind | space as u64
}

/// Where a virtual address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The real address.
    pub real: Real,
    /// The real address of the page-table entry that says so; zero if no table does.
    pub entry: Real,
    /// DAT protection in any table that counts: segment or page.
    pub protected: bool,
    /// Instruction-execution protection, if control register 0 enables it.
    pub execution_protected: bool,
}

impl Translation {
    /// The translation of an address that no table translates: with DAT off, or in a real space.
    #[must_use]
    #[inline(always)]
    pub const fn untranslated(at: Virtual) -> Self {
        Self {
            real: Real(at.0),
            entry: Real(0),
            protected: false,
            execution_protected: false,
        }
    }
}

/// Why a walk found no real address, and at which entry it stopped.
///
/// LOAD REAL ADDRESS shows the entry to the program; an access shows only the interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The exception that an access would meet.
    pub interruption: ProgramInterruption,
    /// The real address of the entry that is invalid or wrong, or that its table is too short for;
    /// of the table's origin plus the index when no entry could be designated.
    pub entry: Real,
}

/// Translates by the guest's tables, for an access that is then checked against their protection.
///
/// `asce` is the address-space-control element and `space` names it in the identification.
/// The real address is still to be prefixed and checked against the end of storage.
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

/// Translates by the guest's tables; protection is found, not enforced.
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
    // One table after the other, each with the part of the address that is its index; `level` is
    // the type of the table (3 region first, 2 second, 1 third, 0 segment).
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
        // The two leftmost bits of the index select the 4096 bytes of the table that hold it.
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

/// The exception of an index outside a table of this type, and of an invalid entry in it.
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
    let at = cpu.absolute(entry);
    // It is on its boundary, and so is the end of storage.
    if at.0 < configuration.storage_end {
        Ok(hardware.load_u64(at))
    } else {
        Err(Stop {
            interruption: ProgramInterruption::Addressing,
            entry,
        })
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
