//! Two hundred address spaces, each with its own tables and pages in forty places, and one with a page in each segment:
//! more than a machine that keeps tables of its own for them has room for. Each space finds its own pages, whenever it
//! comes back.

use core::ptr::{read_volatile, with_exposed_provenance};

use guests::check::check;
use guests::dat::{self, SEGMENT_INVALID};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::virtio::{load, store};

guests::clause!(
    "Principles of Operation, Dynamic Address Translation (Translation Tables)",
    native = true
);
guests::case!(run);

const SPACES: u64 = 200;
/// Segments of a space in which it has a page, this many apart.
const PLACES: u64 = 40;
const APART: u64 = 3;
const FIRST: u64 = 100;

/// This one has its page in each segment from the first place on.
const FULL: u64 = 0;

/// In the first 16 MiB, behind the program: segment tables of 2048 entries, page tables, and a page for each space.
const SEGMENT_TABLES: u64 = 0x80_0000;
const PAGE_TABLES: u64 = 0xC0_0000;
const PAGES: u64 = 0xD0_0000;
const SEGMENT_TABLE: u64 = 2048 * 8;
const PAGE_TABLE: u64 = 256 * 8;
/// The page of a place that is mapped.
const PAGE_INDEX: u64 = 77;

/// The page of a space at a place.
const fn address(place: u64) -> u64 {
    ((FIRST + APART * place) << 20) + (PAGE_INDEX << 12)
}

fn build(space: u64, own: u64) {
    let (segments, pages) = (
        SEGMENT_TABLES + SEGMENT_TABLE * space,
        PAGE_TABLES + PAGE_TABLE * space,
    );
    for segment in 0..2048 {
        // The program is at the same addresses in each.
        let entry = if segment < 16 {
            load::<u64>(own + 8 * segment)
        } else if segment >= FIRST && (space == FULL || (segment - FIRST) % APART == 0) {
            pages
        } else {
            SEGMENT_INVALID
        };
        store(segments + 8 * segment, entry);
    }
    for page in 0..256 {
        let entry = if page == PAGE_INDEX {
            PAGES + 4096 * space
        } else {
            dat::INVALID
        };
        store(pages + 8 * page, entry);
    }
    store(PAGES + 4096 * space, space);
}

fn run() {
    dat::prepare();
    let mut registers = stctg_all();
    let own = registers[1] & !0xFFF;
    for space in 0..SPACES {
        build(space, own);
    }
    dat::on();
    let find = |address: u64| -> u64 {
        // SAFETY: the page of the present space.
        unsafe { read_volatile(with_exposed_provenance(address as usize)) }
    };
    let mut wrong = 0_u64;
    for round in 0..3 {
        for n in 0..SPACES {
            let space = (n * 7 + round) % SPACES;
            registers[1] = SEGMENT_TABLES + SEGMENT_TABLE * space | 3;
            lctlg_all(&registers);
            for place in 0..PLACES {
                wrong += u64::from(find(address(place)) != space);
            }
        }
    }
    registers[1] = SEGMENT_TABLES + SEGMENT_TABLE * FULL | 3;
    lctlg_all(&registers);
    for _ in 0..2 {
        for segment in FIRST..2048 {
            wrong += u64::from(find((segment << 20) + (PAGE_INDEX << 12)) != FULL);
        }
    }
    registers[1] = own | 3;
    lctlg_all(&registers);
    dat::off();
    check("pages of another space", wrong, 0);
}
