//! The heap, which is used at IPL only.
//!
//! Data that lives as long as the machine and whose size is known only at IPL is allocated here.
//! The heap is sealed before the guest starts. An allocation after that is an error of this machine
//! and a panic, so that no path of a guest allocates, least of all the sampling path.

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

// SAFETY: the linked list allocates, for one caller at a time.
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
            // SAFETY: the storage came from `alloc` with this layout.
            unsafe { self.heap.lock().deallocate(at, layout) };
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
    let heap = HEAP.heap.lock();
    (heap.used(), heap.size())
}

/// From now on nothing may be allocated.
pub fn seal() {
    HEAP.sealed.store(true, Ordering::SeqCst);
}
