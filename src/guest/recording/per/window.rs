//! The traces of a window: program events in a part of a run that is performed again.
//!
//! The guest executes its text from [`copies`], in which the machine replaces the next instruction at which
//! it is to stop: that after the watched one, or the next one that concerns a trace. Branches are performed by the machine, and so
//! are those that an EXECUTE leads to: so what stops the guest is always on its way.
//!
//! The CPU's own recording and its account stay as in the first run, and the traps go the ways of the first run. So what a
//! watched instruction has done is found out apart from them: from the state at the next stop, or, if the instruction itself
//! trapped, from the state in which the guest goes on.
//!
//! A guest that records events itself is not traced meanwhile.

use super::traced;
use super::watched::{begin, note_control};
use crate::delivery;
use crate::hardware::Hardware;
use crate::recording::copies::{
    self, Interrupted, Performed, as_first_run, as_next, executed, fetch, is_branch, is_replaced,
    overhead, perform, put_back, reads_clock, spaces,
};
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::state::window_traces::WindowTraces;
use crate::storage::shadow::copied;
use arch::address::{PAGE, Real, Virtual};
use arch::interruption::{Class, Ending, ProgramInterruption, ending};
use arch::psw::Psw;
use insn::executed::is_execute;
use insn::{length, sensitive};
use link::trace::Event;
use per::trace::Traces;

/// The most instructions that the guest executes between two stops.
const MOST: u64 = 512;

/// Takes an event.
type Each<'e> = dyn FnMut(&Event<'_>) + 'e;

/// The traces of a window of a CPU. Nothing else uses the [`COUNTING_STORAGE`](link::loader::COUNTING_STORAGE) bytes at `at`.
pub fn new<H: Hardware>(hardware: &mut H, traces: Traces, at: Real) -> WindowTraces {
    let traces = WindowTraces::new(traces, at);
    let (zeros, length) = traces.copies.area.zeros();
    hardware.hsa_fill(zeros, length, 0);
    traces
}

/// A trap of a class was handled as in the first run, and the guest goes on at the PSW of the CPU, for which the hardware would
/// have the PSW `real`. Gives the event of the watched instruction, if it has ended. Returns the PSW that the hardware is to have;
/// it stops at the next event if that `is_wanted`.
pub fn trapped<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    traces: &mut WindowTraces,
    (class, real, is_wanted): (Class, Psw, bool),
    each: &mut Each<'_>,
) -> Psw {
    put_back(hardware, &mut traces.copies);
    if traces.recording.watching {
        find_trapped(cpu, configuration, hardware, traces, class, each);
    }
    traces.after_branch = false;
    let (next, total) = (cpu.psw, cpu.account.total());
    let how = (next, real, total, is_wanted);
    go_on(cpu, configuration, hardware, traces, how)
}

/// Gives the event of the watched instruction after a trap of a class, if it has ended.
fn find_trapped<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    traces: &mut WindowTraces,
    class: Class,
    each: &mut Each<'_>,
) {
    if class != Class::Program {
        let old = cpu.interruption.old;
        end_at(cpu, configuration, hardware, traces, old, each);
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
        traces.note_unseen(cpu.account.total());
        found(cpu, configuration, hardware, traces, 0, each);
    }
}

/// Where the instruction is that has met a program exception, by the old PSW and the identification that the hardware has
/// stored.
const fn failing(old: Psw, identification: u32) -> Psw {
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
    each: &mut Each<'_>,
) {
    if traces.recording.watching && cpu.account.total() > traces.began {
        found(cpu, configuration, hardware, traces, 0, each);
    }
}

/// The watched instruction may have ended before the one that this old PSW designates. The general registers of the CPU are the
/// guest's. Gives the event.
fn end_at<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    traces: &mut WindowTraces,
    old: Psw,
    each: &mut Each<'_>,
) {
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

/// A program interruption of the first run has come. It may be that of the instruction after the watched one: gives the event of
/// that, and watches the one that has met it.
pub fn met<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    traces: &mut WindowTraces,
    interrupted: &Interrupted,
    each: &mut Each<'_>,
) {
    let (old, code) = (interrupted.old, interrupted.code());
    let here = failing(old, interrupted.identification);
    let at = here.address & here.address_mask();
    if !traces.recording.watching || traces.recording.is_watching(at) {
        return;
    }
    end_at(cpu, configuration, hardware, traces, here, each);
    let charged = configuration.charges.of(code).unsigned_abs();
    let account = &cpu.account;
    let span = account.ticks(account.left, account.entered);
    let total = account.total() + span.saturating_sub(overhead(configuration, charged));
    let next = cpu.interrupted_psw(here);
    watch(cpu, configuration, hardware, traces, next, total);
}

/// Gives the event of the watched instruction, which is completed or has met the program exception `code`.
fn found<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    traces: &mut WindowTraces,
    code: u16,
    each: &mut Each<'_>,
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

