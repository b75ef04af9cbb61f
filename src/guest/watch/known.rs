//! What is known of the pages that were watched last.
//!
//! Control goes to and fro between watched pages, and a CPU watches one at a time; to scan a page anew
//! whenever control comes back to it would cost more than everything else that the machine does.
//! What a scan has found is true until the contents of the page may change, whichever CPU
//! executes it.

use super::{Entries, MOST_ENTRIES};
use crate::arch::address::Absolute;
use crate::guest::scanner::{MOST_STRETCHES, Pages, Stretches};
use crate::insn::sensitive::Stretch;
use spin::Mutex;

/// Pages that are kept.
const KEPT: usize = 16;

/// One page: offsets in few bytes.
#[derive(Debug)]
struct Known {
    page: Absolute,
    entries: heapless::Vec<u16, MOST_ENTRIES>,
    stretches: heapless::Vec<[u16; 2], MOST_STRETCHES>,
}

/// The pages, the one that was entered first coming first.
#[derive(Debug, Default)]
pub struct KnownPages(Mutex<heapless::Deque<Known, KEPT>>);

impl KnownPages {
    /// What is known of a page: where instructions begin in it, and the stretches that are not entered
    /// unseen.
    pub(super) fn get(&self, page: Absolute) -> Option<(Entries, Stretches)> {
        let pages = self.0.lock();
        let known = pages.iter().find(|known| known.page == page)?;
        let entries = known.entries.iter().map(|&offset| offset.into()).collect();
        let stretches = known.stretches.iter().map(|&[start, end]| Stretch {
            start: start.into(),
            end: end.into(),
        });
        Some((entries, stretches.collect()))
    }

    /// Keeps what is known of a page that is still watched, instead of what was known of it before.
    pub(super) fn keep(
        &self,
        pages: &Pages,
        page: Absolute,
        entries: &Entries,
        stretches: &Stretches,
    ) {
        let known = Known {
            page,
            entries: entries.iter().map(|&offset| offset as u16).collect(),
            stretches: stretches
                .iter()
                .map(|stretch| [stretch.start as u16, stretch.end as u16])
                .collect(),
        };
        let mut kept = self.0.lock();
        // Whoever makes it data first says so, and then waits for the lock to have it forgotten.
        if !pages.watched(page) {
            return;
        }
        if let Some(before) = kept.iter_mut().find(|before| before.page == page) {
            *before = known;
            return;
        }
        if kept.is_full() {
            kept.pop_front();
        }
        let _ = kept.push_back(known);
    }

    /// The contents of a page may change.
    pub(crate) fn forget(&self, page: Absolute) {
        /// No page frame is here.
        const NONE: Absolute = Absolute(u64::MAX);
        for known in self.0.lock().iter_mut() {
            if known.page == page {
                known.page = NONE;
            }
        }
    }
}
