//! Program interruptions of codes 1, 2, 3, 5, 6, 7, 9 and monitor events: the code, the length, and the old PSW of a
//! suppressed instruction.

use guests::attempt::{Outcome, suppressed};
use guests::check::check;
use guests::insn::control::lctlg_8;
use guests::{attempt, attempt_in_problem_state, lowcore};

guests::clause!(
    "Principles of Operation, Program Interruption; Types of Instruction Ending",
    native = true
);
guests::case!(run);

fn run() {
    check(
        "operation, 2 bytes",
        attempt!(".short 0").number(),
        suppressed(1, 2),
    );
    check(
        "operation, 4 bytes",
        attempt!(".long 0xB9F30012").number(),
        suppressed(1, 4),
    );
    check(
        "operation, 6 bytes",
        attempt!(".short 0xE3FF, 0x0000, 0x00FF").number(),
        suppressed(1, 6),
    );
    check(
        "operation in problem state",
        attempt_in_problem_state!(".short 0").number(),
        suppressed(1, 2),
    );
    check(
        "privileged operation",
        attempt_in_problem_state!("ssm 0x900(%r0)").number(),
        suppressed(2, 4),
    );
    check(
        "execute",
        attempt!("exrl %r0, 34f\n j 35f\n 34: exrl %r0, 34b\n 35:").number(),
        suppressed(3, 6),
    );
    let far = 0x7000_0000_u64;
    check(
        "addressing, fetch",
        attempt!("lg %r1, 0({a})", a = in(reg_addr) far).code(),
        5,
    );
    check(
        "addressing, store",
        attempt!("stg %r1, 0({a})", a = in(reg_addr) far).code(),
        5,
    );
    let mut quad = [0_u64; 4];
    let a = (quad.as_mut_ptr() as u64).next_multiple_of(16);
    check(
        "specification, odd register",
        attempt!(".insn rr,0x1d00,%r1,%r1").number(),
        suppressed(6, 2),
    );
    check(
        "specification, alignment",
        attempt!("cdsg %r2, %r4, 8({a})", a = in(reg_addr) a).number(),
        suppressed(6, 6),
    );
    let trap = attempt!("cgrte %r1, %r1");
    check(
        "data, COMPARE AND TRAP: completed",
        trap.number(),
        suppressed(7, 4),
    );
    if let Outcome::Program(program) = trap {
        check("data-exception code", program.data_exception_code, 0xFF);
    }
    let register = attempt!("ldr %f1, %f3");
    check(
        "data, additional floating-point register: suppressed",
        register.number(),
        suppressed(7, 2),
    );
    if let Outcome::Program(program) = register {
        check("data-exception code", program.data_exception_code, 1);
    }
    let divide = attempt!(
        "lghi %r1, 0\n lgr %r4, %r2\n lgr %r5, %r3\n dlgr %r2, %r1\n lgr %r2, %r4\n lgr %r3, %r5"
    );
    check("fixed-point divide", divide.code(), 9);
    lctlg_8(1 << (15 - 3));
    let monitor = attempt!("mc 0x234(%r0), 3");
    check("monitor event", monitor.number(), suppressed(0x40, 4));
    check(
        "monitor class",
        lowcore::read::<u16>(lowcore::MONITOR_CLASS),
        3,
    );
    check(
        "monitor code",
        lowcore::read::<u64>(lowcore::MONITOR_CODE),
        0x234,
    );
    check(
        "a class whose mask is zero",
        attempt!("mc 0x234(%r0), 4").code(),
        0,
    );
    check(
        "a class beyond 15",
        attempt!("mc 0x234(%r0), 16").number(),
        suppressed(6, 4),
    );
    lctlg_8(0);
}
