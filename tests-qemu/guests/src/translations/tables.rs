//! The tables, the page frames and the spaces of a block, and how they change.

use core::sync::atomic::{AtomicU64, Ordering};

mod changes;

use changes::set_prefix;

use super::text::{self, COUNT, SEQUENCES, SINGLE, SINGLES, Text};
use super::{Random, cpus};
use crate::dat::PageTable;
use crate::insn::cpu::{Page, spx, stpx};
use crate::println;

/// Tables of each level, from the segment table to the region-first table.
const TABLES: [usize; 4] = [6, 4, 3, 2];
const ALL_TABLES: usize = 15;
const PAGE_TABLES: usize = 14;
/// Page frames that serve no other purpose.
const FRAMES: usize = 12;
/// How many indices of a table are used.
const USED: usize = 4;
/// Address spaces.
pub(super) const SPACES: usize = 6;
/// The used page indices of a table stand behind those of the four levels.
const PAGE: usize = 4;

const INVALID: u64 = 0x20;
const PAGE_INVALID: u64 = 0x400;
pub(super) const PRIVATE: u64 = 0x100;
pub(super) const REAL_SPACE: u64 = 0x20;

#[repr(C, align(16384))]
struct Table([u64; 2048]);
#[repr(C, align(8192))]
struct Area([u64; 1024]);

static mut HIGHER: [Table; ALL_TABLES] = [const { Table([INVALID; 2048]) }; ALL_TABLES];
static mut LOWEST: [PageTable; PAGE_TABLES] =
    [const { PageTable([PAGE_INVALID; 256]) }; PAGE_TABLES];
/// Prefix areas of CPU 0 beside absolute 0.
static mut AREAS: [Area; 2] = [const { Area([0; 1024]) }; 2];
/// One more stands behind them, for accesses beyond the last one.
static mut PAGES: [Page; FRAMES + 1] = [const { Page([0; 4096]) }; FRAMES + 1];

/// The indices that the previous block used.
static mut USED_BEFORE: [[u64; USED]; 5] = [[0; USED]; 5];

/// The level of each table.
fn levels() -> impl Iterator<Item = usize> {
    (0..4).flat_map(|level| (0..TABLES[level]).map(move |_| level))
}

fn table(n: usize) -> u64 {
    &raw const HIGHER as u64 + 0x4000 * n as u64
}

fn page_table(n: usize) -> u64 {
    &raw const LOWEST as u64 + 0x800 * n as u64
}

fn area(n: usize) -> u64 {
    &raw const AREAS as u64 + 0x2000 * n as u64
}

fn frame(n: usize) -> u64 {
    &raw const PAGES as u64 + 0x1000 * n as u64
}

pub(super) fn load(at: u64) -> u64 {
    // SAFETY: the program's storage, with DAT off.
    unsafe { core::ptr::with_exposed_provenance::<u64>(at as usize).read_volatile() }
}

pub(super) fn store(at: u64, value: u64) {
    // SAFETY: like `load`; the caller owns the place.
    unsafe { core::ptr::with_exposed_provenance_mut::<u64>(at as usize).write_volatile(value) }
}

/// Puts the instructions into the page frames, where they stay.
fn put_text(random: &mut Random, replaced: bool) {
    for (number, at) in (0..FRAMES).map(frame).enumerate() {
        let replaced = replaced && number == 3;
        text::name(text::REAL_NAME).put(at + text::REAL);
        text::LOAD_REAL.put(at + text::REAL + 4);
        text::END.put(at + text::REAL + 10);
        let mut next = at + text::TAIL;
        for text in text::tail() {
            text.put(next);
            next += text.length;
        }
        for n in 0..COUNT {
            put_sequence(random, at, number as u64, n, replaced);
        }
        for n in 0..SINGLES {
            let text = if n < SINGLES / 2 {
                text::plain(random)
            } else {
                text::privileged(random, replaced && n >= SINGLES - 4)
            };
            text.put(at + SINGLE + 8 * n);
        }
    }
}

