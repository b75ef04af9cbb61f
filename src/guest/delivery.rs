//! Interruptions of the guest: what they store, which PSW they load, and which comes first.
//!
//! An interruption stores its code and the current PSW in the guest's prefix area and loads the new
//! PSW from there. The prefix area is the guest's real 0-1FFF, so it is reached by prefixing alone;
//! low-address protection does not apply to it.
//!
//! **Early PSW exceptions.** A PSW with a one in an unassigned bit, an impossible addressing mode or
//! an address too wide for the mode becomes current and is refused at once by a program interruption
//! for a specification exception, whose old PSW is the refused one. Its instruction length is 0 when
//! an interruption, LOAD PSW or LOAD PSW EXTENDED brought the PSW in; SET SYSTEM MASK and STORE THEN
//! OR SYSTEM MASK give their own, by way of [`Condition::of_fault`]. A program new PSW that is refused itself would
//! interrupt for ever: the firmware lets it do so once and then puts the CPU into the check-stop
//! state, which ends the guest.
//!
//! **Program interruptions without an end.** A program new PSW may be good and the instruction that it
//! designates not: each program interruption then leads to the next, and a CPU does nothing else until
//! somebody changes storage. After [`MOST_IN_A_ROW`] of them, disabled for all interruptions, the guest is taken
//! to have failed: the CPU enters the check-stop state, too, and [`Vcpu::in_a_row`] says why.
//!
//! The access-register mode cannot be run on the machine below, so a PSW that would enter it is
//! refused in the same way.

use crate::arch::address::{Absolute, PREFIX_AREA};
use crate::arch::channel::IoInterruption;
use crate::arch::interruption::{Class, Ending, ProgramInterruption};
use crate::arch::lowcore;
use crate::arch::psw::{
    ADDRESS_SPACE, AddressSpace, CONDITION_CODE, DAT, EXTERNAL, IO, MACHINE_CHECK, PER, PROBLEM,
    Psw, WAIT,
};
use crate::guest::hardware::Hardware;
use crate::guest::state::access::Fault;
use crate::guest::state::configuration::Configuration;
use crate::guest::state::pending_work::PendingWork;
use crate::guest::state::vcpu::{CpuState, Interruption, Vcpu};
use crate::guest::storage::scanner;
use crate::per::{Address, Identification};

mod external;
mod machine_check;

pub use external::{any_open, any_pending, deliver_pending, external, refresh};
pub use machine_check::machine_check;

/// The longest instruction.
const LONGEST: u64 = 6;

/// The bit of a program-interruption code that says that a PER event is indicated, too.
pub const PER_EVENT: u16 = 0x80;

/// Program interruptions by the first instruction of their own handler, one after the other, that end a
/// guest.
pub const MOST_IN_A_ROW: u32 = 100_000;

/// Everything that a program interruption stores but the PSW.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Program-interruption code; its PER bit is set if `per` is given.
    pub code: u16,
    /// Instruction length in bytes: 0, 2, 4 or 6.
    pub length: u8,
    /// Translation-exception identification, for the codes that have one.
    pub identification: u64,
    /// Exception access identification, for the same codes.
    pub access_id: u8,
    /// Data-exception or vector-exception code.
    pub data_exception: u32,
    /// Monitor class, for a monitor event.
    pub monitor_class: u16,
    /// Monitor code, for a monitor event.
    pub monitor_code: u64,
    /// PER events.
    pub per: Option<Identification>,
}

impl Condition {
    /// The condition that the hardware met. Of a monitor event, `parameter` holds the class and
    /// `identification` the code.
    #[must_use]
    #[inline]
    pub const fn of(met: &Interruption) -> Self {
        Self {
            code: met.code() & !PER_EVENT,
            length: met.length(),
            identification: met.identification,
            access_id: met.access,
            data_exception: met.parameter,
            monitor_class: met.parameter as u16,
            monitor_code: met.identification,
            per: None,
        }
    }

    /// The condition of a fault that the instruction of `length` bytes met which the PSW designates (that of the
    /// EXECUTE, if it is a target).
    ///
    /// The PSW designates the instruction itself after nullification, and from now on the next one after
    /// suppression, as the exception has it ([`ProgramInterruption::ending`]).
    #[inline]
    pub fn of_fault(cpu: &mut Vcpu, fault: Fault, length: u8) -> Self {
        if !matches!(fault.interruption.ending(), Ending::Nullification) {
            advance(cpu, length);
        }
        Self {
            code: fault.interruption.code(),
            length,
            identification: fault.identification,
            access_id: fault.access_id,
            ..Self::default()
        }
    }
}

