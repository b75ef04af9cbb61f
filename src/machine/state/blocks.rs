//! The machine-level sample-data blocks of a CPU, in the HSA.

use crate::arch::address::{Absolute, PAGE};
use crate::arch::tod::TodExtended;
use crate::cpumf::SampleStorage;
use crate::cpumf::model::BSDES;
use crate::cpumf::sampling::block::Trailer;
use crate::link::data::{Level, SAMPLE_DATA_BLOCK, SampleHead};
use crate::machine::hardware::hsa::{BLOCKS, CpuArea};
use crate::machine::hardware::instruction;
use crate::machine::io::console;
use core::ptr;

/// The machine-level sample-data blocks of one CPU: a ring in the HSA.
#[derive(Debug)]
pub struct Blocks {
    area: CpuArea,
    cpu: u16,
    sequence: u32,
    /// The block that is to be sent next.
    pub(super) oldest: u64,
    /// How many of them there are in the ring.
    count: u64,
    /// Bytes of a sample.
    entry: u64,
    /// The sizes of both kinds of data entries, as bytes 4-7 of a trailer have them.
    sizes: u64,
    /// Where the next sample would have gone when sampling ended.
    pub(super) end: u64,
}

impl Blocks {
    /// The blocks of an area, empty, and their table: block links and a table link to itself. A diagnostic-sampling
    /// data entry has `dsdes` bytes.
    #[must_use]
    pub fn new(area: CpuArea, cpu: u16, dsdes: u16) -> Self {
        let mut blocks = Self {
            area,
            cpu,
            sequence: 0,
            oldest: 0,
            count: BLOCKS,
            entry: BSDES.into(),
            sizes: u64::from(BSDES) << 16 | u64::from(dsdes),
            end: 0,
        };
        blocks.begin(BLOCKS, BSDES.into());
        blocks
    }

    /// Makes a ring of `count` empty blocks, for samples of `entry` bytes.
    pub(super) fn begin(&mut self, count: u64, entry: u64) {
        let count = count.clamp(1, BLOCKS);
        let table = self.area.block_table;
        for block in 0..count {
            self.write(table + block * 8, self.block(block));
            self.clear(block);
        }
        self.write(table + count * 8, table | 1);
        (self.oldest, self.count, self.entry, self.end) = (0, count, entry, 0);
    }

    /// Copies the oldest block if it is full, or the last one, and clears it.
    pub(super) fn take(&mut self, into: &mut [u8; SAMPLE_DATA_BLOCK]) -> Option<u32> {
        let number = self.oldest;
        let begin = self.block(number);
        let trailer = PAGE - size_of::<Trailer>() as u64;
        let is_full = self.read(begin + trailer) >> 63 != 0;
        let used = if is_full {
            trailer
        } else {
            // Zero while samples are taken.
            let used = self
                .end
                .checked_sub(begin)
                .filter(|&used| used <= trailer)?;
            self.end = 0;
            used
        };
        let samples = used / self.entry.max(1);
        if samples == 0 {
            return None;
        }
        self.note_sizes(number);
        into.copy_from_slice(self.bytes(number));
        self.clear(number);
        self.oldest = number + 1;
        if self.oldest >= self.count {
            self.oldest = 0;
        }
        Some(samples as u32)
    }

    /// The table's origin: what goes into the table-entry-address register.
    #[must_use]
    pub const fn table(&self) -> u64 {
        self.area.block_table
    }

    /// Where block `number` is.
    #[must_use]
    pub const fn block(&self, number: u64) -> u64 {
        self.area.blocks + number * PAGE
    }

    fn write(&self, at: u64, value: u64) {
        // SAFETY: a doubleword of this CPU's block area in the HSA, which nothing refers to.
        unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut(at as usize), value) };
    }

    #[inline]
    fn read(&self, at: u64) -> u64 {
        // SAFETY: a doubleword of the block area.
        unsafe { ptr::read_volatile(ptr::with_exposed_provenance(at as usize)) }
    }

    /// Puts the sizes of data entries into the trailer of a block that leaves the machine. The update process stores
    /// them when a block becomes full, and the last one seldom does.
    fn note_sizes(&self, number: u64) {
        let trailer = self.block(number) + PAGE - size_of::<Trailer>() as u64;
        self.write(trailer, self.read(trailer) >> 32 << 32 | self.sizes);
    }

    fn clear(&self, number: u64) {
        // SAFETY: a block of this CPU.
        unsafe {
            let at = ptr::with_exposed_provenance_mut::<u8>(self.block(number) as usize);
            ptr::write_bytes(at, 0, PAGE as usize);
        }
    }

    /// A block, while nothing is stored into it.
    fn bytes(&self, number: u64) -> &[u8; SAMPLE_DATA_BLOCK] {
        let at = ptr::with_exposed_provenance(self.block(number) as usize);
        // SAFETY: a block of this CPU; only the update process stores into it, and it borrows these blocks
        // then.
        unsafe { &*at }
    }

    pub(super) fn send(&mut self, number: u64) {
        let head = SampleHead {
            cpu: self.cpu.into(),
            level: (Level::Machine as u16).into(),
            sequence: self.sequence.into(),
        };
        self.note_sizes(number);
        console::sample_data(&head, self.bytes(number));
        self.sequence += 1;
        self.clear(number);
    }
}

impl SampleStorage for Blocks {
    type Place = Absolute;

    /// The tables and blocks are this machine's own: none of their addresses comes from a guest.
    #[inline]
    fn available(&self, at: Absolute, _length: u64) -> Option<Absolute> {
        Some(at)
    }

    #[inline]
    fn load_u64(&self, place: Absolute, offset: u64) -> u64 {
        self.read(place.offset(offset).0)
    }

    #[inline]
    fn store(&mut self, place: Absolute, offset: u64, bytes: &[u8]) {
        let at = place.offset(offset);
        // SAFETY: inside a block of the area: the update process does not reach into the trailer.
        unsafe {
            let to = ptr::with_exposed_provenance_mut::<u8>(at.0 as usize);
            ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }

    #[inline]
    fn compare_and_swap(&mut self, at: Absolute, expected: u128, new: u128) -> Result<(), u128> {
        // SAFETY: the first 16 bytes of a trailer in the block area.
        unsafe {
            instruction::cdsg(
                ptr::with_exposed_provenance_mut(at.0 as usize),
                expected,
                new,
            )
        }
    }

    fn time_of_day(&self) -> TodExtended {
        TodExtended(instruction::stcke())
    }
}
