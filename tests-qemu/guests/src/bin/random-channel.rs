//! Random channel programs, orders and notifications, with addresses of the guest's data, of the end of its storage, of
//! the hardware system area and of nowhere: in commands, in lists of indirect addresses, in what commands tell devices,
//! and in the rings of queues.
//!
//! What ends well and what does not, does not matter: the test is that the machine and the guest go on, and that the
//! machine finds its area as it was when the guest ends. Needs devices, or there is nothing to find out.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering};

use guests::check::holds;
use guests::end::end_failure;
use guests::insn::yield_cpu;
use guests::interruption::{self, Class, Registers, old_psw};
use guests::misdirected::{MACHINE_END, end};
use guests::virtio::channel::{
    Command, READ_CONFIGURATION, READ_QUEUE, RESET, SENSE_IDENTIFICATION, SET_ADAPTER_INDICATORS,
    SET_CONFIGURATION_INDICATORS, SET_INDICATORS, SET_QUEUE, SET_REVISION, Subchannel,
    WRITE_FEATURES, WRITE_STATUS, tpi,
};
use guests::virtio::queue::{Descriptor, Device, INDIRECT as TABLE, NEXT, Parts, WRITE};
use guests::virtio::{load, store};
use guests::workload::text::Generator;
use guests::{lowcore, println, smp};

guests::clause!(
    "Millimeter: no random channel program reaches the hardware system area",
    native = false
);
guests::guest!(run);

/// What a test writes into the guest's file before it is IPLed.
#[repr(C)]
struct Parameters {
    mark: [u8; 24],
    seed: u64,
    rounds: u64,
}

#[used]
static mut PARAMETERS: Parameters = Parameters {
    mark: *b"random channel programs:",
    seed: 1,
    rounds: 20_000,
};

/// The most subchannels that are tried, and one behind them that has no device.
const SUBCHANNELS: u16 = 6;
/// The area of a subchannel, in the first 16 MiB, where commands of format 0 reach it: programs, lists of indirect
/// addresses, the blocks of the instructions, and data with room behind them for the longest transfer.
const AREA: u64 = 0xB0_0000;
const AREA_LENGTH: u64 = 0x4_0000;
const LISTS: u64 = 0x1000;
const ORB: u64 = 0x3000;
const SCHIB: u64 = 0x3100;
const DATA: u64 = 0x1_0000;
const DATA_LENGTH: u64 = 0x8000;

/// Commands of a program.
const COMMANDS: u64 = 8;
const TRANSFER_IN_CHANNEL: u8 = 0x08;
const NO_OPERATION: u8 = 0x03;
const SENSE: u8 = 0x04;
const CODES: [u8; 18] = [
    WRITE_FEATURES,
    SET_QUEUE,
    SET_QUEUE,
    0x12,
    READ_CONFIGURATION,
    0x21,
    WRITE_STATUS,
    READ_QUEUE,
    RESET,
    SET_INDICATORS,
    SET_CONFIGURATION_INDICATORS,
    SET_ADAPTER_INDICATORS,
    SET_REVISION,
    SENSE_IDENTIFICATION,
    NO_OPERATION,
    SENSE,
    TRANSFER_IN_CHANNEL,
    0x72,
];
/// The lengths that they have.
const LENGTHS: [u16; 12] = [0, 1, 2, 4, 8, 12, 16, 24, 28, 32, 64, 0xFFFF];

/// Flags of a command: chain data, chain commands, any length, skip, program-controlled interruption, indirect
/// addresses, suspend.
const INDIRECT: u8 = 0x04;
const FLAGS: [u8; 12] = [
    0, 0x40, 0x60, 0x60, 0x20, 0x44, 0x64, 0x24, 0x80, 0xC0, 0x42, 0x71,
];

/// Operand exceptions, which suppress a channel instruction.
static REFUSED: AtomicU64 = AtomicU64::new(0);

