//! Program-event recording for a guest: its instructions are executed one at a time.
//!
//! The machine below records events of its own, and one of them is exact wherever this runs: an
//! instruction-fetching event that nullifies. With a range of everything but one halfword, the instruction that
//! begins there is executed and the next one, wherever it is, is not. So whatever an instruction did can be told from
//! what was before it and what is after it, events that no machine below has included, and the guest's own
//! controls never reach the hardware.
//!
//! As long as no branch and no register is an event, the guest runs freely until an instruction in the range would
//! begin, or store into one of the pages that are protected for it ([`protected`]), or is performed by
//! millicode. All this is done while the guest's PER mask is one and its masks ask for something; before and after that
//! it costs nothing ([`Due::PER`]).
//!
//! A *watched* instruction is one that has been let begin, or that trapped. It ends in one of three ways: it is
//! completed ([`performed`]), and the interruption waits until the next way out; it meets a program exception, and
//! is indicated together with it ([`concurrent`]); or it is to begin again, and stays watched.
//!
//! While instructions are executed one at a time the real CPU is disabled for I/O and machine checks: an
//! interruption after an instruction and before its own PER interruption would come in the wrong order. Those of
//! I/O are asked for from time to time instead.

use crate::arch::address::Virtual;
use crate::arch::channel::IoInterruption;
use crate::arch::condition::ConditionCode;
use crate::arch::interruption::{Class, Ending, ProgramInterruption, ending};
use crate::arch::psw;
use crate::guest::caches::Reference;
use crate::guest::configuration::Configuration;
use crate::guest::dat::{Access, Space};
use crate::guest::delivery::{self, Condition, PER_EVENT};
use crate::guest::dispatch::access;
use crate::guest::due::Due;
use crate::guest::hardware::{ChannelBlock, ChannelInstruction, Hardware};
use crate::guest::vcpu::Vcpu;
use crate::per::mode_identification;
use crate::per::trace::Traces;
use crate::per::{Controls, Format, Identification, Range, event};
use core::cell::Cell;

mod protected;
pub mod traced;
mod watched;

use protected::Protected;
use watched::{Noted, Watched, begin, branches, go_through_caches, identify};

/// The event masks of the real control register 9: instruction fetching, which nullifies.
const NULLIFY: u64 = 0x4100_0000;

/// The program-interruption code of nothing at all: what was met will be met again.
pub const NOTHING: u16 = 0;

/// After so many instructions a pending I/O interruption is asked for.
const PATIENCE: u32 = 64;

/// The clock cycles of a turn of a CPU whose instructions are executed one at a time, however few of them are the guest's:
/// what is left to the end of a turn, signs of life among it, does not wait for hundreds of times as long.
pub const LONGEST_TURN: u64 = 1_000_000;

/// What of program-event recording is the same for all CPUs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Support {
    /// The form of controls and identification.
    pub format: Format,
    /// Whether the machine below executes one instruction and stores what is true after it.
    pub exact: bool,
}

/// How a CPU is let run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing is recorded.
    #[default]
    Off,
    /// Freely, up to the first instruction in the range or with a store into a protected page.
    Range,
    /// One instruction at a time.
    Step,
}

/// Program-event recording of one CPU.
#[derive(Debug)]
pub struct Recording {
    /// What the guest asks for at present.
    controls: Controls,
    phase: Phase,
    /// Whether each instruction is executed on its own, wherever it is.
    everything: bool,
    /// The pages that are protected because stores into them are events.
    protected: Protected,
    /// Whether [`Self::watched`] is.
    watching: bool,
    watched: Watched,
    /// The events of an instruction that is completed, and its length.
    pending: Option<(Identification, u8)>,
    /// Whether millicode has stored into the range.
    stored: Cell<bool>,
    /// What millicode has referred to.
    noted: Noted,
    /// Whether millicode has stored by a real address.
    stored_real: Cell<bool>,
    /// Real control registers 9 to 11 as last loaded.
    loaded: [u64; 3],
    /// Instructions until a pending I/O interruption is asked for.
    patience: u32,
    /// What the operator has traced.
    traces: Traces,
    /// Whether anything of the machine's own is recorded: the operator's traces, or references for the caches.
    below: bool,
    /// The trace that has stopped the guest.
    pub held: Option<u8>,
    /// That events are asked for and cannot be recorded has been said.
    refused: bool,
}

