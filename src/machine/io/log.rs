//! The log channel as the target of defmt.
//!
//! Frames are written one at a time. The firmware runs disabled, and another CPU waits for the few
//! instructions that a frame takes. Without frames on the console there is no log.

use crate::link::frame::Channel;
use crate::machine::io::console;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

/// The largest log frame; what does not fit is cut off.
const LARGEST: usize = 256;

struct State {
    taken: AtomicBool,
    inner: UnsafeCell<(defmt::Encoder, heapless::Vec<u8, LARGEST>)>,
}

// SAFETY: only the CPU that set `taken` accesses `inner`.
unsafe impl Sync for State {}

static STATE: State = State {
    taken: AtomicBool::new(false),
    inner: UnsafeCell::new((defmt::Encoder::new(), heapless::Vec::new())),
};

/// Whether a CPU writes a log frame at the moment.
pub fn is_held() -> bool {
    STATE.taken.load(Ordering::Acquire)
}

#[defmt::global_logger]
struct Logger;

fn keep(bytes: &[u8]) {
    // SAFETY: the encoder calls this only between acquire and release. The encoder itself is the
    // other half of the pair; only the buffer is borrowed here.
    let buffer = unsafe { &mut *(&raw mut (*STATE.inner.get()).1) };
    for &byte in bytes {
        let _ = buffer.push(byte);
    }
}

// SAFETY: acquire and release pair as defmt requires; the buffer is sent whole at release.
unsafe impl defmt::Logger for Logger {
    fn acquire() {
        while STATE.taken.swap(true, Ordering::Acquire) {
            core::hint::spin_loop();
        }
        // SAFETY: this CPU has set `taken`.
        unsafe { (*STATE.inner.get()).0.start_frame(keep) };
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: this CPU has set `taken`.
        unsafe { (*STATE.inner.get()).0.write(bytes, keep) };
    }

    unsafe fn flush() {
        console::flush();
    }

    unsafe fn release() {
        // SAFETY: this CPU has set `taken`, until the store below.
        unsafe {
            (*STATE.inner.get()).0.end_frame(keep);
            let buffer = &mut (*STATE.inner.get()).1;
            console::send(Channel::Log, &[buffer]);
            buffer.clear();
        }
        STATE.taken.store(false, Ordering::Release);
    }
}

defmt::timestamp!(
    "{=u64:us}",
    crate::machine::hardware::instruction::stckf() >> 12
);
