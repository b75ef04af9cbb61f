//! Watching a page for what could not be proved to be an instruction.
//!
//! A candidate for a sensitive instruction that the scanner can neither prove nor refute stands in a
//! stretch of the page that control is not known to reach ([`Sites::stretches`]). Such a page is executed
//! with the machine's own program-event recording on: an instruction-fetching event, nullified, tells of
//! the first instruction in a stretch before it is executed. Then that place is one more entry that the
//! scanner knows, what follows from it is proved and replaced in the code copy, and the guest goes on.
//! Data that merely look like an instruction are never reached, so they stay what they are.
//!
//! A CPU watches one page at a time. An instruction that stands in it and reaches into another watched
//! page is let through alone, with the range everything but its own address.
//!
//! A page is watched in one address space: recording is off while the guest executes in another one, where the
//! same addresses are other instructions, and goes on when it is back. Until then the page is executable
//! in the space that it is watched in, and nowhere else.
//!
//! There is one range of addresses, which may wrap around. Outside the page it spans all stretches;
//! between two of them it is everything else, so that whoever leaves the gap is seen.
//!
//! **What the machine below makes of it.** QEMU decides on an event when the translated block has begun,
//! and two things are then wrong in the middle of a block: the condition code (QEMU 7.2), and the clock,
//! which has been charged with the whole block. Neither matters here. A stretch is only ever entered by
//! something that ends a block, so the event meets the block's first instruction and the condition code
//! is whole. And what the clock was charged in vain is measured: the same place is tried once more
//! at once, which is charged the same and executes nothing. Only if the clock comparator cut the block
//! short just then is the first charge unknown; that is counted ([`Watch::doubtful`]).
//!
//! Control registers 9 to 11 and bit 1 of the real PSW belong to this; the guest's own stay virtual.
//!
//! [`Sites::stretches`]: crate::insn::sensitive::Sites::stretches

use crate::arch::address::{Absolute, PAGE, Virtual};
use crate::arch::control::asce::REAL_SPACE;
use crate::arch::control::{CR9_INSTRUCTION_FETCHING, CR9_NULLIFICATION};
use crate::arch::psw::PER;
use crate::guest::account::Mode;
use crate::guest::configuration::Configuration;
use crate::guest::dat::{Access, Space};
use crate::guest::due::Due;
use crate::guest::hardware::Hardware;
use crate::guest::scanner::{self, Stretches};
use crate::guest::schedule::Step;
use crate::guest::vcpu::Vcpu;
use crate::guest::{shadow, storage};

mod known;

pub use known::KnownPages;

/// Where the guest is known to begin instructions in a page.
type Entries = heapless::Vec<usize, MOST_ENTRIES>;

/// Places in the page at which the guest began an instruction and that are kept.
const MOST_ENTRIES: usize = 32;

/// The page that a CPU watches, if any.
#[derive(Debug, Default)]
pub struct Watch {
    /// Whether a page is watched, and executable.
    on: bool,
    /// The virtual page.
    page: u64,
    /// The space that it is in ([`space_of`]).
    space: u64,
    /// Its absolute address.
    absolute: Absolute,
    /// Where the guest is known to begin instructions in it.
    entries: Entries,
    /// The stretches that are not entered unseen.
    stretches: Stretches,
    /// The real control registers 9 to 11, as last loaded.
    loaded: [u64; 3],
    /// The other virtual page that the one instruction reaches into which is let through.
    reached: Option<u64>,
    /// An event that is tried once more, to see what the clock charges for it.
    first: Option<First>,
    /// The account when the page was last entered.
    since: u64,
    /// Events so far.
    pub events: u64,
    /// Events whose first charge the clock comparator may have cut short: the account may then be short
    /// by less than the block that the event stands in.
    pub doubtful: u64,
}

/// The first of the two events at one place.
#[derive(Clone, Copy, Debug)]
struct First {
    /// The place.
    address: u64,
    /// Traps of the CPU with it, or with the last time that it was tried.
    traps: u64,
    /// The account after it.
    total: u64,
    /// The account after the last time that it was tried.
    before: u64,
    /// What the clock comparator was until then.
    comparator: u64,
}

impl Watch {
    /// The virtual page that is watched.
    #[must_use]
    pub const fn page(&self) -> Virtual {
        Virtual(self.page)
    }

    /// The watched virtual page that the instruction reaches into which is being let through.
    #[must_use]
    pub fn reached(&self) -> Option<Virtual> {
        self.reached.map(Virtual)
    }

    /// Learns that an instruction begins at an offset of the page.
    fn learn(&mut self, offset: usize) {
        if !self.entries.contains(&offset) {
            if self.entries.is_full() {
                self.entries.remove(0);
            }
            let _ = self.entries.push(offset);
        }
    }

    /// Whether an offset of the page is in a stretch.
    fn is_doubtful(&self, offset: usize) -> bool {
        self.stretches
            .iter()
            .any(|stretch| (stretch.start..stretch.end).contains(&offset))
    }

