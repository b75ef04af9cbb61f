//! Subchannels and virtio devices of the machine below, with what they do with commands that they refuse.
//!
//! Written from VIRTIO 1.2 (2.7 "Split Virtqueues", 4.3 "Virtio Over Channel I/O" with its legacy interface) and from what
//! QEMU's devices do where that leaves them free:
//!
//! - In the older form a device takes the address over first and then refuses a size that is less than its own. It takes
//!   a larger one, and keeps its own. Rings are where its own size puts them.
//! - In the newer form it takes the addresses over first and then refuses a size that is larger than its own.
//! - Some features change how many queues a network card has, and so the sizes that they have.
//! - Numbers are in the order that the features say at the moment.
//! - A device that finds what it does not accept in a ring does nothing more until it is reset.
//!
//! Nothing here knows the machine's own records. Each access of a device is noted, and the tests judge whether it may
//! be.

use super::super::question::READ_QUEUE;
use super::super::{
    RESET, SET_ADAPTER_INDICATORS, SET_CONFIGURATION_INDICATORS, SET_INDICATORS, SET_QUEUE,
    SET_REVISION, WRITE_FEATURES, WRITE_STATUS,
};
use crate::hardware::{ChannelBlock, ChannelInstruction as Instruction};
use crate::test_machine::{Below, TestMachine};
use arch::channel::{
    CHAIN_COMMAND, CHAIN_DATA, Ccw, PMCW_DEVICE_VALID, PMCW_ENABLED, SCHIB_STATUS, SCSW_OCCUPIED,
    SCSW_PENDING, SCSW_SUSPENDED, SUSPEND, TRANSFER_IN_CHANNEL,
};
use arch::condition::ConditionCode as Code;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

const READ_FEATURES: u8 = 0x12;
const SENSE_IDENTIFICATION: u8 = 0xE4;
/// A command that nobody executes, and that every device accepts.
const NO_OPERATION: u8 = 3;
/// CCW flag: an incorrect length is not indicated.
const ANY_LENGTH: u8 = 0x20;

const VERSION_1: u64 = 1 << 32;
/// Feature of network cards: several pairs of queues.
pub const MULTIQUEUE: u64 = 1 << 22;
const STATUS_FEATURES_OK: u8 = 8;

/// The most queues of a device, and the most entries of a queue.
const MOST_QUEUES: usize = 1024;
const MOST_ENTRIES: u16 = 1024;

/// Function, activity and status bits of a subchannel-status word.
const START_FUNCTION: u32 = 0x4000;
const HALT_FUNCTION: u32 = 0x2000;
const CLEAR_FUNCTION: u32 = 0x1000;
const START_PENDING: u32 = 0x0400;
const ALERT: u32 = 0x10;
const ENDED: u32 = 6;
/// Deferred condition code 3.
const NOT_OPERATIONAL: u32 = 3 << 24;
/// ORB controls: the path that devices have.
const ONLY_PATH: u32 = 0x8000;

/// An access of a device to the HSA.
#[derive(Clone, Copy, Debug)]
pub struct Noted {
    /// The subchannel of the device.
    pub subchannel: usize,
    /// What the device was at.
    pub what: What,
    /// Where.
    pub at: u64,
    /// Bytes.
    pub length: u64,
}

/// What a device accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It reads the descriptors or the offered buffers of a queue.
    Ring(u16),
    /// It reads a table of descriptors of a queue.
    Table(u16),
    /// It stores into the used buffers of a queue.
    Used(u16),
    /// It stores an indicator.
    Indicator,
    /// It stores the data of a command.
    Data,
}

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Done,
    /// A unit check.
    Rejected,
    /// A program check.
    Invalid,
}

/// A queue, as its device has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ring {
    /// Its entries at the moment, and those that it has by itself. Zero if there is no such queue.
    pub size: u16,
    /// What the size is after a reset.
    own_size: u16,
    /// Descriptors, offered buffers, used buffers.
    pub parts: [u64; 3],
    /// Whether the device can reach them. Queues that come and go are set up again first.
    is_reached: bool,
    taken: u16,
    used: u16,
}

