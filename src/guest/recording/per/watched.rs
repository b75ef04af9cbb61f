//! The instruction that is watched: its text, the state before it, and what it has done.

use crate::hardware::Hardware;
use crate::recording::caches;
use crate::recording::per::event_spaces;
use crate::state::access::{Access, Space};
use crate::state::configuration::Configuration;
use crate::state::reference;
use crate::state::text::Text;
use crate::state::vcpu::Vcpu;
use crate::storage;
use arch::address::Virtual;
use insn;
use insn::branch::{Branch, Site, branch};
use insn::placed::placed;
use insn::references::{self, Knowledge, Reference, State};
use per::{Done, Identification, Range, changed, event, mode_identification};

/// As many operands as any instruction has, and two texts.
const MOST_REFERENCES: usize = 12;

/// Begins to watch the instruction at `at`.
pub(super) fn begin<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: u64,
) {
    let spaces = event_spaces(cpu, &cpu.per.controls);
    let (text, text_at) = text(cpu, configuration, hardware, at).unwrap_or_else(|| {
        // It will not begin: the hardware will find out why.
        let none = Text {
            length: 0,
            ..Text::default()
        };
        (none, at)
    });
    let watched = &mut cpu.per.watched;
    watched.at = at;
    watched.mask = cpu.psw.mask;
    watched.controls = cpu.per.controls;
    watched.spaces = spaces;
    watched.text = text;
    watched.text_at = text_at;
    watched.general = cpu.general;
    // Until a slot shows that it is none.
    watched.branches = true;
    cpu.per.watching = true;
    if text.executed
        && let Some(range) = cpu.per.controls.fetches()
        && range.contains(text_at)
    {
        // Whatever stands in its place, and whatever of it is protected.
        cpu.per.protected.alone = Some(at);
    }
    cpu.per.stored.set(false);
    cpu.per.stored_real.set(false);
    cpu.per.noted.count.set(0);
}

/// The text of the instruction at an address, or of its target if it is an EXECUTE, and the address of that text.
fn text<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: u64,
) -> Option<(Text, u64)> {
    let text = stepped_text(cpu, configuration, hardware, at)?;
    if !matches!(text.bytes[0], 0x44 | 0xC6) {
        return Some((text, at));
    }
    let Some((target, r1)) = insn::target(&insn::decode(&text.bytes), at, &cpu.general) else {
        return Some((text, at));
    };
    let target = target & cpu.psw.address_mask();
    let executed = stepped_text(cpu, configuration, hardware, target)?;
    let text = Text {
        bytes: insn::modified_target(executed.bytes, r1, &cpu.general),
        length: text.length,
        executed: true,
    };
    Some((text, target))
}

/// The text of the instruction at an address. Its page is kept, as for an instruction that traps.
pub fn stepped_text<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: u64,
) -> Option<Text> {
    let at = Virtual(at);
    if !storage::is_within_a_page(at) {
        return storage::text_at(cpu, configuration, hardware, at).ok();
    }
    let place = match cpu.stepped_text(at) {
        Some(place) => place,
        None => {
            let found =
                storage::resolve(cpu, configuration, hardware, at, 6, Access::Execute).ok()?;
            cpu.keep_stepped_text(at, found.first.start());
            found.first.start()
        }
    };
    Some(Text::of(storage::text_within_a_page(hardware, place)))
}

/// The branch that the watched instruction makes, if it is one.
pub(super) fn branches(cpu: &Vcpu) -> Option<Branch> {
    let watched = &cpu.per.watched;
    if !watched.branches {
        return None;
    }
    let site = Site {
        at: watched.text_at,
        next: watched.next(),
        length_code: watched.text.length / 2,
    };
    branch(&watched.text.bytes, &site, &watched.general, watched.mask)
}

/// Passes the references of the watched instruction through the model of the CPU's caches.
pub(super) fn go_through_caches<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
) {
    let watched = &cpu.per.watched;
    let execute = |at: u64, length: usize| {
        reference::Reference::new(Virtual(at), length as u64, Access::Execute)
    };
    let mut all = heapless::Vec::<reference::Reference, MOST_REFERENCES>::new();
    let (text, at) = (&watched.text.bytes, watched.text_at);
    // There is room for as many as any instruction has.
    let _ = all.push(execute(watched.at, watched.text.length.into()));
    if watched.text.executed {
        let _ = all.push(execute(at, insn::length(text[0])));
    }
    let (before, after) = states(cpu);
    let known = references::references(text, at, &before, &after, &mut |reference| {
        let access = if reference.access.stores() {
            Access::Store
        } else {
            Access::Fetch
        };
        let _ = all.push(reference::Reference {
            at: Virtual(reference.address),
            length: reference.length,
            access,
            space: named(reference.space),
        });
    });
    if known == Knowledge::Elsewhere {
        for noted in cpu.per.noted.all() {
            let _ = all.push(noted);
        }
    }
    // The instruction was translated under its own PSW.
    let after = core::mem::replace(&mut cpu.psw.mask, watched.mask);
    caches::step(cpu, configuration, hardware, all.iter().copied());
    cpu.psw.mask = after;
}

