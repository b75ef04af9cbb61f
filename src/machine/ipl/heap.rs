//! The heap: for IPL only.
//!
//! What lives as long as the machine and has a size that only IPL knows comes from here. When the
//! guest is about to start the heap is sealed; an allocation after that is this machine's error and
//! a panic, so that no path that a guest can take allocates, the sampling path least of all.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, Ordering};
use linked_list_allocator::Heap;
use spin::Mutex;

struct IplHeap {
    heap: Mutex<Heap>,
    sealed: AtomicBool,
}

#[global_allocator]
static HEAP: IplHeap = IplHeap {
    heap: Mutex::new(Heap::empty()),
    sealed: AtomicBool::new(false),
};

// SAFETY: the linked list does the work, one caller at a time.
unsafe impl GlobalAlloc for IplHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        assert!(
            !self.sealed.load(Ordering::Relaxed),
            "the heap is sealed: {} bytes",
            layout.size()
        );
        self.heap
            .lock()
            .allocate_first_fit(layout)
            .map_or(null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if let Some(at) = NonNull::new(at) {
            // SAFETY: what is given back came from `alloc` with this layout.
            unsafe { self.heap.lock().deallocate(at, layout) };
        }
    }
}

/// Gives the heap its storage.
///
/// # Safety
/// The `length` bytes at `at` are the heap's from here on; called once.
pub unsafe fn give(at: u64, length: u64) {
    // SAFETY: by contract.
    unsafe {
        HEAP.heap.lock().init(
            core::ptr::with_exposed_provenance_mut(at as usize),
            length as usize,
        );
    }
}

/// From here on nothing may be allocated.
pub fn seal() {
    HEAP.sealed.store(true, Ordering::SeqCst);
}
