//! The slot space: a space of the machine's own from which a CPU fetches single instructions.
//!
//! A *slot* holds the text of one instruction, followed by zeros, which are no instruction. A CPU that is left at a slot
//! executes the instruction, and traps behind it. Operands are accessed in the guest's space as ever, because the
//! hardware is in the secondary-space mode. So no register is loaded for a step, and nothing is purged: the slot space
//! stays loaded as long as the CPU is stepped.
//!
//! Slots are found by the text that they are for. The same text has the same slot, wherever the guest has it. What text does
//! not run in a slot has one, too, in which an instruction of its length is refused.
//!
//! An EXECUTE has a slot in the first page, followed by its target, as modified: it designates that by a displacement alone,
//! and its R1 field is zero. So the length, the counts and the exceptions are those of the EXECUTE.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::shadow::MIX;
use crate::state::shadow::slots::{Manner, PAIRS, SLOT, SLOTS, Slot, SlotArea, TEXT};
use crate::state::vcpu::Vcpu;
use arch::address::PAGE;
use arch::table::{PTE_INVALID, PTE_PROTECTION, STE_INVALID};
use insn::branch::{Site, branch};
use insn::length;
use insn::relative::is_relative;
use insn::sensitive::{Caught, is_caught_text};

/// How many slots are tried for a text.
const TRIES: u64 = 4;

/// The bits of what a slot is for that say how its instruction is stepped.
const MANNER: u64 = 0xF;

/// Where the bits are that say which instructions were sensitive then.
const CAUGHT: u32 = 4;

/// By the number of an entry less one.
const MANNERS: [Manner; 4] = [
    Manner::InSlot,
    Manner::Branch,
    Manner::Relative,
    Manner::Sensitive,
];

/// Builds the slot space of a CPU.
pub(super) fn build<H: Hardware>(configuration: &Configuration, hardware: &mut H, cpu: usize) {
    let area = configuration.shadow.slots(cpu);
    hardware.hsa_fill(area.segment_table(), PAGE, STE_INVALID);
    hardware.hsa_store(area.segment_table(), area.page_table().0);
    hardware.hsa_fill(area.page_table(), PAGE, PTE_INVALID);
    for page in 0..SlotArea::pages() {
        let place = area.place(page * PAGE);
        hardware.hsa_fill(place, PAGE, 0);
        let entry = area.page_table().offset(page * 8);
        hardware.hsa_store(entry, place.0 | PTE_PROTECTION);
    }
}

/// The slot for the text of an instruction.
#[inline]
pub fn find<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    text: &[u8; 6],
) -> Slot {
    let caught = configuration.caught();
    let key = content(text) | u64::from(caught.bits()) << CAUGHT;
    let area = configuration.shadow.slots(usize::from(cpu.address));
    let first = first(key, SLOTS);
    for number in first..first + TRIES {
        let at = address(number);
        let found = hardware.hsa_load(area.place(at));
        if found & !MANNER == key && found != 0 {
            return slot(at, text, found);
        }
    }
    fill(area, hardware, first, key, text, caught)
}

/// Puts an instruction into a slot that is free, or was another's.
#[cold]
#[inline(never)]
fn fill<H: Hardware>(
    area: SlotArea,
    hardware: &mut H,
    first: u64,
    key: u64,
    text: &[u8; 6],
    caught: Caught,
) -> Slot {
    let places = (first..first + TRIES).map(address);
    let mut free = places.filter(|&at| hardware.hsa_load(area.place(at)) == 0);
    let at = free.next().unwrap_or(address(first));
    let manner = manner(text, caught);
    let number = (1..).zip(MANNERS).find(|&(_, one)| one == manner);
    let key = key | number.map_or(1, |(number, _)| number);
    let instruction = match manner {
        Manner::InSlot => *text,
        _ => refused(length(text[0])),
    };
    hardware.hsa_store(area.place(at + TEXT), content(&instruction));
    hardware.hsa_store(area.place(at), key);
    slot(at, text, key)
}

/// How the instruction with a text is stepped.
fn manner(text: &[u8; 6], caught: Caught) -> Manner {
    let site = Site {
        at: 0,
        next: 0,
        length_code: 0,
    };
    if branch(text, &site, &[0; 16], 0).is_some() {
        Manner::Branch
    } else if is_relative(text) {
        Manner::Relative
    } else if is_caught_text(text, caught) {
        Manner::Sensitive
    } else {
        Manner::InSlot
    }
}

/// An instruction of this length that no machine has.
const fn refused(length: usize) -> [u8; 6] {
    match length {
        2 => [0; 6],
        4 => [0xB9, 0xFF, 0, 0, 0, 0],
        _ => [0xE5, 0xFF, 0, 0, 0, 0],
    }
}

/// The slot for an EXECUTE whose target, as modified, is `target`; `length` is that of the EXECUTE.
pub fn find_pair<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    length: u8,
    target: &[u8; 6],
) -> Slot {
    let manner = find(cpu, configuration, hardware, target).manner;
    let area = configuration.shadow.slots(usize::from(cpu.address));
    let target = content(target);
    let at = first(target, PAIRS) * SLOT;
    let [.., high, low] = (at + TEXT).to_be_bytes();
    let execute = match (manner, length) {
        (Manner::InSlot, 4) => [0x44, 0, high, low, 0, 0],
        (Manner::InSlot, _) => [0xC6, 0, 0, 0, 0, (TEXT / 2) as u8],
        _ => refused(length.into()),
    };
    let contents = [content(&execute), target];
    for (at, content) in [at, at + TEXT].into_iter().zip(contents) {
        let place = area.place(at);
        if hardware.hsa_load(place) != content {
            hardware.hsa_store(place, content);
        }
    }
    Slot { at, length, manner }
}

/// The first slot, of so many, to try.
const fn first(key: u64, slots: u64) -> u64 {
    (key >> 4).wrapping_mul(MIX) >> (64 - slots.trailing_zeros())
}

/// The address of a slot.
const fn address(number: u64) -> u64 {
    PAGE + (number & (SLOTS - 1)) * SLOT
}

/// The slot at an address, which is for this text.
fn slot(at: u64, text: &[u8; 6], key: u64) -> Slot {
    let number = (key & MANNER).wrapping_sub(1) as usize;
    Slot {
        at: at + TEXT,
        length: length(text[0]) as u8,
        manner: MANNERS[number % MANNERS.len()],
    }
}

/// A text as a doubleword, with zeros behind it.
fn content(text: &[u8; 6]) -> u64 {
    let [a, b, c, d, e, f] = *text;
    let unused = 64 - 8 * length(a) as u32;
    u64::from_be_bytes([a, b, c, d, e, f, 0, 0]) >> unused << unused
}

#[cfg(test)]
mod tests;
