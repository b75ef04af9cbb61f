//! The model of a CPU's caches, and the references of the program that go through it.
//!
//! Only a machine that steps the program instruction by instruction knows every reference, so the model exists in such
//! a run only ([`Vcpu::caches`]), and everything reaches it through [`step`]. A line that is brought in is counted at
//! once, at both levels; no totals are kept for later. A run without the model has no path that is longer because of
//! it.
//!
//! The model sees the references of the program's instructions, by the program's own translation, and nothing else. It
//! does not see what interruptions store and fetch, translation tables, sample-data blocks, what the channel subsystem
//! transfers, or anything that this machine does. An instruction that inspects the counters finds their values from
//! before that instruction.
//!
//! Penalty cycles are not added to any cycle count: the clock below counts instructions, and an instruction remains
//! one cycle. A user who wants the cycles that the model implies adds them.

use crate::hardware::Hardware;
use crate::state::access::{Access, Manner, Space};
use crate::state::configuration::Configuration;
use crate::state::reference::Reference;
use crate::state::vcpu::Vcpu;
use crate::storage::{self, Claim};
use arch::address::{PAGE, Virtual};
use cache::Caches;

/// The program executes one instruction, which makes these references in this order: its text, then that of the target
/// if it is an EXECUTE, then its operands.
///
/// Call this once for each instruction that completes, and once for each execution of an interruptible one, while the
/// PSW's mode and the control registers are still those under which it is executed: before the effect of an
/// instruction that changes them. A reference that the program's translation refuses ends the references of the
/// instruction, as it would end the instruction.
pub fn step<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    references: impl IntoIterator<Item = Reference>,
) {
    // Taken out while the CPU is used.
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

/// One reference, page by page; nothing for a page without a translation.
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
        let written = cache.access(claim.first.start().absolute(), claim.first.length());
        amounts[counted] += written.directory_writes;
        amounts[counted + 1] += written.penalty_cycles;
        at = at.offset(at_once);
        length -= at_once;
    }
    Some(())
}

/// The absolute address of bytes within a page.
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
        None if is_text => storage::stepped_text(cpu, at, length),
        None => storage::kept(cpu, configuration, hardware, at, length, access),
    };
    if let Some(piece) = kept {
        return Some(Claim::within_a_page(piece));
    }
    let space = reference.space.or_else(|| Space::current(cpu, access));
    let manner = Manner::without_key(space, access);
    let claim = storage::locate(cpu, configuration, hardware, manner, at, length).ok()?;
    if is_text {
        cpu.keep_stepped_text(at, claim.first.start());
    }
    Some(claim)
}

#[cfg(test)]
mod tests;
