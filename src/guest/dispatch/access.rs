//! Access exceptions: the machine's own, or the guest's.
//!
//! Each is tested against the guest's own tables first. A translation that is not in the shadow yet, a first
//! execution and a store into an executed page are the machine's; what the guest's tables refuse is the guest's.

use crate::hardware::Hardware;
use crate::recording::per;
use crate::state::access::{Access, Fault, Space};
use crate::state::configuration::Configuration;
use crate::state::page_frames::PageState;
use crate::state::text::Text;
use crate::state::vcpu::Vcpu;
use crate::storage::scanner::{self, Cover, Entry, InPlace};
use crate::storage::{self, Checked, Piece, dat, moved, shadow};
use arch::address::{Absolute, PAGE, PREFIX_AREA, Virtual};
use arch::control::{self, CR0_LOW_ADDRESS_PROTECTION};
use arch::interruption::{Ending, ProgramInterruption as Exception, ending};
use arch::table::{
    TEID_ADDRESS, TEID_DAT_PROTECTION, TEID_EXECUTION_PROTECTION, TEID_LOW_ADDRESS,
    TEID_PROTECTION, TEID_SPACE, TEID_STORE,
};
use core::sync::atomic::Ordering;
use insn::relative::{Relative, relative};
use insn::sensitive::is_caught_text;
use insn::{self, executed};

/// What met an access exception.
#[derive(Clone, Copy)]
struct Missed {
    /// The page.
    at: Virtual,
    /// Whether an instruction was fetched from it ([`is_instruction_fetch`]).
    is_fetch: bool,
}

/// An access exception. Returns whether the instruction, whose text the CPU has, is to be performed without making its page
/// executable.
#[inline]
pub(super) fn access<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let length = cpu.interruption.length();
    let code = cpu.interruption.code();
    let problem = cpu.psw.problem_state();
    if let Some(at) = cpu.access_exception_at() {
        cpu.psw.address = at;
    }
    let missed = Missed {
        at: page_of_exception(cpu),
        is_fetch: is_instruction_fetch(cpu),
    };
    let charged =
        configuration.charges.of(code) + charged_execute(cpu, configuration, hardware, missed);
    cpu.account.correct(0, charged, problem);
    match resolve(cpu, configuration, hardware, missed) {
        Ok(in_place) => {
            shadow::alone::continue_here(cpu);
            super::note_trap(cpu);
            in_place
        }
        Err(fault) => {
            // The length that the hardware made up is not valid: for the guest, an instruction that could not be
            // fetched has no length. An EXECUTE whose target met the exception has its own.
            let (fault, length) = if length == MADE_UP {
                target_not_fetched(cpu, configuration, hardware, fault)
            } else {
                (fault, length)
            };
            per::program(cpu, configuration, hardware, fault, length);
            super::note_interruption(cpu);
            false
        }
    }
}

/// What the clock has charged for an EXECUTE that will be executed again, if the access was one of its target.
#[inline]
fn charged_execute<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    missed: Missed,
) -> i64 {
    let charges = &configuration.charges;
    if charges.target_fetch | charges.target_operand == 0 {
        return 0;
    }
    let here = Virtual(cpu.psw.address);
    let at = missed.at;
    if at == here.page() && missed.is_fetch {
        // The EXECUTE itself was missed.
        return 0;
    }
    // One access of a piece of text is seldom the only one.
    let found = if !cpu.psw.problem_state() {
        if storage::is_within_a_page(here) && cpu.kept_text(here).is_none() {
            storage::keep_text(cpu, configuration, hardware, here);
        }
        storage::kept_text(cpu, hardware, here)
    } else if cpu.shadow.alone.is_none() {
        moved::text(cpu, configuration, hardware, here)
    } else {
        None
    };
    let text = match found {
        Some(text) => text,
        None => match storage::text(cpu, configuration, hardware) {
            Ok(text) => text.bytes,
            Err(_) => return 0,
        },
    };
    let first = u16::from_be_bytes([text[0], text[1]]);
    let last = here.offset(insn::length(text[0]) as u64 - 1);
    if !executed::is_execute(first) || last.page() != here.page() && last.page() == at {
        return 0;
    }
    let is_fetch = !per::slots::is_in_slot(cpu)
        && target_of(cpu, &text).is_some_and(|target| target.page() == at);
    i64::from(if is_fetch {
        charges.target_fetch
    } else {
        charges.target_operand
    })
}

/// The page that an access exception is about.
#[inline]
pub(super) const fn page_of_exception(cpu: &Vcpu) -> Virtual {
    let page = cpu.interruption.identification & TEID_ADDRESS;
    let mask = cpu.psw.address_mask();
    if page & !mask == 0 {
        return Virtual(page);
    }
    page_beyond(cpu, page, mask)
}

