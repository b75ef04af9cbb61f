//! The heap, which is used at IPL only.
//!
//! Data that lives as long as the machine and whose size is known only at IPL is allocated here.
//! The heap is sealed before the guest starts. An allocation after that is an error of this machine
//! and a panic, so that no path of a guest allocates, least of all the sampling path.
//!
//! What is allocated changes, so no sum tells whether something else has changed it. But each allocation ends with a
//! mark, and what is left when the heap is sealed never changes ([`changed`]).

use crate::arch::address::Real;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use linked_list_allocator::Heap;
use spin::Mutex;

/// What stands behind an allocation: where the mark of the allocation before it is, or zero, and the sum of that and of
/// this number and the mark's own place.
const MARK: usize = 0x4D4D_FEED_C0DE_0000;
/// Bytes of a mark.
const MARK_LENGTH: usize = 2 * size_of::<usize>();
/// A smaller piece is not worth knowing.
const LEAST_PIECE: usize = 256;

struct IplHeap {
    heap: Mutex<Heap>,
    sealed: AtomicBool,
    /// The last mark, or zero.
    last: AtomicUsize,
    /// The largest piece that was left: where it begins, and where it ends.
    left: [AtomicUsize; 2],
}

#[global_allocator]
static HEAP: IplHeap = IplHeap {
    heap: Mutex::new(Heap::empty()),
    sealed: AtomicBool::new(false),
    last: AtomicUsize::new(0),
    left: [const { AtomicUsize::new(0) }; 2],
};

/// The layout with room for a mark, and where the mark is in it.
const fn with_mark(layout: Layout) -> Option<(Layout, usize)> {
    let at = layout.size().wrapping_add(MARK_LENGTH - 1) & !(MARK_LENGTH - 1);
    let align = if layout.align() < MARK_LENGTH {
        MARK_LENGTH
    } else {
        layout.align()
    };
    match Layout::from_size_align(at.wrapping_add(MARK_LENGTH), align) {
        Ok(whole) => Some((whole, at)),
        Err(_) => None,
    }
}

/// The two words of a mark.
const fn mark(at: usize) -> *mut [usize; 2] {
    core::ptr::with_exposed_provenance_mut(at)
}

const fn words(at: usize, before: usize) -> [usize; 2] {
    [before, MARK.wrapping_add(at).wrapping_add(before)]
}

// SAFETY: the linked list allocates, for one caller at a time.
unsafe impl GlobalAlloc for IplHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        assert!(
            !self.sealed.load(Ordering::Relaxed),
            "the heap is sealed: {} bytes",
            layout.size()
        );
        let Some((whole, offset)) = with_mark(layout) else {
            return null_mut();
        };
        let Ok(begin) = self.heap.lock().allocate_first_fit(whole) else {
            return null_mut();
        };
        let at = begin.as_ptr().expose_provenance() + offset;
        let before = self.last.swap(at, Ordering::Relaxed);
        // SAFETY: the last bytes of what was just allocated, on their boundary. Only CPU 0 runs.
        unsafe { mark(at).write(words(at, before)) };
        begin.as_ptr()
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let (Some(begin), Some((whole, offset))) = (NonNull::new(at), with_mark(layout)) else {
            return;
        };
        let own = at.expose_provenance() + offset;
        // SAFETY: marks of the heap, and storage that came from `alloc` with this layout. Only CPU 0 runs.
        unsafe {
            let [before, _] = mark(own).read();
            let mut next = self.last.load(Ordering::Relaxed);
            if next == own {
                self.last.store(before, Ordering::Relaxed);
            }
            while next != 0 && next != own {
                let [previous, _] = mark(next).read();
                if previous == own {
                    mark(next).write(words(next, before));
                }
                next = previous;
            }
            self.heap.lock().deallocate(begin, whole);
        }
    }
}

/// Assigns the heap its storage.
///
/// # Safety
/// From now on the heap owns the `length` bytes at `at`; called once.
pub unsafe fn give(at: u64, length: u64) {
    // SAFETY: by contract.
    unsafe {
        HEAP.heap.lock().init(
            core::ptr::with_exposed_provenance_mut(at as usize),
            length as usize,
        );
    }
}

/// The bytes of the heap that are in use, and all of them.
pub fn in_use() -> (usize, usize) {
    let [begin, end] = left();
    let heap = HEAP.heap.lock();
    (heap.used() - (end - begin), heap.size())
}

/// The largest piece that was left.
fn left() -> [usize; 2] {
    [0, 1].map(|n| HEAP.left[n].load(Ordering::Relaxed))
}

/// From now on nothing may be allocated. The largest piece that is left is taken and filled.
pub fn seal() {
    HEAP.sealed.store(true, Ordering::SeqCst);
    let mut heap = HEAP.heap.lock();
    let mut size = heap.free() & !(MARK_LENGTH - 1);
    while size >= LEAST_PIECE {
        let piece = Layout::from_size_align(size, MARK_LENGTH);
        if let Ok(Ok(begin)) = piece.map(|piece| heap.allocate_first_fit(piece)) {
            let begin = begin.as_ptr().expose_provenance();
            HEAP.left[0].store(begin, Ordering::Relaxed);
            HEAP.left[1].store(begin + size, Ordering::Relaxed);
            for at in (begin..begin + size).step_by(MARK_LENGTH) {
                // SAFETY: two words of what was just taken.
                unsafe { mark(at).write(words(at, 0)) };
            }
            return;
        }
        size -= LEAST_PIECE;
    }
}

/// A mark that is not there, or a place in the largest piece that was left that is not as it was.
pub fn changed() -> Option<Real> {
    let heap = HEAP.heap.try_lock()?;
    let bounds = heap.bottom().expose_provenance()..heap.top().expose_provenance();
    // SAFETY: two words of the heap, which the machine has in storage.
    let read = |at: usize| unsafe { mark(at).read_volatile() };
    let place = |at: usize| Some(Real(at as u64));
    let mut at = HEAP.last.load(Ordering::Relaxed);
    // No chain of marks is longer.
    for _ in 0..heap.size() / MARK_LENGTH {
        if at == 0 {
            let [begin, end] = left();
            let mut pieces = (begin..end).step_by(MARK_LENGTH);
            let changed = pieces.find(|&at| read(at) != words(at, 0));
            return changed.and_then(place);
        }
        let found = if bounds.contains(&at) {
            read(at)
        } else {
            [0; 2]
        };
        if found != words(at, found[0]) {
            return place(at);
        }
        [at, _] = found;
    }
    place(at)
}
