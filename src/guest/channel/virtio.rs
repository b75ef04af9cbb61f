//! Virtio devices: commands that set up a device, and what lies between it and its program.
//!
//! A device accesses storage at any time by the addresses in its rings, so it never gets those of the guest. It has
//! rings and indicators of its own in the HSA, and the machine copies what passes between them and the guest's
//! (`virtio/rings.rs`, `virtio/attention.rs`). A command that designates rings or indicators is copied with their places in the HSA,
//! and changes what the machine knows of the device when the device has executed it ([`changes`]). A guest sees a
//! device only if the machine knows how it uses its rings ([`identity`]).
//!
//! In the older form of SET_QUEUE a device places the parts of its rings by the size that it has itself, whatever the
//! program says. A device may also take the address over before it refuses the size. So the machine asks the device for
//! the size of a queue before it passes the command on ([`question`]), and then designates rings of exactly that size.
//! A command that the device would refuse never reaches it.
//!
//! Source: Virtual I/O Device (VIRTIO) 1.2, section 4.3 "Virtio Over Channel I/O".

pub mod attention;
pub mod changes;
pub mod identity;
pub mod question;
mod ring;
mod rings;
pub mod room;

use crate::hardware::Hardware;
use crate::state::device::{
    Change, Device, FEATURES_OK, Indicators, MOST_ENTRIES, QUEUES, QueueNumber, QueuePlace,
    ROOM_LENGTH, Rings,
};
use arch::address::{PAGE, Real};
use question::Entries;
use ring::{Area, Records};

/// Accepts features.
const WRITE_FEATURES: u8 = 0x11;
/// The rings of a queue.
const SET_QUEUE: u8 = 0x13;
/// Chooses the revision of the commands. It stays until the subchannel is disabled.
const SET_REVISION: u8 = 0x83;
/// Sets the status; a status of zero resets the device.
const WRITE_STATUS: u8 = 0x31;
/// Resets the device: it forgets all that it was told.
pub const RESET: u8 = 0x33;
/// The indicators of the queues.
const SET_INDICATORS: u8 = 0x43;
/// The indicator of the device's configuration.
const SET_CONFIGURATION_INDICATORS: u8 = 0x53;
/// The indicators of adapter interruptions.
const SET_ADAPTER_INDICATORS: u8 = 0x73;

/// The longest data of any of these commands; longer data are not accepted.
pub const LONGEST: usize = 64;

/// Whether the machine must know a command, so that the device gets data that cannot change any more.
#[must_use]
pub const fn is_known(command: u8) -> bool {
    matches!(
        command,
        WRITE_FEATURES
            | SET_QUEUE
            | SET_REVISION
            | WRITE_STATUS
            | RESET
            | SET_INDICATORS
            | SET_CONFIGURATION_INDICATORS
            | SET_ADAPTER_INDICATORS
    )
}

/// Feature bits 32-63 that change how rings are used, except [`ring::VERSION_1`]: nobody may accept them.
const OTHER_RINGS: u32 = 0x0003_FFFE;

/// The last interruption subclass.
const LAST_SUBCLASS: u8 = 7;

/// The only boundary of the used ring of a queue in one piece that devices accept.
const BOUNDARY: u64 = PAGE;

/// The places in a device's room: the indicators of its queues, of its configuration, and those of adapter
/// interruptions, and the program by which it is asked for the size of a queue.
mod place {
    pub const INDICATORS: u64 = 0;
    pub const CONFIGURATION: u64 = 8;
    pub const SUMMARY: u64 = 16;
    pub const ADAPTER: u64 = 64;
    pub const QUESTION: u64 = 512;
    /// The records of the queues, upwards. The rings begin at the end of the room, downwards.
    pub const RECORDS: u64 = super::PAGE;
    pub const RINGS_END: u64 = super::ROOM_LENGTH;
}

/// A field of the data of a command: so many bytes from `at` on, as a number.
fn field<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..).and_then(<[u8]>::first_chunk).copied()
}

fn doubleword(data: &[u8], at: usize) -> Option<u64> {
    field(data, at).map(u64::from_be_bytes)
}

/// What a known command with these data changes, if the device executes it, after the `changes` of its program so far.
/// The data become those for the device. Nothing if the command is refused.
///
/// Data that are too short for the command are left for the device to refuse: they become zeros and change nothing.
/// `entries` asks the device how many entries a queue has.
pub fn pass_on(
    device: Option<&Device>,
    changes: &[(u16, Change)],
    command: u8,
    data: &mut [u8],
    holds: impl Fn(u64, u64) -> bool,
    entries: impl FnOnce(QueueNumber) -> Entries,
) -> Option<Option<Change>> {
    let device = device?;
    let answer = match command {
        RESET => Some((Some(Change::Reset), [0; 32])),
        WRITE_STATUS => status(device, changes, data)?,
        SET_REVISION => revision(data),
        WRITE_FEATURES => features(device, changes, data)?,
        SET_QUEUE => queue(device, changes, data, holds, entries)?,
        _ => indicators(device.room, command, data, holds)?,
    };
    let (change, bytes) = answer.unwrap_or((None, [0; 32]));
    let (known, rest) = data.split_at_mut(data.len().min(bytes.len()));
    known.copy_from_slice(bytes.split_at(known.len()).0);
    rest.fill(0);
    Some(change)
}

