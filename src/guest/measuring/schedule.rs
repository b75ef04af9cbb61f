//! When the machine next wants control, and what it does then: samples, turns, the guest's clock
//! comparator.
//!
//! One real clock comparator serves them all. Samples are due by *guest* time, so the comparator is
//! only an estimate. When it interrupts, the machine compares the elapsed guest time with the time of
//! the sample, and sets the comparator again if the firmware's own time has used up some of it. A
//! sample therefore never falls on an emulated instruction merely because that was slow, and the
//! sampling interval is exact on average: each sample is due one interval after the one before was due.
//!
//! A sample shows the instruction that would be next when its time comes. So in exact mode the comparator
//! must interrupt before that instruction, and never a few instructions behind it. Otherwise the samples that are
//! due just before a trap would all fall on the first instruction behind the trap.
//!
//! Wait time is not guest time. The sampling interval continues during a wait only on a dedicated CPU,
//! and those samples have the W bit ([`sample_in_wait`]).

use crate::hardware::Hardware;
use crate::state::account::Mode;
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::schedule::{AfterSample, NEVER};
use crate::state::vcpu::Vcpu;
use crate::storage::{self, Piece, scanner};
use arch::address::{Absolute, PAGE};
use arch::psw::Psw;
use arch::tod::TodExtended;
use cpumf::{Diagnosis, Facility, SampleStorage, Sampled, Snapshot};

/// The longest time for which the comparator is set. What is due later is treated as due [`NEVER`],
/// which keeps the arithmetic inside 64 bits.
const FARTHEST: u64 = 1 << 44;

/// In real time the guest always gets these clock units, 20 microseconds: if the comparator interrupted at once, a guest with
/// a shorter interval would never get further. Samples that are late are taken together.
const PROGRESS: u64 = 20 * 4096;

/// Three terms of the time for which the comparator is set are rounded to clock units: the clock, the ticks
/// ahead, and the slack. Together they are less than three units short and less than one too long. With this
/// the comparator is never early, and late by less than a nanosecond, which is no tick.
pub(super) const ROUNDED_OFF: u64 = 3;

/// The guest's sample-data blocks in guest storage, where every address is a claim.
struct GuestBlocks<'a, H> {
    configuration: &'a Configuration,
    hardware: &'a mut H,
}

impl<H: Hardware> SampleStorage for GuestBlocks<'_, H> {
    type Place = Piece;

    #[inline]
    fn available(&self, at: Absolute, length: u64) -> Option<Piece> {
        storage::checked_piece(self.configuration, at, length)
    }

    #[inline]
    fn load_u64(&self, place: Piece, offset: u64) -> u64 {
        self.hardware.load_u64(place.at(offset))
    }

    #[inline]
    fn store(&mut self, place: Piece, offset: u64, bytes: &[u8]) {
        let place = place.at(offset);
        let at = place.absolute();
        scanner::store_into(self.configuration, self.hardware, at);
        // In a block of 1 MiB an entry may cross into another page.
        let beyond = at.byte_index() + bytes.len() as u64;
        if beyond > PAGE {
            let next = at.page().offset(PAGE);
            scanner::store_into(self.configuration, self.hardware, next);
        }
        self.hardware.store(place, bytes);
    }

    #[inline]
    fn compare_and_swap(&mut self, place: Piece, expected: u128, new: u128) -> Result<(), u128> {
        let place = place.start();
        scanner::store_into(self.configuration, self.hardware, place.absolute());
        self.hardware.compare_and_swap_u128(place, expected, new)
    }

    #[inline]
    fn time_of_day(&self) -> TodExtended {
        TodExtended(self.hardware.clock_extended())
    }
}

/// The state of the CPU for a sample, or for a limited one.
#[inline]
pub fn snapshot(cpu: &Vcpu, limited: bool) -> Snapshot {
    Snapshot {
        psw: cpu.psw,
        cr4: cpu.control[4],
        program_parameter: cpu.own.program_parameter(),
        host_program_parameter: cpu.machine.program_parameter(),
        level: cpu.own.level(),
        limited,
    }
}

/// The additional state for a diagnostic sample.
fn diagnosis(psw: Psw, control: &[u64; 16], general: &[u64; 16], traps: u64) -> Diagnosis {
    Diagnosis {
        traps: traps as u32,
        psw_mask: psw.mask,
        spaces: [control[1], control[7], control[13]],
        general: *general,
    }
}

