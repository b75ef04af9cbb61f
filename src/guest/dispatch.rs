//! What a trap means: translates the hardware's interruption into the guest's own terms.
//!
//! Access exceptions are tested against the guest's own tables first, and only what these refuse as well is reflected.
//! Operation and privileged-operation exceptions are decoded in both guest states, and the millicode routine decides
//! with the guest's P bit, controls and facilities. An instruction that is not decoded is reflected as it came.

use crate::delivery::{self, Condition};
use crate::hardware::Hardware;
use crate::measuring::epoch;
use crate::millicode;
use crate::millicode::fast_path;
use crate::millicode::outcome::{Outcome, Performed};
use crate::recording::{monitor, per};
use crate::state::access::Fault;
use crate::state::account::Mode;
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::shadow::alone::Alone;
use crate::state::text::Text;
use crate::state::vcpu::{LIVE, Vcpu};
use crate::storage::scanner::{Cover, InPlace};
use crate::storage::{self, shadow};
use arch::address::Virtual;
use arch::interruption::{Class, Ending, ProgramInterruption as Exception, ending, is_access};
use arch::psw::{self, Psw};
use insn::executed::{is_execute, may_become_sensitive};
use insn::{self, Instruction};

pub mod access;
mod leaving;
mod stores;

pub use leaving::{leave, real_psw};

/// What the machine does next with a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Leave to the guest.
    Run,
    /// The CPU is in an enabled wait: it gives up its turn until something is pending.
    Wait,
    /// The CPU gives up its turn, but has work.
    Yield,
    /// The CPU takes one interruption after the other, and executes no instruction: its turn ends, as if it had.
    Pause,
    /// A coprocessor is busy with the CPU's function: the CPU gives up its turn until then.
    Occupied,
    /// A profiler in the guest has a request to HIS, which must be performed before the guest continues.
    Service,
    /// The guest is held for the operator, for what [`HeldBy`](crate::state::vcpu::HeldBy) says.
    Held,
    /// The CPU is stopped.
    Stopped,
    /// The CPU is in a disabled wait or check-stop: the guest has ended.
    Ended,
}

/// Takes over what is live of the guest's PSW from the hardware: the bits [`LIVE`], and the instruction address. In the machine
/// the trap entry has done so; this is for a virtual CPU without one.
pub const fn take_over(cpu: &mut Vcpu) {
    let old = cpu.interruption.old;
    cpu.psw = Psw {
        mask: cpu.psw.mask ^ ((cpu.psw.mask ^ old.mask) & LIVE),
        address: old.address,
    };
}

/// Adds the guest time up to a trap to the account. The guest's PSW has been taken over from the hardware.
#[inline(always)]
pub fn enter<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    class: Class,
) {
    let problem = cpu.psw.problem_state();
    if cpu.account.mode == Mode::RealTime {
        epoch::enter_in_real_time(cpu, configuration, hardware, class);
    } else {
        cpu.account.enter(&configuration.charges, class, problem);
    }
    // The fast path handles the 64-bit mode only, so `program` wraps the address for the rest.
    if class != Class::Program {
        wrap(cpu);
    }
    if cpu.sampling.armed_at != 0 {
        cpu.sampling.slack = cpu.account.left.wrapping_sub(cpu.sampling.armed_at);
        cpu.sampling.armed_at = 0;
        if cpu.pending_work.any(PendingWork::PER) {
            per::trapped(cpu, configuration, hardware, class);
        }
    }
}

/// Wraps the instruction address in the 24- and 31-bit addressing modes. The machine below lets it run beyond the end
/// of the address space, after which the next instruction is the one at the beginning.
#[inline(always)]
const fn wrap(cpu: &mut Vcpu) {
    if cpu.psw.mask & psw::EXTENDED_ADDRESSING == 0 {
        wrap_narrow(cpu);
    }
}

