//! A second implementation of the update process, label by label as the manual lists its steps, and a
//! comparison with the first.

use super::super::alert::PendingAlerts;
use super::super::fixtures::LIMITS;
use super::super::second_opinion::{UPDATE_PROCESS, agree};
use super::controls::{AdditionalControls, SamplingControls};
use super::fixtures::SparseStorage;
use super::update::{Sampled, update};
use proptest::prelude::*;

/// The places in the text of "Process Steps".
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin,
    InnerLoop,
    Label1,
    Label2,
    Label3,
    Label3a1,
    Label3a2,
    Label3a2x,
    Label3a2y,
    InvalidEntryAddress,
    Completed,
}

/// The registers and alerts of the book's CPU.
struct Book {
    storage: SparseStorage,
    size: u64,
    tear: u64,
    dear: u64,
    alerts: u32,
    active: bool,
    fetched: u64,
    alert_request: bool,
    stored: bool,
}

impl Book {
    fn trailer(&self) -> u64 {
        self.dear / self.size * self.size + (self.size - 64)
    }

    /// The program changes the trailer before the machine does: the inner loop looks again.
    fn interfered(&mut self) -> bool {
        let Some(head) = self.storage.interference.pop() else {
            return false;
        };
        self.storage.put(self.trailer(), &head.to_be_bytes());
        true
    }

    fn fetch_table_entry(&mut self) -> bool {
        let at = self.tear / 8 * 8;
        if at < 8192 || !self.storage.has(at, 8) {
            return false;
        }
        self.fetched = self.storage.u64_at(at);
        true
    }

    fn process(&mut self, entry: &[u8], dsdes: u16) {
        let mut step = Step::Begin;
        while !matches!(step, Step::Completed) {
            step = self.perform(step, entry, dsdes);
        }
        if self.alert_request {
            self.alerts |= 0x2000_0000;
        }
    }

    fn perform(&mut self, step: Step, entry: &[u8], dsdes: u16) -> Step {
        let length = entry.len() as u64;
        match step {
            // "If the next data entry resides inside the last 64 bytes": beyond their beginning.
            Step::Begin if self.dear < 8192 || self.dear > self.trailer() => {
                Step::InvalidEntryAddress
            }
            Step::Begin => Step::InnerLoop,
            Step::InnerLoop if !self.storage.has(self.trailer(), 64) => Step::InvalidEntryAddress,
            Step::InnerLoop if self.storage.byte(self.trailer()) >= 0x80 => Step::Label1,
            Step::InnerLoop if self.dear + length <= self.trailer() => Step::Label2,
            Step::InnerLoop => Step::Label3,
            Step::Label1 if self.interfered() => Step::InnerLoop,
            Step::Label1 => {
                let at = self.trailer() + 8;
                let count = self.storage.u64_at(at);
                self.storage.put_u64(at, count.wrapping_add(1));
                Step::Completed
            }
            Step::Label2 if !self.storage.has(self.dear, length) => Step::InvalidEntryAddress,
            Step::Label2 => {
                self.storage.put(self.dear, entry);
                self.dear += length;
                self.stored = true;
                Step::Completed
            }
            Step::Label3 => {
                // The timestamp first: a program that sees the block full sees its time.
                let at = self.trailer();
                self.storage.put(at + 16, &[self.storage.clock; 16]);
                if self.interfered() {
                    return Step::InnerLoop;
                }
                let indicators = self.storage.byte(at);
                self.storage.put(at, &[indicators | 0xA0]);
                self.storage.put(at + 4, &32_u16.to_be_bytes());
                self.storage.put(at + 6, &dsdes.to_be_bytes());
                self.alert_request |= indicators & 0x40 != 0;
                self.tear = self.tear.wrapping_add(8);
                if !self.fetch_table_entry() {
                    return Step::InvalidEntryAddress;
                }
                let last = self.tear / 8 % (self.size / 8) == self.size / 8 - 1;
                match (last, self.fetched % 2) {
                    (true, 0) => Step::Label3a1,
                    (false, 0) => Step::Label3a2y,
                    _ => Step::Label3a2,
                }
            }
            Step::Label3a2 => {
                self.tear = self.fetched / 16 * 16;
                match self.fetch_table_entry() {
                    false => Step::InvalidEntryAddress,
                    true if self.fetched % 2 == 1 => Step::Label3a2x,
                    true => Step::Label3a2y,
                }
            }
            Step::Label3a2y => {
                self.dear = self.fetched / self.size * self.size;
                if self.dear < 8192 {
                    return Step::InvalidEntryAddress;
                }
                Step::InnerLoop
            }
            Step::Label3a1 | Step::Label3a2x => {
                self.alerts |= 0x4000_0000;
                self.active = false;
                Step::Completed
            }
            Step::InvalidEntryAddress => {
                self.alerts |= 0x8000_0000;
                self.active = false;
                Step::Completed
            }
            Step::Completed => Step::Completed,
        }
    }
}

/// What the program does between two samples.
#[derive(Clone, Debug)]
enum ProgramAction {
    /// Nothing.
    Nothing,
    /// The program empties a block: F and count zeros, A as given.
    Empty(u64, bool),
    /// The program marks a block full, with an overflow count of zero or of the maximum.
    Fill(u64, bool),
    /// The program changes the heads of trailers just before the machine would.
    Interfere(Vec<u128>),
    /// A load instruction moves the data-entry address, so that blocks need not be filled.
    Move(u64, u64),
}

/// The addresses are in these units of the block size; 8 units are available, except unit 6 and the
/// first half of unit 5.
const UNITS: u64 = 9;