/// What the way out must do about a PSW that was just loaded: whether it waits or is refused, or opens
/// interruptions. What is pending behind closed masks can stay so.
#[inline]
const fn asked_for(psw: &Psw) -> PendingWork {
    if psw.mask & WAIT != 0 || refused(psw) {
        PendingWork::ATTENTION
    } else if psw.mask & (EXTERNAL | IO | MACHINE_CHECK) != 0 {
        PendingWork::OPENED
    } else {
        PendingWork::NOTHING
    }
}

/// Whether a PSW is refused as soon as it is current.
#[must_use]
#[inline]
pub const fn refused(psw: &Psw) -> bool {
    psw.early_specification()
        || psw.dat() && matches!(psw.address_space(), AddressSpace::AccessRegister)
}

/// Makes the instruction address designate the instruction `length` bytes on, in the current
/// addressing mode.
#[inline]
pub const fn advance(cpu: &mut Vcpu, length: u8) {
    cpu.psw.address = cpu.psw.address.wrapping_add(length as u64) & cpu.psw.address_mask();
}

/// Makes a PSW the current one, as LOAD PSW EXTENDED and every interruption do, and raises what
/// follows from it.
///
/// If it is refused, [`deliver_pending`] finds it before it looks at anything else, on the way out.
#[inline]
pub const fn load_psw(cpu: &mut Vcpu, psw: Psw) {
    let changed = cpu.psw.mask ^ psw.mask;
    cpu.psw = psw;
    if changed & (PER | DAT | ADDRESS_SPACE | PROBLEM) != 0 {
        cpu.pending_work.add(PendingWork::CONTROLS);
    }
    cpu.pending_work.add(asked_for(&cpu.psw));
}

/// Puts the CPU into the check-stop state.
#[cold]
fn check_stop(cpu: &mut Vcpu) {
    cpu.state = CpuState::CheckStop;
    cpu.pending_work |= PendingWork::ATTENTION;
}

/// The early specification exception: the current PSW is the program old PSW.
#[cold]
fn refuse<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let Some(area) = prefix_area(cpu, configuration, hardware) else {
        return;
    };
    let identification = u32::from(ProgramInterruption::Specification.code());
    hardware.store_u32(area.offset(lowcore::PROGRAM_IDENTIFICATION), identification);
    exchange(cpu, hardware, area, Class::Program);
    if refused(&cpu.psw) {
        // From here on nothing would change but the old PSW, once.
        exchange(cpu, hardware, area, Class::Program);
        check_stop(cpu);
    }
}

/// The guest's prefix area, about to be stored into.
///
/// SET PREFIX admits no other, so a prefix area beyond the end of storage is the machine's error;
/// the CPU enters the check-stop state then.
#[inline]
fn prefix_area<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Option<Absolute> {
    let area = Absolute(cpu.prefix);
    if !configuration.holds(area, PREFIX_AREA) {
        check_stop(cpu);
        return None;
    }
    scanner::store_into(configuration, hardware, area);
    Some(area)
}

/// Stores the old PSW of a class and loads its new one, good or bad.
#[inline]
fn exchange<H: Hardware>(cpu: &mut Vcpu, hardware: &mut H, area: Absolute, class: Class) {
    let old = area.offset(lowcore::old_psw(class));
    hardware.store_u64(old, cpu.psw.mask);
    hardware.store_u64(old.offset(8), cpu.psw.address);
    let new = area.offset(lowcore::new_psw(class));
    let psw = Psw {
        mask: hardware.load_u64(new),
        address: hardware.load_u64(new.offset(8)),
    };
    load_psw(cpu, psw);
}

/// The end of every interruption: exchanges the PSWs, and refuses the new one if it is bad.
#[inline]
fn interrupt<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    area: Absolute,
    class: Class,
) {
    exchange(cpu, hardware, area, class);
    if refused(&cpu.psw) {
        refuse(cpu, configuration, hardware);
    }
}

