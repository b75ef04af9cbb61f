//! The rings between program and device.
//!
//! A device uses the addresses in its rings at any time, so it has rings of its own in the HSA. Descriptors are copied
//! to them while their addresses are checked, as soon as the program notifies the device; used buffers are copied back
//! when the device interrupts. So the device never sees an address that was not checked, and what it has seen does not
//! change before it has given the buffer back.
//!
//! What the machine must know of a buffer that comes back (addresses, lengths, flags) it takes from its own records. It
//! never reads a descriptor of the rings again, because a device could have stored into them.
//!
//! A program that offers what no device accepts is told so by the device: the machine offers it a buffer with a
//! number that no queue has. From then on the device wants to be reset.
//!
//! The device sees no suppression of interruptions and no event index, so it announces each used buffer. The program may
//! use both; it is told only if it wants to be. It is never told that it need not notify.
//!
//! The order of the bytes depends on the features that the program has accepted. Should the machine and the device not
//! agree on it, then still no address leads to the HSA: a piece whose address in the other order is one of the machine's
//! storage is checked in that order, too. With less than 4 GiB of it only zero is. Once a device of version 1 has its
//! features for good there is one order, and nothing more to check.
//!
//! Source: Virtual I/O Device (VIRTIO) 1.2, section 2.7 "Split Virtqueues".

use super::ring::{
    Area, DESCRIPTOR, Descriptor, EVENT_INDEX, HELD, INDIRECT, INDIRECT_DESCRIPTORS, NEXT,
    NO_INTERRUPT, NOTIFY_ON_EMPTY, Order, Records, UNIT, WRITE, lengths,
};
use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::device::{Agreed, Queue, QueuePlace, Rings};
use crate::storage::{self, Piece, scanner};
use arch::address::{Absolute, Real};
use core::sync::atomic::{Ordering, fence};

/// The number of a buffer that no queue has.
const IMPOSSIBLE: u16 = u16::MAX;

/// Into so many bytes of storage a device may store at a time by the buffers of a queue; a longer one is refused. The
/// machine looks at each page of them, and meanwhile does nothing else.
const MOST_LENT: u64 = 1 << 30;

/// Why a buffer is not passed on to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// No device accepts it.
    Bad,
    /// There is no room for its table until the device has used other buffers.
    Later,
}

/// A queue whose rings are both known.
struct Between<'a, H> {
    configuration: &'a Configuration,
    hardware: &'a mut H,
    queue: &'a mut Queue,
    agreed: Agreed,
    order: Order,
    area: Area,
    records: Records,
    /// The program's descriptors, offered buffers and used ones.
    descriptors: Piece,
    offered: Piece,
    used: Piece,
}

impl<'a, H: Hardware> Between<'a, H> {
    /// The queue, if it is turned on.
    fn of(
        configuration: &'a Configuration,
        hardware: &'a mut H,
        agreed: Agreed,
        queue: &'a mut Queue,
    ) -> Option<Self> {
        let Rings {
            descriptors,
            offered,
            used,
        } = queue.rings?;
        let piece = |at, length| storage::checked_piece(configuration, Absolute(at), length);
        let [first, second, third] = lengths(queue.size.into());
        Some(Self {
            descriptors: piece(descriptors, first)?,
            offered: piece(offered, second)?,
            used: piece(used, third)?,
            ..Self::without_program(configuration, hardware, agreed, queue)
        })
    }

    /// The queue without the program's rings.
    fn without_program(
        configuration: &'a Configuration,
        hardware: &'a mut H,
        agreed: Agreed,
        queue: &'a mut Queue,
    ) -> Self {
        Self {
            configuration,
            order: Order::of(agreed.features),
            area: Area::new(queue.place.rings, queue.size),
            records: Records::new(queue.place.records, queue.size),
            descriptors: Piece::NONE,
            offered: Piece::NONE,
            used: Piece::NONE,
            hardware,
            queue,
            agreed,
        }
    }

