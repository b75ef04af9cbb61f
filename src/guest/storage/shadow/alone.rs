//! One instruction alone: the hardware executes it, with its target if it is an EXECUTE, and can fetch nothing else.
//!
//! An EXECUTE that may make a sensitive instruction of its target is replaced in the copy of its page, and on a strict
//! machine so is an instruction that encloses a sensitive one. When it traps and the firmware does not perform it (or the
//! modified target), the hardware must execute it, but only it: the registers and the target may be others the next
//! time. So for this one way out the CPU fetches instructions from a space of its own. It has the instruction at its
//! address, its target elsewhere, and zeros, which are no instruction, in all other places. Whatever comes next traps,
//! and the next way out loads the guest's tables again. Operands are accessed in the guest's space as ever, and the
//! length, the address and the interruptions of the instruction are those that the architecture gives it. If it is
//! nullified, it traps again when the guest tries it again.
//!
//! **No branch is ever executed alone**: the firmware performs those. So control leaves the instruction at its end only, and
//! never comes to what it encloses.
//!
//! The tables are the same all the time: each entry of a region or segment table leads to the same next table, and the
//! page table selects the page by bits 44-51 of the address alone. So pages that are a multiple of a megabyte apart are
//! one page here.
//!
//! **A target is not at its own address.** It may be next to the EXECUTE, or a multiple of a megabyte from there, and
//! control would come to it when the EXECUTE has completed. So it is put, as modified, half a page from the EXECUTE, and
//! that is made one with an R1 field of zero that designates this place. Only a target with a relative operand must be
//! where it is. If it would then be in a page with the EXECUTE, or next to it, the firmware performs it ([`is_too_near`]).

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::shadow::TABLE;
use crate::state::shadow::alone::{Alone, Area, LEVELS, PAGES, Placed};
use crate::state::vcpu::Vcpu;
use crate::storage::shadow::has_single_table;
use arch::address::{PAGE, Real, Virtual};
use arch::control::asce;
use arch::table::{PTE_INVALID, PTE_PROTECTION};
use insn::relative::is_relative;
use insn::{length, modified_target};

/// Builds the tables of a CPU.
pub(super) fn build<H: Hardware>(configuration: &Configuration, hardware: &mut H, cpu: usize) {
    let area = configuration.shadow.alone(cpu);
    for level in 0..LEVELS {
        let entry = match level {
            0 => area.page_table().0,
            _ => area.table(level - 1).0 | (level << 2) | asce::TABLE_LENGTH,
        };
        hardware.hsa_fill(area.table(level), TABLE, entry);
    }
    hardware.hsa_fill(area.page_table(), PAGE, PTE_INVALID);
    for page in 0..PAGES as u64 {
        hardware.hsa_fill(area.page(page), PAGE, 0);
    }
}

/// Has the hardware execute the instruction at the PSW's address alone, when the firmware next leaves to the guest. If it is
/// an EXECUTE, `target` is where its target is, and the text of that.
#[cold]
pub fn request(cpu: &mut Vcpu, text: [u8; 6], target: Option<(Virtual, [u8; 6])>) {
    cpu.shadow.alone = Some(Alone {
        at: Virtual(cpu.psw.address),
        text,
        target,
        entered: false,
    });
    cpu.pending_work |= PendingWork::CONTROLS;
}

/// The instruction that is executed alone has met an access exception that was the machine's own, or the machine's clock has
/// interrupted before it: it continues as it began. It may store into its own page, which would otherwise become text and
/// data in turns.
pub fn continue_here(cpu: &mut Vcpu) {
    let here = cpu.psw.address;
    if let Some(alone) = &mut cpu.shadow.alone
        && alone.entered
        && alone.at.0 == here
    {
        alone.entered = false;
    }
}

/// The instruction that the hardware has executed alone, or has refused to, if the guest was left with nothing else.
#[must_use]
pub(crate) fn entered(cpu: &Vcpu) -> Option<Alone> {
    cpu.shadow.alone.filter(|alone| alone.entered)
}

