//! The pages that a CPU may execute though they are watched: one, and for the time of a single
//! instruction that reaches into another one, that too.
//!
//! What is watched is no-execute in every table that more than one CPU uses. A CPU that
//! [`crate::guest::watch`] has set for the page has an entry of its own: in its private identity
//! tables, which gain a page table for the page's segment, or in its DAT-on shadow.

use super::identity::{identity_entry, replace};
use super::{PAGE_TABLE, SEGMENT};
use crate::arch::address::{Absolute, PAGE, Real, Virtual, apply_prefix};
use crate::guest::configuration::Configuration;
use crate::guest::hardware::Hardware;
use crate::guest::vcpu::Vcpu;
use crate::guest::watch;
use core::sync::atomic::{AtomicU64, Ordering};

/// No page, and no segment.
const NONE: u64 = u64::MAX;
/// In [`Watching::page`]: the page may be executed with DAT off, too.
const IDENTITY: u64 = 1;
/// In [`Watching::page`]: the page may not be executed now, but what is known of it still holds.
const RESTING: u64 = 2;

/// Which of the pages that a CPU may execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The page that it watches.
    Watched,
    /// The page that the instruction reaches into which stands in the watched one.
    Reached,
}

/// What a CPU watches; by [`Role`].
#[derive(Debug)]
pub struct Watching {
    /// The absolute pages.
    pages: [AtomicU64; 2],
    /// The guest-real segments whose page tables are this CPU's own because of them.
    segments: [AtomicU64; 2],
}

impl Default for Watching {
    fn default() -> Self {
        Self {
            pages: [const { AtomicU64::new(NONE) }; 2],
            segments: [const { AtomicU64::new(NONE) }; 2],
        }
    }
}

fn page_of(configuration: &Configuration, cpu: usize, role: Role) -> u64 {
    let watching = configuration.shadow.watching.get(cpu);
    watching.map_or(NONE, |watching| {
        watching.pages[role as usize].load(Ordering::Relaxed)
    })
}

/// Whether a CPU may execute the absolute page at `at` with DAT off though it is watched.
pub(super) fn identity_allows(configuration: &Configuration, cpu: usize, at: Absolute) -> bool {
    [Role::Watched, Role::Reached]
        .into_iter()
        .any(|role| page_of(configuration, cpu, role) == at.0 | IDENTITY)
}

/// The page table of a CPU's own, if it has one, for the segment of a guest-real address.
pub(super) fn private_table(configuration: &Configuration, cpu: usize, real: u64) -> Option<Real> {
    let shadow = &configuration.shadow;
    let segment = real / SEGMENT;
    if segment == 0 {
        Some(shadow.low_table(cpu))
    } else if segment == shadow.guest_prefix(cpu) / SEGMENT {
        Some(shadow.prefix_table(cpu))
    } else {
        let own = &shadow.watching.get(cpu)?.segments;
        let role = [Role::Watched, Role::Reached]
            .into_iter()
            .find(|&role| own[role as usize].load(Ordering::Relaxed) == segment)?;
        Some(shadow.watching_table(cpu, role))
    }
}

/// A CPU's private tables are built anew: it watches nothing.
pub(super) fn reset(configuration: &Configuration, cpu: usize) {
    if let Some(watching) = configuration.shadow.watching.get(cpu) {
        for (page, segment) in watching.pages.iter().zip(&watching.segments) {
            page.store(NONE, Ordering::Relaxed);
            segment.store(NONE, Ordering::Relaxed);
        }
    }
}

/// Lets this CPU execute the watched page at `at`: with DAT off if `identity`, else where a shadow
/// fill enters it.
pub fn allow<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    role: Role,
    at: Absolute,
    identity: bool,
) {
    let number = usize::from(cpu.address);
    let shadow = &configuration.shadow;
    let Some(watching) = shadow.watching.get(number) else {
        return;
    };
    let bits = if identity { IDENTITY } else { 0 };
    watching.pages[role as usize].store(at.0 | bits, Ordering::Relaxed);
    if !identity {
        return;
    }
    // Prefixing is its own inverse.
    let real = apply_prefix(Real(at.0), shadow.guest_prefix(number)).0;
    if private_table(configuration, number, real).is_none() {
        give_table(configuration, hardware, number, role, real / SEGMENT);
    }
    bring_in_line(configuration, hardware, number, real);
}

