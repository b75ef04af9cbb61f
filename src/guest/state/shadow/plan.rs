//! The layout of the pool of a CPU's DAT-on shadow.

use arch::address::PAGE;

/// Blocks in a unit.
pub(crate) const UNIT: u64 = 4;

/// Bytes of a block's header.
pub(crate) const HEADER: u64 = 64;

/// The layout of every CPU's pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Bytes of the heads of the page frames.
    pub(crate) frames: u64,
    /// The first unit's reference.
    pub(crate) first: u64,
    /// How many units there are.
    pub(crate) units: u64,
}

impl Plan {
    /// The layout of a pool of `length` bytes for `storage` bytes of guest storage.
    pub(crate) const fn new(storage: u64, length: u64) -> Self {
        let frames = (storage / PAGE * 8).next_multiple_of(PAGE);
        let headers = (length / PAGE * HEADER).next_multiple_of(PAGE);
        let first = (frames + headers) / PAGE;
        Self {
            frames,
            first,
            units: (length / PAGE).saturating_sub(first) / UNIT,
        }
    }
}
