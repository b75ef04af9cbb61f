//! Programs and devices that exchange buffers by rings, and programs that try to have a device reach the HSA.

use super::ring::{INDIRECT, NEXT, Order, VERSION_1, WRITE, lengths};
use super::*;
use crate::millicode;
use crate::state::device::Sight;
use crate::state::page_frames::PageState;
use crate::storage::scanner::{Entry, make_executable};
use crate::test_machine::{Bench, Subchannel, TestMachine};
use arch::address::Absolute;
use arch::channel::{
    IoInterruption, PMCW_DEVICE_VALID, SCHIB_STATUS, SCSW_PENDING, SCSW_RUNNING, SCSW_START,
    SCSW_SUSPENDED,
};
use insn::{Instruction, Operand};
use std::collections::BTreeSet;

/// The end of the guest's storage on the bench.
pub(super) const END: u64 = 4 << 20;
/// Where the program has its rings, its tables and its buffers.
pub(super) const RINGS: u64 = 0x10_0000;
const TABLE: u64 = 0x11_0000;
pub(super) const BUFFERS: u64 = 0x20_0000;
/// Where it has its indicators, and the data of commands.
pub(super) const INDICATORS: u64 = 0x3000;
pub(super) const DATA: u64 = 0x4000;
pub(super) const SUBSYSTEM: u32 = 0x1_0000;

/// Random numbers that are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// A device as the machine below has it, written from the description of virtqueues: it reads what is in the HSA.
#[derive(Clone, Copy, Debug)]
struct Model {
    order: Order,
    size: u16,
    parts: [u64; 3],
    last: u16,
    used: u16,
}

/// What a device finds in its ring.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// A buffer: the number of its first descriptor, and its pieces with whether the device writes them.
    Buffer(u16, Vec<(u64, u32, bool)>),
    /// The device refuses it.
    Refused,
}

impl Model {
    fn bytes<const N: usize>(machine: &TestMachine, at: u64) -> [u8; N] {
        let index = at
            .checked_sub(END)
            .expect("the device's rings are in the HSA") as usize;
        machine.hsa[index..][..N].try_into().unwrap()
    }

    fn u16(&self, machine: &TestMachine, at: u64) -> u16 {
        self.order.u16(u16::from_be_bytes(Self::bytes(machine, at)))
    }

    fn put<const N: usize>(machine: &mut TestMachine, at: u64, bytes: [u8; N]) {
        let index = at.checked_sub(END).unwrap() as usize;
        machine.hsa[index..][..N].copy_from_slice(&bytes);
    }

    fn descriptor(&self, machine: &TestMachine, at: u64) -> (u64, u32, u16, u16) {
        let order = self.order;
        (
            order.u64(u64::from_be_bytes(Self::bytes(machine, at))),
            order.u32(u32::from_be_bytes(Self::bytes(machine, at + 8))),
            self.u16(machine, at + 12),
            self.u16(machine, at + 14),
        )
    }

    /// A piece for the device: it must lie in guest storage.
    fn piece((at, length, flags, _): (u64, u32, u16, u16)) -> (u64, u32, bool) {
        let end = at.checked_add(length.into());
        assert!(
            length != 0 && end.is_some_and(|end| end <= END),
            "the device is told to access {length:x} bytes at {at:x}"
        );
        (at, length, flags & WRITE != 0)
    }

    /// The buffer with this number.
    fn buffer(&self, machine: &TestMachine, first: u16) -> Found {
        if first >= self.size {
            return Found::Refused;
        }
        let mut descriptor = self.descriptor(machine, self.parts[0] + 16 * u64::from(first));
        let (mut table, mut count) = (self.parts[0], u64::from(self.size));
        if descriptor.2 & INDIRECT != 0 {
            assert!(descriptor.1.is_multiple_of(16), "the table is not whole");
            (table, count) = (descriptor.0, u64::from(descriptor.1) / 16);
            descriptor = self.descriptor(machine, table);
        }
        let mut pieces = vec![];
        loop {
            assert_eq!(descriptor.2 & !(NEXT | WRITE), 0, "a table in a table");
            pieces.push(Self::piece(descriptor));
            assert!(
                pieces.len() as u64 <= count,
                "the descriptors form a circle"
            );
            if descriptor.2 & NEXT == 0 {
                return Found::Buffer(first, pieces);
            }
            assert!(u64::from(descriptor.3) < count, "no such descriptor");
            descriptor = self.descriptor(machine, table + 16 * u64::from(descriptor.3));
        }
    }

    /// How many buffers are there that it has not taken.
    fn waiting(&self, machine: &TestMachine) -> u16 {
        self.u16(machine, self.parts[1] + 2).wrapping_sub(self.last)
    }

    fn entry(&self, machine: &TestMachine, index: u16) -> u16 {
        let place = u64::from(index % self.size);
        self.u16(machine, self.parts[1] + 4 + 2 * place)
    }

    fn take(&mut self, machine: &TestMachine) -> Found {
        if self.waiting(machine) == 0 {
            return Found::Nothing;
        }
        let number = self.entry(machine, self.last);
        self.last = self.last.wrapping_add(1);
        self.buffer(machine, number)
    }

    fn give(&mut self, machine: &mut TestMachine, number: u16, length: u32) {
        let at = self.parts[2] + 4 + 8 * u64::from(self.used % self.size);
        let order = self.order;
        Self::put(machine, at, order.u32(number.into()).to_be_bytes());
        Self::put(machine, at + 4, order.u32(length).to_be_bytes());
        self.used = self.used.wrapping_add(1);
        Self::put(
            machine,
            self.parts[2] + 2,
            order.u16(self.used).to_be_bytes(),
        );
    }
}

/// A program with a device that has one queue.
pub(super) struct Pair {
    pub(super) bench: Bench,
    model: Model,
    /// How many buffers the program has offered.
    offered: u16,
}

impl Pair {
    /// The device executes a command with these data.
    fn command(bench: &mut Bench, command: u8, data: &[u8]) -> Option<Vec<u8>> {
        let mut given = data.to_vec();
        let Bench {
            configuration,
            hardware,
            ..
        } = bench;
        let mut subchannel = configuration.channels.subchannel(SUBSYSTEM).unwrap();
        let device = subchannel.device.as_deref_mut().unwrap();
        let holds = |at, length| configuration.holds(Absolute(at), length);
        // The device has as many entries as the program says.
        let size = doubleword(data, 8).unwrap_or(0) as u16;
        let entries = |_| Entries::Known(size);
        let change = pass_on(Some(device), &[], command, &mut given, holds, entries)?;
        if let Some(change) = change {
            prepare(hardware, Some(device), change);
            changes::apply(configuration, hardware, device, change);
        }
        Some(given)
    }

