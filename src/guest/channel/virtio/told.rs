//! What a device has been told of its rings, whatever channel programs tell it: each queue has storage of its own, and
//! there is nothing in it when the device first sees it.

use super::ring::Area;
use super::tests::{DATA, END, RINGS, SUBSYSTEM, at, issue, with_device};
use super::*;
use crate::hardware::Hardware;
use crate::state::channel_program::WORDS;
use crate::test_machine::Bench;
use arch::channel::{CHAIN_COMMAND, Ccw, SCSW_SUSPENDED, SUSPEND};
use insn::Instruction;
use std::collections::BTreeMap;

/// Where the channel programs are.
const PROGRAM: u64 = 0x2000;
/// The most entries of a queue of this device.
const MOST: u16 = 256;

/// A device, written from the description of its commands and from what the devices of the machine below do with them:
/// one that refuses a size has taken the addresses over by then.
struct Told {
    bench: Bench,
    queues: BTreeMap<u16, (u64, u16)>,
    /// The word before which its program is suspended.
    suspended: u64,
}

impl Told {
    fn new() -> Self {
        let mut bench = with_device(2);
        issue(&mut bench, Instruction::Stsch { second: at(0x900) });
        Self {
            bench,
            queues: BTreeMap::new(),
            suspended: 0,
        }
    }

    /// A command that turns a queue on, with its data at a place of its own.
    fn queue(&mut self, flags: u8, number: u16, size: u16) -> u64 {
        let data = DATA + 0x2_0000 + 64 * u64::from(number) + 0x100 * u64::from(size);
        let form = u64::from(number) << 16 | u64::from(size);
        let words = [data, form, RINGS + 0x8000, RINGS + 0x1_0000];
        self.bench.set_doublewords(data, &words);
        command(SET_QUEUE, flags, 32, data)
    }

    fn program(&mut self, at: u64, words: &[u64]) {
        self.bench.set_doublewords(at, words);
    }

    /// Starts the program. The device executes it, and the program takes the status.
    fn start(&mut self) {
        self.bench
            .set_doublewords(0x800, &[7, 0x0880_FF00_0000_0000 | PROGRAM]);
        self.bench.hardware.subchannels[0].schib[7..10].fill(0);
        issue(&mut self.bench, Instruction::Ssch { second: at(0x804) });
        let from = self.bench.hardware.subchannels[0].orb[2];
        let status = self.execute(from.into(), false);
        self.ended(status);
    }

    fn resume(&mut self) {
        issue(&mut self.bench, Instruction::Rsch {});
        let status = self.execute(self.suspended, true);
        self.ended(status);
    }

    fn ended(&mut self, status: [u32; 3]) {
        self.bench.hardware.subchannels[0].schib[7..10].copy_from_slice(&status);
        issue(&mut self.bench, Instruction::Tsch { second: at(0x900) });
    }

    /// Executes a copied program; returns the status.
    fn execute(&mut self, from: u64, mut is_resumed: bool) -> [u32; 3] {
        let mut at = from;
        for _ in 0..4 * WORDS {
            let ccw = Ccw::from_format_1(self.bench.hardware.hsa_load(Real(at)));
            if ccw.transfers() {
                at = ccw.address.into();
                continue;
            }
            let behind = at as u32 + 8;
            if ccw.flags & SUSPEND != 0 && !is_resumed {
                self.suspended = at;
                return [SCSW_SUSPENDED | 0x4001, 0, 0];
            }
            is_resumed = false;
            if ccw.command == 0 {
                return [0x4007, behind, 0x0020_0000];
            }
            if !self.command(ccw) {
                return [0x4007, behind, 0x0E00_0000];
            }
            if ccw.flags & CHAIN_COMMAND == 0 {
                return [0x4007, behind, 0x0C00_0000];
            }
            at += 8;
        }
        panic!("the program does not end");
    }

    /// Executes a command; whether the device accepts it.
    fn command(&mut self, ccw: Ccw) -> bool {
        let word = |number: u64| Real(u64::from(ccw.address) + 8 * number);
        match ccw.command {
            RESET => self.queues.clear(),
            SET_QUEUE => {
                let area = self.bench.hardware.hsa_load(word(0));
                let form = self.bench.hardware.hsa_load(word(1));
                let (number, size) = ((form >> 16) as u16, form as u16);
                assert!(area >= END, "the device gets an address of the guest");
                if !self.queues.contains_key(&number) {
                    let ring = Area::new(Real(area), size).offered();
                    let index = self.bench.hardware.hsa_load(ring);
                    assert_eq!(index, 0, "queue {number} is not empty");
                }
                self.queues.insert(number, (area, size));
                self.check();
                return size <= MOST;
            }
            _ => {}
        }
        true
    }

    /// Each queue has its own storage.
    fn check(&self) {
        let ranges: Vec<_> = self
            .queues
            .values()
            .map(|&(at, size)| at..at + Area::new(Real(at), size).length())
            .collect();
        for (number, one) in ranges.iter().enumerate() {
            for other in &ranges[..number] {
                assert!(
                    one.end <= other.start || other.end <= one.start,
                    "{:x?}",
                    self.queues
                );
            }
        }
    }

    /// The program turns on another queue by a program of its own.
    fn other_queue(&mut self, number: u16, size: u16) {
        let words = [self.queue(0, number, size)];
        self.program(PROGRAM, &words);
        self.start();
    }
}

fn command(command: u8, flags: u8, count: u16, address: u64) -> u64 {
    Ccw {
        command,
        flags,
        count,
        address: address as u32,
    }
    .format_1()
}

