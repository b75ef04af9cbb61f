//! Interruptions of the guest: what they store, which PSW they load, and in which order they come.
//!
//! An interruption stores its code and the current PSW in the guest's prefix area and loads the new PSW from there.
//! The prefix area is the guest's real 0-1FFF, so it is found by prefixing alone; low-address protection does not
//! apply to it.
//!
//! **Early PSW exceptions.** A PSW with a one in an unassigned bit, an impossible addressing mode or an address too
//! wide for the mode becomes current and is refused at once. The refusal is a program interruption for a
//! specification exception, whose old PSW is the refused one. Its instruction length is 0 when an interruption,
//! LOAD PSW or LOAD PSW EXTENDED introduced the PSW; SET SYSTEM MASK and STORE THEN OR SYSTEM MASK give their own,
//! by way of [`Condition::of_fault`]. A program new PSW that is itself refused would interrupt for ever. The
//! firmware lets it do so once and then puts the CPU into the check-stop state, which ends the guest.
//!
//! **Endless program interruptions.** A program new PSW may be valid, but the instruction that it designates may
//! not be executable. Each program interruption then leads to the next, and the CPU does nothing else until storage
//! changes. After [`MOST_IN_A_ROW`] of them, with all interruptions disabled, the guest counts as failed: the CPU
//! enters the check-stop state, and [`Vcpu::in_a_row`] tells why.
//!
//! **Endless external interruptions.** An external new PSW may be enabled for a condition that stays pending, such as
//! a clock comparator that the clock has passed. The CPU then executes nothing either, and enters the check-stop state
//! after [`MOST_EXTERNAL`](crate::state::looping::MOST_EXTERNAL) interruptions.
//!
//! The machine below cannot run the access-register mode, so a PSW that would enter it is refused in the same way.

use crate::hardware::Hardware;
use crate::state::access::Fault;
use crate::state::configuration::Configuration;
use crate::state::kept::KeptArea;
use crate::state::page_frames::PageState;
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::{CpuState, Interruption, Vcpu};
use crate::storage::{self, PrefixArea, scanner};
use arch::address::Absolute;
use arch::channel::IoInterruption;
use arch::interruption::{Class, Ending, ProgramInterruption, codes, is_one_of};
use arch::lowcore;
use arch::psw::{
    ADDRESS_SPACE, AddressSpace, CONDITION_CODE, DAT, EXTERNAL, IO, MACHINE_CHECK, PER, PROBLEM,
    Psw, WAIT,
};
use per::{Address, Identification};

mod external;
mod machine_check;

pub use external::{any_open, any_pending, deliver_pending, external, refresh};
pub use machine_check::machine_check;

/// The longest instruction.
pub const LONGEST: u64 = 6;

/// The bit of a program-interruption code that indicates a PER event, too.
pub const PER_EVENT: u16 = 0x80;

/// The program-interruption code of a monitor event.
const MONITOR_EVENT: u16 = 0x40;

/// So many consecutive program interruptions by the first instruction of their own handler end a guest.
pub const MOST_IN_A_ROW: u32 = 100_000;

/// Everything that a program interruption stores except the PSW.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Program-interruption code; its PER bit is set if `per` is given.
    pub code: u16,
    /// Instruction length in bytes: 0, 2, 4 or 6.
    pub length: u8,
    /// Translation-exception identification, data-exception code or vector-exception code, for the codes that have one.
    pub identification: u64,
    /// Exception access identification, for the same codes.
    pub access_id: u8,
    /// Operand access identification, if it is stored.
    pub operand_access: Option<u8>,
    /// Monitor class, for a monitor event.
    pub monitor_class: u16,
    /// Monitor code, for a monitor event.
    pub monitor_code: u64,
    /// PER events.
    pub per: Option<Identification>,
}

impl Condition {
    /// The condition that the hardware met. For a monitor event, `parameter` holds the class and `identification`
    /// the code.
    #[must_use]
    #[inline]
    pub const fn of(met: &Interruption) -> Self {
        Self {
            code: met.code() & !PER_EVENT,
            length: met.length(),
            identification: met.identification,
            access_id: met.access,
            operand_access: None,
            monitor_class: met.parameter as u16,
            monitor_code: met.identification,
            per: None,
        }
    }

    /// The condition of a fault. It was met by the instruction that the PSW designates, of `length` bytes (that of
    /// the EXECUTE, if it is a target).
    ///
    /// Afterwards the PSW designates the instruction itself if the exception nullifies, and the next one if it
    /// suppresses ([`ProgramInterruption::ending`]).
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
            operand_access: fault.operand_access,
            ..Self::default()
        }
    }
}