extern "C" fn program(_: &mut Registers) {
    const OPERAND: u16 = 0x15;
    let code = lowcore::read::<u16>(lowcore::PROGRAM_CODE);
    if code != OPERAND {
        println!(
            "program interruption {code:X}: {:x?}",
            old_psw(Class::Program)
        );
        end_failure(1);
    }
    REFUSED.fetch_add(1, Ordering::Relaxed);
}

struct Chance(Generator);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        (self.0.next() >> 20) % end
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// An address for data: never one at which the program itself is.
    fn address(&mut self, area: u64) -> u64 {
        match self.below(16) {
            0 => end() - self.below(16),
            1 => end() + (self.below(MACHINE_END - end()) & !7),
            2 => end() + (self.below(0x100) << 12),
            3 => 0x2000_0000 | self.below(0x6000_0000),
            4 => 1 << 31 | self.0.next(),
            5 => area + DATA + self.below(DATA_LENGTH),
            _ => area + DATA + (self.below(DATA_LENGTH) & !0xFFF) + 16 * self.below(16),
        }
    }

    /// Puts new data and lists into the area of a subchannel.
    fn renew(&mut self, area: u64) {
        for at in (LISTS..ORB).step_by(8) {
            let word = if at & 0x800 == 0 {
                self.address(area)
            } else {
                // Two of format 1.
                self.address(area) << 32 | self.address(area) & 0xFFFF_FFFF
            };
            store(area + at, word);
        }
        for at in (DATA..DATA + DATA_LENGTH).step_by(8) {
            let word = match self.below(8) {
                // A descriptor's length, flags and next one; a queue's number and size.
                0 => self.below(0x2000) << 32 | self.below(8) << 16 | self.below(16),
                1 => self.below(4) << 48 | self.one_of(&[0, 1, 16, 64, 256, 1024, 0xFFFF]) << 32,
                2 => self.below(0x100),
                _ => self.address(area),
            };
            store(area + at, word);
        }
    }

    /// Puts a program into the area of a subchannel, and an operation-request block for it.
    fn put_program(&mut self, area: u64) {
        let is_format_1 = self.below(8) != 0;
        for number in 0..COMMANDS {
            let code = self.one_of(&CODES);
            let mut flags = self.one_of(&FLAGS);
            let mut address = self.address(area);
            if code == TRANSFER_IN_CHANNEL {
                (flags, address) = (0, area + 8 * self.below(COMMANDS + 1));
            } else if flags & INDIRECT != 0 {
                address = area + LISTS + 8 * self.below((ORB - LISTS) / 8);
            }
            let length = u64::from(if code == TRANSFER_IN_CHANNEL {
                0
            } else {
                self.one_of(&LENGTHS)
            });
            let (code, flags) = (u64::from(code), u64::from(flags));
            let word = if is_format_1 {
                code << 56 | flags << 48 | length << 32 | address & 0xFFFF_FFFF
            } else {
                code << 56 | (address & 0xFF_FFFF) << 32 | flags << 24 | length
            };
            store(area + 8 * number, word);
        }
        // Suspend control, format, prefetching, format-2 addresses; all paths.
        let mut bits = 0x0080_FF00_u32 & !(u32::from(!is_format_1) << 23);
        for bit in [
            0x0800_0000,
            0x0040_0000,
            0x0001_0000,
            0x0002_0000,
            0x0020_0000,
        ] {
            bits |= if self.below(2) == 0 { bit } else { 0 };
        }
        let program = match self.below(32) {
            0 => self.address(area),
            _ => area + 8 * self.below(2),
        };
        store(area + ORB, self.0.next() as u32);
        store(area + ORB + 4, bits);
        store(area + ORB + 8, program as u32);
    }
}

/// Condition codes of an instruction.
#[derive(Clone, Copy, Default)]
struct Codes([u64; 4]);