    /// A queue in three parts for a device of version 1, or in one piece for an older one.
    fn new(features: u64, size: u16) -> Self {
        let mut bench = Bench::new();
        let order = Order::of(features);
        let offers = |bench: &Bench| {
            let mut subchannel = bench.configuration.channels.subchannel(SUBSYSTEM).unwrap();
            subchannel.device.as_mut().unwrap().offers_version_1 = true;
            subchannel.sight = Sight::Shown;
        };
        offers(&bench);
        let _ = Self::command(&mut bench, 0x83, &[0, 1, 0, 0]);
        for (index, bits) in [(0_u8, features as u32), (1, (features >> 32) as u32)] {
            let data = [&bits.to_le_bytes()[..], &[index]].concat();
            Self::command(&mut bench, WRITE_FEATURES, &data).unwrap();
        }
        let [descriptors, offered, _] = lengths(size.into());
        let used = ring::used_in_one_piece(size.into(), PAGE);
        let form = u64::from(size);
        let given = match order {
            Order::Little => {
                let words = [RINGS, form, RINGS + descriptors, RINGS + used];
                let data = words.map(u64::to_be_bytes).concat();
                let given = Self::command(&mut bench, SET_QUEUE, &data).unwrap();
                [0, 16, 24].map(|at| doubleword(&given, at).unwrap())
            }
            Order::Big => {
                let data = [RINGS, 4096 << 32 | form].map(u64::to_be_bytes).concat();
                let given = Self::command(&mut bench, SET_QUEUE, &data).unwrap();
                let at = doubleword(&given, 0).unwrap();
                [at, at + descriptors, at + used]
            }
        };
        assert!(descriptors + offered <= used);
        let model = Model {
            order,
            size,
            parts: given,
            last: 0,
            used: 0,
        };
        Self {
            bench,
            model,
            offered: 0,
        }
    }

    fn part(&self, number: usize) -> u64 {
        let [descriptors, _, _] = lengths(self.model.size.into());
        let used = ring::used_in_one_piece(self.model.size.into(), PAGE);
        RINGS + [0, descriptors, used][number]
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.bench.set(at, bytes);
    }

    fn descriptor(&mut self, at: u64, address: u64, length: u32, flags: u16, next: u16) {
        let order = self.model.order;
        let bytes = [
            &order.u64(address).to_be_bytes()[..],
            &order.u32(length).to_be_bytes(),
            &order.u16(flags).to_be_bytes(),
            &order.u16(next).to_be_bytes(),
        ];
        self.put(at, &bytes.concat());
    }

    /// The program offers the buffer with this number, without a notification.
    fn offer(&mut self, number: u16) {
        let (order, part) = (self.model.order, self.part(1));
        let place = u64::from(self.offered % self.model.size);
        self.put(part + 4 + 2 * place, &order.u16(number).to_be_bytes());
        self.offered = self.offered.wrapping_add(1);
        let index = order.u16(self.offered).to_be_bytes();
        self.put(part + 2, &index);
    }

    fn notify(&mut self) {
        let operands = [SUBSYSTEM.into(), 0, 0];
        let Bench {
            configuration,
            hardware,
            ..
        } = &mut self.bench;
        attention::notify(configuration, hardware, operands);
    }

    /// The machine looks at what the device has used.
    fn attend(&mut self) {
        let Bench {
            configuration,
            hardware,
            ..
        } = &mut self.bench;
        attention::attend(configuration, hardware);
    }

    fn take(&mut self) -> Found {
        self.model.take(&self.bench.hardware)
    }

    fn give(&mut self, number: u16, length: u32) {
        self.model.give(&mut self.bench.hardware, number, length);
    }

    /// The index of the program's ring of used buffers, and its last entry.
    fn returned(&self) -> (u16, u32, u32) {
        let (order, part) = (self.model.order, self.part(2));
        let index = order.u16(self.bench.hardware.load_u16(Absolute(part + 2)));
        let place = u64::from(index.wrapping_sub(1) % self.model.size);
        let [number, length] = [0, 4].map(|field| {
            let at = Absolute(part + 4 + 8 * place + field);
            order.u32(self.bench.hardware.load_u32(at))
        });
        (index, number, length)
    }
}

/// Nobody asks the device.
fn unknown(_: QueueNumber) -> Entries {
    Entries::Unknown
}

/// Both forms of a queue.
const FORMS: [u64; 2] = [0, VERSION_1];

#[test]
fn a_buffer_goes_to_the_device_and_comes_back_in_both_forms() {
    for features in FORMS {
        let mut pair = Pair::new(features | ring::INDIRECT_DESCRIPTORS, 8);
        let table = pair.part(0);
        // Two pieces, one of them at the very end of storage.
        pair.descriptor(table + 16 * 5, BUFFERS, 0x200, NEXT, 2);
        pair.descriptor(table + 16 * 2, END - 1, 1, WRITE, 0);
        pair.offer(5);
        // Three in a table.
        pair.descriptor(table + 16 * 3, TABLE, 48, INDIRECT | WRITE, 7);
        pair.descriptor(TABLE, BUFFERS, 1, NEXT, 2);
        pair.descriptor(TABLE + 32, BUFFERS + 8, 2, NEXT | WRITE, 1);
        pair.descriptor(TABLE + 16, BUFFERS + 16, 3, WRITE, 9);
        pair.offer(3);
        assert_eq!(pair.take(), Found::Nothing);
        pair.notify();
        let first = vec![(BUFFERS, 0x200, false), (END - 1, 1, true)];
        assert_eq!(pair.take(), Found::Buffer(5, first));
        let second = vec![
            (BUFFERS, 1, false),
            (BUFFERS + 8, 2, true),
            (BUFFERS + 16, 3, true),
        ];
        assert_eq!(pair.take(), Found::Buffer(3, second));
        assert_eq!(pair.take(), Found::Nothing);
        pair.give(3, 5);
        pair.attend();
        assert_eq!(pair.returned(), (1, 3, 5));
        pair.give(5, 1);
        pair.attend();
        assert_eq!(pair.returned(), (2, 5, 1));
        assert_eq!(pair.bench.hardware.notified, [[u64::from(SUBSYSTEM), 0, 0]]);
    }
}

#[test]
fn a_queue_goes_round_for_ever() {
    let mut pair = Pair::new(VERSION_1, 4);
    for turn in 0..70_000_u32 {
        let number = (turn % 4) as u16;
        let at = pair.part(0) + 16 * u64::from(number);
        pair.descriptor(at, BUFFERS + u64::from(turn), 1, WRITE, 0);
        pair.offer(number);
        pair.notify();
        let piece = (BUFFERS + u64::from(turn), 1, true);
        assert_eq!(pair.take(), Found::Buffer(number, vec![piece]), "{turn}");
        pair.give(number, turn);
        pair.attend();
        let index = (turn as u16).wrapping_add(1);
        assert_eq!(pair.returned(), (index, number.into(), turn));
    }
}

#[test]
fn a_piece_is_checked_in_the_other_order_only_until_the_features_are_final() {
    // In the other order this is far beyond the program's storage, and in that of the machine.
    let (at, machine_end) = (BUFFERS & !0xFFF, u64::MAX);
    for is_final in [false, true] {
        let mut pair = Pair::new(VERSION_1, 8);
        pair.bench.configuration.machine_end = machine_end;
        if is_final {
            assert!(Pair::command(&mut pair.bench, WRITE_STATUS, &[0xB]).is_some());
        }
        pair.descriptor(pair.part(0), at, 8, 0, 0);
        pair.offer(0);
        pair.notify();
        let found = pair.take();
        assert_eq!(
            found == Found::Buffer(0, vec![(at, 8, false)]),
            is_final,
            "{found:?}"
        );
        // Its order could change while the buffer is in its rings.
        let taken_back = Pair::command(&mut pair.bench, WRITE_STATUS, &[3]);
        assert_eq!(taken_back.is_none(), is_final);
        assert!(Pair::command(&mut pair.bench, WRITE_STATUS, &[0]).is_some());
    }
    // An older device has no final features.
    let mut pair = Pair::new(0, 8);
    pair.bench.configuration.machine_end = machine_end;
    Pair::command(&mut pair.bench, WRITE_STATUS, &[0xB]).unwrap();
    pair.descriptor(pair.part(0), at, 8, 0, 0);
    pair.offer(0);
    pair.notify();
    assert_ne!(pair.take(), Found::Buffer(0, vec![(at, 8, false)]));
}

