//! In problem state every privileged instruction of a long list meets a privileged-operation exception, whatever its
//! operands. The length is the instruction's own, and the old PSW designates the next instruction.

use guests::attempt::suppressed;
use guests::attempt_in_problem_state;
use guests::check::check;

guests::clause!(
    "Principles of Operation, Privileged-Operation Exception",
    native = true
);
guests::case!(run);

/// Attempts each text in problem state. The operands are not valid, because privilege is tested first.
macro_rules! privileged {
    ($($text:literal: $length:literal),* $(,)?) => {
        $(check($text, attempt_in_problem_state!($text).number(), suppressed(2, $length));)*
    };
}

fn run() {
    privileged!(
        "ssm 0": 4, "stnsm 0, 0": 4, "stosm 0, 0": 4, "lpsw 0": 4, "lpswe 0": 4, "lctl 0, 0, 0": 4, "stctl 0, 0, 0": 4,
        "lctlg 0, 0, 0": 6, "stctg 0, 0, 0": 6, "spx 0": 4, "stpx 0": 4, "stap 0": 4, "stidp 0": 4, "stfl 0": 4,
        "stsi 0": 4, "sck 0": 4, "sckc 0": 4, "stckc 0": 4, "spt 0": 4, "stpt 0": 4, "sckpf": 2, "sigp %r0, %r0, 0": 4,
        ".insn rre,0xb2200000,%r0,%r0": 4, "sske %r0, %r0": 4, "iske %r0, %r0": 4, "rrbe %r0, %r0": 4, "ptlb": 4,
        "ipte %r0, %r0": 4, "idte %r0, %r0, %r0": 4, "csp %r0, %r0": 4, "cspg %r0, %r0": 4, "lra %r0, 0": 4,
        "lrag %r0, 0": 6, "lura %r0, %r0": 4, "lurag %r0, %r0": 4, "stura %r0, %r0": 4, "sturg %r0, %r0": 4,
        "tb %r0, %r0": 4, ".insn rs,0x83000000,%r0,%r0,0x44(%r0)": 4, "ssch 0": 4, "stsch 0": 4, "tsch 0": 4, "msch 0": 4,
        "hsch": 4, "csch": 4, "rsch": 4, "xsch": 4, "rchp": 4, "stcrw 0": 4, "tpi 0": 4, "schm": 4, "sal": 4, "stcps 0": 4,
    );
}