#[cold]
#[inline(never)]
const fn wrap_narrow(cpu: &mut Vcpu) {
    cpu.psw.address &= cpu.psw.address_mask();
}

/// Whether a program interruption only showed that an instruction has completed.
#[must_use]
#[inline(always)]
pub fn has_completed(cpu: &Vcpu) -> bool {
    cpu.interruption.code() == per::NOTHING
}

/// A program interruption that the fast path did not handle.
pub fn program<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Next {
    wrap(cpu);
    // The most frequent ones.
    if is_access(cpu.interruption.code()) {
        if cpu.interruption.code() == Exception::Protection.code()
            && cpu.pending_work.any(PendingWork::PER)
            && stores::meets_protection(cpu, configuration, hardware)
        {
            return Next::Run;
        }
        if access::access(cpu, configuration, hardware) {
            return in_place(cpu, configuration, hardware);
        }
        return Next::Run;
    }
    match cpu.interruption.code() {
        0x01 | 0x02 => return not_fetched(cpu, configuration, hardware),
        0x13 => return special_operation(cpu, configuration, hardware),
        per::NOTHING => {}
        0x40 if monitor::call(cpu, configuration, hardware) => {
            per::performed(cpu, configuration, hardware)
        }
        _ => reflect(cpu, configuration, hardware),
    }
    Next::Run
}

/// An instruction that the hardware has refused, and that the fast path has not performed.
pub fn refused<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Next {
    if cpu.pending_work.any(PendingWork::PER) && per::slots::is_refused(cpu) {
        return in_slot(cpu, configuration, hardware);
    }
    if cpu.text.length == 0 {
        wrap(cpu);
        return not_fetched(cpu, configuration, hardware);
    }
    fetched(cpu, configuration, hardware)
}

/// The watched instruction is one of those that are refused in their slots: millicode performs it.
#[cold]
#[inline(never)]
fn in_slot<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    let problem = cpu.psw.problem_state();
    let charged = configuration.charges.of(cpu.interruption.code());
    let at = Virtual(per::slots::watched_text(cpu));
    let executed = cpu.text.executed;
    let mut performed = millicode::perform_branch(cpu, configuration, hardware, at);
    if performed == Ok(Outcome::Unknown) {
        performed = millicode::perform_relative_target(cpu, configuration, hardware, at);
    }
    if performed == Ok(Outcome::Unknown) {
        performed = millicode::perform_text(cpu, configuration, hardware);
    }
    conclude(
        cpu,
        configuration,
        hardware,
        performed,
        problem,
        charged,
        executed,
    )
}

/// The same; the CPU has its text, and is in the 64-bit addressing mode. It is not one that the hardware has executed alone:
/// no page of text is kept then.
#[inline]
fn fetched<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    let [first, second, ..] = cpu.text.bytes;
    if is_execute(u16::from_be_bytes([first, second])) {
        return instruction(cpu, configuration, hardware);
    }
    let length = u64::from(cpu.interruption.length());
    cpu.psw.address = cpu.psw.address.wrapping_sub(length);
    of_text(cpu, configuration, hardware)
}

/// The same; the CPU does not have its text.
#[inline(never)]
fn not_fetched<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Next {
    if let Some(Alone {
        at, text, target, ..
    }) = shadow::alone::entered(cpu)
    {
        let length = insn::length(text[0]) as u8;
        let is_execute = target.is_some();
        return alone(cpu, configuration, hardware, at, length, is_execute);
    }
    if fast_path::perform_in_new_page(cpu, configuration, hardware) {
        return Next::Run;
    }
    if cpu.text.length == 0 {
        return instruction(cpu, configuration, hardware);
    }
    fetched(cpu, configuration, hardware)
}