#[test]
fn the_features_of_a_device_that_has_forgotten_its_revision_are_not_final() {
    let (at, machine_end) = (BUFFERS & !0xFFF, u64::MAX);
    for is_disabled in [false, true] {
        let mut pair = Pair::new(VERSION_1, 8);
        pair.bench.configuration.machine_end = machine_end;
        Pair::command(&mut pair.bench, WRITE_STATUS, &[0xB]).unwrap();
        if is_disabled {
            let mut subchannel = Subchannel::default();
            subchannel.schib[1] = PMCW_DEVICE_VALID;
            pair.bench.hardware.subchannels = vec![subchannel];
            pair.bench.cpu.general[1] = SUBSYSTEM.into();
            let channels = &pair.bench.configuration.channels;
            channels.subchannel(SUBSYSTEM).unwrap().sight = Sight::Shown;
            pair.bench.set_doublewords(0xA00, &[0x0000_0000_0001_0000]);
            issue(
                &mut pair.bench,
                Instruction::Msch {
                    second: self::at(0xA00),
                },
            );
        }
        pair.descriptor(pair.part(0), at, 8, 0, 0);
        pair.offer(0);
        pair.notify();
        let found = pair.take();
        let is_taken = found == Found::Buffer(0, vec![(at, 8, false)]);
        assert_eq!(is_taken, !is_disabled, "{found:?}");
    }
}

#[test]
fn what_a_program_claims_is_final_only_if_the_device_offers_it() {
    for offers in [false, true] {
        let mut bench = with_device(2);
        bench.hardware.subchannels[0].offers_version_1 = offers;
        assert_eq!(
            issue(
                &mut bench,
                Instruction::Stsch {
                    second: self::at(0x800)
                }
            ),
            0
        );
        // The device is left as it was found, and the revision is forgotten with the enablement.
        assert_eq!(
            bench.hardware.subchannels[0].schib[..2],
            [0, PMCW_DEVICE_VALID]
        );
        let mut subchannel = bench.configuration.channels.subchannel(SUBSYSTEM).unwrap();
        let device = subchannel.device.as_deref_mut().unwrap();
        assert_eq!((device.revision, device.status, device.features), (0, 0, 0));
        device.forget();
        (device.revision, device.status, device.features) = (1, FEATURES_OK, VERSION_1);
        assert_eq!(device.agreed().is_final, offers);
    }
}

#[test]
fn one_program_does_not_take_back_that_the_features_are_final_unless_it_resets_the_device() {
    let bench = Bench::new();
    let mut subchannel = bench.configuration.channels.subchannel(SUBSYSTEM).unwrap();
    let device = subchannel.device.as_deref_mut().unwrap();
    let accepts = |device: &Device, changes: &[Change], command, data: &[u8]| {
        let changes: Vec<_> = changes.iter().map(|&change| (0, change)).collect();
        let data = &mut data.to_vec();
        pass_on(Some(device), &changes, command, data, |_, _| true, unknown).is_some()
    };
    let mut follows = |status, change| {
        device.status = status;
        accepts(device, &[change], WRITE_STATUS, &[3])
    };
    assert!(!follows(0, Change::Status(0xB)));
    assert!(!follows(0xB, Change::Status(0xB)));
    assert!(follows(0xB, Change::Reset));
    assert!(follows(3, Change::Status(3)));
}

#[test]
fn features_do_not_change_while_a_queue_is_on() {
    let command = |pair: &mut Pair, command, data: &[u8]| {
        Pair::command(&mut pair.bench, command, data).is_some()
    };
    let accept = [&1_u32.to_le_bytes()[..], &[1]].concat();
    let mut pair = Pair::new(0, 8);
    assert!(!command(&mut pair, WRITE_FEATURES, &accept));
    // One that is off may be filled, too: the device remembers where it was in it.
    let off = [0, 8, 0, 0].map(u64::to_be_bytes).concat();
    assert!(command(&mut pair, SET_QUEUE, &off));
    assert!(!command(&mut pair, WRITE_FEATURES, &accept));
    assert!(command(&mut pair, WRITE_STATUS, &[0]));
    assert!(command(&mut pair, WRITE_FEATURES, &accept));
    // In the program that turns it on, too, unless it resets the device after that.
    let on = Change::QueueOn {
        number: QueueNumber::new(0).unwrap(),
        size: 8,
        rings: Rings::default(),
        place: QueuePlace {
            rings: Real(0),
            records: Real(0),
        },
    };
    let device = Device::new(Real(0));
    let follows = |changes: &[Change]| {
        let changes: Vec<_> = changes.iter().map(|&change| (0, change)).collect();
        let data = &mut accept.clone();
        pass_on(
            Some(&device),
            &changes,
            WRITE_FEATURES,
            data,
            |_, _| true,
            unknown,
        )
        .is_some()
    };
    assert!(follows(&[]) && follows(&[Change::Reset]));
    assert!(!follows(&[on]) && !follows(&[Change::Reset, on]));
    assert!(follows(&[on, Change::Reset]));
}

/// What puts something into the program's rings.
type Misdeed = fn(&mut Pair);

/// What a program may put into its rings that no device accepts.
fn misdeeds() -> Vec<(&'static str, Misdeed)> {
    vec![
        ("a piece that ends beyond storage", |pair| {
            pair.descriptor(pair.part(0), END - 1, 2, 0, 0);
        }),
        ("a piece in the hardware system area", |pair| {
            pair.descriptor(pair.part(0), END, 1, WRITE, 0);
        }),
        ("a piece that wraps", |pair| {
            pair.descriptor(pair.part(0), u64::MAX, 2, 0, 0);
        }),
        ("a piece whose length has no end", |pair| {
            pair.descriptor(pair.part(0), 0x1000, u32::MAX, 0, 0);
        }),
        ("no bytes", |pair| {
            pair.descriptor(pair.part(0), BUFFERS, 0, 0, 0)
        }),
        ("a piece at zero that is long in the other order", |pair| {
            pair.descriptor(pair.part(0), 0, 0x7F, 0, 0);
        }),
        ("a bad piece behind a good one", |pair| {
            pair.descriptor(pair.part(0), BUFFERS, 1, NEXT, 1);
            pair.descriptor(pair.part(0) + 16, END, 1, 0, 0);
        }),
        ("no such descriptor", |pair| {
            pair.descriptor(pair.part(0), BUFFERS, 1, NEXT, 8);
        }),
        ("a circle", |pair| {
            pair.descriptor(pair.part(0), BUFFERS, 1, NEXT, 1);
            pair.descriptor(pair.part(0) + 16, BUFFERS, 1, NEXT, 0);
        }),
        ("a table in the hardware system area", |pair| {
            pair.descriptor(pair.part(0), END, 16, INDIRECT, 0);
        }),
        ("a table that is not whole", |pair| {
            pair.descriptor(pair.part(0), TABLE, 17, INDIRECT, 0);
        }),
        ("a table of nothing", |pair| {
            pair.descriptor(pair.part(0), TABLE, 0, INDIRECT, 0);
        }),
        ("a table that is too long", |pair| {
            pair.descriptor(pair.part(0), TABLE, 0x8_0000, INDIRECT, 0);
        }),
        ("a table and something else", |pair| {
            pair.descriptor(TABLE, BUFFERS, 1, 0, 0);
            pair.descriptor(pair.part(0), TABLE, 16, INDIRECT | NEXT, 1);
        }),
        ("a table behind something else", |pair| {
            pair.descriptor(TABLE, BUFFERS, 1, 0, 0);
            pair.descriptor(pair.part(0), BUFFERS, 1, NEXT, 1);
            pair.descriptor(pair.part(0) + 16, TABLE, 16, INDIRECT | WRITE, 0);
        }),
        ("a table in a table", |pair| {
            pair.descriptor(pair.part(0), TABLE, 32, INDIRECT, 0);
            pair.descriptor(TABLE, TABLE + 16, 16, INDIRECT, 0);
        }),
        ("a bad piece in a table", |pair| {
            pair.descriptor(pair.part(0), TABLE, 32, INDIRECT, 0);
            pair.descriptor(TABLE, BUFFERS, 1, NEXT, 1);
            pair.descriptor(TABLE + 16, END - 4, 8, 0, 0);
        }),
        ("a circle in a table", |pair| {
            pair.descriptor(pair.part(0), TABLE, 32, INDIRECT, 0);
            pair.descriptor(TABLE, BUFFERS, 1, NEXT, 1);
            pair.descriptor(TABLE + 16, BUFFERS, 1, NEXT, 0);
        }),
        ("no such descriptor in a table", |pair| {
            pair.descriptor(pair.part(0), TABLE, 32, INDIRECT, 0);
            pair.descriptor(TABLE, BUFFERS, 1, NEXT, 2);
        }),
    ]
}

