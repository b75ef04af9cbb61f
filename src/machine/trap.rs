//! Trap entry and exit: from an interruption to Rust and back to the guest.
//!
//! The entry stores the general registers in the CPU's [`Vcpu`], takes a clock stamp, and calls Rust
//! with DAT off and disabled on an empty stack. The exit loads what Rust left. What lies between the
//! two stamps and the guest is the same few instructions every time; their number is measured at
//! IPL ([`super::ipl`]), so [`probe`] repeats them exactly.
//!
//! This machine's own words in its lowcore, all in storage that the architecture leaves to programs:
//! 200 this CPU's [`Cpu`], 208 a scratch doubleword, 210 the stack's end, 218 where an expected program
//! interruption goes on ([`super::io::channel`]), 220 the PSW to be loaded,
//! 230-258 and 2E0 [`super::hardware::wait`] and [`probe`], 260 registers at a failure, 300 and 380 registers of a probe.
//!
//! [`Vcpu`]: crate::guest::state::vcpu::Vcpu

use crate::arch::channel::IoInterruption;
use crate::arch::interruption::Class;
use crate::arch::lowcore;
use crate::arch::psw::{ADDRESSING_64, Psw};
use crate::guest::dispatch::{self, Next};
use crate::guest::hardware::Saved;
use crate::guest::measuring::schedule;
use crate::guest::state::account::Account;
use crate::guest::state::due::Due;
use crate::guest::state::vcpu::{Interruption, Vcpu};
use crate::guest::{delivery, millicode};
use crate::machine::hardware::instruction;
use crate::machine::state::cpu::Cpu;
use crate::machine::{his, ipl, turn};
use core::arch::global_asm;
use core::mem::offset_of;

global_asm!(
    // Stamp and registers on the way in; nothing else before the stamp.
    ".macro save_registers old",
    "lg %r15,0x200(%r0)",
    "stmg %r0,%r14,0(%r15)",
    ".insn s,0xb27c0000,{entered}(%r15)",
    "mvc 120(8,%r15),0x208(%r0)",
    "mvc {old}(16,%r15),\\old(%r0)",
    "lgr %r2,%r15",
    "lg %r15,0x210(%r0)",
    ".endm",
    // The way out: the stamp, and nothing behind it but what loads the guest.
    ".macro leave",
    "lg %r15,0x200(%r0)",
    ".insn s,0xb27c0000,{left}(%r15)",
    "lmg %r0,%r15,0(%r15)",
    "lpswe 0x220(%r0)",
    ".endm",
    ".macro entry name, old, routine",
    ".globl \\name",
    "\\name:",
    "stg %r15,0x208(%r0)",
    "save_registers \\old",
    "brasl %r14,\\routine",
    "leave",
    ".endm",
    // A program interruption of the firmware's own (old PSW bit 15 is zero) is its failure.
    ".globl trap_program",
    "trap_program:",
    "stg %r15,0x208(%r0)",
    "tm 0x151(%r0),0x01",
    "jz 8f",
    "save_registers 0x150",
    "brasl %r14,program_interruption",
    ".globl leave_to_guest",
    "leave_to_guest:",
    "leave",
    "entry trap_supervisor_call, 0x140, supervisor_call_interruption",
    "entry trap_external, 0x130, external_interruption",
    "entry trap_io, 0x170, io_interruption",
    // The same of a run that counts them: see [`super::count`].
    ".globl trap_program_counted",
    "trap_program_counted:",
    "stg %r15,0x208(%r0)",
    "tm 0x151(%r0),0x01",
    "jz 8f",
    "save_registers 0x150",
    "brasl %r14,program_interruption_counted",
    "j leave_to_guest",
    "entry trap_supervisor_call_counted, 0x140, supervisor_call_interruption_counted",
    "entry trap_external_counted, 0x130, external_interruption_counted",
    "entry trap_io_counted, 0x170, io_interruption_counted",
    ".globl trap_restart",
    "trap_restart:",
    "stg %r15,0x208(%r0)",
    "tm 0x121(%r0),0x01",
    "lghi %r15,0",
    "jz 9f",
    "save_registers 0x120",
    "brasl %r14,restart_interruption",
    "j leave_to_guest",
    ".globl trap_machine_check",
    "trap_machine_check:",
    "stg %r15,0x208(%r0)",
    "tm 0x161(%r0),0x01",
    "lghi %r15,4",
    "jz 9f",
    "save_registers 0x160",
    "brasl %r14,machine_check_interruption",
    "j leave_to_guest",
    // A program interruption that is expected goes on where 218 says.
    "8: lg %r15,0x218(%r0)",
    "ltgr %r15,%r15",
    "jz 7f",
    "mvc 0x220(8,%r0),0x150(%r0)",
    "stg %r15,0x228(%r0)",
    "lg %r15,0x208(%r0)",
    "lpswe 0x220(%r0)",
    // %r15 = class: keep the registers, go on with a stack of its own.
    "7: lghi %r15,3",
    "9: stmg %r0,%r14,0x260(%r0)",
    "mvc 0x2d8(8,%r0),0x208(%r0)",
    "lgr %r2,%r15",
    "larl %r15,early_stack_end",
    "aghi %r15,-160",
    "brasl %r14,own_interruption",
    "j .",
    // A CPU that is started comes here by its restart new PSW.
    ".globl start_cpu",
    "start_cpu:",
    "lg %r2,0x200(%r0)",
    "lg %r15,0x210(%r0)",
    "brasl %r14,cpu_started",
    "j leave_to_guest",
    // The same exit and entry around a probe: %r2 = where the two stamps go, the PSW is at 220.
    ".globl probe_run",
    "probe_run:",
    "stmg %r6,%r15,48(%r15)",
    "stg %r15,0x230(%r0)",
    "stg %r2,0x258(%r0)",
    "lgr %r15,%r2",
    ".insn s,0xb27c0000,0(%r15)",
    "lmg %r0,%r15,0x300(%r0)",
    "lpswe 0x220(%r0)",
    ".globl probe_program",
    "probe_program:",
    "stg %r15,0x208(%r0)",
    "tm 0x151(%r0),0x01",
    "jz 8b",
    "lg %r15,0x258(%r0)",
    "stmg %r0,%r14,0x380(%r0)",
    ".insn s,0xb27c0000,8(%r15)",
    "j 5f",
    ".globl probe_other",
    "probe_other:",
    "stg %r15,0x208(%r0)",
    "lg %r15,0x258(%r0)",
    "stmg %r0,%r14,0x380(%r0)",
    ".insn s,0xb27c0000,8(%r15)",
    "5: lg %r15,0x230(%r0)",
    "lmg %r6,%r15,48(%r15)",
    "br %r14",
    entered = const offset_of!(Cpu, vcpu) + offset_of!(Vcpu, account) + offset_of!(Account, entered),
    old = const offset_of!(Cpu, vcpu) + offset_of!(Vcpu, interruption) + offset_of!(Interruption, old),
    left = const offset_of!(Cpu, vcpu) + offset_of!(Vcpu, account) + offset_of!(Account, left),
);

