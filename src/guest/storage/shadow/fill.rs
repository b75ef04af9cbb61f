//! The shadow fill: enters a translation of the guest into the DAT-on shadow of a CPU.
//!
//! **Neighbouring pages come with it.** What a program uses next is most often near, and a page table of the guest has its
//! translations side by side. So a fill also enters the other pages of the same block of [`BLOCK`] whose translations are
//! valid, and each of them saves a trap if it is used. A TLB may form entries that no access has asked for; the purge of
//! an entry drops them like the others.

use crate::hardware::Hardware;
use crate::state::access::{Access, Translation};
use crate::state::configuration::Configuration;
use crate::state::page_frames::{DATA, TEXT, TRUSTED};
use crate::state::shadow::recent::{Filled, REMEMBERED};
use crate::state::shadow::{LastFilled, SEGMENT, Side};
use crate::state::vcpu::Vcpu;
use crate::storage::checked::Checked;
use crate::storage::shadow::adjoining::{can_enter, is_before_beginning};
use crate::storage::shadow::catch_up::catch_up;
use crate::storage::shadow::entry::{entry, of_data, of_unusual};
use crate::storage::shadow::pool::pool;
use crate::storage::shadow::spaces::{empty, place, root, take_page_table, take_table};
use crate::storage::shadow::{identity, is_complete, own_real, stale};
use crate::storage::{self, scanner};
use arch::address::{Absolute, PAGE, PREFIX_AREA, Real, Virtual};
use arch::control::{CR0_INSTRUCTION_EXECUTION_PROTECTION, asce};
use arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_FRAME, PTE_INVALID, PTE_PROTECTION, PTE_ZERO, RTE_INVALID,
    STE_INVALID,
};

/// Enters a translation of the guest into the DAT-on shadow: the shadow fill.
///
/// `guest` is the address-space-control element by which `at` was translated. If a guest has purged
/// anything since, the translation may be out of date: it is not entered, and the guest tries
/// again.
pub fn fill<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    at: Virtual,
    translation: &Translation,
    access: Access,
) {
    if is_complete(cpu, guest) {
        if access == Access::Execute && is_left_out(cpu, configuration, hardware, translation) {
            cpu.shadow.needs_real = true;
            own_real(cpu, true);
        }
        return;
    }
    if stale(cpu, configuration) && catch_up(cpu, configuration, hardware) {
        return;
    }
    let frame = cpu.absolute(translation.real).page();
    if access == Access::Execute && configuration.channels.present() {
        scanner::look_for_device_store(configuration, hardware, frame);
    }
    let side = Side::of(cpu, access);
    let mut value = entry(configuration, usize::from(cpu.address), side, frame);
    if value & PTE_INVALID != 0 {
        return;
    }
    if translation.protected {
        value |= PTE_PROTECTION;
    }
    if translation.execution_protected {
        value |= PTE_EXECUTION_PROTECTION;
    }
    let origin = cpu.absolute(translation.entry);
    // A space that needs more room than there is gets the whole pool.
    let table = loop {
        match page_table(cpu, configuration, hardware, guest, side, at, origin) {
            Some(table) => break table,
            None => empty(cpu, configuration, hardware),
        }
    };
    let pages = &configuration.page_frames;
    let is_checked = match side {
        Side::Operands => false,
        Side::Instructions => pages.any_begins() || pages.has_edge(frame),
        Side::Single => pages.has_edge(frame),
    };
    if is_checked
        && !can_enter(
            cpu,
            configuration,
            hardware,
            guest,
            at,
            frame,
            (side, table),
        )
    {
        return;
    }
    let entry = table.offset((at.0 >> 12 & 0xFF) * 8);
    pool(cpu, configuration).enter(hardware, entry, frame, value);
    // The first fills after a purge are remembered, so that the next purge need not drop them; and pages that are
    // protected for program-event recording are to be missed one by one.
    let is_real = guest & asce::REAL_SPACE != 0;
    if cpu.shadow.recent.count > REMEMBERED && !cpu.per.is_on() && !is_real {
        let entered = enter_neighbours(cpu, configuration, hardware, entry, side, translation);
        cpu.fills.add_near(access == Access::Execute, entered);
    }
    cpu.shadow.recent.note(Filled {
        guest,
        at: at.page(),
        translation: *translation,
        entry,
    });
    cpu.shadow.fills += 1;
}

/// Whether the page of a translation may not be mapped in front of every other page, or behind it, so that a complete space has
/// left it out.
#[cold]
fn is_left_out<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    translation: &Translation,
) -> bool {
    let cpu = usize::from(cpu.address);
    identity::is_left_out(configuration, hardware, cpu, translation.real.page())
}

/// Pages of a block of a control program, which maps most of its storage at once.
pub(super) const BLOCK: u64 = 16;

/// Pages of a block of a program, which has few pages and is often short-lived.
pub(super) const BLOCK_OF_PROGRAM: u64 = 4;

/// Entries that are looked at together. A block is a multiple of it.
const TOGETHER: u64 = 4;

