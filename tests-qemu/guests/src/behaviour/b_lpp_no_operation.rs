//! LOAD PROGRAM PARAMETER does nothing while no sampling function is enabled at this level or the one
//! below: the machine's own sampling is off.

use guests::attempt::suppressed;
use guests::insn::measurement::{lpp, lsctl};
use guests::sampling;
use guests::shows;
use guests::{attempt, attempt_in_problem_state};

guests::clause!(
    "SA23-2260, LOAD PROGRAM PARAMETER (configuration levels)",
    native = false,
    options = "--no-sampling"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn run() {
    lsctl(&sampling::prepare(4, INTERVAL));
    lpp(1);
    sampling::stop();
    lpp(2);
    let parameter = 3_u64;
    for cc in 0..4_u64 {
        let outcome = attempt!(
            "spm {m}\n .insn s,0xb2800000,0({a})",
            a = in(reg_addr) &raw const parameter,
            m = in(reg) cc << 28,
        );
        shows!("LPP-17", u64::from(outcome.condition_code()), cc);
    }
    let outcome = attempt_in_problem_state!(
        ".insn s,0xb2800000,0({a})",
        a = in(reg_addr) &raw const parameter,
    );
    shows!("LPP-18", outcome.number(), suppressed(2, 4));
    shows!("LPP-9", sampling::parameter(INTERVAL), 1);
}
