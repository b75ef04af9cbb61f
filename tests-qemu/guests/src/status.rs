//! The status of a CPU: what store status, and a machine-check interruption, leave in a save area.

pub mod known;

use core::ptr;

use crate::psw::Psw;

/// Room for a status, or for an additional status.
#[repr(C, align(1024))]
struct Area([u64; 128]);
static mut AREA: Area = Area([0; 128]);

/// The absolute address of an area for a status or an additional status.
#[must_use]
pub fn area() -> u32 {
    &raw const AREA as usize as u32
}

/// Stores a doubleword everywhere in the area.
pub fn fill_area(doubleword: u64) {
    // SAFETY: no reference covers the area.
    unsafe { ptr::write_volatile(&raw mut AREA, Area([doubleword; 128])) };
}

/// A stored status.
#[derive(Clone, Copy, Debug)]
pub struct Status(usize);

impl Status {
    /// The status in [`area`].
    #[must_use]
    pub fn in_area() -> Self {
        Self(area() as usize)
    }

    /// The status at its assigned place in this CPU's prefix area. DAT must be off.
    #[must_use]
    pub const fn assigned() -> Self {
        Self(0x1200)
    }

    /// The doubleword at an offset.
    #[must_use]
    pub fn doubleword(self, offset: usize) -> u64 {
        // SAFETY: storage, which a CPU may have stored into.
        unsafe { ptr::read_volatile(ptr::with_exposed_provenance(self.0 + offset)) }
    }

    /// The word at an offset.
    #[must_use]
    pub fn word(self, offset: usize) -> u32 {
        // SAFETY: as above.
        unsafe { ptr::read_volatile(ptr::with_exposed_provenance(self.0 + offset)) }
    }

    /// Floating-point register `n`.
    #[must_use]
    pub fn floating_point(self, n: usize) -> u64 {
        self.doubleword(8 * n)
    }

    /// General register `n`.
    #[must_use]
    pub fn general(self, n: usize) -> u64 {
        self.doubleword(0x80 + 8 * n)
    }

    /// Current PSW.
    #[must_use]
    pub fn psw(self) -> Psw {
        Psw::new(self.doubleword(0x100), self.doubleword(0x108))
    }

    /// Prefix.
    #[must_use]
    pub fn prefix(self) -> u32 {
        self.word(0x118)
    }

    /// Floating-point-control register.
    #[must_use]
    pub fn floating_point_control(self) -> u32 {
        self.word(0x11C)
    }

    /// TOD programmable register.
    #[must_use]
    pub fn tod_programmable(self) -> u32 {
        self.word(0x124)
    }

    /// CPU timer.
    #[must_use]
    pub fn cpu_timer(self) -> u64 {
        self.doubleword(0x128)
    }

    /// Zeros, and bits 0-55 of the clock comparator.
    #[must_use]
    pub fn clock_comparator(self) -> u64 {
        self.doubleword(0x130)
    }

    /// Access register `n`.
    #[must_use]
    pub fn access(self, n: usize) -> u32 {
        self.word(0x140 + 4 * n)
    }

    /// Control register `n`.
    #[must_use]
    pub fn control(self, n: usize) -> u64 {
        self.doubleword(0x180 + 8 * n)
    }
}
