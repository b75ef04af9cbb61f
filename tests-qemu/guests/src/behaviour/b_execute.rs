//! EXECUTE and EXECUTE RELATIVE LONG, of privileged instructions above all: in supervisor state they are performed with
//! the target's immediate field modified; in problem state they meet a privileged-operation exception with the length
//! and the address of the EXECUTE. An EXECUTE of an EXECUTE is an execute exception.

use guests::attempt::{nullified, suppressed};
use guests::check::{check, holds};
use guests::dat::{self, INVALID, WINDOW};
use guests::insn::clock::stckc;
use guests::insn::control::{epsw, ssm, stctg_all};
use guests::{attempt, attempt_in_problem_state, attempt_on_registers, shows};

guests::clause!("SA22-7832, EXECUTE; EXECUTE RELATIVE LONG", native = true);
guests::case!(run);

fn mask() -> u8 {
    (epsw().0 >> 24) as u8
}

fn run() {
    modification();
    let mut block = [0_u64; 4];
    let a = block.as_mut_ptr() as u64;
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
    exceptions(a);
    condition_codes();
    access();
}

/// STORE THEN OR SYSTEM MASK and STORE THEN AND SYSTEM MASK with another immediate field.
fn modification() {
    let mut byte = 0_u8;
    let a = &raw mut byte as u64;
    // Bits beside the rightmost eight of R1, which is register 4.
    let mut registers = [0, 0, a, 0x5A5A_5A5A_5A5A_5A02, 0];
    let outcome = attempt_on_registers!(
        "exrl %r4, 34f\n lghi %r5, 1\n j 35f\n 34: stosm 0(%r3), 0x01\n 35:",
        &mut registers
    );
    shows!(
        ["EXRL-1", "EXRL-2"],
        (outcome.code(), mask(), byte),
        (0, 0x03, 0)
    );
    shows!(
        ["EXRL-1", "EXRL-4"],
        [registers[3], registers[4]],
        [0x5A5A_5A5A_5A5A_5A02, 1]
    );
    let mut registers = [0x02, 0, a, 0, 0];
    let _ = attempt_on_registers!(
        "larl %r4, 34f\n ex %r0, 0(%r4)\n lghi %r5, 1\n j 35f\n 34: stnsm 0(%r3), 0xFD\n 35:",
        &mut registers
    );
    shows!(
        ["EX-1", "EX-3"],
        (mask(), byte, registers[4]),
        (0x01, 0x03, 1)
    );
    let mut registers = [0, 0, a, 0, 0x5A5A_5A5A_5A5A_5A02];
    let _ = attempt_on_registers!(
        "larl %r4, 34f\n ex %r5, 0(%r4)\n lgr %r2, %r4\n j 35f\n 34: stosm 0(%r3), 0x00\n 35:",
        &mut registers
    );
    shows!(["EX-1", "EX-2"], (mask(), byte), (0x03, 0x01));
    // SAFETY: the address of the target, which is four bytes of text.
    let target = unsafe { *core::ptr::with_exposed_provenance::<[u8; 4]>(registers[1] as usize) };
    shows!(
        "EX-4",
        (registers[4], target),
        (0x5A5A_5A5A_5A5A_5A02, [0xAD, 0, 0x30, 0])
    );
    let mut registers = [0xFF, 0, a, 0, 0];
    let _ = attempt_on_registers!(
        "exrl %r0, 34f\n larl %r2, 34f\n j 35f\n 34: stnsm 0(%r3), 0x01\n 35:",
        &mut registers
    );
    shows!("EXRL-3", (mask(), byte), (0x01, 0x03));
    // SAFETY: as above.
    let target = unsafe { *core::ptr::with_exposed_provenance::<[u8; 4]>(registers[1] as usize) };
    shows!("EXRL-4", target, [0xAC, 1, 0x30, 0]);
    ssm(0);
}

/// Exceptions of the target, and of the instruction itself.
fn exceptions(a: u64) {
    let ended = attempt_in_problem_state!("exrl %r0, 34f\n j 35f\n 34: ssm 0({a})\n 35:", a = in(reg_addr) a);
    shows!("EXRL-6", ended.number(), suppressed(2, 6));
    let ended = attempt_in_problem_state!("ex %r0, 0({t})", t = in(reg_addr) target());
    shows!("EX-6", ended.number(), suppressed(2, 4));
    let unassigned = [
        attempt!("ex %r0, 0({t})", t = in(reg_addr) unassigned()).number(),
        attempt!("exrl %r0, execute_unassigned").number(),
    ];
    shows!(
        ["EX-6", "EXRL-6"],
        unassigned,
        [suppressed(1, 4), suppressed(1, 6)]
    );
    let again = [
        attempt!("ex %r0, 0({t})", t = in(reg_addr) again()).number(),
        attempt!("exrl %r0, execute_again").number(),
    ];
    shows!(
        ["EX-9", "EXRL-9"],
        again,
        [suppressed(3, 4), suppressed(3, 6)]
    );
}

/// A target that sets the condition code, and one that does not.
fn condition_codes() {
    for (value, code) in [(0_i64, 0_u8), (-1, 1), (1, 2)] {
        let value = value as u64;
        let by_ex = attempt_on_registers!(
            "larl %r4, 34f\n ex %r0, 0(%r4)\n j 35f\n 34: ltgr %r2, %r2\n 35:",
            &mut [0, value, 0, 0, 0]
        );
        shows!("EX-5", by_ex.condition_code(), code);
        let by_exrl = attempt_on_registers!(
            "exrl %r0, 34f\n j 35f\n 34: ltgr %r2, %r2\n 35:",
            &mut [0, value, 0, 0, 0]
        );
        shows!("EXRL-5", by_exrl.condition_code(), code);
    }
    for code in 0..4_u8 {
        let mut byte = 0_u8;
        let mut registers = [0, u64::from(code) << 28, &raw mut byte as u64, 0, 0];
        let kept = attempt_on_registers!(
            "spm %r2\n exrl %r0, 34f\n j 35f\n 34: stnsm 0(%r3), 255\n 35:",
            &mut registers
        );
        shows!("EXRL-5", kept.condition_code(), code);
    }
}

/// An operand of the target in an invalid page.
fn access() {
    dat::prepare();
    dat::set_window(0, INVALID);
    dat::on();
    let by_ex =
        attempt_on_registers!("ex %r0, 0(%r2)", &mut [0, fetching(), WINDOW, 0, 0]).number();
    let by_exrl =
        attempt_on_registers!("exrl %r0, execute_fetching", &mut [0, 0, WINDOW, 0, 0]).number();
    dat::off();
    shows!("EX-7", by_ex, nullified(0x11, 4));
    shows!("EXRL-7", by_exrl, nullified(0x11, 6));
}

core::arch::global_asm!(
    ".section .text.targets,\"ax\",@progbits",
    ".p2align 3",
    "execute_target: stap 0x900(%r0)",
    "execute_again: ex %r0, 0x900(%r0)",
    "execute_unassigned: .long 0xB9F30000",
    "execute_fetching: lg %r4, 0(%r3)",
);

unsafe extern "C" {
    fn execute_target();
    fn execute_again();
    fn execute_unassigned();
    fn execute_fetching();
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
fn fetching() -> u64 {
    execute_fetching as *const () as u64
}