impl Default for Recording {
    fn default() -> Self {
        Self {
            controls: Controls::NONE,
            phase: Phase::Off,
            everything: false,
            protected: Protected::NOTHING,
            watching: false,
            watched: Watched::NONE,
            pending: None,
            stored: Cell::new(false),
            noted: Noted::new(),
            stored_real: Cell::new(false),
            loaded: [0; 3],
            patience: 0,
            traces: Traces::NONE,
            below: false,
            held: None,
            refused: false,
        }
    }
}

impl Recording {
    /// Whether anything is recorded: pages of text are not kept then, so that no instruction is performed
    /// without being watched.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.phase != Phase::Off
    }

    /// Whether instructions are executed one at a time: the real CPU is disabled for I/O then.
    #[must_use]
    pub fn is_stepping(&self) -> bool {
        self.phase == Phase::Step
    }

    /// Whether the instruction at an address is being watched.
    fn is_watching(&self, at: u64) -> bool {
        self.watching && self.watched.at == at
    }

    /// A reset: what an instruction did is forgotten.
    pub const fn reset(&mut self) {
        self.watching = false;
        self.pending = None;
        self.protected.forget();
    }

    /// Millicode refers to an operand of the watched instruction, in the space of the PSW or in another one.
    #[inline]
    pub fn note(&self, space: Option<Space>, at: Virtual, length: u64, access: Access) {
        if self.watching {
            self.note_watched(space, at, length, access);
        }
    }

    #[cold]
    fn note_watched(&self, space: Option<Space>, at: Virtual, length: u64, access: Access) {
        if access == Access::Store && self.watched.controls.range.meets(at.0, length) {
            self.stored.set(true);
        }
        self.noted.add(Reference {
            at,
            length,
            access,
            space,
        });
    }

    /// Millicode stores at a real address for the watched instruction.
    pub fn note_store_real(&self) {
        self.stored_real.set(true);
    }
}

/// Computes anew what is recorded, after the PSW or a control register has changed.
#[inline]
pub fn renew<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    if cpu.psw.mask & psw::PER != 0 || cpu.per.is_on() || cpu.caches.is_some() {
        change(cpu, configuration, hardware);
    }
}

#[cold]
#[inline(never)]
fn change<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let [.., nine, ten, eleven, _, _, _, _]: [u64; 16] = cpu.control;
    let mut controls = Controls::NONE;
    if cpu.psw.mask & psw::PER != 0 {
        controls = Controls::of(configuration.per.format, [nine, ten, eleven]);
    }
    if controls.events != 0 && !configuration.per.exact {
        if !core::mem::replace(&mut cpu.per.refused, true) {
            hardware.not_recorded();
        }
        controls = Controls::NONE;
    }
    if cpu.per.controls != controls {
        cpu.per.controls = controls;
        cpu.per.protected.forget();
    }
    cpu.per.below = cpu.caches.is_some() || !cpu.per.traces.is_empty();
    if controls.events != 0 || cpu.per.below {
        cpu.per.everything = cpu.caches.is_some()
            || controls.ask_for(event::BRANCH | event::REGISTERS)
            || !protected::suffices(cpu);
        if !cpu.per.is_on() {
            cpu.forget_translations();
            cpu.per.phase = Phase::Range;
        }
        cpu.due |= Due::PER;
    } else if cpu.per.is_on() {
        end(cpu, hardware);
    }
}