    /// The range of addresses at which nothing may be executed unseen, if the CPU is now at `here`;
    /// `None` inside a stretch.
    fn range(&self, here: u64) -> Option<(u64, u64)> {
        let (first, last) = (self.stretches.first()?, self.stretches.last()?);
        let at = |offset: usize| self.page.wrapping_add(offset as u64);
        let whole = (at(first.start), at(last.end) - 1);
        let Some(offset) = here.checked_sub(self.page).filter(|&offset| offset < PAGE) else {
            return Some(whole);
        };
        let offset = offset as usize;
        if offset < first.start || offset >= last.end {
            return Some(whole);
        }
        let behind = self.stretches.iter().rfind(|s| s.start <= offset)?;
        let ahead = self.stretches.iter().find(|s| s.start > offset)?;
        (offset >= behind.end).then(|| (at(ahead.start), at(behind.end) - 1))
    }
}

/// The space that a CPU fetches instructions from: its address-space-control element. All that translate
/// nothing are one.
fn space_of(cpu: &Vcpu) -> u64 {
    let element = Space::of(cpu, Access::Execute).asce(cpu);
    if cpu.psw.dat() && element & REAL_SPACE == 0 {
        element
    } else {
        REAL_SPACE
    }
}

/// Whether a page is watched in the space that the CPU fetches instructions from.
#[must_use]
pub fn is_present(cpu: &Vcpu) -> bool {
    cpu.watch.on && cpu.watch.space == space_of(cpu)
}

/// Whether the instruction at the PSW's address is in the watched page.
#[must_use]
pub fn has_control(cpu: &Vcpu) -> bool {
    is_present(cpu) && Virtual(cpu.psw.address).page() == cpu.watch.page()
}

/// Cycles for which a page stays watched though control is elsewhere. Recording slows everything that is
/// executed, and to begin it anew costs an exception: both must be little of what is executed meanwhile.
const PATIENCE: u64 = 20_000;

/// Whether the watch may end: control has been elsewhere for long. It may be elsewhere from the beginning: an
/// EXECUTE in another page is let through to its target by the watch.
#[inline]
fn may_end(cpu: &Vcpu) -> bool {
    let elsewhere = Virtual(cpu.psw.address).page() != cpu.watch.page();
    let passed = cpu.account.total().wrapping_sub(cpu.watch.since);
    // An event is tried once more at once.
    elsewhere && passed >= PATIENCE && cpu.watch.first.is_none()
}

/// Whether [`look`] would find nothing to do.
#[must_use]
#[inline]
pub fn goes_on(cpu: &Vcpu) -> bool {
    let is_recording = cpu.real_mask & PER != 0;
    is_recording == is_present(cpu) && !may_end(cpu)
}

/// On the way out, while a page is watched: recording is on in its space and off in every other one, and the
/// watch ends when it is no more worth it.
#[cold]
pub fn look<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    if may_end(cpu) {
        leave(cpu, configuration, hardware);
    } else if is_present(cpu) {
        cpu.real_mask |= PER;
    } else {
        cpu.real_mask &= !PER;
    }
}

/// The guest executes the watched page at `absolute` by the virtual address `page`; `place` is where
/// in it an instruction is known to begin. Watches the page, or finds that it need not be watched.
///
/// `identity`: the virtual address is a guest-real one, and is translated by the identity tables.
#[cold]
pub fn enter<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    page: Virtual,
    absolute: Absolute,
    place: Option<usize>,
    identity: bool,
) {
    let space = space_of(cpu);
    if cpu.watch.space != space {
        leave(cpu, configuration, hardware);
        cpu.watch.space = space;
    }
    let known = cpu.watch.page == page.0
        && cpu.watch.absolute == absolute
        && shadow::is_known(cpu, configuration, absolute);
    let mut examined = known;
    if !known {
        leave(cpu, configuration, hardware);
        cpu.watch.page = page.0;
        cpu.watch.absolute = absolute;
        cpu.watch.entries.clear();
        if let Some((entries, stretches)) = configuration.watched.get(absolute) {
            cpu.watch.entries = entries;
            cpu.watch.stretches = stretches;
            examined = true;
        }
    }
    let seen = place.is_none_or(|offset| !cpu.watch.is_doubtful(offset));
    if !examined || !seen {
        if let Some(offset) = place {
            cpu.watch.learn(offset);
        }
        let entries = cpu.watch.entries.as_slice();
        cpu.watch.stretches = scanner::examine(configuration, hardware, absolute, entries);
        cpu.forget_translations();
        if cpu.watch.stretches.is_empty() {
            leave(cpu, configuration, hardware);
            return;
        }
        let (watch, pages) = (&cpu.watch, &configuration.pages);
        configuration
            .watched
            .keep(pages, absolute, &watch.entries, &watch.stretches);
    }
    // More stretches than are told apart: what lies between them is in the range, and control is there.
    // Then just this one instruction is let through.
    let here = cpu.psw.address;
    let range = cpu.watch.range(here);
    set_range(cpu, hardware, range.unwrap_or((here + 1, here - 1)));
    cpu.watch.on = true;
    cpu.watch.since = cpu.account.total();
    cpu.due |= Due::WATCH;
    let role = shadow::Role::Watched;
    shadow::allow(cpu, configuration, hardware, role, absolute, identity);
}

