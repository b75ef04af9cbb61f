//! Translation by tables of every level: which exception each wrong entry, index and designation meets, in which order
//! they are tested, and how the instruction ends.
//!
//! The tables belong to the secondary space. The instructions come from the primary space, as in every mode but that of
//! the home space.

use guests::attempt::{Outcome, nullified, suppressed};
use guests::dat;
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::insn::storage::ptlb;
use guests::misdirected::{load, store};
use guests::psw::bit;
use guests::{attempt, shows};

guests::clause!(
    "SA22-7832, Chapter 3, Dynamic Address Translation; Translation Tables; Translation Process",
    native = true
);
guests::case!(run);

/// Two pages of entries: the two parts of a table of 1024 entries.
#[repr(C, align(8192))]
struct Table([[u64; 512]; 2]);

/// Tables of every level, and the frames.
#[repr(C)]
struct Tables {
    first: Table,
    second: Table,
    third: Table,
    segment: Table,
    pages: Table,
    frames: [Page; 2],
}
static mut TABLES: Tables = Tables {
    first: Table([[INVALID; 512]; 2]),
    second: Table([[INVALID; 512]; 2]),
    third: Table([[INVALID; 512]; 2]),
    segment: Table([[INVALID; 512]; 2]),
    pages: Table([[PAGE_INVALID; 512]; 2]),
    frames: [const { Page([0; 4096]) }; 2],
};

/// Region-invalid and segment-invalid bit.
const INVALID: u64 = bit(58);
const PAGE_INVALID: u64 = bit(53);
const PROTECTED: u64 = bit(54);
const COMMON: u64 = bit(59);
const PRIVATE: u64 = bit(55);
/// A page-table entry's bit 52, which must be zero.
const MUST_BE_ZERO: u64 = bit(52);
/// A table offset of one: the table has no first part.
const OFFSET_1: u64 = 1 << 6;
/// A table length of one: the table has two parts.
const LENGTH_1: u64 = 1;

/// Table types, as they stand in designations and entries.
const FIRST: u64 = 0xC;
const SECOND: u64 = 0x8;
const THIRD: u64 = 0x4;

/// The indexes of the address.
const FIRST_INDEX: u64 = 5;
const SECOND_INDEX: u64 = 6;
const THIRD_INDEX: u64 = 7;
const SEGMENT_INDEX: u64 = 8;
const PAGE_INDEX: u64 = 9;
/// The byte index.
const BYTE: u64 = 0x128;

/// The part of the address that each table level translates.
const SEGMENT: u64 = SEGMENT_INDEX << 20 | PAGE_INDEX << 12 | BYTE;
const IN_THIRD: u64 = THIRD_INDEX << 31 | SEGMENT;
const IN_SECOND: u64 = SECOND_INDEX << 42 | IN_THIRD;
const IN_FIRST: u64 = FIRST_INDEX << 53 | IN_SECOND;
/// Increases an index beyond the first part of its table.
const PART: u64 = 512;

const MARK: u64 = 0x1122_3344_5566_7788;

/// The exceptions, each as it ends an instruction of six bytes.
const PROTECTION: u64 = suppressed(0x04, 6);
const ADDRESSING: u64 = suppressed(0x05, 6);
const SEGMENT_TRANSLATION: u64 = nullified(0x10, 6);
const PAGE_TRANSLATION: u64 = nullified(0x11, 6);
const SPECIFICATION: u64 = suppressed(0x12, 6);
const ASCE_TYPE: u64 = nullified(0x38, 6);
const REGION_FIRST: u64 = nullified(0x39, 6);
const REGION_SECOND: u64 = nullified(0x3A, 6);
const REGION_THIRD: u64 = nullified(0x3B, 6);

/// The addresses of the tables, and of the first frame.
struct At {
    first: u64,
    second: u64,
    third: u64,
    segment: u64,
    pages: u64,
    frame: u64,
}

impl At {
    fn new() -> Self {
        // SAFETY: addresses only.
        unsafe {
            Self {
                first: &raw const TABLES.first as u64,
                second: &raw const TABLES.second as u64,
                third: &raw const TABLES.third as u64,
                segment: &raw const TABLES.segment as u64,
                pages: &raw const TABLES.pages as u64,
                frame: &raw const TABLES.frames as u64,
            }
        }
    }

