//! The instruction that is watched: its text, what was before it, and what it has done.

use crate::arch::address::Virtual;
use crate::guest::caches;
use crate::guest::configuration::Configuration;
use crate::guest::dat::{Access, Space};
use crate::guest::hardware::Hardware;
use crate::guest::storage;
use crate::guest::vcpu::{Text, Vcpu};
use crate::insn;
use crate::insn::branch::{Branch, Site, Target, branch};
use crate::insn::references::{self, Knowledge, Reference, State};
use crate::per::mode_identification;
use crate::per::{Controls, Done, Identification, Range, altered, event};
use core::cell::Cell;

/// An instruction that has been let begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    /// Its address, or that of the EXECUTE whose target it is.
    pub at: u64,
    /// The left half of the PSW before it.
    pub mask: u64,
    /// The controls before it.
    pub controls: Controls,
    /// The instruction; of length zero if it could not be fetched.
    pub text: Text,
    /// Where its text stands.
    pub text_at: u64,
    /// The general registers before it.
    pub general: [u64; 16],
    /// It branches to itself: the firmware performs it.
    pub to_itself: bool,
}

impl Watched {
    pub const NONE: Self = Self {
        at: 0,
        mask: 0,
        controls: Controls::NONE,
        text: Text::of([0; 6]),
        text_at: 0,
        general: [0; 16],
        to_itself: false,
    };

    /// Whether its fetch, or that of an EXECUTE whose target it is, nullifies.
    pub fn is_nullified(&self) -> bool {
        let fetched = [self.at, self.text_at];
        self.text.length != 0 && fetched.into_iter().any(|at| self.controls.nullify(at))
    }

    /// Where the next sequential instruction is.
    fn next(&self) -> u64 {
        self.at.wrapping_add(self.text.length.into())
    }
}

/// Operands of an instruction that millicode performs, as far as there is room for them.
#[derive(Debug)]
pub(super) struct Noted {
    pub count: Cell<usize>,
    references: [Cell<caches::Reference>; MOST_NOTED],
}

/// What any instruction refers to that moves no data from one place to another.
const MOST_NOTED: usize = 4;

impl Noted {
    pub const fn new() -> Self {
        Self {
            count: Cell::new(0),
            references: [const { Cell::new(caches::Reference::new(Virtual(0), 0, Access::Fetch)) };
                MOST_NOTED],
        }
    }

    pub fn add(&self, reference: caches::Reference) {
        let count = self.count.get();
        if let Some(free) = self.references.get(count) {
            free.set(reference);
            self.count.set(count + 1);
        }
    }

    pub fn all(&self) -> impl Iterator<Item = caches::Reference> {
        self.references.iter().take(self.count.get()).map(Cell::get)
    }
}

/// As many operands as any instruction has, and two texts.
const MOST_REFERENCES: usize = 12;

/// The instruction at `at` is watched from now on.
pub(super) fn begin<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: u64,
) {
    let (text, text_at) = text(cpu, configuration, hardware, at).unwrap_or_else(|| {
        // It will not begin: the hardware finds out why.
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
    watched.text = text;
    watched.text_at = text_at;
    watched.general = cpu.general;
    watched.to_itself = false;
    cpu.per.watching = true;
    cpu.per.stored.set(false);
    cpu.per.stored_real.set(false);
    cpu.per.noted.count.set(0);
    if text.length != 0 {
        cpu.per.watched.to_itself = branches(cpu)
            .is_some_and(|branch| target(cpu, configuration, hardware, &branch) == Some(at));
    }
}

/// The text of the instruction at an address, or of the target of an EXECUTE there, and where that stands.
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

/// The text of the instruction at an address. Its page is kept, as those of instructions that trap are.
fn stepped_text<H: Hardware>(
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
            cpu.keep_stepped_text(at, found.first.at);
            found.first.at
        }
    };
    Some(Text::of(storage::text_within_a_page(hardware, place)))
}

/// What the watched instruction does if it is a branch.
pub(super) fn branches(cpu: &Vcpu) -> Option<Branch> {
    let watched = &cpu.per.watched;
    let site = Site {
        at: watched.text_at,
        next: watched.next(),
        length_code: watched.text.length / 2,
    };
    branch(&watched.text.bytes, &site, &watched.general, watched.mask)
}

/// Where a branch goes.
fn target<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    branch: &Branch,
) -> Option<u64> {
    match branch.target? {
        Target::Address(target) => Some(target),
        Target::Stored(at) => {
            let target = storage::fetch_u64(cpu, configuration, hardware, Virtual(at));
            Some(target.ok()? & cpu.psw.address_mask())
        }
    }
}

/// What the watched instruction referred to goes through the model of the CPU's caches.
pub(super) fn go_through_caches<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
) {
    let watched = &cpu.per.watched;
    let execute = |at: u64, length: usize| {
        caches::Reference::new(Virtual(at), length as u64, Access::Execute)
    };
    let mut all = heapless::Vec::<caches::Reference, MOST_REFERENCES>::new();
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
        let _ = all.push(caches::Reference {
            at: Virtual(reference.address),
            length: reference.length,
            access,
            space: named(reference.space),
        });
    });
    if known == Knowledge::Elsewhere {
        all.extend(cpu.per.noted.all());
    }
    // The translation is that of the instruction.
    let after = core::mem::replace(&mut cpu.psw.mask, watched.mask);
    caches::step(cpu, configuration, hardware, all);
    cpu.psw.mask = after;
}

/// The space that an instruction names, if it names one.
pub(super) const fn named(space: references::Space) -> Option<Space> {
    match space {
        references::Space::Current(_) | references::Space::AccessRegister(_) => None,
        references::Space::Primary => Some(Space::Primary),
        references::Space::Secondary => Some(Space::Secondary),
        references::Space::Home => Some(Space::Home),
    }
}

/// The registers and the PSW before the watched instruction and after it.
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

/// The events of the watched instruction; of one that is not completed, what it has done nevertheless.
pub(super) fn identify(cpu: &Vcpu, completed: bool) -> Option<Identification> {
    let watched = &cpu.per.watched;
    let controls = &watched.controls;
    let mut done = Done {
        at: watched.at,
        executes: watched.text.executed.then_some(watched.text_at),
        ..Done::default()
    };
    if controls.everywhere() {
        done.altered = altered(&watched.general, &cpu.general);
        if completed && controls.ask_for(event::BRANCH) {
            // Wherever it went, it is there.
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

/// Whether the watched instruction, which the hardware executed, stored into a range. Of the few of which
/// nobody can tell from the outside, it is taken that they may have.
fn stores(cpu: &Vcpu, range: Range) -> bool {
    let mut stored = false;
    let known = each_store(cpu, range, |_| stored = true);
    stored || known == Knowledge::Unknown
}

/// Gives every operand to `each` that the watched instruction, which the hardware executed, stored into a range; what
/// is known of them.
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
