//! Runs a few instructions in problem state between the same instructions that enclose a guest.

use crate::arch::interruption::Class;
use crate::arch::psw::Psw;
use crate::machine::hardware::lowcore::{self, Area, Lowcore};
use crate::machine::trap;
use core::arch::global_asm;
use core::mem::offset_of;

global_asm!(
    // The same exit and entry around a probe: %r2 is where the two stamps go; the PSW is in the prefix
    // area.
    ".globl probe_run",
    "probe_run:",
    "stmg %r6,%r15,48(%r15)",
    "stg %r15,{caller_stack}(%r0)",
    "stg %r2,{stamps}(%r0)",
    "lgr %r15,%r2",
    ".insn s,0xb27c0000,0(%r15)",
    "lmg %r0,%r15,{registers}(%r0)",
    "lpswe {psw}(%r0)",
    ".globl probe_program",
    "probe_program:",
    "stg %r15,{register_15}(%r0)",
    "tm {state}(%r0),0x01",
    "jgz firmware_program_interruption",
    "lg %r15,{stamps}(%r0)",
    "stmg %r0,%r14,{ended}(%r0)",
    "j 4f",
    "4: .insn s,0xb27c0000,8(%r15)",
    "j 5f",
    ".globl probe_other",
    "probe_other:",
    "stg %r15,{register_15}(%r0)",
    "lg %r15,{stamps}(%r0)",
    "stmg %r0,%r14,{ended}(%r0)",
    "j 4f",
    "4: .insn s,0xb27c0000,8(%r15)",
    "5: lg %r15,{caller_stack}(%r0)",
    "lmg %r6,%r15,48(%r15)",
    "br %r14",
    caller_stack = const offset_of!(Lowcore, caller_stack),
    stamps = const offset_of!(Lowcore, probe_stamps),
    registers = const offset_of!(Lowcore, probe_registers),
    ended = const offset_of!(Lowcore, probed_registers),
    psw = const offset_of!(Lowcore, exit_psw),
    register_15 = const offset_of!(Lowcore, register_15),
    state = const offset_of!(Lowcore, program_old) + 1,
);

unsafe extern "C" {
    fn probe_program();
    fn probe_other();
    fn probe_run(stamps: &mut [u64; 2]);
}

/// The result of a probe: the clock stamps around it, and the interruption that ended it.
#[derive(Clone, Copy, Debug)]
pub struct Probed {
    /// Clock units between the two stamps, as the guest's account would see them.
    pub left: u64,
    /// The stamp of the entry.
    pub entered: u64,
    /// Program-interruption code (0 if it was a supervisor call).
    pub code: u16,
}

/// Runs the program at `psw` until its first program interruption or supervisor call.
pub fn probe(psw: Psw, registers: &[u64; 16]) -> Probed {
    let mut stamps = [0; 2];
    lowcore::prepare_probe(psw, registers);
    Area::OWN.set_new_psw(Class::Program, probe_program);
    Area::OWN.set_new_psw(Class::SupervisorCall, probe_other);
    // SAFETY: the probe runs in problem state, and the two new PSWs return from it.
    unsafe { probe_run(&mut stamps) };
    trap::admit_after_probe();
    Probed {
        left: stamps[0],
        entered: stamps[1],
        code: lowcore::PROGRAM_IDENTIFICATION.get() as u16,
    }
}
