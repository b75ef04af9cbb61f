//! What devices are told of their rings, whatever channel programs say in either form: each queue has storage of its own,
//! of the size that its device has, and a device accesses nothing else of the HSA.
//!
//! The programs are issued by virtual CPUs and executed by a model of the channel subsystem with its devices
//! ([`below`]). After each step the accesses of the devices and what they have been told are compared with the machine's
//! records.

mod below;

use super::ring::{self, Area, Descriptor, INDIRECT, NEXT, Records, VERSION_1, WRITE};
use super::tests::{END, at};
use super::*;
use crate::channel::own;
use crate::millicode;
use crate::state::vcpu::{CpuState, Vcpu};
use crate::test_machine::Bench;
use crate::test_random::Random;
use arch::channel::{CHAIN_COMMAND, Ccw, IoInterruption, PMCW_ENABLED, SUSPEND};
use arch::psw::{ADDRESSING_64, Psw};
use below::{Device as Below, MULTIQUEUE, Shared, Subsystem, What};
use insn::Instruction;

/// Storage of a subchannel's programs, of their data, and of the blocks of the instructions.
const PROGRAMS: u64 = 0x2_0000;
const DATA: u64 = 0x3_0000;
const BLOCKS: u64 = 0x4_0000;
/// Its rings, its tables and its buffers.
const RINGS: u64 = 0x10_0000;
const RINGS_OF_A_QUEUE: u64 = 0x1_0000;
const RINGS_OF_A_DEVICE: u64 = 0x4_0000;
const TABLES: u64 = 0x9_0000;
const BUFFERS: u64 = 0x20_0000;

const CC: u8 = CHAIN_COMMAND;
/// CCW flag: an incorrect length is not indicated.
const ANY_LENGTH: u8 = 0x20;

/// A machine with devices, and two CPUs.
struct Told {
    bench: Bench,
    other: Vcpu,
    below: Shared,
    /// Channel programs that this program has put down.
    programs: u64,
}

fn enabled() -> u32 {
    PMCW_ENABLED | 3 << 27
}

impl Told {
    /// The devices are behind subchannels 0, 1, 2 … which the program has enabled.
    fn new(devices: Vec<Below>) -> Self {
        let count = devices.len();
        let below = Shared::new(Subsystem::new(devices).into());
        let mut bench = Bench::with_devices(count as u64);
        bench.hardware.below = Some(Box::new(below.clone()));
        let mut other = Vcpu::new(1, Bench::facility(), Bench::facility());
        other.state = CpuState::Operating;
        other.psw = Psw {
            mask: ADDRESSING_64,
            address: 0,
        };
        let mut told = Self {
            bench,
            other,
            below,
            programs: 0,
        };
        for subchannel in 0..count {
            told.modify(0, subchannel, enabled());
        }
        told
    }

    /// A disk.
    fn disk() -> Self {
        Self::new(vec![Below::new(2, &[256], false)])
    }

    /// A CPU issues an instruction to a subchannel. Returns the condition code.
    fn issue(&mut self, cpu: usize, subchannel: usize, instruction: Instruction) -> u8 {
        let Self { bench, other, .. } = self;
        let cpu = if cpu == 0 { &mut bench.cpu } else { other };
        cpu.general[1] = 0x1_0000 | subchannel as u64;
        millicode::perform(cpu, &bench.configuration, &mut bench.hardware, &instruction).unwrap();
        let code = cpu.psw.condition_code() as u8;
        self.check();
        code
    }

    fn modify(&mut self, cpu: usize, subchannel: usize, controls: u32) {
        let block = BLOCKS + 0x1000 * subchannel as u64;
        self.issue(cpu, subchannel, Instruction::Stsch { second: at(block) });
        let word = u64::from(self.bench.word(block)) << 32 | u64::from(controls);
        self.bench.set_doublewords(block, &[word]);
        self.issue(cpu, subchannel, Instruction::Msch { second: at(block) });
    }

    /// Puts a command and its data into storage; returns the word.
    fn command(&mut self, command: u8, flags: u8, data: &[u8]) -> u64 {
        self.programs += 1;
        let address = DATA + 64 * (self.programs % 512);
        self.bench.set(address, &[0; 64]);
        self.bench.set(address, data);
        Ccw {
            command,
            flags,
            count: data.len() as u16,
            address: address as u32,
        }
        .format_1()
    }

    /// A command that turns a queue on, in the newer form.
    fn queue(&mut self, flags: u8, number: u16, size: u16) -> u64 {
        let at = rings_of(0, number);
        let data = [at, form(number, size), at + 0x5000, at + 0x8000].map(u64::to_be_bytes);
        self.command(SET_QUEUE, flags, &data.concat())
    }

    /// The same, in the older form.
    fn older_queue(&mut self, flags: u8, number: u16, size: u16) -> u64 {
        let data = [rings_of(0, number), 4096 << 32 | form(number, size)].map(u64::to_be_bytes);
        self.command(SET_QUEUE, flags, &data.concat())
    }

    fn reset(&mut self, flags: u8) -> u64 {
        self.command(RESET, flags, &[])
    }

    fn features(&mut self, flags: u8, index: u8, bits: u32) -> u64 {
        let data = [&bits.to_le_bytes()[..], &[index]].concat();
        self.command(WRITE_FEATURES, flags, &data)
    }

    fn revision(&mut self, revision: u16) -> u64 {
        let data = [revision.to_be_bytes(), [0, 0]].concat();
        self.command(SET_REVISION, 0, &data)
    }

