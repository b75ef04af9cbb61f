//! The channel program of a subchannel: where its copy is, and which words it was copied from.

use crate::state::device::Change;
use arch::address::Real;
use arch::channel::Orb;
use heapless::Vec;

/// Bytes of a part of the copy.
pub(crate) const PART_LENGTH: u64 = 4096;

/// The most channel-command words in a part, including an invalid one at the end of each run of them.
pub(crate) const WORDS: u16 = 128;

/// The most runs of adjacent words.
pub(crate) const RUNS: usize = 16;

/// The most commands in a program that change the device.
pub(crate) const CHANGES: usize = 16;

/// Adjacent words of a channel program.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The guest's address of the first one.
    pub(crate) guest: u32,
    /// The number of the first one in the copy: those of the second part follow those of the first.
    pub(crate) first: u16,
    /// How many there are.
    pub(crate) count: u16,
}

impl Run {
    /// The number in the copy of the word at an address of the guest.
    pub fn find(&self, guest: u32) -> Option<u16> {
        let distance = guest.checked_sub(self.guest)?;
        let number = distance / 8;
        (distance.is_multiple_of(8) && number < u32::from(self.count))
            .then(|| self.first + number as u16)
    }
}

/// The channel program of a subchannel: where its copy is, and which words it was copied from.
///
/// The copy has two parts. What follows a suspension goes into the other part when the program is resumed, because the
/// words before it, their lists and their data may be reached again.
#[derive(Debug)]
pub struct ChannelProgram {
    pub(crate) copy: Real,
    pub(crate) orb: Orb,
    pub(crate) runs: Vec<Run, RUNS>,
    /// The part that is filled: 0 or 1.
    pub(crate) part: u16,
    /// Words in use in this part.
    pub(crate) used: u16,
    /// Doublewords in use for lists of addresses.
    pub(crate) lists: u64,
    /// Doublewords in use for data.
    pub(crate) data: u64,
    /// The word before which the program is suspended: the guest's address and the number in the
    /// copy.
    pub(crate) suspended: Option<(u32, u16)>,
    /// What the program changes in the device, and by which words; only what has not been executed yet.
    pub(crate) changes: Vec<(u16, Change), CHANGES>,
    /// The word at which the channel began, or has resumed the program.
    pub(crate) from: u16,
}

impl ChannelProgram {
    pub(crate) const fn new(copy: Real) -> Self {
        Self {
            copy,
            orb: Orb {
                parameter: 0,
                controls: 0,
                program: 0,
            },
            runs: Vec::new(),
            part: 0,
            used: 0,
            lists: 0,
            data: 0,
            suspended: None,
            changes: Vec::new(),
            from: 0,
        }
    }

    /// Where the part that is filled begins.
    pub(crate) const fn begin(&self) -> Real {
        self.copy.offset(self.part as u64 * PART_LENGTH)
    }

    /// Where the word with this number is.
    pub(crate) const fn word(&self, number: u16) -> Real {
        let part = (number / WORDS) as u64;
        self.copy
            .offset(part * PART_LENGTH + (number % WORDS) as u64 * 8)
    }

    /// The number of the word at an address in the HSA, or of the end of one.
    pub(crate) fn number(&self, address: u32) -> Option<u16> {
        let inside = u64::from(address).checked_sub(self.copy.0)?;
        let (part, inside) = (inside / PART_LENGTH, inside % PART_LENGTH);
        if part > 1 || inside > u64::from(WORDS) * 8 {
            return None;
        }
        Some(part as u16 * WORDS + (inside / 8) as u16)
    }
}
