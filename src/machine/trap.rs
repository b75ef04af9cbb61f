//! Trap entry and exit: from an interruption to Rust and back to the guest.
//!
//! The entry stores the general registers in the CPU's [`Vcpu`], takes a clock stamp, and calls Rust with DAT
//! off, disabled, on an empty stack. Each CPU has its own copy of the first instructions ([`entry`]). The exit loads what
//! Rust has left. Between the two stamps and the guest
//! are always the same few instructions. Their number is measured at IPL by a probe (`ipl::probe`), which
//! repeats them exactly.
//!
//! [`Vcpu`]: crate::guest::state::vcpu::Vcpu
//! [`entry`]: crate::machine::hardware::entry

use crate::arch::control::CR0_EMERGENCY_SIGNAL;
use crate::arch::interruption::Class;
use crate::arch::table::TEID_ADDRESS;
use crate::guest::delivery;
use crate::guest::dispatch;
use crate::guest::dispatch::Next;
use crate::guest::hardware::{Hardware, Saved};
use crate::guest::measuring::schedule;
use crate::guest::millicode::fast_path;
use crate::guest::state::account::Account;
use crate::guest::state::configuration::Configuration;
use crate::guest::state::pending_work::PendingWork;
use crate::guest::state::vcpu::Interruption;
use crate::guest::state::vcpu::{LIVE, Vcpu};
use crate::guest::storage::shadow;
use crate::link::remains;
use crate::machine::hardware::entry;
use crate::machine::hardware::hsa::CpuArea;
use crate::machine::hardware::instruction;
use crate::machine::hardware::lowcore::{self, Area, Lowcore, WindowArea};
use crate::machine::hardware::wait;
use crate::machine::native::Still;
use crate::machine::state::machine::{Cpu, Machine};
use crate::machine::{his, stacks, turn};
use core::arch::{asm, global_asm};
use core::mem::offset_of;

