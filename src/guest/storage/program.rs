//! Loading the guest's program again.
//!
//! A load takes its program from a device. Here the host stages it before the machine starts, and the guest
//! overwrites the place where it was staged. So the machine keeps the staged bytes in the HSA and loads them
//! again without the host: an answer of the host would come at an arbitrary moment, over a link that may
//! lose it. A run with a load in it can therefore be repeated exactly. The price is that the guest has less
//! storage, by the length of its program.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::loaded_program::Segment;
use crate::storage::checked::Checked;
use crate::storage::{checked_absolute, scanner};
use arch::address::PAGE;
use core::sync::atomic::Ordering;

/// Loads the program of the configuration into its place.
pub fn load<H: Hardware>(configuration: &Configuration, hardware: &mut H) {
    let program = &configuration.loaded_program;
    for segment in &program.segments {
        let mut done = 0;
        while done < segment.length {
            let at = segment.destination.offset(done);
            let count = (segment.length - done).min(PAGE - at.byte_index());
            load_piece(configuration, hardware, segment, done, count);
            done += count;
        }
    }
    program.loads.fetch_add(1, Ordering::Relaxed);
}

/// Loads the `count` bytes of a segment from the byte `done` on, which are in one page.
fn load_piece<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    segment: &Segment,
    done: u64,
    count: u64,
) {
    let kept = segment.kept_length.saturating_sub(done).min(count);
    let from = segment.kept.offset(done);
    // What was loaded once fits again.
    let Ok(at) = checked_absolute(configuration, segment.destination.offset(done), count) else {
        return;
    };
    let page = at.absolute().page();
    if !configuration.loaded_program.may_replace_text(page) {
        hardware.hsa_move_out(from, kept, at, count);
        return;
    }
    let mut bytes = [0; PAGE as usize];
    let piece = bytes.split_at_mut(count.min(PAGE) as usize).0;
    hardware.hsa_fetch(
        from,
        piece.split_at_mut(kept.min(count).min(PAGE) as usize).0,
    );
    put(configuration, hardware, at, piece);
}

/// Stores bytes within a page from which the guest may have executed instructions, at most a doubleword at a
/// time. QEMU 7.2 continues to execute its translation of instructions that one long store replaces, and
/// every store near them is slow.
fn put<H: Hardware>(configuration: &Configuration, hardware: &mut H, at: Checked, bytes: &[u8]) {
    scanner::store_into(configuration, hardware, at.absolute());
    let before = (at.absolute().0.wrapping_neg() & 7).min(bytes.len() as u64) as usize;
    let (first, rest) = bytes.split_at(before);
    let (doublewords, last) = rest.as_chunks::<8>();
    for (to, &byte) in (0..).zip(first) {
        hardware.store_u8(at.offset(to), byte);
    }
    let at = at.offset(before as u64);
    let values = doublewords.iter().map(|&bytes| u64::from_be_bytes(bytes));
    hardware.store_doublewords(at, values);
    let at = at.offset(8 * doublewords.len() as u64);
    for (to, &byte) in (0..).zip(last) {
        hardware.store_u8(at.offset(to), byte);
    }
}

/// Storage is cleared in parts of so many bytes, each in much less time than the host bears silence.
const PART: u64 = 16 << 20;

/// Clears storage and the storage keys, as a clear reset does.
pub fn clear_storage<H: Hardware>(configuration: &Configuration, hardware: &mut H) {
    let has_keys = configuration.keys_were_set.load(Ordering::Relaxed);
    for page in configuration.storage.pages() {
        if page.0.is_multiple_of(PART) {
            hardware.still_works();
        }
        let Ok(at) = checked_absolute(configuration, page, PAGE) else {
            break;
        };
        scanner::store_into(configuration, hardware, at.absolute());
        // Stored in the same way as a program, for the same reason.
        hardware.store_doublewords(at, core::iter::repeat_n(0, PAGE as usize / 8));
        if has_keys {
            hardware.set_storage_key(at, 0);
        }
    }
    configuration.keys_were_set.store(false, Ordering::Relaxed);
}

#[cfg(test)]
mod tests;