impl Codes {
    fn add(&mut self, code: u8) {
        self.0[usize::from(code & 3)] += 1;
    }
}

/// Enables a subchannel, with chance's choice of the other bits once in a while.
fn modify(chance: &mut Chance, subchannel: Subchannel, area: u64) -> u8 {
    let at = area + SCHIB;
    let _ = subchannel.stsch(at);
    let mut word = load::<u32>(at + 4) | 0x0080_0000;
    match chance.below(8) {
        0 => word &= !0x0080_0000,
        1 => word ^= 1 << chance.below(32),
        2 => store(at + 8 + 4 * chance.below(8), chance.0.next() as u32),
        _ => {}
    }
    store(at + 4, word);
    subchannel.msch(at)
}

/// Resets a device and sets it up as its driver would, in one form or the other and not always with its own sizes. Then
/// offers something, and notifies the device of a queue, with a number that may be too wide.
fn drive(chance: &mut Chance, subchannel: Subchannel, area: u64) {
    const VERSION_1: [u8; 5] = [1, 0, 0, 0, 1];
    let device = Device::new(subchannel);
    let perform = |command: Command<'_>| {
        let _ = subchannel.start(&[command]);
        let _ = subchannel.take_status();
    };
    let mut is_newer = chance.below(2) == 0;
    // Otherwise as it was set up before, or by the other CPU.
    if chance.below(4) == 0 {
        let at = area + SCHIB;
        for enabled in [0, 0x0080_0000_u32] {
            let _ = subchannel.stsch(at);
            store(at + 4, load::<u32>(at + 4) & !0x0080_0000 | enabled);
            let _ = subchannel.msch(at);
        }
        if is_newer {
            perform(Command(SET_REVISION, 0, &[0, 1, 0, 0]));
        }
        perform(Command(RESET, 0, &[]));
        let features = chance.one_of(&[0, 0x10, 0x20, 0x30]);
        perform(Command(WRITE_FEATURES, 0, &[0, 0, 0, features, 0]));
        if is_newer {
            perform(Command(WRITE_FEATURES, 0, &VERSION_1));
            perform(Command(WRITE_STATUS, 0, &[11]));
        }
        for number in 0..3_u16 {
            perform(Command(READ_QUEUE, 0, &[0, number as u8, 0, 0]));
            let own = load::<u16>(subchannel.data() + 2);
            let other = chance.one_of(&[1, 8, 16, 128, 256, 512, 1024, 0xFFFF]);
            let size = if chance.below(8) == 0 { other } else { own };
            let mut data = Device::queue_data(number, size, parts(&device, number.into()));
            if is_newer {
                perform(Command(SET_QUEUE, 0, &data));
            } else {
                data[8..12].copy_from_slice(&4096_u32.to_be_bytes());
                perform(Command(SET_QUEUE, 0, &data[..16]));
            }
        }
        perform(Command(WRITE_STATUS, 0, &[if is_newer { 15 } else { 7 }]));
    }
    if chance.below(8) == 0 {
        is_newer = !is_newer;
    }
    let device = Device {
        is_legacy: !is_newer,
        ..device
    };
    let number = chance.below(3);
    let Parts {
        descriptors,
        offered,
        ..
    } = parts(&device, number);
    let size = chance.one_of(&[8, 64, 128, 256]);
    let offered = if is_newer {
        offered
    } else {
        descriptors + 16 * size
    };
    let first = chance.below(size.min(64));
    for place in first..first + 3 {
        let flags = chance.one_of(&[0, NEXT, NEXT, WRITE, NEXT | WRITE, TABLE]);
        let length = chance.one_of(&[1, 16, 32, 48, 512, 0x1000]);
        let descriptor = Descriptor(chance.address(area), length, flags, place as u16 + 1);
        device.put(descriptors + 16 * place, descriptor);
    }
    let index = device.u16(load(offered + 2));
    store(
        offered + 4 + 2 * (u64::from(index) % size),
        device.u16(first as u16),
    );
    store(offered + 2, device.u16(index.wrapping_add(1)));
    let wide = chance.one_of(&[0, 0, 0, 0x1_0000, 0x400, 1 << 32]);
    let _ = subchannel.notify(number | wide);
}