/// Enters the other pages of the block with the page of `translation`, whose entry in the shadow is at `place`. Returns how
/// many.
///
/// The requests of other CPUs are as little known here as they were when the page itself was entered: what they purge
/// afterwards is dropped on the way out.
#[inline(never)]
fn enter_neighbours<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    place: Real,
    side: Side,
    translation: &Translation,
) -> u64 {
    let length = 8 * if side == Side::Single {
        BLOCK_OF_PROGRAM
    } else {
        BLOCK
    };
    // The walk has fetched an entry of the block, which does not cross the boundary of a page.
    let from = Absolute(cpu.absolute(translation.entry).0 & !(length - 1));
    let Some(block) = Checked::doubleword(from, &configuration.storage) else {
        return 0;
    };
    let from = storage::placed(hardware, block.frame());
    let first = translation.entry.byte_index() & !(length - 1);
    let places = Real(place.0 & !(length - 1));
    let pool = pool(cpu, configuration);
    // If the protection of the page that was asked for is that of its segment, it is theirs, too. If not, a store finds out.
    let all = if translation.protected {
        PTE_PROTECTION
    } else {
        0
    };
    let forbids = cpu.control[0] & CR0_INSTRUCTION_EXECUTION_PROTECTION != 0;
    let data = of_data(side);
    let mut entered = 0;
    // Where one page is not there, those beside it often are not either.
    for group in (0..length).step_by(8 * TOGETHER as usize) {
        let at = first + group;
        let [one, two] = hardware.load_two(from, [at, at + 8]);
        let [three, four] = hardware.load_two(from, [at + 16, at + 24]);
        if one & two & three & four & PTE_INVALID != 0 {
            continue;
        }
        for offset in (group..group + 8 * TOGETHER).step_by(8) {
            let guest = hardware.load_u64(block.offset(offset));
            if guest & (PTE_INVALID | PTE_ZERO) != 0 {
                continue;
            }
            let place = places.offset(offset);
            if hardware.hsa_load(place) & PTE_INVALID == 0 {
                continue;
            }
            // No page of a prefix area: few are accessed, and one that is has an entry by the access itself.
            let frame = Absolute(guest & PTE_FRAME);
            if frame.0 < PREFIX_AREA
                || frame.0.wrapping_sub(cpu.prefix) < PREFIX_AREA
                || !configuration.storage.holds_byte(frame)
            {
                continue;
            }
            let mut value = match configuration.page_frames.raw_with_edge(frame) {
                DATA => frame.0 | data,
                TEXT | TRUSTED
                    if side == Side::Instructions
                        && configuration.page_frames.any_begins()
                        && is_before_beginning(configuration, hardware, place) =>
                {
                    continue;
                }
                TEXT | TRUSTED => frame.0 | PTE_PROTECTION,
                // Whether a device has stored into a page with a copy is found when the page itself is executed.
                _ if side == Side::Instructions => continue,
                // What may be beside it is found when it is executed.
                _ if side == Side::Single && configuration.page_frames.has_edge(frame) => continue,
                _ => of_unusual(configuration, side, frame, frame.0),
            };
            if value & PTE_INVALID != 0 {
                continue;
            }
            if guest & PTE_EXECUTION_PROTECTION != 0 && forbids {
                if side == Side::Instructions {
                    continue;
                }
                value |= PTE_EXECUTION_PROTECTION;
            }
            let protection = all | guest & PTE_PROTECTION;
            pool.enter_new(hardware, place, frame, value | protection);
            entered += 1;
        }
    }
    entered
}

/// The shadow page table for a virtual address, whose entry in the guest's own page table is at
/// `from`.
#[inline]
fn page_table<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    side: Side,
    address: Virtual,
    from: Absolute,
) -> Option<Real> {
    let pool = pool(cpu, configuration);
    let origin = Absolute(from.0 & !0x7FF);
    let segment = Virtual(address.0 & !(SEGMENT - 1));
    let number = LastFilled::place(segment, side);
    let last = &cpu.shadow.last_filled[number];
    if last.guest == guest
        && last.segment == segment
        && last.side == side
        && last.drops == cpu.shadow.spaces.drops
        && pool.origin(hardware, last.table) == origin
    {
        return Some(last.table);
    }
    let table = walk(cpu, configuration, hardware, guest, side, address, origin)?;
    cpu.shadow.last_filled[number] = LastFilled {
        guest,
        segment,
        side,
        drops: cpu.shadow.spaces.drops,
        table,
    };
    Some(table)
}

/// The same by the shadow's own tables. Out of line, so that what it needs is not computed before.
#[inline(never)]
fn walk<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    guest: u64,
    side: Side,
    address: Virtual,
    origin: Absolute,
) -> Option<Real> {
    let pool = pool(cpu, configuration);
    let at = place(cpu, configuration, hardware, guest);
    let shadow = root(cpu, configuration, hardware, at, side)?;
    let mut level = (shadow & asce::DESIGNATION_TYPE) >> 2;
    let mut table = Real(shadow & asce::ORIGIN);
    loop {
        let index = (address.0 >> (20 + 11 * level)) & 0x7FF;
        let slot = table.offset(index * 8);
        let found = hardware.hsa_load(slot);
        if level == 0 {
            if found & STE_INVALID == 0 {
                let table = Real(found & !0x7FF);
                if pool.origin(hardware, table) != origin {
                    pool.set_origin(hardware, table, origin);
                    hardware.purge_tlb();
                }
                return Some(table);
            }
            let new = take_page_table(cpu, pool, hardware, at, address, origin)?;
            hardware.hsa_store(slot, new.0);
            cpu.fills.segments += 1;
            return Some(new);
        }
        table = if found & RTE_INVALID == 0 {
            Real(found & !(PAGE - 1))
        } else {
            let new = take_table(cpu, pool, hardware, at, level - 1)?;
            hardware.hsa_store(slot, new.0 | (level << 2) | 3);
            new
        };
        level -= 1;
    }
}