/// When the next sample of a facility is due, after its sampling controls may have changed: unchanged
/// while the facility stays active, and one interval from now when it becomes active.
fn renewed(facility: &Facility, due_at: u64, total: u64) -> u64 {
    match facility.active_interval() {
        None => NEVER,
        Some(interval) if due_at == NEVER => total + interval,
        Some(_) => due_at,
    }
}

/// Computes the due times again after sampling controls changed at either level.
#[cold]
fn renew(cpu: &mut Vcpu) {
    let total = cpu.account.total();
    cpu.sampling.own = renewed(&cpu.own, cpu.sampling.own, total);
    cpu.sampling.machine = renewed(&cpu.machine, cpu.sampling.machine, total);
}

/// Takes the due sample of one level, and computes when the next one is due.
#[inline(always)]
fn take<S: SampleStorage>(
    facility: &mut Facility,
    due_at: &mut u64,
    snapshot: &Snapshot,
    diagnosis: impl FnOnce() -> Diagnosis,
    blocks: &mut S,
) -> Sampled {
    let sampled = facility.sample(snapshot, diagnosis, blocks);
    *due_at = match facility.active_interval() {
        Some(interval) => *due_at + interval,
        None => NEVER,
    };
    sampled
}

/// The clock comparator interrupted: takes the samples that are due.
///
/// `machine_blocks` is the storage of the machine's own sample-data blocks.
#[inline(always)]
pub fn take_due_samples<H: Hardware, S: SampleStorage>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    machine_blocks: &mut S,
) {
    if configuration.limited {
        take_due_limited_samples(cpu, configuration, hardware, machine_blocks);
    } else {
        take_due::<false, H, S>(cpu, configuration, hardware, machine_blocks);
    }
}

/// The same for a secure guest.
#[cold]
#[inline(never)]
fn take_due_limited_samples<H: Hardware, S: SampleStorage>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    machine_blocks: &mut S,
) {
    take_due::<true, H, S>(cpu, configuration, hardware, machine_blocks);
}

#[inline(always)]
fn take_due<const LIMITED: bool, H: Hardware, S: SampleStorage>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    machine_blocks: &mut S,
) {
    let total = cpu.account.total();
    cpu.pending_work |= PendingWork::CLOCK;
    let snapshot = snapshot(cpu, LIMITED);
    let diagnosis = || diagnosis(cpu.psw, &cpu.control, &cpu.general, cpu.account.traps);
    if cpu.sampling.machine <= total {
        let due_at = &mut cpu.sampling.machine;
        match take(
            &mut cpu.machine,
            due_at,
            &snapshot,
            diagnosis,
            machine_blocks,
        ) {
            Sampled::Stored => cpu.sampling.taken += 1,
            Sampled::StoredInNextBlock => {
                cpu.sampling.taken += 1;
                cpu.sampling.after.add(AfterSample::BLOCK_FULL);
            }
            Sampled::Discarded | Sampled::Stopped | Sampled::NotActive => {
                cpu.sampling.lost += 1;
                // There is room again when the full blocks have been sent.
                cpu.sampling.after.add(AfterSample::BLOCK_FULL);
            }
        }
    }
    if cpu.sampling.own <= total {
        let mut blocks = GuestBlocks {
            configuration,
            hardware,
        };
        let due_at = &mut cpu.sampling.own;
        let sampled = take(&mut cpu.own, due_at, &snapshot, diagnosis, &mut blocks);
        if sampled != Sampled::Stored {
            cpu.pending_work |= PendingWork::ATTENTION;
        }
    }
}

/// A dedicated CPU has waited for `rest` cycles that are not accounted for yet: takes the next sample
/// that became due meanwhile. Returns false, with `rest` zero, if there is none.
///
/// A wait is accounted for when it ends, so the entries are in order but the time in a trailer is that
/// of the end. The guest's own sampling ends the wait when a sample is due ([`wakes_for_sample`]), so
/// that its alerts interrupt in time.
#[cold]
#[inline(never)]
pub fn sample_in_wait<H: Hardware, S: SampleStorage>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    machine_blocks: &mut S,
    rest: &mut u64,
) -> bool {
    let total = cpu.account.total();
    let first = cpu.sampling.next_sample();
    let ahead = first.saturating_sub(total);
    let passed = ahead.min(*rest);
    *rest -= passed;
    // Time that passes brings both samples nearer by the same amount.
    for due_at in [&mut cpu.sampling.own, &mut cpu.sampling.machine] {
        if *due_at != NEVER {
            *due_at = due_at.saturating_sub(passed);
        }
    }
    cpu.pending_work |= PendingWork::CLOCK;
    if passed < ahead || first == NEVER {
        *rest = 0;
        return false;
    }
    take_due_samples(cpu, configuration, hardware, machine_blocks);
    true
}

