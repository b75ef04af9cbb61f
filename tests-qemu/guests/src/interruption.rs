//! The six interruption classes: new PSWs, the common stub, and handlers a guest may replace.
//!
//! The stub saves the sixteen general registers in the class's area of the prefix page, switches to the class's own
//! stack and calls a Rust handler with the saved registers. When the handler returns, the stub loads the registers
//! and then the class's old PSW; a handler changes them to go on elsewhere. While an instruction is attempted
//! ([`crate::attempt`]), a program interruption or a supervisor call resumes the attempt instead.

use core::arch::global_asm;

use crate::lowcore;
use crate::psw::{self, Psw};

/// An interruption class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Class {
    /// Restart.
    Restart = 0,
    /// External.
    External = 1,
    /// Supervisor call.
    SupervisorCall = 2,
    /// Program.
    Program = 3,
    /// Machine check.
    MachineCheck = 4,
    /// Input/output.
    InputOutput = 5,
}

/// The saved general registers 0-15 of the interrupted program.
pub type Registers = [u64; 16];

/// Handles an interruption. It may change the registers and, by [`set_old_psw`], the old PSW.
pub type Handler = extern "C" fn(&mut Registers);

impl Class {
    /// Every class, in the order of its assigned storage locations.
    pub const ALL: [Self; 6] = [
        Self::Restart,
        Self::External,
        Self::SupervisorCall,
        Self::Program,
        Self::MachineCheck,
        Self::InputOutput,
    ];

    /// Where the old PSW of this class is stored.
    #[must_use]
    pub const fn old(self) -> usize {
        0x120 + 16 * self as usize
    }

    /// Where the new PSW of this class is fetched.
    #[must_use]
    pub const fn new(self) -> usize {
        0x1A0 + 16 * self as usize
    }
}

global_asm!(
    ".section .text.interruption,\"ax\",@progbits",
    ".macro STUB name, class",
    ".globl \\name",
    ".p2align 3",
    "\\name:",
    "stmg %r0, %r15, 0x400 + 128 * \\class(%r0)",
    ".if (\\class == 2) | (\\class == 3)",
    "lg %r1, 0x700(%r0)",
    "ltgr %r1, %r1",
    "jz 1f",
    "mvghi 0x708(%r0), \\class + 1",
    "mvghi 0x700(%r0), 0",
    "stg %r1, 0x718(%r0)",
    "lmg %r0, %r15, 0x400 + 128 * \\class(%r0)",
    "lpswe 0x710(%r0)",
    "1:",
    ".endif",
    "lg %r15, 0x780 + 8 * \\class(%r0)",
    "lghi %r2, 0x400 + 128 * \\class",
    "lg %r1, 0x7D0 + 8 * \\class(%r0)",
    "basr %r14, %r1",
    "lmg %r0, %r15, 0x400 + 128 * \\class(%r0)",
    "lpswe 0x120 + 16 * \\class(%r0)",
    ".endm",
    "STUB restart_stub, 0",
    "STUB external_stub, 1",
    "STUB supervisor_call_stub, 2",
    "STUB program_stub, 3",
    "STUB machine_check_stub, 4",
    "STUB input_output_stub, 5",
    // A doubleword for each class.
    ".irp old, 0x120, 0x130, 0x140, 0x150, 0x160, 0x170",
    ".p2align 3",
    ".ifeq \\old - 0x120",
    "returns:",
    ".endif",
    "lpswe \\old(%r0)",
    ".endr",
);

unsafe extern "C" {
    fn restart_stub();
    fn external_stub();
    fn supervisor_call_stub();
    fn program_stub();
    fn machine_check_stub();
    fn input_output_stub();
    fn returns();
}

/// Puts the stubs, the default handlers and the class stacks into this CPU's prefix area.
/// `stacks` is the lowest address of six class stacks of `size` bytes each.
pub fn establish(stacks: usize, size: usize) {
    let stubs: [unsafe extern "C" fn(); 6] = [
        restart_stub,
        external_stub,
        supervisor_call_stub,
        program_stub,
        machine_check_stub,
        input_output_stub,
    ];
    for class in Class::ALL {
        let n = class as usize;
        lowcore::write(
            class.new(),
            Psw::new(psw::INITIAL, stubs[n] as usize as u64),
        );
        lowcore::write(lowcore::STACKS + 8 * n, stacks + (n + 1) * size - 160);
        replace(class, DEFAULT[n]);
    }
    lowcore::write(lowcore::RESUME, 0_u64);
    lowcore::write(lowcore::RESUME_PSW, Psw::new(psw::INITIAL, 0));
    lowcore::write(
        lowcore::PROBLEM_PSW,
        Psw::new(psw::INITIAL | psw::PROBLEM, 0),
    );
}

/// Replaces the handler of a class on this CPU.
pub fn replace(class: Class, handler: Handler) {
    lowcore::write(lowcore::HANDLERS + 8 * class as usize, handler as usize);
}

/// Performs `program` while an interruption of this class only returns: the new PSW, with DAT on, leads to LOAD PSW EXTENDED
/// of the old one. For programs that measure an interruption.
pub fn returning(class: Class, program: impl FnOnce()) {
    let kept: Psw = lowcore::read(class.new());
    let only = returns as *const () as u64 + 8 * class as u64;
    lowcore::write(class.new(), Psw::new(psw::INITIAL | psw::DAT, only));
    program();
    lowcore::write(class.new(), kept);
}

/// The old PSW of a class as stored by its last interruption.
#[must_use]
pub fn old_psw(class: Class) -> Psw {
    lowcore::read(class.old())
}

/// Changes the old PSW, which the stub loads when the class's handler returns.
pub fn set_old_psw(class: Class, psw: Psw) {
    lowcore::write(class.old(), psw);
}

const DEFAULT: [Handler; 6] = [
    unexpected_restart,
    unexpected_external,
    unexpected_supervisor_call,
    unexpected_program,
    unexpected_machine_check,
    unexpected_input_output,
];

extern "C" fn unexpected_restart(registers: &mut Registers) {
    unexpected(Class::Restart, registers)
}
extern "C" fn unexpected_external(registers: &mut Registers) {
    unexpected(Class::External, registers)
}
extern "C" fn unexpected_supervisor_call(registers: &mut Registers) {
    unexpected(Class::SupervisorCall, registers)
}
extern "C" fn unexpected_program(registers: &mut Registers) {
    unexpected(Class::Program, registers)
}
extern "C" fn unexpected_machine_check(registers: &mut Registers) {
    unexpected(Class::MachineCheck, registers)
}
extern "C" fn unexpected_input_output(registers: &mut Registers) {
    unexpected(Class::InputOutput, registers)
}

fn unexpected(class: Class, registers: &Registers) -> ! {
    let old = old_psw(class);
    let code: u32 = match class {
        Class::External => lowcore::read::<u16>(lowcore::EXTERNAL_CODE).into(),
        Class::SupervisorCall => lowcore::read(lowcore::SVC_LENGTH),
        Class::Program => lowcore::read(lowcore::PROGRAM_LENGTH),
        _ => 0,
    };
    crate::println!(
        "unexpected interruption: {class:?}, code {code:08x}, old PSW {:016x} {:016x}, TEID {:016x}",
        old.mask,
        old.address,
        lowcore::read::<u64>(lowcore::TRANSLATION_EXCEPTION)
    );
    for (n, row) in registers.chunks(4).enumerate() {
        crate::println!(
            "  r{:<2} {:016x} {:016x} {:016x} {:016x}",
            4 * n,
            row[0],
            row[1],
            row[2],
            row[3]
        );
    }
    crate::end::end_failure(2)
}