/// Lets the CPU run as if there were no such facility.
fn end<H: Hardware>(cpu: &mut Vcpu, hardware: &mut H) {
    enter_phase(cpu, Phase::Off);
    cpu.per.protected.forget();
    cpu.per.watching = false;
    cpu.due.clear(Due::PER);
    cpu.real_space &= !psw::PER;
    load(cpu, hardware, [0; 3]);
}

fn enter_phase(cpu: &mut Vcpu, phase: Phase) {
    if cpu.per.phase != phase {
        // Real I/O and machine-check masks follow.
        if Phase::Step == phase || cpu.per.is_stepping() {
            cpu.due |= Due::CONTROLS;
        }
        cpu.per.phase = phase;
        if phase == Phase::Step {
            let end = cpu.account.total().saturating_add(LONGEST_TURN);
            if cpu.sampling.turn > end {
                cpu.sampling.turn = end;
                cpu.due |= Due::CLOCK;
            }
        }
    }
}

fn load<H: Hardware>(cpu: &mut Vcpu, hardware: &mut H, values: [u64; 3]) {
    if cpu.per.loaded != values {
        cpu.per.loaded = values;
        hardware.load_recording(values);
    }
}

/// The CPU is about to wait, or to give its turn away: the real one is to be as if nothing were recorded. True if
/// that is yet to be seen to.
pub fn rest(cpu: &mut Vcpu) -> bool {
    let stepping = cpu.per.is_stepping();
    enter_phase(cpu, Phase::Range);
    if stepping {
        // It still waits.
        cpu.due |= Due::ATTENTION;
    }
    stepping
}

/// Where stores are events.
fn stores(cpu: &Vcpu) -> impl Iterator<Item = Range> + use<> {
    let guest = cpu.per.controls.stores().into_iter();
    guest.chain(cpu.per.traces.stores())
}

/// Whether the instruction at an address is executed on its own.
fn steps(cpu: &Vcpu, at: u64) -> bool {
    let fetches = || cpu.per.controls.fetches();
    cpu.per.everything
        || fetches().is_some_and(|range| range.contains(at))
        || cpu.per.below && cpu.per.traces.concern(at)
        || cpu.per.protected.is_stored_into() && cpu.per.is_watching(at)
}

/// Whether the instruction at an address is watched if it traps: as [`steps`], and all that millicode
/// performs while it may alter what is asked for.
fn is_watched(cpu: &Vcpu, at: u64) -> bool {
    cpu.per.controls.ask_for(event::STORE | event::STORE_REAL)
        || cpu.per.below && cpu.per.traces.stores().next().is_some()
        || steps(cpu, at)
}

/// Last but the clock on the way out: lets the hardware execute one instruction, or run up to the next one that
/// is executed on its own. True if something was delivered instead.
#[inline(never)]
pub fn arm<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> bool {
    let at = cpu.psw.address;
    protected::note(cpu);
    let range = if steps(cpu, at) {
        let before = cpu.per.phase;
        enter_phase(cpu, Phase::Step);
        if before != Phase::Step {
            // The masks come first.
            return true;
        }
        if take_io(cpu, configuration, hardware) {
            return true;
        }
        if !cpu.per.is_watching(at) {
            begin(cpu, configuration, hardware, at);
            if cpu.per.controls.nullify(at) && cpu.per.watched.text.length != 0 {
                cpu.per.watching = false;
                nullify(cpu, configuration, hardware);
                return true;
            }
        }
        Some(if cpu.per.watched.to_itself {
            Range::ALL
        } else {
            // An instruction that begins in the middle of this one is another one.
            Range {
                start: at.wrapping_add(2),
                end: at.wrapping_sub(1),
            }
        })
    } else {
        let before = cpu.per.phase;
        enter_phase(cpu, Phase::Range);
        if before == Phase::Step {
            return true;
        }
        cpu.per.watching = false;
        protected::protect(cpu, configuration, hardware);
        if cpu.per.below {
            around(cpu, at)
        } else {
            cpu.per.controls.fetches()
        }
    };
    if let Some(Range { start, end }) = range {
        load(cpu, hardware, [NULLIFY, start, end]);
        cpu.real_space |= psw::PER;
    } else {
        load(cpu, hardware, [0; 3]);
        cpu.real_space &= !psw::PER;
    }
    if cpu.sampling.armed_at == 0 {
        // So that the next trap comes to [`trapped`].
        cpu.sampling.armed_at = hardware.clock();
    }
    false
}