/// The clock at which the guest's own sampling ends the wait of a dedicated CPU; [`NEVER`] if it does
/// not. The due times are computed again first if needed.
pub fn wakes_for_sample(cpu: &mut Vcpu, configuration: &Configuration, now: u64) -> u64 {
    if !configuration.dedicated {
        return NEVER;
    }
    if cpu.pending_work.any(PendingWork::SAMPLING) {
        renew(cpu);
        cpu.pending_work.clear(PendingWork::SAMPLING);
    }
    let rest = cpu.sampling.own.saturating_sub(cpu.account.total());
    if rest > FARTHEST {
        return NEVER;
    }
    now.saturating_add(cpu.account.units(rest))
}

/// Sets the real clock comparator for whatever is due first. This is the last step of the way out, so
/// that only a constant number of instructions lies between reading the clock here and the guest.
#[inline(never)]
pub fn arm<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    if cpu.pending_work.any(PendingWork::SAMPLING) {
        renew(cpu);
    }
    cpu.pending_work
        .clear(PendingWork::CLOCK | PendingWork::SAMPLING);
    let due_at = cpu.sampling.next_sample().min(cpu.sampling.turn);
    let total = cpu.account.total();
    let rest = due_at.saturating_sub(total);
    let now = hardware.clock();
    let ahead = match cpu.account.mode {
        _ if rest > FARTHEST => NEVER,
        Mode::Exact { .. } => {
            let exit = configuration.charges.exit;
            let ahead = now + cpu.account.units(rest + exit) + ROUNDED_OFF;
            ahead.wrapping_add(cpu.sampling.slack)
        }
        Mode::RealTime => now + cpu.account.units(rest).max(PROGRESS),
    };
    // A comparator that the clock has passed is a pending condition and does not interrupt again.
    let guest = if cpu.pending.clock_comparator {
        NEVER
    } else if now > cpu.clock_comparator && has_passed_for_guest(cpu, hardware) {
        cpu.pending.clock_comparator = true;
        cpu.pending_work |= PendingWork::ATTENTION;
        NEVER
    } else {
        cpu.clock_comparator
    };
    cpu.sampling.armed_at = now;
    hardware.set_clock_comparator(ahead.min(guest).min(cpu.sampling.look_at));
}

/// Whether the clock of the guest has passed its comparator, too.
#[cold]
#[inline(never)]
fn has_passed_for_guest<H: Hardware>(cpu: &Vcpu, hardware: &H) -> bool {
    hardware.guest_clock() > cpu.clock_comparator
}

/// What the real clock comparator is to be if the machine leaves to the guest when the clock shows `left`, and the guest is
/// the next to see it: for a machine that sets the clock back on its way out.
#[must_use]
pub fn comparator(cpu: &Vcpu, configuration: &Configuration, left: u64) -> u64 {
    let due_at = cpu.sampling.next_sample().min(cpu.sampling.turn);
    let rest = due_at.saturating_sub(cpu.account.total());
    let ahead = if rest > FARTHEST {
        NEVER
    } else {
        left + cpu.account.units(rest + configuration.charges.exit) + ROUNDED_OFF
    };
    let ahead = ahead.min(cpu.sampling.look_at);
    if cpu.pending.clock_comparator {
        ahead
    } else {
        ahead.min(cpu.clock_comparator)
    }
}

/// Tests whether the clock has passed the guest's clock comparator, and updates the pending condition,
/// which is a level.
#[inline]
pub fn test_clock_comparator<H: Hardware>(cpu: &mut Vcpu, hardware: &H) {
    let passed = hardware.guest_clock() > cpu.clock_comparator;
    if passed != cpu.pending.clock_comparator {
        cpu.pending.clock_comparator = passed;
        cpu.pending_work |= PendingWork::CLOCK | PendingWork::ATTENTION;
    }
}

#[cfg(test)]
mod tests;
