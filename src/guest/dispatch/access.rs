//! Access exceptions: ours, or the guest's?
//!
//! Each is first put to the guest's own tables. A translation that the shadow has not had yet, a first
//! execution and a store into an executed page are ours; what the guest's tables also refuse is its own.

use crate::arch::address::{Absolute, PAGE, Real, Virtual};
use crate::arch::bits::bit64;
use crate::arch::control::asce::REAL_SPACE;
use crate::arch::interruption::{Ending, ProgramInterruption as Exception, ending};
use crate::arch::table::{TEID_ADDRESS, TEID_EXECUTION_PROTECTION, TEID_LOW_ADDRESS, TEID_STORE};
use crate::guest::configuration::Configuration;
use crate::guest::dat::{self, Access, Fault, Space, Translation};
use crate::guest::delivery;
use crate::guest::due::Due;
use crate::guest::hardware::Hardware;
use crate::guest::scanner::{self, Entry, PageState};
use crate::guest::schedule::Step;
use crate::guest::shadow;
use crate::guest::storage;
use crate::guest::vcpu::{Text, Vcpu};
use crate::guest::watch;
use crate::insn::{self, Instruction};

/// An access exception. Gives an instruction that is to be performed where it stands.
pub(super) fn access<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Option<Instruction> {
    let length = cpu.interruption.length();
    let code = cpu.interruption.code();
    let problem = cpu.psw.problem_state();
    // Back to the instruction itself: protection and addressing suppress, so the hardware advanced
    // the address (for an instruction fetch by a made-up length, which is the one it stored).
    if ending(code) == Ending::Suppression {
        cpu.psw.address = cpu.psw.address.wrapping_sub(u64::from(length)) & cpu.psw.address_mask();
    }
    cpu.account
        .correct(0, configuration.charges.of(code), problem);
    match resolve(cpu, configuration, hardware) {
        Ok(instruction) => instruction,
        Err(fault) => {
            // A made-up length is no length: an instruction that could not be fetched has none here.
            delivery::program(cpu, configuration, hardware, fault, length);
            None
        }
    }
}

/// Puts an access exception to the guest's own tables: `Ok` when the shadow now allows the access, or with
/// an instruction for which it need not.
#[inline]
fn resolve<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Result<Option<Instruction>, Fault> {
    let teid = cpu.interruption.identification;
    let protection = cpu.interruption.code() == Exception::Protection.code();
    let at = Virtual(teid & TEID_ADDRESS & cpu.psw.address_mask());
    let kind = teid & (TEID_EXECUTION_PROTECTION | bit64(60));
    let executing = if protection {
        kind == TEID_EXECUTION_PROTECTION
    } else {
        // A page that holds the instruction itself is missed by the instruction fetch first.
        at == Virtual(cpu.psw.address).page()
    };
    let access = if executing {
        Access::Execute
    } else if protection || teid & TEID_STORE != 0 {
        Access::Store
    } else {
        Access::Fetch
    };
    let (translation, space) = if cpu.psw.dat() {
        let space = match teid & 3 {
            0 => Space::Primary,
            2 => Space::Secondary,
            _ => Space::Home,
        };
        let asce = space.asce(cpu);
        if protection && kind == TEID_LOW_ADDRESS {
            return Err(Fault::low_address_protection(at, space));
        }
        let found = dat::translate(cpu, configuration, hardware, asce, space, at, access)?;
        (found, Some((space, asce)))
    } else {
        if protection && kind == TEID_LOW_ADDRESS {
            return Err(Fault::low_address_protection(at, Space::Primary));
        }
        let real = Translation {
            real: Real(at.0),
            entry: Real(0),
            protected: false,
            execution_protected: false,
        };
        (real, None)
    };
    let absolute = cpu.absolute(translation.real);
    storage::checked_absolute(configuration, absolute.page(), 4096)?;
    let state = configuration.pages.state(absolute);
    match (access, state) {
        (Access::Execute, PageState::Data) => {
            if let Some(instruction) = privileged(cpu, hardware, at, absolute) {
                return Ok(Some(instruction));
            }
            let entry = entry_of(cpu, configuration, hardware, at);
            scanner::make_executable(configuration, hardware, absolute, entry);
        }
        (Access::Store, PageState::Text | PageState::Copied(_)) => {
            if cpu.psw.address & !0xFFF == at.0 {
                // The instruction stores into the page that it stands in.
                scanner::open(configuration, hardware, absolute);
                cpu.sampling.step = Some(Step::Open(absolute.page(), cpu.psw.address));
                cpu.due |= Due::CLOCK;
            } else {
                scanner::store_into(configuration, hardware, absolute);
            }
        }
        _ => {}
    }
    if access == Access::Execute && configuration.pages.watched(absolute) {
        let place = match entry_of(cpu, configuration, hardware, at) {
            Entry::At(offset) => Some(offset),
            Entry::Carried(_) => None,
        };
        let identity = space.is_none_or(|(_, asce)| asce & REAL_SPACE != 0);
        let page = absolute.page();
        let enter = if cpu.watch.stands_in(cpu.psw.address) && at != cpu.watch.page() {
            watch::reach
        } else {
            watch::enter
        };
        enter(cpu, configuration, hardware, at, page, place, identity);
    }
    if let Some((_, asce)) = space {
        shadow::fill(cpu, configuration, hardware, asce, at, &translation, access);
        let cycles = cpu.account.ticks(cpu.account.entered, hardware.clock());
        cpu.fills.add(executing, cycles);
    }
    Ok(None)
}

/// The instruction at the PSW's address, which is in the page at `at`, if it would trap anyway, as privileged
/// ones do. So its page need not be made executable.
///
/// Control programs end interruptions by a LOAD PSW EXTENDED in their prefix area, next to what they
/// store at every interruption: that page would change between text and data for ever.
#[inline]
fn privileged<H: Hardware>(
    cpu: &mut Vcpu,
    hardware: &H,
    at: Virtual,
    page: Absolute,
) -> Option<Instruction> {
    let here = Virtual(cpu.psw.address);
    // It is fetched as a doubleword.
    if here.page() != at
        || here.0 & 1 != 0
        || here.byte_index() > PAGE - 8
        || cpu.psw.problem_state()
    {
        return None;
    }
    let place = page.page().offset(here.byte_index());
    let [bytes @ .., _, _] = hardware.load_u64(place).to_be_bytes();
    let instruction = insn::decode_common(&bytes)?;
    let length = insn::length(bytes[0]) as u8;
    cpu.text = Text {
        bytes,
        length,
        executed: false,
    };
    let code = Exception::PrivilegedOperation.code();
    cpu.interruption.cause = u32::from(length) << 16 | u32::from(code);
    Some(instruction)
}

/// Where execution enters the page at `at`: at the PSW's address, at the target of an EXECUTE there,
/// or in the middle of an instruction that began on the page before.
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
    let target = match insn::decode(&text.bytes) {
        Instruction::Ex { second, .. } => Some(second.address(&cpu.general)),
        Instruction::Exrl { ri2, .. } => Some(here.0.wrapping_add_signed(ri2.bytes())),
        _ => None,
    };
    match target.map(|target| Virtual(target & cpu.psw.address_mask())) {
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