    fn has(&self, feature: u64) -> bool {
        self.agreed.features & feature != 0
    }

    /// Where the entry of a ring is that has this index. A queue that is turned on has entries.
    const fn place(&self, index: u16) -> u64 {
        match index.checked_rem(self.queue.size) {
            Some(place) => place as u64,
            None => 0,
        }
    }

    /// The index behind the last buffer that the program has offered.
    fn program_index(&self) -> u16 {
        self.order.u16(self.hardware.load_u16(self.offered.at(2)))
    }

    /// Passes new buffers on to the device; returns whether there were any.
    fn offer(&mut self) -> bool {
        let before = self.queue.offered;
        while !self.queue.is_broken && self.queue.lent < MOST_LENT {
            let index = self.program_index();
            if index == self.queue.offered {
                break;
            }
            if index.wrapping_sub(self.queue.offered) > self.queue.size {
                self.refuse();
                break;
            }
            let entry = self.offered.at(4 + 2 * self.place(self.queue.offered));
            let number = self.order.u16(self.hardware.load_u16(entry));
            match self.copy(number) {
                Ok(()) => self.put(number),
                Err(Refusal::Bad) => self.refuse(),
                Err(Refusal::Later) => break,
            }
            if self.queue.offered == index && self.has(EVENT_INDEX) {
                // The program notifies when it offers the next one. It may have done so before it could see this.
                let at = self.used.at(4 + 8 * u64::from(self.queue.size));
                scanner::store_into(self.configuration, self.hardware, at.absolute());
                self.hardware.store_u16(at, self.order.u16(index));
                fence(Ordering::SeqCst);
            }
        }
        before != self.queue.offered
    }

    /// Tells the device that the program has offered what it does not accept.
    fn refuse(&mut self) {
        self.queue.is_broken = true;
        self.put(IMPOSSIBLE);
    }

    /// Offers the device a buffer.
    fn put(&mut self, number: u16) {
        let ring = self.area.offered();
        let entry = ring.offset(4 + 2 * self.place(self.queue.offered));
        set_halfword(self.hardware, entry, self.order.u16(number));
        self.queue.offered = self.queue.offered.wrapping_add(1);
        let index = self.order.u16(self.queue.offered);
        set_halfword(self.hardware, ring.offset(2), index);
    }

    /// Whether the program may have the device access the storage that a descriptor designates.
    fn is_good(&self, descriptor: Descriptor) -> bool {
        let Descriptor {
            address, length, ..
        } = descriptor;
        let holds = |length: u32| self.configuration.holds(Absolute(address), length.into());
        let other = address.swap_bytes();
        let is_harmless = || {
            self.agreed.is_final || other >= self.configuration.machine_end || {
                let length = length.swap_bytes();
                self.configuration.holds(Absolute(other), length.into())
            }
        };
        length != 0 && holds(length) && is_harmless()
    }

    /// Copies the descriptors of a buffer.
    fn copy(&mut self, first: u16) -> Result<(), Refusal> {
        let mut number = first;
        let most = self.queue.lent + MOST_LENT;
        loop {
            if number >= self.queue.size || self.is_held(number) {
                // It may be this buffer's own: then the descriptors form a circle.
                return Err(Refusal::Bad);
            }
            let at = DESCRIPTOR * u64::from(number);
            let descriptor = self.load(self.descriptors, at);
            if descriptor.has(INDIRECT) {
                // The devices of the machine below accept a table as a whole buffer only.
                if number != first || descriptor.has(NEXT) || !self.has(INDIRECT_DESCRIPTORS) {
                    return Err(Refusal::Bad);
                }
            } else if !self.is_good(descriptor) {
                return Err(Refusal::Bad);
            }
            let copied = if descriptor.has(INDIRECT) {
                self.copy_table(descriptor)?
            } else {
                descriptor
            };
            self.store(self.area.descriptor(number), copied);
            let length = self.lent_by(copied);
            if self.queue.lent + length > most {
                return Err(Refusal::Bad);
            }
            self.queue.lent += length;
            self.record(number, copied);
            if length != 0 {
                self.each_piece(copied, scanner::device_stores);
            }
            if descriptor.has(INDIRECT) || !descriptor.has(NEXT) {
                return Ok(());
            }
            number = descriptor.next;
        }
    }

