//! Service-call control blocks: information about the configuration, and events.
//!
//! One event is offered, the ASCII console (26). What the guest writes goes to the link unchanged, and
//! what was typed for the guest is returned at the next read.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use arch::address::{Absolute, PAGE};
use core::sync::atomic::Ordering;

/// A copy of a service-call control block, whatever its length.
pub(super) type Block = [u8; PAGE as usize];

/// The length of the header: length, function code, three bytes of control mask, response code.
pub(super) const HEADER: usize = 8;
/// The function code.
const FUNCTION: usize = 2;
/// The last byte of the control mask.
const CONTROL: usize = 5;
/// Control mask: the length of the response may differ from that of the request.
const VARIABLE_LENGTH: u8 = 0x80;
/// The response code.
const RESPONSE: usize = 6;

/// Response codes.
pub(super) mod response {
    /// Normal completion of a read.
    pub const NORMAL_READ: u16 = 0x0010;
    /// Normal completion.
    pub const NORMAL: u16 = 0x0020;
    /// The SCCB crosses a 4 KiB boundary.
    pub const BOUNDARY_VIOLATION: u16 = 0x0100;
    /// The command is not offered.
    pub const INVALID_COMMAND: u16 = 0x01F0;
    /// The SCCB is too short for the answer.
    pub const INSUFFICIENT_LENGTH: u16 = 0x0300;
    /// The event, or the function code of a read, is not offered.
    pub const INVALID_FUNCTION: u16 = 0x40F0;
    /// There is no event to be read.
    pub const NO_EVENT: u16 = 0x60F0;
    /// The selection has an event that the program does not receive.
    pub const INVALID_SELECTION: u16 = 0x70F0;
    /// An event buffer does not fit into the SCCB.
    pub const INCONSISTENT_LENGTHS: u16 = 0x72F0;
    /// The length of the masks is wrong.
    pub const INVALID_MASK_LENGTH: u16 = 0x74F0;
}

/// The ASCII-console event.
const ASCII_CONSOLE: u8 = 26;
/// Its bit in an event mask of 32 bits, whose bit 0 is event 1.
const CONSOLE_MASK: u32 = 1 << (32 - ASCII_CONSOLE as u32);
/// The header of an event buffer: length, type, flags, two reserved bytes.
const EVENT_HEADER: usize = 6;
/// Flag of an event buffer: it has been accepted.
const ACCEPTED: u8 = 0x80;

/// The halfword at an offset; zero beyond the block.
pub(super) fn halfword(block: &Block, offset: usize) -> u16 {
    match block.get(offset..) {
        Some([left, right, ..]) => u16::from_be_bytes([*left, *right]),
        _ => 0,
    }
}

/// The word at an offset; zero beyond the block.
fn word(block: &Block, offset: usize) -> u32 {
    u32::from(halfword(block, offset)) << 16 | u32::from(halfword(block, offset + 2))
}

/// Replaces bytes at an offset, if they end before `length`.
fn put(block: &mut Block, length: usize, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if end <= length
        && let Some(place) = block.get_mut(offset..end)
    {
        place.copy_from_slice(bytes);
    }
}

/// Sets the response code.
pub(super) fn respond(block: &mut Block, code: u16) {
    put(block, HEADER, RESPONSE, &code.to_be_bytes());
}

/// Whether the response code is this one.
pub(super) fn responded(block: &Block, code: u16) -> bool {
    halfword(block, RESPONSE) == code
}