    /// Puts the words of a program down, and the block that designates it.
    fn put(&mut self, subchannel: usize, words: &[u64]) {
        let program = PROGRAMS + 0x1000 * subchannel as u64;
        let block = BLOCKS + 0x1000 * subchannel as u64 + 0x100;
        self.bench.set_doublewords(program, words);
        let words = [7, 0x0880_FF00_0000_0000 | program];
        self.bench.set_doublewords(block, &words);
    }

    /// The block that designates a subchannel's program names no path that the device has.
    fn without_path(&mut self, subchannel: usize) {
        let block = BLOCKS + 0x1000 * subchannel as u64 + 0x108;
        let word = self.bench.word(block);
        self.bench.set(block, &(word & !0x8000).to_be_bytes());
    }

    fn start(&mut self, cpu: usize, subchannel: usize) -> u8 {
        let block = BLOCKS + 0x1000 * subchannel as u64 + 0x104;
        self.issue(cpu, subchannel, Instruction::Ssch { second: at(block) })
    }

    fn take_status(&mut self, cpu: usize, subchannel: usize) -> Option<[u32; 3]> {
        let block = BLOCKS + 0x1000 * subchannel as u64 + 0x200;
        let code = self.issue(cpu, subchannel, Instruction::Tsch { second: at(block) });
        (code == 0).then(|| [0, 4, 8].map(|word| self.bench.word(block + word)))
    }

    /// Executes a program on subchannel 0, and takes the status: word 2 of it.
    fn execute(&mut self, words: &[u64]) -> u32 {
        self.put(0, words);
        assert_eq!(self.start(0, 0), 0);
        self.take_status(0, 0).unwrap()[2]
    }

    /// The same with one word, before which the program is suspended.
    fn execute_behind_a_suspension(&mut self, word: u64) -> u32 {
        self.put(0, &[nothing(CC | SUSPEND), word]);
        assert_eq!(self.start(0, 0), 0);
        self.bench.set_doublewords(PROGRAMS, &[nothing(CC)]);
        assert_eq!(self.issue(0, 0, Instruction::Rsch {}), 0);
        self.take_status(0, 0).unwrap()[2]
    }

    /// Chooses the newer commands, as a program does first.
    fn newer(mut self) -> Self {
        let word = self.revision(1);
        assert_eq!(self.execute(&[word]), DONE);
        self
    }

    /// A queue of the first device, as that has it.
    fn ring(&self, number: u16) -> below::Ring {
        self.below.borrow().subchannels[0].device.queues[usize::from(number)]
    }

    /// A queue of the first device, as the machine has it.
    fn known(&self, number: u16) -> Option<crate::state::device::Queue> {
        let number = QueueNumber::new(number.into()).unwrap();
        let subchannel = self.bench.configuration.channels.subchannel(0x1_0000);
        let subchannel = subchannel.unwrap();
        subchannel.device.as_ref().unwrap().queue(number).copied()
    }

    fn notify(&mut self, subchannel: usize, queue: u64) -> u64 {
        let operands = [0x1_0000 | subchannel as u64, queue, 0];
        let Bench {
            configuration,
            hardware,
            ..
        } = &mut self.bench;
        let answer = attention::notify(configuration, hardware, operands);
        self.check();
        answer
    }

    /// The machine takes the interruptions that are pending below.
    fn take_interruptions(&mut self) {
        loop {
            let next = self.below.borrow_mut().interruptions.pop_front();
            let Some([subsystem, parameter, identification]) = next else {
                break;
            };
            let interruption = IoInterruption {
                subsystem,
                parameter,
                identification,
            };
            let Bench {
                configuration,
                hardware,
                ..
            } = &mut self.bench;
            attention::taken(configuration, hardware, interruption);
        }
        self.check();
    }

    /// A device looks at all its queues by itself, or uses a buffer.
    fn device_works(&mut self, subchannel: usize, uses: bool) {
        let hardware = &mut self.bench.hardware;
        let mut below = self.below.borrow_mut();
        if uses {
            below.complete(hardware, subchannel, 0x5A);
        } else {
            for queue in 0..4 {
                below.take(hardware, subchannel, queue);
            }
        }
        drop(below);
        self.check();
    }

    /// The first place in the rooms of the devices that has not what belongs there.
    fn changed(&self) -> Option<Real> {
        room::changed_in_rooms(&self.bench.configuration, &self.bench.hardware)
    }