/// Makes sequence `n` of the page frame at `at`.
fn put_sequence(random: &mut Random, at: u64, number: u64, n: u64, replaced: bool) {
    let first = at + SEQUENCES + text::APART * n;
    let mut next = first;
    let mut put = |text: Text| {
        text.put(next);
        next += text.length;
    };
    let texts: [Text; 7] = core::array::from_fn(|_| {
        if n < COUNT / 2 {
            text::plain(random)
        } else {
            text::privileged(random, replaced)
        }
    });
    let texts = &texts[..1 + random.below(7) as usize];
    let accesses: u64 = texts.iter().map(|text| text.accesses + 1).sum();
    put(text::name(accesses << 8 | number << 4 | n));
    if n == COUNT - 1 && replaced {
        put(text::EXTRACT);
    }
    texts.iter().copied().for_each(&mut put);
    if n / (COUNT / 4) % 2 == 0 {
        put(text::END);
    } else {
        text::branch(first + text::SPACE - next).put(next);
    }
    let space = first + text::SPACE;
    text::space(random).put(space);
    text::branch((at + text::TAIL).wrapping_sub(space + 4)).put(space + 4);
}

/// Clears the storage that real spaces reach: between the prefix area and the program, and around 16 MiB.
pub(super) fn prepare(random: &mut Random, replaced: bool) {
    put_text(random, replaced);
    for at in (0x2000..0x20_0000).chain(0xF0_0000..0x111_0000).step_by(8) {
        store(at, 0);
    }
}

/// A table's kind and number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// 0 segment … 3 region first; [`PAGE`].
    level: usize,
    origin: u64,
    index: u64,
}

impl Entry {
    const fn at(self) -> u64 {
        self.origin + 8 * self.index
    }

    const fn invalid(self) -> u64 {
        if self.level == PAGE {
            PAGE_INVALID
        } else {
            INVALID
        }
    }
}

/// The parts of a block.
pub(super) struct World {
    pub end: u64,
    pub cpus: u16,
    architected: bool,
    /// The indices that are used, by level.
    used: [[u64; USED]; 5],
    /// The address-space-control elements of the spaces.
    pub spaces: [u64; SPACES],
    /// Control register 0 of the steps: the bits that vary.
    pub controls: u64,
    /// The spaces that are primary, secondary and home.
    pub selected: [usize; 3],
    /// Before how many of the next steps the tables are changed behind a purge.
    purges: u64,
}

/// Bits of control register 0 that vary from step to step: low-address protection, enhanced DAT,
/// instruction-execution protection.
pub(super) const CONTROLS: [u64; 3] = [1 << 28, 1 << 23, 1 << 20];
/// The secondary-space control, and storage-protection override: both are ones.
pub(super) const ONES: u64 = 1 << 26 | 1 << 24;
/// The storage key of every block: access control 9, which storage-protection override lets every key access.
pub(super) const STORAGE_KEY: u8 = 0x90;

impl World {
    /// Makes tables, spaces and page frames.
    pub(super) fn new(random: &mut Random, end: u64, cpus: u16, architected: bool) -> Self {
        let far = 0x210 + 16 * random.below(0x5E);
        let mut used = [[0, 1, 1 + random.below(2046), 2047]; 5];
        // Not at the program's address, which real spaces reach.
        used[0][1] = 0x10;
        used[0][2] = far;
        used[1][2] = 1 + random.below(2046);
        used[2][2] = 1 + random.below(2046);
        used[PAGE] = [0, 1, 0x40 + random.below(0x3F), 255];
        let mut world = Self {
            end,
            cpus,
            architected,
            used,
            spaces: [0; SPACES],
            controls: 0,
            selected: [0, 1, 2],
            purges: 0,
        };
        cpus::on_all(cpus, super::step::reset);
        set_prefix(0);
        // SAFETY: CPU 0 alone, here alone.
        let before = unsafe { core::mem::replace(&mut *(&raw mut USED_BEFORE), used) };
        for (n, level) in levels().enumerate() {
            for index in before[level] {
                store(table(n) + 8 * index, INVALID);
            }
        }
        for (n, level) in levels().enumerate() {
            for index in used[level] {
                let value = world.value(random, level);
                store(table(n) + 8 * index, value);
            }
        }
        for origin in (0..PAGE_TABLES).map(page_table) {
            for index in before[PAGE] {
                store(origin + 8 * index, PAGE_INVALID);
            }
            for index in used[PAGE] {
                let value = world.value(random, PAGE);
                store(origin + 8 * index, value);
            }
        }
        for n in 0..SPACES {
            world.spaces[n] = world.space(random);
        }
        for n in CONTROLS {
            if random.one_in(2) {
                world.controls |= n;
            }
        }
        world.fill(random);
        cpus::on_all(cpus, |_| crate::insn::storage::ptlb());
        world
    }