impl Ring {
    /// The parts of a queue in one piece.
    fn place(&mut self, at: u64) {
        if self.size == 0 {
            return;
        }
        self.parts[0] = at;
        if at != 0 {
            let size = u64::from(self.size);
            self.parts[1] = at + 16 * size;
            self.parts[2] = (self.parts[1] + 6 + 2 * size).next_multiple_of(4096);
            self.is_reached = true;
        }
    }
}

/// A buffer that the device has taken.
#[derive(Clone, Debug)]
struct Taken {
    queue: u16,
    number: u16,
    /// What it stores into.
    pieces: Vec<(u64, u32)>,
}

/// A virtio device.
#[derive(Debug)]
pub struct Device {
    kind: u8,
    /// Pairs of queues of a network card with the feature [`MULTIQUEUE`].
    pairs: u16,
    /// Whether it refuses every command before a later revision was chosen.
    is_modern: bool,
    revision: Option<u16>,
    pub features: u64,
    pub status: u8,
    pub queues: Vec<Ring>,
    pub is_broken: bool,
    taken: VecDeque<Taken>,
    indicators: Option<u64>,
    adapter: Option<[u64; 4]>,
}

impl Device {
    /// A network card.
    pub fn network(pairs: u16, is_modern: bool) -> Self {
        let mut device = Self::new(1, &[], is_modern);
        device.pairs = pairs;
        device.count_queues(1);
        device
    }

    /// A device of another kind whose queues have these sizes.
    pub fn new(kind: u8, sizes: &[u16], is_modern: bool) -> Self {
        let mut queues = vec![Ring::default(); MOST_QUEUES];
        for (queue, &size) in queues.iter_mut().zip(sizes) {
            (queue.size, queue.own_size) = (size, size);
        }
        Self {
            kind,
            pairs: 1,
            is_modern,
            revision: None,
            features: 0,
            status: 0,
            queues,
            is_broken: false,
            taken: VecDeque::new(),
            indicators: None,
            adapter: None,
        }
    }

    /// A network card has so many pairs of queues, and one for controls behind them. Addresses stay, but nothing is
    /// reached by them.
    fn count_queues(&mut self, pairs: u16) {
        let count = usize::from(2 * pairs);
        for (number, queue) in self.queues.iter_mut().enumerate() {
            let size = match number.cmp(&count) {
                core::cmp::Ordering::Less => 256,
                core::cmp::Ordering::Equal => 64,
                core::cmp::Ordering::Greater => 0,
            };
            if queue.own_size != size {
                (queue.size, queue.own_size, queue.is_reached) = (size, size, false);
            }
        }
    }

    fn is_little(&self) -> bool {
        self.features & VERSION_1 != 0
    }

    fn reset(&mut self) {
        for queue in &mut self.queues {
            *queue = Ring {
                size: queue.own_size,
                own_size: queue.own_size,
                ..Ring::default()
            };
        }
        (self.status, self.features, self.is_broken) = (0, 0, false);
        self.taken.clear();
        (self.indicators, self.adapter) = (None, None);
    }

    fn set_queue(&mut self, data: &[u8], is_newer: bool) -> Ending {
        let word = |at: usize| u64::from_be_bytes(data[at..][..8].try_into().unwrap());
        let (at, form) = (word(0), word(8));
        let (boundary, number, size) = (form >> 32, (form >> 16) as u16, form as u16);
        let Some(queue) = self.queues.get_mut(usize::from(number)) else {
            return Ending::Invalid;
        };
        if !is_newer {
            if at != 0 && boundary != 4096 {
                return Ending::Invalid;
            }
            queue.place(at);
            return if at != 0 && queue.size > size {
                Ending::Invalid
            } else {
                Ending::Done
            };
        }
        if queue.size != 0 {
            queue.parts = [at, word(16), word(24)];
            queue.is_reached |= at != 0;
        }
        if at != 0 {
            if queue.own_size < size {
                return Ending::Invalid;
            }
            if size != 0 && queue.size != 0 && size <= MOST_ENTRIES {
                queue.size = size;
            }
        }
        Ending::Done
    }