#[test]
fn what_no_device_accepts_is_refused_by_the_device_until_it_is_reset() {
    for features in FORMS.map(|form| form | ring::INDIRECT_DESCRIPTORS) {
        for (what, misdeed) in misdeeds() {
            let mut pair = Pair::new(features, 8);
            misdeed(&mut pair);
            pair.offer(0);
            // It does not help that what follows is good.
            pair.descriptor(pair.part(0) + 16 * 7, BUFFERS, 1, 0, 0);
            pair.offer(7);
            pair.notify();
            assert_eq!(pair.take(), Found::Refused, "{what}");
            assert_eq!(pair.take(), Found::Nothing, "{what}");
            pair.notify();
            pair.attend();
            assert_eq!(pair.take(), Found::Nothing, "{what}");
            Pair::command(&mut pair.bench, RESET, &[]).unwrap();
            let mut after = Pair::new(features, 8);
            after.descriptor(after.part(0), BUFFERS, 1, 0, 0);
            after.offer(0);
            after.notify();
            assert!(matches!(after.take(), Found::Buffer(0, _)), "{what}");
        }
    }
}

#[test]
fn an_index_or_a_number_beyond_the_queue_is_refused() {
    let mut pair = Pair::new(VERSION_1, 8);
    pair.offered = 8;
    pair.offer(0);
    pair.notify();
    assert_eq!(pair.take(), Found::Refused);
    let mut pair = Pair::new(VERSION_1, 8);
    pair.offer(8);
    pair.notify();
    assert_eq!(pair.take(), Found::Refused);
    // The same buffer twice, before the device has used it.
    let mut pair = Pair::new(VERSION_1, 8);
    pair.descriptor(pair.part(0), BUFFERS, 1, 0, 0);
    pair.offer(0);
    pair.offer(0);
    pair.notify();
    assert!(matches!(pair.take(), Found::Buffer(0, _)));
    assert_eq!(pair.take(), Found::Refused);
}

#[test]
fn a_table_counts_only_if_the_program_has_accepted_tables() {
    for features in FORMS {
        let mut pair = Pair::new(features, 8);
        pair.descriptor(pair.part(0), TABLE, 16, INDIRECT, 0);
        pair.descriptor(TABLE, BUFFERS, 1, 0, 0);
        pair.offer(0);
        pair.notify();
        assert_eq!(pair.take(), Found::Refused);
    }
}

#[test]
fn what_changes_after_the_notification_does_not_reach_the_device() {
    let mut pair = Pair::new(VERSION_1 | ring::INDIRECT_DESCRIPTORS, 8);
    pair.descriptor(pair.part(0), BUFFERS, 1, WRITE, 0);
    pair.descriptor(pair.part(0) + 16, TABLE, 16, INDIRECT, 0);
    pair.descriptor(TABLE, BUFFERS + 8, 2, WRITE, 0);
    pair.offer(0);
    pair.offer(1);
    pair.notify();
    pair.descriptor(pair.part(0), END, 1, WRITE | NEXT, 1);
    pair.descriptor(pair.part(0) + 16, END, 16, INDIRECT, 0);
    pair.descriptor(TABLE, END, 8, WRITE, 0);
    pair.notify();
    assert_eq!(pair.take(), Found::Buffer(0, vec![(BUFFERS, 1, true)]));
    assert_eq!(pair.take(), Found::Buffer(1, vec![(BUFFERS + 8, 2, true)]));
}

#[test]
fn tables_for_which_there_is_no_room_wait_until_others_have_been_used() {
    let mut pair = Pair::new(VERSION_1 | ring::INDIRECT_DESCRIPTORS, 16);
    // Each takes one unit of 16 descriptors, and there are four.
    for number in 0..16_u16 {
        let table = TABLE + 0x100 * u64::from(number);
        let at = pair.part(0) + 16 * u64::from(number);
        pair.descriptor(at, table, 256, INDIRECT, 0);
        pair.descriptor(table, BUFFERS + u64::from(number), 1, WRITE, 0);
        pair.offer(number);
    }
    pair.notify();
    let mut taken = vec![];
    for turn in 0..16_u16 {
        while let Found::Buffer(number, pieces) = pair.take() {
            assert_eq!(pieces, [(BUFFERS + u64::from(number), 1, true)]);
            taken.push(number);
        }
        assert_eq!(taken.len(), usize::from(turn + 4).min(16));
        pair.give(taken[usize::from(turn)], 1);
        pair.attend();
    }
    assert_eq!(taken, (0..16).collect::<Vec<_>>());
    // Each time there was room the device was notified again.
    assert_eq!(pair.bench.hardware.notified.len(), 1 + 12);
}

/// Whether the program is told, by the rules of the description: its index is passed, or it has not said no.
#[test]
fn the_program_is_told_when_it_wants_to_be() {
    let told = |features: u64, flags: u16, event: u16, used: u16| {
        let mut pair = Pair::new(features, 8);
        let indicators = INDICATORS.to_be_bytes();
        Pair::command(&mut pair.bench, SET_INDICATORS, &indicators).unwrap();
        let order = pair.model.order;
        for number in 0..8 {
            let at = pair.part(0) + 16 * number;
            pair.descriptor(at, BUFFERS, 1, WRITE, 0);
            pair.offer(number as u16);
        }
        let ring = pair.part(1);
        pair.put(ring, &order.u16(flags).to_be_bytes());
        pair.put(ring + 4 + 16, &order.u16(event).to_be_bytes());
        pair.notify();
        for _ in 0..used {
            let Found::Buffer(number, _) = pair.take() else {
                panic!("a buffer");
            };
            pair.give(number, 1);
        }
        pair.attend();
        let index = pair
            .bench
            .hardware
            .load_u16(Absolute(pair.part(2) + 4 + 64));
        let event = order.u16(index);
        (pair.bench.doubleword(INDICATORS) != 0, event)
    };
    for form in FORMS {
        assert_eq!(told(form, 0, 0, 1), (true, 0));
        assert_eq!(told(form, 1, 0, 1), (false, 0));
        assert_eq!(told(form, 0, 0, 0), (false, 0));
        // With an index the flag does not count, and the device wants to be notified of the next buffer.
        for (event, used, is) in [
            (0, 1, true),
            (1, 1, false),
            (1, 2, true),
            (7, 8, true),
            (8, 8, false),
        ] {
            for flags in [0, 1] {
                let found = told(form | ring::EVENT_INDEX, flags, event, used);
                assert_eq!(found, (is, 8), "{event} {used}");
            }
        }
        assert_eq!(told(form | ring::NOTIFY_ON_EMPTY, 1, 0, 8), (true, 0));
        assert_eq!(told(form | ring::NOTIFY_ON_EMPTY, 1, 0, 7), (false, 0));
    }
}

