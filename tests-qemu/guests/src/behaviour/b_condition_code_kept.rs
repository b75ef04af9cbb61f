//! Control instructions that do not set the condition code leave it as it is, whatever it is.

use guests::dat::window_origin;
use guests::insn::cpu::Page;
use guests::{attempt_on_registers, shows};

guests::clause!(
    "SA22-7832, condition codes of the control instructions",
    native = true
);
guests::case!(run);

/// An operand, and a block whose key may be set.
static mut BLOCK: Page = Page([0; 4096]);

/// Attempts each text with each condition code. General register 3 has the address of a block, register 5 that of a
/// page table, and registers 0 and 4 are the text's.
macro_rules! kept {
    ($([$($statement:literal),+] $text:literal),* $(,)?) => {
        $(for code in 0..4_u8 {
            let at = &raw mut BLOCK as u64;
            let mut registers = [0, u64::from(code) << 28, at, 0, window_origin()];
            let outcome = attempt_on_registers!(concat!("spm %r2\n", $text), &mut registers);
            shows!([$($statement),+], outcome.condition_code(), code);
        })*
    };
}

fn run() {
    kept!(
        ["STCTL-5", "LCTL-6"] "stctl 2, 4, 0(%r3)\n lctl 2, 4, 0(%r3)",
        ["STCTL-5", "LCTL-6"] "stctg 2, 4, 0(%r3)\n lctlg 2, 4, 0(%r3)",
        ["STCKC-2", "SCKC-4"] "stckc 0(%r3)\n sckc 0(%r3)",
        ["STPT-2", "SPT-4"] "stpt 0(%r3)\n spt 0(%r3)",
        ["STPX-3", "SPX-7"] "stpx 0(%r3)\n spx 0(%r3)",
        ["STAP-2"] "stap 0(%r3)",
        ["STIDP-4"] "stidp 0(%r3)",
        ["STFL-6"] "stfl 0",
        ["SCKPF-3"] "sckpf",
        ["SSM-2"] "mvi 0(%r3), 0\n ssm 0(%r3)",
        ["STNSM-3"] "stnsm 0(%r3), 255",
        ["STOSM-3"] "stosm 0(%r3), 0",
        ["SPKA-3"] "spka 0",
        ["ISKE-8", "SSKE-8"] "iske %r4, %r3\n .insn rrf,0xb22b0000,%r4,%r3,0,0",
        ["IPTE-10"] ".insn rrf,0xb2210000,%r5,%r3,0,0",
        ["IDTE-12"] "lghi %r4, 0x800\n .insn rrf,0xb98e0000,%r5,%r4,%r0,0",
        ["PTLB-2"] "ptlb",
        ["LURA-6"] "lura %r4, %r3",
        ["LURA-6"] "lurag %r4, %r3",
        ["STURA-6"] "stura %r4, %r3",
        ["STURA-6"] "sturg %r4, %r3",
    );
}
