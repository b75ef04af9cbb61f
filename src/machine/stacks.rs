//! After a sample of the machine's level: its call stack, the blocks that have become full, and in real time the samples
//! that were due meanwhile.

use crate::guest::measuring::{schedule, stack, stack_copy};
use crate::guest::state::schedule::AfterSample;
use crate::link::frame::Channel;
use crate::link::stack::StackHead;
use crate::machine::his;
use crate::machine::io::console;
use crate::machine::state::machine::Cpu;

/// The most samples that are taken at once.
const MOST_AT_ONCE: u32 = 1_000;

/// Does what is left to do after the machine's sample. The CPU is as the sample shows it.
///
/// In real time the clock comparator may interrupt later than the next sample was due as well. The guest was here at that
/// time, too: after an interruption of its own it would be somewhere else.
#[cold]
#[inline(never)]
pub fn after_sample(cpu: &mut Cpu) {
    let configuration = &cpu.machine.configuration;
    for left in (0..MOST_AT_ONCE).rev() {
        follow(cpu);
        if cpu.vcpu.sampling.after.has(AfterSample::BLOCK_FULL) {
            his::take_full_blocks(cpu);
        }
        let is_late = cpu.vcpu.sampling.after.has(AfterSample::LATE)
            && cpu.vcpu.sampling.next_sample() <= cpu.vcpu.account.total();
        if !is_late || left == 0 {
            return;
        }
        let (vcpu, native) = (&mut cpu.vcpu, &mut cpu.native);
        schedule::take_due_samples(vcpu, configuration, native, &mut cpu.blocks);
    }
}

/// Follows the stack of the sample that was stored last, unless that was done. If the room may be too small for it, the
/// stacks before it are sent first, so that every sample has its stack.
fn follow(cpu: &mut Cpu) {
    let Some(stacks) = &mut cpu.stacks else {
        return;
    };
    let stored = cpu.vcpu.sampling.taken;
    if stacks.samples == stored {
        return;
    }
    stacks.samples = stored;
    let collected = &mut stacks.collected;
    if collected.is_full() {
        collected.send(|pieces| console::send(Channel::Stacks, pieces));
    }
    let (vcpu, configuration) = (&mut cpu.vcpu, &cpu.machine.configuration);
    let mut registers = 0;
    collected.add(|returns| {
        let found = stack::follow(vcpu, configuration, &cpu.native, stacks.is_packed, returns);
        registers = found.registers;
        StackHead {
            sample: (stored - 1).into(),
            address: vcpu.psw.address.into(),
            link: vcpu.general[14].into(),
            saved_link: found.saved_link.into(),
            frame: found.frame.into(),
            count: found.count.into(),
            end: found.end as u8,
            reserved: 0,
            program: found.program.into(),
            reserved_end: 0.into(),
        }
    });
    if stacks.copies.is_some() {
        copy(cpu, registers);
    }
}

/// Copies the stack of the program at the sample that was stored last. A kernel has the program's general registers at
/// `registers`.
#[inline(never)]
fn copy(cpu: &mut Cpu, registers: u64) {
    let Some(stacks) = &mut cpu.stacks else {
        return;
    };
    let Some(copies) = &mut stacks.copies else {
        return;
    };
    if copies.is_full() {
        copies.send(|pieces| console::send(Channel::StackCopies, pieces));
    }
    let (vcpu, configuration) = (&cpu.vcpu, &cpu.machine.configuration);
    let (native, sample) = (&mut cpu.native, stacks.samples - 1);
    copies.add(|bytes| stack_copy::copy(vcpu, configuration, native, registers, sample, bytes));
}

/// Sends the stacks that wait, at the end of a run.
pub fn send(cpu: &mut Cpu) {
    if let Some(stacks) = &mut cpu.stacks {
        let collected = &mut stacks.collected;
        collected.send(|pieces| console::send(Channel::Stacks, pieces));
        if let Some(copies) = &mut stacks.copies {
            copies.send(|pieces| console::send(Channel::StackCopies, pieces));
        }
    }
}