#[test]
fn the_device_never_sees_an_event_index_nor_rings_of_another_kind() {
    let mut bench = Bench::new();
    let mut give = |index: u8, bits: u32| {
        let data = [&bits.to_le_bytes()[..], &[index]].concat();
        Pair::command(&mut bench, WRITE_FEATURES, &data)
    };
    assert_eq!(give(0, 0xFFFF_FFFF).unwrap(), [0xFF, 0xFF, 0xFF, 0xDF, 0]);
    for bit in 0..32 {
        let other = (1..18).contains(&bit);
        assert_eq!(give(1, 1 << bit).is_none(), other, "bit {}", 32 + bit);
    }
}

/// The identification word and the summary byte of an adapter interruption, and the bytes of its indicators.
#[test]
fn an_adapter_interrupts_once_until_the_program_has_seen_its_summary() {
    let mut pair = Pair::new(VERSION_1, 8);
    let words = [INDICATORS + 0x100, INDICATORS, 61].map(u64::to_be_bytes);
    let data = [&words.concat()[..], &[3]].concat();
    let given = Pair::command(&mut pair.bench, SET_ADAPTER_INDICATORS, &data).unwrap();
    let at = [0, 8, 16].map(|at| doubleword(&given, at).unwrap());
    assert!(at[0] >= END && at[1] >= END && at[2] == 0 && given[24] == 3);
    for turn in 0..2 {
        pair.descriptor(pair.part(0), BUFFERS, 1, WRITE, 0);
        pair.offer(0);
        pair.notify();
        pair.take();
        pair.give(0, 1);
        Model::put(&mut pair.bench.hardware, at[0], [1]);
        pair.attend();
        let held = &pair.bench.configuration.channels.held;
        let interruption = held.take_io(0xFF).map(|one| one.identification);
        assert_eq!(interruption, (turn == 0).then_some(0x9800_0000));
        assert_eq!(Model::bytes(&pair.bench.hardware, at[0]), [0]);
        assert_eq!(pair.bench.hardware.load_u8(Absolute(INDICATORS + 0x100)), 1);
        // Queue 0 has bit 61.
        assert_eq!(pair.bench.doubleword(INDICATORS), 4);
        pair.put(INDICATORS, &[0; 8]);
    }
}

#[test]
fn a_change_of_the_configuration_is_indicated() {
    let mut bench = Bench::new();
    let data = (INDICATORS + 1).to_be_bytes();
    let given = Pair::command(&mut bench, SET_CONFIGURATION_INDICATORS, &data).unwrap();
    Model::put(
        &mut bench.hardware,
        doubleword(&given, 0).unwrap(),
        1_u64.to_be_bytes(),
    );
    attention::attend(&bench.configuration, &mut bench.hardware);
    assert_eq!(bench.hardware.load_u8(Absolute(INDICATORS + 8)), 1);
    bench.set(INDICATORS, &[0; 16]);
    attention::attend(&bench.configuration, &mut bench.hardware);
    assert_eq!(bench.hardware.load_u8(Absolute(INDICATORS + 8)), 0);
}

#[test]
fn rings_of_a_device_that_cannot_interrupt_are_looked_at() {
    let polls = |pair: &Pair| {
        let polls = &pair.bench.configuration.channels.polls;
        polls.load(core::sync::atomic::Ordering::Relaxed)
    };
    let mut pair = Pair::new(VERSION_1, 8);
    pair.descriptor(pair.part(0), BUFFERS, 1, WRITE, 0);
    pair.offer(0);
    assert!(!polls(&pair));
    pair.notify();
    assert!(polls(&pair));
    pair.attend();
    assert!(polls(&pair));
    pair.take();
    pair.give(0, 1);
    pair.attend();
    assert!(!polls(&pair) && pair.returned().0 == 1);
}

/// The machine takes an interruption of the device, whose subchannel has this status by then. Returns whether the guest
/// is interrupted.
fn interrupt(bench: &mut Bench, status: u32) -> bool {
    bench.hardware.subchannels[0].schib[SCHIB_STATUS / 4] = status;
    let interruption = IoInterruption {
        subsystem: SUBSYSTEM,
        ..IoInterruption::default()
    };
    let Bench {
        configuration,
        hardware,
        ..
    } = bench;
    attention::taken(configuration, hardware, interruption);
    configuration.channels.held.take_io(u8::MAX) == Some(interruption)
}

#[test]
fn an_interruption_whose_status_the_program_has_taken_meanwhile_is_none() {
    let mut bench = with_device(2);
    assert!(!interrupt(&mut bench, 0));
    // That of a program that is still running.
    assert!(!interrupt(&mut bench, SCSW_RUNNING));
    assert!(interrupt(&mut bench, SCSW_PENDING));
    assert!(!interrupt(&mut bench, SCSW_PENDING), "the same status");
    issue(&mut bench, Instruction::Tsch { second: at(0x900) });
    assert!(interrupt(&mut bench, SCSW_PENDING), "another one");
}

#[test]
fn rings_of_a_device_whose_program_takes_no_status_are_looked_at() {
    let polls = |pair: &Pair| {
        let polls = &pair.bench.configuration.channels.polls;
        polls.load(core::sync::atomic::Ordering::Relaxed)
    };
    let mut pair = Pair::new(VERSION_1, 8);
    let mut subchannel = Subchannel::default();
    subchannel.schib[1] = PMCW_DEVICE_VALID;
    pair.bench.hardware.subchannels = vec![subchannel];
    pair.bench.cpu.general[1] = SUBSYSTEM.into();
    issue(&mut pair.bench, Instruction::Stsch { second: at(0x900) });
    pair.bench
        .configuration
        .channels
        .subchannel(SUBSYSTEM)
        .unwrap()
        .sight = Sight::Shown;
    Pair::command(&mut pair.bench, SET_INDICATORS, &INDICATORS.to_be_bytes()).unwrap();
    for number in 0..3_u16 {
        pair.descriptor(pair.part(0) + 16 * u64::from(number), BUFFERS, 1, WRITE, 0);
    }
    let give = |pair: &mut Pair, number| {
        pair.take();
        pair.give(number, 1);
    };
    pair.offer(0);
    pair.notify();
    assert!(!polls(&pair), "the device interrupts");
    give(&mut pair, 0);
    interrupt(&mut pair.bench, SCSW_PENDING);
    assert_eq!(pair.returned().0, 1);
    // The subchannel interrupts no more until its status is taken, and this program only looks at its ring.
    pair.offer(1);
    pair.notify();
    assert!(polls(&pair), "nothing would tell the machine");
    give(&mut pair, 1);
    pair.attend();
    assert!(!polls(&pair) && pair.returned().0 == 2);
    issue(&mut pair.bench, Instruction::Tsch { second: at(0x900) });
    pair.offer(2);
    pair.notify();
    assert!(!polls(&pair), "the device interrupts again");
}

