//! SUPERVISOR CALL stores its code and length and the PSW of the next instruction.

use guests::attempt::Outcome;
use guests::check::check;
use guests::interruption::{Class, old_psw};
use guests::{attempt, attempt_in_problem_state, lowcore};

guests::clause!(
    "Principles of Operation, SUPERVISOR CALL; supervisor-call interruption",
    native = true
);
guests::case!(run);

fn run() {
    let outcome = attempt!("svc 42");
    check(
        "SVC 42 in supervisor state",
        outcome.number(),
        Outcome::SupervisorCall(42).number(),
    );
    facts(0);
    let outcome = attempt_in_problem_state!("svc 7");
    check(
        "SVC 7 in problem state",
        outcome.number(),
        Outcome::SupervisorCall(7).number(),
    );
    facts(1);
    let outcome = attempt!("larl %r1, 34f\n ex 0, 0(%r1)\n j 35f\n 34: svc 9\n 35:");
    check(
        "SVC 9 by EXECUTE",
        outcome.number(),
        Outcome::SupervisorCall(9).number(),
    );
    check("length code", lowcore::read::<u16>(lowcore::SVC_LENGTH), 4);
}

fn facts(problem: u64) {
    let old = old_psw(Class::SupervisorCall);
    check("length code", lowcore::read::<u16>(lowcore::SVC_LENGTH), 2);
    check(
        "old PSW address is behind the SVC",
        old.address - lowcore::read::<u64>(lowcore::ATTEMPTED),
        2,
    );
    check("old PSW problem state", old.mask >> 48 & 1, problem);
    check("old PSW addressing mode", old.mask >> 31 & 3, 3);
}
