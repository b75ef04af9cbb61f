//! The diagnostic-sampling data entry.
//!
//! SA23-2260 defines its header and, by model, its format code and size; each model defines the rest.
//! Here the entry has what a basic-sampling data entry leaves out: the whole PSW mask, the address
//! spaces, how often the machine below has had control, and as many general registers as fit.

use super::super::model::{LARGEST_DSDES, Model};
use super::block::BasicEntry;
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The state of the CPU at the sampling point that a diagnostic-sampling data entry records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// How often the machine below has had control of the CPU so far, modulo 2^32.
    pub traps: u32,
    /// Bits 0-63 of the PSW of the program that is measured.
    pub psw_mask: u64,
    /// Control registers 1, 7 and 13.
    pub spaces: [u64; 3],
    /// The general registers.
    pub general: [u64; 16],
}

/// A diagnostic-sampling data entry of any model. A model stores only as many bytes as its entries
/// have, and zeros where a general register would not fit whole.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct DiagnosticEntry {
    /// The data-entry-format code: 8001 and so on, by model.
    pub format: U16,
    /// Bits 16-31: R (16-19, for programming) and I (31, the entry is invalid); always zeros.
    pub indications: U16,
    /// How often the machine below has had control of the CPU so far, modulo 2^32.
    pub traps: U32,
    /// Bits 0-63 of the PSW.
    pub psw_mask: U64,
    /// Control register 1: the primary address space.
    pub primary_space: U64,
    /// Control register 7: the secondary address space.
    pub secondary_space: U64,
    /// Control register 13: the home address space.
    pub home_space: U64,
    /// The general registers: 15, 14, then 0 to 13.
    pub general: [U64; 16],
}

const _: () = assert!(size_of::<DiagnosticEntry>() == 168);

/// The order of the general registers: first those that a call chain begins with.
const REGISTERS: [usize; 16] = [15, 14, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

/// Bytes of an entry in front of the general registers.
const FIXED: usize = core::mem::offset_of!(DiagnosticEntry, general);

/// An entry as it goes into a block: basic, diagnostic, or both.
#[derive(Clone, Copy, Debug)]
pub struct EntryBytes {
    bytes: [u8; Self::LARGEST],
    length: usize,
}

impl EntryBytes {
    const BASIC: usize = size_of::<BasicEntry>();
    const LARGEST: usize = Self::BASIC + LARGEST_DSDES as usize;

    /// The diagnostic-sampling data entry of a model. If the basic-sampling function is active too, a
    /// basic-sampling data entry precedes it, and both are a combined-sampling data entry. A limited
    /// sample has no diagnosis, and zeros after the header.
    #[must_use]
    pub fn diagnostic(
        model: &Model,
        basic: Option<BasicEntry>,
        diagnosis: Option<Diagnosis>,
    ) -> Self {
        let size = usize::from(model.dsdes).min(LARGEST_DSDES as usize);
        let mut bytes = [0; Self::LARGEST];
        let (front, back) = bytes.split_at_mut(if basic.is_some() { Self::BASIC } else { 0 });
        if let Some(basic) = basic {
            front.copy_from_slice(basic.as_bytes());
        }
        let diagnosis = diagnosis.unwrap_or_default();
        let whole = DiagnosticEntry {
            format: U16::new(model.diagnostic_format()),
            indications: U16::ZERO,
            traps: U32::new(diagnosis.traps),
            psw_mask: U64::new(diagnosis.psw_mask),
            primary_space: U64::new(diagnosis.spaces[0]),
            secondary_space: U64::new(diagnosis.spaces[1]),
            home_space: U64::new(diagnosis.spaces[2]),
            general: REGISTERS.map(|number| U64::new(diagnosis.general[number])),
        };
        let registers = (size.saturating_sub(FIXED) / 8).min(REGISTERS.len());
        let told = FIXED + 8 * registers;
        back[..told].copy_from_slice(&whole.as_bytes()[..told]);
        let length = front.len() + size;
        Self { bytes, length }
    }

    /// The bytes to store.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::model::{MODELS, Z10, Z16};
    use super::*;

    const DIAGNOSIS: Diagnosis = Diagnosis {
        traps: 0x0102_0304,
        psw_mask: 0x0705_C001_8000_0000,
        spaces: [0x11, 0x77, 0xDD],
        general: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    };

    #[test]
    fn every_entry_of_a_model_has_room_for_the_fixed_part() {
        for model in &MODELS {
            assert!(usize::from(model.dsdes) >= FIXED, "{}", model.name);
            assert!(model.dsdes <= LARGEST_DSDES, "{}", model.name);
        }
    }

    #[test]
    fn an_entry_has_as_many_whole_registers_as_its_size_allows() {
        let entry = EntryBytes::diagnostic(&Z10, None, Some(DIAGNOSIS));
        let bytes = entry.as_slice();
        assert_eq!(bytes.len(), 64);
        let fixed = [
            0x80, 1, 0, 0, 1, 2, 3, 4, 7, 5, 0xC0, 1, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11,
        ];
        assert_eq!(bytes[..24], fixed);
        let lasts: Vec<u8> = (31..64).step_by(8).map(|at| bytes[at]).collect();
        assert_eq!(lasts, [0x77, 0xDD, 15, 14, 0]);

        let entry = EntryBytes::diagnostic(&Z16, None, Some(DIAGNOSIS));
        let bytes = entry.as_slice();
        assert_eq!(bytes.len(), 173);
        assert_eq!(bytes[..4], [0x80, 7, 0, 0]);
        assert_eq!(bytes[167], 13);
        assert_eq!(bytes[168..], [0; 5]);
    }

    #[test]
    fn a_combined_entry_is_a_basic_entry_and_a_diagnostic_one() {
        let basic = BasicEntry {
            head: U64::new(0x0001_0000_4000_1234),
            instruction_address: U64::new(0x5678),
            ..BasicEntry::default()
        };
        let combined = EntryBytes::diagnostic(&Z10, Some(basic), Some(DIAGNOSIS));
        let alone = EntryBytes::diagnostic(&Z10, None, Some(DIAGNOSIS));
        let (front, back) = combined.as_slice().split_at(32);
        assert_eq!(front, basic.as_bytes());
        assert_eq!(back, alone.as_slice());
    }

    #[test]
    fn a_limited_sample_keeps_only_the_header_of_its_diagnostic_entry() {
        let entry = EntryBytes::diagnostic(&Z16, None, None);
        let (header, rest) = entry.as_slice().split_at(4);
        assert_eq!(header, [0x80, 7, 0, 0]);
        assert_eq!(rest, [0; 169]);
    }
}