    /// Each access of a device was to what it may access, and the devices know what the machine knows of them.
    fn check(&mut self) {
        let mut below = self.below.borrow_mut();
        let noted = core::mem::take(&mut below.noted);
        let mut ranges = vec![];
        for (number, subchannel) in below.subchannels.iter().enumerate() {
            let known = (self.bench.configuration.channels).subchannel(0x1_0000 | number as u32);
            let known = known.unwrap();
            let device = known.device.as_ref().unwrap();
            let room = device.room.0;
            ranges.push((room, room + PAGE));
            for queue in &device.queues {
                let place = queue.place;
                let area = Area::new(place.rings, queue.size).length();
                let records = Records::new(place.records, queue.size).length();
                ranges.push((place.rings.0, place.rings.0 + area));
                ranges.push((place.records.0, place.records.0 + records));
                assert!(place.records.0 >= room + PAGE);
                assert!(place.rings.0 + area <= room + ROOM_LENGTH);
            }
            for (index, ring) in (0..).zip(&subchannel.device.queues) {
                let number = QueueNumber::new(index).unwrap();
                let queue = device.queue(number);
                if let Some(queue) = queue
                    && queue.rings.is_some()
                {
                    let area = Area::new(queue.place.rings, queue.size);
                    let parts = [area.descriptor(0), area.offered(), area.used()];
                    let told = (ring.size, ring.parts);
                    assert_eq!(told, (queue.size, parts.map(|part| part.0)), "{queue:x?}");
                }
                if ring.parts[0] == 0 {
                    continue;
                }
                // What the device would access by its own size, if it looked.
                let queue =
                    queue.expect("the device has an address of a queue that the machine has not");
                let begin = queue.place.rings.0;
                let end = begin + Area::new(Real(begin), queue.size).length();
                for (part, length) in ring.parts.iter().zip(ring::lengths(ring.size.into())) {
                    assert!(
                        (begin..end).contains(part) && part + length <= end,
                        "{ring:x?} {queue:x?}"
                    );
                }
            }
        }
        ranges.sort_unstable();
        let mut pairs = ranges.windows(2);
        assert!(pairs.all(|pair| pair[0].1 <= pair[1].0), "{ranges:x?}");
        for access in noted {
            let known = (self.bench.configuration.channels)
                .subchannel(0x1_0000 | access.subchannel as u32)
                .unwrap();
            let device = known.device.as_ref().unwrap();
            let queue = |number: u16| {
                let number = QueueNumber::new(number.into()).unwrap();
                let queue = device.queue(number).expect("a queue of the machine");
                let area = Area::new(queue.place.rings, queue.size);
                (area, Records::new(queue.place.records, queue.size), queue)
            };
            let (begin, end) = match access.what {
                What::Ring(number) => {
                    let (area, _, queue) = queue(number);
                    (queue.place.rings.0, area.used().0)
                }
                What::Used(number) => {
                    let (area, _, queue) = queue(number);
                    let [_, _, length] = ring::lengths(queue.size.into());
                    (area.used().0, area.used().0 + length)
                }
                What::Table(number) => {
                    let (_, records, queue) = queue(number);
                    let end = queue.place.records.0 + records.length();
                    (records.unit(0).0, end)
                }
                What::Indicator => (device.room.0, device.room.0 + place::QUESTION),
                What::Data => {
                    let question = device.room.0 + place::QUESTION + 8;
                    let own = own::data(&known.program).0;
                    if access.at >= device.room.0 {
                        (question, question + 8)
                    } else {
                        (own, own + 64)
                    }
                }
            };
            assert!(
                begin <= access.at && access.at + access.length <= end,
                "{access:x?}: {begin:x} to {end:x}"
            );
        }
    }
}

/// Channel end and device end.
const DONE: u32 = 0x0C00_0000;
/// A program check.
const INVALID: u32 = 0x0020_0000;
/// A unit check.
const REJECTED: u32 = 0x0200_0000;

fn rings_of(subchannel: usize, queue: u16) -> u64 {
    RINGS + RINGS_OF_A_DEVICE * subchannel as u64 + RINGS_OF_A_QUEUE * u64::from(queue % 4)
}

fn form(number: u16, size: u16) -> u64 {
    u64::from(number) << 16 | u64::from(size)
}

/// No operation, by any device.
fn nothing(flags: u8) -> u64 {
    Ccw {
        command: 3,
        flags: flags | ANY_LENGTH,
        count: 1,
        address: 0x3000,
    }
    .format_1()
}

#[test]
fn a_queue_that_one_program_turns_on_twice_does_not_get_the_storage_of_another() {
    let mut told = Told::disk().newer();
    let words = [told.queue(CC, 0, 8), told.queue(0, 0, 256)];
    assert_eq!(told.execute(&words), INVALID);
    assert_eq!(told.ring(0).size, 8);
    let mut told = Told::new(vec![Below::network(1, false)]).newer();
    let words = [told.queue(CC, 0, 8), told.queue(0, 0, 256)];
    assert_eq!(told.execute(&words), INVALID);
    let word = told.queue(0, 1, 8);
    assert_eq!(told.execute(&[word]), DONE);
    assert_ne!(told.ring(1).parts[0], 0);
}

#[test]
fn a_size_that_the_device_would_refuse_never_reaches_it() {
    let mut told = Told::disk().newer();
    let word = told.queue(0, 0, 512);
    assert_eq!(told.execute(&[word]), INVALID);
    assert_eq!(
        (told.ring(0).parts, told.known(0).is_none()),
        ([0; 3], true)
    );
    // The program may try again.
    let word = told.queue(0, 0, 128);
    assert_eq!(told.execute(&[word]), DONE);
    assert_eq!(told.known(0).unwrap().size, 128);
    assert_eq!(told.below.borrow().set_queues, [[0, 0], [1, 0]]);
}

#[test]
fn in_the_older_form_a_queue_has_the_size_of_the_device() {
    for (size, ends) in [
        (8, INVALID),
        (255, INVALID),
        (256, DONE),
        (1024, DONE),
        (u16::MAX, DONE),
    ] {
        let mut told = Told::disk();
        let word = told.older_queue(0, 0, size);
        assert_eq!(told.execute(&[word]), ends, "{size}");
        let known = told.known(0);
        if ends == INVALID {
            assert_eq!((told.ring(0).parts, known.is_none()), ([0; 3], true));
            continue;
        }
        let rings = known.unwrap().rings.unwrap();
        // Where the device itself would have looked.
        let begin = rings_of(0, 0);
        assert_eq!(known.unwrap().size, 256);
        assert_eq!(
            [rings.descriptors, rings.offered, rings.used],
            [begin, begin + 4096, begin + 8192]
        );
        told.check();
    }
}