/// The same for a page behind the end of the address space of the 24-bit mode.
///
/// The machine below lets the instruction address run there, and the guest continues at the beginning. It also computes
/// addresses of relative-long operands there. An entry for the page at the wrapped address would not help it: the guest
/// meets what it would meet without the machine.
#[cold]
const fn page_beyond(cpu: &Vcpu, page: u64, mask: u64) -> Virtual {
    /// The machine below uses as many bits of an address in the 24-bit mode.
    const USED: u64 = 0x7FFF_FFFF;
    let mut at = cpu.interruption.old.address;
    if matches!(ending(cpu.interruption.code()), Ending::Suppression) {
        at = at.wrapping_sub(cpu.interruption.length() as u64);
    }
    let is_instruction = (at ^ page) & USED & TEID_ADDRESS == 0;
    Virtual(if is_instruction { page & mask } else { page })
}

/// Whether an access exception is one of fetching an instruction, or the target of an EXECUTE.
#[inline]
pub(super) fn is_instruction_fetch(cpu: &Vcpu) -> bool {
    let teid = cpu.interruption.identification;
    if !shadow::has_single_table(cpu) {
        // The hardware fetches instructions from the primary space, and accesses operands in the secondary one.
        teid & TEID_SPACE == Space::Primary as u64
    } else if cpu.interruption.code() == Exception::Protection.code() {
        teid & TEID_PROTECTION == TEID_EXECUTION_PROTECTION
    } else {
        // The page of the instruction itself is missed by the instruction fetch first.
        page_of_exception(cpu) == Virtual(cpu.psw.address).page()
    }
}

/// Tests an access exception against the guest's own tables: `Ok(false)` if the shadow now allows the access, `Ok(true)` if
/// the instruction does not need it.
#[inline]
fn resolve<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    missed: Missed,
) -> Result<bool, Fault> {
    let teid = cpu.interruption.identification;
    let protection = cpu.interruption.code() == Exception::Protection.code();
    let at = missed.at;
    let kind = teid & TEID_PROTECTION;
    let access = if missed.is_fetch {
        Access::Execute
    } else if protection || teid & TEID_STORE != 0 {
        Access::Store
    } else {
        Access::Fetch
    };
    let space = Space::of(cpu, access);
    let asce = shadow::asce(cpu, access);
    if protection {
        let named = if cpu.psw.dat() { space } else { Space::Primary };
        if kind == TEID_LOW_ADDRESS {
            return Err(Fault::low_address_protection(at, named));
        }
        // With suppression on protection alone, a protection that is not by a table does not have a kind of its own.
        if !configuration.execution_protection && teid & TEID_DAT_PROTECTION == 0 {
            return Err(if is_low(cpu, asce, at) {
                Fault::low_address_protection(at, named)
            } else {
                Fault::key_controlled_protection(at, access, named)
            });
        }
    }
    let translation = dat::translate(cpu, configuration, hardware, asce, space, at, access)?;
    let absolute = cpu.absolute(translation.real);
    let page = match storage::checked_absolute(configuration, absolute.page(), PAGE) {
        Ok(page) => page,
        Err(fault) => {
            let of_target = access == Access::Fetch && translation.execution_protected;
            let of_target = of_target
                .then(|| target_is_protected(cpu, configuration, hardware, at, space))
                .flatten();
            return Err(of_target.unwrap_or(fault));
        }
    };
    let state = configuration.page_frames.state(absolute);
    match (access, state) {
        (Access::Execute, PageState::Data | PageState::Still) => {
            if !configuration.execution_protection
                && is_of_relative_operand(cpu, configuration, hardware, at)
            {
                return Ok(true);
            }
            if is_privileged(cpu, hardware, at, page) {
                return Ok(true);
            }
            let entry = entry_of(cpu, configuration, hardware, at);
            scanner::make_executable(configuration, hardware, absolute, entry);
        }
        (Access::Store, PageState::Text | PageState::Copied(_) | PageState::Still) => {
            if shadow::alone::entered(cpu).is_none()
                && !per::slots::is_in_slot(cpu)
                && holds_text(cpu, configuration, hardware, absolute.page())
            {
                if shadow::has_single_table(cpu) {
                    shadow::split(cpu, configuration, hardware);
                    return Ok(false);
                }
                if execute_alone(cpu, configuration, hardware)? {
                    return Ok(true);
                }
            }
            scanner::store_into(configuration, hardware, absolute);
        }
        // Only a store can meet a protection there. An instruction that is executed alone has nothing but itself there.
        (Access::Execute, PageState::Text | PageState::Copied(_))
            if !configuration.execution_protection
                && (protection || shadow::alone::entered(cpu).is_some())
                && is_of_relative_operand(cpu, configuration, hardware, at) =>
        {
            return Ok(true);
        }
        _ => {}
    }
    if access == Access::Execute
        && shadow::has_single_table(cpu)
        && matches!(
            configuration.page_frames.state(absolute),
            PageState::Copied(_)
        )
        && !configuration.page_frames.is_of_executes(absolute)
    {
        shadow::split(cpu, configuration, hardware);
    } else {
        shadow::fill(cpu, configuration, hardware, asce, at, &translation, access);
        // Only translations of the guest are counted.
        if cpu.psw.dat() {
            let cycles = cpu.account.ticks(cpu.account.entered, hardware.clock());
            cpu.fills.add(access == Access::Execute, cycles);
        }
    }
    Ok(false)
}

