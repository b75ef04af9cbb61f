//! The conditions of program interruptions: the code, what else is stored, and how the instruction ends.

use guests::attempt::{Outcome, nullified, suppressed};
use guests::dat::{self, INVALID, WINDOW};
use guests::insn::control::{lctlg_0, lctlg_8, stctg_0};
use guests::insn::cpu::Page;
use guests::monitor;
use guests::psw::bit;
use guests::{attempt, attempt_in_problem_state, attempt_on_registers, lowcore, shows};

guests::clause!(
    "SA22-7832, Chapter 6, Program Interruption; Types of Instruction Ending",
    native = true
);
guests::case!(run);

static mut PAGE: Page = Page([0; 4096]);

/// An address beyond every storage.
const FAR: u64 = 0x7000_0000;
/// The data-exception code: the outcome's number and the code.
fn data(outcome: Outcome) -> (u64, u32) {
    match outcome {
        Outcome::Program(program) => (program.code.into(), program.data_exception_code),
        _ => (0, 0),
    }
}

fn operations() {
    shows!("PROGRAM-1", attempt!(".short 0").number(), suppressed(1, 2));
    shows!(
        "PROGRAM-1",
        attempt!(".long 0xB9F30012").number(),
        suppressed(1, 4)
    );
    shows!(
        "PROGRAM-1",
        attempt!(".short 0xE3FF, 0x0000, 0x00FF").number(),
        suppressed(1, 6)
    );
    shows!(
        "PROGRAM-2",
        attempt_in_problem_state!(".short 0").number(),
        suppressed(1, 2)
    );
    shows!(
        "PROGRAM-3",
        attempt_in_problem_state!("ssm 0x900(%r0)").number(),
        suppressed(2, 4)
    );
    shows!(
        "PROGRAM-3",
        attempt_in_problem_state!("lctlg 0, 15, 0(%r0)").number(),
        suppressed(2, 6)
    );
    let execute = attempt!("exrl %r0, 34f\n j 35f\n 34: exrl %r0, 34b\n 35:");
    shows!("PROGRAM-4", execute.number(), suppressed(3, 6));
    let execute = attempt!("larl %r1, 34f\n exrl %r0, 34f\n j 35f\n 34: ex %r0, 0(%r1)\n 35:");
    shows!("PROGRAM-4", execute.code(), 3);
}

fn accesses() {
    shows!(
        "PROGRAM-5",
        attempt!("lg %r1, 0({a})", a = in(reg_addr) FAR).number(),
        suppressed(5, 6)
    );
    shows!(
        "PROGRAM-5",
        attempt!("stg %r1, 0({a})", a = in(reg_addr) FAR).number(),
        suppressed(5, 6)
    );
    shows!(
        "PROGRAM-5",
        attempt!("stpt 0({a})", a = in(reg_addr) FAR).number(),
        suppressed(5, 4)
    );
    let mut kept = 0x1234_u64;
    let outcome = attempt!("lg {v}, 0({a})", v = inout(reg) kept, a = in(reg_addr) FAR);
    shows!("ENDING-1", (outcome.code(), kept), (5, 0x1234));
    dat::prepare();
    dat::set_window(0, &raw const PAGE as u64);
    dat::set_window(1, INVALID);
    dat::on();
    let at = WINDOW + 0x1000;
    let nullifies = [
        attempt!("lg %r1, 0({a})", a = in(reg_addr) at).number(),
        attempt!("mvghi 0({a}), 1", a = in(reg_addr) at).number(),
        attempt!("stctg 0, 15, 0({a})", a = in(reg_addr) at - 8).number(),
        attempt!("lpswe 0({a})", a = in(reg_addr) at).number(),
    ];
    let across = attempt!("stmg %r0, %r15, 0({a})", a = in(reg_addr) at - 16).number();
    let moved = attempt!("mvc 0(16,{a}), 0({a})", a = in(reg_addr) at - 8).number();
    dat::off();
    let expected = [
        nullified(0x11, 6),
        nullified(0x11, 6),
        nullified(0x11, 6),
        nullified(0x11, 4),
    ];
    shows!("ENDING-2", nullifies, expected);
    shows!("ENDING-2", [across, moved], [nullified(0x11, 6); 2]);
}

fn specifications() {
    let mut quad = [0_u64; 4];
    let a = (quad.as_mut_ptr() as u64).next_multiple_of(16);
    shows!(
        "PROGRAM-6",
        attempt!(".insn rr,0x1d00,%r1,%r1").number(),
        suppressed(6, 2)
    );
    shows!(
        "PROGRAM-7",
        attempt!("cdsg %r2, %r4, 8({a})", a = in(reg_addr) a).number(),
        suppressed(6, 6)
    );
    shows!(
        "PROGRAM-7",
        attempt!("stctg 0, 0, 4({a})", a = in(reg_addr) a).number(),
        suppressed(6, 6)
    );
    shows!(
        "PROGRAM-8",
        attempt!("mc 0x234(%r0), 16").number(),
        suppressed(6, 4)
    );
}

fn arithmetic() {
    let mut registers = [0, 7, 9, 0, 0];
    let outcome = attempt_on_registers!("dlgr %r2, %r4", &mut registers);
    shows!(
        "PROGRAM-9",
        (outcome.number(), registers),
        (suppressed(9, 4), [0, 7, 9, 0, 0])
    );
    let mut registers = [0, 7, 9, 1, 0];
    let outcome = attempt_on_registers!("dlgr %r2, %r4", &mut registers);
    shows!(
        "PROGRAM-9",
        (outcome.number(), registers),
        (suppressed(9, 4), [0, 7, 9, 1, 0])
    );
}