const _: () = assert!(offset_of!(Cpu, vcpu) == 0 && offset_of!(Vcpu, general) == 0);
const _: () = assert!(
    offset_of!(Vcpu, account) + size_of::<Account>() < 4096
        && offset_of!(Vcpu, interruption) < 4000
);

unsafe extern "C" {
    fn trap_program();
    fn trap_supervisor_call();
    fn trap_external();
    fn trap_io();
    fn trap_program_counted();
    fn trap_supervisor_call_counted();
    fn trap_external_counted();
    fn trap_io_counted();
    fn trap_restart();
    fn trap_machine_check();
    fn start_cpu();
    fn probe_program();
    fn probe_other();
    fn probe_run(stamps: &mut [u64; 2]);
    fn leave_to_guest() -> !;
}

/// Reads a field of this CPU's lowcore.
#[inline(always)]
pub fn lowcore_field<T>(offset: u64) -> T {
    // SAFETY: the lowcore is this CPU's own prefix area; no reference covers it.
    unsafe { core::ptr::read_volatile(core::ptr::without_provenance(offset as usize)) }
}

/// Writes a field of this CPU's lowcore, or of a lowcore that is about to become one at `prefix`.
#[inline(always)]
pub fn set_lowcore_field<T>(prefix: u64, offset: u64, value: T) {
    // SAFETY: the prefix areas in the HSA hold nothing else, and offsets are this file's.
    unsafe {
        core::ptr::write_volatile(
            core::ptr::with_exposed_provenance_mut((prefix + offset) as usize),
            value,
        );
    }
}

fn new_psw(prefix: u64, class: Class, routine: unsafe extern "C" fn()) {
    let psw = Psw {
        mask: ADDRESSING_64,
        address: routine as usize as u64,
    };
    set_lowcore_field(prefix, lowcore::new_psw(class), psw);
}