    /// Copies a table of descriptors; returns the descriptor that designates the copy.
    fn copy_table(&mut self, designation: Descriptor) -> Result<Descriptor, Refusal> {
        let length = u64::from(designation.length);
        let count = length / DESCRIPTOR;
        let room = u64::from(self.records.units()) * UNIT;
        if count == 0 || !length.is_multiple_of(DESCRIPTOR) || count > room {
            return Err(Refusal::Bad);
        }
        let table =
            storage::checked_piece(self.configuration, Absolute(designation.address), length);
        let table = table.ok_or(Refusal::Bad)?;
        let units = count.div_ceil(UNIT) as u32;
        let first = self.free_units(units).ok_or(Refusal::Later)?;
        let copy = self.records.unit(first);
        let mut number = 0;
        // A buffer has at most as many descriptors as its table, unless they form a circle.
        for _ in 0..count {
            let at = DESCRIPTOR * u64::from(number);
            let descriptor = self.load(table, at);
            if descriptor.has(INDIRECT) || !self.is_good(descriptor) {
                return Err(Refusal::Bad);
            }
            self.store(copy.offset(at), descriptor);
            if !descriptor.has(NEXT) {
                self.set_units(first, units, true);
                return Ok(Descriptor {
                    address: copy.0,
                    length: designation.length,
                    flags: INDIRECT,
                    next: 0,
                });
            }
            number = descriptor.next;
            if u64::from(number) >= count {
                break;
            }
        }
        Err(Refusal::Bad)
    }

    /// A descriptor in guest storage.
    fn load(&self, piece: Piece, offset: u64) -> Descriptor {
        let words = [0, 8].map(|word| self.hardware.load_u64(piece.at(offset + word)));
        // Only what is known goes into the HSA.
        let descriptor = Descriptor::from(self.order, words);
        Descriptor {
            flags: descriptor.flags & (NEXT | WRITE | INDIRECT),
            ..descriptor
        }
    }

    fn store(&mut self, at: Real, descriptor: Descriptor) {
        let [left, right] = descriptor.words(self.order);
        self.hardware.hsa_store(at, left);
        self.hardware.hsa_store(at.offset(8), right);
    }

    /// A descriptor of a table in the HSA.
    fn stored(&self, at: Real) -> Descriptor {
        let words = [0, 8].map(|word| self.hardware.hsa_load(at.offset(word)));
        Descriptor::from(self.order, words)
    }

    /// Into how many bytes the device may store by a descriptor.
    fn lent_by(&mut self, descriptor: Descriptor) -> u64 {
        if !descriptor.has(INDIRECT) {
            let is_lent = descriptor.has(WRITE);
            return if is_lent { descriptor.length.into() } else { 0 };
        }
        let mut length = 0;
        self.each_piece(descriptor, |_, _, piece| length += piece.length());
        length
    }

    /// Does something with each piece of storage into which the device may store by a descriptor.
    fn each_piece(
        &mut self,
        descriptor: Descriptor,
        mut work: impl FnMut(&Configuration, &mut H, Piece),
    ) {
        if !descriptor.has(INDIRECT) {
            self.on_piece(descriptor, work);
            return;
        }
        let count = descriptor.length / DESCRIPTOR as u32;
        let mut next = 0;
        for _ in 0..count {
            let at = descriptor.address + DESCRIPTOR * u64::from(next);
            let inner = self.stored(Real(at));
            self.on_piece(inner, &mut work);
            if !inner.has(NEXT) {
                break;
            }
            next = inner.next;
        }
    }

