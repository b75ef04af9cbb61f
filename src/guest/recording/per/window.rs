//! The traces of a window: program events in a part of a run that is performed again.
//!
//! The instructions of the window are executed one at a time, as for any other recording. But here the CPU's own recording
//! and its account stay as in the first run, and the traps go the ways of the first run. So what a watched instruction has
//! done is found out beside them: from the state at the next interruption of the hardware, or, if the instruction
//! itself trapped, from the state in which the guest goes on.
//!
//! A guest that records events itself has the hardware for that, so nothing is traced meanwhile.

use super::traced;
use super::watched::{begin, note_control};
use crate::delivery;
use crate::hardware::Hardware;
use crate::recording::per;
use crate::state::configuration::Configuration;
use crate::state::recording::Step;
use crate::state::vcpu::Vcpu;
use crate::state::window_traces::WindowTraces;
use ::per::Range;
use arch::interruption::{Class, Ending, ending};
use arch::psw::{self, Psw};
use link::trace::Event;

/// The real control registers 9 to 11 with which the hardware stops before the next instruction that concerns a trace.
pub type Controls = [u64; 3];

/// A trap of a class was handled as in the first run, and the guest goes on at the PSW of the CPU. Gives the event of the
/// watched instruction, if it has ended.
pub fn trapped<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    traces: &mut WindowTraces,
    class: Class,
    each: &mut dyn FnMut(&Event<'_>),
) {
    if !traces.recording.watching {
        return;
    }
    if class != Class::Program {
        let old = cpu.interruption.old;
        stopped(cpu, configuration, hardware, traces, old, each);
        return;
    }
    let watched = &traces.recording.watched;
    let met = delivery::last_program(cpu, configuration, hardware)
        .filter(|(_, old)| old.address == watched.at || old.address == watched.next());
    let done = cpu.account.total().wrapping_sub(traces.began);
    if let Some((code, old)) = met {
        let now = core::mem::replace(&mut cpu.psw, old);
        found(cpu, configuration, hardware, traces, code, each);
        cpu.psw = now;
    } else if done == 0 && cpu.psw.address == watched.at {
        // It begins again.
        traces.recording.watching = false;
    } else {
        let alone = 1 + u64::from(watched.text.executed);
        traces.unseen += done.saturating_sub(alone);
        found(cpu, configuration, hardware, traces, 0, each);
    }
}

/// Where the instruction is that has met a program exception, by the old PSW and the identification that the hardware has
/// stored.
#[must_use]
pub const fn failing(old: Psw, identification: u32) -> Psw {
    let length = match ending(identification as u16) {
        Ending::Nullification => 0,
        _ => (identification >> 16) as u8,
    };
    Psw {
        address: old.address.wrapping_sub(length as u64) & old.address_mask(),
        ..old
    }
}

/// The guest has ended by what the watched instruction did. Gives its event.
pub fn ended<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    traces: &mut WindowTraces,
    each: &mut dyn FnMut(&Event<'_>),
) {
    if traces.recording.watching && cpu.account.total() > traces.began {
        found(cpu, configuration, hardware, traces, 0, each);
    }
}

/// The hardware has stopped the guest before the instruction that this old PSW designates. The general registers of the
/// CPU are the guest's. Gives the event of the watched instruction, if there is one.
pub fn stopped<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    traces: &mut WindowTraces,
    old: Psw,
    each: &mut dyn FnMut(&Event<'_>),
) {
    if !traces.recording.watching {
        return;
    }
    let now = cpu.psw;
    cpu.psw.mask = traces.recording.watched.mask;
    cpu.psw = cpu.interrupted_psw(old);
    if cpu.psw.address == traces.recording.watched.at {
        // It is interruptible, and has completed a part.
        traces.recording.watching = false;
    } else {
        found(cpu, configuration, hardware, traces, 0, each);
    }
    cpu.psw = now;
}