global_asm!(
    // What the hardware has stored, and what of it is live in the guest's PSW: bits 18-23 and 31-32, and the address.
    ".macro take_over old",
    "lg %r3,{psw}(%r15)",
    "lmg %r4,%r5,\\old(%r0)",
    "stmg %r4,%r5,{old}(%r15)",
    "risbg %r4,%r3,33,17,0",
    "risbg %r4,%r3,24,30,0",
    "stmg %r4,%r5,{psw}(%r15)",
    "lgr %r2,%r15",
    "lg %r15,{stack}(%r0)",
    ".endm",
    // The stamp. Before it come only the CPU's own copy of the first instructions (`entry`), or what the rare classes have
    // instead.
    ".macro stamp",
    ".insn s,0xb27c0000,{entered}(%r15)",
    ".endm",
    ".macro save_registers",
    "lg %r15,{cpu}(%r0)",
    "stmg %r0,%r14,0(%r15)",
    "stamp",
    "mvc 120(8,%r15),{register_15}(%r0)",
    ".endm",
    // The exit: after the stamp come only the instructions that load the guest.
    ".macro leave psw={exit_psw}",
    "lg %r15,{cpu}(%r0)",
    ".insn s,0xb27c0000,{left}(%r15)",
    "lmg %r0,%r15,0(%r15)",
    "lpswe \\psw(%r0)",
    ".endm",
    ".macro entry name, old, routine",
    ".globl \\name",
    "\\name:",
    "stamp",
    "take_over \\old",
    "brasl %r14,\\routine",
    "leave",
    ".endm",
    ".globl trap_program",
    "trap_program:",
    "stamp",
    "take_over {program_old}",
    "brasl %r14,program_interruption",
    "cgijne %r2,0,leave_to_guest",
    // The guest goes on with what the hardware has stored.
    "leave {program_old}",
    ".globl leave_to_guest",
    "leave_to_guest:",
    "leave",
    "entry trap_supervisor_call, {supervisor_call_old}, supervisor_call_interruption",
    "entry trap_external, {external_old}, external_interruption",
    "entry trap_io, {io_old}, io_interruption",
    // The same for a run that counts traps: see [`super::count`].
    ".globl trap_program_counted",
    "trap_program_counted:",
    "stamp",
    "take_over {program_old}",
    "brasl %r14,program_interruption_counted",
    "j leave_to_guest",
    "entry trap_supervisor_call_counted, {supervisor_call_old}, supervisor_call_interruption_counted",
    "entry trap_external_counted, {external_old}, external_interruption_counted",
    "entry trap_io_counted, {io_old}, io_interruption_counted",
    // The same for a run with a window: see [`super::window`]. What comes from the stamp on is set back, at the
    // instruction that sets the clock: as many instructions after the stamp as the routine has said.
    ".macro find_timer",
    ".insn s,0xb2090000,{window_timer}(%r0)",
    ".insn s,0xb2080000,{window_far}(%r0)",
    ".endm",
    ".macro leave_in_window class, psw",
    "lg %r15,{cpu}(%r0)",
    ".insn s,0xb27c0000,{window_began}(%r0)",
    "find_timer",
    ".ifnb \\psw",
    "mvc {exit_psw}(16,%r0),\\psw(%r0)",
    ".endif",
    "lghi %r3,\\class",
    "lgr %r2,%r15",
    "lg %r15,{stack}(%r0)",
    "brasl %r14,window_exit",
    "brasl %r14,firmware_set_back",
    "leave",
    ".endm",
    ".macro entry_in_window name, old, routine, class",
    ".globl \\name",
    "\\name:",
    "stamp",
    "take_over \\old",
    "brasl %r14,\\routine",
    "leave_in_window \\class",
    ".endm",
    // As `take_over`, with what the window wants behind the stamp. If the interruption was only for the window,
    // the guest goes on where it was, as if there had been none.
    ".macro ask_window ask, old",
    "stamp",
    "find_timer",
    "lgr %r2,%r15",
    "lg %r15,{stack}(%r0)",
    "brasl %r14,\\ask",
    "brasl %r14,firmware_set_back",
    "lg %r15,{cpu}(%r0)",
    "ltg %r1,{window_is_ours}(%r0)",
    "jnz 7f",
    "take_over \\old",
    ".endm",
    ".globl trap_program_in_window",
    "trap_program_in_window:",
    "stamp",
    "take_over {program_old}",
    ".macro leave_program_in_window",
    "brasl %r14,program_interruption",
    "cgijne %r2,0,4f",
    "leave_in_window {program}, {program_old}",
    "4:",
    "leave_in_window {program}",
    ".endm",
    "leave_program_in_window",
    "entry_in_window trap_supervisor_call_in_window, {supervisor_call_old}, supervisor_call_interruption, {supervisor_call}",
    "entry_in_window trap_io_in_window, {io_old}, io_interruption, {io}",
    ".globl trap_external_in_window",
    "trap_external_in_window:",
    "ask_window window_external, {external_old}",
    "brasl %r14,external_interruption",
    "leave_in_window {external}",
    "7: lmg %r0,%r14,0(%r15)",
    "lg %r15,120(%r15)",
    "lpswe {exit_psw}(%r0)",
    // The same for a guest whose clock stands still meanwhile: see [`super::still`].
    ".macro leave_still",
    "lg %r15,{cpu}(%r0)",
    ".insn s,0xb27c0000,{window_began}(%r0)",
    "find_timer",
    "lgr %r2,%r15",
    "lg %r15,{stack}(%r0)",
    "brasl %r14,still_exit",
    "brasl %r14,firmware_set_back",
    "leave",
    ".endm",
    ".macro entry_still name, old, routine",
    ".globl \\name",
    "\\name:",
    "stamp",
    "take_over \\old",
    "brasl %r14,\\routine",
    "leave_still",
    ".endm",
    ".globl trap_program_still",
    "trap_program_still:",
    "stamp",
    "take_over {program_old}",
    "brasl %r14,program_interruption_still",
    "leave_still",
    "entry_still trap_supervisor_call_still, {supervisor_call_old}, supervisor_call_interruption_still",
    "entry_still trap_external_still, {external_old}, external_interruption_still",
    "entry_still trap_io_still, {io_old}, io_interruption_still",
    // The same in a window with traces or exact counts. What stops the guest only for these leaves the clock as it is, and what that
    // took is set back later: see [`super::window`].
    ".globl trap_program_in_stopped_window",
    "trap_program_in_stopped_window:",
    "stamp",
    "lgr %r2,%r15",
    "lg %r15,{stack}(%r0)",
    "brasl %r14,stop_program",
    "lgr %r6,%r2",
    "brasl %r14,firmware_pad",
    "lg %r15,{cpu}(%r0)",
    "ltgr %r6,%r6",
    "jz 7f",
    "ask_window window_program, {program_old}",
    "leave_program_in_window",
    "7: lmg %r0,%r14,0(%r15)",
    "lg %r15,120(%r15)",
    "lpswe {exit_psw}(%r0)",
    ".globl trap_supervisor_call_in_stopped_window",
    "trap_supervisor_call_in_stopped_window:",
    "ask_window window_other, {supervisor_call_old}",
    "brasl %r14,supervisor_call_interruption",
    "leave_in_window {supervisor_call}",
    ".globl trap_io_in_stopped_window",
    "trap_io_in_stopped_window:",
    "ask_window window_other, {io_old}",
    "brasl %r14,io_interruption",
    "leave_in_window {io}",
    // These are never only for the window.
    "7: j .",
    ".globl trap_restart",
    "trap_restart:",
    "stg %r15,{register_15}(%r0)",
    "tm {restart_state}(%r0),0x01",
    "lghi %r15,0",
    "jz 9f",
    "save_registers",
    "take_over {restart_old}",
    "brasl %r14,restart_interruption",
    "j leave_to_guest",
    ".globl trap_machine_check",
    "trap_machine_check:",
    "stg %r15,{register_15}(%r0)",
    "tm {machine_check_state}(%r0),0x01",
    "lghi %r15,4",
    "jz 9f",
    "save_registers",
    "take_over {machine_check_old}",
    "brasl %r14,machine_check_interruption",
    "j leave_to_guest",
    // A program interruption of the firmware itself (old PSW bit 15 is zero): one that it expects continues where its
    // prefix area says, and any other is a failure.
    ".globl firmware_program_interruption",
    "firmware_program_interruption:",
    "stg %r15,{register_15}(%r0)",
    "lg %r15,{continue_at}(%r0)",
    "ltgr %r15,%r15",
    "jz 7f",
    "mvc {exit_psw}(8,%r0),{program_old}(%r0)",
    "stg %r15,{exit_address}(%r0)",
    "lg %r15,{register_15}(%r0)",
    "lpswe {exit_psw}(%r0)",
    // %r15 = class: keep the registers, continue on a stack of its own.
    "7: lghi %r15,3",
    "9: stmg %r0,%r14,{failed_registers}(%r0)",
    "mvc {failed_register_15}(8,%r0),{register_15}(%r0)",
    "lgr %r2,%r15",
    "larl %r15,early_stack_end",
    "aghi %r15,-160",
    "brasl %r14,own_interruption",
    "j .",
    // A started CPU comes here by its restart new PSW.
    ".globl start_cpu",
    "start_cpu:",
    "lg %r2,{cpu}(%r0)",
    "lg %r15,{stack}(%r0)",
    "brasl %r14,cpu_started",
    "j leave_to_guest",
    program = const Class::Program as usize,
    supervisor_call = const Class::SupervisorCall as usize,
    external = const Class::External as usize,
    io = const Class::InputOutput as usize,
    cpu = const offset_of!(Lowcore, cpu),
    register_15 = const offset_of!(Lowcore, register_15),
    stack = const offset_of!(Lowcore, stack),
    continue_at = const offset_of!(Lowcore, continue_at),
    exit_psw = const offset_of!(Lowcore, exit_psw),
    exit_address = const offset_of!(Lowcore, exit_psw.address),
    failed_registers = const offset_of!(Lowcore, failed_registers),
    failed_register_15 = const offset_of!(Lowcore, failed_registers) + 15 * 8,
    restart_old = const offset_of!(Lowcore, restart_old),
    external_old = const offset_of!(Lowcore, external_old),
    supervisor_call_old = const offset_of!(Lowcore, supervisor_call_old),
    program_old = const offset_of!(Lowcore, program_old),
    machine_check_old = const offset_of!(Lowcore, machine_check_old),
    io_old = const offset_of!(Lowcore, io_old),
    // The bytes with the problem-state bit.
    restart_state = const offset_of!(Lowcore, restart_old) + 1,
    machine_check_state = const offset_of!(Lowcore, machine_check_old) + 1,
    entered = const offset_of!(Cpu, vcpu) + offset_of!(Vcpu, account) + offset_of!(Account, entered),
    old = const offset_of!(Cpu, vcpu) + offset_of!(Vcpu, interruption) + offset_of!(Interruption, old),
    window_began = const offset_of!(Lowcore, window) + offset_of!(WindowArea, began),
    window_timer = const offset_of!(Lowcore, window) + offset_of!(WindowArea, timer),
    window_far = const offset_of!(Lowcore, window) + offset_of!(WindowArea, far),
    window_is_ours = const offset_of!(Lowcore, window) + offset_of!(WindowArea, is_ours),
    psw = const offset_of!(Cpu, vcpu) + offset_of!(Vcpu, psw.mask),
    left = const offset_of!(Cpu, vcpu) + offset_of!(Vcpu, account) + offset_of!(Account, left),
);