/// Performs or refuses the instruction that trapped, or the target of an EXECUTE that trapped.
#[inline(never)]
fn instruction<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Next {
    let length = u64::from(cpu.interruption.length());
    cpu.psw.address = cpu.psw.address.wrapping_sub(length) & cpu.psw.address_mask();
    match text(cpu, configuration, hardware) {
        Ok(true) => target_of_execute(cpu, configuration, hardware),
        Ok(false) => of_text(cpu, configuration, hardware),
        Err(fault) => {
            let problem = cpu.psw.problem_state();
            let charged = configuration.charges.of(cpu.interruption.code());
            let performed = Err(fault);
            conclude(
                cpu,
                configuration,
                hardware,
                performed,
                problem,
                charged,
                false,
            )
        }
    }
}

/// Performs or refuses the instruction in `cpu.text`, at the PSW's address.
#[inline]
fn of_text<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    let problem = cpu.psw.problem_state();
    let code = cpu.interruption.code();
    let charged = configuration.charges.of(code);
    let mut performed = millicode::perform_text(cpu, configuration, hardware);
    // The usual case, which `conclude` has, too.
    if performed == Ok(Outcome::Completed) && !cpu.pending_work.any(PendingWork::PER) {
        delivery::advance(cpu, cpu.text.length);
        cpu.account.correct(1, charged, problem);
        return Next::Run;
    }
    if performed == Ok(Outcome::Unknown)
        && code == Exception::Operation.code()
        && !per::slots::is_in_slot(cpu)
    {
        let cover = access::uncover(cpu, configuration, hardware, None);
        let enclosing = match cover {
            Cover::Absent => Some(performed),
            Cover::Removed => None,
            Cover::Kept => enclosing(cpu, configuration, hardware),
        };
        let Some(outcome) = enclosing else {
            cpu.account.correct(0, charged, problem);
            note_trap(cpu);
            return Next::Run;
        };
        performed = outcome;
    }
    conclude(
        cpu,
        configuration,
        hardware,
        performed,
        problem,
        charged,
        false,
    )
}

/// Performs or refuses the target of the EXECUTE at the PSW's address. It, or the EXECUTE, trapped.
#[cold]
fn target_of_execute<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Next {
    let problem = cpu.psw.problem_state();
    let code = cpu.interruption.code();
    let execute = storage::text(cpu, configuration, hardware).ok();
    let found = execute.and_then(|text| Some((text, access::target_of(cpu, &text.bytes)?)));
    let here = Virtual(cpu.psw.address);
    let at = found.map(|(_, at)| at);
    let in_places = [Some(here), at].map(|at| {
        at.map_or(InPlace::Itself, |at| {
            access::in_place(cpu, configuration, hardware, at)
        })
    });
    let mut charged = configuration.charges.of(code);
    // The clock has not charged the target of an EXECUTE that is itself replaced.
    if in_places[0] == InPlace::Itself {
        charged += i64::from(configuration.charges.execute);
    }
    if !per::slots::is_in_slot(cpu)
        && !in_places.contains(&InPlace::OfSensitive)
        && is_uncovered(cpu, configuration, hardware, at, charged)
    {
        return Next::Run;
    }
    let mut performed = millicode::perform_text(cpu, configuration, hardware);
    if performed == Ok(Outcome::Unknown)
        && code == Exception::Operation.code()
        && in_places != [InPlace::Itself; 2]
    {
        if let Some(found) = found {
            performed = harmless(cpu, configuration, hardware, found);
        }
        if performed == Ok(Outcome::Unknown) {
            cpu.account.correct(0, charged, problem);
            note_trap(cpu);
            return Next::Run;
        }
    }
    conclude(
        cpu,
        configuration,
        hardware,
        performed,
        problem,
        charged,
        true,
    )
}

/// The instruction at the PSW's address is an ordinary one, or none. It trapped, perhaps because it encloses what is
/// replaced or extends to it; then the hardware decides whether it is an instruction. Performs it if it is a branch or one of
/// those that move characters. Returns `None` if the hardware will execute it alone.
#[cold]
fn enclosing<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Option<Performed> {
    let at = Virtual(cpu.psw.address);
    let performed = instead(cpu, configuration, hardware, at);
    if performed == Ok(Outcome::Unknown) {
        shadow::alone::request(cpu, cpu.text.bytes, None);
        return None;
    }
    Some(performed)
}