/// An interruption was only for the window, and this is its old PSW. The account then shows `total` cycles. Returns the PSW that the
/// hardware is to have: the guest stops at the next event if that `is_wanted`.
pub fn interrupted<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    traces: &mut WindowTraces,
    (old, total, is_wanted): (Psw, u64, bool),
    each: &mut Each<'_>,
) -> Psw {
    if traces.is_on() == is_wanted {
        return old;
    }
    put_back(hardware, &mut traces.copies);
    if traces.recording.watching {
        end_at(cpu, configuration, hardware, traces, old, each);
    }
    let (next, real) = (cpu.interrupted_psw(old), as_first_run(cpu, old));
    let how = (next, real, total, is_wanted);
    go_on(cpu, configuration, hardware, traces, how)
}

/// A timer has interrupted the guest, which has executed something, with this old PSW. If the next instruction cannot be fetched,
/// the first run has that exception first: QEMU looks for the next instruction before it looks whether a timer is due. If it is
/// so, returns the PSW with which the hardware is to try that.
pub fn look<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    traces: &mut WindowTraces,
    old: Psw,
) -> Option<Psw> {
    let next = cpu.interrupted_psw(old);
    let at = next.address & next.address_mask();
    let (of, _) = spaces(cpu);
    let copies = &mut traces.copies;
    let text = fetch(configuration, hardware, copies, of, next.address_mask(), at);
    // To look may have made room.
    copied::settle(hardware, copies);
    text.is_none().then(|| copies::look(copies, old))
}

/// How the guest goes on after a stop.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// The PSW for the hardware.
    pub real: Psw,
    /// The overhead.
    pub overhead: u64,
    /// Where it has stopped, and how many cycles its account would show there.
    pub at: Option<(Psw, u64)>,
}

/// A program interruption has come while the guest executed copies, and nothing but the general registers and the clock has been
/// stored. If it is only for the traces, gives the event of the watched instruction, and returns how the guest goes on. It is
/// traced further if that `is_wanted`.
pub fn stopped<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    traces: &mut WindowTraces,
    (interrupted, is_wanted): (&Interrupted, bool),
    each: &mut Each<'_>,
) -> Option<Stop> {
    if interrupted.code() != ProgramInterruption::Operation.code() {
        let copies = &mut traces.copies;
        let (real, overhead) = copies::missed(cpu, configuration, hardware, copies, interrupted)?;
        return Some(Stop {
            real,
            overhead,
            at: None,
        });
    }
    let old = cpu.interrupted_psw(interrupted.old);
    let mask = old.address_mask();
    let here = old.address.wrapping_sub(interrupted.length()) & mask;
    let (of, _) = spaces(cpu);
    let instruction = executed(
        cpu,
        configuration,
        hardware,
        &mut traces.copies,
        (of, mask),
        here,
    )?;
    let mut charged = configuration.charges.of(interrupted.code()) as u64;
    let is_stop = traces.stop == Some(here);
    if !is_stop {
        // It may be left of an earlier stop.
        let is_left = |hardware: &mut H, traces: &mut WindowTraces, at: u64| {
            let copies = &mut traces.copies;
            copied::page(configuration, hardware, copies, of, Virtual(at))
                .is_some_and(|page| is_replaced(hardware, &page, at))
        };
        if !is_left(hardware, traces, here) {
            if !instruction.is_executed() || !is_left(hardware, traces, instruction.from) {
                return None;
            }
            charged += u64::from(configuration.charges.execute);
        }
    }
    put_back(hardware, &mut traces.copies);
    let overhead = overhead(configuration, charged);
    let account = &cpu.account;
    let span = account.ticks(account.left, account.entered);
    let mut total = account.total() + span.saturating_sub(overhead);
    let mut real = Psw {
        address: here,
        ..interrupted.old
    };
    let at = (real, total);
    if traces.recording.watching && traces.recording.watched.at != here {
        traces.note_unseen(total);
        end_at(cpu, configuration, hardware, traces, real, each);
    }
    let mut next = Psw {
        address: here,
        ..old
    };
    let mut own = 0;
    traces.after_branch = false;
    if is_stop && is_wanted && is_branch(configuration, &instruction.text) {
        watch(cpu, configuration, hardware, traces, next, total);
        let text = (&instruction.text, instruction.from);
        let length = instruction.length;
        match perform(cpu, configuration, hardware, next, length, text) {
            Performed::To(target) => {
                next = target;
                real = as_next(real, next);
                own = 1 + u64::from(instruction.is_executed());
                total += own;
                traces.after_branch = true;
                if traces.recording.watching {
                    let now = core::mem::replace(&mut cpu.psw, next);
                    found(cpu, configuration, hardware, traces, 0, each);
                    cpu.psw = now;
                }
            }
            Performed::Never => {
                traces.stop = None;
                let real = as_first_run(cpu, real);
                let real = copies::rest(cpu, hardware, &mut traces.copies, real);
                return Some(Stop {
                    real,
                    overhead,
                    at: Some(at),
                });
            }
            Performed::Other => {}
        }
    }
    let real = as_first_run(cpu, real);
    let how = (next, real, total, is_wanted);
    let real = go_on(cpu, configuration, hardware, traces, how);
    Some(Stop {
        real,
        overhead: overhead.saturating_sub(own),
        at: Some(at),
    })
}