/// Everything but the gap around an address in which neither the guest nor the operator has instructions recorded by
/// where they are; `None` if there are no such.
#[cold]
#[inline(never)]
fn around(cpu: &Vcpu, at: u64) -> Option<Range> {
    let guest = cpu.per.controls.fetches();
    Range::around(at, guest.into_iter().chain(cpu.per.traces.places()))
}

/// From time to time, while the real CPU is disabled for them: takes a pending I/O interruption for which the
/// guest is enabled.
fn take_io<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> bool {
    if cpu.psw.mask & psw::IO == 0 {
        return false;
    }
    if cpu.per.patience != 0 {
        cpu.per.patience -= 1;
        return false;
    }
    cpu.per.patience = PATIENCE;
    hardware.load_control(6, cpu.control[6]);
    let mut block = ChannelBlock::ZEROS;
    let taken = hardware.channel(ChannelInstruction::Tpi, 0, &mut block);
    hardware.load_control(6, 0);
    if taken != Ok(ConditionCode::One) {
        return false;
    }
    let [subsystem, parameter, identification, ..] = block.0;
    let interruption = IoInterruption {
        subsystem,
        parameter,
        identification,
    };
    delivery::io(cpu, configuration, hardware, interruption);
    true
}

/// The hardware has interrupted a CPU that it ran for [`arm`]: what became of the watched instruction.
#[cold]
#[inline(never)]
pub fn trapped<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    class: Class,
) {
    if class == Class::Program {
        let code = cpu.interruption.code();
        if code == PER_EVENT {
            // As nearly always: it was executed, and the next one was not.
            if cpu.per.watching && cpu.psw.address & cpu.psw.address_mask() != cpu.per.watched.at {
                return complete(cpu, configuration, hardware);
            }
        } else {
            cpu.interruption.cause &= !u32::from(PER_EVENT);
            cpu.per.protected.trapped(code & !PER_EVENT);
        }
    }
    let code = cpu.interruption.code();
    let here = if class == Class::Program {
        failing(cpu)
    } else {
        cpu.psw.address
    };
    if !cpu.per.watching {
        // One that the hardware refuses, it need not have looked for in the range.
        if class == Class::Program && code != PER_EVENT && is_watched(cpu, here) {
            if cpu.per.controls.nullify(here) {
                meet_again(cpu, configuration, here);
            } else {
                begin(cpu, configuration, hardware, here);
            }
        }
        return;
    }
    let at = cpu.per.watched.at;
    if class == Class::SupervisorCall {
        complete(cpu, configuration, hardware);
    } else if here != at {
        // If the next one has met an exception, the PSW may be behind it.
        let next = core::mem::replace(&mut cpu.psw.address, here);
        complete(cpu, configuration, hardware);
        cpu.psw.address = next;
        if class != Class::Program {
            deliver(cpu, configuration, hardware);
        } else if code != PER_EVENT {
            next_failed(cpu, configuration, hardware, here);
        }
    } else if class != Class::Program {
        // A unit of operation of an interruptible instruction.
        if cpu.general != cpu.per.watched.general {
            complete(cpu, configuration, hardware);
            deliver(cpu, configuration, hardware);
        }
    } else if code == PER_EVENT {
        branch_to_itself(cpu, configuration, hardware);
    }
}

