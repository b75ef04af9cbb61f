//! In problem state the privileged instructions of the measurement facilities, and TEST PROTECTION, meet a
//! privileged-operation exception, not an operation exception. (Bare QEMU gives neither, hence not native.)

use guests::attempt::suppressed;
use guests::attempt_in_problem_state;
use guests::check::check;
use guests::shows;

guests::clause!(
    "SA23-2260, Program Exceptions of every instruction (privileged operation)",
    native = false
);
guests::case!(run);

/// An address that no operand may have.
const FAR: u64 = 0x7000_0000;
/// A register value that no instruction accepts.
const WRONG: u64 = u64::MAX;

/// In the problem state, with an operand that would cause an access or specification exception.
macro_rules! privileged {
    ($($statement:literal, $text:literal);* $(;)?) => {
        $(
            #[allow(unused_assignments)]
            let mut first = 0_u64;
            let outcome = attempt_in_problem_state!(
                $text, a = in(reg_addr) FAR, w = in(reg) WRONG, v = inout(reg) first);
            shows!($statement, outcome.number(), suppressed(2, if $statement == "STCCTM-21" { 6 } else { 4 }));
        )*
    };
}

fn run() {
    privileged!(
        "LPP-14", ".insn s,0xb2800000,0({a})\n # {w} {v}";
        "LCCTL-19", ".insn s,0xb2840000,0({a})\n # {w} {v}";
        "LPCTL-11", ".insn s,0xb2850000,0({a})\n # {w} {v}";
        "QSI-17", ".insn s,0xb2860000,0({a})\n # {w} {v}";
        "LSCTL-25", ".insn s,0xb2870000,0({a})\n # {w} {v}";
        "QCTRI-14", ".insn s,0xb28e0000,0({a})\n # {w} {v}";
        "SCCTR-10", ".insn rre,0xb2e00000,{v},{w}\n # {a}";
        "SPCTR-9", ".insn rre,0xb2e10000,{v},{w}\n # {a}";
        "EPCTR-9", ".insn rre,0xb2e50000,{v},{w}\n # {a}";
        "ECPGA-8", ".insn rre,0xb2ed0000,{v},{w}\n # {a}";
        "ECCTR-11", ".insn rre,0xb2e40000,{v},{w}\n # {a}";
        "STCCTM-21", ".insn rsy,0xeb0000000017,{w},1,0({a})\n # {v}";
    );
    check(
        "TPROT",
        attempt_in_problem_state!("tprot 0, 0").number(),
        suppressed(2, 6),
    );
}
