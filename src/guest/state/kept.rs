//! The translations that a CPU keeps for millicode: pages of instruction text and of operands.

use crate::state::access::Access;
use crate::storage::checked::{Checked, Frame, PlacedFrame, PrefixArea};
use arch::address::{Absolute, Real, Virtual};
use arch::control::asce;
use arch::psw::DAT;
use core::cell::Cell;

/// A page whose translation is kept: to a page frame of guest storage, to its place in the machine, or to a real address.
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

impl KeptPage<PlacedFrame> {
    /// No page.
    pub const NOT_PLACED: Self = Self {
        key: u64::MAX,
        page: PlacedFrame::NONE,
    };

    /// The page of the logical address `at`, which is in this frame, as translated under the left half of a PSW.
    #[must_use]
    pub const fn placed(mask: u64, at: Virtual, page: PlacedFrame) -> Self {
        Self {
            key: Self::key(mask, at),
            page,
        }
    }

    /// The page frame of a logical address, if it is in this page under this PSW.
    #[must_use]
    #[inline(always)]
    pub fn find_frame(&self, mask: u64, at: Virtual) -> Option<PlacedFrame> {
        (self.key == Self::key(mask, at)).then_some(self.page)
    }
}

impl KeptPage<Real> {
    /// No page.
    pub const NOT_REAL: Self = Self {
        key: u64::MAX,
        page: Real(0),
    };

    /// The page of the logical address `at`, which is at `real`, as translated under the left half of a PSW: whether DAT
    /// is on or off, so that every purge finds it.
    #[must_use]
    pub const fn of_real(mask: u64, at: Virtual, real: Real) -> Self {
        Self {
            key: Self::key(mask | DAT, at),
            page: real.page(),
        }
    }