const _: () = assert!(offset_of!(Cpu, vcpu) == 0 && offset_of!(Vcpu, general) == 0);
// The bits that the entry takes over.
const _: () = assert!(LIVE == 0x3F << (63 - 23) | 3 << (63 - 32));
// The host finds the guest's CPU there when the machine no longer answers.
const _: () = assert!(
    offset_of!(Lowcore, cpu) == remains::CPU
        && offset_of!(Vcpu, general) == offset_of!(remains::GuestCpu, registers)
        && offset_of!(Vcpu, psw) == offset_of!(remains::GuestCpu, psw_mask)
);
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
    fn trap_program_still();
    fn trap_supervisor_call_still();
    fn trap_external_still();
    fn trap_io_still();
    fn trap_program_in_window();
    fn trap_program_in_stopped_window();
    fn trap_supervisor_call_in_stopped_window();
    fn trap_io_in_stopped_window();
    fn trap_supervisor_call_in_window();
    fn trap_external_in_window();
    fn trap_io_in_window();
    fn trap_restart();
    fn trap_machine_check();
    fn start_cpu();
    fn leave_to_guest() -> !;
}

/// Prepares the prefix area of `cpu`, which has these areas.
pub fn prepare_lowcore(areas: &CpuArea, cpu: *mut Cpu) {
    let area = Area::at(areas.prefix);
    area.clear();
    area.set_cpu(cpu);
    area.set_entries(areas.entries);
    area.set_new_psw(Class::Restart, start_cpu);
    area.set_new_psw(Class::MachineCheck, trap_machine_check);
    admit(area);
    area.set_stack(areas.stack_end - 160);
}

