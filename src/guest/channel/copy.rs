//! The checked copy of a channel program.
//!
//! The copy keeps the order of the channel-command words: adjacent words stay adjacent, and a transfer in channel
//! leads to the copy of its target. All words of the copy have format 1, because the HSA is not below 16 MiB.
//! Lists of indirect-data addresses are copied too, and so are the data of the few commands that set up a virtio device,
//! with the machine's own addresses instead of the guest's (`virtio`).
//!
//! A command that the guest's own channel would refuse becomes a command that every channel refuses. So the
//! machine below ends the program with a program check where the guest's own machine would: at that command,
//! after executing all before it. Storage is checked for the whole count of a command, although a device may
//! transfer less.
//!
//! The copy ends at a command before which the program is suspended; the rest is copied when it is resumed. What was
//! copied before stays as it is until the program is suspended again: it may be reached once more.
//!
//! Addresses and data lie apart, so data are never taken for addresses.
//!
//! A program that would execute its commands in a circle without end is refused at the transfer that closes the circle:
//! the machine below might never come back from it. The devices here skip no transfer.

mod command;

use crate::channel::virtio::question::Idle;
use crate::hardware::Hardware;
use crate::state::channel_program::{ChannelProgram, Run, WORDS};
use crate::state::configuration::Configuration;
use crate::state::device::Device;
use crate::storage::{self, Piece};
use arch::address::Absolute;
use arch::channel::{
    CHAIN_COMMAND, CHAIN_DATA, Ccw, ORB_FORMAT, ORB_SUSPEND, Orb, SUSPEND, TRANSFER_IN_CHANNEL,
};
use heapless::Vec;

/// The most transfers in channel.
const TRANSFERS: usize = 32;

impl ChannelProgram {
    /// Copies the program that a block designates; returns the block that designates the copy. The subchannel is idle, so
    /// its device can be asked.
    pub fn copy<H: Hardware>(
        &mut self,
        configuration: &Configuration,
        hardware: &mut H,
        device: Option<(&Device, Idle)>,
        orb: Orb,
    ) -> Orb {
        *self = Self {
            orb,
            ..Self::new(self.copy)
        };
        let (device, idle) = device.unzip();
        let mut copying = Copying {
            idle,
            ..Copying::of(self, configuration, hardware, device)
        };
        copying.run(orb.program, false);
        copying.follow();
        self.designation()
    }

    /// Replaces the copy by one word of the firmware's own; returns the block that designates it.
    pub(super) fn only<H: Hardware>(
        &mut self,
        hardware: &mut H,
        words: impl Iterator<Item = Ccw>,
        orb: Orb,
    ) -> Orb {
        *self = Self {
            orb,
            ..Self::new(self.copy)
        };
        let mut at = self.copy;
        for word in words.chain([Ccw::INVALID]) {
            hardware.hsa_store(at, word.format_1());
            at = at.offset(8);
        }
        self.designation()
    }

    /// The block that designates the present copy.
    pub fn designation(&self) -> Orb {
        Orb {
            controls: self.orb.controls | ORB_FORMAT,
            program: self.begin().0 as u32,
            ..self.orb
        }
    }

    /// The program is suspended and about to be resumed: copies the command at the suspension and what follows, because
    /// the program may have changed it.
    ///
    /// The channel fetches this command again from its place in the copy. Behind it is the end of its run, which becomes
    /// a transfer to the other part. Nothing leads back to the other words of this part.
    pub fn resume<H: Hardware>(
        &mut self,
        configuration: &Configuration,
        hardware: &mut H,
        device: Option<&Device>,
    ) {
        let Some((guest, number)) = self.suspended.take() else {
            return;
        };
        self.part ^= 1;
        (self.used, self.lists, self.data) = (0, 0, 0);
        self.runs.clear();
        let (first, count) = (number, 1);
        let _ = self.runs.push(Run {
            guest,
            first,
            count,
        });
        self.changes.retain(|(by, _)| *by != number);
        self.from = number;
        let mut copying = Copying::of(self, configuration, hardware, device);
        let goes_on = copying.word(guest, number, false);
        let end = number + 1;
        copying.put(end, Ccw::INVALID);
        if let Some(chains_data) = goes_on {
            let next = guest.wrapping_add(8);
            if let Some(place) = copying.run(next, chains_data) {
                copying.transfer(end, place);
            }
        }
        copying.follow();
    }

    /// Changes the first two words of a subchannel status to what the guest's own program would have left there:
    /// the format, and the address behind the last command.
    pub fn translate(&self, status: &mut [u32; 2]) {
        let [flags, address] = status;
        if self.runs.is_empty() {
            return;
        }
        *flags = *flags & !ORB_FORMAT | self.orb.controls & ORB_FORMAT;
        if let Some(number) = self.number(*address) {
            *address = self.guest_address(number);
        }
    }

    /// The guest's address of the word with this number, or of the end of the preceding word.
    fn guest_address(&self, number: u16) -> u32 {
        let before = number.wrapping_sub(1);
        let of = |number: u16| {
            let mut runs = self.runs.iter();
            runs.find_map(|run| {
                let distance = number.checked_sub(run.first)?;
                (distance < run.count).then(|| run.guest + 8 * u32::from(distance))
            })
        };
        of(before)
            .map(|address| address + 8)
            .or_else(|| of(number))
            .unwrap_or(self.orb.program)
    }
}