/// The work that a PSW which was just loaded leaves for the way out: it waits or is refused, or it may have opened
/// interruptions. Nothing needs to be done for interruptions that stay masked, or that the PSW `before` had open.
#[inline]
const fn work_after_load(psw: &Psw, before: u64) -> PendingWork {
    if refused(psw) || psw.mask & WAIT != 0 {
        PendingWork::ATTENTION
    } else if psw.mask & !before & (EXTERNAL | IO | MACHINE_CHECK) != 0 {
        PendingWork::OPENED
    } else {
        PendingWork::NOTHING
    }
}

/// The address-space control of the access-register mode.
const ACCESS_REGISTERS: u64 = (AddressSpace::AccessRegister as u64) << 46;

/// Whether a PSW is refused as soon as it is current.
#[must_use]
#[inline]
pub const fn refused(psw: &Psw) -> bool {
    psw.early_specification() || psw.mask & (DAT | ADDRESS_SPACE) == DAT | ACCESS_REGISTERS
}

/// Advances the instruction address by `length` bytes, in the current addressing mode.
#[inline]
pub const fn advance(cpu: &mut Vcpu, length: u8) {
    cpu.psw.address = cpu.psw.address.wrapping_add(length as u64) & cpu.psw.address_mask();
}

/// Makes a PSW the current one, as LOAD PSW EXTENDED and every interruption do, and adds the work that follows from
/// it.
///
/// If the PSW is refused, [`deliver_pending`] finds this first, on the way out.
#[inline(always)]
pub const fn load_psw(cpu: &mut Vcpu, psw: Psw) {
    let before = cpu.psw.mask;
    let changed = before ^ psw.mask;
    cpu.psw = psw;
    if changed & (PER | DAT | ADDRESS_SPACE | PROBLEM) != 0 {
        cpu.pending_work.add(if changed & PER != 0 {
            PendingWork::CONTROLS
        } else {
            PendingWork::SPACE
        });
    }
    cpu.pending_work.add(work_after_load(&psw, before));
}

/// Puts the CPU into the check-stop state.
#[cold]
pub fn check_stop(cpu: &mut Vcpu) {
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
    hardware.store_u32(area.at(lowcore::PROGRAM_IDENTIFICATION), identification);
    exchange(cpu, hardware, area, Class::Program);
    if refused(&cpu.psw) {
        // Further interruptions would only change the old PSW, once.
        exchange(cpu, hardware, area, Class::Program);
        check_stop(cpu);
    }
}

/// The code of the last external or program interruption that the CPU has taken, as it stands in storage.
#[must_use]
pub fn last_code<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    class: Class,
) -> u16 {
    let at = match class {
        Class::External => lowcore::EXTERNAL_CPU_ADDRESS,
        _ => lowcore::PROGRAM_IDENTIFICATION,
    };
    storage::prefix_area(cpu, configuration, hardware)
        .map_or(0, |area| hardware.load_u32(area.at(at)) as u16)
}

/// The guest's prefix area, which is about to be stored into.
///
/// SET PREFIX accepts only a prefix area in storage. One beyond the end of storage is therefore an error of the
/// machine, and the CPU enters the check-stop state.
///
/// It is kept: an area that was stored into stays data until the state of some page changes, so the scanner need not be told
/// again.
#[inline(always)]
fn prefix_area<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Option<PrefixArea> {
    let under = [cpu.prefix, configuration.shadow.posted()];
    let kept = &cpu.kept.area;
    if kept.under == under {
        return Some(kept.area);
    }
    other_prefix_area(cpu, configuration, hardware)
}

/// The same, if it is not kept.
#[inline(never)]
fn other_prefix_area<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Option<PrefixArea> {
    let Some(area) = storage::prefix_area(cpu, configuration, hardware) else {
        check_stop(cpu);
        return None;
    };
    let at = Absolute(cpu.prefix);
    scanner::store_into(configuration, hardware, at);
    // Whoever changes the state of the page afterwards posts a request.
    let under = [cpu.prefix, configuration.shadow.posted()];
    if configuration.page_frames.state(at) == PageState::Data {
        cpu.kept.area = KeptArea { under, area };
    }
    Some(area)
}

/// The code and the old PSW of the last program interruption, if the guest now goes on at its program new PSW.
pub fn last_program<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
) -> Option<(u16, Psw)> {
    let area = storage::prefix_area(cpu, configuration, hardware)?;
    let [_, new] = hardware.load_pair(area.at(lowcore::new_psw(Class::Program)));
    let [mask, address] = hardware.load_pair(area.at(lowcore::old_psw(Class::Program)));
    let identification = hardware.load_u32(area.at(lowcore::PROGRAM_IDENTIFICATION));
    (new == cpu.psw.address).then_some((identification as u16, Psw { mask, address }))
}