/// The traps of the calling CPU are from now on those of `cpu`.
pub fn use_cpu(cpu: *mut Cpu) {
    Area::OWN.set_cpu(cpu);
    admit(Area::OWN);
}

/// The traps of the CPU with this prefix area are as in any run.
fn admit(area: Area) {
    entry::set(area, Class::External, trap_external);
    entry::set(area, Class::SupervisorCall, trap_supervisor_call);
    entry::set(area, Class::Program, trap_program);
    entry::set(area, Class::InputOutput, trap_io);
}

/// From now on a restart of this CPU is an interruption.
fn admit_restart() {
    Area::OWN.set_new_psw(Class::Restart, trap_restart);
}

/// From now on the traps of the CPU with this prefix area are counted.
pub fn admit_counted(area: Area) {
    entry::set(area, Class::External, trap_external_counted);
    entry::set(area, Class::SupervisorCall, trap_supervisor_call_counted);
    entry::set(area, Class::Program, trap_program_counted);
    entry::set(area, Class::InputOutput, trap_io_counted);
}

/// What a window has beside its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// Traces or exact counts: many program interruptions are only for the window.
    Stops,
}

/// From now on what the traps of the CPU with this prefix area take more than in the first run is set back.
pub fn admit_window(area: Area, beside: Beside) {
    area.prepare_window();
    entry::set(area, Class::External, trap_external_in_window);
    if beside == Beside::Stops {
        entry::set(
            area,
            Class::SupervisorCall,
            trap_supervisor_call_in_stopped_window,
        );
        entry::set(area, Class::InputOutput, trap_io_in_stopped_window);
    } else {
        entry::set(area, Class::SupervisorCall, trap_supervisor_call_in_window);
        entry::set(area, Class::InputOutput, trap_io_in_window);
    }
    let program = match beside {
        Beside::Nothing => trap_program_in_window,
        Beside::Stops => trap_program_in_stopped_window,
    };
    entry::set(area, Class::Program, program);
}

