//! Rounds of instructions that are known one by one: those that the hardware executes, and those that millicode performs.
//!
//! `tests-qemu/tests/machine/nested.rs` compares what two machines, one above the other, count of them.
//!
//! | a round | instructions |
//! |---|---|
//! | LGHI, BRCTG and its turns, SUPERVISOR CALL, BRCTG of the round: the hardware executes them | 99 |
//! | STORE CPU ADDRESS, LOAD PSW EXTENDED of the handler: millicode performs them | 2 |
#![no_std]
#![no_main]

use core::arch::{asm, global_asm};

use guests::interruption::Class;
use guests::lowcore;
use guests::psw::{self, Psw};

guests::clause!(
    "measure: what the levels of a nested run count",
    native = true
);
guests::guest!(run);

#[repr(C)]
struct Parameters {
    mark: [u8; 24],
    /// How many rounds.
    rounds: u64,
}

#[used]
static mut PARAMETERS: Parameters = Parameters {
    mark: *b"rounds for the levels..:",
    rounds: 1000,
};

global_asm!("levels_supervisor_call: lpswe 0x140(%r0)");

unsafe extern "C" {
    fn levels_supervisor_call();
}

fn run() {
    // SAFETY: nothing stores there.
    let rounds = unsafe { (&raw const PARAMETERS.rounds).read_volatile() };
    let before: Psw = lowcore::read(Class::SupervisorCall.new());
    let handler = levels_supervisor_call as *const () as u64;
    lowcore::write(Class::SupervisorCall.new(), Psw::new(psw::INITIAL, handler));
    let mut address = 0_u16;
    // SAFETY: stores two bytes into a local, and keeps to the registers named.
    unsafe {
        asm!(
            "40: lghi {t}, 96",
            "41: brctg {t}, 41b",
            "stap 0({a})",
            "svc 0",
            "brctg {rounds}, 40b",
            t = out(reg) _,
            a = in(reg_addr) &raw mut address,
            rounds = inout(reg) rounds => _,
        );
    }
    lowcore::write(Class::SupervisorCall.new(), before);
}
