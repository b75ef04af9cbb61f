//! Program-event recording for a guest: its instructions are executed one at a time.
//!
//! The hardware executes such an instruction in a slot of the machine's own ([`slots`]), and is refused what is behind it
//! there. The machine finds the events of the instruction, including those that the machine below does not have, by its
//! text and by the state before and after it. The guest's own controls never reach the hardware.
//!
//! As long as no branch and no register is an event, the guest runs freely until an instruction begins in one of the pages
//! of the range, which are protected (`protected`), stores into such a page, or is performed by millicode. All this happens
//! only while the guest's PER mask is one and its event masks request something; otherwise it costs nothing
//! ([`PendingWork::PER`]). The machine below is never asked for events of its own.
//!
//! A *watched* instruction is one that was allowed to begin, or that trapped. It ends in one of three ways. It is
//! completed ([`performed`]), and the interruption waits until the next way out. It meets a program exception, and its
//! events are indicated together with that ([`program`]). Or it begins again, and stays watched.
//!
//! While instructions are executed one at a time, the real CPU is disabled for I/O and machine checks: such an
//! interruption between an instruction and its PER interruption would come in the wrong order. The firmware tests for
//! I/O interruptions from time to time instead.

use crate::delivery;
use crate::hardware::{ChannelBlock, ChannelInstruction, Hardware};
use crate::state::access::{Access, Space};
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::recording::Phase;
use crate::state::vcpu::Vcpu;
use crate::state::watched::EventSpaces;
use crate::storage::shadow;
use arch::channel::IoInterruption;
use arch::condition::ConditionCode;
use arch::control::asce;
use arch::interruption::ProgramInterruption;
use arch::psw;
use per::trace::Traces;
use per::{Controls, Range, event};

mod ended;
#[cfg(test)]
mod played;
mod protected;
pub mod slots;
pub mod traced;
mod watched;
pub mod window;

pub use ended::{deliver, made, performed, program, reflect, refused, trapped};
pub use watched::stepped_text as text_at;

use ended::nullify;
use watched::begin;

/// The program-interruption code of no interruption: the instruction will meet the same condition again.
pub const NOTHING: u16 = 0;

/// The number of instructions after which the firmware tests for a pending I/O interruption.
const PATIENCE: u32 = 64;

/// The longest turn, in clock cycles, of a CPU whose instructions are executed one at a time, however few of the cycles
/// are the guest's. Without it, whatever waits for the end of a turn, signs of life included, would wait hundreds of
/// times as long.
pub const LONGEST_TURN: u64 = 1_000_000;

/// Determines again what is recorded, after the PSW or a control register has changed.
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
    if controls.events != 0 && !configuration.per.records {
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
        shadow::own_real(cpu, protected::has_any(cpu));
        if !cpu.per.is_on() {
            cpu.forget_translations();
            cpu.per.phase = Phase::Range;
        }
        cpu.pending_work |= PendingWork::PER;
    } else if cpu.per.is_on() {
        end(cpu);
    }
}

/// Ends recording: the CPU runs as if there were no such facility.
fn end(cpu: &mut Vcpu) {
    enter_phase(cpu, Phase::Off);
    cpu.per.protected.forget();
    shadow::own_real(cpu, false);
    cpu.per.watching = false;
    cpu.pending_work.clear(PendingWork::PER);
}

fn enter_phase(cpu: &mut Vcpu, phase: Phase) {
    if cpu.per.phase != phase {
        // The real I/O and machine-check masks change with it.
        if Phase::Step == phase || cpu.per.is_stepping() {
            cpu.pending_work |= PendingWork::CONTROLS;
        }
        cpu.per.phase = phase;
        if phase != Phase::Step {
            slots::set(cpu, false);
        }
        if phase == Phase::Step {
            let end = cpu.account.total().saturating_add(LONGEST_TURN);
            if cpu.sampling.turn > end {
                cpu.sampling.turn = end;
                cpu.pending_work |= PendingWork::CLOCK;
            }
        }
    }
}

/// The CPU is about to wait or to give up its turn: nothing is executed on its own. Returns true if the way out has yet to
/// enable the real CPU for interruptions.
pub fn rest(cpu: &mut Vcpu) -> bool {
    let stepping = cpu.per.is_stepping();
    enter_phase(cpu, Phase::Range);
    if stepping {
        // The CPU still waits.
        cpu.pending_work |= PendingWork::ATTENTION;
    }
    stepping
}

/// The operator's traces, if there are any.
fn traces(cpu: &Vcpu) -> Option<&Traces> {
    cpu.per.below.then_some(&cpu.per.traces)
}