const CC: u8 = CHAIN_COMMAND;
/// No operation, by any device.
fn nothing(flags: u8) -> u64 {
    command(3, flags | 0x20, 1, 0x3000)
}

#[test]
fn a_queue_that_one_program_turns_on_twice_does_not_get_the_storage_of_another() {
    let mut told = Told::new();
    let words = [told.queue(CC, 0, 8), told.queue(0, 0, 256)];
    told.program(PROGRAM, &words);
    told.start();
    told.other_queue(1, 8);
    assert!(told.queues.contains_key(&1));
}

#[test]
fn a_queue_whose_size_the_device_has_refused_keeps_its_storage() {
    let mut told = Told::new();
    told.other_queue(0, 1024);
    assert!(told.queues.contains_key(&0));
    told.other_queue(1, 256);
    assert!(told.queues.contains_key(&1));
    // A reset makes it free.
    told.program(PROGRAM, &[command(RESET, 0, 0, 0)]);
    told.start();
    told.other_queue(0, 128);
    assert_eq!(told.queues[&0].1, 128);
}

#[test]
fn a_reset_before_which_the_program_was_suspended_and_then_ended_has_not_reset_the_device() {
    use Instruction as I;
    for (order, flags) in [(I::Hsch {}, 0x2001), (I::Csch {}, 0x1001)] {
        let mut told = Told::new();
        told.other_queue(0, 256);
        told.program(PROGRAM, &[command(RESET, SUSPEND, 0, 0)]);
        told.start();
        let copy = told.suspended as u32;
        issue(&mut told.bench, order);
        // What a halted channel says is behind the word at which it stood; a cleared one says what it said before.
        told.ended([flags, copy + 8, 0]);
        told.other_queue(1, 8);
        assert_eq!(told.queues.len(), 2);
    }
}

#[test]
fn a_command_whose_place_in_the_copy_was_taken_by_another_is_not_executed_any_more() {
    let mut told = Told::new();
    told.program(PROGRAM, &[command(RESET, CC, 0, 0), nothing(CC | SUSPEND)]);
    told.start();
    // The next part turns a queue on, and the third takes the place of the first.
    let words = [nothing(CC), told.queue(CC, 0, 256), nothing(CC | SUSPEND)];
    told.program(PROGRAM + 8, &words);
    told.resume();
    assert!(told.queues.contains_key(&0));
    told.program(PROGRAM + 24, &[nothing(CC), nothing(CC), nothing(0)]);
    told.resume();
    told.other_queue(1, 8);
    assert_eq!(told.queues.len(), 2);
}

#[test]
fn a_queue_is_empty_when_the_device_first_sees_it() {
    let mut told = Told::new();
    told.other_queue(0, 256);
    let (area, size) = told.queues[&0];
    let ring = Area::new(Real(area), size).offered();
    told.bench.hardware.hsa_store(ring, 0x0000_0500_0000_0000);
    // In one program with a reset; then in another program.
    let words = [command(RESET, CC, 0, 0), told.queue(0, 0, 256)];
    told.program(PROGRAM, &words);
    told.start();
    told.program(PROGRAM, &[command(RESET, 0, 0, 0)]);
    told.start();
    told.bench.hardware.hsa_store(ring, 0x0000_0500_0000_0000);
    told.other_queue(3, 128);
    assert!(told.queues.contains_key(&3));
    assert!(
        !told
            .bench
            .configuration
            .channels
            .subchannel(SUBSYSTEM)
            .unwrap()
            .device
            .as_ref()
            .unwrap()
            .queues
            .is_empty()
    );
}

/// The order of the bytes in the rings depends on features that the device may not have taken over.
#[test]
fn features_count_only_when_the_device_takes_them_over() {
    const REVISION: u64 = 0x83;
    let mut told = Told::new();
    told.bench.set_doublewords(
        DATA,
        &[
            0x0001_0000_0000_0000,
            0x0100_0000_0100_0000,
            0x0000_0000_0100_0000,
            0x0800_0000_0000_0000,
        ],
    );
    let revision = command(REVISION as u8, 0, 4, DATA);
    let accept = command(WRITE_FEATURES, 0, 5, DATA + 8);
    let take_back = command(WRITE_FEATURES, 0, 5, DATA + 16);
    let features_ok = command(WRITE_STATUS, 0, 1, DATA + 24);
    let mut after = |word: u64| {
        told.program(PROGRAM, &[word]);
        told.start();
        let subchannel = told.bench.configuration.channels.subchannel(SUBSYSTEM);
        let features = subchannel.unwrap().device.as_deref().unwrap().features;
        features == ring::VERSION_1
    };
    assert!(!after(accept), "the older revision has no such features");
    assert!(!after(revision));
    assert!(after(accept));
    assert!(!after(take_back));
    assert!(!after(features_ok));
    assert!(!after(accept), "they are final");
    assert!(!after(command(RESET, 0, 0, 0)));
    assert!(after(accept), "the revision stays");
    assert!(!after(command(RESET, 0, 0, 0)));
    // A subchannel that is disabled forgets the revision.
    told.bench.set_doublewords(0xA00, &[0x0000_0000_0001_0000]);
    issue(&mut told.bench, Instruction::Msch { second: at(0xA00) });
    let mut after = |word: u64| {
        told.program(PROGRAM, &[word]);
        told.start();
        let subchannel = told.bench.configuration.channels.subchannel(SUBSYSTEM);
        let features = subchannel.unwrap().device.as_deref().unwrap().features;
        features == ring::VERSION_1
    };
    assert!(!after(accept));
}