/// From now on the clock of the guest of the CPU with this prefix area stands still while a trap is handled.
pub fn admit_still(area: Area) {
    area.prepare_window();
    entry::set(area, Class::External, trap_external_still);
    entry::set(area, Class::SupervisorCall, trap_supervisor_call_still);
    entry::set(area, Class::Program, trap_program_still);
    entry::set(area, Class::InputOutput, trap_io_still);
}

/// The traps of this CPU are again as in a run without a window.
pub fn admit_plain() {
    wait::closed(|| admit(Area::OWN));
}

/// Makes the two classes that end a probe enter the guest's trap entry again.
pub fn admit_after_probe() {
    entry::set(Area::OWN, Class::Program, trap_program);
    entry::set(Area::OWN, Class::SupervisorCall, trap_supervisor_call);
}

/// Makes `cpu` the state with which the calling real CPU runs.
pub fn take_up(cpu: &mut Cpu) {
    admit_restart();
    // Only the emergency signal is enabled until the guest's controls are loaded.
    wait::load_cr0(CR0_EMERGENCY_SIGNAL);
    instruction::sckc(u64::MAX);
    cpu.native.set_cpu_timer(0);
    cpu.vcpu.standing_timer = Some(0);
}

/// Goes to the guest for the first time on this CPU.
pub fn go(cpu: &mut Cpu) -> ! {
    cpu.vcpu.account.start(instruction::stckf());
    finish(cpu);
    // SAFETY: `finish` has prepared everything that the exit loads.
    unsafe { leave_to_guest() }
}

/// The last step of every trap: does the pending work, and prepares the PSW under which the guest runs.
#[inline(always)]
fn finish(cpu: &mut Cpu) {
    let machine = cpu.machine;
    finish_in(cpu, &machine.configuration);
}

/// The same with the configuration at hand.
#[inline(always)]
fn finish_in(cpu: &mut Cpu, configuration: &Configuration) {
    get_ready(cpu, configuration);
    lowcore::set_exit_psw(dispatch::real_psw(&cpu.vcpu));
}

/// Does the pending work.
#[inline(always)]
fn get_ready(cpu: &mut Cpu, configuration: &Configuration) {
    loop {
        let next = dispatch::leave(&mut cpu.vcpu, configuration, &mut cpu.native);
        match next {
            Next::Run => break,
            Next::Held => turn::hold_guest(cpu),
            Next::Pause => turn::pause(cpu),
            next => turn::give(cpu, next),
        }
    }
}

/// A program interruption. Returns zero if the exit is to load the program old PSW.
#[unsafe(no_mangle)]
pub extern "C" fn program_interruption(cpu: &mut Cpu) -> u64 {
    cpu.vcpu.interruption.cause = lowcore::PROGRAM_IDENTIFICATION.get();
    let machine = cpu.machine;
    let configuration = &machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::Program,
    );
    let refused = matches!(cpu.vcpu.interruption.code(), 0x01 | 0x02);
    handle_program(cpu, machine, refused);
    set_other_exit_psw(cpu)
}

