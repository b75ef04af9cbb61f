//! The shadow of the guest's address spaces: the tables by which the hardware really translates.
//!
//! A guest with DAT off runs on an eager *identity* shadow, whose page tables the CPUs share; only the segment table
//! and the page tables for absolute 0 and the guest's prefix are per CPU. A guest with DAT on runs on a shadow that
//! works as a large TLB: it has 4 KiB entries, it is filled from the guest's own tables when the hardware misses an
//! entry, it is cached by the value of the address-space-control element, and the purges that the architecture requires
//! of the guest empty it.
//!
//! **Every space has two sides** ([`Side`]): one for instructions, and one for operands. The hardware always runs in
//! the secondary-space mode, in which it fetches instructions from the primary space and accesses operands in the
//! secondary one, whatever the guest's own mode is. Control register 1 has the side for instructions of the space from
//! which the guest fetches them, and control register 7 the side for operands of the space that it accesses. So
//! instructions can be fetched from a copy that operands are never found in, an access exception shows which of the two
//! met it, and home spaces and guests with DAT off are no special cases.
//!
//! This loads two registers whenever the guest switches to another space, after which QEMU translates everything again.
//! So a program, which is in the problem state and the primary-space mode, has a single table for both
//! ([`Side::Single`]), in control register 13, and the hardware runs it in the home-space mode. This table cannot have
//! copies. A program that executes a page with a copy is given two sides, permanently.
//!
//! **The large TLB is precise.** An entry is dropped when one of the two things that it was made from changes, and no
//! other entry is dropped with it:
//!
//! | What changes                                                         | What goes                                  |
//! |----------------------------------------------------------------------|--------------------------------------------|
//! | the state of a page frame ([`page_changed`](identity::page_changed)) | the entries that map the frame             |
//! | a guest's page-table entry (IPTE)                                    | the entries that were filled from it       |
//! | a guest's address space (IDTE that clears by ASCE)                   | the spaces with this origin                |
//! | region- or segment-table entries (IDTE), or CSP(G)                   | on all CPUs, what the tables no longer say |
//! | unknown (PTLB)                                                       | on this CPU, what the tables no longer say |
//! | the prefix                                                           | everything, on this CPU                    |
//!
//! While little has been filled, a purge looks for the entries that the tables no longer say, and for those of tables that
//! are not attached; after that it drops everything (`renewal`).
//!
//! So each page frame leads to the entries that map it, and each of the guest's page tables to the shadow page tables
//! that were filled from it (`pool`). A CPU changes only its own tables, and learns from `requests` what the others
//! did. In exact mode, where one CPU runs at a time, it does so before its guest executes another instruction. In
//! real-time mode it may be in the guest at that moment: the CPU that purges signals it, and waits until it has done so
//! (`others`). Or it may be about to fill, and then it drops the translation that it found in the guest's tables.
//!
//! While pages are protected for program-event recording, a guest with DAT off has real storage in a space of its own
//! CPU, which is filled like any other ([`own_real`]). So has one that has executed a page which may not be mapped behind every
//! other page (`adjoining`).
//!
//! No entry ever designates the HSA, except for code copies (never for stores): every absolute address is checked
//! against the guest's storage before it becomes an entry, and real 0-1FFF, which is the machine's own prefix area, is
//! never mapped.

use crate::hardware::Hardware;
use crate::state::access::{Access, Space};
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::shadow::{Ready, Request, Side};
use crate::state::vcpu::Vcpu;
use arch::control;
use arch::psw::{ADDRESS_SPACE, AddressSpace, DAT, HOME_SPACE, IO, PROBLEM, SECONDARY_SPACE};
use core::sync::atomic::Ordering;

mod adjoining;
pub mod alone;
mod catch_up;
pub mod copied;
mod crossing;
mod entry;
mod fill;
pub mod identity;
mod others;
mod pool;
mod protection;
mod renewal;
pub mod slots;
mod spaces;
pub mod whole;

use catch_up::catch_up;
use identity::{build_private, identity_asce};
#[cfg(test)]
pub(crate) use spaces::valid_entries;
use spaces::{single_table, space};