/// The old PSW of the last interruption, and the address in the new PSW, if the guest now goes on there, or so many bytes after
/// it.
pub fn last<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    bytes: u64,
) -> Option<(Psw, u64)> {
    let area = storage::prefix_area(cpu, configuration, hardware)?;
    Class::ALL.into_iter().find_map(|class| {
        let [mask, new] = hardware.load_pair(area.at(lowcore::new_psw(class)));
        let is_new = mask == cpu.psw.mask && cpu.psw.address.wrapping_sub(new) <= bytes;
        let [mask, address] = hardware.load_pair(area.at(lowcore::old_psw(class)));
        is_new.then_some((Psw { mask, address }, new))
    })
}

/// Stores the old PSW of a class and loads its new PSW, whether valid or not.
#[inline(always)]
fn exchange<H: Hardware>(cpu: &mut Vcpu, hardware: &mut H, area: PrefixArea, class: Class) -> Psw {
    let old = [cpu.psw.mask, cpu.psw.address];
    hardware.store_pair(area.at(lowcore::old_psw(class)), old);
    let [mask, address] = hardware.load_pair(area.at(lowcore::new_psw(class)));
    let psw = Psw { mask, address };
    load_psw(cpu, psw);
    psw
}

/// The end of every interruption: exchanges the PSWs, and refuses the new one if it is not valid. If PER events of the
/// supervisor call that interrupts are pending, they are indicated together with that, on the way out.
#[inline(always)]
fn interrupt<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    area: PrefixArea,
    class: Class,
) {
    let psw = exchange(cpu, hardware, area, class);
    if refused(&psw) && cpu.per.pending.is_none() {
        refuse(cpu, configuration, hardware);
    }
}

/// The codes of the conditions that store more than the code: what identifies a translation, or a data-exception code.
const IDENTIFIED: u64 = codes(0x04, 0x04)
    | codes(0x07, 0x07)
    | codes(0x10, 0x11)
    | codes(0x1B, 0x1B)
    | codes(0x20, 0x2D)
    | codes(0x38, 0x3B);

/// A program interruption with the current PSW as the old PSW.
///
/// Besides the identification at real 8C it stores: the translation-exception identification (A8) and the exception
/// access identification (A0) for protection, ASCE-type, region, segment and page translation and the exceptions of
/// ASN and access-register translation; the operand access identification (A2) for a page translation of MOVE PAGE;
/// the data-exception code (90) for data and vector-processing exceptions;
/// monitor class (94) and code (B0) for a monitor event; code (96), address (98) and access identification (A1) of
/// a PER event.
#[inline(always)]
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
    if is_one_of(IDENTIFIED, code) || code == MONITOR_EVENT {
        describe(hardware, area, condition);
    }
    if let Some(per) = &condition.per {
        code |= PER_EVENT;
        identify(hardware, area, per);
    }
    hardware.store_u32(
        area.at(lowcore::PROGRAM_IDENTIFICATION),
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

/// Stores what a condition has besides its code.
#[inline(never)]
fn describe<H: Hardware>(hardware: &mut H, area: PrefixArea, condition: &Condition) {
    match condition.code {
        0x07 | 0x1B => {
            hardware.store_u32(
                area.at(lowcore::DATA_EXCEPTION_CODE),
                condition.identification as u32,
            );
        }
        MONITOR_EVENT => {
            hardware.store_u16(area.at(lowcore::MONITOR_CLASS), condition.monitor_class);
            hardware.store_u64(area.at(lowcore::MONITOR_CODE), condition.monitor_code);
        }
        _ => {
            hardware.store_u64(
                area.at(lowcore::TRANSLATION_EXCEPTION),
                condition.identification,
            );
            hardware.store_u8(area.at(lowcore::EXCEPTION_ACCESS), condition.access_id);
            if let Some(operand_access) = condition.operand_access {
                hardware.store_u8(area.at(lowcore::OPERAND_ACCESS), operand_access);
            }
        }
    }
}

/// Stores the identification of PER events.
#[cold]
fn identify<H: Hardware>(hardware: &mut H, area: PrefixArea, per: &Identification) {
    let (code, address) = per.locations();
    hardware.store_u16(area.at(lowcore::PER_CODE), u16::from_be_bytes(code));
    let at = area.at(lowcore::PER_ADDRESS);
    match address {
        Address::Doubleword(address) => {
            hardware.store_u64(at, address);
            hardware.store_u8(area.at(lowcore::PER_ACCESS), per.access);
        }
        Address::Word(address) => hardware.store_u32(at, address),
    }
}

/// A program interruption whose old PSW designates the first instruction of the handler, or the one after it.
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
        area.at(lowcore::SVC_IDENTIFICATION),
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
    let at = lowcore::SUBSYSTEM_IDENTIFICATION;
    hardware.store_u32(area.at(at), interruption.subsystem);
    hardware.store_u32(area.at(at + 4), interruption.parameter);
    hardware.store_u32(area.at(at + 8), interruption.identification);
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
