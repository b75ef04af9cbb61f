//! The parts of a split virtqueue, and the order of the bytes in them.
//!
//! Source: Virtual I/O Device (VIRTIO) 1.2, section 2.7 "Split Virtqueues".

pub use crate::state::device::VERSION_1;
use arch::address::{PAGE, Real};

/// Feature: a descriptor may designate a table of descriptors.
pub const INDIRECT_DESCRIPTORS: u64 = 1 << 28;
/// Feature: both sides tell by an index when they want to be told.
pub const EVENT_INDEX: u64 = 1 << 29;
/// Feature: the device tells when it has used all buffers, whatever the program wants.
pub const NOTIFY_ON_EMPTY: u64 = 1 << 24;

/// Descriptor flag: another descriptor of the buffer follows.
pub const NEXT: u16 = 1;
/// Descriptor flag: the device writes.
pub const WRITE: u16 = 2;
/// Descriptor flag: it designates a table of descriptors.
pub const INDIRECT: u16 = 4;
/// Flag of the ring of offered buffers: the program does not want to be told.
pub const NO_INTERRUPT: u16 = 1;

/// Bytes of a descriptor.
pub const DESCRIPTOR: u64 = 16;

/// The order of the bytes in the numbers of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Leftmost byte first: the CPU's own, before version 1.
    Big,
    /// Rightmost byte first.
    Little,
}

impl Order {
    /// The order for a device whose program has accepted these features.
    #[must_use]
    pub const fn of(features: u64) -> Self {
        if features & VERSION_1 == 0 {
            Self::Big
        } else {
            Self::Little
        }
    }

    /// A halfword, from storage or for it.
    #[must_use]
    pub const fn u16(self, value: u16) -> u16 {
        match self {
            Self::Big => value,
            Self::Little => value.swap_bytes(),
        }
    }

    /// A word, from storage or for it.
    #[must_use]
    pub const fn u32(self, value: u32) -> u32 {
        match self {
            Self::Big => value,
            Self::Little => value.swap_bytes(),
        }
    }

    /// A doubleword, from storage or for it.
    #[must_use]
    pub const fn u64(self, value: u64) -> u64 {
        match self {
            Self::Big => value,
            Self::Little => value.swap_bytes(),
        }
    }
}

/// A descriptor: a piece of storage, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Where the piece begins.
    pub address: u64,
    /// Its length in bytes.
    pub length: u32,
    /// [`NEXT`], [`WRITE`] and [`INDIRECT`].
    pub flags: u16,
    /// The number of the next descriptor.
    pub next: u16,
}

impl Descriptor {
    /// From the two doublewords in storage.
    #[must_use]
    pub const fn from(order: Order, words: [u64; 2]) -> Self {
        Self {
            address: order.u64(words[0]),
            length: order.u32((words[1] >> 32) as u32),
            flags: order.u16((words[1] >> 16) as u16),
            next: order.u16(words[1] as u16),
        }
    }

    /// The two doublewords in storage.
    #[must_use]
    pub const fn words(self, order: Order) -> [u64; 2] {
        let right = (order.u32(self.length) as u64) << 32
            | (order.u16(self.flags) as u64) << 16
            | order.u16(self.next) as u64;
        [order.u64(self.address), right]
    }

    /// Whether it has a flag.
    #[must_use]
    pub const fn has(self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}

/// The bytes of the three parts of a queue: the descriptors, the ring of offered buffers, and the ring of used ones.
#[must_use]
pub const fn lengths(size: u64) -> [u64; 3] {
    [DESCRIPTOR * size, 6 + 2 * size, 6 + 8 * size]
}

/// The boundaries of these parts.
pub const BOUNDARIES: [u64; 3] = [16, 2, 4];

/// The offset of the ring of used buffers from the descriptors, for a queue in one piece.
#[must_use]
pub const fn used_in_one_piece(size: u64, boundary: u64) -> u64 {
    let [descriptors, offered, _] = lengths(size);
    (descriptors + offered).next_multiple_of(boundary)
}

/// The device's rings in the HSA: the only storage of a queue into which it stores.
///
/// The parts lie as those of a queue in one piece do, so both forms of the command designate the same storage.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    begin: Real,
    size: u64,
}

impl Area {
    /// The rings with this many entries that begin here.
    #[must_use]
    pub const fn new(begin: Real, size: u16) -> Self {
        Self {
            begin,
            size: size as u64,
        }
    }

    /// Descriptor `number`.
    #[must_use]
    pub const fn descriptor(self, number: u16) -> Real {
        self.begin.offset(DESCRIPTOR * number as u64)
    }

    /// The ring of offered buffers.
    #[must_use]
    pub const fn offered(self) -> Real {
        self.begin.offset(DESCRIPTOR * self.size)
    }

    /// The ring of used buffers.
    #[must_use]
    pub const fn used(self) -> Real {
        self.begin.offset(used_in_one_piece(self.size, PAGE))
    }

    /// The bytes of all this, in whole pages.
    #[must_use]
    pub const fn length(self) -> u64 {
        let [_, _, used] = lengths(self.size);
        (used_in_one_piece(self.size, PAGE) + used).next_multiple_of(PAGE)
    }
}