    /// Makes the entries that translate the address.
    fn good(&self) {
        store(self.first + 8 * FIRST_INDEX, self.second | FIRST);
        store(self.second + 8 * SECOND_INDEX, self.third | SECOND);
        store(self.third + 8 * THIRD_INDEX, self.segment | THIRD);
        store(self.segment + 8 * SEGMENT_INDEX, self.pages);
        store(self.pages + 8 * PAGE_INDEX, self.frame);
        ptlb();
    }

    /// The entries of the address, from the first table to the last.
    fn entries(&self) -> [u64; 5] {
        [
            self.first + 8 * FIRST_INDEX,
            self.second + 8 * SECOND_INDEX,
            self.third + 8 * THIRD_INDEX,
            self.segment + 8 * SEGMENT_INDEX,
            self.pages + 8 * PAGE_INDEX,
        ]
    }

    /// Fetches with an entry changed by these bits.
    fn fetch_with(&self, level: usize, change: u64) -> u64 {
        let at = self.entries()[level];
        let kept = load(at);
        store(at, kept ^ change);
        ptlb();
        let number = fetch(self.first | FIRST, IN_FIRST);
        store(at, kept);
        ptlb();
        number
    }
}

/// Replaces the secondary address-space-control element.
fn set_space(element: u64) {
    let mut registers = stctg_all();
    registers[7] = element;
    lctlg_all(&registers);
}

/// Zero, or the exception of an instruction of six bytes behind another of four.
fn ended(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Program(program) => {
            guests::attempt::interrupted(program.code, program.length, program.advanced - 4)
        }
        _ => 0,
    }
}

/// Fetches a doubleword of the space: zero if it is the mark.
fn fetch(element: u64, at: u64) -> u64 {
    set_space(element);
    let mut found = 0_u64;
    let outcome =
        attempt!("sacf 0x100\n lg {v}, 0({a})\n sacf 0", v = inout(reg) found, a = in(reg_addr) at);
    match ended(outcome) {
        0 => found ^ MARK,
        number => number,
    }
}

/// Stores a doubleword into the space: zero, or the exception.
fn put(element: u64, at: u64, value: u64) -> u64 {
    set_space(element);
    ended(attempt!("sacf 0x100\n stg {v}, 0({a})\n sacf 0", v = in(reg) value, a = in(reg_addr) at))
}

fn valid(at: &At) {
    shows!("DAT-1", fetch(at.segment, SEGMENT), 0);
    shows!("DAT-2", fetch(at.third | THIRD, IN_THIRD), 0);
    shows!("DAT-3", fetch(at.second | SECOND, IN_SECOND), 0);
    shows!("DAT-4", fetch(at.first | FIRST, IN_FIRST), 0);
    // The last bits of the address are not translated, and those of the entry are the program's.
    shows!("DAT-5", fetch(at.segment, SEGMENT + 8), 0x99);
    shows!("DAT-6", at.fetch_with(4, 0xFF), 0);
    set_space(at.segment);
    let at_31 = SEGMENT | 0xFFFF_FFFF_8000_0000;
    let outcome =
        attempt!("sacf 0x100\n sam31\n lg %r1, 0({a})\n sam64\n sacf 0", a = in(reg_addr) at_31);
    shows!("DAT-7", ended(outcome), 0);
    let at_24 = SEGMENT | 0xFFFF_FFFF_FF00_0000;
    let fetched: u64;
    // SAFETY: the routine is in the first 16 MiB, and returns in the 64-bit mode.
    unsafe {
        core::arch::asm!(
            "sacf 0x100", "sam24", "lg {v}, 0({a})", "sam64", "sacf 0",
            v = out(reg) fetched, a = in(reg_addr) at_24,
        );
    }
    shows!("DAT-7", fetched, MARK);
}

