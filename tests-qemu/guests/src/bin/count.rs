//! Exactness: the number of instructions that the machine counts in a loop, against the true number.
//!
//! Both phases are written in assembly so that each instruction is known. What completes counts one;
//! what is nullified or suppressed counts none (operation and privileged-operation exceptions suppress,
//! protection suppresses, translation nullifies); SUPERVISOR CALL completes; EXECUTE counts two with its
//! target; COMPARE AND TRAP completes although it interrupts. The counter is read by EXTRACT CPU COUNTER
//! itself: between two reads lie the instructions after the first up to and including one of the two
//! ECCTRs, so the difference is the loop plus one.
//!
//! Each interruption's stub counts too, and is therefore as short as can be: LPSWE of a PSW that the
//! loop set once, or of the old PSW.
#![no_std]
#![no_main]

use core::arch::{asm, global_asm};

use guests::insn::cpu::facility;
use guests::insn::measurement::{controls, ecctr, lcctl, set};
use guests::interruption::Class;
use guests::psw::{self, PROBLEM, Psw};
use guests::{end, insn, lowcore, println};

guests::clause!(
    "SA23-2260, Instruction Count (basic counter set, counter 1; problem-state counter set, counter 33)",
    native = false
);
guests::guest!(run);

/// Rounds of phase 1.
const ROUNDS: u64 = 10_000;
/// Turns of the inner BRCTG of phase 1: a round is 10,000 instructions.
const TURNS: u64 = 9_992;
/// Rounds of phase 2 and turns of its inner BRCTG.
const ROUNDS_2: u64 = 1_000;
const TURNS_2: u64 = 50_000;
/// Rounds of phase 3.
const ROUNDS_3: u64 = 400;

global_asm!(
    ".section .text.count,\"ax\",@progbits",
    ".p2align 3",
    // Interruption stubs: one instruction each, except where the old PSW needs care.
    "count_program: lpswe 0x150(%r0)",
    "count_supervisor_call: lpswe 0x140(%r0)",
    // The external stub rearms the clock comparator: register 13 designates a doubleword that lies in
    // the future, register 12 the TOD-clock units to the next. 7 instructions.
    "count_external: stckf 0(%r13)",
    "lg %r1, 0(%r13)",
    "agr %r1, %r12",
    "stg %r1, 0(%r13)",
    "sckc 0(%r13)",
    "asi 0xA00(%r0), 1",
    "lpswe 0x130(%r0)",
    // A page fault is nullified: the stub makes the page valid (register 12 designates the page-table
    // entry, register 10 holds a valid one) and the instruction is performed again. 2 instructions.
    "count_page: stg %r10, 0(%r12)",
    "lpswe 0x150(%r0)",
);

unsafe extern "C" {
    fn count_program();
    fn count_supervisor_call();
    fn count_external();
    fn count_page();
}

fn new_psw(class: Class, stub: unsafe extern "C" fn()) -> Psw {
    let before: Psw = lowcore::read(class.new());
    lowcore::write(
        class.new(),
        Psw::new(psw::INITIAL, stub as *const () as u64),
    );
    before
}

fn report(phase: &str, expected: u64, counted: u64) {
    println!(
        "instructions expected {expected} counted {counted} difference {} ({phase})",
        counted as i64 - expected as i64
    );
}

