//! Stepping by slots: the watched instruction is executed in a slot of the machine's own, not where the guest has it.
//!
//! The hardware executes what does not depend on where it is. It is refused what comes behind: so the instruction has
//! completed. An exception of the instruction, or an interruption before or behind it, shows an address in the slot, which is
//! mapped back to that of the guest's instruction.
//!
//! Branches, instructions with a relative operand, and sensitive ones are refused in their slots, and performed by
//! millicode. What cannot be fetched is tried where the guest has it: the hardware finds out why.

use super::expect_trap;
use super::watched::begin;
use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::shadow::slots::{Manner, Slot};
use crate::state::vcpu::Vcpu;
use crate::storage::shadow::slots;
use arch::interruption::{Class, ProgramInterruption};
use arch::psw;
use per::event;

/// The length of the zeros behind an instruction.
const REFUSED: u8 = 2;

/// Finds the slot of the watched instruction. Returns true if the real space of the instructions has to be changed first.
pub(super) fn enter<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let watched = &cpu.per.watched;
    let (text, at) = (watched.text, watched.at);
    let is_there = text.length != 0 && (at | watched.text_at) & 1 == 0;
    if cpu.per.in_slots != is_there {
        set(cpu, is_there);
        return true;
    }
    if !is_there {
        return false;
    }
    let slot = if text.executed {
        slots::find_pair(cpu, configuration, hardware, text.length, &text.bytes)
    } else {
        slots::find(cpu, configuration, hardware, &text.bytes)
    };
    cpu.per.watched.branches = slot.manner == Manner::Branch;
    cpu.per.slot = Some(slot);
    false
}

/// From now on instructions are fetched from slots, or from where the guest has them.
pub(super) fn set(cpu: &mut Vcpu, in_slots: bool) {
    if cpu.per.in_slots != in_slots {
        cpu.per.in_slots = in_slots;
        cpu.per.trapped_in = None;
        cpu.shadow.loaded_for = None;
        cpu.pending_work |= PendingWork::CONTROLS;
    }
}

/// The last step of the way out: the guest is left with the slot.
pub fn go(cpu: &mut Vcpu) {
    if let Some(Slot { at, .. }) = cpu.per.slot {
        cpu.psw.address = at;
    }
}

/// The way out does not lead to the slot after all.
pub fn forget(cpu: &mut Vcpu) {
    cpu.per.slot = None;
}

/// The hardware has interrupted a CPU that was left with a slot: the guest's PSW is at its own instruction again. Returns
/// whether the instruction has completed and nothing else has happened.
pub(super) fn come_back(cpu: &mut Vcpu, configuration: &Configuration, class: Class) -> bool {
    cpu.per.trapped_in = None;
    let Some(slot) = cpu.per.slot.take() else {
        return false;
    };
    let mask = cpu.psw.address_mask();
    let offset = (cpu.psw.address & mask).wrapping_sub(slot.at);
    let here = |offset: u64| cpu.per.watched.at.wrapping_add(offset) & mask;
    let (code, length) = (cpu.interruption.code(), cpu.interruption.length());
    let behind = offset == u64::from(slot.length + REFUSED) && length == REFUSED;
    let refused = class == Class::Program && code == ProgramInterruption::Operation.code();
    if refused && slot.manner == Manner::InSlot && behind {
        cpu.psw.address = here(slot.length.into());
        cpu.interruption.cause = super::NOTHING.into();
        let charged = configuration.charges.of(code);
        let problem = cpu.psw.problem_state();
        cpu.account.correct(0, charged, problem);
        return true;
    }
    cpu.psw.address = here(offset);
    cpu.interruption.old.address = cpu.psw.address;
    cpu.per.trapped_in = Some(slot);
    false
}

/// The way out, if nothing has happened that makes more work than the next step, as nearly always while every instruction is
/// executed on its own. Returns whether the guest is left with a slot.
#[inline]
pub fn goes_on<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let recording = &cpu.per;
    if !recording.in_slots
        || cpu.pending_work != PendingWork::PER
        || recording.pending.is_some()
        || !recording.everything
        || recording.protected.faulted
        || recording.controls.ask_for(event::NULLIFICATION)
        || cpu.psw.mask & psw::IO != 0 && recording.patience == 0
    {
        return false;
    }
    cpu.per.slot = None;
    if cpu.psw.mask & psw::IO != 0 {
        cpu.per.patience -= 1;
    }
    let at = cpu.psw.address;
    if !cpu.per.is_watching(at) {
        begin(cpu, configuration, hardware, at);
    }
    if enter(cpu, configuration, hardware) {
        return false;
    }
    expect_trap(cpu, hardware);
    go(cpu);
    true
}

/// Whether the trap was in a slot in which an instruction is refused, so that millicode performs it.
pub fn is_refused(cpu: &Vcpu) -> bool {
    cpu.per
        .trapped_in
        .is_some_and(|slot| slot.manner != Manner::InSlot)
}

/// Whether the trap was in a slot.
pub fn is_in_slot(cpu: &Vcpu) -> bool {
    cpu.per.trapped_in.is_some()
}

/// The watched instruction becomes the one that the CPU has the text of. Returns the address of the text.
pub fn watched_text(cpu: &mut Vcpu) -> u64 {
    let watched = &cpu.per.watched;
    cpu.text = watched.text;
    cpu.psw.address = watched.at;
    watched.text_at
}

#[cfg(test)]
mod tests;