fn designations(at: &At) {
    shows!("DAT-8", fetch(at.segment, IN_THIRD), ASCE_TYPE);
    shows!("DAT-8", fetch(at.third | THIRD, IN_SECOND), ASCE_TYPE);
    shows!("DAT-8", fetch(at.second | SECOND, IN_FIRST), ASCE_TYPE);
    // The first bit in front of the part is enough.
    let bits = [
        fetch(at.segment, 1 << 31 | SEGMENT),
        fetch(at.third | THIRD, 1 << 42 | IN_THIRD),
        fetch(at.second | SECOND, 1 << 53 | IN_SECOND),
    ];
    shows!("DAT-8", bits, [ASCE_TYPE; 3]);
    // The type of the space is tested before any table.
    shows!(
        "DAT-9",
        fetch(at.segment, 1 << 63 | (SEGMENT_INDEX + 1) << 20),
        ASCE_TYPE
    );
    shows!(
        "DAT-10",
        fetch(at.first | FIRST, IN_FIRST + (PART << 53)),
        REGION_FIRST
    );
    shows!(
        "DAT-11",
        fetch(at.second | SECOND, IN_SECOND + (PART << 42)),
        REGION_SECOND
    );
    shows!(
        "DAT-12",
        fetch(at.third | THIRD, IN_THIRD + (PART << 31)),
        REGION_THIRD
    );
    shows!(
        "DAT-13",
        fetch(at.segment, SEGMENT + (PART << 20)),
        SEGMENT_TRANSLATION
    );
}

/// Lengths and offsets of tables that entries designate.
fn parts(at: &At) {
    let in_first = |add: u64| fetch(at.first | FIRST, IN_FIRST + add);
    shows!("DAT-11", in_first(PART << 42), REGION_SECOND);
    shows!("DAT-12", in_first(PART << 31), REGION_THIRD);
    shows!("DAT-13", in_first(PART << 20), SEGMENT_TRANSLATION);
    // With a length of two parts the entry behind is used.
    let [first, second, third, segment, _] = at.entries();
    let behind = |entry: u64| entry + 8 * PART;
    store(behind(segment), load(segment));
    store(behind(third), load(third));
    store(behind(second), load(second));
    store(behind(first), load(first));
    shows!(
        "DAT-14",
        fetch(at.segment | LENGTH_1, SEGMENT + (PART << 20)),
        0
    );
    shows!(
        "DAT-14",
        fetch(at.third | THIRD | LENGTH_1, IN_THIRD + (PART << 31)),
        0
    );
    shows!(
        "DAT-14",
        fetch(at.second | SECOND | LENGTH_1, IN_SECOND + (PART << 42)),
        0
    );
    shows!(
        "DAT-14",
        fetch(at.first | FIRST | LENGTH_1, IN_FIRST + (PART << 53)),
        0
    );
    // An offset of one part: the table begins behind it, and still ends with its length.
    for (level, exception, shift) in [
        (2, SEGMENT_TRANSLATION, 20),
        (1, REGION_THIRD, 31),
        (0, REGION_SECOND, 42),
    ] {
        let entry = at.entries()[level];
        let kept = load(entry);
        store(entry, kept | OFFSET_1 | LENGTH_1);
        ptlb();
        shows!("DAT-15", in_first(0), exception);
        shows!("DAT-16", in_first(PART << shift), 0);
        store(entry, kept | OFFSET_1);
        ptlb();
        shows!("DAT-15", in_first(PART << shift), exception);
        store(entry, kept);
    }
    for entry in [first, second, third, segment] {
        store(behind(entry), INVALID);
    }
    ptlb();
}

fn entries(at: &At) {
    shows!("DAT-17", at.fetch_with(0, INVALID), REGION_FIRST);
    shows!("DAT-18", at.fetch_with(1, INVALID), REGION_SECOND);
    shows!("DAT-19", at.fetch_with(2, INVALID), REGION_THIRD);
    shows!("DAT-20", at.fetch_with(3, INVALID), SEGMENT_TRANSLATION);
    shows!("DAT-21", at.fetch_with(4, PAGE_INVALID), PAGE_TRANSLATION);
    for level in 0..4 {
        for change in [0x4, 0x8, 0xC] {
            shows!("DAT-22", at.fetch_with(level, change), SPECIFICATION);
        }
    }
    shows!("DAT-23", at.fetch_with(4, MUST_BE_ZERO), SPECIFICATION);
    // An invalid entry may have any other bits.
    shows!("DAT-24", at.fetch_with(1, INVALID | 0x4), REGION_SECOND);
    shows!(
        "DAT-24",
        at.fetch_with(4, PAGE_INVALID | MUST_BE_ZERO),
        PAGE_TRANSLATION
    );
    // The tables are used from the first to the last.
    store(at.entries()[4], PAGE_INVALID);
    shows!("DAT-25", at.fetch_with(3, INVALID), SEGMENT_TRANSLATION);
    shows!("DAT-25", at.fetch_with(2, 0x8), SPECIFICATION);
    at.good();
    let beyond = 1 << 40;
    for level in 0..4 {
        shows!("DAT-26", at.fetch_with(level, beyond), ADDRESSING);
    }
    shows!("DAT-27", at.fetch_with(4, beyond), ADDRESSING);
    shows!("DAT-26", fetch(beyond | FIRST, IN_FIRST), ADDRESSING);
    // A common segment belongs to no private space.
    shows!("DAT-28", at.fetch_with(3, COMMON), 0);
    store(at.entries()[3], at.pages | COMMON);
    ptlb();
    shows!(
        "DAT-29",
        fetch(at.first | FIRST | PRIVATE, IN_FIRST),
        SPECIFICATION
    );
    at.good();
    shows!("DAT-29", fetch(at.first | FIRST | PRIVATE, IN_FIRST), 0);
}