/// The unit that a register designates: seldom the last of all, at the end of which addresses wrap.
fn unit() -> impl Strategy<Value = u64> {
    prop_oneof![20 => 1..UNITS, 1 => Just(u64::MAX)]
}

fn link() -> impl Strategy<Value = (u64, u64, u64)> {
    // (unit, low bits, table link to one of the last entries of the unit)
    (
        0..UNITS,
        0_u64..4096,
        prop_oneof![3 => Just(0_u64), 2 => 1_u64..8],
    )
}

fn program_action() -> impl Strategy<Value = ProgramAction> {
    prop_oneof![
        3 => Just(ProgramAction::Nothing),
        2 => (2..UNITS, any::<bool>()).prop_map(|(unit, request)| ProgramAction::Empty(unit, request)),
        1 => (2..UNITS, any::<bool>()).prop_map(|(unit, lost)| ProgramAction::Fill(unit, lost)),
        1 => proptest::collection::vec(head(), 1..4).prop_map(ProgramAction::Interfere),
        4 => (1..UNITS, offset()).prop_map(|(unit, from_end)| ProgramAction::Move(unit, from_end)),
    ]
}

/// Bytes 0-15 of a trailer, as a program may put them there: F, A and T, and the overflow count.
fn head() -> impl Strategy<Value = u128> {
    (0_u128..8, any::<u64>()).prop_map(|(indicators, count)| indicators << 125 | u128::from(count))
}

/// Distances of a data entry from the end of its block.
fn offset() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(64_u64),
        3 => 65_u64..200,
        1 => 0_u64..64,
        1 => 200_u64..4096,
    ]
}

#[test]
fn the_update_process_does_what_the_numbered_steps_say() {
    let cases = (
        any::<bool>(),
        proptest::collection::vec(link(), 32),
        (
            unit(),
            1_u64..9,
            prop_oneof![9 => Just(0_u64), 1 => 1_u64..8],
        ),
        (unit(), offset()),
        proptest::collection::vec(program_action(), 1..24),
        prop_oneof![Just(32_usize), Just(96), 1_usize..300],
        any::<u16>(),
    );
    agree(
        UPDATE_PROCESS,
        cases,
        |(large, links, start, data, programs, length, dsdes)| {
            let size: u64 = if large { 0x10_0000 } else { 0x1000 };
            let mut storage = SparseStorage::new(0..5 * size);
            storage
                .ranges
                .extend([5 * size + size / 2..6 * size, 7 * size..8 * size]);
            // Tables end where units 2 and 3 end (the last 256 bytes of both, trailers included), so that
            // the boundary is near; their entries designate units or one of these tables.
            for (index, &(unit, low, table)) in links.iter().enumerate() {
                let index = index as u64;
                let at = (2 + index / 16) * size + size - 128 + index % 16 * 8;
                let entry = match table {
                    0 => unit * size + (low & !1),
                    place => ((unit % 3 + 1) * size + size - 16 * place) | 1 | (low & 0xE),
                };
                storage.put_u64(at, entry);
            }
            let end = |unit: u64| unit.wrapping_mul(size).wrapping_add(size);
            let tear = end(start.0).wrapping_sub(8 * start.1) + start.2;
            let dear = end(data.0).wrapping_sub(data.1.max(1));

            let mut controls = SamplingControls::new(LIMITS);
            controls.authorize_basic(true);
            let additional = AdditionalControls {
                maximum_buffer_size: large,
                host_indicator: false,
                interval: 1000,
                tear,
                dear,
            };
            controls
                .load((true, true), (false, false), &additional)
                .unwrap();
            let mut alerts = PendingAlerts::NONE;
            let mut book = Book {
                storage: storage.clone(),
                size,
                tear,
                dear,
                alerts: 0,
                active: true,
                fetched: 0,
                alert_request: false,
                stored: false,
            };

            for (index, program) in programs.iter().enumerate() {
                for storage in [&mut storage, &mut book.storage] {
                    storage.clock = index as u8;
                    match program {
                        &ProgramAction::Empty(unit, request) => {
                            let head = u128::from(request) << 126;
                            storage.put(unit * size + size - 64, &head.to_be_bytes());
                        }
                        &ProgramAction::Fill(unit, lost) => {
                            let count = if lost { u64::MAX } else { 0 };
                            let head = 0b11 << 126 | u128::from(count);
                            storage.put(unit * size + size - 64, &head.to_be_bytes());
                        }
                        ProgramAction::Interfere(heads) => storage.interference.clone_from(heads),
                        ProgramAction::Nothing | ProgramAction::Move(..) => {}
                    }
                }
                if let ProgramAction::Move(unit, from_end) = *program {
                    controls.dear = unit * size + size - from_end.max(1);
                    book.dear = controls.dear;
                }
                let entry = vec![index as u8 | 0x80; length];
                (book.alert_request, book.stored) = (false, false);
                book.process(&entry, dsdes);
                let sampled = update(&mut controls, &mut alerts, &mut storage, &entry, || dsdes);

                prop_assert_eq!(controls.tear(), book.tear);
                prop_assert_eq!(controls.dear(), book.dear);
                prop_assert_eq!(alerts.parameter(), book.alerts);
                prop_assert_eq!(controls.basic().active(), book.active);
                let stored = matches!(sampled, Sampled::Stored | Sampled::StoredInNextBlock);
                prop_assert_eq!(stored, book.stored);
                prop_assert_eq!(storage.difference(&book.storage), None);
                prop_assert_eq!(&storage.interference, &book.storage.interference);
                storage.interference.clear();
                book.storage.interference.clear();
                if !book.active {
                    break;
                }
            }
            Ok(())
        },
    );
}
