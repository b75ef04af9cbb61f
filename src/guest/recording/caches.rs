//! What the program refers to, as the model of its CPU's caches sees it.
//!
//! Only a machine that steps the program instruction by instruction knows every reference, so there is a
//! model in such a run only ([`Vcpu::caches`]), and [`step`] is the one way into it. Nothing is totalled to be brought
//! into the counters later: a line that is brought in is counted at once, at both levels, and no path of
//! a run without the model is an instruction longer for it.
//!
//! The model sees what the program's instructions refer to by the program's own translation, and nothing else.
//! What interruptions store and fetch, translation tables, the sample-data blocks, and what the channel subsystem
//! transfers do not go through it, and neither does anything of this machine. A program that looks at the
//! counters in an instruction finds those that were before it.
//!
//! Penalty cycles are in no cycle count: the clock below counts instructions, and that an instruction is
//! a cycle stays so. Whoever wants the cycles that the model implies adds them.

use crate::arch::address::{PAGE, Virtual};
use crate::cache::Caches;
use crate::guest::hardware::Hardware;
use crate::guest::state::access::{Access, Space};
use crate::guest::state::configuration::Configuration;
use crate::guest::state::reference::Reference;
use crate::guest::state::vcpu::Vcpu;
use crate::guest::storage::{self, Claim};

/// The program executes one instruction, which refers to these one after the other: its text first, then that
/// of the target if it is an EXECUTE, then its operands.
///
/// Called once for each instruction that completes, and once for each execution of an interruptible
/// one, while the PSW's mode and the control registers are still those that it is executed with: of an
/// instruction that changes them, before it does. A reference that the program's translation refuses
/// ends the instruction's references, as it would end the instruction.
pub fn step<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    references: impl IntoIterator<Item = Reference>,
) {
    // Apart from its CPU while that is looked at.
    let Some(caches) = cpu.caches.take() else {
        return;
    };
    let mut amounts = [0; 4];
    for reference in references {
        if refer(
            cpu,
            configuration,
            hardware,
            caches,
            &reference,
            &mut amounts,
        )
        .is_none()
        {
            break;
        }
    }
    cpu.caches = Some(caches);
    if amounts != [0; 4] {
        let problem = cpu.psw.problem_state();
        cpu.own.count_level_1(problem, amounts);
        cpu.machine.count_level_1(problem, amounts);
    }
}

/// One reference, page by page; nothing if a page has no translation.
fn refer<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    caches: &mut Caches<'static>,
    reference: &Reference,
    amounts: &mut [u64; 4],
) -> Option<()> {
    let (cache, counted) = match reference.access {
        Access::Execute => (&mut caches.instruction, 0),
        Access::Fetch | Access::Store => (&mut caches.data, 2),
    };
    let (mut at, mut length) = (reference.at, reference.length);
    while length != 0 {
        let at_once = length.min(PAGE - at.byte_index());
        let claim = locate(cpu, configuration, hardware, reference, at, at_once)?;
        let written = cache.access(claim.first.at, claim.first.length);
        amounts[counted] += written.directory_writes;
        amounts[counted + 1] += written.penalty_cycles;
        at = at.offset(at_once);
        length -= at_once;
    }
    Some(())
}

/// Where bytes within a page are.
fn locate<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    reference: &Reference,
    at: Virtual,
    length: u64,
) -> Option<Claim> {
    let at = Virtual(at.0 & cpu.psw.address_mask());
    let access = reference.access;
    let is_text = access == Access::Execute && reference.space.is_none();
    let kept = match reference.space {
        Some(_) => None,
        None if is_text => cpu.stepped_text(at),
        None => storage::kept(cpu, configuration, at, length, access),
    };
    if let Some(place) = kept {
        return Some(Claim::within_a_page(place, length));
    }
    let space = reference.space.or_else(|| Space::current(cpu, access));
    let claim = storage::locate(cpu, configuration, hardware, space, at, length, access).ok()?;
    if is_text {
        cpu.keep_stepped_text(at, claim.first.at);
    }
    Some(claim)
}

#[cfg(test)]
mod tests;