fn protection(at: &At) {
    let element = at.first | FIRST;
    shows!("DATPROTECTION-1", put(element, IN_FIRST, MARK), 0);
    let [.., segment, page] = at.entries();
    for (n, entry) in [page, segment].into_iter().enumerate() {
        let kept = load(entry);
        store(entry, kept | PROTECTED);
        ptlb();
        let found = (put(element, IN_FIRST, MARK), fetch(element, IN_FIRST));
        let expected = (PROTECTION, 0);
        if n == 0 {
            shows!(["DATPROTECTION-2", "DATPROTECTION-4"], found, expected);
        } else {
            shows!(["DATPROTECTION-3", "DATPROTECTION-4"], found, expected);
        }
        store(entry, kept);
        ptlb();
    }
    // Nothing of an operand is stored if a part of it is protected.
    let [a, b] = [PAGE_INDEX, PAGE_INDEX + 1];
    store(at.pages + 8 * b, (at.frame + 4096) | PROTECTED);
    store(at.frame + 4088, MARK);
    ptlb();
    let across = IN_FIRST - BYTE - (PAGE_INDEX << 12) + (a << 12) + 4092;
    let ended = put(element, across, 0);
    shows!(
        "DATPROTECTION-5",
        (ended, load(at.frame + 4088)),
        (PROTECTION, MARK)
    );
    // Nor if a part of it cannot be translated.
    store(at.pages + 8 * b, PAGE_INVALID);
    ptlb();
    let ended = put(element, across, 0);
    shows!(
        "DAT-30",
        (ended, load(at.frame + 4088)),
        (PAGE_TRANSLATION, MARK)
    );
}

/// What the translation-lookaside buffer may keep.
fn buffer(at: &At) {
    let element = at.first | FIRST;
    let page = at.entries()[4];
    store(page, at.frame | PAGE_INVALID);
    ptlb();
    shows!("TLB-1", fetch(element, IN_FIRST), PAGE_TRANSLATION);
    // An invalid entry is not in the buffer: it is valid as soon as it is changed.
    store(page, at.frame);
    shows!("TLB-1", fetch(element, IN_FIRST), 0);
    store(page, at.frame | PAGE_INVALID);
    ptlb();
    shows!("TLB-2", fetch(element, IN_FIRST), PAGE_TRANSLATION);
    let segment = at.entries()[3];
    store(page, at.frame);
    store(segment, at.pages | INVALID);
    ptlb();
    shows!("TLB-2", fetch(element, IN_FIRST), SEGMENT_TRANSLATION);
    store(segment, at.pages);
    shows!("TLB-1", fetch(element, IN_FIRST), 0);
}

fn run() {
    let at = At::new();
    store(at.frame + BYTE, MARK);
    store(at.frame + BYTE + 8, MARK ^ 0x99);
    dat::prepare();
    let kept = stctg_all();
    let mut registers = kept;
    registers[0] |= bit(37);
    lctlg_all(&registers);
    dat::on();
    at.good();
    valid(&at);
    designations(&at);
    parts(&at);
    entries(&at);
    protection(&at);
    at.good();
    buffer(&at);
    dat::off();
    lctlg_all(&kept);
}