/// A program that is being copied.
struct Copying<'a, H> {
    program: &'a mut ChannelProgram,
    configuration: &'a Configuration,
    hardware: &'a mut H,
    device: Option<&'a Device>,
    /// The subchannel, if its device can be asked.
    idle: Option<Idle>,
    /// Transfers in channel: the number of each, and the guest's address of its target.
    transfers: Vec<(u16, u32), TRANSFERS>,
}

impl<'a, H: Hardware> Copying<'a, H> {
    fn of(
        program: &'a mut ChannelProgram,
        configuration: &'a Configuration,
        hardware: &'a mut H,
        device: Option<&'a Device>,
    ) -> Self {
        Self {
            program,
            configuration,
            hardware,
            device,
            idle: None,
            transfers: Vec::new(),
        }
    }

    fn has(&self, control: u32) -> bool {
        self.program.orb.controls & control != 0
    }

    fn holds(&self, at: u64, length: u64) -> bool {
        self.configuration.holds(Absolute(at), length)
    }

    /// The bytes at an address, if all of them lie in the guest's storage.
    fn piece(&self, at: u64, length: u64) -> Option<Piece> {
        storage::checked_piece(self.configuration, Absolute(at), length)
    }

    /// Copies the targets of all transfers, and their targets.
    fn follow(&mut self) {
        let mut next = 0;
        while let Some(&(number, target)) = self.transfers.get(next) {
            next += 1;
            let known = self.program.runs.iter().find_map(|run| run.find(target));
            match known.or_else(|| self.run(target, false)) {
                Some(place) => self.transfer(number, place),
                None => self.put(number, Ccw::INVALID),
            }
        }
    }

    /// Makes the word with a number a transfer to another one, unless this closes a circle.
    fn transfer(&mut self, number: u16, place: u16) {
        let word = if self.leads_to(place, number) {
            Ccw::INVALID
        } else {
            Ccw {
                command: TRANSFER_IN_CHANNEL,
                address: self.program.word(place).0 as u32,
                ..Ccw::INVALID
            }
        };
        self.put(number, word);
    }

    /// Whether the channel comes from one word to another without a suspension. Each word has one successor.
    fn leads_to(&self, from: u16, to: u16) -> bool {
        let mut at = from;
        // No way without a circle is longer.
        for _ in 0..2 * WORDS {
            if at == to {
                return true;
            }
            let word = self.hardware.hsa_load(self.program.word(at));
            let ccw = Ccw::from_format_1(word);
            if ccw.transfers() {
                let Some(number) = self.program.number(ccw.address) else {
                    return false;
                };
                at = number;
            } else if ccw.flags & (CHAIN_DATA | CHAIN_COMMAND) == 0 || self.suspends(ccw) {
                return false;
            } else {
                at += 1;
            }
        }
        false
    }

    /// Copies adjacent words, as far as one can be reached from the other; returns the number of the first one.
    fn run(&mut self, guest: u32, mut chains_data: bool) -> Option<u16> {
        let begin = self.program.part * WORDS;
        let first = begin + self.program.used;
        if self.program.used + 1 >= WORDS {
            return None;
        }
        let count = 0;
        self.program
            .runs
            .push(Run {
                guest,
                first,
                count,
            })
            .ok()?;
        let at = self.program.runs.len() - 1;
        let mut address = guest;
        // The last word is reserved for the end of the run.
        while self.program.used + 1 < WORDS {
            let number = begin + self.program.used;
            self.program.used += 1;
            self.program.runs.get_mut(at)?.count += 1;
            match self.word(address, number, chains_data) {
                Some(chains) => chains_data = chains,
                None => break,
            }
            address = address.wrapping_add(8);
        }
        self.put(begin + self.program.used, Ccw::INVALID);
        self.program.used += 1;
        Some(first)
    }

    /// Copies a word. If the channel goes on behind it: whether by chaining data.
    fn word(&mut self, address: u32, number: u16, chains_data: bool) -> Option<bool> {
        let ccw = self.fetch(address);
        let word = ccw.and_then(|ccw| self.checked(ccw, number, chains_data));
        self.put(number, word.unwrap_or(Ccw::INVALID));
        let (ccw, _) = ccw.zip(word)?;
        if ccw.transfers() {
            return None;
        }
        if self.suspends(ccw) {
            self.program.suspended = Some((address, number));
            return None;
        }
        let chains = ccw.flags & (CHAIN_DATA | CHAIN_COMMAND);
        (chains != 0).then_some(chains & CHAIN_DATA != 0)
    }

    fn suspends(&self, ccw: Ccw) -> bool {
        ccw.flags & SUSPEND != 0 && self.has(ORB_SUSPEND)
    }

    /// The word at a guest's address, if one can be there.
    fn fetch(&self, address: u32) -> Option<Ccw> {
        let limit = if self.has(ORB_FORMAT) {
            1 << 31
        } else {
            1 << 24
        };
        if address >= limit || !address.is_multiple_of(8) {
            return None;
        }
        let piece = self.piece(address.into(), 8)?;
        let word = self.hardware.load_u64(piece.start());
        Some(if self.has(ORB_FORMAT) {
            Ccw::from_format_1(word)
        } else {
            Ccw::from_format_0(word)
        })
    }

    fn put(&mut self, number: u16, ccw: Ccw) {
        let at = self.program.word(number);
        self.hardware.hsa_store(at, ccw.format_1());
    }
}

#[cfg(test)]
mod tests;