/// Descriptors in a unit of the tables.
pub const UNIT: u64 = 16;

/// The machine's records of the descriptors that the device has, and the tables that descriptors designate. The device
/// reads the tables, and stores into none of this.
///
/// A record has the address in its first doubleword. The second has the length, the flags with [`HELD`], and the number
/// of the next descriptor, in the order of a descriptor and in the CPU's own order of the bytes. A doubleword with a bit
/// for each unit of the tables follows the records, and then the tables.
#[derive(Clone, Copy, Debug)]
pub struct Records {
    begin: Real,
    size: u64,
}

/// Bytes that are cleared at a time.
const BLOCK: u64 = 256;

/// Flag of a record: the device has the descriptor.
pub const HELD: u16 = 0x8000;

impl Records {
    /// The records of a queue with this many entries that begin here.
    #[must_use]
    pub const fn new(begin: Real, size: u16) -> Self {
        Self {
            begin,
            size: size as u64,
        }
    }

    /// The record of the descriptor `number`.
    #[must_use]
    pub const fn descriptor(self, number: u16) -> Real {
        self.begin.offset(DESCRIPTOR * number as u64)
    }

    /// The doubleword with the bits of the units in use.
    #[must_use]
    pub const fn units_in_use(self) -> Real {
        self.begin.offset(DESCRIPTOR * self.size)
    }

    /// How many units the tables have: at least as many descriptors as the queue has entries, times four.
    #[must_use]
    pub const fn units(self) -> u32 {
        let units = self.size / 4;
        if units > 64 {
            64
        } else if units < 4 {
            4
        } else {
            units as u32
        }
    }

    /// Unit `number` of the tables.
    #[must_use]
    pub const fn unit(self, number: u32) -> Real {
        let begin = self.units_in_use().0 + DESCRIPTOR;
        Real(begin + number as u64 * UNIT * DESCRIPTOR)
    }

    /// The number of the unit at an address.
    #[must_use]
    pub const fn unit_at(self, address: u64) -> Option<u32> {
        let Some(distance) = address.checked_sub(self.unit(0).0) else {
            return None;
        };
        let number = distance / (UNIT * DESCRIPTOR);
        if number < self.units() as u64 {
            Some(number as u32)
        } else {
            None
        }
    }

    /// The bytes of all this, in whole blocks of [`BLOCK`] bytes.
    #[must_use]
    pub const fn length(self) -> u64 {
        (self.unit(self.units()).0 - self.begin.0).next_multiple_of(BLOCK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_has_its_fields_in_the_order_of_the_device() {
        let little = [0x0010_2000_0000_0000, 0x0100_0000_0300_0500];
        let descriptor = Descriptor::from(Order::Little, little);
        assert_eq!(
            (
                descriptor.address,
                descriptor.length,
                descriptor.flags,
                descriptor.next
            ),
            (0x20_1000, 1, NEXT | WRITE, 5)
        );
        assert_eq!(descriptor.words(Order::Little), little);
        let big = [0x20_1000, 0x0000_0001_0003_0005];
        assert_eq!(Descriptor::from(Order::Big, big), descriptor);
        assert_eq!(descriptor.words(Order::Big), big);
        let order = |features| Order::of(features);
        assert_eq!(
            (order(VERSION_1), order(!VERSION_1)),
            (Order::Little, Order::Big)
        );
    }

    #[test]
    fn the_parts_of_an_area_do_not_overlap_and_end_inside() {
        for size in [1, 2, 8, 63, 64, 65, 128, 256, 1000, 1024] {
            let area = Area::new(Real(0x10_0000), size);
            let [descriptors, offered, used] = lengths(size.into());
            assert!(
                area.descriptor(0).0 + descriptors <= area.offered().0,
                "{size}"
            );
            assert!(area.offered().0 + offered <= area.used().0, "{size}");
            assert!(area.used().0.is_multiple_of(PAGE), "{size}");
            assert!(area.used().0 + used <= 0x10_0000 + area.length(), "{size}");
        }
    }

    #[test]
    fn the_parts_of_the_records_do_not_overlap_and_end_inside() {
        for size in [1, 2, 8, 63, 64, 65, 128, 256, 1000, 1024] {
            let records = Records::new(Real(0x10_0000), size);
            let units_in_use = records.units_in_use().0;
            assert!(
                records.descriptor(size - 1).0 + DESCRIPTOR <= units_in_use,
                "{size}"
            );
            assert!(units_in_use + 8 <= records.unit(0).0, "{size}");
            assert!(
                records.unit(records.units()).0 <= 0x10_0000 + records.length(),
                "{size}"
            );
            assert!(records.length().is_multiple_of(BLOCK), "{size}");
            assert!(u64::from(records.units()) * UNIT >= size.into(), "{size}");
            assert_eq!(records.unit_at(records.unit(3).0), Some(3), "{size}");
            assert_eq!(records.unit_at(records.unit(0).0 - 1), None, "{size}");
            let end = records.unit(records.units()).0;
            assert_eq!(records.unit_at(end), None, "{size}");
        }
    }
}
