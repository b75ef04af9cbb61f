//! What a program refers to, and the model of the caches that sees it.

use crate::arch::address::Virtual;
use crate::cache::Caches;
use crate::guest::state::access::{Access, Space};

/// The model of a CPU's caches, which lives as long as the machine.
pub type CpuCaches = &'static mut Caches<'static>;

/// Bytes that an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The logical address; what is beyond the addressing mode is ignored.
    pub at: Virtual,
    /// How many bytes. Of an interruptible instruction these are the ones that it has processed.
    pub length: u64,
    /// What is done with them: text of the instruction or of the target of an EXECUTE, or an operand.
    pub access: Access,
    /// The address space that the instruction names; that of the PSW if it names none.
    pub space: Option<Space>,
}

impl Reference {
    /// A reference in the address space of the PSW.
    #[must_use]
    pub const fn new(at: Virtual, length: u64, access: Access) -> Self {
        Self {
            at,
            length,
            access,
            space: None,
        }
    }
}
