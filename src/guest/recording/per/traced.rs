//! The operator's traces on one CPU. The guest does not notice them.
//!
//! The guest runs freely outside of the pages in which a trace can have an event. Every instruction in these pages is watched,
//! like those that the guest itself records. An instruction with events of several traces is one event on the link.

use crate::hardware::Hardware;
use crate::recording::per::watched::{altered, branches, each_store, named};
use crate::state::access::{Access, Manner, Space};
use crate::state::configuration::Configuration;
use crate::state::vcpu::{HeldBy, Vcpu};
use crate::storage;
use arch::address::Virtual;
use core::sync::atomic::Ordering;
use insn::references::Knowledge;
use link::trace::{EXECUTED, Event, EventHead};
use per::trace::{Action, LONGEST_PATTERN, MOST_TRACES, Pattern, Trace, What};
use per::{Done, Range};
use zerocopy::byteorder::big_endian::U64;

/// Storage that an instruction has stored into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stored {
    at: u64,
    length: u64,
    space: Option<Space>,
}

/// From now on the CPU traces what the operator wants.
pub fn take_over<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    cpu.per.traces = *configuration.tracing.traces.lock();
    let counts = |trace: &Trace| trace.action == Action::Count && !trace.is_of_stores();
    cpu.per.only_counts = cpu.per.traces.all().all(|(_, trace)| counts(trace));
    cpu.per.protected.forget();
    super::change(cpu, configuration, hardware);
}

/// An instruction with events of traces.
pub(super) struct Found {
    head: EventHead,
    /// The contents of the registers that it altered.
    registers: heapless::Vec<U64, 16>,
    /// Whether a trace does more than count.
    is_streamed: bool,
    /// The trace that stops the guest, if there is one.
    stop: Option<u8>,
}

impl Found {
    /// The event, unless it is only to be counted.
    pub(super) fn event(&self) -> Option<Event<'_>> {
        self.is_streamed.then_some(Event {
            head: self.head,
            registers: &self.registers,
        })
    }

    /// The numbers of the traces that it belongs to.
    pub(super) fn traces(&self) -> impl Iterator<Item = u8> + use<> {
        let traces = self.head.traces;
        (0..8).filter(move |number| traces & 0x80 >> number != 0)
    }
}

/// The watched instruction is completed, or has met the program exception `code`: reports its events to each trace.
#[cold]
#[inline(never)]
pub(super) fn report<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    code: u16,
) {
    if cpu.per.only_counts {
        return count(cpu, configuration, code == 0);
    }
    let Some(found) = find(cpu, configuration, hardware, code) else {
        return;
    };
    for number in found.traces() {
        let count = configuration.tracing.of(number);
        count.fetch_add(1, Ordering::Relaxed);
    }
    if let Some(event) = found.event() {
        hardware.traced(cpu.address, &event, found.stop.is_some());
        if let Some(number) = found.stop {
            cpu.hold(HeldBy::Trace(number));
        }
    }
}