    /// A space: mostly a table of a random kind, sometimes a real space.
    fn space(&self, random: &mut Random) -> u64 {
        let level = random.below(4) as usize;
        let private = if random.one_in(4) { PRIVATE } else { 0 };
        if random.one_in(9) {
            return self.space_origin(random, level) | private | REAL_SPACE;
        }
        let length = if random.one_in(8) { random.below(4) } else { 3 };
        self.space_origin(random, level) | private | (level as u64) << 2 | length
    }

    /// The origin of the table of a space. It must be the same on all machines, because control registers may be
    /// stored among the data.
    fn space_origin(&self, random: &mut Random, level: usize) -> u64 {
        match self.origin(random, level) {
            origin if origin >= self.end => 0x7FFF_C000,
            origin => origin,
        }
    }

    /// The origin of a table of a level.
    fn origin(&self, random: &mut Random, level: usize) -> u64 {
        if random.one_in(80) {
            return random.pick(&[self.end, self.end + 0x4000, 1 << 40, 0x7FFF_C000]);
        }
        let first: usize = TABLES[..level].iter().sum();
        table(first + random.below(TABLES[level] as u64) as usize)
    }

    fn page_table(&self, random: &mut Random) -> u64 {
        match random.below(40) {
            0 => random.pick(&[self.end, self.end + 0x800, 1 << 41, 0x7FFF_F800]),
            _ => page_table(random.below(PAGE_TABLES as u64) as usize),
        }
    }

    /// The real address of a page frame.
    pub(super) fn frame(&self, random: &mut Random) -> u64 {
        match random.below(48) {
            0 => random.pick(&[self.end, self.end + 0x7000, 1 << 40, 0x7FFF_F000]),
            1 | 2 => 0,
            n @ (3 | 4) if self.cpus == 1 => area(n as usize - 3),
            _ => frame(random.below(FRAMES as u64) as usize),
        }
    }

    /// A value for an entry of a table of this level.
    fn value(&self, random: &mut Random, level: usize) -> u64 {
        let chance = |random: &mut Random, n, bits| if random.one_in(n) { bits } else { 0 };
        if level == PAGE {
            return self.frame(random)
                | chance(random, 6, 0x200)
                | chance(random, 8, 0x100)
                | chance(random, 14, PAGE_INVALID)
                | chance(random, 100, 0x800)
                | chance(random, 8, 0x55);
        }
        let wrong = if random.one_in(120) {
            random.below(4) << 2
        } else {
            0
        };
        let invalid = chance(random, 30, INVALID);
        if level == 0 {
            return self.page_table(random)
                | chance(random, 8, 0x200)
                | chance(random, 24, 0x10)
                | chance(random, 12, 0x400)
                | wrong
                | invalid;
        }
        let length = if random.one_in(20) {
            random.below(4)
        } else {
            3
        };
        let offset = if random.one_in(24) {
            random.below(4)
        } else {
            0
        };
        (self.origin(random, level - 1)
            | chance(random, 8, 0x200)
            | offset << 6
            | (level as u64) << 2
            | length)
            ^ wrong
            | invalid
    }