#[test]
fn a_device_without_that_queue_accepts_the_older_form_and_gets_nothing() {
    let mut told = Told::disk();
    for number in [1, 3, 1023] {
        let word = told.older_queue(0, number, 256);
        assert_eq!(told.execute(&[word]), DONE);
        assert!(told.known(number).is_none());
    }
    let word = told.older_queue(0, 1024, 256);
    assert_eq!(told.execute(&[word]), INVALID);
    let mut told = told.newer();
    let word = told.queue(0, 1, 8);
    assert_eq!(told.execute(&[word]), INVALID);
}

#[test]
fn a_device_that_needs_a_revision_refuses_by_itself_what_it_would_refuse() {
    let mut told = Told::new(vec![Below::new(2, &[256], true)]);
    let words = [told.older_queue(0, 0, 256), told.queue(0, 0, 256)];
    for word in words {
        assert_eq!(told.execute(&[word]), REJECTED);
        assert!(told.known(0).is_none());
    }
    // One program may choose the revision first.
    let words = [
        told.revision(1) | u64::from(CC) << 48,
        told.queue(0, 0, 256),
    ];
    assert_eq!(told.execute(&words), DONE);
    assert!(told.known(0).is_some());
}

#[test]
fn the_size_is_that_of_the_features_at_the_time() {
    let mut told = Told::new(vec![Below::network(4, false)]);
    // Queue 2 is the one for controls, until the card has several pairs.
    let accept = told.features(CC, 0, MULTIQUEUE as u32);
    let words = [accept, told.older_queue(0, 2, 256)];
    assert_eq!(told.execute(&words), INVALID, "nobody knows the size");
    assert_eq!(told.ring(2).parts[0], 0);
    let words = [told.older_queue(CC, 2, 256), told.older_queue(0, 8, 64)];
    assert_eq!(told.execute(&words), DONE);
    assert_eq!([2, 8].map(|n| told.known(n).unwrap().size), [256, 64]);
    let words = [told.reset(CC), told.features(0, 0, 0)];
    assert_eq!(told.execute(&words), DONE);
    let word = told.older_queue(0, 2, 256);
    assert_eq!(told.execute(&[word]), DONE);
    assert_eq!(told.known(2).unwrap().size, 64);
}

#[test]
fn behind_a_suspension_a_device_cannot_be_asked() {
    // In the newer form the device may refuse the size then, after it has taken the addresses over.
    let mut told = Told::disk().newer();
    let word = told.queue(0, 0, 1024);
    assert_eq!(told.execute_behind_a_suspension(word), INVALID);
    assert_ne!(told.ring(0).parts[0], 0);
    // It keeps that storage until it is reset, and is not notified.
    let begin = told.known(0).unwrap().place;
    assert_eq!(told.notify(0, 0), 0);
    assert!(told.bench.hardware.notified.is_empty());
    let word = told.queue(0, 0, 256);
    assert_eq!(told.execute(&[word]), INVALID);
    assert_eq!(told.known(0).unwrap().place, begin);
    let words = [told.reset(0), told.queue(0, 0, 256)];
    assert_eq!(told.execute(&words[..1]), DONE);
    assert_eq!(told.execute(&words[1..]), DONE);
    // In the older form nothing is passed on.
    let mut told = Told::disk();
    let word = told.older_queue(0, 0, 256);
    assert_eq!(told.execute_behind_a_suspension(word), INVALID);
    assert_eq!(told.ring(0).parts[0], 0);
}

#[test]
fn a_question_leaves_no_trace_of_itself() {
    let mut told = Told::disk();
    told.take_interruptions();
    let word = told.older_queue(0, 0, 256);
    told.put(0, &[word]);
    assert_eq!(told.start(0, 0), 0);
    // Two interruptions: the one of the question is no longer the program's.
    assert_eq!(told.below.borrow().interruptions.len(), 2);
    told.take_interruptions();
    let held = &told.bench.configuration.channels.held;
    let interruption = held.take_io(u8::MAX).unwrap();
    assert_eq!(
        (interruption.parameter, interruption.identification),
        (7, 3 << 27)
    );
    assert!(held.take_io(u8::MAX).is_none());
    assert_eq!(told.take_status(0, 0).unwrap()[2], DONE);
    assert_eq!(told.changed(), None);
}

#[test]
fn a_question_that_a_disabled_subchannel_does_not_take_leaves_no_trace_either() {
    let mut told = Told::disk();
    told.modify(0, 0, 0);
    let word = told.older_queue(0, 0, 256);
    told.put(0, &[word]);
    assert_eq!(told.start(0, 0), 3);
    assert_eq!(told.changed(), None);
    assert!(told.known(0).is_none());
}

