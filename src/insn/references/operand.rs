//! The address and the length of an operand, from the fields of the text.

use super::{Access, OperandSpace, Step};
use crate::format;

/// The fields that give the address of an operand. The left half of a byte is bits 0-3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Base and 12-bit displacement in bytes 2-3.
    Base,
    /// Base and 12-bit displacement in bytes 4-5.
    Behind,
    /// Base and 20-bit displacement in bytes 2-4.
    Long,
    /// Base, index in the right half of byte 1, and 12-bit displacement.
    Indexed,
    /// Base, index and 20-bit displacement.
    IndexedLong,
    /// Relative to the instruction by the halfwords in bytes 2-5.
    Relative,
}

/// The fields that give the length of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// This many bytes.
    Bytes(u8),
    /// L in byte 1, plus one.
    Length,
    /// L1 in the left half of byte 1, plus one.
    Length1,
    /// L2 in the right half of byte 1, plus one.
    Length2,
    /// A byte for each one in the mask in the right half of byte 1.
    Mask,
    /// This many bytes for each register from R1 to R3, which wrap from 15 to 0.
    Registers(u8),
    /// Sixteen bytes for each vector register from V1 to V3.
    Vectors,
    /// An element of the size in M3.
    Element,
    /// The same; M3 of 6 is a word that goes to the left.
    LogicalElement,
    /// Sixteen bytes, or fewer up to the block boundary in M3.
    Block,
    /// The highest index in R3, plus one, at most sixteen.
    HighestIndex,
    /// The length code in bits 3-7 of I3, plus one.
    Immediate,
}

impl Step<'_> {
    /// Reports an operand that the text describes.
    pub(super) fn operand(&mut self, access: Access, place: Place, extent: Extent) {
        let (address, base) = self.place(place);
        let length = self.extent(extent, address);
        self.access(access, address, length, OperandSpace::Current(base));
    }

    /// The address of an operand, and its base register.
    pub(super) fn place(&self, place: Place) -> (u64, u8) {
        let text = self.text;
        let operand = match place {
            Place::Base => format::s::second(text),
            Place::Behind => format::ss::second(text),
            Place::Long => format::siy::first(text),
            Place::Indexed => format::rx::second(text),
            Place::IndexedLong => format::rxy::second(text),
            Place::Relative => {
                let address = self.at.wrapping_add_signed(format::ril::ri2(text).bytes());
                return (address & self.wrap, 0);
            }
        };
        (self.address(operand), operand.base)
    }

    fn extent(&self, extent: Extent, address: u64) -> u64 {
        let text = self.text;
        let (left, right) = (text[1] >> 4, text[1] & 15);
        let m3 = text[4] >> 4;
        match extent {
            Extent::Bytes(bytes) => bytes.into(),
            Extent::Length => u64::from(text[1]) + 1,
            Extent::Length1 => u64::from(left) + 1,
            Extent::Length2 => u64::from(right) + 1,
            Extent::Mask => right.count_ones().into(),
            Extent::Registers(bytes) => {
                (u64::from(right.wrapping_sub(left) & 15) + 1) * u64::from(bytes)
            }
            Extent::Vectors => {
                // RXB: the fifth, leftmost bit of the number of each vector register.
                let (v1, v3) = (left | (text[4] & 8) << 1, right | (text[4] & 4) << 2);
                (u64::from(v3.saturating_sub(v1)) + 1) * 16
            }
            Extent::LogicalElement if m3 == 6 => 4,
            Extent::Element | Extent::LogicalElement => 1 << (m3 & 3),
            Extent::Block => {
                let block = 64_u64 << (m3 & 7);
                (block - address % block).min(16)
            }
            Extent::HighestIndex => (self.content(right) & 0xFFFF_FFFF).min(15) + 1,
            Extent::Immediate => u64::from(text[1] & 31) + 1,
        }
    }
}