/// Counts the traces' events, if no trace does more than count and none is of stores.
fn count(cpu: &Vcpu, configuration: &Configuration, completed: bool) {
    let watched = &cpu.per.watched;
    if watched.text.length == 0 {
        return;
    }
    for (number, trace) in cpu.per.traces.all() {
        if happened(cpu, trace, completed) {
            let count = configuration.tracing.of(number);
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Whether the watched instruction had the event of a trace that is not of stores.
#[inline]
fn happened(cpu: &Vcpu, trace: &Trace, completed: bool) -> bool {
    let (branched, altered) = (|| is_taken(cpu, completed), || altered(cpu, completed));
    trace.happened(cpu.per.watched.at, branched, altered)
}

/// Whether the watched instruction has branched.
fn is_taken(cpu: &Vcpu, completed: bool) -> bool {
    completed && branches(cpu).is_some_and(|branch| branch.target.is_some())
}

/// What the traces find in the watched instruction, which is completed or has met the program exception `code`.
pub(super) fn find<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    code: u16,
) -> Option<Found> {
    let watched = &cpu.per.watched;
    if watched.text.length == 0 {
        return None;
    }
    let (at, completed) = (watched.at, code == 0);
    let mut head = EventHead::default();
    let (mut is_streamed, mut stop) = (false, None);
    for number in 0..MOST_TRACES as u8 {
        let Some(&trace) = cpu.per.traces.get(number) else {
            continue;
        };
        let happened = match trace.what {
            What::Store(_) if !completed && altered(cpu, completed) == 0 => false,
            What::Store(pattern) => {
                match stored(cpu, configuration, hardware, trace.range, pattern) {
                    Some(stored) => {
                        head.stored_at = stored.at.into();
                        head.stored_length = (stored.length.min(u16::MAX.into()) as u16).into();
                        true
                    }
                    None => false,
                }
            }
            _ => happened(cpu, &trace, completed),
        };
        if !happened {
            continue;
        }
        head.traces |= 0x80 >> number;
        head.events |= trace.event();
        is_streamed |= trace.action != Action::Count;
        if trace.action == Action::Stop {
            stop = Some(number);
        }
    }
    if head.traces == 0 {
        return None;
    }
    let mut registers = heapless::Vec::new();
    if is_streamed {
        let done = Done {
            at,
            branched_to: is_taken(cpu, completed).then_some(cpu.psw.address),
            altered: altered(cpu, completed),
            ..Done::default()
        };
        fill(cpu, &mut head, &done, code);
        for (number, &value) in cpu.general.iter().enumerate() {
            if done.altered << number & 0x8000 != 0 {
                // There are no more registers than that.
                let _ = registers.push(value.into());
            }
        }
    }
    Some(Found {
        head,
        registers,
        is_streamed,
        stop,
    })
}

/// Fills in what every event has.
fn fill(cpu: &Vcpu, head: &mut EventHead, done: &Done, code: u16) {
    let watched = &cpu.per.watched;
    head.length = watched.text.length;
    head.state = if watched.text.executed { EXECUTED } else { 0 };
    head.code = code.into();
    head.altered = done.altered.into();
    head.text = watched.text.bytes;
    head.at = watched.at.into();
    head.mask = watched.mask.into();
    head.next = cpu.psw.address.into();
    head.mask_after = cpu.psw.mask.into();
    head.tod = cpu.account.entered.into();
}

/// The first thing that the watched instruction stored into a range and that satisfies the pattern, if there is one.
/// For the few instructions whose stores cannot be determined, a store is assumed, but not its contents.
fn stored<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    range: Range,
    pattern: Option<Pattern>,
) -> Option<Stored> {
    let mut all = heapless::Vec::<Stored, 8>::new();
    let known = each_store(cpu, range, |reference| {
        // No instruction stores into more places.
        let _ = all.push(Stored {
            at: reference.address,
            length: reference.length,
            space: named(reference.space),
        });
    });
    for noted in cpu.per.noted.all() {
        if noted.access == Access::Store && range.meets(noted.at.0, noted.length) {
            let _ = all.push(Stored {
                at: noted.at.0,
                length: noted.length,
                space: noted.space,
            });
        }
    }
    let Some(pattern) = pattern else {
        let unknown = known == Knowledge::Unknown;
        let first = all.first().copied();
        return first.or_else(|| unknown.then(Stored::default));
    };
    // The instruction was translated under its own PSW.
    let mask = core::mem::replace(&mut cpu.psw.mask, cpu.per.watched.mask);
    let found = all
        .iter()
        .find(|stored| begins_with(cpu, configuration, hardware, range, stored, &pattern))
        .copied();
    cpu.psw.mask = mask;
    found
}

/// Whether what was stored in the range begins with a pattern.
fn begins_with<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    range: Range,
    stored: &Stored,
    pattern: &Pattern,
) -> bool {
    let from = if range.contains(stored.at) {
        stored.at
    } else {
        range.start
    };
    let mut bytes = [0; LONGEST_PATTERN];
    let expected = pattern.bytes();
    let bytes = &mut bytes[..expected.len()];
    let length = expected.len() as u64;
    let inside = from.wrapping_sub(stored.at);
    if inside.saturating_add(length) > stored.length {
        return false;
    }
    peek(
        cpu,
        configuration,
        hardware,
        stored.space,
        Virtual(from),
        bytes,
    )
    .is_some()
        && bytes == expected
}

/// Reads storage by the program's addresses, in a space or else in that of the PSW, without leaving a trace.
pub fn peek<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    space: Option<Space>,
    at: Virtual,
    into: &mut [u8],
) -> Option<()> {
    let space = space.or_else(|| Space::current(cpu, Access::Fetch));
    let length = into.len() as u64;
    let manner = Manner::without_key(space, Access::Fetch);
    let claim = storage::locate(cpu, configuration, hardware, manner, at, length);
    claim.ok()?.load(hardware, into);
    Some(())
}
