//! How a watched instruction ends: completed, with a program exception, or to begin again; and the interruption
//! that reports its events to the guest.

use crate::delivery::{self, Condition};
use crate::hardware::Hardware;
use crate::recording::per::watched::{begin, go_through_caches, identify};
use crate::recording::per::{NOTHING, is_watched, slots, traced};
use crate::state::access::Fault;
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::Vcpu;
use arch::interruption::{Class, Ending, ProgramInterruption, ending};
use per::{Identification, event, mode_identification};

/// The hardware has interrupted a CPU that [`arm`](super::arm) let run: finds out how the watched instruction
/// ended.
///
/// If none is watched, a protection exception may be that of a store into a protected page. Unless millicode makes that,
/// it is [`refused`] later.
#[inline(always)]
pub fn trapped<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    class: Class,
) {
    if cpu.per.in_slots && slots::come_back(cpu, configuration, class) {
        return complete(cpu, configuration, hardware);
    }
    let protection = u32::from(ProgramInterruption::Protection.code());
    if class == Class::Program && cpu.interruption.cause & 0xFFFF == protection && !cpu.per.watching
    {
        cpu.per.protected.faulted = true;
    } else {
        find_end(cpu, configuration, hardware, class);
    }
}

/// Finds out how the watched instruction ended, or what the hardware has refused.
#[cold]
#[inline(never)]
fn find_end<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    class: Class,
) {
    if class == Class::Program {
        cpu.per.protected.trapped(cpu.interruption.code());
    }
    let here = if class == Class::Program {
        failing(cpu)
    } else {
        cpu.psw.address
    };
    if !cpu.per.watching {
        if class == Class::Program {
            refused(cpu, configuration, hardware);
        }
        return;
    }
    let at = cpu.per.watched.at;
    if class == Class::SupervisorCall {
        complete(cpu, configuration, hardware);
    } else if here != at {
        // The hardware was interrupted behind it in its slot. Or it could be fetched after all, by a translation that the guest
        // has not purged, and the hardware has gone on: if the next instruction has met an exception, the PSW may point after it.
        let next = core::mem::replace(&mut cpu.psw.address, here);
        complete(cpu, configuration, hardware);
        cpu.psw.address = next;
        if class == Class::Program {
            next_failed(cpu, configuration, hardware, here);
        } else {
            deliver(cpu, configuration, hardware);
        }
    } else if class != Class::Program && cpu.general != cpu.per.watched.general {
        // The instruction is interruptible and has completed a unit of operation.
        complete(cpu, configuration, hardware);
        deliver(cpu, configuration, hardware);
    }
}

/// The hardware has refused an instruction while the guest ran freely: begins to watch it, if it may have an event.
#[inline(never)]
pub fn refused<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let here = failing(cpu);
    if !cpu.per.watching && is_watched(cpu, here, cpu.interruption.code()) {
        begin_late(cpu, configuration, hardware, here);
    }
}

/// Millicode has made a store into a protected page.
#[inline]
pub fn made<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    // The page is still protected.
    cpu.per.protected.faulted = false;
    if cpu.per.watching {
        complete(cpu, configuration, hardware);
    } else {
        cpu.per.goes_on = true;
    }
}

/// An instruction after the watched one, at `here`, has met a program exception.
fn next_failed<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    here: u64,
) {
    if cpu.per.pending.is_some() {
        // The interruption of the watched one comes first.
        meet_again(cpu, configuration, here);
    } else {
        begin_late(cpu, configuration, hardware, here);
    }
}

/// Begins to watch an instruction that has met a program exception already, unless an event nullifies it.
fn begin_late<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &H, here: u64) {
    if !cpu.per.controls.nullify(here) {
        begin(cpu, configuration, hardware, here);
        if !cpu.per.watched.is_nullified() {
            return;
        }
        cpu.per.watching = false;
    }
    meet_again(cpu, configuration, here);
}