/// READ SCP INFO: makes storage end where the guest's ends, and removes all CPUs but the guest's. If storage has a hole, the
/// program can read where.
pub(super) fn limit_scp_info(configuration: &Configuration, length: usize, block: &mut Block) {
    /// Number of increments, 16 bits; zero if more, and at `INCREMENTS_LONG`.
    const INCREMENTS: usize = 8;
    /// Size of an increment in MiB, 8 bits; zero if more, and at `SIZE_LONG`.
    const SIZE: usize = 10;
    const CPUS: usize = 16;
    const SIZE_LONG: usize = 100;
    const INCREMENTS_LONG: usize = 104;
    const HIGHEST_CPU: usize = 120;
    /// Facilities, bits 16-23.
    const FACILITIES: usize = 50;
    /// READ STORAGE INFO is offered.
    const STORAGE_INFO: u8 = 0x40;
    /// Bit 0: the multithreading facility is installed; bits 3-7: maximum thread identification.
    const THREADS: usize = 42;
    /// Bits 3-7: maximum thread identification of a core of this type.
    const THREADS_OF_TYPE: usize = 43;
    /// Bits 3-7: the maximum thread identification that a program last specified.
    const THREADS_SPECIFIED: usize = 66;
    const INSTALLED: u8 = 0x80;

    let megabytes = configuration.increment >> 20;
    let increments = configuration.storage.end() / configuration.increment.max(1);
    if configuration.storage.has_hole() {
        put(block, length, FACILITIES, &[STORAGE_INFO]);
    }
    let short = u8::try_from(megabytes).unwrap_or(0);
    put(block, length, SIZE, &[short]);
    put(
        block,
        length,
        SIZE_LONG,
        &if short == 0 { megabytes as u32 } else { 0 }.to_be_bytes(),
    );
    let short = u16::try_from(increments).unwrap_or(0);
    put(block, length, INCREMENTS, &short.to_be_bytes());
    put(
        block,
        length,
        INCREMENTS_LONG,
        &if short == 0 { increments } else { 0 }.to_be_bytes(),
    );
    // The entries are in the order of the CPU addresses, so the first ones are kept. If CPUs are
    // threads of cores, the entries are cores, with their addresses.
    let threads = &configuration.threads;
    let cores = threads.cores(configuration.cpus);
    let cpus = halfword(block, CPUS).min(cores);
    put(block, length, CPUS, &cpus.to_be_bytes());
    let highest = halfword(block, HIGHEST_CPU).min(cores.saturating_sub(1));
    put(block, length, HIGHEST_CPU, &highest.to_be_bytes());
    if threads.installed() {
        let maximum = threads.maximum();
        put(block, length, THREADS, &[INSTALLED | maximum]);
        put(block, length, THREADS_OF_TYPE, &[maximum]);
        put(block, length, THREADS_SPECIFIED, &[threads.specified()]);
    }
}

/// READ STORAGE INFO: the increments of the guest's storage, which are all in one storage element. It is offered if storage
/// has a hole.
pub(super) fn read_storage_info(configuration: &Configuration, length: usize, block: &mut Block) {
    /// The highest identification of a storage element, then the numbers of assigned and of standby increments.
    const ASSIGNED: usize = 10;
    const ENTRIES: usize = 16;
    let size = configuration.increment.max(1);
    let storage = &configuration.storage;
    let increments = (0..storage.end() / size)
        .filter(|number| storage.holds(Absolute(number * size), size))
        // Increments are numbered from 1. The rightmost bits are those of a part of an increment.
        .map(|number| ((number + 1) as u32) << 16 | 1);
    let count = increments.clone().count();
    if length < ENTRIES + 4 * count {
        respond(block, response::INSUFFICIENT_LENGTH);
        return;
    }
    put(block, length, HEADER, &[0; ENTRIES - HEADER]);
    put(block, length, ASSIGNED, &(count as u16).to_be_bytes());
    for (at, increment) in (ENTRIES..).step_by(4).zip(increments) {
        put(block, length, at, &increment.to_be_bytes());
    }
    respond(block, response::NORMAL_READ);
}

/// READ CPU INFO: removes all CPUs but the guest's; there are no standby CPUs.
pub(super) fn limit_cpu_info(configuration: &Configuration, length: usize, block: &mut Block) {
    const CONFIGURED: usize = 8;
    const STANDBY: usize = 12;
    let cores = configuration.threads.cores(configuration.cpus);
    let cpus = halfword(block, CONFIGURED).min(cores);
    put(block, length, CONFIGURED, &cpus.to_be_bytes());
    put(block, length, STANDBY, &0u16.to_be_bytes());
}