/// Lets a way out do what [`request`] asked for. The clock is to be set again: the machine has taken long, and the one
/// instruction must have its time.
#[cold]
pub fn enter<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let Some(alone) = cpu.shadow.alone.take() else {
        return;
    };
    // An interruption may have come first, or the guest was left for it already. In a slot an EXECUTE is alone anyway.
    if cpu.per.in_slots || alone.entered || alone.at.0 != cpu.psw.address || has_single_table(cpu) {
        return;
    }
    let area = configuration.shadow.alone(usize::from(cpu.address));
    let mut pages = Pages {
        area,
        placed: Placed::default(),
    };
    clear(cpu.shadow.placed, area, hardware);
    let text = &alone.text[..length(alone.text[0])];
    match alone.target {
        None => pages.put(hardware, alone.at, text),
        Some((at, target)) if is_relative(&target) => {
            pages.put(hardware, alone.at, text);
            pages.put(hardware, at, &target[..length(target[0])]);
        }
        Some((_, target)) => {
            let modified = modified_target(target, alone.text[1] >> 4, &cpu.general);
            let modified = &modified[..length(target[0])];
            // Half a page from the EXECUTE.
            let offset = alone.at.byte_index();
            let place = (offset + PAGE / 2) & (PAGE - 8);
            if text.len() == 4 {
                let [high, low] = (place as u16).to_be_bytes();
                pages.put(hardware, alone.at, &[0x44, 0, high, low]);
                pages.put(hardware, Virtual(place), modified);
            } else {
                let distance = (place as i32 - offset as i32) / 2;
                let [a, b, c, d] = distance.to_be_bytes();
                pages.put(hardware, alone.at, &[0xC6, 0, a, b, c, d]);
                let at = Virtual(alone.at.page().0 + place);
                pages.put(hardware, at, modified);
            }
        }
    }
    cpu.shadow.placed = pages.placed;
    cpu.shadow.alone = Some(Alone {
        entered: true,
        ..alone
    });
    // What was kept is not what the hardware fetches.
    cpu.forget_translations();
    hardware.purge_tlb();
    let mut spaces = cpu.shadow.spaces_loaded;
    spaces[0] = area.table(LEVELS - 1).0 | (LEVELS - 1) << 2 | asce::TABLE_LENGTH;
    hardware.load_spaces(spaces);
    cpu.shadow.spaces_loaded = spaces;
    cpu.shadow.loaded_for = None;
    cpu.pending_work |= PendingWork::CONTROLS | PendingWork::CLOCK;
}

/// Whether a target must be at its own address, and would be in a page with the EXECUTE there, or behind it.
#[must_use]
pub fn is_too_near(
    (execute_at, execute): (Virtual, [u8; 6]),
    (target_at, target): (Virtual, [u8; 6]),
) -> bool {
    let entries = |at: Virtual, text: [u8; 6]| {
        let last = at.offset(length(text[0]) as u64 - 1);
        [at, last].map(entry)
    };
    let of_target = entries(target_at, target);
    let mut of_execute = entries(execute_at, execute).into_iter();
    is_relative(&target)
        && (of_execute.any(|entry| of_target.contains(&entry))
            || execute_at.offset(length(execute[0]) as u64) == target_at)
}

/// The number of the entry of the page table for an address.
const fn entry(at: Virtual) -> u8 {
    (at.0 >> 12) as u8
}

/// Removes what is in the pages.
fn clear<H: Hardware>(placed: Placed, area: Area, hardware: &mut H) {
    for doubleword in placed.doublewords.into_iter().flatten() {
        hardware.hsa_store(doubleword, 0);
    }
    for entry in placed.pages.into_iter().flatten() {
        let entry = area.page_table().offset(u64::from(entry) * 8);
        hardware.hsa_store(entry, PTE_INVALID);
    }
}

/// The pages of a CPU while they are filled.
struct Pages {
    area: Area,
    placed: Placed,
}

impl Pages {
    /// Puts text at a virtual address.
    fn put<H: Hardware>(&mut self, hardware: &mut H, at: Virtual, text: &[u8]) {
        for (index, halfword) in (0..).step_by(2).zip(text.as_chunks::<2>().0) {
            let at = at.offset(index);
            let Some(page) = self.page(hardware, entry(at)) else {
                return;
            };
            let doubleword = page.offset(at.byte_index() & !7);
            self.note(doubleword);
            let shift = 48 - 8 * (at.byte_index() & 6);
            let value = u64::from(u16::from_be_bytes(*halfword)) << shift;
            let before = hardware.hsa_load(doubleword) & !(0xFFFF << shift);
            hardware.hsa_store(doubleword, before | value);
        }
    }

    /// The page for an entry of the page table.
    fn page<H: Hardware>(&mut self, hardware: &mut H, entry: u8) -> Option<Real> {
        let pages = (0..).zip(&mut self.placed.pages);
        let (number, page) = pages
            .into_iter()
            .find(|(_, page)| page.is_none_or(|found| found == entry))?;
        let real = self.area.page(number);
        if page.is_none() {
            *page = Some(entry);
            let entry = self.area.page_table().offset(u64::from(entry) * 8);
            hardware.hsa_store(entry, real.0 | PTE_PROTECTION);
        }
        Some(real)
    }

    /// Notes a doubleword that has text: at most two of the EXECUTE and two of its target.
    fn note(&mut self, doubleword: Real) {
        let doublewords = &mut self.placed.doublewords;
        let free = doublewords
            .iter_mut()
            .find(|noted| noted.is_none_or(|noted| noted == doubleword));
        if let Some(free) = free {
            *free = Some(doubleword);
        }
    }
}
