//! A device with its queues, as the program sees them.

use super::channel::{
    Command, DONE, RESET, SET_ADAPTER_INDICATORS, SET_INDICATORS, SET_QUEUE, SET_REVISION,
    Subchannel, WRITE_FEATURES, WRITE_STATUS,
};
use super::{load, store};
use crate::insn::clock::{MICROSECOND, stckf};

/// Descriptor flag: another one follows.
pub const NEXT: u16 = 1;
/// Descriptor flag: the device writes.
pub const WRITE: u16 = 2;
/// Descriptor flag: a table of descriptors.
pub const INDIRECT: u16 = 4;

/// Feature: tables of descriptors.
pub const TABLES: u32 = 1 << 28;

/// A descriptor: address, length, flags, number of the next one.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor(pub u64, pub u32, pub u16, pub u16);

/// How the device announces what it has used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announces {
    /// Not at all.
    Nothing,
    /// By the subchannel's interruption.
    Classic,
    /// By adapter interruptions of subclass 3.
    Adapter,
}

/// Where the parts of a queue are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The descriptors.
    pub descriptors: u64,
    /// The offered buffers.
    pub offered: u64,
    /// The used buffers.
    pub used: u64,
}

/// A queue.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Its parts.
    pub parts: Parts,
    /// Its entries.
    pub size: u16,
    /// How many buffers were offered.
    pub offered: u16,
    /// How many have come back.
    pub returned: u16,
}

/// A device.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Its subchannel.
    pub subchannel: Subchannel,
    /// Where its mebibyte of storage begins.
    pub base: u64,
    /// Whether numbers have the leftmost byte first.
    pub is_legacy: bool,
    /// Its first two queues.
    pub queues: [Queue; 2],
}

impl Device {
    /// The device behind a subchannel.
    #[must_use]
    pub fn new(subchannel: Subchannel) -> Self {
        let base = 0x410_0000 + 0x10_0000 * u64::from(subchannel.number);
        let queue = |number: u64| {
            let base = base + 0x1_0000 * number;
            Queue {
                parts: Parts {
                    descriptors: base,
                    offered: base + 0x4000,
                    used: base + 0x8000,
                },
                size: 16,
                offered: 0,
                returned: 0,
            }
        };
        Self {
            subchannel,
            base,
            is_legacy: false,
            queues: [queue(0), queue(1)],
        }
    }

    /// Where its tables are.
    #[must_use]
    pub const fn table(&self) -> u64 {
        self.base + 0x2_0000
    }

    /// Where its indicators are; the summary is 256 bytes behind them.
    #[must_use]
    pub const fn indicators(&self) -> u64 {
        self.base + 0x3_0000
    }

    /// Where its buffers are.
    #[must_use]
    pub const fn buffers(&self) -> u64 {
        self.base + 0x4_0000
    }

    /// The data of the command that turns on a queue with these parts.
    #[must_use]
    pub fn queue_data(number: u16, size: u16, parts: Parts) -> [u8; 32] {
        let mut data = [0; 32];
        data[..8].copy_from_slice(&parts.descriptors.to_be_bytes());
        data[12..14].copy_from_slice(&number.to_be_bytes());
        data[14..16].copy_from_slice(&size.to_be_bytes());
        data[16..24].copy_from_slice(&parts.offered.to_be_bytes());
        data[24..].copy_from_slice(&parts.used.to_be_bytes());
        data
    }

    /// Turns a queue on, with its parts empty; returns the status.
    pub fn set_queue(&mut self, number: usize) -> u16 {
        let queue = &mut self.queues[number];
        (queue.offered, queue.returned) = (0, 0);
        let Queue { parts, size, .. } = *queue;
        for at in (0..0xC000).step_by(8) {
            store(self.base + 0x1_0000 * number as u64 + at, 0_u64);
        }
        let mut data = Self::queue_data(number as u16, size, parts);
        if self.is_legacy {
            data[8..12].copy_from_slice(&4096_u32.to_be_bytes());
            return (self.subchannel).program(&[Command(SET_QUEUE, 0, &data[..16])]);
        }
        self.subchannel.program(&[Command(SET_QUEUE, 0, &data)])
    }