/// Whether low-address protection forbids stores into the page at `at`.
#[cold]
const fn is_low(cpu: &Vcpu, asce: u64, at: Virtual) -> bool {
    let is_on = cpu.control[0] & CR0_LOW_ADDRESS_PROTECTION != 0;
    let is_private = asce & control::asce::PRIVATE_SPACE != 0;
    is_on && at.0 < PREFIX_AREA && !(is_private && cpu.psw.dat())
}

/// Whether the access that missed the page at `at` among the instructions was that of a relative-long operand. The CPU has
/// the text of the instruction then.
#[cold]
fn is_of_relative_operand<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> bool {
    let here = Virtual(cpu.psw.address);
    let Ok(text) = storage::text(cpu, configuration, hardware) else {
        return false;
    };
    let (text, from) = match target_of(cpu, &text.bytes) {
        None => (text, here),
        Some(target) => match storage::text_at(cpu, configuration, hardware, target) {
            Err(_) => return false,
            Ok(found) => {
                let executed = Text {
                    length: text.length,
                    executed: true,
                    ..found
                };
                (executed, target)
            }
        },
    };
    let Some(found) = relative(&text.bytes, from.0) else {
        return false;
    };
    let operand = Virtual(found.at & cpu.psw.address_mask()).page();
    // The instruction itself is missed first. A store is refused only when all of the instruction is there.
    let is_protected = cpu.interruption.code() == Exception::Protection.code();
    let length = u64::from(text.length);
    let is_own = |page: Virtual| {
        page == here.page() || page == here.offset(length - 1).page() || page == from.page()
    };
    if operand != at || !is_protected && is_own(at) {
        return false;
    }
    cpu.text = text;
    true
}

/// The instruction in `cpu.text`, which is at the PSW's address or is executed from there, if it has a relative-long
/// operand.
#[cold]
pub(super) fn relative_in_text<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
) -> Option<Relative> {
    let from = if cpu.text.executed {
        let execute = storage::text(cpu, configuration, hardware).ok()?;
        target_of(cpu, &execute.bytes)?.0
    } else {
        cpu.psw.address
    };
    relative(&cpu.text.bytes, from)
}

/// Whether the instruction at the PSW's address, which is in the page at `at`, would trap anyway, as privileged
/// instructions do. Its page then need not be made executable, and the CPU has its text.
///
/// Control programs end interruptions by a LOAD PSW EXTENDED in their prefix area, next to fields that they store
/// into at every interruption. Otherwise that page would change between text and data for ever.
#[inline]
fn is_privileged<H: Hardware>(cpu: &mut Vcpu, hardware: &H, at: Virtual, page: Checked) -> bool {
    let here = Virtual(cpu.psw.address);
    if here.page() != at || !storage::is_within_a_page(here) || cpu.psw.problem_state() {
        return false;
    }
    let place = page.frame().at(here);
    let bytes = storage::text_within_a_page(hardware, place);
    if insn::decode_common(&bytes).is_none() && insn::decode_real(&bytes).is_none() {
        return false;
    }
    // The next time the fast path finds it.
    if !cpu.per.is_on() && cpu.shadow.alone.is_none() {
        cpu.keep_text(here, storage::placed(hardware, place.frame()));
    }
    cpu.text = Text::of(bytes);
    let code = Exception::PrivilegedOperation.code();
    cpu.interruption.cause = u32::from(cpu.text.length) << 16 | u32::from(code);
    true
}