/// Performs the instruction in `cpu.text` instead of the hardware, if it is one that the hardware may not execute alone, or
/// that control programs execute most. `at` is the address of its text.
#[cold]
fn instead<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
) -> Performed {
    let performed = millicode::perform_branch(cpu, configuration, hardware, at);
    // While events are recorded the hardware makes the accesses, and so the events.
    if performed != Ok(Outcome::Unknown) || cpu.per.is_on() {
        return performed;
    }
    let instruction = insn::decode(&cpu.text.bytes);
    millicode::perform_characters(cpu, configuration, hardware, &instruction)
}

/// The modified target of the EXECUTE at the PSW's address, whose text and target address are known, is an ordinary
/// instruction, or none. It trapped because the EXECUTE or its target is replaced. Performs it; or, if the outcome is
/// unknown, the hardware will execute it: in its page, if the EXECUTE is trusted from now on, or alone.
#[cold]
fn harmless<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    (execute, at): (Text, Virtual),
) -> Performed {
    let text = storage::text_at(cpu, configuration, hardware, at)?;
    let first = u16::from_be_bytes([text.bytes[0], text.bytes[1]]);
    if !configuration.strict
        && !may_become_sensitive(first, configuration.caught())
        && access::trust(cpu, configuration, hardware, &execute)
    {
        return Ok(Outcome::Unknown);
    }
    let performed = instead(cpu, configuration, hardware, at);
    if performed != Ok(Outcome::Unknown) {
        return performed;
    }
    let here = Virtual(cpu.psw.address);
    if shadow::alone::is_too_near((here, execute.bytes), (at, text.bytes)) {
        return millicode::perform_relative_target(cpu, configuration, hardware, at);
    }
    shadow::alone::request(cpu, execute.bytes, Some((at, text.bytes)));
    Ok(Outcome::Unknown)
}

/// The hardware has executed the instruction at `at` alone and refused what came next, which it had not got; or it refused
/// the instruction, which is then none that the guest can execute (the modified target, if it is an EXECUTE).
#[cold]
fn alone<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
    length: u8,
    is_execute: bool,
) -> Next {
    let (code, trapped) = (cpu.interruption.code(), cpu.interruption.length());
    cpu.psw.address = cpu.psw.address.wrapping_sub(trapped.into()) & cpu.psw.address_mask();
    let problem = cpu.psw.problem_state();
    let mut charged = configuration.charges.of(code);
    if cpu.psw.address != at.0 || trapped != length {
        cpu.account.correct(0, charged, problem);
        note_trap(cpu);
        return Next::Run;
    }
    let performed = match text(cpu, configuration, hardware) {
        Ok(_) => Ok(Outcome::Unknown),
        Err(fault) => Err(fault),
    };
    if is_execute {
        charged += i64::from(configuration.charges.execute);
    }
    conclude(
        cpu,
        configuration,
        hardware,
        performed,
        problem,
        charged,
        is_execute,
    )
}

/// Whether the EXECUTE at the PSW's address, or its `target`, trapped only because it was covered. It is uncovered now, and
/// the guest continues with it.
#[cold]
fn is_uncovered<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    target: Option<Virtual>,
    charged: i64,
) -> bool {
    let code = cpu.interruption.code();
    if code != Exception::Operation.code()
        || access::uncover(cpu, configuration, hardware, target) != Cover::Removed
    {
        return false;
    }
    let problem = cpu.psw.problem_state();
    cpu.account.correct(0, charged, problem);
    note_trap(cpu);
    true
}