/// The spaces in which stores may be events under some controls.
fn event_spaces(cpu: &Vcpu, controls: &Controls) -> EventSpaces {
    if !controls.designated_spaces {
        return EventSpaces::ALL;
    }
    let mut named = [false; 4];
    for space in [Space::Primary, Space::Secondary, Space::Home] {
        named[space as usize] = space.asce(cpu) & asce::STORAGE_ALTERATION_EVENT != 0;
    }
    let current = Space::current(cpu, Access::Store);
    EventSpaces {
        current: current.is_none_or(|space| named[space as usize]),
        named,
    }
}

/// The ranges in which stores are events, in the space of the PSW.
fn stores(cpu: &Vcpu) -> impl Iterator<Item = Range> + use<> {
    let controls = &cpu.per.controls;
    let stores = controls.stores();
    let guest = stores.filter(|_| event_spaces(cpu, controls).has(None));
    let guest = guest.into_iter();
    guest.chain(traces(cpu).map(Traces::stores).into_iter().flatten())
}

/// Whether the guest has run freely up to the instruction at an address, with pages that are protected against stores.
#[inline(always)]
pub fn protects_stores(cpu: &Vcpu, at: u64) -> bool {
    let recording = &cpu.per;
    if recording.phase != Phase::Range || recording.watching {
        return false;
    }
    if recording.below || recording.controls.fetches().is_some() {
        stores(cpu).next().is_some() && !steps(cpu, at)
    } else {
        recording.controls.ask_for(event::STORE)
    }
}

/// Whether a store of so many bytes at an address touches a range in which stores are events.
#[inline(always)]
pub fn touches(cpu: &Vcpu, at: u64, length: u64) -> bool {
    let controls = &cpu.per.controls;
    if cpu.per.below || controls.designated_spaces {
        stores(cpu).any(|range| range.meets(at, length))
    } else {
        controls.range.meets(at, length)
    }
}

/// The ranges in which an instruction is an event because it is there.
fn places(cpu: &Vcpu) -> impl Iterator<Item = Range> {
    let guest = cpu.per.controls.fetches().into_iter();
    guest.chain(traces(cpu).map(Traces::places).into_iter().flatten())
}

/// Whether the instruction at an address is executed on its own: each one in the pages of a range is.
fn steps(cpu: &Vcpu, at: u64) -> bool {
    cpu.per.everything || cpu.per.protected.has_alone(at) || protected::is_inside(cpu, at)
}

/// Whether the instruction at an address is watched if it traps with a program exception: as [`steps`], and any
/// instruction that millicode performs while it may alter something that is recorded. An operation exception may be that
/// of an EXECUTE that is replaced, whose target millicode performs.
fn is_watched(cpu: &Vcpu, at: u64, code: u16) -> bool {
    cpu.per.controls.ask_for(event::STORE | event::STORE_REAL)
        || code == ProgramInterruption::Operation.code() && cpu.per.controls.fetches().is_some()
        || cpu.per.below && cpu.per.traces.stores().next().is_some()
        || steps(cpu, at)
}

/// Whether the guest goes on as it ran before the trap, so that nothing need be done for its events on the way out.
#[inline]
pub fn goes_on<H: Hardware>(cpu: &mut Vcpu, hardware: &H) -> bool {
    if !core::mem::take(&mut cpu.per.goes_on) || cpu.pending_work != PendingWork::PER {
        return false;
    }
    expect_trap(cpu, hardware);
    true
}

/// Makes the next trap come to [`trapped`].
#[inline]
fn expect_trap<H: Hardware>(cpu: &mut Vcpu, hardware: &H) {
    if cpu.sampling.armed_at == 0 {
        cpu.sampling.armed_at = hardware.clock();
    }
}

/// The last step of the way out except for the clock: lets the hardware execute one instruction, or run until something
/// stops it. Returns true if an interruption was delivered instead.
#[inline(never)]
pub fn arm<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> bool {
    let at = cpu.psw.address;
    protected::note(cpu);
    let before = cpu.per.phase;
    if steps(cpu, at) {
        enter_phase(cpu, Phase::Step);
        if before != Phase::Step {
            // The masks must be changed first.
            return true;
        }
        if take_io(cpu, configuration, hardware) {
            return true;
        }
        if !cpu.per.is_watching(at) {
            begin(cpu, configuration, hardware, at);
        }
        if cpu.per.controls.ask_for(event::NULLIFICATION) && cpu.per.watched.is_nullified() {
            cpu.per.watching = false;
            nullify(cpu, configuration, hardware);
            return true;
        }
        if slots::enter(cpu, configuration, hardware) {
            return true;
        }
    } else {
        enter_phase(cpu, Phase::Range);
        if before == Phase::Step {
            return true;
        }
        cpu.per.watching = false;
        protected::free(cpu, configuration, hardware);
    }
    expect_trap(cpu, hardware);
    false
}

/// From time to time, while the real CPU is disabled for I/O: takes a pending I/O interruption for which the guest is
/// enabled.
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

#[cfg(test)]
mod tests;