/// The space that an instruction names, if it names one.
pub(super) const fn named(space: references::OperandSpace) -> Option<Space> {
    match space {
        references::OperandSpace::Current(_) | references::OperandSpace::AccessRegister(_) => None,
        references::OperandSpace::Primary => Some(Space::Primary),
        references::OperandSpace::Secondary => Some(Space::Secondary),
        references::OperandSpace::Home => Some(Space::Home),
    }
}

/// The registers and the PSW before and after the watched instruction.
fn states(cpu: &Vcpu) -> (State<'_>, State<'_>) {
    let watched = &cpu.per.watched;
    let before = State {
        general: &watched.general,
        mask: watched.mask,
    };
    let after = State {
        general: &cpu.general,
        mask: cpu.psw.mask,
    };
    (before, after)
}

/// Notes what the watched instruction has stored if it is a control instruction, which was performed unwatched.
pub(super) fn note_control(cpu: &Vcpu) {
    let watched = &cpu.per.watched;
    let (before, after) = states(cpu);
    let (text, at) = (&watched.text.bytes, watched.text_at);
    references::stored_by_control(text, at, &before, &after, &mut |reference| {
        cpu.per.noted.add(reference::Reference {
            at: Virtual(reference.address),
            length: reference.length,
            access: Access::Store,
            space: named(reference.space),
        });
    });
}

/// The general registers that the watched instruction altered. A value that it placed may be the one that was there: that
/// is known only of an instruction that is completed. If the text shows no register, a change does.
#[inline(always)]
pub(super) fn altered(cpu: &Vcpu, completed: bool) -> u16 {
    let watched = &cpu.per.watched;
    if completed {
        let (before, after) = states(cpu);
        let placed = placed(&watched.text.bytes, &before, &after);
        if placed != 0 {
            return placed;
        }
    }
    changed(&watched.general, &cpu.general)
}

/// The events of the watched instruction, or of what it did before it failed to complete.
pub(super) fn identify(cpu: &Vcpu, completed: bool) -> Option<Identification> {
    let watched = &cpu.per.watched;
    let controls = &watched.controls;
    if controls.events == 0 {
        return None;
    }
    let mut done = Done {
        at: watched.at,
        executes: watched.text.executed.then_some(watched.text_at),
        ..Done::default()
    };
    if controls.everywhere() {
        if !completed || controls.ask_for(event::REGISTERS) {
            done.altered = altered(cpu, completed);
        }
        if completed && controls.ask_for(event::BRANCH) {
            // The current address is the target.
            let taken = branches(cpu).is_some_and(|branch| branch.target.is_some());
            done.branched_to = taken.then_some(cpu.psw.address);
        }
        if completed || done.altered != 0 {
            done.stored_real = cpu.per.stored_real.get();
            done.stored = cpu.per.stored.get()
                || controls.ask_for(event::STORE) && stores(cpu, controls.range);
        }
    }
    let events = controls.events(&done);
    (events != 0).then(|| Identification {
        format: controls.format,
        events,
        mode: mode_identification(watched.mask, events & event::STORE != 0),
        address: watched.at,
        access: 0,
    })
}

/// Whether the watched instruction stored into a range of a space in which stores may be events. For the few
/// instructions whose stores cannot be determined, a store into the space of the PSW is assumed.
fn stores(cpu: &Vcpu, range: Range) -> bool {
    let spaces = cpu.per.watched.spaces;
    let mut stored = false;
    let known = each_store(cpu, range, |reference| {
        stored |= spaces.has(named(reference.space));
    });
    stored || known == Knowledge::Unknown && spaces.has(None)
}

/// Calls `each` for every operand that the watched instruction, which the hardware executed, stored into a range;
/// returns what is known of the operands.
pub(super) fn each_store(cpu: &Vcpu, range: Range, mut each: impl FnMut(Reference)) -> Knowledge {
    let watched = &cpu.per.watched;
    let (before, after) = states(cpu);
    let (text, at) = (&watched.text.bytes, watched.text_at);
    references::references(text, at, &before, &after, &mut |reference| {
        if reference.access.stores() && range.meets(reference.address, reference.length) {
            each(reference);
        }
    })
}