#[test]
fn a_device_has_buffers_for_a_limited_number_of_bytes_at_a_time() {
    let mut pair = Pair::new(VERSION_1 | ring::INDIRECT_DESCRIPTORS, 512);
    for number in 0..512_u16 {
        let at = pair.part(0) + 16 * u64::from(number);
        pair.descriptor(at, 0, END as u32, WRITE, 0);
        pair.offer(number);
    }
    pair.notify();
    let mut taken = vec![];
    let mut take_all = |pair: &mut Pair| {
        while let Found::Buffer(number, _) = pair.take() {
            taken.push(number);
        }
        taken.len()
    };
    // 1 GiB.
    assert_eq!(take_all(&mut pair), 256);
    for turn in 0..256 {
        pair.give(turn, 1);
        pair.attend();
        assert_eq!(take_all(&mut pair), 257 + usize::from(turn));
    }
    // A buffer that is longer is refused.
    let mut pair = Pair::new(VERSION_1 | ring::INDIRECT_DESCRIPTORS, 512);
    pair.descriptor(pair.part(0), TABLE, 257 * 16, INDIRECT, 0);
    for number in 0..257 {
        let next = if number == 256 { 0 } else { NEXT };
        let at = TABLE + 16 * u64::from(number);
        pair.descriptor(at, 0, END as u32, WRITE | next, number + 1);
    }
    pair.offer(0);
    pair.notify();
    assert_eq!(pair.take(), Found::Refused);
}

#[test]
fn a_page_into_which_a_device_may_store_is_not_executed_in_place() {
    let mut pair = Pair::new(VERSION_1, 8);
    let execute = |pair: &mut Pair| {
        let Bench {
            configuration,
            hardware,
            ..
        } = &mut pair.bench;
        let at = Absolute(BUFFERS);
        make_executable(configuration, hardware, at, Entry::At(0))
    };
    assert_eq!(execute(&mut pair), PageState::Text);
    for number in [0, 1] {
        let at = pair.part(0) + 16 * u64::from(number);
        pair.descriptor(at, BUFFERS + 0xFF8, 16, WRITE, 0);
        pair.offer(number);
    }
    pair.notify();
    assert!(matches!(execute(&mut pair), PageState::Copied(_)));
    for turn in [0, 1] {
        pair.take();
        pair.give(turn, 16);
        pair.attend();
        let state = pair
            .bench
            .configuration
            .page_frames
            .state(Absolute(BUFFERS));
        assert_eq!(state, PageState::Data);
        let is_copied = matches!(execute(&mut pair), PageState::Copied(_));
        assert_eq!(is_copied, turn == 0);
    }
    // A buffer from which the device only reads changes nothing.
    let at = pair.part(0) + 16 * 2;
    pair.descriptor(at, BUFFERS, 16, 0, 0);
    pair.offer(2);
    pair.notify();
    assert_eq!(execute(&mut pair), PageState::Text);
    // A reset takes the buffers from the device.
    pair.descriptor(pair.part(0), BUFFERS, 16, WRITE, 0);
    pair.offer(0);
    pair.notify();
    Pair::command(&mut pair.bench, RESET, &[]).unwrap();
    assert_eq!(execute(&mut pair), PageState::Text);
}

/// Programs that change everything at random while the device works. After each single store of the machine into the HSA
/// the device could take any buffer that it has been offered: whatever it finds must lie in guest storage.
#[test]
fn a_device_never_finds_an_address_beyond_storage_whatever_the_program_does() {
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    let (mut buffers, mut refused) = (0, 0);
    for _ in 0..1000 {
        let features = random.one_of(&FORMS) | random.one_of(&[0, ring::INDIRECT_DESCRIPTORS]);
        let size = random.one_of(&[4, 8, 32]);
        let mut pair = Pair::new(features, size);
        let model = std::sync::Arc::new(std::sync::Mutex::new(pair.model));
        let watched = model.clone();
        pair.bench.hardware.watcher = Some(Box::new(move |machine, _| {
            let model = *watched.lock().unwrap();
            for ahead in 0..model.waiting(machine).min(model.size) {
                let number = model.entry(machine, model.last.wrapping_add(ahead));
                model.buffer(machine, number);
            }
        }));
        let (mut free, mut taken): (BTreeSet<u16>, _) = ((0..size).collect(), BTreeSet::new());
        for _ in 0..200 {
            match random.below(8) {
                0..3 => offer_something(&mut pair, &mut random, &mut free),
                3 => pair.notify(),
                4 => {
                    match pair.take() {
                        Found::Buffer(number, _) => {
                            buffers += 1;
                            taken.insert(number);
                        }
                        Found::Refused => refused += 1,
                        Found::Nothing => {}
                    }
                    *model.lock().unwrap() = pair.model;
                }
                5 => {
                    if let Some(number) = taken.pop_first() {
                        pair.give(number, random.below(1 << 32) as u32);
                        free.insert(number);
                    }
                    pair.attend();
                }
                6 => {
                    // Something changes at any time: descriptors, tables, rings.
                    let place = random.one_of(&[pair.part(0), pair.part(1), pair.part(2), TABLE]);
                    let at = place + random.below(16 * u64::from(size));
                    let value = random.one_of(&[0, 1, 2, 4, 0x40, 0xFF, random.0 as u8]);
                    if random.below(6) == 0 {
                        pair.put(at, &[value]);
                    }
                }
                _ => {
                    // A device that is wrong about what it has used does no harm either.
                    if random.below(50) == 0 {
                        pair.give(random.below(64) as u16, 1);
                        pair.attend();
                    }
                }
            }
        }
    }
    assert!(buffers > 5000 && refused > 200, "{buffers} {refused}");
}

/// Offers a buffer in one descriptor, in two, or in a table.
fn offer_something(pair: &mut Pair, random: &mut Random, free: &mut BTreeSet<u16>) {
    let Some(number) = free.pop_first() else {
        return;
    };
    let at = |number: u16| 16 * u64::from(number);
    let address = match random.below(40) {
        0 => random.one_of(&[END - 1, END, u64::MAX, 0]),
        _ => BUFFERS + random.below(0x1000),
    };
    let (length, write) = (1 + random.below(8) as u32, random.one_of(&[0, WRITE]));
    let place = pair.part(0) + at(number);
    match random.below(4) {
        0 => {
            let table = TABLE + 0x200 * u64::from(number);
            let count = 1 + random.below(20) as u16;
            for entry in 0..count {
                let next = if entry + 1 == count { 0 } else { NEXT };
                pair.descriptor(table + at(entry), address, length, write | next, entry + 1);
            }
            pair.descriptor(place, table, 16 * u32::from(count), INDIRECT, 0);
        }
        1 if !free.is_empty() => {
            let second = free.pop_first().unwrap_or_default();
            pair.descriptor(place, BUFFERS, 1, NEXT, second);
            pair.descriptor(pair.part(0) + at(second), address, length, write, 0);
        }
        _ => pair.descriptor(place, address, length, write, 0),
    }
    pair.offer(number);
}

fn hold(command: u8, doublewords: &[u64]) -> bool {
    let mut bench = Bench::new();
    let data = doublewords.iter().flat_map(|one| one.to_be_bytes());
    Pair::command(&mut bench, command, &data.collect::<Vec<_>>()).is_some()
}