#[test]
fn a_queue_number_has_one_width() {
    let mut told = Told::disk();
    let word = told.older_queue(0, 0, 256);
    assert_eq!(told.execute(&[word]), DONE);
    const REFUSED: u64 = -22_i64 as u64;
    for number in [1024, 0x1_0000, 0x1_0002, 1 << 32, 1 << 63, u64::MAX] {
        assert_eq!(told.notify(0, number), REFUSED, "{number:x}");
    }
    for number in 1..1024 {
        assert_eq!(told.notify(0, number), 0, "{number:x}");
    }
    assert!(told.bench.hardware.notified.is_empty());
    told.notify(0, 0);
    assert_eq!(told.bench.hardware.notified, [[0x1_0000, 0, 0]]);
    // Nor of a queue that is off.
    let off = [0, form(0, 256)].map(u64::to_be_bytes).concat();
    let word = told.command(SET_QUEUE, 0, &off);
    assert_eq!(told.execute(&[word]), DONE);
    told.notify(0, 0);
    assert_eq!(told.bench.hardware.notified.len(), 1);
}

#[test]
fn what_a_device_stores_into_its_rings_is_not_what_the_machine_believes() {
    for revision in [0, 1] {
        let mut told = Told::disk();
        let word = if revision == 0 {
            told.older_queue(0, 0, 256)
        } else {
            told = told.newer();
            told.queue(0, 0, 256)
        };
        assert_eq!(told.execute(&[word]), DONE);
        let begin = rings_of(0, 0);
        let offered = begin + if revision == 0 { 4096 } else { 0x5000 };
        // A piece of one byte, in the order without features.
        told.bench
            .set_doublewords(begin, &[BUFFERS, 0x0000_0001_0002_0000]);
        told.bench
            .set_doublewords(offered, &[0x0000_0001_0000_0000]);
        told.notify(0, 0);
        // The device, or whoever, makes it a table that begins anywhere and never ends.
        let place = told.known(0).unwrap().place;
        let descriptor = Descriptor {
            address: 0x7FFF_FFFF_FFFF_F000,
            length: !15,
            flags: INDIRECT | NEXT,
            next: 0,
        };
        let words = descriptor.words(ring::Order::Big);
        for (offset, word) in [0, 8].into_iter().zip(words) {
            told.bench
                .hardware
                .hsa_store(place.rings.offset(offset), word);
        }
        told.device_works(0, true);
        told.take_interruptions();
        assert_eq!(
            told.known(0).unwrap().lent,
            u64::from(told.known(0).unwrap().returned == 0)
        );
        attention::attend(&told.bench.configuration, &mut told.bench.hardware);
        let known = told.known(0).unwrap();
        assert_eq!((known.returned, known.lent), (1, 0));
        let words = [told.reset(0)];
        assert_eq!(told.execute(&words), DONE);
    }
}

#[test]
fn a_reset_before_which_the_program_was_suspended_and_then_ended_has_not_reset_the_device() {
    use Instruction as I;
    for order in [I::Hsch {}, I::Csch {}] {
        let mut told = Told::new(vec![Below::network(1, false)]).newer();
        let word = told.queue(0, 0, 256);
        assert_eq!(told.execute(&[word]), DONE);
        let words = [told.reset(SUSPEND)];
        told.put(0, &words);
        assert_eq!(told.start(0, 0), 0);
        told.issue(0, 0, order);
        assert!(told.take_status(0, 0).is_some());
        let word = told.queue(0, 1, 8);
        assert_eq!(told.execute(&[word]), DONE);
        assert!([0, 1].iter().all(|&n| told.ring(n).parts[0] != 0));
    }
}

/// A queue with a buffer, whose device announces by the subchannel's interruption.
fn with_a_buffer() -> Told {
    let mut told = Told::disk().newer();
    let indicators = told.command(SET_INDICATORS, 0, &(BLOCKS + 0xF00).to_be_bytes());
    let on = told.queue(0, 0, 256);
    for word in [indicators, on] {
        assert_eq!(told.execute(&[word]), DONE);
    }
    let begin = rings_of(0, 0);
    told.bench
        .set_doublewords(begin, &[BUFFERS, 0x0000_0001_0002_0000]);
    told.bench
        .set_doublewords(begin + 0x5000, &[0x0000_0001_0000_0000]);
    told.notify(0, 0);
    // One more for later.
    let second = [BUFFERS + 8, 0x0000_0001_0002_0000];
    told.bench.set_doublewords(begin + 16, &second);
    let offered = [0x0000_0002_0000_0001];
    told.bench.set_doublewords(begin + 0x5000, &offered);
    told
}

#[test]
fn a_program_that_was_not_started_has_changed_nothing() {
    let mut told = with_a_buffer();
    told.modify(0, 0, 0);
    let word = told.reset(0);
    told.put(0, &[word]);
    assert_eq!(told.start(0, 0), 3);
    told.modify(0, 0, enabled());
    // The status of what the device announces has the address of the last program that was executed.
    told.device_works(0, true);
    let [_, address, ending] = told.take_status(0, 0).unwrap();
    assert_eq!((address, ending), (PROGRAMS as u32 + 8, DONE));
    assert!(told.known(0).is_some());
    let words = [told.revision(1), told.queue(0, 0, 256)];
    for word in words {
        assert_eq!(told.execute(&[word]), DONE);
    }
}

#[test]
fn a_queue_of_a_program_that_was_not_started_keeps_nothing() {
    let mut told = Told::disk();
    told.modify(0, 0, 0);
    let word = told.queue(0, 0, 8);
    told.put(0, &[word]);
    assert_eq!(told.start(0, 0), 3);
    told.modify(0, 0, enabled());
    // It has no size yet, and features may be accepted.
    let words = [
        told.revision(1),
        told.features(0, 1, 1),
        told.queue(0, 0, 256),
    ];
    for word in words {
        assert_eq!(told.execute(&[word]), DONE);
    }
    assert_eq!(told.known(0).unwrap().size, 256);
}