/// Makes the prefix area at `prefix` the lowcore of `cpu`.
pub fn prepare_lowcore(prefix: u64, cpu: *mut Cpu, stack_end: u64) {
    for word in 0..1024 {
        set_lowcore_field(prefix, word * 8, 0u64);
    }
    new_psw(prefix, Class::Restart, start_cpu);
    new_psw(prefix, Class::External, trap_external);
    new_psw(prefix, Class::SupervisorCall, trap_supervisor_call);
    new_psw(prefix, Class::Program, trap_program);
    new_psw(prefix, Class::MachineCheck, trap_machine_check);
    new_psw(prefix, Class::InputOutput, trap_io);
    set_lowcore_field(prefix, 0x200, cpu.expose_provenance() as u64);
    set_lowcore_field(prefix, 0x210, stack_end - 160);
}

/// From here on a restart of this CPU is an interruption.
pub fn admit_restart(prefix: u64) {
    new_psw(prefix, Class::Restart, trap_restart);
}

/// From here on the traps of the CPU whose prefix area is at `prefix` are counted.
pub fn admit_counted(prefix: u64) {
    new_psw(prefix, Class::External, trap_external_counted);
    new_psw(prefix, Class::SupervisorCall, trap_supervisor_call_counted);
    new_psw(prefix, Class::Program, trap_program_counted);
    new_psw(prefix, Class::InputOutput, trap_io_counted);
}

/// What a probe found: clock stamps around it, and what it was interrupted by.
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
    set_lowcore_field(0, 0x220, psw);
    set_lowcore_field(0, 0x300, *registers);
    set_lowcore_field(0, lowcore::PROGRAM_IDENTIFICATION, 0u32);
    new_psw(0, Class::Program, probe_program);
    new_psw(0, Class::SupervisorCall, probe_other);
    // SAFETY: the probe runs in problem state and comes back by the two new PSWs.
    unsafe { probe_run(&mut stamps) };
    new_psw(0, Class::Program, trap_program);
    new_psw(0, Class::SupervisorCall, trap_supervisor_call);
    let code = lowcore_field::<u32>(lowcore::PROGRAM_IDENTIFICATION) as u16;
    Probed {
        left: stamps[0],
        entered: stamps[1],
        code,
    }
}

/// The program old PSW.
pub fn old_program_psw() -> Psw {
    lowcore_field(lowcore::old_psw(Class::Program))
}

/// Goes to the guest for the first time on this CPU.
pub fn go(cpu: &mut Cpu) -> ! {
    cpu.vcpu.account.start(instruction::stckf());
    finish(cpu);
    // SAFETY: finish has left everything that the exit loads.
    unsafe { leave_to_guest() }
}

/// Last in every trap: what is due before the guest runs, and the PSW it runs under.
#[inline(always)]
fn finish(cpu: &mut Cpu) {
    loop {
        let next = dispatch::leave(&mut cpu.vcpu, &cpu.machine.configuration, &mut cpu.native);
        match next {
            Next::Run => break,
            Next::Held => turn::hold_guest(cpu),
            next => turn::give(cpu, next),
        }
    }
    set_lowcore_field(0, 0x220, dispatch::real_psw(&cpu.vcpu));
}

#[unsafe(no_mangle)]
extern "C" fn program_interruption(cpu: &mut Cpu) {
    cpu.vcpu.interruption.cause = lowcore_field(lowcore::PROGRAM_IDENTIFICATION);
    let configuration = &cpu.machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::Program,
    );
    let refused = matches!(cpu.vcpu.interruption.code(), 0x01 | 0x02);
    perform_program(cpu, refused);
}

/// A program interruption that has been booked: `refused` if the hardware refused an instruction.
#[inline(always)]
pub fn perform_program(cpu: &mut Cpu, refused: bool) {
    let configuration = &cpu.machine.configuration;
    // What traps most, and most of that in the plain case; it stores nothing more in the lowcore.
    if !(refused && millicode::plain::perform(&mut cpu.vcpu, configuration, &mut cpu.native)) {
        any_program_interruption(cpu);
    }
    finish(cpu);
}

/// What is not the plain case of a common instruction.
#[inline(never)]
fn any_program_interruption(cpu: &mut Cpu) {
    let interruption = &mut cpu.vcpu.interruption;
    match interruption.code() & 0x7F {
        0x01 | 0x02 => {}
        0x07 | 0x1B => interruption.parameter = lowcore_field(lowcore::DATA_EXCEPTION_CODE),
        0x40 => {
            interruption.parameter = u32::from(lowcore_field::<u16>(lowcore::MONITOR_CLASS));
            interruption.identification = lowcore_field(lowcore::MONITOR_CODE);
        }
        _ => {
            interruption.identification = lowcore_field(lowcore::TRANSLATION_EXCEPTION);
            interruption.access = lowcore_field(lowcore::EXCEPTION_ACCESS);
        }
    }
    let configuration = &cpu.machine.configuration;
    let next = dispatch::program(&mut cpu.vcpu, configuration, &mut cpu.native);
    match next {
        Next::Run => {}
        Next::Occupied => turn::occupied(cpu),
        Next::Service => his::serve(cpu),
        next => turn::give(cpu, next),
    }
}

