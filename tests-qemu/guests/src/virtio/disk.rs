//! A disk: requests of one sector, in three descriptors or in a table of them.

use super::queue::{Descriptor, Device, INDIRECT, NEXT, WRITE};
use super::{load, store};

/// Bytes of a sector.
pub const SECTOR: u64 = 512;
/// The device reads the medium.
pub const READ: u32 = 0;
/// The device writes the medium.
pub const WRITES: u32 = 1;

/// The leftmost bytes of what is on the disk at first, and of what a guest writes.
pub const FIRST_MARK: u64 = 0x4D4D;
/// See [`FIRST_MARK`].
pub const GUEST_MARK: u64 = 0x4747;

/// A doubleword of a sector.
#[must_use]
pub const fn content(mark: u64, sector: u64, number: u64) -> u64 {
    mark << 48 | sector << 16 | number
}

impl Device {
    /// Where the data of a request are.
    #[must_use]
    pub const fn data(&self) -> u64 {
        self.buffers() + 0x1000
    }

    /// Where the device stores the status of a request.
    #[must_use]
    pub const fn status(&self) -> u64 {
        self.buffers() + 0x800
    }

    /// The three descriptors of a request.
    #[must_use]
    pub fn request(&self, kind: u32, sector: u64) -> [Descriptor; 3] {
        let header = self.buffers();
        store(header, self.u32(kind));
        store(header + 4, 0_u32);
        store(header + 8, self.u64(sector));
        store(self.status(), 0xFF_u8);
        let direction = if kind == READ { WRITE } else { 0 };
        [
            Descriptor(header, 16, NEXT, 1),
            Descriptor(self.data(), SECTOR as u32, NEXT | direction, 2),
            Descriptor(self.status(), 1, WRITE, 0),
        ]
    }

    /// Puts descriptors into queue 0, or into its table.
    pub fn put_request(&self, descriptors: &[Descriptor], is_table: bool) {
        for (number, &descriptor) in (0..).zip(descriptors) {
            if is_table {
                self.put(self.table() + 16 * number, descriptor);
            } else {
                self.descriptor(0, number, descriptor);
            }
        }
        if is_table {
            let length = 16 * descriptors.len() as u32;
            self.descriptor(0, 0, Descriptor(self.table(), length, INDIRECT, 0));
        }
    }

    /// Fills the data of a request.
    pub fn fill(&self, mark: u64, sector: u64) {
        for number in 0..SECTOR / 8 {
            store(self.data() + 8 * number, content(mark, sector, number));
        }
    }

    /// Whether the data of a request are those of a sector.
    #[must_use]
    pub fn holds(&self, mark: u64, sector: u64) -> bool {
        (0..SECTOR / 8)
            .all(|number| load::<u64>(self.data() + 8 * number) == content(mark, sector, number))
    }

    /// Performs a request; whether the device has.
    pub fn perform(&mut self, kind: u32, sector: u64, is_table: bool) -> bool {
        let descriptors = self.request(kind, sector);
        self.put_request(&descriptors, is_table);
        self.offer(0, 0);
        self.notify(0);
        self.wait(0, 5_000_000)
            .is_some_and(|(number, _)| number == 0)
            && load::<u8>(self.status()) == 0
    }

    /// Reads a sector that nobody has written.
    pub fn reads(&mut self, sector: u64) -> bool {
        self.fill(0xDEAD, sector);
        self.perform(READ, sector, false) && self.holds(FIRST_MARK, sector)
    }

    /// Writes a sector and reads it.
    pub fn writes(&mut self, sector: u64) -> bool {
        self.fill(GUEST_MARK, sector);
        if !self.perform(WRITES, sector, false) {
            return false;
        }
        self.fill(0xDEAD, sector);
        self.perform(READ, sector, false) && self.holds(GUEST_MARK, sector)
    }
}