/// The instruction behind the watched one, at `here`, has met a program exception before the hardware looked for it
/// in the range.
fn next_failed<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    here: u64,
) {
    if cpu.per.pending.is_none() {
        begin(cpu, configuration, hardware, here);
        return;
    }
    // The interruption of the watched one comes first.
    meet_again(cpu, configuration, here);
}

/// What the instruction at `here` has met, it will meet again: something else comes first.
fn meet_again(cpu: &mut Vcpu, configuration: &Configuration, here: u64) {
    let problem = cpu.psw.problem_state();
    let charged = configuration.charges.of(cpu.interruption.code());
    cpu.account.correct(0, charged, problem);
    cpu.psw.address = here;
    cpu.interruption.cause = NOTHING.into();
}

/// The address of the instruction that has met a program exception.
fn failing(cpu: &Vcpu) -> u64 {
    let code = cpu.interruption.code();
    if code != PER_EVENT {
        if let Some(at) = access::at(cpu) {
            return at;
        }
        if ending(code) != Ending::Nullification {
            let length = u64::from(cpu.interruption.length());
            return cpu.psw.address.wrapping_sub(length) & cpu.psw.address_mask();
        }
    }
    cpu.psw.address & cpu.psw.address_mask()
}

/// Performs the watched instruction, which branches to itself: the hardware would do so for ever.
fn branch_to_itself<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let Some(branch) = branches(cpu) else {
        return;
    };
    if let Some((register, value)) = branch.changed {
        cpu.general[usize::from(register & 15)] = value;
    }
    let problem = cpu.psw.problem_state();
    cpu.psw.mask = cpu.psw.mask & !psw::ADDRESSING_64 | branch.addressing;
    cpu.account.complete_another(problem);
    if cpu.per.watched.text.executed {
        cpu.account.complete_another(problem);
    }
    complete(cpu, configuration, hardware);
}

/// Millicode has completed the watched instruction.
#[inline]
pub fn performed<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    if cpu.per.watching {
        complete(cpu, configuration, hardware);
    }
}

/// The watched instruction is completed, or a unit of operation of it: its events are pending.
#[inline(never)]
fn complete<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    cpu.per.watching = false;
    cpu.per.pending = identify(cpu, true).map(|events| (events, cpu.per.watched.text.length));
    if cpu.per.below {
        traced::report(cpu, configuration, hardware, 0);
        if cpu.caches.is_some() {
            go_through_caches(cpu, configuration, hardware);
        }
    }
}

/// The events to indicate with a program exception of `code` that the watched instruction has met.
#[cold]
#[inline(never)]
pub fn concurrent<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    code: u16,
) -> Option<Identification> {
    if !core::mem::replace(&mut cpu.per.watching, false) || cpu.per.watched.text.length == 0 {
        return None;
    }
    // What it did while the guest ran freely, it did not do to a protected page.
    let stepped = cpu.per.is_stepping();
    // Compare and trap completes.
    let trapped = code == ProgramInterruption::Data.code() && cpu.interruption.parameter == 0xFF;
    let completed = trapped || ending(code) == Ending::CompletionOrTermination;
    if cpu.per.below {
        traced::report(cpu, configuration, hardware, code);
    }
    identify(cpu, completed && stepped)
}

/// The interruption of an instruction-fetching event that nullifies.
fn nullify<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
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

/// Delivers the interruption that is pending, if one is: before anything else, since an event cannot be kept.
///
/// A PSW that was loaded and is refused is indicated together with it.
#[cold]
#[inline(never)]
pub fn deliver<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let Some((identification, length)) = cpu.per.pending.take() else {
        return;
    };
    let refused = delivery::refused(&cpu.psw);
    let condition = Condition {
        code: if refused {
            ProgramInterruption::Specification.code()
        } else {
            0
        },
        length,
        per: Some(identification),
        ..Condition::default()
    };
    delivery::reflect(cpu, configuration, hardware, &condition);
}

#[cfg(test)]
mod tests;