/// Has the hardware execute the instruction at the PSW's address alone. It stores into a page that holds its own text, by
/// whatever address, and that page cannot be executed and stored into at once. Returns whether the firmware is to perform it, as
/// the hardware cannot; the CPU has its text then.
#[cold]
fn execute_alone<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Result<bool, Fault> {
    let text = storage::text(cpu, configuration, hardware)?;
    let target = match target_of(cpu, &text.bytes) {
        Some(at) => Some((
            at,
            storage::text_at(cpu, configuration, hardware, at)?.bytes,
        )),
        None => None,
    };
    let r1 = text.bytes[1] >> 4;
    let performed = match target {
        Some((_, target)) => insn::modified_target(target, r1, &cpu.general),
        None => text.bytes,
    };
    // Another CPU may have changed it since this one met the exception.
    let first = u16::from_be_bytes([performed[0], performed[1]]);
    if is_caught_text(&performed, configuration.caught()) || executed::is_execute(first) {
        return Ok(false);
    }
    let here = Virtual(cpu.psw.address);
    if let Some(target) = target
        && shadow::alone::is_too_near((here, text.bytes), target)
    {
        cpu.text = Text {
            bytes: performed,
            length: text.length,
            executed: true,
        };
        return Ok(true);
    }
    shadow::alone::request(cpu, text.bytes, target);
    Ok(false)
}

/// Whether the instruction at the PSW's address, or the target that it executes, has any of its bytes in
/// the absolute page.
#[cold]
fn holds_text<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    page: Absolute,
) -> bool {
    let here = Virtual(cpu.psw.address);
    let Ok(text) = storage::text(cpu, configuration, hardware) else {
        return false;
    };
    let target = target_of(cpu, &text.bytes)
        .and_then(|at| Some((at, storage::text_at(cpu, configuration, hardware, at).ok()?)));
    [Some((here, text)), target]
        .into_iter()
        .flatten()
        .any(|(at, text)| {
            let length = u64::from(text.length);
            storage::resolve(cpu, configuration, hardware, at, length, Access::Execute).is_ok_and(
                |claim| {
                    let reaches = |piece: Piece| {
                        piece.length() != 0 && piece.start().absolute().page() == page
                    };
                    reaches(claim.first) || reaches(claim.second)
                },
            )
        })
}

/// The exception of an EXECUTE whose target, in the page at `at`, may not be fetched as an instruction. If
/// instructions and operands have one table, the miss of the target's page looks like that of an operand, and
/// protection comes before addressing.
#[cold]
fn target_is_protected<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
    space: Space,
) -> Option<Fault> {
    if !shadow::has_single_table(cpu) {
        return None;
    }
    let text = storage::text(cpu, configuration, hardware).ok()?;
    let target = target_of(cpu, &text.bytes)?;
    (target.page() == at).then(|| Fault::execution_protection(at, space))
}

/// The length that the hardware stores when it could not fetch an instruction, and for some exceptions of the target of an
/// EXECUTE.
const MADE_UP: u8 = 2;

/// The exception, and the length to store, of an instruction fetch that the guest's own tables refuse, too. If it was
/// the target of an EXECUTE, the length is that of the EXECUTE, and a target at an odd address comes before what its
/// fetch would meet.
#[cold]
fn target_not_fetched<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    fault: Fault,
) -> (Fault, u8) {
    let Ok(text) = storage::text(cpu, configuration, hardware) else {
        return (fault, MADE_UP);
    };
    match target_of(cpu, &text.bytes) {
        Some(target) if target.0 & 1 != 0 => (Fault::plain(Exception::Specification), text.length),
        Some(_) => (fault, text.length),
        None => (fault, MADE_UP),
    }
}

/// What covers the instruction at the PSW's address, or its `target` if it is an EXECUTE. It is uncovered, if it can be.
///
/// Another CPU may have uncovered it since this CPU met it, or the page may have changed. So if any page was
/// uncovered or changed since, the instruction is tried once more; and so it is where the machine below may still have what
/// stood there before ([`renewed`]).
#[cold]
pub(super) fn uncover<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    target: Option<Virtual>,
) -> Cover {
    let mut cover = Cover::Absent;
    if !shadow::has_single_table(cpu) {
        let here = Virtual(cpu.psw.address);
        cover = uncover_at(cpu, configuration, hardware, here);
        if cover != Cover::Removed
            && let Some(target) = target
        {
            cover = uncover_at(cpu, configuration, hardware, target);
        }
        if cover == Cover::Removed {
            cpu.uncovered = cpu.uncovered.wrapping_add(1);
            return Cover::Removed;
        }
    }
    // Last, so that nobody does it between this and the look at the place.
    let uncovered = configuration.page_frames.uncovered.load(Ordering::Acquire);
    let tries_again = core::mem::replace(&mut cpu.uncovered, uncovered) != uncovered
        || shadow::stale(cpu, configuration);
    if tries_again || configuration.is_concurrent() && renewed(cpu, configuration, hardware) {
        Cover::Removed
    } else {
        cover
    }
}

