//! Traps with the shortest handler there is: the least that the interruptions of the machine could cost.
//!
//! A loop in the problem state executes a privileged instruction. The handler is one instruction, LOAD PSW EXTENDED of the
//! old PSW. On bare QEMU that is the price of a trap without anything done in it.

use core::arch::global_asm;

use crate::interruption::Class;
use crate::psw::{self, Psw};
use crate::{lowcore, println};

/// Turns of the loop.
pub const TURNS: u64 = 4_000_000;

// The PSW of the loop is at real C00, the instruction stores at C10. A supervisor call ends the loop.
global_asm!(
    ".section .text.bare_traps,\"ax\",@progbits",
    ".p2align 3",
    "at_once: lpswe 0x150(%r0)",
    // A routine that executes an instruction in the problem state as often as %r2 says.
    ".macro loop_of name, instruction:vararg",
    ".p2align 3",
    "\\name: larl %r1, 1f",
    "stg %r1, 0xC08(%r0)",
    "larl %r1, 2f",
    "stg %r1, 0x1C8(%r0)",
    "lpswe 0xC00(%r0)",
    "1: \\instruction",
    "brctg %r2, 1b",
    "svc 0",
    "2: br %r14",
    ".endm",
    "loop_of traps_loop, stap 0xC10(%r0)",
    "loop_of plain_loop, sth %r0, 0xC10(%r0)",
    ".purgem loop_of",
);

unsafe extern "C" {
    fn at_once();
    fn traps_loop(turns: u64);
    fn plain_loop(turns: u64);
}

/// Runs the loop, with a trap in each turn or without one.
pub fn run(traps: bool) {
    let classes = [Class::Program, Class::SupervisorCall];
    let before = classes.map(|class| lowcore::read::<Psw>(class.new()));
    lowcore::write(
        Class::Program.new(),
        Psw::new(psw::INITIAL, at_once as *const () as u64),
    );
    lowcore::write(Class::SupervisorCall.new(), Psw::new(psw::INITIAL, 0));
    lowcore::write(0xC00, psw::INITIAL | psw::PROBLEM);
    // SAFETY: they store at the addresses above only, and come back in the state in which they were called.
    unsafe {
        if traps {
            traps_loop(TURNS);
        } else {
            plain_loop(TURNS);
        }
    }
    for (class, psw) in classes.into_iter().zip(before) {
        lowcore::write(class.new(), psw);
    }
    println!("traps: {}", if traps { TURNS } else { 0 });
}
