//! Sampling with registers or tables that lead astray: takes one sample, tells how the function ended, and whether
//! storage outside every buffer has changed.

use core::arch::asm;
use core::ptr::{
    read_volatile, with_exposed_provenance, with_exposed_provenance_mut, write_volatile,
};

use crate::externals::alerts;
use crate::insn::measurement::{SamplingRequest, lsctl, qsi};
use crate::sampling::{self, TRAILER, busy};
use crate::sccb::{hole, storage_end};

/// The interval of every attempt.
pub const INTERVAL: u64 = 10_000;
/// The size of the whole machine's storage, the hardware system area included, in a run that does not choose one.
pub const MACHINE_END: u64 = 512 << 20;

/// The parameter of an invalid-entry-address alert.
pub const INVALID: u32 = 0x8000_0000;
/// The parameter of an incorrect-sample-data-block-table-entry alert.
pub const INCORRECT: u32 = 0x4000_0000;

/// The state of the sampling function after an attempt, as far as the program can see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Measurement alerts, and the parameter of the first.
    pub alerts: (usize, u32),
    /// Whether the function is active. It is enabled in any case.
    pub active: bool,
    /// Table-entry-address register.
    pub tear: u64,
    /// Data-entry-address register.
    pub dear: u64,
}

impl Ended {
    /// One alert, and the function is inactive.
    #[must_use]
    pub const fn alert(parameter: u32, tear: u64, dear: u64) -> Self {
        Self {
            alerts: (1, parameter),
            active: false,
            tear,
            dear,
        }
    }

    /// No alert, and the function goes on.
    #[must_use]
    pub const fn active(tear: u64, dear: u64) -> Self {
        Self {
            alerts: (0, 0),
            active: true,
            tear,
            dear,
        }
    }
}

/// The end of the guest's own storage, or of its part below 2 GiB. The hardware system area begins there.
#[must_use]
pub fn end() -> u64 {
    hole().unwrap_or(storage_end() as u64)
}

/// Page addresses that are not available in the configuration: the base, the middle and the last page of
/// the hardware system area, and beyond.
#[must_use]
pub fn not_available() -> [u64; 8] {
    let base = end();
    [
        base,
        (base + (MACHINE_END - base) / 2) & !0xFFF,
        MACHINE_END - 4096,
        MACHINE_END,
        0x7FFF_F000,
        0x8000_0000,
        1 << 40,
        4096_u64.wrapping_neg(),
    ]
}

/// DEAR for an attempt that begins with the next block, because block 0 has no room.
#[must_use]
pub fn no_room() -> u64 {
    sampling::block(0) + TRAILER as u64
}

/// Prepares a buffer of four blocks, and samples with these two registers until an interval has ended. Returns the
/// state, and leaves the function in it.
#[must_use]
pub fn attempt(tear: u64, dear: u64) -> Ended {
    attempt_with(&[], tear, dear)
}

/// Like [`attempt`], but first stores these doublewords at their addresses.
#[must_use]
pub fn attempt_with(doublewords: &[(u64, u64)], tear: u64, dear: u64) -> Ended {
    alerts();
    let request = sampling::prepare(4, INTERVAL);
    for &(at, value) in doublewords {
        store(at, value);
    }
    lsctl(&SamplingRequest {
        tear,
        dear,
        ..request
    });
    busy(INTERVAL + INTERVAL / 2);
    ended()
}

/// The state now.
#[must_use]
pub fn ended() -> Ended {
    let now = qsi();
    Ended {
        alerts: alerts(),
        active: now.state & 0x303 == 0x202,
        tear: now.tear,
        dear: now.dear,
    }
}

/// A doubleword of storage.
#[must_use]
pub fn load(at: u64) -> u64 {
    // SAFETY: storage, only read.
    unsafe { read_volatile(with_exposed_provenance(at as usize)) }
}

/// Stores a doubleword into storage that only the calling guest uses.
pub fn store(at: u64, value: u64) {
    // SAFETY: the caller's storage.
    unsafe { write_volatile(with_exposed_provenance_mut(at as usize), value) }
}

/// The text of a loop: BRCTG of general register 2 to itself, and BR 14.
pub const LOOP: u64 = 0xA727_0000_07FE_0700;

/// Performs the loop at `at`, for four intervals and a half.
///
/// # Safety
/// [`LOOP`] stands there.
pub unsafe fn perform_loop(at: u64) {
    // SAFETY: the loop returns, and changes no other register.
    unsafe {
        asm!(
            "basr %r14, {at}",
            at = in(reg_addr) at,
            inout("r2") 4 * INTERVAL + INTERVAL / 2 => _,
            out("r14") _,
        );
    }
}

unsafe extern "C" {
    static __image_start: u8;
    static __constants_end: u8;
}

/// A sum over storage that no buffer occupies and that the program leaves alone: the parts of the first two pages
/// that interruptions do not use, the storage from there to the image, text and constants, and a piece at the end of
/// storage without the last page.
#[must_use]
pub fn sum_of_the_rest() -> u64 {
    let end = end();
    let (image, constants_end) = (
        &raw const __image_start as u64,
        &raw const __constants_end as u64,
    );
    [
        (0xE00, 0x1000),
        (0x1400, 0x2_0000),
        (image, constants_end & !7),
        (end - 0x1_0000, end - 0x1000),
    ]
    .into_iter()
    .flat_map(|(from, to)| (from..to).step_by(8))
    .fold(0, |sum: u64, at| sum.rotate_left(5).wrapping_add(load(at)))
}

/// Performs attempts one after the other. Checks that sampling has stopped after each, and that nothing but buffers
/// has changed.
pub fn one_by_one(parts: &[fn()]) {
    let before = sum_of_the_rest();
    for part in parts {
        part();
        sampling::stop();
        crate::shows!(["UPDATE-7", "UPDATE-8"], sum_of_the_rest(), before);
    }
}
