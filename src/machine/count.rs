//! Trap entries that count: the cost of traps, by cause.
//!
//! A run that counts traps has these in its new PSWs in place of those of [`super::trap`], so that no
//! other run pays for it. They do the same, and note how long each trap took: from the guest's last
//! instruction to its next one, less what the counting itself took between the two clock stamps, exact to
//! a few instructions.

use crate::arch::address::Virtual;
use crate::arch::interruption::Class;
use crate::guest::dispatch;
use crate::guest::storage;
use crate::insn;
use crate::link::tally::{Cause, Tally};
use crate::machine::hardware::instruction;
use crate::machine::hardware::lowcore::{self, Area};
use crate::machine::state::machine::Cpu;
use crate::machine::trap;
extern crate alloc;
use alloc::boxed::Box;

/// From now on counts the traps of this CPU, which has this prefix area. At IPL only.
pub fn begin(area: Area, cpu: &mut Cpu) {
    cpu.tally = Some(Box::new(Tally::new()));
    trap::admit_counted(area);
}

/// A trap that is counted.
struct Begun {
    /// The idle time and the epoch of the clock before it.
    idle: u64,
    epoch: u64,
    /// The instructions of the trap before what the counting itself took.
    before: u64,
    /// The clock when the counting was done; zero if it has taken nothing of the trap.
    counted: u64,
}

impl Begun {
    fn new(cpu: &Cpu) -> Self {
        Self {
            idle: cpu.vcpu.account.idle,
            epoch: cpu.vcpu.account.epoch,
            before: 0,
            counted: 0,
        }
    }

    /// Records the trap, which was complete but for its exit when the clock showed `now`.
    fn note(&self, cpu: &mut Cpu, cause: Cause, number: u16, now: u64) {
        let account = &cpu.vcpu.account;
        if account.epoch != self.epoch {
            // The clock was set meanwhile, so the stamps of this trap are not comparable.
            return;
        }
        let overhead = cpu.machine.configuration.charges.overhead[cause.class() as usize];
        let from = match self.counted {
            0 => account.entered,
            counted => counted,
        };
        let span = self.before + account.ticks(from, now) + overhead;
        let idle = account.idle - self.idle;
        if let Some(tally) = &mut cpu.tally {
            tally.note(cause, number, span.saturating_sub(idle));
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn program_interruption_counted(cpu: &mut Cpu) {
    let code = lowcore::PROGRAM_IDENTIFICATION.get();
    cpu.vcpu.interruption.cause = code;
    let machine = cpu.machine;
    let configuration = &machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::Program,
    );
    let refused = matches!(cpu.vcpu.interruption.code(), 0x01 | 0x02);
    let now = instruction::stckf();
    let mut begun = Begun::new(cpu);
    begun.before = cpu.vcpu.account.ticks(cpu.vcpu.account.entered, now);
    let length = u64::from(cpu.vcpu.interruption.length());
    let at = Virtual(cpu.vcpu.psw.address.wrapping_sub(length));
    let kept = if refused {
        storage::kept_text(&cpu.vcpu, &cpu.native, at)
    } else {
        None
    };
    begun.counted = instruction::stckf();
    trap::perform_program(cpu, machine, refused);
    let now = instruction::stckf();
    if refused {
        // If the text had to be translated first, it has been kept.
        let opcode = insn::opcode(&kept.unwrap_or(cpu.vcpu.text.bytes));
        begun.note(cpu, Cause::Instruction, opcode, now);
    } else {
        begun.note(cpu, Cause::Program, code as u16 & 0xFF, now);
    }
}

#[unsafe(no_mangle)]
extern "C" fn supervisor_call_interruption_counted(cpu: &mut Cpu) {
    let begun = Begun::new(cpu);
    trap::supervisor_call_interruption(cpu);
    begun.note(cpu, Cause::SupervisorCall, 0, instruction::stckf());
}

#[unsafe(no_mangle)]
extern "C" fn external_interruption_counted(cpu: &mut Cpu) {
    let begun = Begun::new(cpu);
    let code = lowcore::EXTERNAL_CODE.get();
    trap::external_interruption(cpu);
    begun.note(cpu, Cause::External, code, instruction::stckf());
}

#[unsafe(no_mangle)]
extern "C" fn io_interruption_counted(cpu: &mut Cpu) {
    let begun = Begun::new(cpu);
    trap::io_interruption(cpu);
    begun.note(cpu, Cause::InputOutput, 0, instruction::stckf());
}