/// The guest goes on at a PSW with the general registers of the CPU, for which the hardware would have the PSW `real`, and its
/// account then shows `total` cycles. Returns the PSW that the hardware is to have.
fn go_on<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    traces: &mut WindowTraces,
    (next, real, total, is_wanted): (Psw, Psw, u64, bool),
) -> Psw {
    traces.stop = None;
    if !is_wanted || !copies::is_possible(cpu) {
        traces.recording.watching = false;
        return copies::rest(cpu, hardware, &mut traces.copies, real);
    }
    watch(cpu, configuration, hardware, traces, next, total);
    let cpu = &*cpu;
    copies::leave(
        cpu,
        configuration,
        hardware,
        traces,
        real,
        |hardware, traces| {
            put_back(hardware, &mut traces.copies);
            let rest = traces.due.saturating_sub(total);
            traces.stop = replace_next(cpu, configuration, hardware, traces, (next, rest));
        },
    )
}

/// Watches the instruction at a PSW, with the general registers of the CPU, if it concerns a trace and is not watched yet. The
/// account shows `total` cycles before it.
fn watch<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    traces: &mut WindowTraces,
    next: Psw,
    total: u64,
) {
    let at = next.address & next.address_mask();
    if !traces.concern(at) {
        traces.recording.watching = false;
    } else if !traces.recording.is_watching(at) {
        let now = core::mem::replace(&mut cpu.psw, next);
        aside(cpu, traces, |cpu| begin(cpu, configuration, hardware, at));
        cpu.psw = now;
        traces.began = total;
    }
}

/// Replaces the instruction at which the guest stops that goes on at this PSW with the general registers of the CPU, after `rest`
/// instructions at most. Returns its address; `None` if the hardware misses something before.
fn replace_next<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    traces: &mut WindowTraces,
    (next, rest): (Psw, u64),
) -> Option<u64> {
    let (of, _) = spaces(cpu);
    let mask = next.address_mask();
    let first_at = next.address & mask;
    // Nothing is known of what cannot be fetched.
    traces.reads_clock = true;
    let first = executed(
        cpu,
        configuration,
        hardware,
        &mut traces.copies,
        (of, mask),
        first_at,
    )?;
    renew(configuration, hardware, traces, (of, mask), first_at)?;
    if rest == 0 || is_branch(configuration, &first.text) {
        traces.reads_clock = false;
        return replace(configuration, hardware, traces, of, first_at);
    }
    if first.is_executed() {
        renew(configuration, hardware, traces, (of, mask), first.from)?;
    }
    let is_alone = first.is_executed() || traces.concern(first_at);
    let mut may_read = reads_clock(&first.text);
    let mut at = first_at.wrapping_add(first.length) & mask;
    for number in 1.. {
        let text = renew(configuration, hardware, traces, (of, mask), at)?;
        let is_stop = is_alone
            || number >= rest.min(MOST)
            || is_branch(configuration, &text)
            || is_execute(u16::from_be_bytes([text[0], text[1]]))
            || traces.concern(at);
        if is_stop && !first.has_target_at(at) {
            traces.reads_clock = may_read;
            return replace(configuration, hardware, traces, of, at);
        }
        may_read |= reads_clock(&text);
        at = at.wrapping_add(length(text[0]) as u64) & mask;
    }
    None
}

/// Replaces the instruction at an address until the guest stops. Returns the address.
fn replace<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    traces: &mut WindowTraces,
    of: u64,
    at: u64,
) -> Option<u64> {
    let copies = &mut traces.copies;
    let page = copied::page(configuration, hardware, copies, of, Virtual(at))?;
    let offset = Virtual(at).byte_index() & !7;
    let original = copied::load(hardware, page.source, offset);
    let place = page.copy.offset(offset);
    copies.edits.push((place, original)).ok()?;
    let replaced = sensitive::replace(original, 1 << (at >> 1 & 3));
    hardware.hsa_store(place, replaced);
    Some(at)
}

/// Makes the copy of the instruction at an address as the guest has it, and returns its text; `None` if it cannot be fetched.
fn renew<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    traces: &mut WindowTraces,
    (of, mask): (u64, u64),
    at: u64,
) -> Option<[u8; 6]> {
    let copies = &mut traces.copies;
    let text = fetch(configuration, hardware, copies, of, mask, at)?;
    let bytes = length(text[0]) as u64;
    for step in (0..(at & 7) + bytes).step_by(8) {
        let there = Virtual((at & !7).wrapping_add(step) & mask);
        let page = copied::page(configuration, hardware, copies, of, there)?;
        let offset = there.0 % PAGE;
        let original = copied::load(hardware, page.source, offset);
        let copy = page.copy.offset(offset);
        if hardware.hsa_load(copy) != original {
            hardware.hsa_store(copy, original);
        }
    }
    Some(text)
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
