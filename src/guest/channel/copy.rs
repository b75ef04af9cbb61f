//! The checked copy of a channel program.
//!
//! The copy keeps the order of the channel-command words: adjacent words stay adjacent, and a transfer in channel
//! leads to the copy of its target. All words of the copy have format 1, because the HSA is not below 16 MiB.
//! Lists of indirect-data addresses are copied too, and so are the few data that are addresses themselves
//! ([`super::virtio`]).
//!
//! A command that the guest's own channel would refuse becomes a command that every channel refuses. So the
//! machine below ends the program with a program check where the guest's own machine would: at that command,
//! after executing all before it. Storage is checked for the whole count of a command, although a device may
//! transfer less.
//!
//! The copy ends at a command before which the program is suspended; the rest is copied when it is resumed. What was
//! copied before stays as it is until the program is suspended again: it may be reached once more.
//!
//! Addresses and data lie apart, so data are never taken for addresses. Of data that are addresses only what was
//! checked is copied.
//!
//! A program that would execute its commands in a circle without end is refused at the transfer that closes the circle:
//! the machine below might never come back from it. The devices here skip no transfer.

use super::virtio::{self, LONGEST};
use crate::hardware::Hardware;
use crate::state::channel_program::{ChannelProgram, PART_LENGTH, Run, WORDS};
use crate::state::configuration::Configuration;
use crate::storage::{self, Piece, scanner};
use arch::address::{Absolute, PAGE, Real};
use arch::channel::{
    CHAIN_COMMAND, CHAIN_DATA, Ccw, INDIRECT, MODIFIED_INDIRECT, ORB_FORMAT, ORB_LONG_INDIRECT,
    ORB_SHORT_BLOCKS, ORB_SUSPEND, Orb, SUSPEND, TRANSFER_IN_CHANNEL,
};
use heapless::Vec;

/// Bytes of the words of a part. Lists of addresses follow them.
const WORDS_LENGTH: u64 = WORDS as u64 * 8;
/// Doublewords for data at the end of a part.
const DATA_ROOM: u64 = 64;
/// Doublewords for lists of addresses.
const LIST_ROOM: u64 = (PART_LENGTH - WORDS_LENGTH) / 8 - DATA_ROOM;
/// The most transfers in channel.
const TRANSFERS: usize = 32;
/// The most pieces of one command's storage area: 64 KiB in blocks of 2 KiB, the first one cut.
const PIECES: usize = 33;

impl ChannelProgram {
    /// Copies the program that a block designates; returns the block that designates the copy.
    pub fn copy<H: Hardware>(
        &mut self,
        configuration: &Configuration,
        hardware: &mut H,
        orb: Orb,
    ) -> Orb {
        *self = Self {
            orb,
            ..Self::new(self.copy)
        };
        let mut copying = Copying::of(self, configuration, hardware);
        copying.run(orb.program, false);
        copying.follow();
        self.designation()
    }