    fn write_features(&mut self, bits: u32, index: u8) {
        if self.status & STATUS_FEATURES_OK != 0 {
            return;
        }
        let shift = match index {
            0 => 0,
            1 if self.revision >= Some(1) => 32,
            _ => return,
        };
        self.features = self.features & !(0xFFFF_FFFF << shift) | u64::from(bits) << shift;
        if self.kind == 1 {
            let pairs = match self.features & MULTIQUEUE {
                0 => 1,
                _ => self.pairs,
            };
            self.count_queues(pairs);
        }
        for queue in &mut self.queues {
            queue.is_reached |= queue.size != 0 && queue.parts[0] != 0;
        }
    }
}

/// A subchannel.
#[derive(Debug)]
pub struct Subchannel {
    parameter: u32,
    /// Word 1 of the path-management-control word.
    controls: u32,
    status: [u32; 3],
    /// The next command.
    next: u32,
    pub device: Device,
}

impl Subchannel {
    fn is_enabled(&self) -> bool {
        self.controls & PMCW_ENABLED != 0
    }

    fn end(&mut self, device_and_subchannel: u32, alert: u32) {
        self.status[0] = START_FUNCTION | alert | ENDED | SCSW_PENDING;
        self.status[1] = self.next.wrapping_add(8);
        self.status[2] = device_and_subchannel << 16;
    }
}

/// The subchannels, and the interruptions that are pending.
#[derive(Debug, Default)]
pub struct Subsystem {
    pub subchannels: Vec<Subchannel>,
    pub interruptions: VecDeque<[u32; 3]>,
    pub noted: Vec<Noted>,
    /// How many commands SET_QUEUE were executed in each form, and how many of them were refused.
    pub set_queues: [[u64; 2]; 2],
    /// Buffers taken, and those that the device did not accept.
    pub buffers: u64,
    pub broken: u64,
}

/// The subsystem, which a test keeps as well as its machine.
pub type Shared = Rc<RefCell<Subsystem>>;

impl Below for Shared {
    fn channel(
        &mut self,
        machine: &mut TestMachine,
        instruction: Instruction,
        subsystem: u32,
        block: &mut ChannelBlock,
    ) -> Code {
        self.borrow_mut()
            .instruction(machine, instruction, subsystem, block)
    }

    fn notify(&mut self, machine: &mut TestMachine, subsystem: u32, queue: u16) -> u64 {
        let number = usize::from(subsystem as u16);
        self.borrow_mut().take(machine, number, queue);
        0
    }
}

impl Subsystem {
    pub fn new(devices: Vec<Device>) -> Self {
        let subchannels = devices.into_iter().map(|device| Subchannel {
            parameter: 0,
            controls: PMCW_DEVICE_VALID,
            status: [0; 3],
            next: 0,
            device,
        });
        Self {
            subchannels: subchannels.collect(),
            ..Self::default()
        }
    }

