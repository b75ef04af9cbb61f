//! The call stacks of a CPU's samples, until they are sent.

extern crate alloc;

use alloc::boxed::Box;

use crate::link::copies::Copies;
use crate::link::stack::Collected;

/// The call stacks of one CPU's samples.
#[derive(Debug)]
pub struct Stacks {
    /// Whether frames of the supervisor state have the packed layout.
    pub is_packed: bool,
    /// How many samples had been stored when the last stack was followed.
    pub samples: u64,
    /// The stacks that wait to be sent.
    pub collected: Collected,
    /// The copies of the stacks of programs that wait to be sent, in a run that takes them.
    pub copies: Option<Box<Copies>>,
}

impl Stacks {
    /// No stacks yet; at most `depth` return addresses each, and copies of so many bytes, or none.
    #[must_use]
    pub fn new(cpu: u16, depth: u32, copy: u32, is_packed: bool) -> Self {
        Self {
            is_packed,
            samples: 0,
            collected: Collected::new(cpu, depth),
            copies: (copy != 0).then(|| Box::new(Copies::new(cpu, copy))),
        }
    }
}
