//! A PSW that is not valid becomes current and is refused at once: the old PSW is the refused one. So it is for
//! LOAD PSW EXTENDED, for the instructions of the system mask, and for interruptions. (QEMU refuses less, hence not
//! native.)

use core::arch::asm;

use guests::attempt::Outcome;
use guests::externals::{self, EXTERNAL_CALL};
use guests::insn::control::{lctlg_0, stctg_0};
use guests::insn::cpu::{Order, sigp};
use guests::interruption::{Class, old_psw};
use guests::psw::{EXTERNAL, INITIAL, PROBLEM, Psw, WAIT, bit, load_psw};
use guests::{attempt, lowcore, shows};

guests::clause!(
    "SA22-7832, Chapter 6, Early Exception Recognition; Late Exception Recognition; Chapter 4, Program-Status-Word Format; Chapter 10, LOAD PSW EXTENDED",
    native = false
);
guests::case!(run);

/// Loads a PSW: the code of the interruption, and whether the old PSW is the loaded one with the length zero.
fn loaded(mask: u64, address: u64) -> (u16, bool) {
    let psw = Psw::new(mask, address);
    match attempt!("lpswe 0({p})", p = in(reg_addr) &raw const psw) {
        Outcome::Program(program) => (program.code, program.length == 0 && program.old == psw),
        _ => (0, false),
    }
}

/// What every PSW that is refused early meets.
const EARLY: (u16, bool) = (6, true);

fn unassigned_bits() {
    for n in [0, 2, 3, 4] {
        shows!(
            ["PSW-1", "LPSWE-3"],
            loaded(INITIAL | bit(n), 0x1000),
            EARLY
        );
    }
    shows!("PSW-2", loaded(INITIAL | bit(12), 0x1000), EARLY);
    for n in 24..=30 {
        shows!("PSW-3", loaded(INITIAL | bit(n), 0x1000), EARLY);
    }
    for n in 33..=63 {
        shows!("PSW-4", loaded(INITIAL | bit(n), 0x1000), EARLY);
    }
}

fn addresses() {
    shows!(["PSW-5", "LPSWE-3"], loaded(bit(31), 0x1000), EARLY);
    for n in 0..=39 {
        shows!(["PSW-6", "LPSWE-3"], loaded(0, bit(n) | 0x1000), EARLY);
    }
    for n in 0..=32 {
        shows!("PSW-7", loaded(bit(32), bit(n) | 0x1000), EARLY);
    }
    shows!("PSW-8", loaded(INITIAL | bit(0), u64::MAX - 1), EARLY);
}

/// Nothing that is pending or enabled comes before.
fn before_anything_else() {
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 | EXTERNAL_CALL);
    let _ = sigp(0, Order::ExternalCall, 0);
    let found = loaded(INITIAL | EXTERNAL | bit(0), 0x1000);
    let taken = externals::take_codes();
    shows!("EARLY-1", (found, taken), (EARLY, 0));
    load_psw(INITIAL | EXTERNAL);
    load_psw(INITIAL);
    shows!("EARLY-1", externals::take_codes(), 0x1202);
    lctlg_0(cr0);
    // It does not wait, and whether it is a program's does not matter.
    shows!("EARLY-2", loaded(INITIAL | WAIT | bit(0), 0x1000), EARLY);
    shows!("EARLY-2", loaded(INITIAL | PROBLEM | bit(2), 0x1000), EARLY);
    // No instruction is fetched.
    shows!("EARLY-3", loaded(INITIAL | bit(0), 0x7000_0001), EARLY);
}

fn met(outcome: Outcome) -> (u16, Psw, i64) {
    match outcome {
        Outcome::Program(program) => (program.code, program.old, program.advanced),
        _ => (0, Psw::new(0, 0), 0),
    }
}