pub use fill::fill;
pub use identity::build_identity;
pub use others::{await_others, come_back, settle, step_aside, wait_for_others};
#[cfg(test)]
pub use protection::forbidden;
pub use protection::protect;
pub use renewal::renew;
pub use spaces::empty;

impl Side {
    /// The side for an access of the CPU.
    const fn of(cpu: &Vcpu, access: Access) -> Self {
        match access {
            _ if has_single_table(cpu) => Self::Single,
            Access::Execute => Self::Instructions,
            Access::Fetch | Access::Store => Self::Operands,
        }
    }
}

/// The address-space-control element of real storage, when it is a space like others ([`own_real`]).
const REAL: u64 = control::asce::REAL_SPACE;

/// Decides how real storage and real spaces are translated: by tables of the CPU's own, whose pages can be protected as
/// in any space, or by the tables that the CPUs share.
pub fn own_real(cpu: &mut Vcpu, owns: bool) {
    let owns = owns || cpu.shadow.needs_real;
    if cpu.shadow.owns_real != owns {
        cpu.shadow.owns_real = owns;
        cpu.shadow.loaded_for = None;
        cpu.pending_work |= PendingWork::CONTROLS;
    }
}

/// The address-space-control element of the space of an access; with DAT off that of real storage.
#[must_use]
#[inline]
pub const fn asce(cpu: &Vcpu, access: Access) -> u64 {
    match Space::current(cpu, access) {
        Some(space) => space.asce(cpu),
        None => REAL,
    }
}

/// Whether a space is translated by tables that are complete from the beginning.
#[inline]
const fn is_complete(cpu: &Vcpu, guest: u64) -> bool {
    guest & control::asce::REAL_SPACE != 0 && !cpu.shadow.owns_real
}

/// The real CR0 bits that the machine needs: for its clock and its signals, and the bit that lets instructions that access
/// two spaces proceed to the test of their keys, which fails in the problem state. Without that bit they, and those that
/// would change the real space, meet a special-operation exception.
const CR0_MACHINE: u64 = control::CR0_CLOCK_COMPARATOR
    | control::CR0_EMERGENCY_SIGNAL
    | control::CR0_CPU_TIMER
    | control::CR0_SECONDARY_SPACE
    | control::CR0_INSTRUCTION_EXECUTION_PROTECTION;
/// The CR0 bits that change what the guest's program can do, and are therefore mirrored in hardware.
const CR0_MIRRORED: u64 =
    control::CR0_LOW_ADDRESS_PROTECTION | control::CR0_AFP | control::CR0_VECTOR;

/// Makes the DAT-on shadows of all CPUs, including this one, drop what a guest's purge names. The guest's tables have
/// already been changed.
///
/// Another CPU notices this when it next leaves the firmware. Where CPUs execute at the same time, this one waits for
/// them on its way out.
pub fn purge<H: Hardware>(configuration: &Configuration, hardware: &H, what: Request) {
    configuration.shadow.requests.post(what);
    await_others(configuration, hardware);
}

/// The same where the other CPUs may notice it later.
pub fn purge_locally(configuration: &Configuration, what: Request) {
    configuration.shadow.requests.post(what);
}

/// Whether any CPU purged the DAT-on shadows, or the state of any page changed, since this CPU last left the firmware.
/// The translations and pages that it keeps are not valid then.
#[must_use]
#[inline]
pub fn stale(cpu: &Vcpu, configuration: &Configuration) -> bool {
    cpu.shadow.seen != configuration.shadow.posted()
}

/// The work that [`load_controls`] does.
const CONTROLS: PendingWork = PendingWork::CONTROLS.with(PendingWork::SPACE);