/// The instruction at the PSW's address, in the watched page, reaches into another page that is watched:
/// it crosses the boundary between them, or is an EXECUTE of a target there, at the offset `place`. Just
/// this one instruction is let through, with both pages.
#[cold]
pub fn reach<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    page: Virtual,
    absolute: Absolute,
    place: Option<usize>,
    identity: bool,
) {
    if let Some(offset) = place {
        // A sensitive target is replaced by this.
        scanner::examine(configuration, hardware, absolute, &[offset]);
        cpu.forget_translations();
    }
    draw_back(cpu, configuration, hardware);
    cpu.watch.reached = Some(page.0);
    let role = shadow::Role::Reached;
    shadow::allow(cpu, configuration, hardware, role, absolute, identity);
    let here = cpu.psw.address;
    set_range(cpu, hardware, (here + 1, here - 1));
}

/// Ends what [`reach`] began.
fn draw_back<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    if cpu.watch.reached.take().is_some() {
        shadow::forbid(cpu, configuration, hardware, shadow::Role::Reached);
    }
}

/// Loads the real control registers 9 to 11, where they differ.
fn set_range<H: Hardware>(cpu: &mut Vcpu, hardware: &mut H, (start, end): (u64, u64)) {
    let wanted = [CR9_INSTRUCTION_FETCHING | CR9_NULLIFICATION, start, end];
    for ((number, value), loaded) in (9..).zip(wanted).zip(&mut cpu.watch.loaded) {
        if *loaded != value {
            *loaded = value;
            hardware.load_control(number, value);
        }
    }
}

/// Ends the watch: the page may no more be executed, and no event interrupts.
#[cold]
pub fn leave<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    if !cpu.watch.on {
        return;
    }
    cpu.watch.on = false;
    cpu.watch.first = None;
    cpu.due.clear(Due::WATCH);
    cpu.real_mask &= !PER;
    draw_back(cpu, configuration, hardware);
    shadow::forbid(cpu, configuration, hardware, shadow::Role::Watched);
}

/// An instruction-fetching event: the instruction at the PSW's address has not been executed.
#[cold]
#[inline(never)]
pub fn event<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let here = Virtual(cpu.psw.address);
    if matches!(cpu.account.mode, Mode::Exact { .. }) && !charge(cpu, hardware, here.0) {
        return;
    }
    cpu.watch.events += 1;
    draw_back(cpu, configuration, hardware);
    let (page, absolute) = (cpu.watch.page(), cpu.watch.absolute);
    if !cpu.watch.on || !shadow::is_allowed(cpu, configuration, absolute, page) {
        leave(cpu, configuration, hardware);
        return;
    }
    if here.page() != page {
        if let Some(range) = cpu.watch.range(here.0) {
            set_range(cpu, hardware, range);
        }
        return;
    }
    // The same address in another space is not this page.
    match storage::resolve(cpu, configuration, hardware, page, PAGE, Access::Execute) {
        Ok(claim) if claim.first.at == absolute => {}
        _ => {
            leave(cpu, configuration, hardware);
            return;
        }
    }
    if let Some(range) = cpu.watch.range(here.0) {
        set_range(cpu, hardware, range);
        return;
    }
    let identity = shadow::is_allowed_by_identity(cpu, configuration, absolute);
    let place = Some(here.byte_index() as usize);
    enter(
        cpu,
        configuration,
        hardware,
        page,
        absolute,
        place,
        identity,
    );
}

/// Takes what the clock was charged for an event off the account. `false`: the event has to be
/// tried once more first.
fn charge<H: Hardware>(cpu: &mut Vcpu, hardware: &H, address: u64) -> bool {
    let (traps, total) = (cpu.account.traps, cpu.account.total());
    let comparator = hardware.clock_comparator();
    // The comparator cuts a block short only if it is passed while the guest has control.
    let passed = |comparator| (cpu.account.left..=cpu.account.entered).contains(&comparator);
    let mut again = First {
        address,
        traps,
        total,
        before: total,
        comparator,
    };
    match cpu.watch.first.take() {
        Some(first) if first.address == address && first.traps + 1 == traps => {
            // The machine below may keep to the comparator's old value for a while.
            if !passed(first.comparator) {
                let charged = total.wrapping_sub(first.before);
                let repeats = total.wrapping_sub(first.total);
                let problem = cpu.psw.problem_state();
                cpu.account.correct(0, (charged + repeats) as i64, problem);
                return true;
            }
            again.total = first.total;
        }
        interrupted => {
            if interrupted.is_some() || passed(comparator) {
                cpu.watch.doubtful += 1;
            }
        }
    }
    cpu.watch.first = Some(again);
    cpu.sampling.step = Some(Step::Again);
    cpu.due |= Due::CLOCK;
    false
}

#[cfg(test)]
mod tests;