    fn instruction(
        &mut self,
        machine: &mut TestMachine,
        instruction: Instruction,
        subsystem: u32,
        block: &mut ChannelBlock,
    ) -> Code {
        match instruction {
            Instruction::Tpi => {
                let Some(words) = self.interruptions.pop_front() else {
                    return Code::Zero;
                };
                block.0[..3].copy_from_slice(&words);
                return Code::One;
            }
            Instruction::Stcrw => {
                block.0[0] = 0;
                return Code::One;
            }
            Instruction::Rchp => return Code::Three,
            _ => {}
        }
        let number = usize::from(subsystem as u16);
        let Some(subchannel) = self.subchannels.get_mut(number) else {
            return Code::Three;
        };
        let is_pending = subchannel.status[0] & SCSW_PENDING != 0;
        match instruction {
            Instruction::Stsch => {
                block.0[..2].copy_from_slice(&[subchannel.parameter, subchannel.controls]);
                block.0[SCHIB_STATUS / 4..][..3].copy_from_slice(&subchannel.status);
            }
            Instruction::Msch => {
                if is_pending {
                    return Code::One;
                } else if subchannel.status[0] & SCSW_OCCUPIED != 0 {
                    return Code::Two;
                }
                const CHANGED: u32 = PMCW_ENABLED | 7 << 27;
                subchannel.parameter = block.0[0];
                subchannel.controls = subchannel.controls & !CHANGED | block.0[1] & CHANGED;
                if !subchannel.is_enabled() {
                    subchannel.device.revision = None;
                }
            }
            _ if !subchannel.is_enabled() => return Code::Three,
            Instruction::Ssch => {
                if is_pending {
                    return Code::One;
                } else if subchannel.status[0] & SCSW_OCCUPIED != 0 {
                    return Code::Two;
                }
                subchannel.parameter = block.0[0];
                // The only path. Without it nothing is executed, and the function stays pending until its status is taken.
                if block.0[1] & ONLY_PATH == 0 {
                    let flags = START_FUNCTION | START_PENDING | ALERT | SCSW_PENDING;
                    subchannel.status[0] = NOT_OPERATIONAL | flags;
                    self.interrupt(number);
                    return Code::Zero;
                }
                subchannel.next = block.0[2];
                // The address stays that of an earlier program until this one ends.
                subchannel.status = [START_FUNCTION, subchannel.status[1], 0];
                self.run(machine, number, false);
            }
            Instruction::Rsch => {
                if is_pending {
                    return Code::One;
                } else if subchannel.status[0] & SCSW_SUSPENDED == 0 {
                    return Code::Two;
                }
                self.run(machine, number, true);
            }
            Instruction::Hsch => {
                if is_pending {
                    return Code::One;
                }
                let behind = subchannel.next.wrapping_add(8);
                if subchannel.status[0] & SCSW_SUSPENDED != 0 {
                    subchannel.status[1] = behind;
                }
                subchannel.status[0] = HALT_FUNCTION | SCSW_PENDING;
                self.interrupt(number);
            }
            Instruction::Csch => {
                subchannel.status[0] = CLEAR_FUNCTION | SCSW_PENDING;
                self.interrupt(number);
            }
            Instruction::Tsch => {
                block.0[..3].copy_from_slice(&subchannel.status);
                if !is_pending {
                    return Code::One;
                }
                subchannel.status[0] = 0;
            }
            _ => return Code::Two,
        }
        Code::Zero
    }

    /// The interruption of a subchannel becomes pending. Nothing withdraws it.
    fn interrupt(&mut self, number: usize) {
        let Subchannel {
            parameter,
            controls,
            ..
        } = self.subchannels[number];
        let subclass = controls & 7 << 27;
        self.interruptions
            .push_back([0x1_0000 | number as u32, parameter, subclass]);
    }

    fn load<const N: usize>(machine: &TestMachine, at: u64) -> [u8; N] {
        let storage = machine.storage.len() as u64;
        let (bytes, at) = match at.checked_sub(storage) {
            Some(inside) => (&machine.hsa, inside),
            None => (&machine.storage, at),
        };
        *bytes[at as usize..].first_chunk().expect("storage")
    }

    fn store(machine: &mut TestMachine, at: u64, from: &[u8]) {
        let storage = machine.storage.len() as u64;
        let (bytes, at) = match at.checked_sub(storage) {
            Some(inside) => (&mut machine.hsa, inside),
            None => (&mut machine.storage, at),
        };
        bytes[at as usize..][..from.len()].copy_from_slice(from);
    }

