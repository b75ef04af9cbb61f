//! DIAGNOSE 308: load normal (subcode 1) and clear reset (0) reset both CPUs and their measurement facilities, clear
//! the registers that they must clear, and go on with the PSW at absolute 0. There are no load parameters (5 and 6).
//! Loading anew is the only other function.

use core::sync::atomic::{AtomicU32, Ordering};

use guests::attempt::{Outcome, suppressed};
use guests::check::check;
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::{Order, sigp};
use guests::insn::measurement::{controls, lcctl, lpp, lsctl, qctri, qsi, set};
use guests::insn::registers::Registers;
use guests::insn::yield_cpu;
use guests::{attempt, attempt_on_registers, lowcore, sampling, shows, smp};

guests::clause!(
    "DIAGNOSE 308; SA23-2260, Resets; Clear Reset; SA22-7832, Chapter 4, Resets",
    native = false,
    cpus = 2
);
guests::case!(run);

const SPECIFICATION: u16 = 6;
const ADDRESSING: u16 = 5;

/// The contents of the floating-point, vector and access registers before a reset.
const BEFORE: Registers = Registers {
    vectors: [[0x1111_2222_3333_4444, 0x5555_6666_7777_8888]; 32],
    access: [0x9999_AAAA; 16],
    // Inexact, and rounding toward zero.
    control: 0x0008_0001,
};

static RUNNING: AtomicU32 = AtomicU32::new(0);

extern "C" fn other() -> ! {
    lcctl(controls(set::BASIC, set::BASIC));
    loop {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        yield_cpu();
    }
}

/// DIAGNOSE 308 with a subcode that goes on at the PSW at 0. Returns general registers 2 and 5 afterwards.
fn reset(subcode: u64) -> (u64, u64) {
    let control = stctg_all();
    let before: u64 = lowcore::read(0);
    let (kept, other): (u64, u64);
    // SAFETY: the registers are kept in storage that nothing else uses; the PSW at 0 leads back here.
    unsafe {
        core::arch::asm!(
            "larl %r2, 32f",
            "oihl %r2, 0",
            "iihf %r2, 0x00080000",
            "oilh %r2, 0x8000",
            "stg %r2, 0(%r0)",
            "lghi %r5, 77",
            "stmg %r0, %r15, 0xA00(%r0)",
            "lgr %r1, {s}",
            "lghi %r2, 55",
            "diag %r2, %r1, 0x308",
            "32: sam64",
            "stg %r2, 0xA80(%r0)",
            "stg %r5, 0xA88(%r0)",
            "lmg %r0, %r15, 0xA00(%r0)",
            "lg %r2, 0xA80(%r0)",
            "lg %r5, 0xA88(%r0)",
            s = in(reg) subcode,
            out("r1") _,
            out("r2") kept,
            out("r5") other,
        );
    }
    lowcore::write(0, before);
    let found = stctg_all();
    let is_initial = |n: usize| match n {
        0 => found[0] == 0xE0,
        14 => found[14] == 0xC200_0000,
        _ => found[n] == 0,
    };
    shows!(["RESET-23", "RESET-26"], (0..16).all(is_initial));
    lctlg_all(&control);
    (kept, other)
}

fn both(name: &str, subcode: u64, registers: (u64, u64), others: Registers) {
    guests::insn::control::lctlg_4(0x4444);
    smp::start(1, other);
    let before = RUNNING.load(Ordering::Relaxed);
    while RUNNING.load(Ordering::Relaxed) == before {
        yield_cpu();
    }
    check(
        "counters active",
        lcctl(controls(set::BASIC, set::BASIC)),
        0,
    );
    check("sampling active", lsctl(&sampling::prepare(4, 10_000)), 0);
    lpp(0x99);
    BEFORE.load();
    let found = reset(subcode);
    let found_of_others = Registers::store();
    let is_as_it_should_be = found == registers && found_of_others == others;
    if subcode == 0 {
        shows!(["RESET-25", "RESET-28"], is_as_it_should_be);
    } else {
        shows!(["RESET-23", "RESET-28"], is_as_it_should_be);
    }
    guests::println!("{name}");
    let information = qctri();
    check(
        "  authorized",
        information.authorization & set::BASIC,
        set::BASIC,
    );
    check(
        "  counters are disabled",
        information.enable | information.activation,
        0,
    );
    check("  sampling is disabled", qsi().state, 0x0002_0000);
    check("  TEAR and DEAR", qsi().tear | qsi().dear, 0);
    let (mut cc, mut status) = sigp(1, Order::Sense, 0);
    while cc == 2 {
        yield_cpu();
        (cc, status) = sigp(1, Order::Sense, 0);
    }
    shows!(["RESET-24", "RESET-27"], (cc, status), (1, 0x40));
    let stopped = RUNNING.load(Ordering::Relaxed);
    yield_cpu();
    shows!(
        ["RESET-24", "RESET-27"],
        RUNNING.load(Ordering::Relaxed),
        stopped
    );
}

/// DIAGNOSE 308 with an address in general register 2; general register 3 is the response.
fn parameters(subcode: u64, at: u64) -> (Outcome, u64) {
    let mut registers = [0, at, 0, subcode, 0];
    let outcome = attempt_on_registers!("diag %r2, %r4, 0x308", &mut registers);
    (outcome, registers[2])
}

fn run() {
    for (subcode, expected) in [(5, 0x402), (6, 0x102)] {
        let (outcome, response) = parameters(subcode, 0x3000);
        check("load parameters", outcome.code(), 0);
        check("  response", response, expected);
    }
    for (name, at, code) in [
        ("an address off its boundary", 0x3008, SPECIFICATION),
        ("an address beyond storage", 0x7000_0000, ADDRESSING),
    ] {
        check(name, parameters(6, at).0.number(), suppressed(code, 4));
    }
    for subcode in [2_u64, 7, 0x100, 0x1_0000_0003] {
        let outcome = attempt!("diag %r2, {s}, 0x308", s = in(reg_addr) subcode);
        check(
            "not offered",
            outcome.number(),
            suppressed(SPECIFICATION, 4),
        );
    }
    let without_control = Registers {
        control: 0,
        ..BEFORE
    };
    both("load normal", 1, (55, 77), without_control);
    both("clear reset", 0, (0, 0), Registers::CLEAR);
}
