//! In problem state every privileged instruction of a long list meets a privileged-operation exception, whatever its
//! operands. The length is the instruction's own, and the old PSW designates the next instruction.

use guests::attempt::suppressed;
use guests::check::check;
use guests::{attempt_in_problem_state, attempt_on_registers_in_problem_state, shows};

guests::clause!(
    "SA22-7832, Privileged-Operation Exception; program exceptions of the control instructions",
    native = true
);
guests::case!(run);

/// A register that no instruction accepts: neither as the address of an operand, for it is odd and beyond storage, nor
/// as the second operand of INVALIDATE DAT TABLE ENTRY.
const INVALID: u64 = 0x7FFF_FFFF_FFFF_F001;

/// Attempts each text in problem state. The operands are not valid, because privilege is tested first.
macro_rules! privileged {
    ($($statement:literal $text:literal: $length:literal),* $(,)?) => {
        $(shows!(
            $statement,
            attempt_in_problem_state!($text, a = in(reg_addr) INVALID).number(),
            suppressed(2, $length)
        );)*
    };
}

/// The same for instructions without an operand that could be invalid.
macro_rules! privileged_alone {
    ($($statement:literal $text:literal: $length:literal),* $(,)?) => {
        $(shows!($statement, attempt_in_problem_state!($text).number(), suppressed(2, $length));)*
    };
}

/// The same for instructions of other chapters.
macro_rules! privileged_too {
    ($($text:literal: $length:literal),* $(,)?) => {
        $(check($text, attempt_in_problem_state!($text).number(), suppressed(2, $length));)*
    };
}

fn run() {
    privileged!(
        "CSP-12" ".insn rre,0xb2500000,%r3,{a}": 4, "CSP-12" ".insn rre,0xb98a0000,%r3,{a}": 4,
        "ISKE-10" "iske %r0, {a}": 4,
        "IDTE-14" "idte %r0, %r0, {a}": 4,
        "IPTE-12" "ipte {a}, %r0": 4,
        "LCTL-10" "lctl 0, 0, 0({a})": 4, "LCTL-10" "lctlg 0, 0, 0({a})": 6,
        "LPSW-9" "lpsw 0({a})": 4,
        "LPSWE-6" "lpswe 0({a})": 4,
        "LRA-15" "lra %r0, 0({a})": 4, "LRA-15" "lrag %r0, 0({a})": 6, "LRA-15" "lray %r0, 0({a})": 6,
        "LURA-11" "lura %r0, {a}": 4, "LURA-11" "lurag %r0, {a}": 4,
        "RRBE-11" "rrbe %r0, {a}": 4,
        "SCK-7" "sck 0({a})": 4,
        "SCKC-7" "sckc 0({a})": 4,
        "SPT-7" "spt 0({a})": 4,
        "SPX-10" "spx 0({a})": 4,
        "SSKE-10" ".insn rrf,0xb22b0000,%r0,{a},0,0": 4,
        "SIGNAL-8" "sigp %r0, {a}, 0({a})": 4,
        "STCKC-5" "stckc 0({a})": 4,
        "STCTL-9" "stctl 0, 0, 0({a})": 4, "STCTL-9" "stctg 0, 0, 0({a})": 6,
        "STAP-5" "stap 0({a})": 4,
        "STIDP-7" "stidp 0({a})": 4,
        "STPT-5" "stpt 0({a})": 4,
        "STPX-6" "stpx 0({a})": 4,
        "STSI-15" "stsi 0({a})": 4,
        "STNSM-6" "stnsm 0({a}), 255": 4,
        "STOSM-7" "stosm 0({a}), 0": 4,
        "STURA-12" "stura %r0, {a}": 4, "STURA-12" "sturg %r0, {a}": 4,
        "TB-10" "tb %r0, {a}": 4,
    );
    privileged_alone!(
        "DIAG-1" ".insn rs,0x83000000,%r0,%r0,0x44(%r0)": 4,
        "PTLB-3" "ptlb": 4,
        "STFL-7" "stfl 0": 4,
    );
    let mut registers = [0x1_0000, 0, 0, 0, 0];
    let field = attempt_on_registers_in_problem_state!("sckpf", &mut registers);
    shows!("SCKPF-5", field.number(), suppressed(2, 2));
    privileged_too!(
        "ssm 0": 4, ".insn rre,0xb2200000,%r0,%r0": 4, "ssch 0": 4, "stsch 0": 4, "tsch 0": 4, "msch 0": 4,
        "hsch": 4, "csch": 4, "rsch": 4, "xsch": 4, "rchp": 4, "stcrw 0": 4, "tpi 0": 4, "schm": 4, "sal": 4, "stcps 0": 4,
    );
}