    fn on_piece(
        &mut self,
        descriptor: Descriptor,
        mut work: impl FnMut(&Configuration, &mut H, Piece),
    ) {
        let (at, length) = (Absolute(descriptor.address), descriptor.length.into());
        if descriptor.has(WRITE)
            && let Some(piece) = storage::checked_piece(self.configuration, at, length)
        {
            work(self.configuration, self.hardware, piece);
        }
    }

    /// Whether the device has the descriptor `number`.
    fn is_held(&self, number: u16) -> bool {
        let right = self
            .hardware
            .hsa_load(self.records.descriptor(number).offset(8));
        (right >> 16) as u16 & HELD != 0
    }

    /// Records that the device has a descriptor.
    fn record(&mut self, number: u16, descriptor: Descriptor) {
        let at = self.records.descriptor(number);
        let held = Descriptor {
            flags: descriptor.flags | HELD,
            ..descriptor
        };
        let [left, right] = held.words(Order::Big);
        self.hardware.hsa_store(at, left);
        self.hardware.hsa_store(at.offset(8), right);
    }

    /// The record of a descriptor that the device has. From now on it has it no more.
    fn take_record(&mut self, number: u16) -> Option<Descriptor> {
        let at = self.records.descriptor(number);
        let words = [0, 8].map(|word| self.hardware.hsa_load(at.offset(word)));
        let descriptor = Descriptor::from(Order::Big, words);
        if !descriptor.has(HELD) {
            return None;
        }
        self.hardware.hsa_store(at.offset(8), 0);
        Some(descriptor)
    }

    /// The first of so many adjacent units that are free.
    fn free_units(&self, count: u32) -> Option<u32> {
        let taken = self.hardware.hsa_load(self.records.units_in_use());
        let last = self.records.units().checked_sub(count)?;
        (0..=last).find(|&first| taken & mask(first, count) == 0)
    }

    fn set_units(&mut self, first: u32, count: u32, are: bool) {
        let at = self.records.units_in_use();
        let mask = mask(first, count);
        let others = self.hardware.hsa_load(at) & !mask;
        self.hardware
            .hsa_store(at, if are { others | mask } else { others });
    }

    /// The device has used a buffer, or has forgotten it: what the descriptor `number` took is free again. Returns the
    /// number of the next descriptor of the buffer.
    fn free(&mut self, number: u16) -> Option<u16> {
        let descriptor = self.take_record(number)?;
        let mut lent = self.queue.lent;
        self.each_piece(descriptor, |configuration, hardware, piece| {
            lent = lent.saturating_sub(piece.length());
            scanner::device_has_stored(configuration, hardware, piece);
        });
        self.queue.lent = lent;
        if descriptor.has(INDIRECT) {
            let count = u64::from(descriptor.length) / DESCRIPTOR;
            if let Some(first) = self.records.unit_at(descriptor.address) {
                self.set_units(first, count.div_ceil(UNIT) as u32, false);
            }
            return None;
        }
        descriptor.has(NEXT).then_some(descriptor.next)
    }

    /// Gives back what the device has used. Returns whether the program wants to be told.
    fn give_back(&mut self) -> bool {
        let ring = self.area.used();
        let before = self.queue.returned;
        let index = self.order.u16(halfword(self.hardware, ring.offset(2)));
        while self.queue.returned != index {
            let place = 4 + 8 * self.place(self.queue.returned);
            let entry = [0, 4].map(|part| word(self.hardware, ring.offset(place + part)));
            let mut number = Some(self.order.u32(entry[0]) as u16);
            while let Some(used) = number.filter(|&used| used < self.queue.size) {
                number = self.free(used);
            }
            for (part, value) in [0, 4].into_iter().zip(entry) {
                let at = self.used.at(place + part);
                scanner::store_into(self.configuration, self.hardware, at.absolute());
                self.hardware.store_u32(at, value);
            }
            self.queue.returned = self.queue.returned.wrapping_add(1);
        }
        if before == index {
            return false;
        }
        let at = self.used.at(2);
        scanner::store_into(self.configuration, self.hardware, at.absolute());
        self.hardware.store_u16(at, self.order.u16(index));
        // The program says what it wants, and then looks at the index: the machine in the opposite order.
        fence(Ordering::SeqCst);
        self.wants_to_be_told(before)
    }

