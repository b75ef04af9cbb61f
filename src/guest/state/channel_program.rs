//! The channel program of a subchannel: where its copy is, and which words it was copied from.

use arch::address::Real;
use arch::channel::Orb;
use heapless::Vec;

/// The most runs of adjacent words.
pub(crate) const RUNS: usize = 16;

/// Adjacent words of a channel program.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The guest's address of the first one.
    pub(crate) guest: u32,
    /// The number of the first one in the copy.
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
#[derive(Debug)]
pub struct ChannelProgram {
    pub(crate) copy: Real,
    pub(crate) orb: Orb,
    pub(crate) runs: Vec<Run, RUNS>,
    /// Words of the copy in use.
    pub(crate) used: u16,
    /// Doublewords in use after those words.
    pub(crate) filled: u64,
    /// The word before which the program is suspended: the guest's address and the number in the
    /// copy.
    pub(crate) suspended: Option<(u32, u16)>,
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
            used: 0,
            filled: 0,
            suspended: None,
        }
    }
}