    /// Executes commands from the next one on. `is_resumed` says that the first one was seen with its flag.
    fn run(&mut self, machine: &mut TestMachine, number: usize, mut is_resumed: bool) {
        let mut after_transfer = false;
        // No program of the machine's is longer, and none goes in a circle.
        for _ in 0..2000 {
            let at = u64::from(self.subchannels[number].next);
            assert!(at >= machine.storage.len() as u64, "a command of the guest");
            let ccw = Ccw::from_format_1(u64::from_be_bytes(Self::load(machine, at)));
            let subchannel = &mut self.subchannels[number];
            if ccw.command == TRANSFER_IN_CHANNEL && !after_transfer && ccw.flags == 0 {
                subchannel.next = ccw.address;
                after_transfer = true;
                continue;
            }
            after_transfer = false;
            if ccw.command & 0x0F == 0 || ccw.command & 0x0F == TRANSFER_IN_CHANNEL {
                subchannel.end(0x20, ALERT);
                return self.interrupt(number);
            }
            if ccw.flags & SUSPEND != 0 && !is_resumed {
                subchannel.status[0] = START_FUNCTION | SCSW_SUSPENDED;
                return;
            }
            is_resumed = false;
            let ending = self.command(machine, number, ccw);
            let subchannel = &mut self.subchannels[number];
            match ending {
                Ending::Done if ccw.flags & CHAIN_COMMAND != 0 => {
                    subchannel.next += 8;
                    continue;
                }
                Ending::Done => subchannel.end(0x0C00, 0),
                Ending::Rejected => subchannel.end(0x0200, ALERT),
                Ending::Invalid => subchannel.end(0x20, ALERT),
            }
            return self.interrupt(number);
        }
        panic!("a channel program goes in a circle");
    }

    /// Executes a command.
    fn command(&mut self, machine: &mut TestMachine, number: usize, ccw: Ccw) -> Ending {
        let any_length = ccw.flags & (ANY_LENGTH | CHAIN_DATA) == ANY_LENGTH;
        let (count, at) = (usize::from(ccw.count), u64::from(ccw.address));
        let device = &mut self.subchannels[number].device;
        let is_newer = device.revision >= Some(1);
        if ccw.command == NO_OPERATION {
            return Ending::Done;
        }
        if ccw.command == SENSE_IDENTIFICATION {
            let bytes = [0xFF, 0x38, 0x32, device.kind, 0, 0, 0, 0];
            let length = count.min(8);
            return self.store_data(machine, number, at, &bytes[..length]);
        }
        if device.is_modern && device.revision.is_none() && ccw.command != SET_REVISION {
            return Ending::Rejected;
        }
        let wanted = match ccw.command {
            SET_QUEUE if is_newer => 32,
            SET_QUEUE => 16,
            READ_FEATURES | WRITE_FEATURES => 5,
            WRITE_STATUS => 1,
            READ_QUEUE | SET_REVISION => 4,
            SET_INDICATORS | SET_CONFIGURATION_INDICATORS => 8,
            SET_ADAPTER_INDICATORS => 25,
            RESET => 0,
            _ => return Ending::Rejected,
        };
        if count < wanted || count != wanted && !any_length && ccw.command != RESET {
            return Ending::Invalid;
        }
        let mut data = [0; 64];
        for (offset, byte) in (0..).zip(&mut data[..wanted]) {
            let [loaded] = Self::load(machine, at + offset);
            *byte = loaded;
        }
        let word = |at: usize| u64::from_be_bytes(data[at..][..8].try_into().unwrap());
        let bits = u32::from_le_bytes(data[..4].try_into().unwrap());
        let device = &mut self.subchannels[number].device;
        match ccw.command {
            RESET => device.reset(),
            SET_QUEUE => {
                let ending = device.set_queue(&data, is_newer);
                let counts = &mut self.set_queues[usize::from(is_newer)];
                counts[0] += 1;
                counts[1] += u64::from(ending != Ending::Done);
                return ending;
            }
            READ_QUEUE => {
                let index = u16::from_be_bytes([data[0], data[1]]);
                let Some(queue) = device.queues.get(usize::from(index)) else {
                    return Ending::Invalid;
                };
                let size = queue.size.to_be_bytes();
                return self.store_data(machine, number, at + 2, &size);
            }
            READ_FEATURES => {
                let offered: u32 = match data[4] {
                    0 => 0x3000_0000 | MULTIQUEUE as u32,
                    1 if is_newer => 1,
                    _ => 0,
                };
                return self.store_data(machine, number, at, &offered.to_le_bytes());
            }
            WRITE_FEATURES => device.write_features(bits, data[4]),
            WRITE_STATUS => {
                device.status = data[0];
                if data[0] == 0 {
                    device.reset();
                }
            }
            SET_REVISION => {
                let revision = u16::from_be_bytes([data[0], data[1]]);
                let is_bad = revision > 2 || device.is_modern && revision == 0;
                if device.revision.is_some() || is_bad {
                    return Ending::Rejected;
                }
                device.revision = Some(revision);
            }
            SET_INDICATORS if device.adapter.is_some() => return Ending::Rejected,
            SET_INDICATORS => device.indicators = Some(word(0)),
            SET_ADAPTER_INDICATORS if device.indicators.is_some() => return Ending::Rejected,
            SET_ADAPTER_INDICATORS => {
                device.adapter = Some([word(0), word(8), word(16), data[24].into()]);
            }
            _ => {}
        }
        Ending::Done
    }

