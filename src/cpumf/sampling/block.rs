//! The sampling buffer: tables, blocks, data entries and trailers.
//!
//! One description serves the firmware, which writes the blocks, and the host, which reads them.

use arch::address::Absolute;
use zerocopy::byteorder::big_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The format code of the basic-sampling data entry.
pub const BASIC_FORMAT: u16 = 0x0001;

/// A basic-sampling data entry: 32 bytes of format 0001.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    FromBytes,
    IntoBytes,
    KnownLayout,
    Immutable,
    Unaligned,
)]
#[repr(C)]
pub struct BasicEntry {
    /// Bits 0-63: format code, U, T, W, P, AS, I, CL, H, LS and primary ASN.
    pub head: U64,
    /// The instruction address.
    pub instruction_address: U64,
    /// The guest program parameter.
    pub guest_program_parameter: U64,
    /// The host program parameter.
    pub host_program_parameter: U64,
}

const _: () = assert!(size_of::<BasicEntry>() == 32);

impl BasicEntry {
    /// Puts entries into an order in which equal ones are side by side.
    pub fn sort(entries: &mut [Self]) {
        entries.sort_unstable_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
    }

    /// Bits `first` to `last` of the entry's first doubleword.
    #[inline]
    const fn field(&self, first: u32, last: u32) -> u64 {
        arch::bits::field64(self.head.get(), first, last)
    }

    /// The data-entry-format code: 0001 in a basic-sampling data entry.
    #[must_use]
    #[inline]
    pub const fn format(&self) -> u16 {
        self.field(0, 15) as u16
    }

    /// U: the number of unique instructions at the sampling point.
    #[must_use]
    #[inline]
    pub const fn unique_instructions(&self) -> u8 {
        self.field(20, 23) as u8
    }

    /// T: the DAT mode.
    #[must_use]
    #[inline]
    pub const fn dat(&self) -> bool {
        self.field(26, 26) != 0
    }

    /// W: the wait state.
    #[must_use]
    #[inline]
    pub const fn wait(&self) -> bool {
        self.field(27, 27) != 0
    }

    /// P: the problem state.
    #[must_use]
    #[inline]
    pub const fn problem_state(&self) -> bool {
        self.field(28, 28) != 0
    }

    /// AS: the address-space control.
    #[must_use]
    #[inline]
    pub const fn address_space(&self) -> u8 {
        self.field(29, 30) as u8
    }

    /// I: the entry is invalid.
    #[must_use]
    #[inline]
    pub const fn invalid(&self) -> bool {
        self.field(31, 31) != 0
    }

    /// CL: the configuration level, as a code.
    #[must_use]
    #[inline]
    pub const fn configuration_level(&self) -> u8 {
        self.field(32, 33) as u8
    }

    /// H: the host indicator.
    #[must_use]
    #[inline]
    pub const fn host_indicator(&self) -> bool {
        self.field(34, 34) != 0
    }

    /// LS: a limited sample of a secure guest.
    #[must_use]
    #[inline]
    pub const fn limited(&self) -> bool {
        self.field(35, 35) != 0
    }

    /// The primary ASN.
    #[must_use]
    #[inline]
    pub const fn primary_asn(&self) -> u16 {
        self.field(48, 63) as u16
    }
}

/// F, bit 0 of the trailer: the block is full. This mask and the next two are for its first 16 bytes.
pub const FULL: u128 = 1 << 127;
/// A, bit 1: the program requests an alert when the block becomes full.
pub const ALERT_REQUEST: u128 = 1 << 126;
/// T, bit 2: the timestamp is in STORE CLOCK EXTENDED format.
pub const TIMESTAMP_EXTENDED: u128 = 1 << 125;

/// The trailer entry: the last 64 bytes of a sample-data block.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Trailer {
    /// Bits 0-2 are F, A and T.
    pub flags: u8,
    /// Reserved; remains unchanged.
    pub reserved_1: [u8; 3],
    /// Size of the basic-sampling data entry.
    pub bsdes: U16,
    /// Size of the diagnostic-sampling data entry.
    pub dsdes: U16,
    /// The number of samples that were lost because the block was full.
    pub overflow_count: U64,
    /// When the block became full: a TOD-clock value in the format that T indicates.
    pub timestamp: [u8; 16],
    /// Reserved; remains unchanged.
    pub reserved_32: U64,
    /// Reserved for IBM use; left unchanged here, as a program may keep its own marks in it.
    pub reserved_40: U64,
    /// The program's; remains unchanged.
    pub program: [U64; 2],
}

const _: () = assert!(size_of::<Trailer>() == 64);

/// The offset of the timestamp in the trailer.
pub const TIMESTAMP_OFFSET: u64 = 16;

const _: () = assert!(core::mem::offset_of!(Trailer, timestamp) as u64 == TIMESTAMP_OFFSET);

impl Trailer {
    /// F: the block is full.
    #[must_use]
    pub const fn full(&self) -> bool {
        self.flags & 0x80 != 0
    }

    /// A: the program requests an alert when the block becomes full.
    #[must_use]
    pub const fn alert_request(&self) -> bool {
        self.flags & 0x40 != 0
    }

    /// T: the timestamp is in STORE CLOCK EXTENDED format.
    #[must_use]
    pub const fn timestamp_extended(&self) -> bool {
        self.flags & 0x20 != 0
    }
}

/// The number of basic-sampling data entries that a 4 KiB block holds.
pub const ENTRIES: usize = (4096 - size_of::<Trailer>()) / size_of::<BasicEntry>();

