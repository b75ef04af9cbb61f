//! The plain case of what a control program issues all the time: the shortest path of the machine.
//!
//! Nearly every trap is one of a few instructions, in the 64-bit addressing mode, in a page whose
//! translation is kept, with its operand in another one. Here it is fetched, decoded and performed
//! with nothing else on the way; whatever is different leaves everything as it was, and goes the
//! whole way ([`super::perform`]).

use super::execution::Execution;
use super::{Outcome, common};
use crate::arch::address::Virtual;
use crate::arch::psw::EXTENDED_ADDRESSING;
use crate::guest::configuration::Configuration;
use crate::guest::hardware::Hardware;
use crate::guest::storage;
use crate::guest::vcpu::Vcpu;
use crate::insn;

/// Performs and books the instruction that the hardware has just refused, if its case is plain.
///
/// The instruction address in `cpu.psw` is that of the next instruction, as the hardware left it.
#[inline(never)]
pub fn perform<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let mask = cpu.psw.mask;
    let length = u64::from(cpu.interruption.length());
    let at = Virtual(cpu.psw.address.wrapping_sub(length));
    if mask & EXTENDED_ADDRESSING == 0 {
        return false;
    }
    let Some(text) = storage::kept_text(cpu, hardware, at) else {
        return false;
    };
    let Some(instruction) = insn::decode_common(&text) else {
        return false;
    };
    let charged = configuration.charges.of(cpu.interruption.code());
    let problem = cpu.psw.problem_state();
    let run = &mut Execution::plain(cpu, configuration, hardware);
    match common(run, &instruction) {
        Some(Ok(Outcome::Completed | Outcome::Jumped)) => {
            cpu.account.correct(1, charged, problem);
            true
        }
        _ => false,
    }
}

/// As [`perform`], once more, if all that was missing is the page of the text: it is kept from now on.
#[inline(never)]
pub fn perform_in_new_page<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let length = u64::from(cpu.interruption.length());
    let at = Virtual(cpu.psw.address.wrapping_sub(length));
    cpu.kept_text(at).is_none()
        && storage::keep_text(cpu, configuration, hardware, at)
        && perform(cpu, configuration, hardware)
}
