//! The sample-data-block update process.
//!
//! The process shares the first 16 bytes of the trailer with the program: while sampling is active,
//! the program resets the block-full indicator and the overflow count and sets the alert request, by
//! COMPARE DOUBLE AND SWAP. So the process changes them in the same way. It stores the timestamp
//! first, so a program that finds the block full also finds the time.
//!
//! # Where SA23-2260 leaves the choice
//!
//! * **A data entry at byte 0 of the trailer.** The process first refuses a data-entry address inside
//!   the last 64 bytes of the block. But 126 entries of 32 bytes fill a 4 KiB block exactly and leave
//!   the register designating byte 0 of the trailer. So that address means "no space" and leads to
//!   step 3; only an address beyond it is inside the trailer and invalid.
//! * **Bits 61-63 of the table-entry address:** the process ignores them when it locates an entry,
//!   because entries are doublewords. The register keeps the value that was loaded.
//! * **Entry sizes and timestamp format:** the process stores them in the trailer when the block
//!   becomes full, together with the block-full indicator. T is always one.
//! * **When addresses are tested:** the range of the data-entry address at the beginning, and the
//!   availability of each location when the process accesses it.
//!
//! # Bounds
//!
//! A new block begins empty and an entry always fits in an empty block, so the inner loop runs at most
//! twice: the second time ends in step 1 or 2. The only other repetition is that of the compare and
//! swap, which fails only when the program changed the trailer meanwhile. After [`ATTEMPTS`] failures
//! in a row the machine loses the sample and recognizes the loss-of-sample-data alert.

use super::super::alert::{Alert, PendingAlerts};
use super::super::model::BSDES;
use super::block::{ALERT_REQUEST, FULL, TIMESTAMP_EXTENDED, TIMESTAMP_OFFSET, TableEntry};
use super::controls::SamplingControls;
use arch::address::Absolute;
use arch::tod::TodExtended;

/// The storage that holds tables and blocks, and the clock of the program that reads them.
///
/// Accesses are not subject to key-controlled or low-address protection.
pub trait SampleStorage {
    /// A location that [`Self::available`] has tested. There is no other way to access one.
    type Place: Copy;

    /// The `length` bytes at `at`, if they are available in the configuration.
    fn available(&self, at: Absolute, length: u64) -> Option<Self::Place>;

    /// The doubleword `offset` bytes on in `place`, on a doubleword boundary, fetched at once as observed by other
    /// CPUs.
    fn load_u64(&self, place: Self::Place, offset: u64) -> u64;

    /// Stores `bytes` from `offset` on in `place`, which may be on any boundary.
    fn store(&mut self, place: Self::Place, offset: u64, bytes: &[u8]);

    /// COMPARE DOUBLE AND SWAP (CDSG): the first 16 bytes of `place`, on a quadword boundary, become `new` if
    /// they are `expected`.
    ///
    /// # Errors
    /// The present contents, if they are not `expected`.
    fn compare_and_swap(
        &mut self,
        place: Self::Place,
        expected: u128,
        new: u128,
    ) -> Result<(), u128>;

    /// The TOD clock, as STORE CLOCK EXTENDED shows it to the program that reads the blocks.
    fn time_of_day(&self) -> TodExtended;
}

/// How a sample ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// No sampling function is active; nothing was done.
    NotActive,
    /// The entry was stored in the current block.
    Stored,
    /// The current block became full; the entry was stored in the next one.
    StoredInNextBlock,
    /// The block was full; the entry was discarded and counted in its trailer.
    Discarded,
    /// An alert was recognized and sampling is inactive; the entry was discarded.
    Stopped,
}

/// How often a compare and swap is tried on one trailer.
pub const ATTEMPTS: usize = 64;

/// Addresses below this one are invalid as entry addresses.
const LOWEST: u64 = 8192;

/// The size of the trailer.
const TRAILER: u64 = 64;

/// The block-full indicator in the first doubleword of the trailer.
const FULL_HIGH: u64 = (FULL >> 64) as u64;

/// Bytes 4-7 of the trailer: the entry sizes.
const SIZES: u128 = 0xFFFF_FFFF << 64;

/// Performs the process for one data entry (`entry`, at most 4032 bytes).
///
/// `dsdes` gives the size of the diagnostic-sampling data entry, for the trailer. The process calls it
/// only when a block becomes full.
#[inline(always)]
pub(crate) fn update<S: SampleStorage>(
    controls: &mut SamplingControls,
    alerts: &mut PendingAlerts,
    storage: &mut S,
    entry: &[u8],
    dsdes: impl FnOnce() -> u16,
) -> Sampled {
    let dear = controls.dear;
    let trailer = trailer_of(controls);
    let length = entry.len() as u64;
    // The fast path: the block is not full and has space. The cold function does everything else.
    if dear >= LOWEST
        && (dear & controls.block_mask) + length <= controls.block_mask - (TRAILER - 1)
        && let Some(trailer) = storage.available(trailer, TRAILER)
        && storage.load_u64(trailer, 0) & FULL_HIGH == 0
        && let Some(place) = storage.available(Absolute(dear), length)
    {
        storage.store(place, 0, entry);
        controls.dear = dear.wrapping_add(length);
        return Sampled::Stored;
    }
    whole_process(controls, alerts, storage, entry, dsdes())
}

