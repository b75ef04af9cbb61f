//! A reference to storage, and the model of the caches.

use crate::state::access::{Access, Space};
use arch::address::Virtual;
use cache::Caches;

/// The model of a CPU's caches, which lives as long as the machine.
pub type CpuCaches = &'static mut Caches<'static>;

/// Bytes that an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The logical address; bits beyond the addressing mode are ignored.
    pub at: Virtual,
    /// How many bytes. For an interruptible instruction, the bytes that it has processed.
    pub length: u64,
    /// How they are used: as the text of the instruction or of the target of an EXECUTE, or as an
    /// operand.
    pub access: Access,
    /// The address space that the instruction names, if it names one; otherwise it is that of the
    /// PSW.
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
