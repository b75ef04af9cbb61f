//! The translations that a CPU keeps for millicode: pages of instruction text and of operands.

use crate::storage::checked::{Checked, Frame};
use arch::address::{Absolute, Real, Virtual};
use core::cell::Cell;

/// A page whose translation is kept: to a page frame of guest storage, or to a real address.
#[derive(Clone, Copy, Debug)]
pub struct KeptPage<P = Frame> {
    /// What it was translated under ([`KeptPage::key`]); all ones for no page.
    pub(crate) key: u64,
    /// Where it is.
    pub(crate) page: P,
}

impl KeptPage {
    /// No page.
    pub const NONE: Self = Self {
        key: u64::MAX,
        page: Frame::FIRST,
    };

    /// The page of the logical address `at`, which is at absolute `place`, as translated under the left
    /// half of a PSW.
    #[must_use]
    pub const fn new(mask: u64, at: Virtual, place: Checked) -> Self {
        Self {
            key: Self::key(mask, at),
            page: place.frame(),
        }
    }

    /// The absolute address of a logical address, if it is in this page under this PSW.
    #[must_use]
    #[inline(always)]
    pub fn find(&self, mask: u64, at: Virtual) -> Option<Checked> {
        (self.key == Self::key(mask, at)).then(|| self.page.at(at))
    }
}

impl KeptPage<Real> {
    /// No page.
    pub const NOT_REAL: Self = Self {
        key: u64::MAX,
        page: Real(0),
    };

    /// The page of the logical address `at`, which is at `real`, as translated under the left half of a PSW.
    #[must_use]
    pub const fn of_real(mask: u64, at: Virtual, real: Real) -> Self {
        Self {
            key: Self::key(mask, at),
            page: real.page(),
        }
    }

    /// The real address of a logical address, if it is in this page under this PSW.
    #[must_use]
    #[inline(always)]
    pub fn find_real(&self, mask: u64, at: Virtual) -> Option<Real> {
        (self.key == Self::key(mask, at)).then(|| self.page.offset(at.byte_index()))
    }
}

impl<P: Copy> KeptPage<P> {
    /// Page address, address-space control and DAT mode in one doubleword.
    #[must_use]
    #[inline(always)]
    const fn key(mask: u64, at: Virtual) -> u64 {
        at.page().0 | (mask >> 45) & 6 | (mask >> 58) & 1
    }

    /// Whether it was translated with DAT on, in a space other than the home space.
    const fn is_of_program(&self) -> bool {
        self.key & 1 != 0 && self.key & 6 != 6
    }

    /// The page, and bits 5, 16 and 17 of the PSW under which it was translated: DAT mode and address-space
    /// control.
    #[must_use]
    pub const fn translated(&self) -> Option<(Virtual, u64)> {
        if self.key == u64::MAX {
            return None;
        }
        let mask = (self.key & 6) << 45 | (self.key & 1) << 58;
        Some((Virtual(self.key).page(), mask))
    }

    /// Where the page is.
    #[must_use]
    pub const fn place(&self) -> P {
        self.page
    }

    /// Forgets it if it was translated with DAT on, in a space other than the home space.
    fn forget_if_of_program(&mut self) {
        if self.is_of_program() {
            self.key = u64::MAX;
        }
    }
}

/// A page that a move between address spaces has accessed.
#[derive(Clone, Copy, Debug)]
pub struct MovedPage {
    /// Its virtual address; all ones for no page.
    at: u64,
    /// The address-space-control element by which it was translated.
    asce: u64,
    /// Where it is.
    frame: Frame,
}

impl MovedPage {
    /// No page.
    const NONE: Self = Self {
        at: u64::MAX,
        asce: 0,
        frame: Frame::FIRST,
    };

    /// The page of `at` in a space, which is at absolute `place`.
    #[must_use]
    pub const fn new(asce: u64, at: Virtual, place: Checked) -> Self {
        Self {
            at: at.page().0,
            asce,
            frame: place.frame(),
        }
    }

    /// The absolute address of an address in a space, if it is in this page.
    #[must_use]
    #[inline(always)]
    pub fn find(&self, asce: u64, at: Virtual) -> Option<Checked> {
        (self.at == at.page().0 && self.asce == asce).then(|| self.frame.at(at))
    }
}

/// Pages that are kept for moves, for each kind of access; a power of two.
const MOVED_PAGES: usize = 8;

/// Pages that moves between address spaces have fetched from, or stored into, with access key zero. Each has its space, so
/// that they outlast a switch between spaces.
type MovedPages = [Cell<MovedPage>; MOVED_PAGES];

/// Pages of instruction text that are kept; a power of two.
pub(crate) const TEXT_PAGES: usize = 32;

/// The same while instructions are executed one at a time; a power of two.
pub(crate) const STEPPED_PAGES: usize = 4;