/// How many instructions more [`set_other_exit_psw`] takes if it sets the PSW.
pub const OF_OTHER_EXIT_PSW: u64 = 3;

/// Sets the PSW that the exit loads unless it is the program old PSW, which the exit can load as well: after most traps the
/// guest goes on with the very PSW that the hardware has stored. Returns the bits in which they differ.
#[inline(always)]
fn set_other_exit_psw(cpu: &mut Cpu) -> u64 {
    let psw = dispatch::real_psw(&cpu.vcpu);
    let old = lowcore::PROGRAM_OLD.get();
    let mut difference = old.address ^ psw.address;
    // SAFETY: the fields are in the CPU, and in its prefix area, which no reference covers. In the prefix area it is one store, as
    // for `lowcore::set_exit_psw`.
    unsafe {
        asm!(
            "ogr {difference},{other}",
            "jz 2f",
            "stg {mask},{next}({cpu})",
            "stg {address},{next}+8({cpu})",
            "mvc {exit_psw}(16,%r0),{next}({cpu})",
            "2:",
            difference = inout(reg) difference,
            other = in(reg) old.mask ^ psw.mask,
            mask = in(reg) psw.mask,
            address = in(reg) psw.address,
            cpu = in(reg_addr) &raw mut *cpu,
            next = const offset_of!(Cpu, vcpu.interruption.next),
            exit_psw = const offset_of!(Lowcore, exit_psw),
            options(nostack),
        );
    }
    difference
}

/// A program interruption that has been accounted for; `refused` if the hardware refused an instruction.
#[inline(always)]
pub fn perform_program(cpu: &mut Cpu, machine: &Machine, refused: bool) {
    handle_program(cpu, machine, refused);
    lowcore::set_exit_psw(dispatch::real_psw(&cpu.vcpu));
}

/// The same but for the PSW.
#[inline(always)]
fn handle_program(cpu: &mut Cpu, machine: &Machine, refused: bool) {
    let configuration = &machine.configuration;
    if !refused {
        if !dispatch::has_completed(&cpu.vcpu) && !performed_without_fetch(cpu) {
            any_program_interruption(cpu);
        }
    } else if !fast_path::perform(&mut cpu.vcpu, configuration, &mut cpu.native) {
        // The most frequent trap, which the fast path nearly always handles.
        refused_instruction(cpu);
    }
    get_ready(cpu, configuration);
}

/// An instruction that the fast path did not perform. The hardware has stored nothing more in the lowcore.
#[inline(never)]
fn refused_instruction(cpu: &mut Cpu) {
    let configuration = &cpu.machine.configuration;
    let next = dispatch::refused(&mut cpu.vcpu, configuration, &mut cpu.native);
    go_on(cpu, next);
}

/// Performs an instruction that the hardware could not fetch, if the fast path handles its case.
#[inline(always)]
fn performed_without_fetch(cpu: &mut Cpu) -> bool {
    let interruption = &mut cpu.vcpu.interruption;
    // Segment and page translation: a control program's prefix area always has the tables above them.
    if cpu.vcpu.psw.problem_state() || !matches!(interruption.code(), 0x10 | 0x11) {
        return false;
    }
    interruption.identification = lowcore::TRANSLATION_EXCEPTION.get();
    // Most often an operand was missed, in another page.
    if (interruption.identification ^ cpu.vcpu.psw.address) & TEID_ADDRESS != 0 {
        return false;
    }
    let configuration = &cpu.machine.configuration;
    fast_path::perform_not_fetched(&mut cpu.vcpu, configuration, &mut cpu.native)
}

/// A program interruption that is not the refusal of an instruction.
#[inline(never)]
fn any_program_interruption(cpu: &mut Cpu) {
    let interruption = &mut cpu.vcpu.interruption;
    match interruption.code() & 0x7F {
        0x07 | 0x1B => {
            interruption.identification = lowcore::DATA_EXCEPTION_CODE.get().into();
        }
        0x40 => {
            interruption.parameter = u32::from(lowcore::MONITOR_CLASS.get());
            interruption.identification = lowcore::MONITOR_CODE.get();
        }
        _ => {
            interruption.identification = lowcore::TRANSLATION_EXCEPTION.get();
            interruption.access = lowcore::EXCEPTION_ACCESS.get();
        }
    }
    let configuration = &cpu.machine.configuration;
    let next = dispatch::program(&mut cpu.vcpu, configuration, &mut cpu.native);
    if next == Next::Run {
        begin_handler(cpu);
        return;
    }
    go_on(cpu, next);
}

