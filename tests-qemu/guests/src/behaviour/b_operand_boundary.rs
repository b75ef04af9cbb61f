//! The operands of control instructions that must be on a boundary: on an address that is not, the instruction is
//! suppressed with a specification exception.

use guests::attempt::suppressed;
use guests::{attempt, attempt_on_registers, shows};

guests::clause!(
    "SA22-7832, Specification Exception; operands of the control instructions",
    native = true
);
guests::case!(run);

/// What the operands hold before.
const BEFORE: u64 = 0x5A5A_5A5A_5A5A_5A5A;

#[repr(C, align(4096))]
struct Block([u64; 4]);

/// Attempts each text with its operand at this address.
macro_rules! refused {
    ($at:expr; $($statement:literal $text:literal: $length:literal),* $(,)?) => {
        $(shows!($statement, attempt!($text, a = in(reg_addr) $at).number(), suppressed(6, $length));)*
    };
}

fn run() {
    let mut block = Block([BEFORE; 4]);
    let at = block.0.as_mut_ptr() as u64;
    refused!(
        at + 4;
        "LCTL-8" "lctlg 5, 5, 0({a})": 6,
        "LPSW-7" "lpsw 0({a})": 4,
        "LPSWE-4" "lpswe 0({a})": 4,
        "SCK-5" "sck 0({a})": 4,
        "SCKC-5" "sckc 0({a})": 4,
        "SPT-5" "spt 0({a})": 4,
        "STCKC-3" "stckc 0({a})": 4,
        "STCTL-7" "stctg 5, 5, 0({a})": 6,
        "STIDP-5" "stidp 0({a})": 4,
        "STPT-3" "stpt 0({a})": 4,
        "STFLE-8" "stfle 0({a})": 4,
    );
    refused!(
        at + 2;
        "LCTL-7" "lctl 5, 5, 0({a})": 4,
        "SPX-8" "spx 0({a})": 4,
        "STCTL-6" "stctl 5, 5, 0({a})": 4,
        "STPX-4" "stpx 0({a})": 4,
    );
    refused!(at + 1; "STAP-3" "stap 0({a})": 4);
    let mut registers = [0, 0, 0, at, 0];
    let odd = attempt_on_registers!(".insn rre,0xb2500000,%r3,%r4", &mut registers);
    shows!("CSP-10", odd.number(), suppressed(6, 4));
    let odd = attempt_on_registers!(".insn rre,0xb98a0000,%r5,%r4", &mut registers);
    shows!("CSP-10", odd.number(), suppressed(6, 4));
    shows!(["STAP-3", "STIDP-5"], block.0, [BEFORE; 4]);
}