/// Phase 1: program interruptions of code 1, of code 2, and supervisor calls, in problem state.
///
/// Before the loop, after the first ECCTR (which is not itself in the difference):
///   LPSWE to problem state                                    1
/// One round:
///   LGFI                                                      1
///   BRCTG, TURNS times                                        TURNS
///   operation exception: suppressed 0, stub LPSWE 1           1
///   privileged-operation exception: suppressed 0, stub 1      1
///   SVC 1: completes 1, stub LPSWE 1                          2
///   EXRL of LGR: EXRL and target                              2
///   BRCTG of the outer loop                                   1
/// After the loop:
///   J, LARL, STG (the supervisor-call new PSW designates 45)  3
///   SVC 2: completes, and its new PSW is the way back         1
///   second ECCTR                                              1
fn phase_1(problem: bool) -> (u64, u64) {
    let program = new_psw(Class::Program, count_program);
    let supervisor_call = new_psw(Class::SupervisorCall, count_supervisor_call);
    let number = if problem { 33_u64 } else { 1 };
    let (first, last): (u64, u64);
    // SAFETY: keeps to the registers named; the stubs change none.
    unsafe {
        asm!(
            // The PSW of the loop, the PSW behind it.
            "larl {t}, 40f",
            "stg {t}, 0x738(%r0)",
            ".insn rre,0xb2e40000,{f},{n}",
            "lpswe 0x730(%r0)",
            "40: lgfi {t}, {turns}",
            "41: brctg {t}, 41b",
            ".short 0",
            "ssm 0x900(%r0)",
            "svc 1",
            "exrl %r0, 43f",
            "brctg {r}, 40b",
            "j 44f",
            "43: lgr {t}, {t}",
            "44: larl {t}, 45f",
            "stg {t}, 0x1C8(%r0)",
            "svc 2",
            "45: .insn rre,0xb2e40000,{l},{n}",
            t = out(reg_addr) _,
            r = inout(reg) ROUNDS => _,
            n = in(reg) number,
            f = out(reg) first,
            l = out(reg) last,
            turns = const TURNS,
        );
    }
    lowcore::write(Class::Program.new(), program);
    lowcore::write(Class::SupervisorCall.new(), supervisor_call);
    let per_round_problem = 1 + TURNS + 1 + 2 + 1;
    let per_round_stubs = 3;
    let behind_problem = 3 + 1;
    let expected = if problem {
        // The LPSWE into problem state and the ECCTRs are performed in supervisor state.
        ROUNDS * per_round_problem + behind_problem
    } else {
        1 + ROUNDS * (per_round_problem + per_round_stubs) + behind_problem + 1
    };
    (expected, last.wrapping_sub(first))
}

/// Phase 2: every other class: clock-comparator externals, data exceptions, page translation,
/// protection, in supervisor state with DAT on and external interruptions enabled.
///
/// External interruptions are enabled between the two ECCTRs only: one that came before the first or
/// after the second would be counted by its stub and not by the difference.
///
/// After the first ECCTR:
///   STOSM                                                     1
/// One round:
///   LGFI                                                      1
///   BRCTG, TURNS_2 times                                      TURNS_2
///   CGRTE: completes 1, stub 1                                2
///   LDR of an additional register: suppressed 0, stub 1       1
///   MVI to a protected page: suppressed 0, stub 1             1
///   BRCTG of the outer loop                                   1
/// An external interruption adds the seven instructions of its stub, which counts how many there were.
/// After the loop: STNSM, second ECCTR                         2
fn phase_2() -> (u64, u64) {
    let (first, last): (u64, u64);
    let mut comparator = [0_u64; 1];
    let mut mask = 0_u8;
    let program = new_psw(Class::Program, count_program);
    let external = new_psw(Class::External, count_external);
    lowcore::write(0xA00, 0_u32);
    let cr0 = insn::control::stctg_0();
    insn::control::lctlg_0(cr0 | guests::externals::CLOCK_COMPARATOR);
    insn::clock::sckc(insn::clock::stckf() + 100 * insn::clock::MICROSECOND);
    guests::dat::prepare();
    guests::dat::set_window(2, 0x20_0000 | guests::dat::PROTECTED);
    let protected = guests::dat::WINDOW + 0x2000;
    psw::load_psw(psw::INITIAL | psw::DAT);
    // SAFETY: keeps to the registers named; register 1 belongs to the external stub.
    unsafe {
        asm!(
            ".insn rre,0xb2e40000,{f},{n}",
            "stosm 0({m}), 1",
            "40: lgfi {t}, {turns}",
            "41: brctg {t}, 41b",
            "cgrte {n}, {n}",
            "ldr %f1, %f3",
            "mvi 0({p}), 1",
            "brctg {r}, 40b",
            "stnsm 0({m}), 0xFE",
            ".insn rre,0xb2e40000,{l},{n}",
            t = out(reg) _,
            r = inout(reg) ROUNDS_2 => _,
            n = in(reg) 1_u64,
            p = in(reg_addr) protected,
            m = in(reg_addr) &mut mask,
            f = out(reg) first,
            l = out(reg) last,
            turns = const TURNS_2,
            in("r12") 100 * insn::clock::MICROSECOND,
            in("r13") comparator.as_mut_ptr(),
            out("r1") _,
        );
    }
    psw::load_psw(psw::INITIAL);
    lowcore::write(Class::Program.new(), program);
    lowcore::write(Class::External.new(), external);
    insn::control::lctlg_0(cr0);
    let externals = u64::from(lowcore::read::<u32>(0xA00));
    println!(
        "external interruptions in phase 2: {}",
        if externals > 100 {
            "more than a hundred"
        } else {
            "too few"
        }
    );
    let expected = 1 + ROUNDS_2 * (1 + TURNS_2 + 2 + 1 + 1 + 1) + 2 + 7 * externals;
    (expected, last.wrapping_sub(first))
}