    fn store_data(
        &mut self,
        machine: &mut TestMachine,
        subchannel: usize,
        at: u64,
        bytes: &[u8],
    ) -> Ending {
        self.note(machine, subchannel, What::Data, at, bytes.len() as u64);
        Self::store(machine, at, bytes);
        Ending::Done
    }

    /// Notes an access, unless it is to guest storage.
    fn note(&mut self, machine: &TestMachine, subchannel: usize, what: What, at: u64, length: u64) {
        if at + length > machine.storage.len() as u64 || what != What::Data {
            self.noted.push(Noted {
                subchannel,
                what,
                at,
                length,
            });
        }
    }

    /// A number of a ring or a table.
    fn number<const N: usize>(
        &mut self,
        machine: &TestMachine,
        subchannel: usize,
        what: What,
        at: u64,
    ) -> u64 {
        self.note(machine, subchannel, what, at, N as u64);
        let mut bytes: [u8; N] = Self::load(machine, at);
        if self.subchannels[subchannel].device.is_little() {
            bytes.reverse();
        }
        bytes
            .iter()
            .fold(0, |all, &byte| all << 8 | u64::from(byte))
    }

    /// The device takes all buffers of a queue that it finds.
    pub fn take(&mut self, machine: &TestMachine, subchannel: usize, queue: u16) {
        loop {
            let device = &self.subchannels[subchannel].device;
            let ring = device.queues[usize::from(queue)];
            if ring.parts[0] == 0 || !ring.is_reached || device.is_broken {
                return;
            }
            let offered = ring.parts[1];
            let what = What::Ring(queue);
            let index = self.number::<2>(machine, subchannel, what, offered + 2) as u16;
            let ahead = index.wrapping_sub(ring.taken);
            if ahead == 0 {
                return;
            }
            let place = offered + 4 + 2 * u64::from(ring.taken % ring.size);
            let first = self.number::<2>(machine, subchannel, what, place) as u16;
            let pieces = (ahead <= ring.size && first < ring.size)
                .then(|| self.pieces(machine, subchannel, queue, first))
                .flatten();
            let device = &mut self.subchannels[subchannel].device;
            let Some(pieces) = pieces else {
                device.is_broken = true;
                self.broken += 1;
                return;
            };
            self.buffers += 1;
            device.queues[usize::from(queue)].taken = ring.taken.wrapping_add(1);
            device.taken.push_back(Taken {
                queue,
                number: first,
                pieces,
            });
        }
    }

