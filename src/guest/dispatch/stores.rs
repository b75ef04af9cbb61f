//! A store into a page that is protected because stores into a range of it are recorded.
//!
//! The hardware cannot make it as long as the page is protected. If the store is an ordinary one, millicode makes it, and
//! knows whether it touches the range. Any other one is executed on its own.

use crate::dispatch::access::is_instruction_fetch;
use crate::hardware::Hardware;
use crate::millicode;
use crate::millicode::outcome::Outcome;
use crate::recording::per;
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::storage;
use arch::address::Virtual;
use arch::interruption::ProgramInterruption as Exception;
use insn::store::Store;

/// The program has met a protection exception while events are recorded. Returns true if nothing is left to do: the
/// instruction is completed, or the program will meet the exception again.
#[inline(never)]
pub(super) fn meets_protection<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    if makes(cpu, configuration, hardware).is_some() {
        return true;
    }
    per::refused(cpu, configuration, hardware);
    cpu.interruption.code() == per::NOTHING
}

/// Makes the store, if it is an ordinary one and the guest's own tables permit it. The PSW designates the next
/// instruction.
#[inline(always)]
fn makes<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> Option<()> {
    if is_instruction_fetch(cpu) {
        return None;
    }
    let mask = cpu.psw.address_mask();
    // Protection suppresses the instruction.
    let at = cpu
        .psw
        .address
        .wrapping_sub(cpu.interruption.length().into())
        & mask;
    if !per::protects_stores(cpu, at) {
        return None;
    }
    let bytes = match cpu.stepped_text(Virtual(at)) {
        Some(place) if storage::is_within_a_page(Virtual(at)) => {
            storage::text_within_a_page(hardware, place)
        }
        _ => per::text_at(cpu, configuration, hardware, at)?.bytes,
    };
    let store = Store::decode(&bytes)?;
    let operand = store.address(at, &cpu.general) & mask;
    if per::touches(cpu, operand, store.length()) {
        per::refused(cpu, configuration, hardware);
        // Its fetch may nullify it.
        if cpu.interruption.code() == per::NOTHING {
            return None;
        }
    }
    let performed =
        millicode::perform_store(cpu, configuration, hardware, &store, Virtual(operand));
    if !matches!(performed, Ok(Outcome::Completed)) {
        return None;
    }
    let charged = configuration.charges.of(Exception::Protection.code());
    let problem = cpu.psw.problem_state();
    cpu.account.correct(1, charged, problem);
    per::made(cpu, configuration, hardware);
    Some(())
}
