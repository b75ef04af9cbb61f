//! An access to storage: what it does, in which address space, where it leads, and how it fails.

use arch::address::{Real, Virtual};
use arch::interruption::ProgramInterruption;
use arch::psw::{AddressSpace, KEY, Psw};
use arch::table::{
    TEID_ADDRESS, TEID_DAT_PROTECTION, TEID_EXECUTION_PROTECTION, TEID_FETCH, TEID_KEY_CONTROLLED,
    TEID_LOW_ADDRESS, TEID_STORE,
};

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
/// The values are those of bits 62-63 of the translation-exception identification. With DAT on the guest
/// never runs in the access-register mode, so its value does not occur.
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
    /// As [`Space::of`], for the mode of another PSW.
    #[must_use]
    #[inline]
    pub const fn in_mode(mode: AddressSpace, access: Access) -> Self {
        match (mode, access) {
            (AddressSpace::Home, _) => Self::Home,
            (AddressSpace::Secondary, Access::Fetch | Access::Store) => Self::Secondary,
            _ => Self::Primary,
        }
    }
}

/// The key of an access: of the PSW, or one that the instruction specifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessKey(u8);

impl AccessKey {
    /// Key zero, which matches every storage key. References to which key-controlled protection does not apply have it,
    /// too.
    pub const ZERO: Self = Self(0);

    /// The access key in the rightmost four bits.
    #[must_use]
    #[inline]
    pub const fn new(key: u8) -> Self {
        Self(key & 15)
    }

    /// The key of a PSW.
    #[must_use]
    #[inline(always)]
    pub const fn of(psw: &Psw) -> Self {
        Self(((psw.mask & KEY) >> KEY.trailing_zeros()) as u8)
    }

    /// Its number.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Whether it is key zero, for which nothing needs to be tested.
    #[must_use]
    #[inline(always)]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// The manner in which an operand is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// The address space; none if the address is a real one.
    pub space: Option<Space>,
    /// What the access does.
    pub access: Access,
    /// The access key.
    pub key: AccessKey,
}

impl Manner {
    /// An access to which key-controlled protection does not apply.
    #[must_use]
    #[inline(always)]
    pub const fn without_key(space: Option<Space>, access: Access) -> Self {
        Self {
            space,
            access,
            key: AccessKey::ZERO,
        }
    }

    /// An access by real address.
    #[must_use]
    #[inline(always)]
    pub const fn real(access: Access, key: AccessKey) -> Self {
        Self {
            space: None,
            access,
            key,
        }
    }
}

/// A failed access, or another exception: its program interruption, with what the interruption stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The exception.
    pub interruption: ProgramInterruption,
    /// Translation-exception identification as stored, or a data-exception code; zero where none is stored.
    pub identification: u64,
    /// Exception access identification as stored.
    pub access_id: u8,
    /// Operand access identification, if the interruption stores one.
    pub operand_access: Option<u8>,
}

impl Fault {
    /// A program interruption that stores no identification: any but an access exception, or an addressing exception.
    #[must_use]
    #[inline]
    pub const fn plain(interruption: ProgramInterruption) -> Self {
        Self {
            interruption,
            identification: 0,
            access_id: 0,
            operand_access: None,
        }
    }

    /// A data exception with its code.
    #[must_use]
    #[cold]
    pub const fn data(code: u8) -> Self {
        Self {
            identification: code as u64,
            ..Self::plain(ProgramInterruption::Data)
        }
    }

    /// An access exception, with its identification.
    #[must_use]
    #[cold]
    pub const fn access(
        interruption: ProgramInterruption,
        at: Virtual,
        access: Access,
        space: Space,
    ) -> Self {
        let identification = match interruption {
            // These two store no identification.
            ProgramInterruption::Addressing | ProgramInterruption::TranslationSpecification => 0,
            _ => identify(at, access, space),
        };
        Self {
            interruption,
            identification,
            access_id: 0,
            operand_access: None,
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

    /// An access that key-controlled protection forbids.
    #[must_use]
    #[cold]
    pub const fn key_controlled_protection(at: Virtual, access: Access, space: Space) -> Self {
        Self::protection(at, access, space, TEID_KEY_CONTROLLED)
    }

    const fn protection(at: Virtual, access: Access, space: Space, kind: u64) -> Self {
        Self {
            interruption: ProgramInterruption::Protection,
            identification: identify(at, access, space) | kind,
            access_id: 0,
            operand_access: None,
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
    /// The real address of the page-table entry used; zero if there was none.
    pub entry: Real,
    /// DAT protection, of the segment or of the page.
    pub protected: bool,
    /// Instruction-execution protection, if control register 0 enables it.
    pub execution_protected: bool,
}

impl Translation {
    /// The translation of an address for which no table is used: with DAT off, or in a real space.
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
