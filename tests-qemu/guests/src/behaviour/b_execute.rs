//! EXECUTE and EXECUTE RELATIVE LONG of privileged instructions: in supervisor state they are performed with the
//! target's immediate field modified; in problem state they meet a privileged-operation exception with the length and
//! the address of the EXECUTE. An EXECUTE of an EXECUTE is an execute exception.

use guests::attempt::suppressed;
use guests::check::{check, holds};
use guests::insn::clock::stckc;
use guests::insn::control::{epsw, ssm, stctg_all};
use guests::{attempt, attempt_in_problem_state};

guests::clause!(
    "Principles of Operation, EXECUTE; EXECUTE RELATIVE LONG",
    native = true
);
guests::case!(run);

fn mask() -> u8 {
    (epsw().0 >> 24) as u8
}

fn run() {
    let mut block = [0_u64; 4];
    let a = block.as_mut_ptr() as u64;
    let _ = attempt!("lghi %r1, 0x02\n exrl %r1, 34f\n j 35f\n 34: stosm 0({a}), 0x01\n 35:", a = in(reg_addr) a);
    check("mask", mask(), 0x03);
    check("the old mask was stored", (block[0] >> 56) as u8, 0);
    let _ = attempt!("larl %r1, 34f\n ex %r0, 0(%r1)\n j 35f\n 34: stnsm 0({a}), 0xFD\n 35:", a = in(reg_addr) a);
    check(
        "EX with register 0 modifies nothing: STNSM FD",
        mask(),
        0x01,
    );
    check("the old mask was stored", (block[0] >> 56) as u8, 0x03);
    ssm(0);
    let _ = attempt!("exrl %r0, 34f\n j 35f\n 34: stctg 0, 2, 0({a})\n 35:", a = in(reg_addr) a);
    holds(
        "EXRL of STCTG of three registers",
        block[..3] == stctg_all()[..3],
    );
    block[1] = 0x0123_4567_89AB_CDEF;
    let _ = attempt!("exrl %r0, 34f\n j 35f\n 34: sckc 8({a})\n 35:", a = in(reg_addr) a);
    check("EXRL of SCKC", stckc(), 0x0123_4567_89AB_CDEF);
    let _ = attempt!("exrl %r0, 34f\n j 35f\n 34: stap 0({a})\n 35:", a = in(reg_addr) a);
    check("EXRL of STAP", (block[0] >> 48) as u16, 0);
    let ended = attempt_in_problem_state!("exrl %r0, 34f\n j 35f\n 34: ssm 0({a})\n 35:", a = in(reg_addr) a);
    check(
        "EXRL of SSM in problem state",
        ended.number(),
        suppressed(2, 6),
    );
    let ended = attempt_in_problem_state!(
        "ex %r0, 0({t})\n j 35f\n 34: ssm 0({a})\n 35:",
        a = in(reg_addr) a,
        t = in(reg_addr) target(),
    );
    check(
        "EX of STAP in problem state",
        ended.number(),
        suppressed(2, 4),
    );
    check(
        "EX of EX",
        attempt!("ex %r0, 0({t})", t = in(reg_addr) again()).number(),
        suppressed(3, 4),
    );
    check(
        "EXRL of EX",
        attempt!("exrl %r0, execute_again").number(),
        suppressed(3, 6),
    );
    check(
        "EX of an unassigned operation",
        attempt!("ex %r0, 0({t})", t = in(reg_addr) unassigned()).number(),
        suppressed(1, 4),
    );
    check(
        "EXRL of an unassigned operation",
        attempt!("exrl %r0, execute_unassigned").number(),
        suppressed(1, 6),
    );
}

core::arch::global_asm!(
    ".section .text.targets,\"ax\",@progbits",
    ".p2align 3",
    "execute_target: stap 0x900(%r0)",
    "execute_again: ex %r0, 0x900(%r0)",
    "execute_unassigned: .long 0xB9F30000",
);

unsafe extern "C" {
    fn execute_target();
    fn execute_again();
    fn execute_unassigned();
}

fn target() -> u64 {
    execute_target as *const () as u64
}
fn again() -> u64 {
    execute_again as *const () as u64
}
fn unassigned() -> u64 {
    execute_unassigned as *const () as u64
}