/// A supervisor call.
#[unsafe(no_mangle)]
pub extern "C" fn supervisor_call_interruption(cpu: &mut Cpu) {
    cpu.vcpu.interruption.cause = lowcore_field(lowcore::SVC_IDENTIFICATION);
    let configuration = &cpu.machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::SupervisorCall,
    );
    dispatch::supervisor_call(&mut cpu.vcpu, configuration, &mut cpu.native);
    finish(cpu);
}

/// An external interruption.
#[unsafe(no_mangle)]
pub extern "C" fn external_interruption(cpu: &mut Cpu) {
    use crate::arch::interruption::external;
    let code: u16 = lowcore_field(lowcore::EXTERNAL_CODE);
    let configuration = &cpu.machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::External,
    );
    match code {
        external::CLOCK_COMPARATOR => {
            schedule::take_due_samples(
                &mut cpu.vcpu,
                configuration,
                &mut cpu.native,
                &mut cpu.blocks,
            );
            if cpu.vcpu.sampling.block_full {
                cpu.send_full_blocks();
            }
            if !cpu.vcpu.pending.clock_comparator
                && cpu.vcpu.account.entered > cpu.vcpu.clock_comparator
            {
                schedule::test_clock_comparator(&mut cpu.vcpu, &cpu.native);
            }
            if cpu.vcpu.sampling.turn <= cpu.vcpu.account.total()
                || cpu.vcpu.per.is_stepping()
                || turn::someone_wakes(cpu)
            {
                turn::end(cpu);
            }
        }
        external::CPU_TIMER => {
            cpu.vcpu.pending.cpu_timer = true;
            cpu.vcpu.due |= Due::ATTENTION;
        }
        external::SERVICE_SIGNAL => {
            ipl::read_input(cpu.machine);
            if his::wants(cpu.vcpu.account.entered) {
                his::work(cpu);
            }
            cpu.vcpu.due |= Due::ATTENTION;
        }
        _ => cpu.vcpu.due |= Due::ATTENTION,
    }
    finish(cpu);
}

/// What the last I/O interruption stored.
pub fn io_interruption_code() -> IoInterruption {
    let [subsystem, parameter, identification] = lowcore_field(lowcore::SUBSYSTEM_IDENTIFICATION);
    IoInterruption {
        subsystem,
        parameter,
        identification,
    }
}

/// An I/O interruption.
#[unsafe(no_mangle)]
pub extern "C" fn io_interruption(cpu: &mut Cpu) {
    let configuration = &cpu.machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::InputOutput,
    );
    let interruption = io_interruption_code();
    delivery::io(&mut cpu.vcpu, configuration, &mut cpu.native, interruption);
    finish(cpu);
}

#[unsafe(no_mangle)]
extern "C" fn restart_interruption(cpu: &mut Cpu) {
    let configuration = &cpu.machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::Restart,
    );
    delivery::restart(&mut cpu.vcpu, configuration, &mut cpu.native);
    finish(cpu);
}

#[unsafe(no_mangle)]
extern "C" fn machine_check_interruption(cpu: &mut Cpu) {
    let configuration = &cpu.machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::MachineCheck,
    );
    let code: u64 = lowcore_field(lowcore::MACHINE_CHECK_CODE);
    // What stays in the hardware, the hardware has saved; the rest is the guest's own.
    let saved = Saved {
        floating_point: lowcore_field(lowcore::SAVED_FLOATING_POINT),
        floating_point_control: lowcore_field(lowcore::SAVED_FLOATING_POINT_CONTROL),
        access: lowcore_field(lowcore::SAVED_ACCESS),
    };
    delivery::machine_check(&mut cpu.vcpu, configuration, &mut cpu.native, code, &saved);
    finish(cpu);
}

#[unsafe(no_mangle)]
extern "C" fn cpu_started(cpu: &mut Cpu) {
    cpu.take_up();
    cpu.vcpu.account.start(instruction::stckf());
    turn::join(cpu);
    finish(cpu);
}