/// Performs an instruction with a relative-long operand that is not executable, or one that is the target of an EXECUTE and
/// stores into a page with its text; or a privileged instruction that the hardware could not fetch, from a page that stays data. For
/// the latter the guest is in the supervisor state. The CPU has the text.
#[inline(never)]
fn in_place<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> Next {
    if (!configuration.execution_protection || cpu.text.executed)
        && let Some(found) = access::relative_in_text(cpu, configuration, hardware)
    {
        let problem = cpu.psw.problem_state();
        let executed = cpu.text.executed;
        let performed = millicode::perform_relative(cpu, configuration, hardware, &found);
        return conclude(
            cpu,
            configuration,
            hardware,
            performed,
            problem,
            0,
            executed,
        );
    }
    let performed = millicode::perform_text(cpu, configuration, hardware);
    // The charge for the fetch is already accounted for.
    conclude(cpu, configuration, hardware, performed, false, 0, false)
}

/// A special-operation exception. The hardware is in another mode than the guest, and in the problem state, where some
/// instructions that access two spaces, or select one, meet this exception.
#[cold]
fn special_operation<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Next {
    let next = cpu.psw.address;
    let length = u64::from(cpu.interruption.length());
    cpu.psw.address = next.wrapping_sub(length) & cpu.psw.address_mask();
    let found = text(cpu, configuration, hardware);
    cpu.psw.address = next;
    if found.is_ok()
        && let Instruction::Mvcos { .. }
        | Instruction::Mvcp { .. }
        | Instruction::Mvcs { .. }
        | Instruction::Sac { .. }
        | Instruction::Sacf { .. } = insn::decode(&cpu.text.bytes)
    {
        return instruction(cpu, configuration, hardware);
    }
    reflect(cpu, configuration, hardware);
    Next::Run
}

/// Ends an instruction as its outcome says, and counts it: one if it completes and another one for its EXECUTE, none if
/// it does not complete. The clock has charged `charged`.
fn conclude<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    performed: Performed,
    problem: bool,
    charged: i64,
    executed: bool,
) -> Next {
    let next = match performed {
        Err(fault) => return fail(cpu, configuration, hardware, fault, problem, charged),
        Ok(Outcome::Unknown) => {
            let fault = Fault::plain(unknown(cpu, hardware, problem));
            return fail(cpu, configuration, hardware, fault, problem, charged);
        }
        Ok(Outcome::Completed | Outcome::Jumped) => Next::Run,
        Ok(Outcome::Yield) => Next::Yield,
        Ok(Outcome::Occupied) => Next::Occupied,
        Ok(Outcome::Service) => Next::Service,
    };
    if performed != Ok(Outcome::Jumped) {
        delivery::advance(cpu, cpu.text.length);
    }
    if cpu.pending_work.any(PendingWork::PER) {
        per::performed(cpu, configuration, hardware);
    }
    cpu.account
        .correct(1 + i64::from(executed), charged, problem);
    next
}

/// The exception of an instruction that has no routine.
fn unknown<H: Hardware>(cpu: &Vcpu, hardware: &mut H, problem: bool) -> Exception {
    if problem {
        if cpu.interruption.code() == Exception::PrivilegedOperation.code() {
            return Exception::PrivilegedOperation;
        }
    } else {
        hardware.not_performed(Virtual(cpu.psw.address), cpu.text.bytes);
    }
    Exception::Operation
}

/// Ends an instruction by a program interruption of the guest.
fn fail<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    fault: Fault,
    problem: bool,
    charged: i64,
) -> Next {
    let length = cpu.interruption.length();
    per::program(cpu, configuration, hardware, fault, length);
    cpu.account.correct(0, charged, problem);
    note_interruption(cpu);
    Next::Run
}

/// Fetches the instruction at the PSW's address, or the target of an EXECUTE there. Returns whether it is a target.
fn text<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
) -> Result<bool, Fault> {
    let at = Virtual(cpu.psw.address);
    cpu.text = match storage::kept_text(cpu, hardware, at) {
        Some(bytes) => Text::of(bytes),
        None => storage::text(cpu, configuration, hardware)?,
    };
    let [first, second, ..] = cpu.text.bytes;
    if is_execute(u16::from_be_bytes([first, second])) {
        target_text(cpu, configuration, hardware)?;
        return Ok(true);
    }
    Ok(false)
}