/// Lets the hardware translate for a PSW that selects another space, if it has the tables of that space since the last
/// [`load_controls`]: the table of a program in control register 13, and the two sides of a control program in 1 and 7.
/// Returns whether it has; otherwise nothing has changed.
#[inline]
pub fn switch(cpu: &mut Vcpu) -> bool {
    let mask = cpu.psw.mask;
    // A table that was dropped may not stay loaded, whichever space it is for.
    if cpu.shadow.ready.then != cpu.shadow.spaces.drops || mask & DAT == 0 {
        return false;
    }
    let space = if mask & (PROBLEM | ADDRESS_SPACE) == PROBLEM {
        if cpu.shadow.ready.program != cpu.control[1] {
            return false;
        }
        if !cpu.keeps_programs() {
            change_programs(cpu);
        }
        HOME_SPACE
    } else {
        let wanted = [Access::Execute, Access::Fetch].map(|access| asce(cpu, access));
        if wanted != cpu.shadow.ready.sides {
            return false;
        }
        if !cpu.is_in_home_space() && !cpu.keeps_programs() {
            change_programs(cpu);
        }
        SECONDARY_SPACE
    };
    cpu.real_space = cpu.real_space & !ADDRESS_SPACE | space;
    true
}

/// What is kept was translated for another program.
#[cold]
#[inline(never)]
fn change_programs(cpu: &mut Vcpu) {
    cpu.change_programs();
}

/// Loads the real control registers for the guest's state, where they differ.
///
/// Every real LCTLG empties the whole TLB of QEMU, so no register is loaded twice, and the spaces are loaded together.
pub fn load_controls<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    cpu.pending_work.clear(CONTROLS);
    let number = usize::from(cpu.address);
    if cpu.shadow.prefix != cpu.prefix {
        cpu.shadow.prefix = cpu.prefix;
        if let Some(prefix) = configuration.shadow.guest_prefix.get(number) {
            prefix.store(cpu.prefix, Ordering::Relaxed);
        }
        build_private(configuration, hardware, number);
        empty(cpu, configuration, hardware);
    }
    let protection = cpu.control[0] & control::CR0_INSTRUCTION_EXECUTION_PROTECTION;
    if cpu.shadow.execution_protection != protection {
        cpu.shadow.execution_protection = protection;
        empty(cpu, configuration, hardware);
    }
    if stale(cpu, configuration) {
        catch_up(cpu, configuration, hardware);
    }
    let (spaces, home) = tables(cpu, configuration, hardware);
    let [subclasses, reports] = if cpu.per.is_stepping() {
        [0, cpu.control[14] & !control::CR14_CHANNEL_REPORT]
    } else {
        [control::CR6_ALL_SUBCLASSES, cpu.control[14]]
    };
    if configuration.channels.present() {
        // The machine takes the interruptions of devices at once.
        cpu.real_space |= IO;
    }
    cpu.shadow.ready = match (cpu.shadow.loaded_for, cpu.shadow.home_for) {
        (Some([from, of, then]), Some([program, home_then])) if then == home_then => Ready {
            then,
            program,
            sides: [from, of],
        },
        _ => Ready::NOT,
    };
    let instructions = if cpu.per.in_slots {
        cpu.shadow.ready = Ready::NOT;
        configuration.shadow.slots(number).asce()
    } else {
        spaces[0]
    };
    let spaces = [instructions, 0, 0, 0, 0, subclasses, spaces[1]];
    if cpu.shadow.spaces_loaded != spaces {
        cpu.shadow.spaces_loaded = spaces;
        hardware.load_spaces(spaces);
    }
    let (mut zero, mut reports) = (CR0_MACHINE | (cpu.control[0] & CR0_MIRRORED), reports);
    if !configuration.execution_protection {
        // A machine below that is not QEMU has all the instructions that change spaces.
        zero &= !control::CR0_SECONDARY_SPACE;
        reports &= control::CR14_MASKS;
    }
    let others = [
        (0, zero),
        (8, cpu.real_monitor_control()),
        (13, home),
        (14, reports),
    ];
    for ((register, value), loaded) in others.into_iter().zip(&mut cpu.shadow.loaded) {
        if *loaded != value {
            *loaded = value;
            hardware.load_control(register, value);
        }
    }
    // At the end, because the storage of tables that were dropped may have become that of others: a machine below that
    // looks at the tables when its guest purges finds them as they are from now on.
    if core::mem::take(&mut cpu.shadow.purges_tlb) {
        hardware.purge_tlb();
    }
    cpu.pending_work.clear(CONTROLS);
}