#[test]
fn a_program_that_the_path_does_not_take_has_changed_nothing() {
    let mut told = with_a_buffer();
    let word = told.reset(0);
    told.put(0, &[word]);
    told.without_path(0);
    assert_eq!(told.start(0, 0), 0);
    assert!(told.take_status(0, 0).is_some());
    assert!(told.known(0).is_some());
    told.device_works(0, true);
    assert!(told.take_status(0, 0).is_some());
    assert!(told.known(0).is_some());
    assert_ne!(told.ring(0).parts[0], 0);
}

#[test]
fn a_device_that_announces_something_has_not_executed_what_follows_a_suspension() {
    let mut told = with_a_buffer();
    let words = [told.reset(SUSPEND), told.reset(0)];
    told.put(0, &words[..1]);
    assert_eq!(told.start(0, 0), 0);
    told.device_works(0, true);
    // While its status is pending, the program is not resumed.
    told.bench.set_doublewords(PROGRAMS, &words[1..]);
    assert_eq!(told.issue(0, 0, Instruction::Rsch {}), 1);
    // The status ends the program.
    assert!(told.take_status(0, 0).is_some());
    assert_eq!(told.issue(0, 0, Instruction::Rsch {}), 2);
    told.notify(0, 0);
    told.device_works(0, true);
    assert!(told.take_status(0, 0).is_some());
    assert!(told.known(0).is_some());
    assert_ne!(told.ring(0).parts[0], 0);
}

#[test]
fn a_command_whose_place_in_the_copy_was_taken_by_another_is_not_executed_any_more() {
    let mut told = Told::new(vec![Below::network(1, false)]).newer();
    let words = [told.reset(CC), nothing(CC | SUSPEND)];
    told.put(0, &words);
    assert_eq!(told.start(0, 0), 0);
    // The next part turns a queue on, and the third takes the place of the first.
    let words = [nothing(CC), told.queue(CC, 0, 256), nothing(CC | SUSPEND)];
    told.bench.set_doublewords(PROGRAMS + 8, &words);
    assert_eq!(told.issue(0, 0, Instruction::Rsch {}), 0);
    assert!(told.known(0).is_some());
    let words = [nothing(CC), nothing(CC), nothing(0)];
    told.bench.set_doublewords(PROGRAMS + 24, &words);
    assert_eq!(told.issue(0, 0, Instruction::Rsch {}), 0);
    assert_eq!(told.take_status(0, 0).unwrap()[2], DONE);
    let word = told.queue(0, 1, 8);
    assert_eq!(told.execute(&[word]), DONE);
    assert!([0, 1].iter().all(|&n| told.known(n).is_some()));
}

#[test]
fn a_queue_is_empty_when_the_device_first_sees_it() {
    let mut told = Told::disk().newer();
    let word = told.queue(0, 0, 256);
    assert_eq!(told.execute(&[word]), DONE);
    let place = told.known(0).unwrap().place;
    let ring = Area::new(place.rings, 256).offered();
    told.bench.hardware.hsa_store(ring, 0x0000_0500_0000_0000);
    // In one program with a reset; then in another program.
    let words = [told.reset(CC), told.queue(0, 0, 256)];
    assert_eq!(told.execute(&words), INVALID);
    told.bench.hardware.hsa_store(ring, 0x0000_0500_0000_0000);
    let word = told.queue(0, 0, 256);
    assert_eq!(told.execute(&[word]), DONE);
    assert_eq!(told.known(0).unwrap().place, place);
    assert_eq!(told.bench.hardware.hsa_load(ring), 0);
}

/// The order of the bytes in the rings depends on features that the device may not have taken over.
#[test]
fn features_count_only_when_the_device_takes_them_over() {
    let mut told = Told::disk();
    let accept = told.features(0, 1, 1);
    let take_back = told.features(0, 1, 0);
    let revision = told.revision(1);
    let reset = told.reset(0);
    let features_ok = told.command(WRITE_STATUS, 0, &[8]);
    let features = |told: &mut Told, word: u64| {
        assert_eq!(told.execute(&[word]), DONE);
        let subchannel = told.bench.configuration.channels.subchannel(0x1_0000);
        let features = subchannel.unwrap().device.as_ref().unwrap().features;
        let below = told.below.borrow();
        assert_eq!(features, below.subchannels[0].device.features);
        features == VERSION_1
    };
    assert!(
        !features(&mut told, accept),
        "the older revision has no such features"
    );
    assert!(!features(&mut told, revision));
    assert!(features(&mut told, accept));
    assert!(!features(&mut told, take_back));
    assert!(!features(&mut told, features_ok));
    assert!(!features(&mut told, accept), "they are final");
    assert!(!features(&mut told, reset));
    assert!(features(&mut told, accept), "the revision stays");
    assert!(!features(&mut told, reset));
    // A subchannel that is disabled forgets the revision.
    told.modify(0, 0, 0);
    told.modify(0, 0, enabled());
    assert!(!features(&mut told, accept));
}

/// Sizes, numbers and places that something may depend on.
const SIZES: [u16; 12] = [0, 1, 8, 16, 64, 128, 255, 256, 512, 910, 1024, u16::MAX];
const NUMBERS: [u16; 10] = [0, 0, 1, 1, 2, 2, 3, 8, 1023, 1024];