/// Where the parts of a queue are.
fn parts(device: &Device, number: u64) -> Parts {
    let descriptors = device.base + 0x1_0000 * number;
    Parts {
        descriptors,
        offered: descriptors + 0x5000,
        used: descriptors + 0x8000,
    }
}

/// Whether a subchannel has a device.
fn is_there(subchannel: Subchannel) -> bool {
    let at = AREA + SCHIB;
    subchannel.stsch(at) == 0 && load::<u32>(at + 4) >> 16 & 1 != 0
}

/// What CPU `me` does. If there are two, they have the same subchannels and the same storage.
fn work(me: u16, cpus: u16) -> [Codes; 4] {
    // SAFETY: written before the guest was loaded.
    let (seed, rounds) = unsafe {
        let parameters = &raw const PARAMETERS;
        (
            (&raw const (*parameters).seed).read_volatile(),
            (&raw const (*parameters).rounds).read_volatile(),
        )
    };
    let mut chance = Chance(Generator::new(seed * 4 + u64::from(me)));
    let [mut starts, mut tests, mut modifies, mut others] = [Codes::default(); 4];
    let there = (1..SUBCHANNELS).find(|&number| !is_there(Subchannel { number }));
    let subchannels = there.unwrap_or(SUBCHANNELS - 1) + 1;
    for number in 0..subchannels {
        chance.renew(AREA + AREA_LENGTH * u64::from(number));
    }
    for round in 0..rounds / u64::from(cpus) {
        let number = chance.below(subchannels.into()) as u16;
        let subchannel = Subchannel { number };
        // Now and then with what belongs to another one.
        let of = if chance.below(16) == 0 {
            chance.below(subchannels.into())
        } else {
            number.into()
        };
        let area = AREA + AREA_LENGTH * of;
        if round % 64 == 0 {
            chance.renew(area);
        }
        match chance.below(16) {
            0..=7 => {
                chance.put_program(area);
                starts.add(subchannel.ssch(area + ORB));
            }
            8 | 9 => tests.add(subchannel.tsch(area + DATA)),
            10 => modifies.add(modify(&mut chance, subchannel, area)),
            11 => others.add(subchannel.rsch()),
            12 => others.add(subchannel.hsch()),
            13 => others.add(subchannel.csch()),
            14 => drive(&mut chance, subchannel, area),
            _ => {
                let _ = tpi();
                others.add(subchannel.stsch(area + DATA));
            }
        }
        let _ = subchannel.take_status();
        if chance.below(256) == 0 {
            yield_cpu();
        }
    }
    [starts, tests, modifies, others]
}

extern "C" fn other() -> ! {
    interruption::replace(Class::Program, program);
    let _ = work(1, 2);
    smp::stop(1);
    loop {
        yield_cpu();
    }
}

fn run() {
    let cpus = smp::count().min(2);
    println!("storage to {:x}, {cpus} CPUs", end());
    interruption::replace(Class::Program, program);
    if cpus > 1 {
        smp::start(1, other);
    }
    let codes = work(0, cpus);
    if cpus > 1 {
        smp::stop(1);
    }
    for number in 0..SUBCHANNELS {
        let subchannel = Subchannel { number };
        let _ = subchannel.csch();
        let _ = subchannel.take_status();
        subchannel.disable();
    }
    for (name, codes) in ["started", "tested", "modified", "others"]
        .iter()
        .zip(codes)
    {
        println!("{name}: condition codes {:?}", codes.0);
    }
    println!("refused: {}", REFUSED.load(Ordering::Relaxed));
    holds("some programs were started", codes[0].0[0] > 100);
}