    /// Fills the page frames with data.
    fn fill(&self, random: &mut Random) {
        let middle = self.used[PAGE][2];
        let low = [0xFF, 0x100, middle, middle + 1];
        let high = [0xF00, 0xF01, 0xFFF, 0xF00 + middle, 0xF01 + middle, 0xF02];
        let highest = [
            0x1000,
            0x1001,
            0x1002,
            0x10FF,
            0x1100,
            0x1000 + middle,
            0x1001 + middle,
        ];
        for page in low.into_iter().chain(high).chain(highest) {
            let written = (0..0x200).chain(text::DATA..0x1000).step_by(8);
            written.for_each(|n| store((page << 12) + n, 0));
        }
        for at in (0..0x80).chain(text::DATA..0x1080).step_by(8) {
            store(at, 0);
        }
        for at in self.frames() {
            (8..0x200).step_by(8).for_each(|n| store(at + n, 0));
            let data = (text::DATA..text::CROSSING & !7).step_by(8);
            data.for_each(|n| store(at + n, random.data()));
        }
    }

    /// The page frames with data of their own.
    fn frames(&self) -> impl Iterator<Item = u64> + use<> {
        let areas = if self.cpus == 1 { 2 } else { 0 };
        (0..FRAMES).map(frame).chain((0..areas).map(area))
    }

    /// A virtual address in a space, without its byte index. Mostly it leads to a page frame.
    pub(super) fn page(&self, random: &mut Random, space: u64) -> u64 {
        for _ in 0..random.below(8) {
            let at = self.any_page(random, space);
            if self.leads(space, at) {
                return at;
            }
        }
        self.any_page(random, space)
    }

    /// Whether an address leads to a page frame with contents. This is a guess, to help the choice.
    fn leads(&self, space: u64, at: u64) -> bool {
        self.guess(space, at)
            .is_some_and(|frame| (0x1000..self.end).contains(&frame))
    }

    /// The page frame that an address leads to.
    pub(super) fn guess(&self, space: u64, at: u64) -> Option<u64> {
        if space & REAL_SPACE != 0 {
            return Some(at);
        }
        let mut entry = space;
        for level in (0..=(space >> 2 & 3)).rev() {
            let origin = entry & !0xFFF;
            if origin >= self.end {
                return None;
            }
            entry = load(origin + (at >> (20 + 11 * level) & 0x7FF) * 8);
            if entry & INVALID != 0 {
                return None;
            }
        }
        let origin = entry & !0x7FF;
        if origin >= self.end {
            return None;
        }
        let entry = load(origin + (at >> 12 & 0xFF) * 8);
        (entry & PAGE_INVALID == 0).then_some(entry & !0xFFF)
    }

    /// A virtual address in a space.
    fn any_page(&self, random: &mut Random, space: u64) -> u64 {
        let level = if space & REAL_SPACE != 0 {
            0
        } else {
            (space >> 2 & 3) as usize
        };
        let mut at = random.pick(&self.used[PAGE]) << 12;
        for (n, used) in self.used[..=level].iter().enumerate() {
            at |= random.pick(used) << (20 + 11 * n);
        }
        if random.one_in(100) {
            at |= 1 << random.pick(&[31, 42, 53]);
        }
        at
    }

    /// An entry that is in use.
    fn entry(&self, random: &mut Random) -> Entry {
        if random.one_in(3) {
            let n = random.below(ALL_TABLES as u64) as usize;
            let level = levels().nth(n).unwrap_or(0);
            return Entry {
                level,
                origin: table(n),
                index: random.pick(&self.used[level]),
            };
        }
        Entry {
            level: PAGE,
            origin: page_table(random.below(PAGE_TABLES as u64) as usize),
            index: random.pick(&self.used[PAGE]),
        }
    }

    /// The origin of a page table, for register 12.
    pub(super) fn page_table_origin(&self, random: &mut Random) -> u64 {
        self.entry_of_page(random).origin
    }

    /// A page index that is in use, as an address, for register 7.
    pub(super) fn page_index(&self, random: &mut Random) -> u64 {
        random.pick(&self.used[PAGE]) << 12
    }

    fn entry_of_page(&self, random: &mut Random) -> Entry {
        loop {
            let entry = self.entry(random);
            if entry.level == PAGE {
                return entry;
            }
        }
    }
}
