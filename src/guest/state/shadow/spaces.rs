//! The address spaces in a CPU's DAT-on shadow.

/// Places that a space may be in.
pub(crate) const WAYS: usize = 4;

/// The most address spaces that a CPU's shadow holds at once.
pub(crate) const SPACES: usize = 16 * WAYS;

/// One guest address space in a CPU's shadow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ShadowSpace {
    /// The guest's address-space-control element.
    pub(crate) guest: u64,
    /// The shadow's address-space-control elements, by [`Side`]; zero for a table that does not
    /// exist yet.
    pub(crate) shadow: [u64; 3],
    /// Whether this place is in use.
    pub(crate) is_there: bool,
    /// Whether its program executes pages that have code copies.
    pub(crate) is_split: bool,
    /// When it was last used, by [`ShadowSpaces::uses`].
    pub(crate) used: u64,
    /// The first one of its units.
    pub(crate) units: u64,
    /// The unit that still has page tables to take; zero if none has.
    pub(crate) open: u64,
}

/// The spaces of a CPU, and the free units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShadowSpaces {
    pub(crate) spaces: [ShadowSpace; SPACES],
    /// How often any space was used.
    pub(crate) uses: u64,
    /// The first free unit; zero if there is none.
    pub(crate) free: u64,
    /// How many units were ever taken since the shadow was last emptied.
    pub(crate) fresh: u64,
    /// How many spaces were dropped so far.
    pub(crate) drops: u64,
}

impl Default for ShadowSpaces {
    fn default() -> Self {
        Self {
            spaces: [ShadowSpace::default(); SPACES],
            uses: 0,
            free: 0,
            fresh: 0,
            drops: 0,
        }
    }
}
