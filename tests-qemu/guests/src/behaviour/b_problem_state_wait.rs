//! A wait in the problem state counts neither in the basic set nor in the problem-state set.

use guests::attempt_in_problem_state;
use guests::externals::{self, CLOCK_COMPARATOR};
use guests::insn::clock::{MICROSECOND, sckc, stck};
use guests::insn::control::{lctlg_0, stctg_0, stnsm};
use guests::insn::measurement::{controls, ecctr, lcctl, set};
use guests::lowcore::{self, PROBLEM_PSW};
use guests::psw::{EXTERNAL, INITIAL, PROBLEM, Psw, WAIT};
use guests::shows;

guests::clause!(
    "SA23-2260, Basic Counter Set; Problem-State Counter Set (wait state)",
    native = false
);
guests::case!(run);

const SETS: u16 = set::BASIC | set::PROBLEM_STATE;
const TURNS: u64 = 1000;

fn run() {
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 | CLOCK_COMPARATOR);
    lcctl(controls(SETS, SETS));
    // Ten milliseconds of wait, which an interruption ends, and then a loop in the problem state.
    let before: Psw = lowcore::read(PROBLEM_PSW);
    lowcore::write(
        PROBLEM_PSW,
        Psw::new(INITIAL | PROBLEM | WAIT | EXTERNAL, 0),
    );
    let begin = stck();
    let (cycles, problem_cycles, instructions) = (ecctr(0).1, ecctr(32).1, ecctr(33).1);
    sckc(begin + 10_000 * MICROSECOND);
    let mut turns = TURNS;
    let _ = attempt_in_problem_state!("40: brctg {n}, 40b", n = inout(reg) turns);
    let counted = [ecctr(0).1 - cycles, ecctr(32).1 - problem_cycles];
    let executed = ecctr(33).1 - instructions;
    let waited = stck() - begin;
    stnsm::<0xFE>();
    lowcore::write(PROBLEM_PSW, before);
    lctlg_0(cr0);
    shows!(
        ["PROBLEM-7", "BASIC-2"],
        externals::take_codes() == 0x1004 && waited >= 10_000 * MICROSECOND
    );
    // In the problem state there are the loop and the supervisor call that ends it.
    shows!("PROBLEM-7", (executed, counted[1]), (TURNS + 1, TURNS + 1));
    shows!("BASIC-2", counted[0] < 10_000);
    lcctl(0);
}