impl Told {
    /// A command and its data, at random.
    fn random_command(&mut self, random: &mut Random, subchannel: usize) -> u64 {
        let flags = random.one_of(&[0, CC, CC, CC, CC | ANY_LENGTH, ANY_LENGTH, CC | SUSPEND]);
        let number = random.one_of(&NUMBERS);
        let own = self.below.borrow().subchannels[subchannel].device.queues
            [usize::from(number.min(1023))]
        .size;
        let size = match random.below(3) {
            0 => random.one_of(&SIZES),
            _ => own,
        };
        let at = match random.below(12) {
            0 => random.one_of(&[END, END - 4096, END + 0x10_0000, 1 << 40, 0]),
            _ => rings_of(subchannel, number),
        };
        let word = form(number, size);
        match random.below(16) {
            0..=4 => {
                let boundary = if random.one_in(12) { 0 } else { 4096 };
                let data = [at, boundary << 32 | word].map(u64::to_be_bytes).concat();
                self.command(SET_QUEUE, flags, &data)
            }
            5..=8 => {
                let used = if random.one_in(12) { END } else { at + 0x8000 };
                let boundary = if random.one_in(3) { 4096 } else { 0 };
                let words = [at, boundary << 32 | word, at.wrapping_add(0x5000), used];
                let data = words.map(u64::to_be_bytes).concat();
                self.command(SET_QUEUE, flags, &data)
            }
            9 => {
                let bits = random.one_of(&[0, MULTIQUEUE as u32, 0x1000_0000, 0x2000_0000]);
                self.features(flags, 0, bits)
            }
            10 => {
                let bits = random.one_of(&[0, 1, 1, 3]);
                self.features(flags, 1, bits)
            }
            11 => {
                let status = random.one_of(&[0, 3, 7, 11, 15]);
                self.command(WRITE_STATUS, flags, &[status])
            }
            12 => self.reset(flags),
            13 => {
                let revision = random.below(4) as u16;
                self.revision(revision) | u64::from(flags) << 48
            }
            14 => {
                let place = BLOCKS + 0xF00;
                let data = if random.one_in(2) {
                    let words = [place, place + 64, random.below(64), 3 << 56];
                    words.map(u64::to_be_bytes).concat()[..25].to_vec()
                } else {
                    place.to_be_bytes().to_vec()
                };
                let command = if data.len() == 25 {
                    SET_ADAPTER_INDICATORS
                } else {
                    SET_INDICATORS
                };
                self.command(command, flags, &data)
            }
            _ => nothing(flags),
        }
    }

    /// A device is reset and set up in one of the forms, as its driver does it.
    fn set_up(&mut self, random: &mut Random, cpu: usize, subchannel: usize) {
        let is_newer = random.one_in(2);
        self.modify(cpu, subchannel, 0);
        self.modify(cpu, subchannel, enabled());
        let mut words = vec![];
        if is_newer || random.one_in(4) {
            words.push(self.revision(u16::from(is_newer)));
        }
        words.push(self.reset(0));
        let pairs = random.one_of(&[0, MULTIQUEUE as u32]);
        words.push(self.features(0, 0, 0x1000_0000 | pairs));
        if is_newer {
            words.push(self.features(0, 1, 1));
            words.push(self.command(WRITE_STATUS, 0, &[11]));
        }
        for word in words {
            self.put(subchannel, &[word]);
            let _ = self.start(cpu, subchannel);
            let _ = self.take_status(cpu, subchannel);
        }
        for number in 0..3 {
            let own = self.below.borrow().subchannels[subchannel].device.queues[number].size;
            let at = rings_of(subchannel, number as u16);
            for offset in (0..0xC000).step_by(8) {
                self.bench.set_doublewords(at + offset, &[0]);
            }
            let size = if random.one_in(6) {
                random.one_of(&SIZES)
            } else {
                own
            };
            let word = form(number as u16, size);
            let data = if is_newer {
                [at, word, at + 0x5000, at + 0x8000]
                    .map(u64::to_be_bytes)
                    .concat()
            } else {
                [at, 4096 << 32 | word].map(u64::to_be_bytes).concat()
            };
            let word = self.command(SET_QUEUE, 0, &data);
            self.put(subchannel, &[word]);
            let _ = self.start(cpu, subchannel);
            let _ = self.take_status(cpu, subchannel);
        }
    }

