//! Whether the room of a device has only what belongs there.
//!
//! What nothing uses is zeros: the rest of the first page, what lies between the parts of a queue, and what lies between
//! the records and the rings of all queues. A descriptor that the device has is as the machine has recorded it.

use super::place;
use super::ring::{Area, DESCRIPTOR, Descriptor, HELD, Order, Records, lengths};
use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::device::{Device, Queue, QueueNumber};
use arch::address::{PAGE, Real};

/// Bytes of the indicators of adapter interruptions.
const ADAPTER_LENGTH: u64 = QueueNumber::END as u64 / 8;

/// The first doubleword that is not zeros, from one place up to another.
fn not_zeros<H: Hardware>(hardware: &H, from: Real, to: Real) -> Option<Real> {
    let mut places = (from.0.next_multiple_of(8)..to.0).step_by(8).map(Real);
    places.find(|&at| hardware.hsa_load(at) != 0)
}

/// The first place in the room of a device that has not what belongs there.
#[must_use]
pub fn changed_in_rooms<H: Hardware>(configuration: &Configuration, hardware: &H) -> Option<Real> {
    let channels = &configuration.channels;
    channels.find_of_devices(|device| changed_in_room(hardware, device))
}

fn changed_in_room<H: Hardware>(hardware: &H, device: &Device) -> Option<Real> {
    let at = |offset| device.room.offset(offset);
    let mut records = at(place::RECORDS);
    let mut rings = at(place::RINGS_END);
    for queue in &device.queues {
        let place = queue.place;
        let length = Records::new(place.records, queue.size).length();
        records = records.max(place.records.offset(length));
        rings = rings.min(place.rings);
    }
    let order = Order::of(device.features);
    let unused = [
        (at(place::SUMMARY + 8), at(place::ADAPTER)),
        (at(place::ADAPTER + ADAPTER_LENGTH), at(PAGE)),
        (records, rings),
    ];
    let mut unused = unused.into_iter();
    let mut queues = device.queues.iter();
    unused
        .find_map(|(from, to)| not_zeros(hardware, from, to))
        .or_else(|| queues.find_map(|queue| changed_in_queue(hardware, order, queue)))
}

fn changed_in_queue<H: Hardware>(hardware: &H, order: Order, queue: &Queue) -> Option<Real> {
    let Queue { place, size, .. } = *queue;
    let area = Area::new(place.rings, size);
    let records = Records::new(place.records, size);
    let [_, offered, used] = lengths(size.into());
    let unused = [
        (area.offered().offset(offered), area.used()),
        (area.used().offset(used), place.rings.offset(area.length())),
        (records.units_in_use().offset(8), records.unit(0)),
        (
            records.unit(records.units()),
            place.records.offset(records.length()),
        ),
    ];
    let is_changed = |number: &u16| {
        let offset = DESCRIPTOR * u64::from(*number);
        let words = |at: Real| [0, 8].map(|word| hardware.hsa_load(at.offset(offset + word)));
        let recorded = Descriptor::from(Order::Big, words(place.records));
        let known = Descriptor {
            flags: recorded.flags & !HELD,
            ..recorded
        };
        recorded.has(HELD) && words(place.rings) != known.words(order)
    };
    let mut unused = unused.into_iter();
    unused
        .find_map(|(from, to)| not_zeros(hardware, from, to))
        .or_else(|| {
            let number = (0..size).find(is_changed)?;
            Some(area.descriptor(number))
        })
}

#[cfg(test)]
mod tests {
    use super::super::question::Entries;
    use super::*;
    use crate::channel::virtio::{changes, pass_on, prepare};
    use crate::test_machine::Bench;

    /// A device with a queue of eight entries.
    fn with_queue() -> (Bench, Queue) {
        let mut bench = Bench::new();
        let Bench {
            configuration,
            hardware,
            ..
        } = &mut bench;
        let mut subchannel = configuration.channels.subchannel(0x1_0000).unwrap();
        let device = subchannel.device.as_deref_mut().unwrap();
        let words = [0x10_0000_u64, 8, 0x10_1000, 0x10_2000];
        let mut data = words.map(u64::to_be_bytes).concat();
        let entries = |_| Entries::Known(8);
        let change = pass_on(Some(device), &[], 0x13, &mut data, |_, _| true, entries);
        let change = change.unwrap().unwrap();
        prepare(hardware, Some(device), change);
        changes::apply(configuration, hardware, device, change);
        let queue = device.queues[0];
        drop(subchannel);
        (bench, queue)
    }

    #[test]
    fn what_nothing_uses_in_the_room_of_a_device_is_zeros() {
        let (mut bench, queue) = with_queue();
        let area = Area::new(queue.place.rings, 8);
        let records = Records::new(queue.place.records, 8);
        let room = Real(queue.place.records.0 - PAGE);
        let [_, offered, used] = lengths(8);
        let mut changed = |at: Real| {
            let before = bench.hardware.hsa_load(at);
            bench.hardware.hsa_store(at, before | 1);
            let is_whole = changed_in_rooms(&bench.configuration, &bench.hardware).is_none();
            bench.hardware.hsa_store(at, before);
            assert!(changed_in_rooms(&bench.configuration, &bench.hardware).is_none());
            !is_whole
        };
        for at in [
            area.offered().offset(offered.next_multiple_of(8)),
            Real(area.used().0 - 8),
            area.used().offset(used.next_multiple_of(8)),
            queue.place.rings.offset(area.length() - 8),
            records.units_in_use().offset(8),
            Real(queue.place.records.offset(records.length()).0 - 8),
            queue.place.records.offset(records.length()),
            Real(queue.place.rings.0 - 8),
            room.offset(24),
            room.offset(192),
            room.offset(place::QUESTION),
            room.offset(PAGE - 8),
        ] {
            assert!(changed(at), "{at:x?}");
        }
        for at in [
            area.descriptor(3),
            area.offered(),
            area.used().offset(8),
            records.unit(1),
            room,
            room.offset(64),
        ] {
            assert!(!changed(at), "{at:x?}");
        }
    }

    #[test]
    fn a_descriptor_that_the_device_has_is_as_it_was_recorded() {
        let (mut bench, queue) = with_queue();
        let known = Descriptor {
            address: 0x20_0000,
            length: 8,
            flags: 2,
            next: 0,
        };
        let held = Descriptor {
            flags: 2 | HELD,
            ..known
        };
        let mut put = |at: Real, [left, right]: [u64; 2]| {
            bench.hardware.hsa_store(at, left);
            bench.hardware.hsa_store(at.offset(8), right);
            changed_in_rooms(&bench.configuration, &bench.hardware).is_none()
        };
        let ring = Area::new(queue.place.rings, 8).descriptor(3);
        assert!(put(ring, known.words(Order::Big)));
        let record = Records::new(queue.place.records, 8).descriptor(3);
        assert!(put(record, held.words(Order::Big)));
        assert!(!put(ring, held.words(Order::Big)));
        assert!(!put(ring, known.words(Order::Little)));
    }
}