/// Phase 3: page-translation exceptions. Each round makes the page invalid and fetches from it.
///
///   LGFI 1, BRCTG TURNS_2, IPTE 1
///   LG: nullified 0, stub 2, performed again 1
///   BRCTG 1
/// After the loop: second ECCTR                                1
fn phase_3() -> (u64, u64) {
    let (first, last): (u64, u64);
    let program = new_psw(Class::Program, count_page);
    let valid = 0x20_0000_u64;
    guests::dat::set_window(5, valid);
    let page = guests::dat::WINDOW + 0x5000;
    psw::load_psw(psw::INITIAL | psw::DAT);
    // SAFETY: keeps to the registers named; the stub makes the page valid again.
    unsafe {
        asm!(
            ".insn rre,0xb2e40000,{f},{n}",
            "40: lgfi {t}, {turns}",
            "41: brctg {t}, 41b",
            ".insn rrf,0xb2210000,{table},{p},0,0",
            "lg {t}, 0({p})",
            "brctg {r}, 40b",
            ".insn rre,0xb2e40000,{l},{n}",
            t = out(reg) _,
            r = inout(reg) ROUNDS_3 => _,
            n = in(reg) 1_u64,
            p = in(reg_addr) page,
            table = in(reg) guests::dat::window_origin(),
            f = out(reg) first,
            l = out(reg) last,
            turns = const TURNS_2,
            in("r10") valid,
            in("r12") guests::dat::window_origin() + 5 * 8,
        );
    }
    psw::load_psw(psw::INITIAL);
    lowcore::write(Class::Program.new(), program);
    let expected = ROUNDS_3 * (1 + TURNS_2 + 1 + 2 + 1 + 1) + 1;
    (expected, last.wrapping_sub(first))
}

fn run() {
    if !facility(67) {
        println!("instructions cannot be counted: the counter facility (67) is absent");
        end::end_success();
    }
    let sets = set::BASIC | set::PROBLEM_STATE;
    if lcctl(controls(sets, sets)) != 0 {
        println!("basic and problem-state counter sets are not authorized");
        end::end_failure(0x10);
    }
    lowcore::write(lowcore::PROBLEM_PSW, Psw::new(psw::INITIAL | PROBLEM, 0));
    let (expected, counted) = phase_1(false);
    report("codes 1 and 2 and supervisor calls", expected, counted);
    let mut exact = expected == counted;
    let (expected, counted) = phase_1(true);
    report("the same in problem state only", expected, counted);
    exact &= expected == counted;
    let mut close = true;
    for (name, (expected, counted)) in [
        ("clock comparator, data, protection", phase_2()),
        ("page translation", phase_3()),
    ] {
        report(name, expected, counted);
        // Within 0.01 %.
        close &= counted.abs_diff(expected) * 10_000 <= expected;
    }
    let (_, cycles) = ecctr(0);
    println!(
        "cycles are {}",
        if cycles > 0 { "counted" } else { "not counted" }
    );
    if !exact {
        println!("FAILED phase 1 is not exact");
        end::end_failure(0x11);
    }
    if !close {
        println!("FAILED a phase is off by more than 0.01 %");
        end::end_failure(0x12);
    }
}