/// A command with this change is about to go to the device. The rings of a queue that the device has not seen yet become
/// empty before it sees them.
pub fn prepare<H: Hardware>(hardware: &mut H, device: Option<&Device>, change: Change) {
    if let Change::QueueOn {
        number,
        size,
        place,
        ..
    } = change
        && device.is_some_and(|device| device.queue(number).is_none())
    {
        rings::clear(hardware, place, size);
    }
}

/// What a command changes, and its data for the device; nothing if its data are too short.
type Answer = Option<(Option<Change>, [u8; 32])>;

/// Doublewords as the data of a command.
fn data_of(doublewords: [u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(doublewords) {
        *bytes = word.to_be_bytes();
    }
    bytes
}

/// Only a reset takes back that the features are final. Otherwise the device would find buffers in its rings that were
/// offered in another order of the bytes.
fn status(device: &Device, changes: &[(u16, Change)], data: &[u8]) -> Option<Answer> {
    let Some(&status) = data.first() else {
        return Some(None);
    };
    let mut known = device.status;
    for (_, change) in changes {
        match *change {
            Change::Reset => known = 0,
            Change::Status(status) => known |= status,
            _ => {}
        }
    }
    if status != 0 && known & !status & FEATURES_OK != 0 {
        return None;
    }
    let mut bytes = [0; 32];
    bytes[0] = status;
    let change = match status {
        0 => Change::Reset,
        _ => Change::Status(status),
    };
    Some(Some((Some(change), bytes)))
}

fn revision(data: &[u8]) -> Answer {
    let [left, right] = field(data, 0)?;
    let length: [u8; 2] = field(data, 2)?;
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&[left, right, length[0], length[1]]);
    let revision = u16::from_be_bytes([left, right]);
    Some((Some(Change::Revision(revision)), bytes))
}

/// Features are not accepted behind a queue that was turned on, before the device is reset. A device may decide for good in
/// which order the bytes in its rings are as soon as it has one.
fn features(device: &Device, changes: &[(u16, Change)], data: &[u8]) -> Option<Answer> {
    let Some(([b0, b1, b2, b3], &index)) = field(data, 0).zip(data.get(4)) else {
        return Some(None);
    };
    let mut has_queue = !device.queues.is_empty();
    for (_, change) in changes {
        match change {
            Change::Reset => has_queue = false,
            Change::QueueOn { .. } => has_queue = true,
            _ => {}
        }
    }
    if has_queue {
        return None;
    }
    let bits = u32::from_le_bytes([b0, b1, b2, b3]);
    if index == 1 && bits & OTHER_RINGS != 0 {
        return None;
    }
    let given = if index == 0 {
        bits & !(ring::EVENT_INDEX as u32)
    } else {
        bits
    };
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&given.to_le_bytes());
    bytes[4] = index;
    Some(Some((Some(Change::Features { index, bits }), bytes)))
}

