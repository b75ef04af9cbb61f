//! Guest addresses that were checked: they lie in the guest's configuration, outside of the hardware system area, and
//! prefixing has been applied.
//!
//! Only the storage room makes them, and [`Hardware`](crate::hardware::Hardware) accepts no others. So an access
//! that nobody checked does not compile. Each type is as large as the address that it holds, and checks nothing again.
//!
//! Guest storage consists of whole page frames. If one byte of a frame was checked, the whole frame lies in storage.

use arch::address::{Absolute, PAGE, PREFIX_AREA, Real, Virtual};
use arch::extent::Extent;

/// The absolute address of storage that was checked for the access at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Checked(Absolute);

impl Checked {
    /// Checks that `length` bytes at an absolute address lie in guest storage.
    #[inline(always)]
    pub(super) const fn within(at: Absolute, length: u64, storage: &Extent) -> Option<Self> {
        if storage.holds(at, length) {
            Some(Self(at))
        } else {
            None
        }
    }

    /// Checks a doubleword on its boundary. Storage consists of whole pages, so one comparison does.
    #[inline(always)]
    pub(super) const fn doubleword(at: Absolute, storage: &Extent) -> Option<Self> {
        debug_assert!(at.0.is_multiple_of(8));
        if storage.holds_byte(at) {
            Some(Self(at))
        } else {
            None
        }
    }

    /// The next bytes of what was checked, by the storage room, which has checked them too.
    #[inline(always)]
    pub(super) const fn offset(self, offset: u64) -> Self {
        Self(self.0.offset(offset))
    }

    /// The address.
    #[must_use]
    #[inline(always)]
    pub const fn absolute(self) -> Absolute {
        self.0
    }

    /// The page frame that holds it.
    #[must_use]
    #[inline(always)]
    pub const fn frame(self) -> Frame {
        Frame(self.0.page())
    }

    /// An address that a test knows to be good.
    #[cfg(test)]
    pub const fn in_test(at: Absolute) -> Self {
        Self(at)
    }
}

/// A page frame of guest storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Frame(Absolute);

impl Frame {
    /// The frame at a place, by the storage room, which asks the hardware.
    #[inline(always)]
    pub(super) const fn new(origin: Absolute) -> Self {
        Self(origin)
    }

    /// The first frame: every configuration has it.
    pub const FIRST: Self = Self(Absolute(0));

    /// Its origin.
    #[must_use]
    #[inline(always)]
    pub const fn origin(self) -> Checked {
        Checked(self.0)
    }

    /// The byte in it that a logical address of this page designates.
    #[must_use]
    #[inline(always)]
    pub const fn at(self, at: Virtual) -> Checked {
        Checked(self.0.offset(at.byte_index()))
    }

    /// The doublewords of the frame.
    pub fn doublewords(self) -> impl Iterator<Item = Checked> {
        (0..PAGE)
            .step_by(8)
            .map(move |offset| Checked(self.0.offset(offset)))
    }
}

/// Where the machine has a page frame of guest storage: found once for several accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct PlacedFrame(Real);

impl PlacedFrame {
    /// No frame, for an entry whose key is that of no page: nothing is accessed by it.
    pub(crate) const NONE: Self = Self(Real(0));

    /// The place of a frame, by the storage room, which asks the hardware.
    #[inline(always)]
    pub(super) const fn new(real: Real) -> Self {
        Self(real)
    }

    /// Where the machine has its first byte.
    #[must_use]
    #[inline(always)]
    pub const fn real(self) -> Real {
        self.0
    }

    /// The byte in it that a logical address of this page designates.
    #[must_use]
    #[inline(always)]
    pub const fn at(self, at: Virtual) -> Placed {
        Placed(self.0.offset(at.byte_index()))
    }

    /// A frame that a test knows to be good, and that the machine has where the guest has it.
    #[cfg(test)]
    pub const fn in_test(at: Absolute) -> Self {
        Self(Real(at.page().0))
    }
}

/// Where the machine has storage that was checked for the access at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Placed(Real);

/// What designates checked storage: an absolute address of the guest, or where the machine has that.
pub trait Place: Copy {
    /// Either of them.
    fn place(self) -> Result<Real, Checked>;
}

impl Place for Checked {
    #[inline(always)]
    fn place(self) -> Result<Real, Checked> {
        Err(self)
    }
}

impl Place for Placed {
    #[inline(always)]
    fn place(self) -> Result<Real, Checked> {
        Ok(self.0)
    }
}

/// Where the machine has the guest's prefix area: two page frames, side by side.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct PrefixArea(PlacedFrame);

impl PrefixArea {
    /// No area, for an entry whose key is that of none: nothing is accessed by it.
    pub(crate) const NONE: Self = Self(PlacedFrame::NONE);

    /// Checks the area of a prefix, by the storage room, which asks the hardware for its place.
    #[inline(always)]
    pub(super) fn within(
        prefix: u64,
        storage: &Extent,
        placed: impl FnOnce(Frame) -> PlacedFrame,
    ) -> Option<Self> {
        let area = Checked::within(Absolute(prefix), PREFIX_AREA, storage)?;
        Some(Self(placed(area.frame())))
    }

    /// The location `offset` bytes on, which is inside the area.
    #[must_use]
    #[inline(always)]
    pub const fn at(self, offset: u64) -> Placed {
        assert!(offset < PREFIX_AREA);
        Placed(self.0.0.offset(offset))
    }
}

/// Bytes of guest storage, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    at: Checked,
    length: u64,
}

impl Piece {
    /// No bytes.
    pub const NONE: Self = Self {
        at: Frame::FIRST.origin(),
        length: 0,
    };

    /// Bytes that the storage room has checked.
    #[inline(always)]
    pub(super) const fn new(at: Checked, length: u64) -> Self {
        Self { at, length }
    }

    /// Where its first byte is.
    #[must_use]
    #[inline(always)]
    pub const fn start(&self) -> Checked {
        self.at
    }

    /// Its length in bytes.
    #[must_use]
    #[inline(always)]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Where its byte `offset` is; it has one. Another offset would be an error of this machine, which a test finds:
    /// the image then stays at the first byte, so that no offset leaves what was checked.
    #[must_use]
    #[inline(always)]
    pub const fn at(&self, offset: u64) -> Checked {
        debug_assert!(offset < self.length);
        if offset < self.length {
            Checked(self.at.0.offset(offset))
        } else {
            self.first()
        }
    }

    /// Out of line, so that the test costs a comparison and no more.
    #[cold]
    #[inline(never)]
    const fn first(&self) -> Checked {
        self.at
    }

    /// What follows its first `offset` bytes: nothing if it has no more.
    #[must_use]
    #[inline(always)]
    pub fn after(&self, offset: u64) -> Self {
        let offset = offset.min(self.length);
        Self {
            at: Checked(self.at.0.offset(offset)),
            length: self.length - offset,
        }
    }

    /// The first byte of the piece in each page frame that it reaches.
    pub fn frames(self) -> impl Iterator<Item = Checked> {
        let mut rest = self;
        core::iter::from_fn(move || {
            let at = (rest.length != 0).then_some(rest.at)?;
            rest = rest.after(PAGE - at.0.byte_index());
            Some(at)
        })
    }
}