/// WRITE EVENT MASK: the control program says which events it receives and sends, and learns which
/// events are offered. Each of the four masks has as many bytes as the mask length says.
pub(super) fn write_event_mask(configuration: &Configuration, length: usize, block: &mut Block) {
    const MASK_LENGTH: usize = 10;
    const MASKS: usize = 12;
    let size = usize::from(halfword(block, MASK_LENGTH));
    if size == 0 || MASKS + 4 * size > length {
        return respond(block, response::INVALID_MASK_LENGTH);
    }
    // Events beyond a short mask count as zeros; events beyond 32 in a long mask are not offered.
    let received = word(block, MASKS) & mask_of(size);
    configuration.event_mask.store(received, Ordering::Release);
    let offered = CONSOLE_MASK.to_be_bytes();
    for n in [2, 3] {
        let at = MASKS + n * size;
        if let Some(mask) = block.get_mut(at..at + size) {
            mask.fill(0);
            for (to, from) in mask.iter_mut().zip(offered) {
                *to = from;
            }
        }
    }
    respond(block, response::NORMAL);
}

/// The bits of a 32-bit mask that a mask of `size` bytes covers.
const fn mask_of(size: usize) -> u32 {
    if size >= 4 {
        u32::MAX
    } else {
        !(u32::MAX >> (8 * size))
    }
}

/// WRITE EVENT DATA: takes event buffers up to the first one that is wrong. Returns whether the guest has written
/// words at which it is to stop.
#[must_use]
pub(super) fn write_event_data<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    length: usize,
    block: &mut Block,
) -> bool {
    let mut at = HEADER;
    let mut holds = false;
    let code = loop {
        // At least one event buffer is asked for.
        if at >= length && at > HEADER {
            break response::NORMAL;
        }
        let size = usize::from(halfword(block, at));
        if at + EVENT_HEADER > length || size < EVENT_HEADER || at + size > length {
            break response::INCONSISTENT_LENGTHS;
        }
        let Some([_, _, kind, flags, _, _, data @ ..]) = block.get_mut(at..at + size) else {
            break response::INCONSISTENT_LENGTHS;
        };
        if *kind != ASCII_CONSOLE {
            break response::INVALID_FUNCTION;
        }
        hardware.console_write(data);
        holds |= configuration.awaited_words.hold_by(data);
        *flags |= ACCEPTED;
        at += size;
    };
    respond(block, code);
    holds
}

/// Whether the control program receives what is typed for it.
pub(super) fn takes_input(configuration: &Configuration) -> bool {
    configuration.event_mask.load(Ordering::Acquire) & CONSOLE_MASK != 0
}

/// READ EVENT DATA: returns the bytes that were typed, as many as there is room for, in one event
/// buffer. A byte of zero before them says that they are data, and not the beginning or end of a
/// session.
pub(super) fn read_event_data<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    length: usize,
    block: &mut Block,
) {
    const UNCONDITIONAL: u8 = 0x00;
    const SELECTIVE: u8 = 0x80;
    const DATA: usize = HEADER + EVENT_HEADER + 1;
    let received = configuration.event_mask.load(Ordering::Acquire);
    let selected = match block[FUNCTION] {
        UNCONDITIONAL => received,
        SELECTIVE => {
            let selected = word(block, HEADER);
            if received == 0 || selected & !received != 0 {
                return respond(block, response::INVALID_SELECTION);
            }
            selected
        }
        _ => return respond(block, response::INVALID_FUNCTION),
    };
    if selected & CONSOLE_MASK == 0 {
        return respond(block, response::NO_EVENT);
    }
    let Some(room) = block.get_mut(DATA..length).filter(|room| !room.is_empty()) else {
        return respond(block, response::INSUFFICIENT_LENGTH);
    };
    let count = hardware.console_read(room).min(room.len());
    if count == 0 {
        return respond(block, response::NO_EVENT);
    }
    let [left, right] = ((EVENT_HEADER + 1 + count) as u16).to_be_bytes();
    put(
        block,
        length,
        HEADER,
        &[left, right, ASCII_CONSOLE, 0, 0, 0, 0],
    );
    if block[CONTROL] & VARIABLE_LENGTH != 0 {
        block[CONTROL] &= !VARIABLE_LENGTH;
        put(block, length, 0, &((DATA + count) as u16).to_be_bytes());
    }
    respond(block, response::NORMAL);
}
