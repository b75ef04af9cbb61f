//! The pool of one CPU's DAT-on shadow: its tables, and the lists that lead to their entries.
//!
//! It has three parts, in this order:
//!
//! * For each page frame of the guest, a doubleword with the heads of two lists: the shadow entries that
//!   map the frame (left half), and the shadow page tables that were filled from a guest's page table in
//!   it (right half).
//! * For each 4 KiB block of the pool, a header.
//! * Units of four blocks. A unit is one region or segment table, or four page tables.
//!
//! A page table takes a block: 256 entries, followed by the link of each. A link is a doubleword with the
//! reference of the preceding member (or, for the first one, the number of the frame) and of the following
//! one. An entry has a link exactly while it is valid. The reference of an entry is the number of its
//! doubleword in the pool, that of a table the number of its block; neither is ever zero, because the pool
//! begins with the frames.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::shadow::plan::{HEADER, Plan, UNIT};
use crate::state::vcpu::Vcpu;
use arch::address::{Absolute, PAGE, Real, Virtual};
use arch::table::PTE_INVALID;

/// Bytes of a unit, which is as long as a region or segment table.
pub(super) const UNIT_LENGTH: u64 = UNIT * PAGE;
/// From an entry to its link, and from a page table to its links.
const LINKS: u64 = 2048;
/// Bytes of a page table.
const PAGE_TABLE: u64 = 2048;

/// In the left half of a link: the member is the first one of this frame's list.
const FIRST: u64 = 1 << 31;
/// The right half of a doubleword.
const RIGHT: u64 = 0xFFFF_FFFF;

/// The fields of a block's header, by offset.
mod header {
    /// Of a page table: the absolute address of the guest's page table that it was filled from.
    pub const ORIGIN: u64 = 0;
    /// Of a page table: the virtual address that it begins to translate.
    pub const ADDRESS: u64 = 8;
    /// Of a page table: its link.
    pub const LINK: u64 = 16;
    /// Of a unit's first block: the next unit of the space, or the next free one.
    pub const NEXT: u64 = 24;
    /// Of a unit's first block: how many page tables have been taken from it.
    pub const TABLES: u64 = 32;
}

/// The pool of one CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pool {
    pub(super) plan: Plan,
    pub(super) base: Real,
}

/// One of the two lists of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum List {
    Entries,
    Tables,
}

impl List {
    /// By how much to shift the head in the frame's doubleword.
    const fn shift(self) -> u32 {
        match self {
            Self::Entries => 32,
            Self::Tables => 0,
        }
    }

    /// Where the link of a member is.
    const fn link(self, pool: Pool, member: u64) -> Real {
        match self {
            Self::Entries => pool.base.offset(member * 8 + LINKS),
            Self::Tables => pool.header(member).offset(header::LINK),
        }
    }

    fn head<H: Hardware>(self, pool: Pool, hardware: &H, frame: u64) -> u64 {
        hardware.hsa_load(pool.heads(frame)) >> self.shift() & RIGHT
    }

    fn set_head<H: Hardware>(self, pool: Pool, hardware: &mut H, frame: u64, head: u64) {
        let at = pool.heads(frame);
        let others = hardware.hsa_load(at) & !(RIGHT << self.shift());
        hardware.hsa_store(at, others | head << self.shift());
    }

    /// Makes a member the first one of a frame's list.
    #[inline]
    fn insert<H: Hardware>(self, pool: Pool, hardware: &mut H, frame: u64, member: u64) {
        let at = pool.heads(frame);
        let heads = hardware.hsa_load(at);
        let behind = heads >> self.shift() & RIGHT;
        hardware.hsa_store(self.link(pool, member), (FIRST | frame) << 32 | behind);
        if behind != 0 {
            self.change(pool, hardware, behind, RIGHT, member << 32);
        }
        let others = heads & !(RIGHT << self.shift());
        hardware.hsa_store(at, others | member << self.shift());
    }

    /// Removes a member from its list, if it is in one.
    fn remove<H: Hardware>(self, pool: Pool, hardware: &mut H, member: u64) {
        let link = hardware.hsa_load(self.link(pool, member));
        if link == 0 {
            return;
        }
        hardware.hsa_store(self.link(pool, member), 0);
        let (before, behind) = (link >> 32, link & RIGHT);
        if before & FIRST != 0 {
            self.set_head(pool, hardware, before & !FIRST, behind);
        } else {
            self.change(pool, hardware, before, RIGHT << 32, behind);
        }
        if behind != 0 {
            self.change(pool, hardware, behind, RIGHT, before << 32);
        }
    }

