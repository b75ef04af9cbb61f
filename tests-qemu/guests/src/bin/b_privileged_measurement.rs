//! In problem state the privileged instructions of the measurement facilities meet a privileged-operation
//! exception and not an operation exception; TEST PROTECTION too. (Bare QEMU has neither, hence not native.)
#![no_std]
#![no_main]

use guests::attempt::suppressed;
use guests::attempt_in_problem_state;
use guests::check::check;

guests::clause!(
    "SA23-2260, Program Exceptions of every instruction (privileged operation)",
    native = false
);
guests::guest!(run);

macro_rules! privileged {
    ($($name:literal, $text:literal: $length:literal),* $(,)?) => {
        $(check($name, attempt_in_problem_state!($text).number(), suppressed(2, $length));)*
    };
}

fn run() {
    privileged!(
        "LPP", ".insn s,0xb2800000,0x900(%r0)": 4,
        "LCCTL", ".insn s,0xb2840000,0x900(%r0)": 4,
        "LPCTL", ".insn s,0xb2850000,0x900(%r0)": 4,
        "QSI", ".insn s,0xb2860000,0x900(%r0)": 4,
        "LSCTL", ".insn s,0xb2870000,0x900(%r0)": 4,
        "QCTRI", ".insn s,0xb28e0000,0x900(%r0)": 4,
        "SCCTR", ".insn rre,0xb2e00000,%r4,%r4": 4,
        "SPCTR", ".insn rre,0xb2e10000,%r4,%r4": 4,
        "EPCTR", ".insn rre,0xb2e50000,%r4,%r4": 4,
        "ECPGA", ".insn rre,0xb2ed0000,%r4,%r4": 4,
        "ECCTR, CR0 bit 15 zero", ".insn rre,0xb2e40000,%r4,%r4": 4,
        "STCCTM, CR0 bit 15 zero", ".insn rsy,0xeb0000000017,%r4,1,0x900(%r0)": 6,
        "TPROT", "tprot 0, 0": 6,
    );
}