/// A 4 KiB sample-data block of basic-sampling data entries.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SampleDataBlock {
    /// The data entries, from the front; those not yet used have a format code of zeros if the
    /// program cleared the block.
    pub entries: [BasicEntry; ENTRIES],
    /// The trailer.
    pub trailer: Trailer,
}

const _: () = assert!(size_of::<SampleDataBlock>() == 4096);

impl SampleDataBlock {
    /// The data entries before the first unused one.
    pub fn samples(&self) -> impl Iterator<Item = &BasicEntry> {
        self.entries
            .iter()
            .take_while(|entry| entry.format() == BASIC_FORMAT)
    }
}

/// An entry of a sample-data-block table. Bit 63 distinguishes a table link from a block link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableEntry(pub u64);

impl TableEntry {
    /// The link to a sample-data block.
    #[must_use]
    pub const fn block_link(block: Absolute) -> Self {
        Self(block.0 & !1)
    }

    /// The link to a sample-data-block table, the last entry of every table.
    #[must_use]
    pub const fn table_link(table: Absolute) -> Self {
        Self(table.0 | 1)
    }

    /// Bit 63: whether this is a table-link entry.
    #[must_use]
    #[inline]
    pub const fn is_table_link(self) -> bool {
        self.0 & 1 != 0
    }

    /// A table-link entry's table origin: bits 0-59, with four zeros on the right.
    #[must_use]
    #[inline]
    pub const fn table_origin(self) -> u64 {
        self.0 & !0xF
    }

    /// A block-link entry's block origin: the bits outside `block_mask`, the mask of an offset within a
    /// block.
    #[must_use]
    #[inline]
    pub const fn block_origin(self, block_mask: u64) -> u64 {
        self.0 & !block_mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_holds_126_entries_and_a_trailer() {
        assert_eq!(ENTRIES, 126);
        assert_eq!(core::mem::offset_of!(SampleDataBlock, trailer), 4032);
    }

    #[test]
    fn the_trailer_head_has_its_three_indicators_on_the_left() {
        for (bit, byte) in [
            (FULL, 0x80),
            (ALERT_REQUEST, 0x40),
            (TIMESTAMP_EXTENDED, 0x20),
        ] {
            assert_eq!(bit.to_be_bytes()[0], byte);
        }
    }

    #[test]
    fn each_indicator_of_the_trailer_is_a_bit_of_its_first_byte() {
        let mut trailer = Trailer::read_from_bytes(&[0; 64]).unwrap();
        for flags in 0..=0xFF {
            trailer.flags = flags;
            assert_eq!(trailer.full(), flags >> 7 & 1 == 1, "{flags:02X}");
            assert_eq!(trailer.alert_request(), flags >> 6 & 1 == 1, "{flags:02X}");
            assert_eq!(
                trailer.timestamp_extended(),
                flags >> 5 & 1 == 1,
                "{flags:02X}"
            );
        }
    }

    #[test]
    fn every_field_of_a_basic_entry_has_its_own_bits_of_the_first_doubleword() {
        let fields = |entry: &BasicEntry| {
            [
                u64::from(entry.format()),
                u64::from(entry.unique_instructions()),
                u64::from(entry.dat()),
                u64::from(entry.wait()),
                u64::from(entry.problem_state()),
                u64::from(entry.address_space()),
                u64::from(entry.invalid()),
                u64::from(entry.configuration_level()),
                u64::from(entry.host_indicator()),
                u64::from(entry.limited()),
                u64::from(entry.primary_asn()),
            ]
        };
        // The bits of each field, the last one with the value one.
        let places = [
            0..=15_u32,
            20..=23,
            26..=26,
            27..=27,
            28..=28,
            29..=30,
            31..=31,
            32..=33,
            34..=34,
            35..=35,
            48..=63,
        ];
        for bit in 0..64 {
            let entry = BasicEntry {
                head: U64::new(1 << (63 - bit)),
                ..BasicEntry::default()
            };
            let expected = places.clone().map(|place| {
                let is_its_own = place.contains(&bit);
                u64::from(is_its_own) << place.end().saturating_sub(bit)
            });
            assert_eq!(fields(&entry), expected, "bit {bit}");
        }
    }

    #[test]
    fn a_link_says_in_bit_63_whether_it_designates_a_table_or_a_block() {
        let block = TableEntry::block_link(Absolute(0x12_3001));
        assert_eq!((block.0, block.is_table_link()), (0x12_3000, false));
        let table = TableEntry::table_link(Absolute(0x12_3010));
        assert_eq!((table.0, table.is_table_link()), (0x12_3011, true));
        assert_eq!(TableEntry::table_link(Absolute(table.0)), table);
    }

    #[test]
    fn a_link_entry_ignores_the_bits_below_its_origin() {
        let entry = TableEntry(0x0012_3456_7ABC_DEFE);
        assert!(!entry.is_table_link());
        assert_eq!(entry.block_origin(0xFFF), 0x0012_3456_7ABC_D000);
        assert_eq!(entry.block_origin(0xF_FFFF), 0x0012_3456_7AB0_0000);
        let entry = TableEntry(0x0012_3456_7ABC_DEFF);
        assert!(entry.is_table_link());
        assert_eq!(entry.table_origin(), 0x0012_3456_7ABC_DEF0);
    }

    #[test]
    fn the_samples_of_a_block_end_at_the_first_unused_entry() {
        let mut block = SampleDataBlock::read_from_bytes(&[0; 4096]).unwrap();
        assert_eq!(block.samples().count(), 0);
        block.entries[0].head = U64::new(1 << 48);
        block.entries[1].head = U64::new(1 << 48);
        block.entries[3].head = U64::new(1 << 48);
        assert_eq!(block.samples().count(), 2);
    }
}
