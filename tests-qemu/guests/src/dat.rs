//! Dynamic address translation by the guest's own tables: one segment table, and page tables for 16 MiB.
//!
//! For the first 16 MiB, which include the guest's image, virtual addresses are real ones. The segments behind are
//! invalid, except that [`window`] maps 256 further pages at 64 MiB. A guest may make each of these valid, protected
//! or invalid.

use crate::insn::control;
use crate::insn::storage::ipte;
use crate::lowcore;
use crate::psw::{self, Psw};

/// Page-protection bit of a page-table entry, bit 54.
pub const PROTECTED: u64 = 0x200;
/// Page-invalid bit of a page-table entry, bit 53.
pub const INVALID: u64 = 0x400;
/// Segment-invalid bit of a segment-table entry, bit 58.
pub const SEGMENT_INVALID: u64 = 0x20;

/// The secondary-space control in control register 0. SET ADDRESS SPACE CONTROL requires it.
const SECONDARY_SPACE_CONTROL: u64 = 1 << 26;
/// The private-space control of an address-space-control element.
const PRIVATE_SPACE: u64 = 0x100;

const IDENTITY_SEGMENTS: usize = 16;
/// The segment of the window.
pub const WINDOW_SEGMENT: usize = 64;
/// The virtual address of the window.
pub const WINDOW: u64 = (WINDOW_SEGMENT as u64) << 20;

/// 2048 segment-table entries: 2 GiB, a segment-type table of full length.
#[repr(C, align(16384))]
struct SegmentTable([u64; 2048]);

/// 256 page-table entries: 1 MiB.
#[repr(C, align(2048))]
pub struct PageTable(pub [u64; 256]);

static mut SEGMENTS: SegmentTable = SegmentTable([SEGMENT_INVALID; 2048]);
static mut PAGES: [PageTable; IDENTITY_SEGMENTS] =
    [const { PageTable([INVALID; 256]) }; IDENTITY_SEGMENTS];
static mut WINDOW_PAGES: PageTable = PageTable([INVALID; 256]);

/// Makes the tables and loads control registers 1, 7 and 13 with them; DAT stays off.
pub fn prepare() {
    // SAFETY: CPU 0 alone makes the tables, before DAT is used.
    unsafe {
        let segments = &mut *(&raw mut SEGMENTS);
        let pages = &mut *(&raw mut PAGES);
        for (n, table) in pages.iter_mut().enumerate() {
            for (m, entry) in table.0.iter_mut().enumerate() {
                *entry = ((n << 20) + (m << 12)) as u64;
            }
            segments.0[n] = &raw const *table as u64;
        }
        segments.0[WINDOW_SEGMENT] = &raw const WINDOW_PAGES as u64;
    }
    load();
}

/// Loads control registers 1, 7 and 13 of this CPU with the tables that [`prepare`] made on CPU 0.
pub fn load() {
    // Designation type 00 (segment table), table length 3: 2048 entries.
    let asce = &raw const SEGMENTS as u64 | 3;
    let mut registers = control::stctg_all();
    registers[1] = asce;
    registers[7] = asce;
    registers[13] = asce;
    control::lctlg_all(&registers);
}

/// Makes a page of the first 16 MiB invalid, or valid again, and purges the TLB.
pub fn set_identity(address: u64, valid: bool) {
    let (segment, page) = ((address >> 20) as usize, (address >> 12) as usize & 0xFF);
    let real = address & !0xFFF;
    let entry = if valid { real } else { real | INVALID };
    // SAFETY: an entry of an identity table. The program does not use the table while DAT is off.
    unsafe {
        (&raw mut PAGES[segment].0[page]).write_volatile(entry);
        core::arch::asm!("ptlb");
    }
}

/// The page table of the window.
pub fn window() -> *mut PageTable {
    &raw mut WINDOW_PAGES
}

/// The real address of the page table of the window, as IPTE and segment-table entries take it.
#[must_use]
pub fn window_origin() -> u64 {
    window() as u64
}

/// Sets one page-table entry of the window (no purge: an invalid entry was never in the TLB).
pub fn set_window(page: usize, entry: u64) {
    // SAFETY: an entry of the window's table.
    unsafe { (&raw mut (*window()).0[page]).write_volatile(entry) }
}

/// Sets a page-table entry of the window, and purges its former translation.
pub fn replace_window(page: usize, entry: u64) {
    ipte(window_origin(), (page as u64) << 12);
    set_window(page, entry);
}

/// Calls `run` with a home space that differs from the primary one but uses the same tables. SET ADDRESS SPACE
/// CONTROL enters it.
pub fn with_home_space(run: impl FnOnce()) {
    let saved = control::stctg_all();
    let mut registers = saved;
    registers[0] |= SECONDARY_SPACE_CONTROL;
    registers[13] ^= PRIVATE_SPACE;
    control::lctlg_all(&registers);
    run();
    control::lctlg_all(&saved);
}

/// The real address of a segment-table entry.
#[must_use]
pub fn segment_entry(segment: usize) -> u64 {
    &raw const SEGMENTS as u64 + 8 * segment as u64
}

/// Sets a segment-table entry behind the identity.
pub fn set_segment(segment: usize, entry: u64) {
    // SAFETY: an entry of the segment table.
    unsafe { (&raw mut SEGMENTS.0[segment]).write_volatile(entry) }
}

/// Turns DAT on for what follows, attempts included.
pub fn on() {
    lowcore::write(lowcore::RESUME_PSW, Psw::new(psw::INITIAL | psw::DAT, 0));
    lowcore::write(
        lowcore::PROBLEM_PSW,
        Psw::new(psw::INITIAL | psw::DAT | psw::PROBLEM, 0),
    );
    control::stosm::<0x04>();
}

/// Turns DAT off again.
pub fn off() {
    control::stnsm::<0xFB>();
    lowcore::write(lowcore::RESUME_PSW, Psw::new(psw::INITIAL, 0));
    lowcore::write(
        lowcore::PROBLEM_PSW,
        Psw::new(psw::INITIAL | psw::PROBLEM, 0),
    );
}