/// Gives the event of the watched instruction, which is completed or has met the program exception `code`.
fn found<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    traces: &mut WindowTraces,
    code: u16,
    each: &mut dyn FnMut(&Event<'_>),
) {
    traces.recording.watching = false;
    let found = aside(cpu, traces, |cpu| {
        if code == 0 && cpu.per.watched.text.length != 0 {
            note_control(cpu);
        }
        traced::find(cpu, configuration, hardware, code)
    });
    let Some(found) = found else { return };
    for number in found.traces() {
        if let Some(count) = traces.counts.get_mut(usize::from(number)) {
            *count += 1;
        }
    }
    if let Some(event) = found.event() {
        each(&event);
    }
}

/// The guest goes on at a PSW with the general registers of the CPU, and its account then shows `total` cycles. Begins to
/// watch the instruction, and says how the hardware stops the guest behind it. Tracing is possible.
pub fn watch<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    traces: &mut WindowTraces,
    next: Psw,
    total: u64,
) -> Controls {
    let now = core::mem::replace(&mut cpu.psw, next);
    let at = next.address & next.address_mask();
    let looks = configuration.per.step == Step::Exact;
    let range = aside(cpu, traces, |cpu| {
        if looks
            && cpu.per.traces.stores().next().is_none()
            && !cpu.per.traces.concern(at)
            && let Some(range) = Range::around(at, per::places(cpu))
        {
            cpu.per.watching = false;
            return range;
        }
        begin(cpu, configuration, hardware, at);
        let halfword = Range {
            start: at,
            end: at.wrapping_add(1),
        };
        halfword.others()
    });
    cpu.psw = now;
    (traces.began, traces.is_on) = (total, true);
    [configuration.per.masks, range.start, range.end]
}

/// Whether the hardware can stop the guest for the window: not if the guest records events itself.
#[must_use]
pub fn is_possible(cpu: &Vcpu, configuration: &Configuration) -> bool {
    !cpu.per.is_on() && configuration.per.nullifies()
}

/// An interruption of the first run has come before the next instruction, which the real PSW designates. In the first run
/// a fetch that fails comes before it, because QEMU looks for the next instruction before it counts the last one; but behind
/// an instruction that may have an event it does not. So the hardware is to try the fetch first: it stops at any
/// instruction, and nothing else interrupts. Gives the controls and the PSW for that.
pub fn look(traces: &mut WindowTraces, masks: u64, real: Psw) -> (Controls, Psw) {
    const OTHERS: u64 = psw::EXTERNAL | psw::IO;
    traces.recording.watching = false;
    (traces.is_on, traces.looks) = (true, Some(real.mask & OTHERS));
    let closed = Psw {
        mask: real.mask & !OTHERS,
        ..real
    };
    ([masks, 0, u64::MAX], stopping(closed))
}

/// The old PSW of a program interruption: after a look, with what that had closed.
pub fn seen(traces: &mut WindowTraces, old: Psw) -> Psw {
    Psw {
        mask: old.mask | traces.looks.take().unwrap_or(0),
        ..old
    }
}

/// Nothing is traced from now on. Returns what the real control registers 9 to 11 are to hold if they hold the window's.
pub fn rest(cpu: &Vcpu, traces: &mut WindowTraces) -> Option<Controls> {
    traces.recording.watching = false;
    core::mem::take(&mut traces.is_on).then_some(cpu.per.loaded)
}

/// Does something with the recording of the window in the place of the CPU's. The pages that the CPU keeps stay the ones
/// of the first run.
fn aside<T>(cpu: &mut Vcpu, traces: &mut WindowTraces, what: impl FnOnce(&mut Vcpu) -> T) -> T {
    core::mem::swap(&mut cpu.per, &mut traces.recording);
    let kept = cpu.kept.remember();
    let result = what(cpu);
    cpu.kept.restore(kept);
    core::mem::swap(&mut cpu.per, &mut traces.recording);
    result
}

/// A PSW with which the real CPU stops at the window's events.
#[must_use]
pub const fn stopping(real: Psw) -> Psw {
    Psw {
        mask: real.mask | psw::PER,
        ..real
    }
}

/// A PSW with which it does not.
#[must_use]
pub const fn free(real: Psw) -> Psw {
    Psw {
        mask: real.mask & !psw::PER,
        ..real
    }
}
