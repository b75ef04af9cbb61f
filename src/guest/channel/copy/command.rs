//! A command of a channel program: what the channel would refuse, and the storage that it designates.

use super::Copying;
use crate::channel::virtio::question::{self, Entries};
use crate::channel::virtio::{self, LONGEST};
use crate::hardware::Hardware;
use crate::state::channel_program::{PART_LENGTH, WORDS};
use crate::state::device::Change;
use crate::storage::{Piece, scanner};
use arch::address::{Absolute, PAGE, Real};
use arch::channel::{
    CHAIN_DATA, Ccw, INDIRECT, MODIFIED_INDIRECT, ORB_FORMAT, ORB_LONG_INDIRECT, ORB_SHORT_BLOCKS,
    TRANSFER_IN_CHANNEL,
};
use heapless::Vec;

/// Bytes of the words of a part. Lists of addresses follow them.
const WORDS_LENGTH: u64 = WORDS as u64 * 8;
/// Doublewords for data at the end of a part.
const DATA_ROOM: u64 = 64;
/// Doublewords for lists of addresses.
const LIST_ROOM: u64 = (PART_LENGTH - WORDS_LENGTH) / 8 - DATA_ROOM;
/// Bit of a command code: the program's storage is only read.
const WRITES: u8 = 1;
/// The most pieces of one command's storage area: 64 KiB in blocks of 2 KiB, the first one cut.
const PIECES: usize = 33;

impl<H: Hardware> Copying<'_, H> {
    /// The word for the channel, or nothing if it is a program check.
    pub(super) fn checked(&mut self, ccw: Ccw, number: u16, chains_data: bool) -> Option<Ccw> {
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
        let is_known = virtio::is_known(ccw.command);
        if is_known && chains_data {
            // Some channels execute the command of such a word.
            return None;
        }
        if ccw.command == virtio::RESET {
            self.program.changes.push((number, Change::Reset)).ok()?;
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
        if is_known {
            return self.with_known_data(ccw, number, &pieces);
        }
        if chains_data || ccw.command & WRITES == 0 {
            self.is_stored_into(&pieces);
        }
        if ccw.flags & INDIRECT != 0 {
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

    /// A device may store without the scanner's knowledge, and nobody knows when.
    fn is_stored_into(&mut self, pieces: &[Piece]) {
        for &piece in pieces {
            scanner::device_stores_for_ever(self.configuration, self.hardware, piece);
        }
    }

    /// Copies a list of indirect-data-address words; returns where the copy is.
    fn list(&mut self, pieces: &[Piece]) -> Option<u32> {
        let address = |piece: &Piece| piece.start().absolute().0;
        let mut words = Vec::<u64, PIECES>::new();
        if self.has(ORB_LONG_INDIRECT) {
            for piece in pieces {
                words.push(address(piece)).ok()?;
            }
        } else {
            for pair in pieces.chunks(2) {
                let [first, second] = [0, 1].map(|n| pair.get(n).map_or(0, address));
                words.push(first << 32 | second).ok()?;
            }
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

    /// A command that sets up a device: the data, which must be in one piece, become the machine's own.
    fn with_known_data(&mut self, ccw: Ccw, number: u16, pieces: &[Piece]) -> Option<Ccw> {
        let count = usize::from(ccw.count);
        if ccw.flags & CHAIN_DATA != 0 || count > LONGEST {
            return None;
        }
        let mut data = [0; LONGEST];
        let mut rest = data.split_at_mut(count).0;
        for piece in pieces {
            let (here, behind) = rest.split_at_mut_checked(piece.length() as usize)?;
            self.hardware.load(piece.start(), here);
            rest = behind;
        }
        if ccw.command != virtio::RESET {
            let configuration = self.configuration;
            let holds = |at, length| configuration.holds(Absolute(at), length);
            let asked = self.device.zip(self.idle);
            let hardware = &mut *self.hardware;
            let entries = |number| match asked {
                Some((device, idle)) => question::entries(hardware, idle, device.room, number),
                None => Entries::Unknown,
            };
            let data = data.split_at_mut(count).0;
            let changes = &self.program.changes;
            let change = virtio::pass_on(self.device, changes, ccw.command, data, holds, entries)?;
            if let Some(change) = change {
                self.program.changes.push((number, change)).ok()?;
                virtio::prepare(self.hardware, self.device, change);
            }
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