/// Pages whose translations are kept.
#[derive(Debug)]
pub struct KeptPages {
    /// Control registers 0 and 13 and the prefix under which all of them were translated.
    pub(crate) under: [u64; 3],
    /// Control registers 1 and 7 under which the pages of the primary and the secondary space were
    /// translated.
    pub(crate) programs: [u64; 2],
    /// Whether a page of one of these spaces may be kept.
    pub(crate) has_programs: Cell<bool>,
    /// Pages of instruction text as last translated, by the rightmost bits of the page number. There are
    /// several because a control program masks interruptions in many places.
    pub text: [KeptPage; TEXT_PAGES],
    /// The same while instructions are executed one at a time; [`Self::text`] is empty then.
    pub stepped: [KeptPage; STEPPED_PAGES],
    /// The pages of the operand last fetched, of the one last stored, and of the one last stored into
    /// logical pages 0 and 1.
    pub operands: [Cell<KeptPage>; 3],
    /// Pages of the enhanced-monitor counter array, even and odd ones.
    pub counters: [Cell<KeptPage>; 2],
    /// Pages that moves have fetched from, and those that they have stored into.
    moved: [MovedPages; 2],
    /// The two pages whose real addresses were last loaded.
    pub real: [KeptPage<Real>; 2],
}

impl KeptPages {
    /// No pages.
    pub(crate) const fn none() -> Self {
        Self {
            under: [0; 3],
            programs: [0; 2],
            has_programs: Cell::new(false),
            text: [KeptPage::NONE; TEXT_PAGES],
            stepped: [KeptPage::NONE; STEPPED_PAGES],
            operands: [const { Cell::new(KeptPage::NONE) }; 3],
            counters: [const { Cell::new(KeptPage::NONE) }; 2],
            moved: [const { [const { Cell::new(MovedPage::NONE) }; MOVED_PAGES] }; 2],
            real: [KeptPage::NOT_REAL; 2],
        }
    }

    /// Where the page of an operand of a move is kept.
    #[inline(always)]
    pub const fn moved(&self, at: Virtual, store: bool) -> &Cell<MovedPage> {
        &self.moved[store as usize][(at.0 >> 12) as usize % MOVED_PAGES]
    }

    /// Forgets the pages of moves.
    pub fn forget_moved(&mut self) {
        self.moved = Self::none().moved;
    }

    /// Forgets that moves have stored into this page frame.
    pub(crate) fn forget_moved_into(&self, frame: Absolute) {
        for page in &self.moved[1] {
            if page.get().frame.origin().absolute() == frame {
                page.set(MovedPage::NONE);
            }
        }
    }

    /// Where the page of a counter at an address is kept.
    #[inline(always)]
    pub const fn counter(&self, at: Virtual) -> &Cell<KeptPage> {
        &self.counters[(at.0 >> 12) as usize % 2]
    }

    /// Forgets the pages of the counter array.
    pub fn forget_counters(&mut self) {
        self.counters = Self::none().counters;
    }

    /// Where the page of instruction text at an address is kept.
    #[inline(always)]
    pub const fn text_mut(&mut self, at: Virtual) -> &mut KeptPage {
        &mut self.text[(at.0 >> 12) as usize % TEXT_PAGES]
    }

    /// The real address of a page that is kept.
    #[inline(always)]
    pub fn find_real(&self, mask: u64, at: Virtual) -> Option<Real> {
        let [last, before] = &self.real;
        last.find_real(mask, at)
            .or_else(|| before.find_real(mask, at))
    }

    /// Keeps a page whose real address was loaded.
    pub fn keep_real(&mut self, page: KeptPage<Real>) {
        self.real = [self.keep(page), self.real[0]];
    }

    /// Forgets all pages of instruction text, and gives the one that was kept for an address.
    pub fn take_text(&mut self, at: Virtual) -> KeptPage {
        let kept = *self.text_mut(at);
        self.text = Self::none().text;
        kept
    }

    /// Forgets the pages of the primary and the secondary space.
    #[cold]
    pub(crate) fn forget_programs(&mut self) {
        self.has_programs.set(false);
        let operands = self.operands.iter_mut().map(Cell::get_mut);
        let text = self.text.iter_mut().chain(&mut self.stepped);
        for page in text.chain(operands) {
            page.forget_if_of_program();
        }
        for page in &mut self.real {
            page.forget_if_of_program();
        }
    }

    /// A page that is kept from now on.
    #[inline]
    pub(crate) fn keep<P: Copy>(&self, page: KeptPage<P>) -> KeptPage<P> {
        if page.is_of_program() {
            self.has_programs.set(true);
        }
        page
    }

    pub(crate) fn forget(&mut self) {
        self.has_programs.set(false);
        self.text = Self::none().text;
        self.stepped = Self::none().stepped;
        self.operands = Self::none().operands;
        self.forget_counters();
        self.forget_moved();
        self.real = Self::none().real;
    }
}