fn by_system_mask() {
    let byte = 0x88_u8;
    let (code, old, advanced) = met(attempt!("ssm 0({b})", b = in(reg_addr) &raw const byte));
    shows!("EARLY-4", (code, old.mask >> 56, advanced), (6, 0x88, 4));
    load_psw(INITIAL);
    let mut stored = 0xFF_u8;
    let (code, old, advanced) =
        met(attempt!("stosm 0({b}), 0x10", b = in(reg_addr) &raw mut stored));
    shows!(
        "EARLY-4",
        (code, old.mask >> 56, advanced, stored),
        (6, 0x10, 4, 0)
    );
    load_psw(INITIAL);
}

fn by_interruption() {
    for bad in [bit(0), bit(12), bit(30), bit(40)] {
        let good: Psw = lowcore::read(Class::SupervisorCall.new());
        let new = Psw::new(good.mask | bad, good.address);
        lowcore::write(Class::SupervisorCall.new(), new);
        let outcome = attempt!("svc 7");
        lowcore::write(Class::SupervisorCall.new(), good);
        let (code, old, _) = met(outcome);
        let length: u16 = lowcore::read(lowcore::PROGRAM_LENGTH);
        shows!("EARLY-5", (code, old, length), (6, new, 0));
        let svc: u16 = lowcore::read(lowcore::SVC_CODE);
        shows!(
            "EARLY-6",
            (svc, old_psw(Class::SupervisorCall).mask & !(3 << 44)),
            (7, INITIAL)
        );
    }
}

/// An odd address is recognized when the instruction is fetched: interruptions for which the PSW is enabled come
/// before, and a CPU that waits does not fetch.
fn late() {
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 | EXTERNAL_CALL);
    let _ = sigp(0, Order::ExternalCall, 0);
    lowcore::write(lowcore::EXTERNAL_CODE, 0_u16);
    let odd = Psw::new(INITIAL | EXTERNAL, 0x2001);
    let outcome = attempt!("lpswe 0({p})", p = in(reg_addr) &raw const odd);
    let number = externals::recorded();
    let interrupted = externals::get(0).address;
    shows!(
        "LATE-1",
        (outcome.code(), number, interrupted),
        (6, 1, 0x2001)
    );
    externals::take_codes();
    let _ = sigp(0, Order::ExternalCall, 0);
    let waits = Psw::new(INITIAL | EXTERNAL | WAIT, 0x2001);
    let outcome = attempt!("lpswe 0({p})", p = in(reg_addr) &raw const waits);
    shows!(
        "LATE-2",
        (
            outcome.code(),
            externals::recorded(),
            externals::get(0).address
        ),
        (6, 1, 0x2001)
    );
    externals::take_codes();
    lctlg_0(cr0);
    let program = Psw::new(INITIAL | PROBLEM, 0x2001);
    let outcome = attempt!("lpswe 0({p})", p = in(reg_addr) &raw const program);
    shows!(
        "LATE-3",
        (outcome.code(), old_psw(Class::Program).address & 1),
        (6, 1)
    );
}

/// LOAD PSW tests one bit before it loads.
fn short() {
    let without_bit_12 = 0x0000_0000_8000_1000_u64;
    let (code, _, advanced) =
        met(attempt!("lpsw 0({p})", p = in(reg_addr) &raw const without_bit_12));
    shows!("EARLY-7", (code, advanced), (6, 4));
    let wide = 0x0008_0000_0100_1000_u64;
    let outcome = attempt!("lpsw 0({p})", p = in(reg_addr) &raw const wide);
    let length: u16 = lowcore::read(lowcore::PROGRAM_LENGTH);
    shows!(
        "EARLY-8",
        (outcome.code(), length, old_psw(Class::Program)),
        (6, 0, Psw::new(0, 0x0100_1000))
    );
}

fn run() {
    // What was printed has left a service signal pending.
    lctlg_0(stctg_0() & !externals::SERVICE_SIGNAL);
    unassigned_bits();
    addresses();
    before_anything_else();
    by_system_mask();
    by_interruption();
    late();
    short();
}