    /// Offers a buffer in a queue, in the order of the device or the other one.
    fn random_buffer(&mut self, random: &mut Random, subchannel: usize) {
        let number = random.below(3) as u16;
        let (is_little, size) = {
            let below = self.below.borrow();
            let device = &below.subchannels[subchannel].device;
            let is_little = device.features & VERSION_1 != 0;
            (is_little, device.queues[usize::from(number)].size)
        };
        if size == 0 {
            return;
        }
        let is_little = is_little ^ random.one_in(20);
        let order = ring::Order::of(if is_little { VERSION_1 } else { 0 });
        let begin = rings_of(subchannel, number);
        let offered = if is_little {
            begin + 0x5000
        } else {
            begin + 16 * u64::from(size)
        };
        let address = match random.below(16) {
            0 => random.one_of(&[END - 1, END, END + 0x10_0000, u64::MAX, 1 << 32]),
            _ => BUFFERS + random.below(0x1000),
        };
        let first = random.below(size.into()) as u16;
        let descriptor = |address, length, flags, next| {
            let descriptor = Descriptor {
                address,
                length,
                flags,
                next,
            };
            descriptor.words(order)
        };
        let flags = random.one_of(&[0, WRITE, WRITE]);
        let length = 1 + random.below(0x100) as u32;
        let place = begin + 16 * u64::from(first);
        match random.below(4) {
            0 => {
                let table = TABLES + 0x100 * random.below(16);
                let words = descriptor(address, length, flags | NEXT, 1);
                self.bench.set_doublewords(table, &words);
                let words = descriptor(BUFFERS, 1, WRITE, 0);
                self.bench.set_doublewords(table + 16, &words);
                let words = descriptor(table, 32, INDIRECT, 0);
                self.bench.set_doublewords(place, &words);
            }
            1 => {
                let next = random.below(u64::from(size) + 1) as u16;
                let words = descriptor(address, length, flags | NEXT, next);
                self.bench.set_doublewords(place, &words);
                let words = descriptor(BUFFERS, 1, flags, 0);
                let at = begin + 16 * u64::from(next % size);
                self.bench.set_doublewords(at, &words);
            }
            _ => {
                let words = descriptor(address, length, flags, 0);
                self.bench.set_doublewords(place, &words);
            }
        }
        let index = order.u16((self.bench.word(offered) & 0xFFFF) as u16);
        let entry = offered + 4 + 2 * u64::from(index % size);
        self.bench.set(entry, &order.u16(first).to_be_bytes());
        let next = index.wrapping_add(if random.one_in(40) { 300 } else { 1 });
        self.bench.set(offered + 2, &order.u16(next).to_be_bytes());
    }

    /// A step of a CPU, or of a device.
    fn step(&mut self, random: &mut Random) {
        use Instruction as I;
        let cpu = random.below(2) as usize;
        let subchannel = random.below(4) as usize;
        match random.below(32) {
            0..=7 => {
                let words: Vec<_> = (0..1 + random.below(4))
                    .map(|_| self.random_command(random, subchannel))
                    .collect();
                self.put(subchannel, &words);
                if random.one_in(16) {
                    self.without_path(subchannel);
                }
                let _ = self.start(cpu, subchannel);
                // Another CPU's program may be there now.
                if random.one_in(2) {
                    let _ = self.take_status(1 - cpu, subchannel);
                }
            }
            8 => self.set_up(random, cpu, subchannel),
            9 => drop(self.issue(cpu, subchannel, I::Rsch {})),
            10 => drop(self.issue(cpu, subchannel, random.one_of(&[I::Hsch {}, I::Csch {}]))),
            11 => {
                let controls = random.one_of(&[0, enabled(), enabled()]);
                self.modify(cpu, subchannel, controls);
            }
            12..=14 => drop(self.take_status(cpu, subchannel)),
            15..=20 => {
                self.random_buffer(random, subchannel);
                let number = random.below(3);
                let wide = random.one_of(&[0, 0, 0, 0x1_0000, 1 << 32, 1024]);
                self.notify(subchannel, number | wide);
            }
            21..=24 => self.device_works(subchannel, true),
            25 => self.device_works(subchannel, false),
            26 => {
                // Something of the rings changes, by the other CPU, at any time.
                let at = rings_of(subchannel, random.below(3) as u16) + random.below(0xA000);
                let value = random.one_of(&[0, 1, 2, 4, 0x40, 0xFF]);
                if random.one_in(4) {
                    self.bench.set(at, &[value]);
                }
            }
            _ => self.take_interruptions(),
        }
    }
}

/// The usual number of steps, and those of one machine.
const STEPS: u64 = 40_000;
const STEPS_OF_A_MACHINE: u64 = 400;

#[test]
fn two_cpus_that_use_both_forms_tell_no_device_anything_but_its_own_rings() {
    let steps = std::env::var("MILLIMETER_STEPS").ok();
    let steps = steps.and_then(|text| text.parse().ok()).unwrap_or(STEPS);
    let first = std::env::var("MILLIMETER_SEED").ok();
    let first: u64 = first.and_then(|text| text.parse().ok()).unwrap_or(1);
    let (mut set_queues, mut buffers, mut broken) = ([[0; 2]; 2], 0, 0);
    for machine in 0..steps.div_ceil(STEPS_OF_A_MACHINE) {
        let seed = (first + machine).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut random = Random(seed);
        let is_modern = random.one_in(8);
        let mut told = Told::new(vec![
            Below::network(4, is_modern),
            Below::new(2, &[256, 128], is_modern),
            Below::new(3, &[128; 6], is_modern),
            Below::new(4, &[8], is_modern),
        ]);
        println!("seed {seed:x}");
        for step in 0..STEPS_OF_A_MACHINE {
            told.step(&mut random);
            if step % 64 == 0 {
                assert_eq!(told.changed(), None);
            }
        }
        let below = told.below.borrow();
        for (sum, counts) in set_queues.iter_mut().zip(below.set_queues) {
            sum[0] += counts[0];
            sum[1] += counts[1];
        }
        buffers += below.buffers;
        broken += below.broken;
    }
    println!("{set_queues:?}, buffers {buffers}, broken {broken}");
    let [[older, _], [newer, refused]] = set_queues;
    assert!(
        older > steps / 100 && newer > steps / 100 && refused > 0,
        "{set_queues:?}"
    );
    assert!(buffers > steps / 100 && broken > 0, "{buffers} {broken}");
}