/// The process from its beginning, with every branch.
#[cold]
#[inline(never)]
fn whole_process<S: SampleStorage>(
    controls: &mut SamplingControls,
    alerts: &mut PendingAlerts,
    storage: &mut S,
    entry: &[u8],
    dsdes: u16,
) -> Sampled {
    let sizes = u128::from(BSDES) << 80 | u128::from(dsdes) << 64;
    let mut requested = false;
    let outcome = steps(controls, storage, entry, sizes, &mut requested);
    if requested {
        alerts.recognize(Alert::ProgramRequest);
    }
    match outcome {
        Ok(sampled) => sampled,
        Err(alert) => {
            controls.deactivate();
            alerts.recognize(alert);
            Sampled::Stopped
        }
    }
}

/// The trailer of the current block.
#[inline]
const fn trailer_of(controls: &SamplingControls) -> Absolute {
    Absolute((controls.dear | controls.block_mask) - (TRAILER - 1))
}

/// How the inner loop finds the current block.
enum Block {
    /// Step 1: it was full, and the overflow count has been incremented.
    Full,
    /// Step 2: there is space.
    Space,
    /// Step 3: there was not enough space; it has been made full. Whether its trailer requested an
    /// alert.
    BecameFull(bool),
}

/// The numbered steps. Sets `requested` when the process is to end with a program-request alert.
fn steps<S: SampleStorage>(
    controls: &mut SamplingControls,
    storage: &mut S,
    entry: &[u8],
    sizes: u128,
    requested: &mut bool,
) -> Result<Sampled, Alert> {
    if controls.dear < LOWEST || controls.dear > trailer_of(controls).0 {
        return Err(Alert::InvalidEntryAddress);
    }
    let length = entry.len() as u64;
    for stored in [Sampled::Stored, Sampled::StoredInNextBlock] {
        let trailer = trailer_of(controls);
        let Some(place) = storage.available(trailer, TRAILER) else {
            return Err(Alert::InvalidEntryAddress);
        };
        let space = trailer.0 - controls.dear >= length;
        match examine(storage, place, space, sizes)? {
            Block::Full => return Ok(Sampled::Discarded),
            Block::Space => {
                let Some(place) = storage.available(Absolute(controls.dear), length) else {
                    return Err(Alert::InvalidEntryAddress);
                };
                storage.store(place, 0, entry);
                controls.dear = controls.dear.wrapping_add(length);
                return Ok(stored);
            }
            Block::BecameFull(alert) => {
                *requested |= alert;
                next_block(controls, storage)?;
            }
        }
    }
    // Only an entry that fits in no block comes here: the machine has lost it.
    Err(Alert::LossOfSampleData)
}

/// Examines the block-full indicator, and changes the trailer as step 1 or 3 requires.
fn examine<S: SampleStorage>(
    storage: &mut S,
    trailer: S::Place,
    space: bool,
    sizes: u128,
) -> Result<Block, Alert> {
    let high = storage.load_u64(trailer, 0);
    let low = storage.load_u64(trailer, 8);
    let mut head = u128::from(high) << 64 | u128::from(low);
    let mut timed = false;
    for _ in 0..ATTEMPTS {
        let full = head & FULL != 0;
        if !full && space {
            return Ok(Block::Space);
        }
        let new = if full {
            let count = (head as u64).wrapping_add(1);
            head & !u128::from(u64::MAX) | u128::from(count)
        } else {
            if !timed {
                let time = storage.time_of_day();
                storage.store(trailer, TIMESTAMP_OFFSET, &time.0);
                timed = true;
            }
            head & !SIZES | sizes | FULL | TIMESTAMP_EXTENDED
        };
        match storage.compare_and_swap(trailer, head, new) {
            Ok(()) if full => return Ok(Block::Full),
            Ok(()) => return Ok(Block::BecameFull(head & ALERT_REQUEST != 0)),
            Err(observed) => head = observed,
        }
    }
    Err(Alert::LossOfSampleData)
}

/// The rest of step 3: moves to the next entry of the table and the block that it designates.
fn next_block<S: SampleStorage>(controls: &mut SamplingControls, storage: &S) -> Result<(), Alert> {
    controls.tear = controls.tear.wrapping_add(8);
    let mut entry = table_entry(controls, storage)?;
    if entry.is_table_link() {
        controls.tear = entry.table_origin();
        entry = table_entry(controls, storage)?;
        if entry.is_table_link() {
            return Err(Alert::IncorrectTableEntry);
        }
    } else if (controls.tear & !7).wrapping_add(8) & controls.block_mask == 0 {
        // The last entry of a table must be a table link.
        return Err(Alert::IncorrectTableEntry);
    }
    controls.dear = entry.block_origin(controls.block_mask);
    // The block origin is the address of the block's first data entry, so the same limit holds.
    if controls.dear < LOWEST {
        return Err(Alert::InvalidEntryAddress);
    }
    Ok(())
}

/// The current table entry, if its address is valid.
fn table_entry<S: SampleStorage>(
    controls: &SamplingControls,
    storage: &S,
) -> Result<TableEntry, Alert> {
    let at = Absolute(controls.tear & !7);
    if at.0 < LOWEST {
        return Err(Alert::InvalidEntryAddress);
    }
    match storage.available(at, 8) {
        Some(place) => Ok(TableEntry(storage.load_u64(place, 0))),
        None => Err(Alert::InvalidEntryAddress),
    }
}