/// Fetches the target of the EXECUTE in `cpu.text`, as modified.
#[cold]
fn target_text<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
) -> Result<(), Fault> {
    let length = cpu.text.length;
    let execute = insn::decode(&cpu.text.bytes);
    let Some((target, r1)) = insn::target(&execute, cpu.psw.address, &cpu.general) else {
        return Ok(());
    };
    let target = Virtual(target & cpu.psw.address_mask());
    let text = storage::text_at(cpu, configuration, hardware, target)?;
    let bytes = insn::modified_target(text.bytes, r1, &cpu.general);
    if is_execute(u16::from_be_bytes([bytes[0], bytes[1]])) {
        return Err(Fault::plain(Exception::Execute));
    }
    // The instruction address advances by the length of the EXECUTE.
    cpu.text = Text {
        bytes,
        length,
        executed: true,
    };
    Ok(())
}

/// Notes a program interruption of the guest, after it was accounted for.
#[inline]
fn note_interruption(cpu: &mut Vcpu) {
    let pauses = if cpu.account.mode == Mode::RealTime {
        // The account shows time, which passes between two traps.
        let from = cpu.interruption.old.address.wrapping_sub(cpu.psw.address);
        cpu.looping
            .add_if(from <= delivery::LONGEST, Class::Program);
        cpu.looping.pauses
    } else {
        cpu.looping.add_one(cpu.account.total(), Class::Program)
    };
    if pauses {
        cpu.pending_work |= PendingWork::ATTENTION;
    }
}

/// Notes a trap that is the machine's own, and after which the guest should get further. Should it not, for a reason
/// that nobody has thought of, the operator and the other CPUs get their turns. (In real time the account shows time, and
/// what is for them interrupts the guest.)
#[inline(always)]
fn note_trap(cpu: &mut Vcpu) {
    if cpu.looping.is_again(cpu.account.total()) {
        note_futile_trap(cpu);
    }
}

#[cold]
#[inline(never)]
fn note_futile_trap(cpu: &mut Vcpu) {
    cpu.looping.add(cpu.account.total(), 1, Class::Program);
    if cpu.looping.pauses {
        cpu.pending_work |= PendingWork::ATTENTION;
    }
}

/// Reflects a program interruption as the hardware presented it.
#[cold]
fn reflect<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    let code = cpu.interruption.code();
    let problem = cpu.psw.problem_state();
    let trapped = cpu.interruption.is_of_compare_and_trap();
    let mut charged = if trapped {
        configuration.charges.compare_and_trap.into()
    } else {
        configuration.charges.of(code)
    };
    let completed = ending(code) == Ending::CompletionOrTermination || trapped;
    let mut should = i64::from(completed);
    if access::is_execute_behind(cpu, configuration, hardware) {
        charged += i64::from(configuration.charges.execute);
        should *= 2;
    }
    let condition = Condition::of(&cpu.interruption);
    per::reflect(cpu, configuration, hardware, condition);
    cpu.account.correct(should, charged, problem);
    note_interruption(cpu);
}

/// A supervisor call.
#[inline]
pub fn supervisor_call<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) {
    let problem = cpu.psw.problem_state();
    let charged = i64::from(configuration.charges.supervisor_call);
    let (number, length) = (cpu.interruption.code() as u8, cpu.interruption.length());
    delivery::supervisor_call(cpu, configuration, hardware, number, length);
    // The clock charges the same if it was the target of an EXECUTE, which then has completed, too.
    let is_executed = length != 2;
    cpu.account
        .correct(1 + i64::from(is_executed), charged, problem);
}

#[cfg(test)]
mod tests;