    /// Keeps the bits `keep` of a member's link and adds others.
    fn change<H: Hardware>(self, pool: Pool, hardware: &mut H, member: u64, keep: u64, add: u64) {
        let at = self.link(pool, member);
        hardware.hsa_store(at, hardware.hsa_load(at) & keep | add);
    }
}

impl Pool {
    /// The heads of a frame's lists.
    const fn heads(self, frame: u64) -> Real {
        self.base.offset(frame * 8)
    }

    /// The header of a block.
    const fn header(self, block: u64) -> Real {
        self.base.offset(self.plan.frames + block * HEADER)
    }

    /// The table in a block.
    pub(super) const fn table(self, block: u64) -> Real {
        self.base.offset(block * PAGE)
    }

    /// The block of a table, or of an entry or link in it.
    const fn block(self, at: Real) -> u64 {
        (at.0 - self.base.0) / PAGE
    }

    const fn reference(self, entry: Real) -> u64 {
        (entry.0 - self.base.0) / 8
    }

    /// The unit with a number, from 0 on.
    pub(super) const fn unit(self, number: u64) -> u64 {
        self.plan.first + number * UNIT
    }

    /// The unit after this one in its list.
    pub(super) fn next<H: Hardware>(self, hardware: &H, unit: u64) -> u64 {
        hardware.hsa_load(self.header(unit).offset(header::NEXT))
    }

    /// Puts a unit before others.
    pub(super) fn set_next<H: Hardware>(self, hardware: &mut H, unit: u64, next: u64) {
        hardware.hsa_store(self.header(unit).offset(header::NEXT), next);
    }

    /// The unit has no page tables yet.
    pub(super) fn start<H: Hardware>(self, hardware: &mut H, unit: u64) {
        hardware.hsa_store(self.header(unit).offset(header::TABLES), 0);
    }

    /// Empties all lists.
    pub(super) fn forget<H: Hardware>(self, hardware: &mut H) {
        hardware.hsa_fill(self.base, self.plan.frames, 0);
    }

    /// Takes the next page table of a unit, empty, for translations that begin at `address` and are filled
    /// from the guest's page table at `origin`. Returns it, and whether it was the unit's last.
    pub(super) fn take_page_table<H: Hardware>(
        self,
        hardware: &mut H,
        unit: u64,
        address: Virtual,
        origin: Absolute,
    ) -> (Real, bool) {
        let count = self.header(unit).offset(header::TABLES);
        let taken = hardware.hsa_load(count);
        hardware.hsa_store(count, taken + 1);
        let block = unit + taken;
        let table = self.table(block);
        hardware.hsa_fill(table, PAGE_TABLE, PTE_INVALID);
        hardware.hsa_fill(table.offset(LINKS), PAGE_TABLE, 0);
        let header = self.header(block);
        hardware.hsa_store(header.offset(header::ADDRESS), address.0);
        hardware.hsa_store(header.offset(header::ORIGIN), origin.0);
        List::Tables.insert(self, hardware, origin.0 / PAGE, block);
        (table, taken + 1 == UNIT)
    }

    /// The guest's page table from which a page table was filled.
    pub(super) fn origin<H: Hardware>(self, hardware: &H, table: Real) -> Absolute {
        Absolute(hardware.hsa_load(self.header(self.block(table)).offset(header::ORIGIN)))
    }

    /// From now on a page table is filled from another page table of the guest; it is empty.
    pub(super) fn set_origin<H: Hardware>(self, hardware: &mut H, table: Real, origin: Absolute) {
        let block = self.block(table);
        self.clear_page_table(hardware, block);
        List::Tables.remove(self, hardware, block);
        hardware.hsa_store(self.header(block).offset(header::ORIGIN), origin.0);
        List::Tables.insert(self, hardware, origin.0 / PAGE, block);
    }

    /// Makes every entry of a page table invalid; the caller purges the TLB, or has done so.
    fn clear_page_table<H: Hardware>(self, hardware: &mut H, block: u64) {
        self.unlink_entries(hardware, block);
        hardware.hsa_fill(self.table(block), PAGE_TABLE, PTE_INVALID);
    }