/// A program interruption with the current PSW as the old one.
///
/// Besides the identification at real 8C it stores: the translation-exception identification (A8)
/// and the exception access identification (A0) for protection, ASCE-type, region, segment and page
/// translation and the exceptions of ASN and access-register translation; the data-exception code
/// (90) for data and vector-processing exceptions; monitor class (94) and code (B0) for a monitor
/// event; code (96), address (98) and access identification (A1) of a PER event.
#[inline]
pub fn reflect<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    condition: &Condition,
) {
    let Some(area) = prefix_area(cpu, configuration, hardware) else {
        return;
    };
    let mut code = condition.code;
    match code & !PER_EVENT {
        0x04 | 0x10 | 0x11 | 0x20..=0x2D | 0x38..=0x3B => {
            hardware.store_u64(
                area.offset(lowcore::TRANSLATION_EXCEPTION),
                condition.identification,
            );
            hardware.store(
                area.offset(lowcore::EXCEPTION_ACCESS),
                &[condition.access_id],
            );
        }
        0x07 | 0x1B => {
            hardware.store_u32(
                area.offset(lowcore::DATA_EXCEPTION_CODE),
                condition.data_exception,
            );
        }
        0x40 => {
            let class = condition.monitor_class.to_be_bytes();
            hardware.store(area.offset(lowcore::MONITOR_CLASS), &class);
            hardware.store_u64(area.offset(lowcore::MONITOR_CODE), condition.monitor_code);
        }
        _ => {}
    }
    if let Some(per) = &condition.per {
        code |= PER_EVENT;
        identify(hardware, area, per);
    }
    hardware.store_u32(
        area.offset(lowcore::PROGRAM_IDENTIFICATION),
        u32::from(condition.length) << 16 | u32::from(code),
    );
    let old = cpu.psw;
    interrupt(cpu, configuration, hardware, area, Class::Program);
    if old.address.wrapping_sub(cpu.psw.address) <= LONGEST {
        met_again(cpu, &old);
    } else {
        cpu.in_a_row = 0;
    }
}

/// Stores what identifies PER events.
#[cold]
fn identify<H: Hardware>(hardware: &mut H, area: Absolute, per: &Identification) {
    let (code, address) = per.locations();
    hardware.store(area.offset(lowcore::PER_CODE), &code);
    let at = area.offset(lowcore::PER_ADDRESS);
    match address {
        Address::Doubleword(address) => {
            hardware.store_u64(at, address);
            hardware.store(area.offset(lowcore::PER_ACCESS), &[per.access]);
        }
        Address::Word(address) => hardware.store_u32(at, address),
    }
}

/// A program interruption whose old PSW designates the first instruction of the handler, or the one behind it.
#[cold]
fn met_again(cpu: &mut Vcpu, old: &Psw) {
    let closed = EXTERNAL | IO | MACHINE_CHECK;
    if (old.mask ^ cpu.psw.mask) & !CONDITION_CODE != 0 || old.mask & closed != 0 {
        cpu.in_a_row = 0;
        return;
    }
    cpu.in_a_row += 1;
    if cpu.in_a_row >= MOST_IN_A_ROW {
        check_stop(cpu);
    }
}

/// A supervisor-call interruption. The PSW designates the instruction after SUPERVISOR CALL (or
/// after the EXECUTE of it), whose length in bytes is `length`; `number` is its I field.
#[inline]
pub fn supervisor_call<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    number: u8,
    length: u8,
) {
    let Some(area) = prefix_area(cpu, configuration, hardware) else {
        return;
    };
    hardware.store_u32(
        area.offset(lowcore::SVC_IDENTIFICATION),
        u32::from(length) << 16 | u32::from(number),
    );
    interrupt(cpu, configuration, hardware, area, Class::SupervisorCall);
}

/// An I/O interruption that the hardware has presented, now or to the firmware while a CPU waited:
/// subsystem-identification word, parameter and interruption-identification word go to real B8, BC and C0.
#[inline]
pub fn io<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    interruption: IoInterruption,
) {
    let Some(area) = prefix_area(cpu, configuration, hardware) else {
        return;
    };
    let at = area.offset(lowcore::SUBSYSTEM_IDENTIFICATION);
    hardware.store_u32(at, interruption.subsystem);
    hardware.store_u32(at.offset(4), interruption.parameter);
    hardware.store_u32(at.offset(8), interruption.identification);
    interrupt(cpu, configuration, hardware, area, Class::InputOutput);
}

/// A restart interruption. The caller puts the CPU into the operating state.
pub fn restart<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let Some(area) = prefix_area(cpu, configuration, hardware) else {
        return;
    };
    interrupt(cpu, configuration, hardware, area, Class::Restart);
}

#[cfg(test)]
mod tests;