/// Makes the page table of `segment` this CPU's own, in the place of the one before.
fn give_table<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    cpu: usize,
    role: Role,
    segment: u64,
) {
    let shadow = &configuration.shadow;
    let Some(watching) = shadow.watching.get(cpu) else {
        return;
    };
    let (segments, table) = (shadow.segment_table(cpu), shadow.watching_table(cpu, role));
    let before = watching.segments[role as usize].swap(segment, Ordering::Relaxed);
    if before != NONE {
        let shared = shadow.identity_table(before).0;
        hardware.hsa_store(segments.offset(before * 8), shared);
        hardware.purge_tlb();
    }
    for page in 0..PAGE_TABLE / 8 {
        let value = identity_entry(configuration, cpu, Real(segment * SEGMENT + page * PAGE));
        hardware.hsa_store(table.offset(page * 8), value);
    }
    hardware.hsa_store(segments.offset(segment * 8), table.0);
    hardware.purge_tlb();
}

/// Brings the private identity entry of a guest-real page in line with what the CPU watches.
fn bring_in_line<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    cpu: usize,
    real: u64,
) {
    if let Some(table) = private_table(configuration, cpu, real) {
        let value = identity_entry(configuration, cpu, Real(real));
        replace(hardware, table, real, value);
    }
}

/// Takes back what [`allow`] allowed this CPU.
pub fn forbid<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    role: Role,
) {
    let number = usize::from(cpu.address);
    let shadow = &configuration.shadow;
    let Some(watching) = shadow.watching.get(number) else {
        return;
    };
    let slot = &watching.pages[role as usize];
    let page = slot.load(Ordering::Relaxed);
    if page == NONE {
        return;
    }
    let absolute = Absolute(page & !(PAGE - 1));
    let after = match role {
        Role::Watched => absolute.0 | RESTING,
        Role::Reached => NONE,
    };
    slot.store(after, Ordering::Relaxed);
    if page & IDENTITY != 0 {
        let real = apply_prefix(Real(absolute.0), shadow.guest_prefix(number)).0;
        bring_in_line(configuration, hardware, number, real);
    }
    shadow.pool(number).invalidate_frame(hardware, absolute);
}

/// The page at `at` is no longer what any CPU watches: its contents may change.
pub fn forget_watches(configuration: &Configuration, at: Absolute) {
    for page in configuration
        .shadow
        .watching
        .iter()
        .flat_map(|watching| &watching.pages)
    {
        if page.load(Ordering::Relaxed) & !(PAGE - 1) == at.0 {
            page.store(NONE, Ordering::Relaxed);
        }
    }
}

/// Whether this CPU may execute the absolute page at `frame` by the virtual address `at`, in the space that it
/// fetches instructions from.
#[must_use]
pub fn is_allowed(cpu: &Vcpu, configuration: &Configuration, frame: Absolute, at: Virtual) -> bool {
    let allows = |role, page: Virtual| {
        let allowed = page_of(configuration, usize::from(cpu.address), role);
        allowed & !IDENTITY == frame.page().0 && page == at.page()
    };
    watch::is_present(cpu)
        && (allows(Role::Watched, cpu.watch.page())
            || cpu
                .watch
                .reached()
                .is_some_and(|page| allows(Role::Reached, page)))
}

/// Whether what this CPU knows of the absolute page at `frame` still holds.
#[must_use]
pub fn is_known(cpu: &Vcpu, configuration: &Configuration, frame: Absolute) -> bool {
    let page = page_of(configuration, usize::from(cpu.address), Role::Watched);
    page & !(PAGE - 1) == frame.page().0
}

/// Whether this CPU may execute the absolute page at `frame` with DAT off, too.
#[must_use]
pub fn is_allowed_by_identity(cpu: &Vcpu, configuration: &Configuration, frame: Absolute) -> bool {
    identity_allows(configuration, usize::from(cpu.address), frame)
}