    /// Replaces the copy by one word of the firmware's own; returns the block that designates it.
    pub(super) fn only<H: Hardware>(&mut self, hardware: &mut H, ccw: Ccw, orb: Orb) -> Orb {
        *self = Self {
            orb,
            ..Self::new(self.copy)
        };
        hardware.hsa_store(self.copy, ccw.format_1());
        hardware.hsa_store(self.copy.offset(8), Ccw::INVALID.format_1());
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
    pub fn resume<H: Hardware>(&mut self, configuration: &Configuration, hardware: &mut H) {
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
        let mut copying = Copying::of(self, configuration, hardware);
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
    /// Transfers in channel: the number of each, and the guest's address of its target.
    transfers: Vec<(u16, u32), TRANSFERS>,
}

impl<'a, H: Hardware> Copying<'a, H> {
    fn of(
        program: &'a mut ChannelProgram,
        configuration: &'a Configuration,
        hardware: &'a mut H,
    ) -> Self {
        Self {
            program,
            configuration,
            hardware,
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
        let word = Ccw {
            command: TRANSFER_IN_CHANNEL,
            address: self.program.word(place).0 as u32,
            ..Ccw::INVALID
        };
        let word = if self.leads_to(place, number) {
            Ccw::INVALID
        } else {
            word
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
            self.program.runs[at].count += 1;
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

    /// The word for the channel, or nothing if it is a program check.
    fn checked(&mut self, ccw: Ccw, number: u16, chains_data: bool) -> Option<Ccw> {
        let new = self.has(ORB_FORMAT);
        if ccw.transfers() {
            if new && (ccw.command != TRANSFER_IN_CHANNEL || ccw.flags != 0 || ccw.count != 0) {
                return None;
            }
            self.transfers.push((number, ccw.address)).ok()?;
            // Until its target is copied.
            return Some(Ccw::INVALID);
        }
        let no_command = ccw.command & 0x0F == 0 && !chains_data;
        let no_count = ccw.count == 0 && (!new || chains_data);
        if no_command || no_count || ccw.flags & MODIFIED_INDIRECT != 0 {
            return None;
        }
        if ccw.count == 0 {
            // Nothing is transferred, so only the existence of the address matters.
            let is_there = self.holds(ccw.address.into(), 1);
            let address = if is_there { ccw.address } else { 0 };
            let flags = ccw.flags & !INDIRECT;
            return Some(Ccw {
                flags,
                address,
                ..ccw
            });
        }
        let pieces = self.pieces(ccw)?;
        self.is_stored_into(&pieces);
        if virtio::has_addresses(ccw.command) {
            self.with_addresses(ccw, &pieces)
        } else if ccw.flags & INDIRECT != 0 {
            let address = self.list(&pieces)?;
            Some(Ccw { address, ..ccw })
        } else {
            Some(ccw)
        }
    }

    /// The pieces of storage that a command designates, if all of it is in the guest's storage.
    fn pieces(&self, ccw: Ccw) -> Option<Vec<Piece, PIECES>> {
        let mut pieces = Vec::new();
        let mut rest = u64::from(ccw.count);
        if ccw.flags & INDIRECT == 0 {
            if ccw.address >> 31 != 0 {
                return None;
            }
            pieces.push(self.piece(ccw.address.into(), rest)?).ok()?;
            return Some(pieces);
        }
        let long = self.has(ORB_LONG_INDIRECT);
        let block = if long && !self.has(ORB_SHORT_BLOCKS) {
            PAGE
        } else {
            PAGE / 2
        };
        let unit = if long { 8 } else { 4 };
        let mut at = u64::from(ccw.address);
        if !at.is_multiple_of(unit) {
            return None;
        }
        while rest != 0 {
            let word = self.piece(at, unit)?.start();
            let address = if long {
                self.hardware.load_u64(word)
            } else {
                u64::from(self.hardware.load_u32(word))
            };
            let length = rest.min(block - address % block);
            let unaligned = !pieces.is_empty() && !address.is_multiple_of(block);
            let wide = !long && address >> 31 != 0;
            if unaligned || wide {
                return None;
            }
            pieces.push(self.piece(address, length)?).ok()?;
            rest -= length;
            at += unit;
        }
        Some(pieces)
    }

    /// A device may store without the scanner's knowledge, so the pages are data from now on.
    fn is_stored_into(&mut self, pieces: &[Piece]) {
        for first in pieces.iter().flat_map(|piece| piece.frames()) {
            scanner::store_into(self.configuration, self.hardware, first.absolute());
        }
    }

    /// Copies a list of indirect-data-address words; returns where the copy is.
    fn list(&mut self, pieces: &[Piece]) -> Option<u32> {
        let address = |piece: &Piece| piece.start().absolute().0;
        let mut words = Vec::<u64, PIECES>::new();
        if self.has(ORB_LONG_INDIRECT) {
            words.extend(pieces.iter().map(address));
        } else {
            words.extend(pieces.chunks(2).map(|pair| {
                let second = pair.get(1).map_or(0, address);
                address(&pair[0]) << 32 | second
            }));
        }
        let at = self.program.begin().offset(WORDS_LENGTH);
        keep(
            self.hardware,
            at,
            &mut self.program.lists,
            LIST_ROOM,
            &words,
        )
    }

    /// A command whose data are addresses: checks it, and copies it with the data, which must be in one piece.
    fn with_addresses(&mut self, ccw: Ccw, pieces: &[Piece]) -> Option<Ccw> {
        let count = usize::from(ccw.count);
        if ccw.flags & CHAIN_DATA != 0 || count > LONGEST {
            return None;
        }
        let mut data = [0; LONGEST];
        let mut rest = data.split_at_mut(count).0;
        for piece in pieces {
            let (here, behind) = rest.split_at_mut(piece.length() as usize);
            self.hardware.load(piece.start(), here);
            rest = behind;
        }
        let holds = |at, length| self.holds(at, length);
        if !virtio::check(ccw.command, data.split_at_mut(count).0, holds) {
            return None;
        }
        let words: Vec<u64, { LONGEST / 8 }> = data
            .as_chunks::<8>()
            .0
            .iter()
            .take(count.div_ceil(8))
            .map(|word| u64::from_be_bytes(*word))
            .collect();
        let at = self.program.begin().offset(PART_LENGTH - 8 * DATA_ROOM);
        let address = keep(self.hardware, at, &mut self.program.data, DATA_ROOM, &words)?;
        let flags = ccw.flags & !INDIRECT;
        Some(Ccw {
            flags,
            address,
            ..ccw
        })
    }
}

/// Puts doublewords behind those in use from `at` on, if there is room; returns where.
fn keep<H: Hardware>(
    hardware: &mut H,
    at: Real,
    used: &mut u64,
    room: u64,
    words: &[u64],
) -> Option<u32> {
    let first = *used;
    let count = words.len() as u64;
    if first + count > room {
        return None;
    }
    *used += count;
    let at = at.offset(8 * first);
    for (offset, &word) in (0..).step_by(8).zip(words) {
        hardware.hsa_store(at.offset(offset), word);
    }
    Some(at.0 as u32)
}

#[cfg(test)]
mod tests;