#[test]
fn each_of_three_rings_must_lie_in_storage() {
    let size = 256;
    assert!(hold(SET_QUEUE, &[END - 4096, size, 0, 0x1000]));
    assert!(!hold(SET_QUEUE, &[END - 4095, size, 0, 0x1000]));
    assert!(hold(SET_QUEUE, &[0x1000, size, END - 518, END - 2056]));
    assert!(!hold(SET_QUEUE, &[0x1000, size, END - 516, 0]));
    assert!(!hold(SET_QUEUE, &[0x1000, size, 0, END - 2052]));
    assert!(!hold(SET_QUEUE, &[u64::MAX, size, 0, 0]));
    assert!(hold(SET_QUEUE, &[0, size, u64::MAX, u64::MAX]));
}

#[test]
fn a_queue_in_one_piece_must_lie_in_storage() {
    for (entries, length) in [(1, 4096 + 14), (256, 8192 + 2054), (1024, 20480 + 8198)] {
        let form = 4096 << 32 | entries;
        let last = (END - length) & !4095;
        assert!(hold(SET_QUEUE, &[last, form]), "{entries}");
        assert!(!hold(SET_QUEUE, &[last + 4096, form]), "{entries}");
        assert!(!hold(SET_QUEUE, &[u64::MAX - 0xFFF, form]), "{entries}");
    }
    assert!(!hold(SET_QUEUE, &[0x1000, 4096 << 32 | 1025]));
    // Devices know no other boundary.
    for boundary in [0, 1, 2048, 8192, 0xFFFF_FFFF] {
        assert!(!hold(SET_QUEUE, &[0x1000, boundary << 32 | 16]));
    }
}

#[test]
fn rings_stand_on_their_boundaries_so_no_entry_lies_on_two_pages() {
    let size = 256;
    assert!(hold(SET_QUEUE, &[0x1010, size, 0x3002, 0x5004]));
    for [descriptors, offered, used] in [[8, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 2]] {
        let places = [0x1000 + descriptors, size, 0x3000 + offered, 0x5000 + used];
        assert!(!hold(SET_QUEUE, &places), "{places:x?}");
    }
    // A queue in one piece begins on a page boundary, or its third part would be elsewhere.
    assert!(hold(SET_QUEUE, &[0x1000, 4096 << 32 | size]));
    assert!(!hold(SET_QUEUE, &[0x1010, 4096 << 32 | size]));
}

#[test]
fn an_adapter_has_one_of_eight_interruption_subclasses() {
    for subclass in 0..=255 {
        let is_one = hold(SET_ADAPTER_INDICATORS, &[0x1000, 0x2000, 0, subclass << 56]);
        assert_eq!(is_one, subclass < 8, "{subclass}");
    }
}

#[test]
fn a_queue_without_entries_keeps_its_old_size_so_it_is_refused() {
    assert!(!hold(SET_QUEUE, &[0x1000, 0, 0x2000, 0x3000]));
    // And so is another size, until the device is reset.
    let mut pair = Pair::new(VERSION_1, 8);
    let data = [RINGS, 16, RINGS + 0x1000, RINGS + 0x2000]
        .map(u64::to_be_bytes)
        .concat();
    assert!(Pair::command(&mut pair.bench, SET_QUEUE, &data).is_none());
    Pair::command(&mut pair.bench, WRITE_STATUS, &[0]).unwrap();
    assert!(Pair::command(&mut pair.bench, SET_QUEUE, &data).is_some());
}

#[test]
fn a_device_gets_no_address_of_the_guest_and_nothing_that_was_not_looked_at() {
    let given = |command, bytes: usize| {
        let mut bench = Bench::new();
        let data = [
            0x1010_u64, 0x0101, 0x2002, 0x3004, 0x4004, 0x5005, 0x6006, 0x7007,
        ];
        let data = data.iter().flat_map(|one| one.to_be_bytes()).take(bytes);
        Pair::command(&mut bench, command, &data.collect::<Vec<_>>()).unwrap()
    };
    for (command, bytes, known) in [
        (SET_INDICATORS, 64, 8),
        (SET_INDICATORS, 7, 0),
        (SET_CONFIGURATION_INDICATORS, 64, 8),
        (SET_QUEUE, 64, 32),
        (SET_QUEUE, 15, 0),
        (SET_ADAPTER_INDICATORS, 64, 25),
        (SET_ADAPTER_INDICATORS, 24, 0),
        (WRITE_FEATURES, 64, 5),
        (WRITE_FEATURES, 4, 0),
        (WRITE_STATUS, 64, 1),
    ] {
        let given = given(command, bytes);
        assert!(
            given[known..].iter().all(|&byte| byte == 0),
            "{command:x} {bytes}"
        );
        assert_eq!(given.len(), bytes);
        let addresses = given
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| u64::from_be_bytes(*word));
        let is_own = |at: u64| !(0x1000..END).contains(&at);
        assert!(
            command == WRITE_FEATURES || addresses.into_iter().all(is_own),
            "{command:x}"
        );
    }
    // A device that still uses the older form, and does not mind the length, refuses a boundary of zero.
    let words = [0x1000, 0x1000_0000_0008, 0x2000, 0x3000].map(u64::to_be_bytes);
    let given = Pair::command(&mut Bench::new(), SET_QUEUE, &words.concat()).unwrap();
    assert_eq!(given[8..16], [0, 0, 0, 0, 0, 0, 0, 8]);
}

#[test]
fn indicators_must_lie_in_storage() {
    for command in [SET_INDICATORS, SET_CONFIGURATION_INDICATORS] {
        assert!(hold(command, &[END - 8]) && !hold(command, &[END - 7]));
    }
    // The last bit that the device may set is 1,023 behind the first one.
    let hold = |data: [u64; 3]| {
        hold(
            SET_ADAPTER_INDICATORS,
            &[data[0], data[1], data[2], 3 << 56],
        )
    };
    assert!(hold([END - 1, END - 128, 0]));
    assert!(!hold([END - 1, END - 128, 1]));
    assert!(hold([END - 1, END - 131, 24]));
    assert!(!hold([END, 0, 0]));
    assert!(!hold([0, 0, u64::MAX]));
    assert!(!hold([0, 0, u64::MAX - 1022]));
}

#[test]
fn a_device_has_no_more_queues_than_there_is_room_for() {
    let mut bench = Bench::new();
    let mut set = |number: u64, size: u64| {
        let words = [RINGS, number << 16 | size, RINGS + 0x8000, RINGS + 0x1_0000];
        Pair::command(&mut bench, SET_QUEUE, &words.map(u64::to_be_bytes).concat())
    };
    // As many as a console has.
    let mut areas: Vec<u64> = (0..64)
        .map(|number| doubleword(&set(number, 128).unwrap(), 0).unwrap())
        .collect();
    assert!(set(64, 8).is_none());
    areas.dedup();
    assert_eq!(areas.len(), 64);
    let mut bench = Bench::new();
    let mut set = |number: u64| {
        let words = [RINGS, number << 16 | 1024, RINGS + 0x8000, RINGS + 0x1_0000];
        Pair::command(&mut bench, SET_QUEUE, &words.map(u64::to_be_bytes).concat())
    };
    let count = (0..64).take_while(|&number| set(number).is_some()).count();
    assert!((16..64).contains(&count), "{count}");
}