/// The real address-space control, and the values for real control registers 1, 7 and 13. Registers that the mode does
/// not use stay unchanged, unless the table that they designate may have been dropped: they all lead only to storage of
/// the guest.
#[inline]
fn tables<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> ([u64; 2], u64) {
    let number = usize::from(cpu.address);
    let identity = |side| identity_asce(configuration, number, side);
    cpu.real_space = SECONDARY_SPACE;
    let mut home = cpu.shadow.loaded[2];
    let mut spaces = [cpu.shadow.spaces_loaded[0], cpu.shadow.spaces_loaded[6]];
    if !cpu.psw.dat() && !cpu.shadow.owns_real {
        cpu.shadow.loaded_for = None;
        spaces = Side::BOTH.map(identity);
    } else if !cpu.per.in_slots
        && let Some(program) = program(cpu, configuration, hardware)
    {
        cpu.real_space = HOME_SPACE;
        home = program;
        let drops = cpu.shadow.spaces.drops;
        if cpu
            .shadow
            .loaded_for
            .is_none_or(|[_, _, then]| then != drops)
        {
            cpu.shadow.loaded_for = None;
            spaces = Side::BOTH.map(identity);
        }
    } else {
        spaces = sides(cpu, configuration, hardware);
    }
    let drops = cpu.shadow.spaces.drops;
    if !has_single_table(cpu) && cpu.shadow.home_for.is_none_or(|[_, then]| then != drops) {
        cpu.shadow.home_for = None;
        home = identity(Side::Operands);
    }
    (spaces, home)
}

/// The single table of the program that the guest executes, if it has one.
#[inline]
fn program<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Option<u64> {
    let guest = cpu.control[1];
    if !cpu.psw.dat()
        || !cpu.psw.problem_state()
        || !matches!(cpu.psw.address_space(), AddressSpace::Primary)
        || guest & control::asce::REAL_SPACE != 0
    {
        return None;
    }
    if cpu.shadow.home_for == Some([guest, cpu.shadow.spaces.drops]) {
        return Some(cpu.shadow.loaded[2]);
    }
    let found = single_table(cpu, configuration, hardware, guest)?;
    cpu.shadow.home_for = Some([guest, cpu.shadow.spaces.drops]);
    Some(found)
}

/// The program that the guest executes has executed a page with a copy: it has two sides from now on.
#[cold]
pub fn split<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let guest = cpu.control[1];
    cpu.shadow.ready = Ready::NOT;
    spaces::split(cpu, configuration, hardware, guest);
    cpu.shadow.home_for = None;
    cpu.pending_work |= PendingWork::CONTROLS;
}

/// Whether the program that the guest executes has a single table for instructions and operands.
#[must_use]
#[inline]
pub const fn has_single_table(cpu: &Vcpu) -> bool {
    cpu.real_space & ADDRESS_SPACE == HOME_SPACE
}

/// The sides of the spaces from which the guest fetches instructions and in which it accesses operands.
#[inline]
fn sides<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> [u64; 2] {
    let [from, of] = [Access::Execute, Access::Fetch].map(|access| asce(cpu, access));
    loop {
        let wanted = [from, of, cpu.shadow.spaces.drops];
        if cpu.shadow.loaded_for == Some(wanted) {
            return [cpu.shadow.spaces_loaded[0], cpu.shadow.spaces_loaded[6]];
        }
        let found = [(from, Side::Instructions), (of, Side::Operands)]
            .map(|(guest, side)| space(cpu, configuration, hardware, guest, side));
        // Making room may have dropped a space that was found before.
        if let ([Some(instructions), Some(operands)], true) =
            (found, cpu.shadow.spaces.drops == wanted[2])
        {
            cpu.shadow.loaded_for = Some(wanted);
            return [instructions, operands];
        }
        if found.contains(&None) {
            empty(cpu, configuration, hardware);
        }
    }
}

#[cfg(test)]
mod tests;