fn queue(
    device: &Device,
    changes: &[(u16, Change)],
    data: &[u8],
    holds: impl Fn(u64, u64) -> bool,
    entries: impl FnOnce(QueueNumber) -> Entries,
) -> Option<Answer> {
    let Some((at, form)) = doubleword(data, 0).zip(doubleword(data, 8)) else {
        return Some(None);
    };
    let number = QueueNumber::new(form >> 16 & 0xFFFF)?;
    let (boundary, size) = (form >> 32, form as u16);
    let without_rings = data_of([0, form & 0xFFFF_FFFF, 0, 0]);
    if at == 0 {
        return Some(Some((Some(Change::QueueOff(number)), without_rings)));
    }
    let newer = doubleword(data, 16).zip(doubleword(data, 24));
    // The older form is one piece, of which the third part begins on a boundary of its own.
    let is_in_form = newer.is_some() || boundary == BOUNDARY && at.is_multiple_of(BOUNDARY);
    // A device does not take over a size of zero: it keeps the one it has.
    if !is_in_form || size == 0 {
        return None;
    }
    let has = |is: fn(&Change) -> bool| changes.iter().any(|(_, change)| is(change));
    // The size may depend on features that the device gets by the same program. What it refuses now it may accept when
    // the program has chosen a revision.
    let entries = if has(|change| matches!(change, Change::Features { .. })) {
        Entries::Unknown
    } else {
        match entries(number) {
            Entries::Refused if has(|change| matches!(change, Change::Revision(_))) => {
                Entries::Unknown
            }
            answer => answer,
        }
    };
    let size = match (entries, newer) {
        // A program chooses the size in the newer form only, and there no device places anything by its own.
        (Entries::Known(0), None) | (Entries::Refused, _) => {
            return Some(Some((None, without_rings)));
        }
        // VIRTIO has powers of two only in the older form. Otherwise not all devices agree on where the third part is.
        (Entries::Known(count), None) if count <= size && count.is_power_of_two() => count,
        (Entries::Known(count), Some(_)) if size <= count => size,
        (Entries::Unknown, Some(_)) => size,
        _ => return None,
    };
    if size > MOST_ENTRIES {
        return None;
    }
    let lengths = ring::lengths(size.into());
    let rings = match newer {
        Some((offered, used)) => Rings {
            descriptors: at,
            offered,
            used,
        },
        None => Rings {
            descriptors: at,
            offered: at.checked_add(lengths[0])?,
            used: at.checked_add(ring::used_in_one_piece(size.into(), BOUNDARY))?,
        },
    };
    let parts = [rings.descriptors, rings.offered, rings.used];
    let mut places = parts.into_iter().zip(ring::BOUNDARIES).zip(lengths);
    if !places.all(|((at, boundary), length)| at.is_multiple_of(boundary) && holds(at, length)) {
        return None;
    }
    let place = place_of(device, changes, number, size)?;
    let area = Area::new(place.rings, size);
    let form = u64::from(number.get()) << 16 | u64::from(size);
    // In the newer form the word of the boundary is reserved. A device that still uses the older form, and is told not
    // to mind the length, would find the rings elsewhere; it refuses zero.
    let bytes = match newer {
        Some(_) => data_of([place.rings.0, form, area.offered().0, area.used().0]),
        None => data_of([place.rings.0, BOUNDARY << 32 | form, 0, 0]),
    };
    let change = Change::QueueOn {
        number,
        size,
        rings,
        place,
    };
    Some(Some((Some(change), bytes)))
}

/// The storage of a queue in the device's room: what it has already, or what no other queue has. A queue keeps it and its
/// size until the device is reset, because the device goes on where it was in the rings, and takes the places over even
/// if it then refuses the command.
fn place_of(
    device: &Device,
    changes: &[(u16, Change)],
    number: QueueNumber,
    size: u16,
) -> Option<QueuePlace> {
    let is_reset = |(_, change): &(u16, Change)| *change == Change::Reset;
    if device.queue(number).is_some() && changes.iter().any(is_reset) {
        // The device would find in its rings what was in them before it was reset.
        return None;
    }
    let queues = device.queues.iter();
    let known = queues.map(|queue| (queue.number, queue.place, queue.size));
    let coming = changes.iter().filter_map(|(_, change)| match *change {
        Change::QueueOn {
            number,
            place,
            size,
            ..
        } => Some((number, place, size)),
        _ => None,
    });
    let mut count = 0;
    let mut records = device.room.offset(place::RECORDS);
    let mut rings = device.room.offset(place::RINGS_END);
    for (other, place, others_size) in known.chain(coming) {
        if other == number {
            return (others_size == size).then_some(place);
        }
        count += 1;
        rings = rings.min(place.rings);
        let length = Records::new(place.records, others_size).length();
        records = records.max(place.records.offset(length));
    }
    let rings = Real(rings.0.checked_sub(Area::new(rings, size).length())?);
    let end = records.offset(Records::new(records, size).length());
    (count < QUEUES && end <= rings).then_some(QueuePlace { rings, records })
}

fn indicators(
    room: Real,
    command: u8,
    data: &[u8],
    holds: impl Fn(u64, u64) -> bool,
) -> Option<Answer> {
    let Some(at) = doubleword(data, 0) else {
        return Some(None);
    };
    let own = |place| room.offset(place).0;
    let (change, given) = match command {
        SET_INDICATORS if holds(at, 8) => (
            Change::Indicators(Indicators::Subchannel(at)),
            [own(place::INDICATORS), 0, 0, 0],
        ),
        SET_CONFIGURATION_INDICATORS if holds(at, 8) => (
            Change::Configuration(at),
            [own(place::CONFIGURATION), 0, 0, 0],
        ),
        SET_ADAPTER_INDICATORS => {
            let (summary, numbers) = (at, [8, 16].map(|at| doubleword(data, at)));
            let ([Some(at), Some(first)], Some(&subclass)) = (numbers, data.get(24)) else {
                return Some(None);
            };
            // The device sets the bit whose number is the sum of this one and the queue's.
            let last = first.checked_add(u64::from(QueueNumber::END) - 1)?;
            // Devices of the machine below find an adapter by the subclass without a look at it.
            if subclass > LAST_SUBCLASS || !holds(at, last / 8 + 1) || !holds(summary, 1) {
                return None;
            }
            let indicators = Indicators::Adapter {
                summary,
                at,
                first,
                subclass,
            };
            let isc = u64::from(subclass) << 56;
            (
                Change::Indicators(indicators),
                [own(place::SUMMARY), own(place::ADAPTER), 0, isc],
            )
        }
        _ => return None,
    };
    Some(Some((Some(change), data_of(given))))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod told;