    /// Whether the program wants to be told of the used buffers from an index on.
    fn wants_to_be_told(&self, before: u16) -> bool {
        let index = self.queue.returned;
        let is_empty = index == self.queue.offered && self.program_index() == index;
        if self.has(NOTIFY_ON_EMPTY) && is_empty {
            return true;
        }
        if self.has(EVENT_INDEX) {
            let at = self.offered.at(4 + 2 * u64::from(self.queue.size));
            let event = self.order.u16(self.hardware.load_u16(at));
            return index.wrapping_sub(event).wrapping_sub(1) < index.wrapping_sub(before);
        }
        let flags = self.order.u16(self.hardware.load_u16(self.offered.at(0)));
        flags & NO_INTERRUPT == 0
    }
}

/// The bits of adjacent units.
const fn mask(first: u32, count: u32) -> u64 {
    (u64::MAX >> (64 - count)) << first
}

/// Passes the buffers that the program has offered on to the device; returns whether there were any.
pub fn offer<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    agreed: Agreed,
    queue: &mut Queue,
) -> bool {
    Between::of(configuration, hardware, agreed, queue).is_some_and(|mut between| between.offer())
}

/// Whether the device has buffers of the queue.
pub const fn is_waiting(queue: &Queue) -> bool {
    queue.rings.is_some() && queue.offered != queue.returned
}

/// Gives the program the buffers back that the device has used; returns whether it wants to be told of them, and whether
/// the device was given more, for which there was no room before.
pub fn give_back<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    agreed: Agreed,
    queue: &mut Queue,
) -> (bool, bool) {
    let used = Area::new(queue.place.rings, queue.size).used();
    if Order::of(agreed.features).u16(halfword(hardware, used.offset(2))) == queue.returned {
        return (false, false);
    }
    let Some(mut between) = Between::of(configuration, hardware, agreed, queue) else {
        return (false, false);
    };
    let before = between.queue.returned;
    let wants = between.give_back();
    let more = before != between.queue.returned && between.offer();
    (wants, more)
}

/// The device was reset: it has none of the queue's buffers any more.
pub fn forget<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    agreed: Agreed,
    queue: &mut Queue,
) {
    let mut between = Between::without_program(configuration, hardware, agreed, queue);
    for number in 0..between.queue.size {
        between.free(number);
    }
}

/// Clears the storage of a queue that its device has not seen yet, or has forgotten.
pub fn clear<H: Hardware>(hardware: &mut H, place: QueuePlace, size: u16) {
    let QueuePlace { rings, records } = place;
    hardware.hsa_fill(rings, Area::new(rings, size).length(), 0);
    hardware.hsa_fill(records, Records::new(records, size).length(), 0);
}

/// A halfword of the HSA.
fn halfword<H: Hardware>(hardware: &H, at: Real) -> u16 {
    let around = hardware.hsa_load(Real(at.0 & !7));
    (around >> (48 - 8 * (at.0 & 6))) as u16
}

/// A word of the HSA.
fn word<H: Hardware>(hardware: &H, at: Real) -> u32 {
    let around = hardware.hsa_load(Real(at.0 & !7));
    (around >> (32 - 8 * (at.0 & 4))) as u32
}

/// Stores a halfword into the HSA, in a doubleword that only the machine changes.
fn set_halfword<H: Hardware>(hardware: &mut H, at: Real, value: u16) {
    let shift = 48 - 8 * (at.0 & 6);
    let place = Real(at.0 & !7);
    let others = hardware.hsa_load(place) & !(0xFFFF << shift);
    hardware.hsa_store(place, others | u64::from(value) << shift);
}
