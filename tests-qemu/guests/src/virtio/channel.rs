//! Subchannels, and channel programs of one or more commands.

use core::arch::asm;

use super::{load, store};
use crate::insn::clock::{MICROSECOND, stckf};

/// Accepts features.
pub const WRITE_FEATURES: u8 = 0x11;
/// The rings of a queue.
pub const SET_QUEUE: u8 = 0x13;
/// Stores the configuration.
pub const READ_CONFIGURATION: u8 = 0x22;
/// Sets the status.
pub const WRITE_STATUS: u8 = 0x31;
/// Stores how many entries a queue has.
pub const READ_QUEUE: u8 = 0x32;
/// Resets the device.
pub const RESET: u8 = 0x33;
/// The indicators of the queues.
pub const SET_INDICATORS: u8 = 0x43;
/// The indicator of the configuration.
pub const SET_CONFIGURATION_INDICATORS: u8 = 0x53;
/// The indicators of adapter interruptions.
pub const SET_ADAPTER_INDICATORS: u8 = 0x73;
/// Chooses the revision.
pub const SET_REVISION: u8 = 0x83;
/// Stores what the device is.
pub const SENSE_IDENTIFICATION: u8 = 0xE4;

/// CCW flag: the next command follows.
pub const CHAIN: u8 = 0x40;
/// CCW flag: no other length is indicated.
pub const ANY_LENGTH: u8 = 0x20;
/// CCW flag: the program is suspended before this command.
pub const SUSPEND: u8 = 0x02;

/// Channel end and device end, and nothing else.
pub const DONE: u16 = 0x0C00;

/// Where a channel program and its data are, and the blocks of the instructions: a page for each subchannel.
const PAGES: u64 = 0x400_0000;
const DATA: u64 = 0x400;
const ORB: u64 = 0x800;
const IRB: u64 = 0x880;
const SCHIB: u64 = 0x900;

/// A subchannel.
#[derive(Clone, Copy, Debug)]
pub struct Subchannel {
    /// Its number.
    pub number: u16,
}

/// A command: code, flags, data. A program puts the data where it has room.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a>(pub u8, pub u8, pub &'a [u8]);