    /// What the device stores into by a buffer, if it accepts the buffer.
    fn pieces(
        &mut self,
        machine: &TestMachine,
        subchannel: usize,
        queue: u16,
        first: u16,
    ) -> Option<Vec<(u64, u32)>> {
        const NEXT: u16 = 1;
        const WRITE: u16 = 2;
        const INDIRECT: u16 = 4;
        let ring = self.subchannels[subchannel].device.queues[usize::from(queue)];
        let (mut table, mut count) = (ring.parts[0], u32::from(ring.size));
        let (mut what, mut number) = (What::Ring(queue), first);
        let mut pieces = vec![];
        let mut seen = 0;
        loop {
            let at = table + 16 * u64::from(number);
            let address = self.number::<8>(machine, subchannel, what, at);
            let length = self.number::<4>(machine, subchannel, what, at + 8) as u32;
            let [flags, next] = [12, 14]
                .map(|field| self.number::<2>(machine, subchannel, what, at + field) as u16);
            if flags & INDIRECT != 0 && what == What::Ring(queue) && seen == 0 {
                if length == 0 || !length.is_multiple_of(16) {
                    return None;
                }
                (table, count, number) = (address, length / 16, 0);
                what = What::Table(queue);
                continue;
            }
            let end = address.checked_add(length.into());
            let storage = machine.storage.len() as u64;
            assert!(
                end.is_some_and(|end| end <= storage),
                "a device is told to access {length:x} bytes at {address:x}"
            );
            if length == 0 {
                return None;
            }
            if flags & WRITE != 0 {
                pieces.push((address, length));
            }
            seen += 1;
            if flags & NEXT == 0 {
                return Some(pieces);
            }
            if seen >= count || u32::from(next) >= count {
                return None;
            }
            number = next;
        }
    }

    /// The device uses a buffer that it has taken, if it has one, and announces it.
    pub fn complete(&mut self, machine: &mut TestMachine, subchannel: usize, value: u8) {
        let device = &mut self.subchannels[subchannel].device;
        let Some(taken) = device.taken.pop_front() else {
            return;
        };
        let is_little = device.is_little();
        let ring = &mut device.queues[usize::from(taken.queue)];
        if ring.parts[2] == 0 || !ring.is_reached || ring.size == 0 {
            return;
        }
        let entry = ring.parts[2] + 4 + 8 * u64::from(ring.used % ring.size);
        ring.used = ring.used.wrapping_add(1);
        let (index, begin) = (ring.used, ring.parts[2]);
        let mut length = 0;
        for (at, bytes) in taken.pieces {
            length += bytes;
            Self::store(machine, at, &vec![value; bytes.min(64) as usize]);
        }
        let put = |below: &mut Self, machine: &mut TestMachine, at: u64, mut bytes: Vec<u8>| {
            if is_little {
                bytes.reverse();
            }
            let what = What::Used(taken.queue);
            below.note(machine, subchannel, what, at, bytes.len() as u64);
            Self::store(machine, at, &bytes);
        };
        let number = u32::from(taken.number).to_be_bytes();
        put(self, machine, entry, number.to_vec());
        put(self, machine, entry + 4, length.to_be_bytes().to_vec());
        put(self, machine, begin + 2, index.to_be_bytes().to_vec());
        self.announce(machine, subchannel, taken.queue);
    }

    fn announce(&mut self, machine: &mut TestMachine, subchannel: usize, queue: u16) {
        let device = &self.subchannels[subchannel].device;
        let indicate = |below: &mut Self, machine: &mut TestMachine, at: u64, bit: u8| {
            below.note(machine, subchannel, What::Indicator, at, 1);
            let [byte] = Self::load(machine, at);
            Self::store(machine, at, &[byte | bit]);
        };
        if let Some([summary, at, first, subclass]) = device.adapter {
            let bit = first + u64::from(queue);
            indicate(self, machine, at + bit / 8, 0x80 >> (bit % 8));
            indicate(self, machine, summary, 1);
            let word = 1 << 31 | (subclass as u32) << 27;
            self.interruptions.push_back([0, 0, word]);
        } else if let (Some(at), true) = (device.indicators, queue < 64) {
            let byte = at + 7 - u64::from(queue / 8);
            indicate(self, machine, byte, 1 << (queue % 8));
            let status = &mut self.subchannels[subchannel].status;
            if status[0] & SCSW_PENDING == 0 {
                status[0] |= ALERT | SCSW_PENDING;
                self.interrupt(subchannel);
            }
        }
    }
}