    /// Removes every entry of a page table from its list.
    fn unlink_entries<H: Hardware>(self, hardware: &mut H, block: u64) {
        /// Most tables have few entries, so several links are looked at together.
        const TOGETHER: u64 = 4;
        let table = self.table(block);
        for group in (0..PAGE_TABLE).step_by(8 * TOGETHER as usize) {
            let entries = (0..TOGETHER).map(|n| table.offset(group + 8 * n));
            let links = entries
                .clone()
                .map(|entry| hardware.hsa_load(entry.offset(LINKS)));
            if links.fold(0, |all, link| all | link) != 0 {
                for entry in entries {
                    List::Entries.remove(self, hardware, self.reference(entry));
                }
            }
        }
    }

    /// Removes the page tables of a unit, and their entries, from all lists. The unit is filled again when it is taken.
    pub(super) fn release<H: Hardware>(self, hardware: &mut H, unit: u64) {
        let taken = hardware.hsa_load(self.header(unit).offset(header::TABLES));
        for block in unit..unit + taken.min(UNIT) {
            self.unlink_entries(hardware, block);
            List::Tables.remove(self, hardware, block);
        }
    }

    /// Makes an entry valid: `value` maps the guest's frame at `frame`, or its copy.
    #[inline]
    pub(super) fn enter<H: Hardware>(
        self,
        hardware: &mut H,
        entry: Real,
        frame: Absolute,
        value: u64,
    ) {
        if hardware.hsa_load(entry) & PTE_INVALID == 0 {
            self.invalidate(hardware, entry);
        }
        self.enter_new(hardware, entry, frame, value);
    }

    /// The same for an entry that is not valid.
    #[inline]
    pub(super) fn enter_new<H: Hardware>(
        self,
        hardware: &mut H,
        entry: Real,
        frame: Absolute,
        value: u64,
    ) {
        hardware.hsa_store(entry, value);
        List::Entries.insert(self, hardware, frame.0 / PAGE, self.reference(entry));
    }

    /// Makes a valid entry invalid, also in the TLB.
    pub(super) fn invalidate<H: Hardware>(self, hardware: &mut H, entry: Real) {
        self.purge(hardware, entry);
        List::Entries.remove(self, hardware, self.reference(entry));
    }

    /// Adds a protection to an entry, if it is valid and does not have it.
    pub(super) fn protect<H: Hardware>(self, hardware: &mut H, entry: Real, protection: u64) {
        let value = hardware.hsa_load(entry);
        if value & (PTE_INVALID | protection) == 0 {
            self.purge(hardware, entry);
            hardware.hsa_store(entry, value | protection);
        }
    }

    /// Makes a valid entry invalid, also in the TLB; it stays in its list.
    fn purge<H: Hardware>(self, hardware: &mut H, entry: Real) {
        let address = hardware.hsa_load(self.header(self.block(entry)).offset(header::ADDRESS));
        let index = entry.byte_index() / 8;
        hardware.invalidate_page(entry.page(), Virtual(address + index * PAGE));
    }

    /// Makes every entry that maps a frame of the guest invalid.
    pub(super) fn invalidate_frame<H: Hardware>(self, hardware: &mut H, frame: Absolute) {
        loop {
            let first = List::Entries.head(self, hardware, frame.0 / PAGE);
            if first == 0 {
                break;
            }
            self.invalidate(hardware, self.base.offset(first * 8));
        }
    }

    /// Makes every entry that was filled from a page-table entry of the guest invalid.
    pub(super) fn invalidate_entry<H: Hardware>(self, hardware: &mut H, from: Absolute) {
        let origin = from.0 & !(PAGE_TABLE - 1);
        let mut block = List::Tables.head(self, hardware, from.0 / PAGE);
        while block != 0 {
            let header = self.header(block);
            if hardware.hsa_load(header.offset(header::ORIGIN)) == origin {
                let entry = self.table(block).offset(from.0 % PAGE_TABLE);
                if hardware.hsa_load(entry) & PTE_INVALID == 0 {
                    self.invalidate(hardware, entry);
                }
            }
            block = hardware.hsa_load(header.offset(header::LINK)) & RIGHT;
        }
    }
}

use crate::state::shadow::SharedShadow;
impl SharedShadow {
    /// The pool of a CPU.
    pub(super) fn pool(&self, cpu: usize) -> Pool {
        Pool {
            plan: self.plan,
            base: self.pools.offset(cpu as u64 * self.pool_length),
        }
    }
}

/// The pool of a CPU's own shadow.
pub(super) fn pool(cpu: &Vcpu, configuration: &Configuration) -> Pool {
    configuration.shadow.pool(usize::from(cpu.address))
}