fn data_exceptions() {
    let trap = attempt!("cgrte %r1, %r1");
    shows!(["PROGRAM-10", "DATA-1"], data(trap), (7, 0xFF));
    shows!("DATA-2", trap.number(), suppressed(7, 4));
    let cr0 = stctg_0();
    lctlg_0(cr0 & !bit(45));
    let register = attempt!("ldr %f1, %f3");
    let even = attempt!("ldr %f0, %f2");
    let binary = attempt!("adbr %f0, %f2");
    lctlg_0(cr0 & !bit(45) | bit(46));
    let vector = attempt!(".short 0xe700, 0x0000, 0x0044");
    lctlg_0(cr0 | bit(45));
    let enabled = attempt!("ldr %f1, %f1");
    lctlg_0((cr0 | bit(45)) & !bit(46));
    let without_vector = attempt!(".short 0xe700, 0x0000, 0x0044");
    lctlg_0(cr0 | bit(45) | bit(46));
    let with_vector = attempt!(".short 0xe700, 0x0000, 0x0044");
    lctlg_0(cr0);
    shows!(["DATA-3", "CONTROL-1"], data(register), (7, 1));
    shows!(
        "DATA-3",
        (register.number(), even.code()),
        (suppressed(7, 2), 0)
    );
    shows!("DATA-4", data(binary), (7, 2));
    shows!(
        ["DATA-5", "CONTROL-2"],
        (data(vector), data(without_vector)),
        ((7, 0xFE), (7, 0xFE))
    );
    shows!(
        ["CONTROL-1", "CONTROL-2"],
        (enabled.code(), with_vector.code()),
        (0, 0)
    );
}

/// What a trap of an arithmetic instruction leaves, with a floating-point-control register.
fn trapped(masks: u32, divisor: f64) -> (u64, u32, u32) {
    let cr0 = stctg_0();
    lctlg_0(cr0 | bit(45));
    let values = [1.0_f64, divisor];
    let mut control = masks;
    let outcome = attempt!(
        "sfpc {c}\n ld %f0, 0({v})\n ddb %f0, 8({v})\n stfpc 0({s})",
        c = in(reg) masks,
        v = in(reg_addr) values.as_ptr(),
        s = in(reg_addr) &raw mut control,
    );
    // SAFETY: stores into a local, and clears the register.
    unsafe {
        core::arch::asm!("stfpc 0({s})", "sfpc {z}", s = in(reg_addr) &raw mut control, z = in(reg) 0_u64);
    }
    lctlg_0(cr0);
    let (code, exception) = data(outcome);
    (code, exception, control)
}

fn floating_point() {
    let (code, _, control) = trapped(0, 0.0);
    shows!("DATA-6", (code, control), (0, 0x0040_0000));
    let (code, exception, control) = trapped(0x4000_0000, 0.0);
    shows!("DATA-7", (code, exception), (7, 0x40));
    shows!("DATA-8", control, 0x4000_4000);
    let (code, exception, _) = trapped(0x0800_0000, 3.0);
    shows!("DATA-9", (code, exception & 0xF8), (7, 0x08));
}

/// A vector instruction tells which element met the exception, and which one it was.
fn vector_processing() {
    let cr0 = stctg_0();
    lctlg_0(cr0 | bit(45) | bit(46));
    let values = [[1.0_f64, 1.0], [2.0, 0.0]];
    // VECTOR LOAD, twice, and VECTOR FP DIVIDE.
    let outcome = attempt!(
        "sfpc {c}\n lgr %r1, {v}\n .short 0xe710,0x1000,0x0006\n .short 0xe720,0x1010,0x0006\n \
         .short 0xe701,0x2000,0x30e5",
        c = in(reg) 0x4000_0000_u64,
        v = in(reg_addr) values.as_ptr(),
    );
    // SAFETY: clears the register.
    unsafe { core::arch::asm!("sfpc {z}", z = in(reg) 0_u64) };
    lctlg_0(cr0);
    // Element 1, division by zero.
    shows!("PROGRAM-16", data(outcome), (0x1B, 0x12));
}

fn special_operations() {
    // With DAT off.
    shows!(
        "PROGRAM-11",
        attempt!("sacf 0x100").number(),
        suppressed(0x13, 4)
    );
    let mut registers = [0, 0x1_0000, 4, 0, 0];
    let operand = attempt_on_registers!("lgr %r1, %r3\n schm", &mut registers);
    shows!("PROGRAM-12", operand.code(), 0x15);
}

fn monitor_events() {
    lowcore::write(lowcore::MONITOR_CLASS, 0xEEEE_u16);
    lctlg_8(monitor::enabled(3));
    let event = attempt!("mc 0x234(%r0), 3");
    let stored = (
        lowcore::read::<u16>(lowcore::MONITOR_CLASS),
        lowcore::read::<u64>(lowcore::MONITOR_CODE),
    );
    shows!("MONITOR-1", event.number(), suppressed(0x40, 4));
    shows!("MONITOR-2", stored, (3, 0x234));
    shows!("MONITOR-3", attempt!("mc 0x234(%r0), 4").code(), 0);
    shows!(
        "MONITOR-4",
        attempt_in_problem_state!("mc 0x235(%r0), 3").number(),
        suppressed(0x40, 4)
    );
    shows!(
        "MONITOR-4",
        lowcore::read::<u64>(lowcore::MONITOR_CODE),
        0x235
    );
    lctlg_8(0);
    shows!("MONITOR-3", attempt!("mc 0x234(%r0), 3").code(), 0);
}

fn run() {
    operations();
    accesses();
    specifications();
    arithmetic();
    data_exceptions();
    floating_point();
    vector_processing();
    special_operations();
    monitor_events();
}