    /// The real address of a logical address, if it is in this page under this PSW.
    #[must_use]
    #[inline(always)]
    pub fn find_real(&self, mask: u64, at: Virtual) -> Option<Real> {
        (self.key == Self::key(mask | DAT, at)).then(|| self.page.offset(at.byte_index()))
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

    /// Forgets it if it was translated with DAT on, and is of such an address.
    fn forget_if(&mut self, is_of: impl Fn(u64) -> bool) {
        if self.key & 1 != 0 && is_of(self.key) {
            self.key = u64::MAX;
        }
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

/// Pages of operands that are kept, for each kind of access; a power of two.
const OPERAND_PAGES: usize = 8;

/// Sets of pages of instruction text: as many as a page table has entries, so that an entry names its set.
const TEXT_SETS: usize = 256;

/// Pages of instruction text that are kept: two in each set, because a control program masks interruptions in many
/// places.
pub(crate) const TEXT_PAGES: usize = 2 * TEXT_SETS;

/// No pages of instruction text, to be copied: that takes an instruction for every 256 bytes.
static NO_TEXT: [KeptPage<PlacedFrame>; TEXT_PAGES] = [KeptPage::NOT_PLACED; TEXT_PAGES];

/// The same while instructions are executed one at a time; a power of two.
pub(crate) const STEPPED_PAGES: usize = 4;

/// The number of the first place of [`KeptPages::stepped`], and so on.
///
/// Pages of text share a number if their places are so many apart.
const SHARING: usize = 32;
const STEPPED: usize = SHARING;
const OPERANDS: usize = STEPPED + STEPPED_PAGES;
const REAL: usize = OPERANDS + 2 * OPERAND_PAGES;
const _: () = assert!(REAL < u64::BITS as usize);

/// The set of the page of instruction text at an address.
#[inline(always)]
const fn text_set(at: Virtual) -> usize {
    (at.0 >> 12) as usize % TEXT_SETS
}

/// Where the page of an operand at an address is kept.
#[inline(always)]
const fn operand_place(at: Virtual) -> usize {
    (at.0 >> 12) as usize % OPERAND_PAGES
}

/// The prefix area, which interruptions store into.
#[derive(Debug)]
pub(crate) struct KeptArea {
    /// The prefix, and the number of requests that had been posted when the area was data; all ones for no area.
    pub under: [u64; 2],
    /// Where it is.
    pub area: PrefixArea,
}

impl KeptArea {
    /// No area.
    pub const NONE: Self = Self {
        under: [u64::MAX; 2],
        area: PrefixArea::NONE,
    };
}

/// Pages whose translations are kept.
#[derive(Debug)]
pub struct KeptPages {
    /// Control registers 0 and 13 and the prefix under which all of them were translated.
    pub(crate) under: [u64; 3],
    /// Control registers 1 and 7 under which the pages of the primary and the secondary space were
    /// translated.
    pub(crate) programs: [u64; 2],
    /// Which pages of these spaces are kept, one bit for each place: those of text from bit 0 on, then those of
    /// [`Self::stepped`], [`Self::operands`] and [`Self::real`].
    pub(crate) of_programs: Cell<u64>,
    /// Pages of instruction text: of each set the one that was translated last, then, of each, the one before.
    text: [KeptPage<PlacedFrame>; TEXT_PAGES],
    /// The same while instructions are executed one at a time; the text is empty then.
    pub stepped: [KeptPage; STEPPED_PAGES],
    /// Pages of operands that were fetched, and of those that were stored into, by the rightmost bits of the page number.
    operands: [[Cell<KeptPage<PlacedFrame>>; OPERAND_PAGES]; 2],
    /// The place in which each kind was last kept.
    last: [Cell<u8>; 2],
    /// Pages of the enhanced-monitor counter array, even and odd ones.
    pub counters: [Cell<KeptPage>; 2],
    /// Pages that moves have fetched from, those that they have stored into, and pages of text that programs have executed
    /// when they met access exceptions.
    moved: [MovedPages; 3],
    /// The prefix area.
    pub(crate) area: KeptArea,
    /// The two pages whose real addresses were last loaded.
    pub real: [KeptPage<Real>; 2],
}

/// What looking at the guest's storage may change of the kept pages.
#[derive(Debug)]
pub(crate) struct Remembered {
    of_programs: u64,
    stepped: [KeptPage; STEPPED_PAGES],
    operands: [[Cell<KeptPage<PlacedFrame>>; OPERAND_PAGES]; 2],
    last: [Cell<u8>; 2],
    moved: [MovedPages; 3],
}

impl KeptPages {
    /// Remembers them, for somebody who only looks.
    pub(crate) fn remember(&self) -> Remembered {
        Remembered {
            of_programs: self.of_programs.get(),
            stepped: self.stepped,
            operands: self.operands.clone(),
            last: self.last.clone(),
            moved: self.moved.clone(),
        }
    }

    /// Makes them what they were.
    pub(crate) fn restore(&mut self, remembered: Remembered) {
        self.of_programs.set(remembered.of_programs);
        self.stepped = remembered.stepped;
        self.operands = remembered.operands;
        self.last = remembered.last;
        self.moved = remembered.moved;
    }

    /// No pages.
    pub(crate) const fn none() -> Self {
        Self {
            under: [0; 3],
            programs: [0; 2],
            of_programs: Cell::new(0),
            text: [KeptPage::NOT_PLACED; TEXT_PAGES],
            stepped: [KeptPage::NONE; STEPPED_PAGES],
            operands: [const { [const { Cell::new(KeptPage::NOT_PLACED) }; OPERAND_PAGES] }; 2],
            last: [const { Cell::new(0) }; 2],
            counters: [const { Cell::new(KeptPage::NONE) }; 2],
            moved: [const { [const { Cell::new(MovedPage::NONE) }; MOVED_PAGES] }; 3],
            real: [KeptPage::NOT_REAL; 2],
            area: KeptArea::NONE,
        }
    }

    /// Where the page of an operand of a move is kept.
    #[inline(always)]
    pub const fn moved(&self, at: Virtual, access: Access) -> &Cell<MovedPage> {
        &self.moved[access as usize][(at.0 >> 12) as usize % MOVED_PAGES]
    }

    /// Forgets the pages of moves.
    pub fn forget_moved(&mut self) {
        self.moved = Self::none().moved;
    }

    /// Forgets that moves have stored into this page frame.
    fn forget_moved_into(&self, frame: Absolute) {
        for page in &self.moved[Access::Store as usize] {
            if page.get().frame.origin().absolute() == frame {
                page.set(MovedPage::NONE);
            }
        }
    }

    /// Forgets the pages of text that are stepped through.
    pub fn forget_stepped(&mut self) {
        for page in &mut self.stepped {
            page.key = u64::MAX;
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

    /// The page frame of the instruction text at an address, if its page is kept under this PSW.
    #[inline(always)]
    pub fn find_text(&self, mask: u64, at: Virtual) -> Option<PlacedFrame> {
        let set = text_set(at);
        match self.text[set].find_frame(mask, at) {
            None => self.text[TEXT_SETS + set].find_frame(mask, at),
            found => found,
        }
    }

    /// The same, if it is the page of its set that was last used.
    #[inline(always)]
    pub fn find_last_text(&self, mask: u64, at: Virtual) -> Option<PlacedFrame> {
        self.text[text_set(at)].find_frame(mask, at)
    }

    /// The same, if it is the other one, which is now the last used.
    #[inline(never)]
    pub fn find_other_text(&mut self, mask: u64, at: Virtual) -> Option<PlacedFrame> {
        let set = text_set(at);
        let found = self.text[TEXT_SETS + set].find_frame(mask, at)?;
        self.text.swap(set, TEXT_SETS + set);
        Some(found)
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
        self.real = [self.keep(REAL, page), self.real[0]];
    }

    /// Forgets all pages of instruction text, and gives the one that was last kept in the set of an address.
    pub fn take_text(&mut self, at: Virtual) -> KeptPage<PlacedFrame> {
        let kept = self.text[text_set(at)];
        self.text.copy_from_slice(&NO_TEXT);
        kept
    }

    /// Forgets the pages of the primary and the secondary space.
    pub(crate) fn forget_programs(&mut self) {
        let mut places = self.of_programs.take();
        while places != 0 {
            let place = places.trailing_zeros() as usize;
            places &= places - 1;
            if place < SHARING {
                for page in self.text.iter_mut().skip(place).step_by(SHARING) {
                    page.forget_if_of_program();
                }
            } else if let Some(page) = self.stepped.get_mut(place.wrapping_sub(STEPPED)) {
                page.forget_if_of_program();
            } else if let Some(page) = self
                .operands
                .as_flattened_mut()
                .get_mut(place.wrapping_sub(OPERANDS))
            {
                page.get_mut().forget_if_of_program();
            } else {
                for page in &mut self.real {
                    page.forget_if_of_program();
                }
            }
        }
    }

    /// Forgets what was translated by a page-table entry of the guest, which is at this address. It can only be a page with
    /// the number that the entry has in its table.
    pub(crate) fn forget_entry(&mut self, entry: Absolute) {
        /// The part of a page number that is the index in a page table.
        const INDEX: u64 = 0xFF000;
        let index = entry.0 << 9 & INDEX;
        let is_of = |at: u64| (at ^ index) & INDEX == 0;
        let at = Virtual(index);
        for page in self.text.iter_mut().skip(text_set(at)).step_by(TEXT_SETS) {
            page.forget_if(is_of);
        }
        self.stepped[(at.0 >> 12) as usize % STEPPED_PAGES].forget_if(is_of);
        for page in &mut self.counters {
            page.get_mut().forget_if(is_of);
        }
        for pages in &mut self.operands {
            pages[operand_place(at)].get_mut().forget_if(is_of);
        }
        for page in &mut self.real {
            page.forget_if(is_of);
        }
        for access in [Access::Fetch, Access::Store, Access::Execute] {
            let page = self.moved(at, access);
            if is_of(page.get().at) {
                page.set(MovedPage::NONE);
            }
        }
    }

    /// Forgets what was translated by the address spaces whose highest table has this origin.
    pub(crate) fn forget_space(&mut self, origin: u64) {
        let [_, home, _] = self.under;
        let has_origin = |element: u64| element & asce::ORIGIN == origin;
        for page in self.moved.as_flattened() {
            if has_origin(page.get().asce) {
                page.set(MovedPage::NONE);
            }
        }
        if has_origin(home) {
            self.forget();
        } else if self.programs.into_iter().any(has_origin) {
            self.forget_programs();
        }
    }

    /// A page that is kept in this place from now on.
    #[inline]
    fn keep<P: Copy>(&self, place: usize, page: KeptPage<P>) -> KeptPage<P> {
        if page.is_of_program() {
            self.of_programs.set(self.of_programs.get() | 1 << place);
        }
        page
    }

    /// Keeps a page of instruction text.
    pub(crate) fn keep_text(&mut self, at: Virtual, page: KeptPage<PlacedFrame>) {
        let set = text_set(at);
        if self.text[set].key != page.key {
            self.text[TEXT_SETS + set] = self.text[set];
        }
        self.text[set] = self.keep(set % SHARING, page);
    }

    /// Keeps a page of instruction text while instructions are executed one at a time.
    pub(crate) fn keep_stepped_text(&mut self, at: Virtual, page: KeptPage) {
        let place = (at.0 >> 12) as usize % STEPPED_PAGES;
        self.stepped[place] = self.keep(STEPPED + place, page);
    }

    /// The page of an operand that is fetched or stored into at an address, if it is kept.
    #[inline(always)]
    pub const fn operand(&self, at: Virtual, store: bool) -> &Cell<KeptPage<PlacedFrame>> {
        &self.operands[store as usize][operand_place(at)]
    }

    /// Keeps the page of an operand.
    pub(crate) fn keep_operand(&self, at: Virtual, store: bool, page: KeptPage<PlacedFrame>) {
        let place = operand_place(at);
        self.last[usize::from(store)].set(place as u8);
        let number = usize::from(store) * OPERAND_PAGES + place;
        self.operand(at, store)
            .set(self.keep(OPERANDS + number, page));
    }

    /// Forgets all pages of operands, and gives those of each kind that were last kept.
    pub(crate) fn take_operands(&mut self) -> [KeptPage<PlacedFrame>; 2] {
        let taken = [0, 1].map(|kind: usize| {
            self.operands[kind][usize::from(self.last[kind].get()) % OPERAND_PAGES].get()
        });
        self.operands = Self::none().operands;
        taken
    }

    /// Forgets the pages of operands and counters that are in this page frame, which the machine has at `real`.
    pub(crate) fn forget_operands_in(&mut self, frame: Absolute, real: Real) {
        for page in self.operands.as_flattened_mut() {
            if page.get_mut().place().real() == real {
                page.set(KeptPage::NOT_PLACED);
            }
        }
        for page in &mut self.counters {
            if page.get_mut().place().origin().absolute() == frame {
                page.set(KeptPage::NONE);
            }
        }
        self.forget_moved_into(frame);
    }

    pub(crate) fn forget(&mut self) {
        self.of_programs.set(0);
        self.text.copy_from_slice(&NO_TEXT);
        self.forget_stepped();
        self.operands = Self::none().operands;
        self.forget_counters();
        self.forget_moved();
        self.real = Self::none().real;
    }
}