/// A bench with a device at subchannel 0, of a type.
pub(super) fn with_device(model: u8) -> Bench {
    let mut bench = Bench::new();
    bench.cpu.general[1] = SUBSYSTEM.into();
    let mut subchannel = Subchannel {
        model,
        ..Subchannel::default()
    };
    subchannel.schib[1] = PMCW_DEVICE_VALID;
    bench.hardware.subchannels = vec![subchannel];
    bench
}

pub(super) fn at(address: u64) -> Operand {
    Operand {
        index: 0,
        base: 0,
        displacement: address as i32,
    }
}

pub(super) fn issue(bench: &mut Bench, instruction: Instruction) -> u8 {
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    millicode::perform(cpu, configuration, hardware, &instruction).unwrap();
    cpu.psw.condition_code() as u8
}

#[test]
fn only_devices_whose_rings_are_known_are_shown() {
    let place = at(0x800);
    for model in 0..=40 {
        let mut bench = with_device(model);
        let is_shown = (1..=4).contains(&model);
        assert_eq!(issue(&mut bench, Instruction::Stsch { second: place }), 0);
        let valid = bench.word(0x804) & PMCW_DEVICE_VALID != 0;
        assert_eq!(valid, is_shown, "type {model}");
        bench.set_doublewords(0x800, &[7, 0x0080_FF00_0000_2000]);
        let code = issue(&mut bench, Instruction::Ssch { second: at(0x804) });
        assert_eq!(code, if is_shown { 0 } else { 3 }, "type {model}");
        bench.configuration.channels.found();
        let operands = [SUBSYSTEM.into(), 0, 5];
        let answer = attention::notify(&bench.configuration, &mut bench.hardware, operands);
        assert_eq!(
            answer,
            if is_shown { 0 } else { -22_i64 as u64 },
            "type {model}"
        );
    }
    // One that was not there at IPL has no room.
    let mut bench = with_device(2);
    bench
        .hardware
        .subchannels
        .push(bench.hardware.subchannels[0]);
    bench.cpu.general[1] += 1;
    assert_eq!(issue(&mut bench, Instruction::Stsch { second: place }), 0);
    assert_eq!(bench.word(0x804), 0);
}

/// Starts a program at 2000, whose subchannel then has this status; returns the device's features and whether queue 0
/// is there.
fn after(bench: &mut Bench, status: [u32; 3]) -> (u64, bool) {
    issue(bench, Instruction::Stsch { second: at(0x900) });
    bench.set_doublewords(0x800, &[7, 0x0880_FF00_0000_2000]);
    bench.hardware.subchannels[0].schib[7..10].fill(0);
    issue(bench, Instruction::Ssch { second: at(0x804) });
    ended(bench, status)
}

fn ended(bench: &mut Bench, status: [u32; 3]) -> (u64, bool) {
    bench.hardware.subchannels[0].schib[7..10].copy_from_slice(&status);
    issue(bench, Instruction::Tsch { second: at(0x900) });
    let subchannel = bench.configuration.channels.subchannel(SUBSYSTEM).unwrap();
    let device = subchannel.device.as_deref().unwrap();
    let is_on = |queue: &crate::state::device::Queue| queue.rings.is_some();
    let number = QueueNumber::new(0).unwrap();
    (device.features, device.queue(number).is_some_and(is_on))
}

#[test]
fn a_device_is_changed_by_the_commands_that_were_executed_and_no_others() {
    let program = [
        0x1140_0005_0000_4000,
        0x1140_0005_0000_4008,
        0x1300_0020_0000_4010,
    ];
    let bench = || {
        let mut bench = with_device(2);
        bench.set_doublewords(0x2000, &program);
        let queue = [RINGS, 8, RINGS + 0x1000, RINGS + 0x2000];
        bench.set_doublewords(DATA, &[0x0100_0000_0000_0000, 0x0200_0000_0000_0000]);
        bench.set_doublewords(DATA + 16, &queue);
        bench
    };
    // The copy begins where the block says; word 1 of the status is behind the last command.
    let mut first = bench();
    after(&mut first, [0; 3]);
    let copy = first.hardware.subchannels[0].orb[2];
    let refused = 0x0200_0000;
    let ended_by_subchannel = 0x0020_0000;
    for (status, features, queue) in [
        ([0x4007, copy + 24, 0x0C00_0000], 2, true),
        ([0x4007, copy + 16, 0x0C00_0000], 2, false),
        ([0x4007, copy + 8, 0x0C00_0000], 1, false),
        ([0x4007, copy + 24, 0x0C00_0000 | refused], 2, false),
        ([0x4007, copy + 16, 0x0C00_0000 | refused], 1, false),
        ([0x4007, copy + 16, ended_by_subchannel], 1, false),
        ([0x4007, copy + 8, refused], 0, false),
        ([0x4007, 0, 0], 0, false),
        ([0x4007, u32::MAX, 0], 0, false),
        // An incorrect length ends a program behind a command that was executed.
        ([0x4007, copy + 8, 0x0C40_0000], 1, false),
        // It runs.
        ([0x40C0, copy + 24, 0], 0, false),
    ] {
        let found = after(&mut bench(), status);
        assert_eq!(found, (features, queue), "{status:08x?}");
    }
}

/// A program that is suspended before its second command: features, other features, and a queue.
fn with_suspended() -> Bench {
    let mut bench = with_device(2);
    let program = [
        0x1140_0005_0000_4000,
        0x1142_0005_0000_4008,
        0x1300_0020_0000_4010,
    ];
    bench.set_doublewords(0x2000, &program);
    bench.set_doublewords(DATA, &[0x0100_0000_0000_0000, 0x0200_0000_0000_0000]);
    bench.set_doublewords(DATA + 16, &[RINGS, 8, RINGS + 0x1000, RINGS + 0x2000]);
    let suspended = [SCSW_START | SCSW_SUSPENDED | SCSW_PENDING, 0, 0];
    assert_eq!(after(&mut bench, suspended), (1, false));
    assert_eq!(ended(&mut bench, suspended), (1, false));
    bench
}

/// The program accepts still other features in the command before which it is suspended, and is resumed. It ends behind that
/// command: what is known then.
fn after_resumption(bench: &mut Bench) -> (u64, bool) {
    bench.set_doublewords(DATA + 8, &[0x0400_0000_0000_0000]);
    bench.set_doublewords(0x2008, &[0x1140_0005_0000_4008]);
    bench.hardware.subchannels[0].schib[7] = SCSW_START | SCSW_SUSPENDED;
    assert_eq!(issue(bench, Instruction::Rsch {}), 0);
    let begin = {
        let subchannel = bench.configuration.channels.subchannel(SUBSYSTEM).unwrap();
        subchannel
            .program
            .word(crate::state::channel_program::WORDS)
            .0 as u32
    };
    ended(bench, [0x4007, begin + 8, 0x0C00_0000])
}

#[test]
fn a_suspended_program_has_changed_what_is_before_the_suspension() {
    let mut bench = with_suspended();
    assert_eq!(after_resumption(&mut bench), (4, true));
}

#[test]
fn a_program_is_copied_when_it_is_resumed_and_not_while_a_status_is_pending() {
    let mut bench = with_suspended();
    bench.set_doublewords(0x2008, &[0x1140_0005_0000_4008]);
    bench.hardware.subchannels[0].schib[7] = SCSW_START | SCSW_SUSPENDED | SCSW_PENDING;
    assert_eq!(issue(&mut bench, Instruction::Rsch {}), 1);
    assert_eq!(after_resumption(&mut bench), (4, true));
}