/// The instruction at the PSW's address trapped, and nothing covers it; but several CPUs execute. Returns whether it is tried
/// once more, with the text of its copy stored anew.
///
/// A machine below that translates may have read the place for another CPU before it was uncovered, and keep the translation
/// only afterwards: QEMU 7.2 does. For each CPU it can be about to keep one such translation, and a store ends all that it
/// keeps. So what traps still when it was tried for every other CPU is no instruction.
#[cold]
#[inline(never)]
fn renewed<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> bool {
    let here = Virtual(cpu.psw.address);
    if shadow::has_single_table(cpu) {
        return false;
    }
    place_of_text(cpu, configuration, hardware, here)
        .is_some_and(|at| scanner::renew(configuration, hardware, at))
        && cpu
            .tried
            .again(here, cpu.account.traps, configuration.cpus - 1)
}

/// Where in storage the text at an address begins, if the guest can fetch it.
#[inline]
fn place_of_text<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> Option<Absolute> {
    let found = storage::resolve(cpu, configuration, hardware, at, 2, Access::Execute);
    found.ok().map(|claim| claim.first.start().absolute())
}

/// Uncovers the instruction at an address, if it is covered.
#[inline]
fn uncover_at<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
) -> Cover {
    let Some(place) = place_of_text(cpu, configuration, hardware, at) else {
        return Cover::Absent;
    };
    // At the end of a page, only the next one may show whether it is an instruction.
    let is_assigned = storage::is_within_a_page(at)
        || storage::text_at(cpu, configuration, hardware, at)
            .is_ok_and(|text| insn::assigned(&text.bytes));
    scanner::uncover(configuration, hardware, place, is_assigned)
}

/// Whether the instruction that has met an exception, which is behind it, is the target of an EXECUTE.
#[cold]
pub(super) fn is_execute_behind<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
) -> bool {
    let length = u64::from(cpu.interruption.length());
    // No EXECUTE is so short.
    if length == 2 {
        return false;
    }
    let at = Virtual(cpu.psw.address.wrapping_sub(length) & cpu.psw.address_mask());
    let bytes = match storage::kept_text(cpu, hardware, at) {
        Some(bytes) => bytes,
        None => match storage::text_at(cpu, configuration, hardware, at) {
            Ok(text) => text.bytes,
            Err(_) => return false,
        },
    };
    executed::is_execute(u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// What stands in the place of the instruction text at an address.
#[cold]
pub(super) fn in_place<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> InPlace {
    // It executes no copies, or not here.
    if shadow::has_single_table(cpu) || per::slots::is_in_slot(cpu) {
        return InPlace::Itself;
    }
    place_of_text(cpu, configuration, hardware, at).map_or(InPlace::Itself, |at| {
        scanner::in_place(configuration, hardware, at)
    })
}

/// Trusts the EXECUTE at the PSW's address from now on. Returns `false` if it is not what is replaced.
#[cold]
pub(super) fn trust<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    execute: &Text,
) -> bool {
    let here = Virtual(cpu.psw.address);
    place_of_text(cpu, configuration, hardware, here)
        .is_some_and(|at| scanner::trust(configuration, hardware, at, execute.length.into()))
}

/// The address of the target, if the instruction at the PSW's address is an EXECUTE.
pub(super) fn target_of(cpu: &Vcpu, bytes: &[u8; 6]) -> Option<Virtual> {
    let (target, _) = insn::target(&insn::decode(bytes), cpu.psw.address, &cpu.general)?;
    Some(Virtual(target & cpu.psw.address_mask()))
}

/// Where execution enters the page at `at`: at the PSW's address, at the target of an EXECUTE there, or in the middle
/// of an instruction that began on the preceding page.
#[cold]
fn entry_of<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> Entry {
    let here = Virtual(cpu.psw.address);
    if here.page() == at.page() {
        return Entry::At(here.byte_index() as usize);
    }
    let Ok(text) = storage::text(cpu, configuration, hardware) else {
        return Entry::Carried(0);
    };
    match target_of(cpu, &text.bytes) {
        Some(target) if target.page() == at.page() => Entry::At(target.byte_index() as usize),
        _ => {
            let carried = here
                .offset(u64::from(text.length))
                .0
                .wrapping_sub(at.page().0);
            Entry::Carried(if carried < 6 { carried as usize } else { 0 })
        }
    }
}