/// Performs the first instruction of a control program's handler, if the CPU has just entered one from another space, and the
/// fast path handles the instruction.
#[inline(always)]
fn begin_handler(cpu: &mut Cpu) {
    if cpu.vcpu.pending_work == PendingWork::SPACE {
        let configuration = &cpu.machine.configuration;
        fast_path::perform_first(&mut cpu.vcpu, configuration, &mut cpu.native);
    }
}

/// Goes on as the virtual CPU says after a program interruption.
#[inline(always)]
fn go_on(cpu: &mut Cpu, next: Next) {
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
    cpu.vcpu.interruption.cause = lowcore::SUPERVISOR_CALL_IDENTIFICATION.get();
    let configuration = &cpu.machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::SupervisorCall,
    );
    dispatch::supervisor_call(&mut cpu.vcpu, configuration, &mut cpu.native);
    begin_handler(cpu);
    finish(cpu);
}

/// An external interruption.
#[unsafe(no_mangle)]
pub extern "C" fn external_interruption(cpu: &mut Cpu) {
    use crate::arch::interruption::external;
    let code = lowcore::EXTERNAL_CODE.get();
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
            if cpu.vcpu.sampling.after.is_any() {
                stacks::after_sample(cpu);
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
            } else {
                if cpu.vcpu.sampling.look_at <= cpu.vcpu.account.entered {
                    turn::look(cpu);
                }
                // The way out to an instruction that is executed alone has another length than the last one, so the clock
                // may have come before it. It would so again and again, if the instruction had to begin anew.
                shadow::alone::continue_here(&mut cpu.vcpu);
            }
        }
        external::CPU_TIMER => {
            turn::cpu_timer_has_expired(cpu);
            cpu.vcpu.pending_work |= PendingWork::ATTENTION;
        }
        external::SERVICE_SIGNAL => turn::hear(cpu),
        // The machine signals itself if it has absorbed a service signal.
        external::EMERGENCY_SIGNAL if turn::is_called(cpu) => turn::hear(cpu),
        _ => cpu.vcpu.pending_work |= PendingWork::ATTENTION,
    }
    finish(cpu);
}

/// An I/O interruption, which comes at once if there are devices: the guest's own masks decide when it gets it.
#[unsafe(no_mangle)]
pub extern "C" fn io_interruption(cpu: &mut Cpu) {
    let configuration = &cpu.machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::InputOutput,
    );
    turn::take_io(cpu, lowcore::io_interruption());
    finish(cpu);
}

#[unsafe(no_mangle)]
extern "C" fn restart_interruption(cpu: &mut Cpu) {
    cpu.native.still = Still::default();
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
    cpu.native.still = Still::default();
    let configuration = &cpu.machine.configuration;
    dispatch::enter(
        &mut cpu.vcpu,
        configuration,
        &mut cpu.native,
        Class::MachineCheck,
    );
    let code = lowcore::MACHINE_CHECK_CODE.get();
    // The hardware has saved the registers that stay in it; the others are the guest's own.
    let saved = Saved {
        floating_point: lowcore::SAVED_FLOATING_POINT.get(),
        floating_point_control: lowcore::SAVED_FLOATING_POINT_CONTROL.get(),
        access: lowcore::SAVED_ACCESS.get(),
    };
    delivery::machine_check(&mut cpu.vcpu, configuration, &mut cpu.native, code, &saved);
    finish(cpu);
}

#[unsafe(no_mangle)]
extern "C" fn cpu_started(cpu: &mut Cpu) {
    take_up(cpu);
    turn::join(cpu);
    finish(cpu);
}