    /// Resets the device, and sets it up with features 0-31 and this many queues. Returns whether it accepted each
    /// command.
    pub fn set_up(&mut self, features: u32, queues: usize, announces: Announces) -> bool {
        if !self.is_legacy {
            // The first command, or the device assumes the older revision. Later it is known already.
            let _ = (self.subchannel).program(&[Command(SET_REVISION, 0, &[0, 1, 0, 0])]);
        }
        let mut status = [self.subchannel.program(&[Command(RESET, 0, &[])]); 9];
        if self.is_legacy {
            for queue in &mut self.queues {
                // In one piece, with the device's own size.
                let [size, begin] = [u64::from(queue.size), queue.parts.descriptors];
                queue.parts.offered = begin + 16 * size;
                queue.parts.used = begin + (18 * size + 6).next_multiple_of(4096);
            }
        }
        let [a, b, c, d] = features.to_le_bytes();
        status[1] = self.subchannel.program(&[Command(WRITE_STATUS, 0, &[3])]);
        status[2] = self
            .subchannel
            .program(&[Command(WRITE_FEATURES, 0, &[a, b, c, d, 0])]);
        if !self.is_legacy {
            status[3] = self
                .subchannel
                .program(&[Command(WRITE_FEATURES, 0, &[1, 0, 0, 0, 1])]);
            status[4] = self.subchannel.program(&[Command(WRITE_STATUS, 0, &[11])]);
        }
        status[5] = self.announce(announces);
        for number in 0..queues {
            status[6 + number] = self.set_queue(number);
        }
        let ready = if self.is_legacy { 7 } else { 15 };
        status[8] = self
            .subchannel
            .program(&[Command(WRITE_STATUS, 0, &[ready])]);
        status.iter().all(|&status| status == DONE)
    }

    fn announce(&self, announces: Announces) -> u16 {
        let at = self.indicators();
        for offset in (0..512).step_by(8) {
            store(at + offset, 0_u64);
        }
        match announces {
            Announces::Nothing => DONE,
            Announces::Classic => {
                (self.subchannel).program(&[Command(SET_INDICATORS, 0, &at.to_be_bytes())])
            }
            Announces::Adapter => {
                let mut data = [0; 25];
                data[..8].copy_from_slice(&(at + 256).to_be_bytes());
                data[8..16].copy_from_slice(&at.to_be_bytes());
                data[24] = 3;
                (self.subchannel).program(&[Command(SET_ADAPTER_INDICATORS, 0, &data)])
            }
        }
    }

    /// A halfword in the order of the device, or from it.
    #[must_use]
    pub const fn u16(&self, value: u16) -> u16 {
        if self.is_legacy {
            value
        } else {
            value.swap_bytes()
        }
    }

    /// A word.
    #[must_use]
    pub const fn u32(&self, value: u32) -> u32 {
        if self.is_legacy {
            value
        } else {
            value.swap_bytes()
        }
    }

    /// A doubleword.
    #[must_use]
    pub const fn u64(&self, value: u64) -> u64 {
        if self.is_legacy {
            value
        } else {
            value.swap_bytes()
        }
    }

    /// Puts a descriptor at an address.
    pub fn put(&self, at: u64, Descriptor(address, length, flags, next): Descriptor) {
        store(at, self.u64(address));
        store(at + 8, self.u32(length));
        store(at + 12, self.u16(flags));
        store(at + 14, self.u16(next));
    }

    /// Puts a descriptor into a queue.
    pub fn descriptor(&self, queue: usize, number: u64, descriptor: Descriptor) {
        self.put(
            self.queues[queue].parts.descriptors + 16 * number,
            descriptor,
        );
    }

    /// Offers a buffer; the device is not notified.
    pub fn offer(&mut self, queue: usize, number: u16) {
        let own = *self;
        let queue = &mut self.queues[queue];
        let ring = queue.parts.offered;
        let place = u64::from(queue.offered % queue.size);
        store(ring + 4 + 2 * place, own.u16(number));
        queue.offered = queue.offered.wrapping_add(1);
        store(ring + 2, own.u16(queue.offered));
    }

    /// Notifies the device of a queue.
    pub fn notify(&self, queue: usize) -> u64 {
        self.subchannel.notify(queue as u64)
    }

    /// The next buffer that has come back: its number and length.
    pub fn take(&mut self, queue: usize) -> Option<(u32, u32)> {
        let own = *self;
        let queue = &mut self.queues[queue];
        let ring = queue.parts.used;
        if own.u16(load(ring + 2)) == queue.returned {
            return None;
        }
        let place = u64::from(queue.returned % queue.size);
        queue.returned = queue.returned.wrapping_add(1);
        let word = |at| own.u32(load(ring + 4 + 8 * place + at));
        Some((word(0), word(4)))
    }

    /// Waits for a buffer to come back, at most so many microseconds.
    pub fn wait(&mut self, queue: usize, microseconds: u64) -> Option<(u32, u32)> {
        let end = stckf() + microseconds * MICROSECOND;
        loop {
            if let Some(found) = self.take(queue) {
                return Some(found);
            }
            if stckf() > end {
                return None;
            }
        }
    }
}
