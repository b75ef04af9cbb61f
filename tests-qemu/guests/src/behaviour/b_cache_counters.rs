//! With modelled caches the cache counters of the basic set count directory writes and penalty cycles of instruction
//! fetches and of operands, in both states; those of the problem-state set only what happens in the problem state.

use core::ptr::write_volatile;

use guests::attempt_in_problem_state;
use guests::insn::measurement::{controls, ecctr, lcctl, qctri, set};
use guests::shows;

guests::clause!(
    "SA23-2260, Basic Counter Set; Problem-State Counter Set (cache counters)",
    native = false,
    options = "--exact-caches default; --exact-caches default --model z10"
);
guests::case!(run);

const SETS: u16 = set::BASIC | set::PROBLEM_STATE;
/// Bytes of a line, and cycles that bringing one in costs.
const LINE: usize = 256;
const PENALTY: u64 = 8;
/// Lines that are brought in: fewer than the caches hold.
const LINES: usize = 64;
/// Lines of the program's own around them, at the most.
const FEW: u64 = 16;
/// More lines than a cache holds.
const ALL: usize = 1024;

#[repr(C, align(256))]
struct Lines([[u8; LINE]; ALL]);

static mut OTHER: Lines = Lines([[0; LINE]; ALL]);
static mut DATA: Lines = Lines([[0; LINE]; ALL]);

#[repr(C, align(256))]
struct Text([[u16; LINE / 2]; LINES]);

/// One for each state.
static mut TEXT: [Text; 2] = [const { Text([[0; LINE / 2]; LINES]) }; 2];

/// Counters 2 to 5 and 34 to 37. The text that reads them is the same each time, so that it is in the cache the second
/// time: a line that came in between two of them would count in only one.
#[inline(never)]
fn counters() -> [[u64; 4]; 2] {
    [2, 34].map(|first| core::array::from_fn(|n| ecctr(first + n as u64).1))
}

fn counted(work: impl FnOnce()) -> [[u64; 4]; 2] {
    counters();
    let before = counters();
    work();
    let after = counters();
    [0, 1].map(|set| core::array::from_fn(|n| after[set][n] - before[set][n]))
}

/// Fetches from this many lines, one after the other.
fn touch(lines: *const Lines, count: usize, is_problem_state: bool) {
    let (mut at, mut turns) = (lines as u64, count as u64);
    if is_problem_state {
        let _ = attempt_in_problem_state!(
            "40: cli 0({a}), 0\n la {a}, 256({a})\n brctg {n}, 40b",
            a = inout(reg_addr) at,
            n = inout(reg) turns,
        );
    } else {
        // SAFETY: the lines are storage, and are only read.
        unsafe {
            core::arch::asm!(
                "40: cli 0({a}), 0",
                "la {a}, 256({a})",
                "brctg {n}, 40b",
                a = inout(reg_addr) at,
                n = inout(reg) turns,
            );
        }
    }
    let _ = (at, turns);
}

/// A branch in each line leads to the next one, and the last one back: BR 14, or SUPERVISOR CALL from the problem
/// state.
fn write_text(is_problem_state: bool) {
    let lines = text(is_problem_state) as *mut [u16; LINE / 2];
    for n in 0..LINES {
        let (first, second) = if n < LINES - 1 {
            // BRC 15 over the line.
            (0xA7F4, (LINE / 2) as u16)
        } else {
            (if is_problem_state { 0x0AFF } else { 0x07FE }, 0)
        };
        // SAFETY: inside the text, which nothing else uses.
        unsafe {
            let line = lines.add(n).cast::<u16>();
            write_volatile(line, first);
            write_volatile(line.add(1), second);
        }
    }
}

fn text(is_problem_state: bool) -> *mut Text {
    // SAFETY: the address only.
    unsafe {
        (&raw mut TEXT)
            .cast::<Text>()
            .add(usize::from(is_problem_state))
    }
}

fn execute(is_problem_state: bool) {
    let at = text(is_problem_state);
    if is_problem_state {
        let _ = attempt_in_problem_state!("br {t}", t = in(reg_addr) at);
    } else {
        // SAFETY: the text returns.
        unsafe { core::arch::asm!("basr %r14, {t}", t = in(reg_addr) at, out("r14") _) };
    }
}

/// About this many lines, at their price.
fn about(lines: usize, directory_writes: u64, penalty: u64) -> bool {
    (lines as u64..lines as u64 + FEW).contains(&directory_writes)
        && penalty == PENALTY * directory_writes
}

fn run() {
    let has_problem_state = qctri().first_version == 1;
    lcctl(controls(SETS, SETS));
    for is_problem_state in [false, true] {
        write_text(is_problem_state);
        for lines in [LINES, 0] {
            let [[writes, penalty, ..], problem] = counted(|| execute(is_problem_state));
            shows!(
                ["BASIC-9", "BASIC-10", "BASIC-8"],
                about(lines, writes, penalty)
            );
            if is_problem_state && has_problem_state {
                let [writes, penalty, ..] = problem;
                shows!("PROBLEM-11", about(lines, writes, penalty));
            } else {
                shows!("PROBLEM-9", problem, [0; 4]);
            }
        }
    }
    for is_problem_state in [false, true] {
        touch(&raw const OTHER, ALL, false);
        for lines in [LINES, 0] {
            let [[.., writes, penalty], problem] =
                counted(|| touch(&raw const DATA, LINES, is_problem_state));
            shows!(
                ["BASIC-11", "BASIC-12", "BASIC-8"],
                about(lines, writes, penalty)
            );
            if is_problem_state && has_problem_state {
                let [_, _, writes, penalty] = problem;
                shows!("PROBLEM-8", about(lines, writes, penalty));
            } else {
                shows!("PROBLEM-9", problem, [0; 4]);
            }
        }
    }
    lcctl(0);
}