macro_rules! channel_instruction {
    ($(#[$doc:meta])* $name:ident, $text:literal) => {
        $(#[$doc])*
        pub fn $name(self, at: u64) -> u8 {
            let cc: u64;
            // SAFETY: the operand is in the page of this subchannel.
            unsafe {
                asm!(
                    concat!($text, " 0({a})"),
                    "ipm {c}",
                    a = in(reg_addr) at,
                    c = out(reg) cc,
                    in("r1") self.word(),
                );
            }
            (cc >> 28) as u8 & 3
        }
    };
}

macro_rules! order {
    ($(#[$doc:meta])* $name:ident, $text:literal) => {
        $(#[$doc])*
        pub fn $name(self) -> u8 {
            let cc: u64;
            // SAFETY: an order to this subchannel.
            unsafe { asm!($text, "ipm {c}", c = out(reg) cc, in("r1") self.word()) };
            (cc >> 28) as u8 & 3
        }
    };
}

impl Subchannel {
    channel_instruction!(
        /// START SUBCHANNEL.
        ssch, "ssch"
    );
    channel_instruction!(
        /// TEST SUBCHANNEL.
        tsch, "tsch"
    );
    channel_instruction!(
        /// STORE SUBCHANNEL.
        stsch, "stsch"
    );
    channel_instruction!(
        /// MODIFY SUBCHANNEL.
        msch, "msch"
    );
    order!(
        /// CLEAR SUBCHANNEL.
        csch, "csch"
    );
    order!(
        /// HALT SUBCHANNEL.
        hsch, "hsch"
    );
    order!(
        /// RESUME SUBCHANNEL.
        rsch, "rsch"
    );

    fn word(self) -> u64 {
        0x1_0000 | u64::from(self.number)
    }

    fn page(self) -> u64 {
        PAGES + 0x1000 * u64::from(self.number)
    }

    /// Where the data of the first command are.
    #[must_use]
    pub fn data(self) -> u64 {
        self.page() + DATA
    }

    /// The type of the virtio device behind it, or zero. The subchannel is enabled then, with this subclass.
    #[must_use]
    pub fn enable(self, subclass: u8) -> u8 {
        let at = self.page() + SCHIB;
        if self.stsch(at) != 0 || load::<u32>(at + 4) >> 16 & 1 == 0 {
            return 0;
        }
        store(
            at + 4,
            0x0080_0000_u32 | 0x0001_0000 | u32::from(subclass) << 27,
        );
        let _ = self.msch(at);
        if self.program(&[Command(SENSE_IDENTIFICATION, ANY_LENGTH, &[0; 8])]) != DONE {
            return 0;
        }
        match load::<u64>(self.data()) >> 40 & 0xFFFF {
            0x3832 => load(self.data() + 3),
            _ => 0,
        }
    }

    /// Disables the subchannel: the device forgets the revision.
    pub fn disable(self) {
        let at = self.page() + SCHIB;
        let _ = self.take_status();
        let _ = self.stsch(at);
        store(at + 4, load::<u32>(at + 4) & !0x0080_0000);
        let _ = self.msch(at);
    }

    /// Takes the status if one is pending: device and subchannel status.
    pub fn take_status(self) -> Option<u16> {
        let at = self.page() + IRB;
        (self.tsch(at) == 0).then(|| (load::<u32>(at + 8) >> 16) as u16)
    }

    /// Puts a program into storage, which may be suspended.
    fn put(self, commands: &[Command<'_>]) {
        let mut data = self.data();
        for (number, Command(code, flags, bytes)) in commands.iter().enumerate() {
            for (at, byte) in (data..).zip(*bytes) {
                store(at, *byte);
            }
            let chain = if number + 1 == commands.len() {
                0
            } else {
                CHAIN
            };
            let word = u64::from(*code) << 56
                | u64::from(flags | chain) << 48
                | (bytes.len() as u64) << 32
                | data;
            store(self.page() + 8 * number as u64, word);
            data += 64;
        }
        store(self.page() + ORB, 0x1234_5678_u32);
        store(self.page() + ORB + 4, 0x0880_FF00_u32);
        store(self.page() + ORB + 8, self.page() as u32);
    }

    /// Starts a program; returns the condition code.
    pub fn start(self, commands: &[Command<'_>]) -> u8 {
        self.put(commands);
        let _ = self.take_status();
        self.ssch(self.page() + ORB)
    }

    /// The same with a block that does not name the path of the device.
    pub fn start_without_path(self, commands: &[Command<'_>]) -> u8 {
        self.put(commands);
        store(self.page() + ORB + 4, 0x0880_7F00_u32);
        let _ = self.take_status();
        self.ssch(self.page() + ORB)
    }

    /// Performs a program; returns device and subchannel status.
    pub fn program(self, commands: &[Command<'_>]) -> u16 {
        for _ in 0..100 {
            // A device may announce something at any time.
            match self.start(commands) {
                0 => break,
                1 => continue,
                code => return u16::from(code),
            }
        }
        let end = stckf() + 1_000_000 * MICROSECOND;
        while stckf() < end {
            if let Some(status) = self.take_status() {
                return status;
            }
        }
        0
    }

    /// DIAGNOSE 500: notifies the device. Returns its answer.
    pub fn notify(self, queue: u64) -> u64 {
        let answer: u64;
        // SAFETY: the device accesses what its rings say.
        unsafe {
            asm!(
                ".insn rs,0x83000000,%r0,%r0,0x500(%r0)",
                in("r1") 3_u64,
                inout("r2") self.word() => answer,
                in("r3") queue,
                in("r4") 0_u64,
            );
        }
        answer
    }
}

/// TEST PENDING INTERRUPTION: the subsystem-identification word, if there was an interruption.
pub fn tpi() -> Option<u64> {
    let at = PAGES - 16;
    let cc: u64;
    // SAFETY: stores eight bytes at a place of this module.
    unsafe { asm!("tpi 0({a})", "ipm {c}", a = in(reg_addr) at, c = out(reg) cc) };
    (cc >> 28 & 3 == 1).then(|| load(at))
}