/// The instruction at `here` will meet the same condition again, because something else comes first.
fn meet_again(cpu: &mut Vcpu, configuration: &Configuration, here: u64) {
    let problem = cpu.psw.problem_state();
    let charged = configuration.charges.of(cpu.interruption.code());
    cpu.account.correct(0, charged, problem);
    cpu.psw.address = here;
    cpu.interruption.cause = NOTHING.into();
}

/// The address of the instruction that has met a program exception.
fn failing(cpu: &Vcpu) -> u64 {
    if let Some(at) = cpu.access_exception_at() {
        return at;
    }
    let length = match ending(cpu.interruption.code()) {
        Ending::Nullification => 0,
        _ => u64::from(cpu.interruption.length()),
    };
    cpu.psw.address.wrapping_sub(length) & cpu.psw.address_mask()
}

/// Millicode has completed the watched instruction.
#[inline]
pub fn performed<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    if cpu.per.watching {
        complete(cpu, configuration, hardware);
    }
}

/// The watched instruction, or a unit of operation of it, is completed: its events are pending.
#[inline(never)]
fn complete<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    cpu.per.watching = false;
    cpu.per.protected.completed();
    cpu.per.pending = identify(cpu, true).map(|events| (events, cpu.per.watched.text.length));
    if cpu.per.below {
        traced::report(cpu, configuration, hardware, 0);
        if cpu.caches.is_some() {
            go_through_caches(cpu, configuration, hardware);
        }
    }
}

/// The events to indicate with the program exception `code` that the watched instruction has met.
#[cold]
#[inline(never)]
fn concurrent<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    code: u16,
) -> Option<Identification> {
    if !core::mem::replace(&mut cpu.per.watching, false) || cpu.per.watched.text.length == 0 {
        return None;
    }
    // While the guest ran freely, it did not store into a protected page.
    let stepped = cpu.per.is_stepping();
    let trapped = cpu.interruption.is_of_compare_and_trap();
    let completed = trapped || ending(code) == Ending::CompletionOrTermination;
    if cpu.per.below {
        traced::report(cpu, configuration, hardware, code);
    }
    identify(cpu, completed && stepped)
}

/// A program interruption by the instruction that the PSW designates, of `length` bytes (that of the
/// EXECUTE, if it is a target), together with the events of that instruction.
#[inline(never)]
pub fn program<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    fault: Fault,
    length: u8,
) {
    let condition = Condition::of_fault(cpu, fault, length);
    reflect(cpu, configuration, hardware, condition);
}

/// A program interruption with the current PSW as the old PSW, together with the events of the instruction that met
/// it.
#[inline(always)]
pub fn reflect<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    mut condition: Condition,
) {
    if cpu.pending_work.any(PendingWork::PER) {
        condition.per = concurrent(cpu, configuration, hardware, condition.code);
    }
    delivery::reflect(cpu, configuration, hardware, &condition);
}

/// The interruption of an instruction-fetching event that nullifies.
pub(super) fn nullify<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) {
    let watched = &cpu.per.watched;
    let identification = Identification {
        format: watched.controls.format,
        events: event::FETCH | event::NULLIFICATION,
        mode: mode_identification(watched.mask, false),
        address: watched.at,
        access: 0,
    };
    cpu.per.pending = Some((identification, watched.text.length));
    deliver(cpu, configuration, hardware);
}

/// Delivers the pending PER interruption, if there is one. It comes before anything else, because an event does not
/// stay pending.
///
/// If a PSW that LOAD PSW or an interruption has loaded is refused, the specification exception is indicated together with
/// it, and the instruction length is that of an early exception, zero.
#[cold]
#[inline(never)]
pub fn deliver<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let Some((identification, length)) = cpu.per.pending.take() else {
        return;
    };
    let (code, length) = if delivery::refused(&cpu.psw) {
        (ProgramInterruption::Specification.code(), 0)
    } else {
        (0, length)
    };
    let condition = Condition {
        code,
        length,
        per: Some(identification),
        ..Condition::default()
    };
    delivery::reflect(cpu, configuration, hardware, &condition);
}
