//! The counters of the basic and problem-state sets count each instruction, in both states, and cycles, but nothing
//! during a wait.

use guests::attempt_in_problem_state;
use guests::externals;
use guests::insn::clock::{MICROSECOND, sckc, stck};
use guests::insn::control::{lctlg_0, stctg_0, wait};
use guests::insn::measurement::{controls, ecctr, lcctl, qctri, scctr, set, stcctm};
use guests::psw;
use guests::sampling::busy;
use guests::shows;

guests::clause!(
    "SA23-2260, Basic Counter Set; Problem-State Counter Set",
    native = false
);
guests::case!(run);

const SETS: u16 = set::BASIC | set::PROBLEM_STATE;
const TURNS: u64 = 100_000;

/// Cycles and instructions of each set, at one moment.
fn counters() -> [u64; 4] {
    let (mut basic, mut problem) = ([0; 2], [0; 2]);
    stcctm::<1>(2, &mut basic);
    stcctm::<2>(2, &mut problem);
    // SAFETY: stored by the instructions.
    let (basic, problem) = unsafe {
        (
            core::ptr::read_volatile(&raw const basic),
            core::ptr::read_volatile(&raw const problem),
        )
    };
    [basic[0], basic[1], problem[0], problem[1]]
}

/// What the four counters counted during `run`.
fn counted(work: impl FnOnce()) -> [u64; 4] {
    let before = counters();
    work();
    let after = counters();
    core::array::from_fn(|n| after[n].wrapping_sub(before[n]))
}

fn run() {
    shows!("LCCTL-12", lcctl(controls(SETS, SETS)), 0);
    // The loop has TURNS instructions. A few of the program's own are around it.
    let near = |counted: u64| (TURNS..TURNS + 1000).contains(&counted);
    let [cycles, instructions, problem_cycles, problem_instructions] = counted(|| {
        busy(TURNS);
    });
    shows!(["BASIC-3", "BASIC-8", "STATE-8"], near(instructions));
    shows!(["BASIC-2", "CPUSET-3"], cycles, instructions);
    shows!("PROBLEM-5", (problem_cycles, problem_instructions), (0, 0));
    let [cycles, instructions, problem_cycles, problem_instructions] = counted(|| {
        let mut turns = TURNS;
        let _ = attempt_in_problem_state!("40: brctg {n}, 40b", n = inout(reg) turns);
    });
    shows!(["BASIC-3", "BASIC-8"], near(instructions));
    shows!(["BASIC-2", "CPUSET-3"], cycles, instructions);
    // In the problem state there are the loop and the supervisor call that ends it.
    shows!("PROBLEM-4", problem_instructions, TURNS + 1);
    shows!(
        ["PROBLEM-3", "CPUSET-3"],
        problem_cycles,
        problem_instructions
    );
    // Ten milliseconds of wait.
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 | externals::CLOCK_COMPARATOR);
    let begin = stck();
    let [cycles, ..] = counted(|| {
        sckc(begin + 10_000 * MICROSECOND);
        wait(psw::EXTERNAL);
    });
    let waited = stck() - begin;
    lctlg_0(cr0);
    shows!(
        "BASIC-2",
        externals::take_codes() == 0x1004 && waited >= 10_000 * MICROSECOND && cycles < 10_000
    );
    // There is no cache.
    busy(TURNS);
    shows!("BASIC-4", ecctr(2), (0, 0));
    shows!("BASIC-5", ecctr(3), (0, 0));
    shows!("BASIC-6", ecctr(4), (0, 0));
    shows!("BASIC-7", ecctr(5), (0, 0));
    // The numbers of the counters that exist.
    let version = qctri().first_version;
    shows!(
        ["BASIC-1", "SETS-5"],
        (0..32).all(|number| (ecctr(number).0 == 0) == (number < 6))
    );
    let last = if version == 1 { 37 } else { 33 };
    let right = (32..64).all(|number| (ecctr(number).0 == 0) == (number <= last));
    if version == 3 {
        shows!(["PROBLEM-1", "SETS-5"], right);
    } else {
        shows!(["PROBLEM-2", "SETS-5"], right);
    }
    // A counter has 64 bits, and a carry out of them is lost.
    scctr(1, u64::MAX - 10);
    busy(100);
    shows!(["COUNTER-1", "COUNTER-2"], ecctr(1).1 < 10_000);
    scctr(1, 1 << 63);
    shows!(["COUNTER-1", "STATE-10"], ecctr(1).1 >> 63, 1);
    lcctl(0);
}
