//! Access exceptions for the operands of control instructions: a page that is invalid, and for what stores a page that
//! is protected. What the instruction would have changed stays as it is.

use guests::attempt::{nullified, suppressed};
use guests::dat::{self, INVALID, PROTECTED, WINDOW};
use guests::insn::control::{epsw, lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::{attempt, attempt_on_registers, shows};

guests::clause!(
    "SA22-7832, Access Exceptions; operands of the control instructions",
    native = true
);
guests::case!(run);

const PAGE: u64 = 4096;
/// What a page holds before.
const BEFORE: u8 = 0x5A;

static mut FRAMES: [Page; 2] = [const { Page([BEFORE; 4096]) }; 2];

/// The program interruption of each text with its operand at this address, which is in an invalid page or reaches into
/// one.
macro_rules! invalid {
    ($at:expr; $($statement:literal $text:literal: $length:literal),* $(,)?) => {
        $(shows!($statement, attempt!($text, a = in(reg_addr) $at).number(), nullified(0x11, $length));)*
    };
}

/// The same for a page that is protected from stores.
macro_rules! protected {
    ($at:expr; $($statement:literal $text:literal: $length:literal),* $(,)?) => {
        $(shows!($statement, attempt!($text, a = in(reg_addr) $at).number(), suppressed(4, $length));)*
    };
}

/// Instructions whose operand is a byte, a halfword or more on its boundary, and that store it.
macro_rules! stores {
    ($macro:ident, $at:expr) => {
        $macro!(
            $at;
            "STCKC-4" "stckc 0({a})": 4,
            "STCTL-8" "stctl 5, 5, 0({a})": 4, "STCTL-8" "stctg 5, 5, 0({a})": 6,
            "STAP-4" "stap 0({a})": 4,
            "STIDP-6" "stidp 0({a})": 4,
            "STPT-4" "stpt 0({a})": 4,
            "STPX-5" "stpx 0({a})": 4,
            "STNSM-4" "stnsm 0({a}), 0": 4,
            "STOSM-4" "stosm 0({a}), 3": 4,
            "STFLE-9" "stfle 0({a})": 4,
        )
    };
}

fn run() {
    dat::prepare();
    let frames = &raw const FRAMES as u64;
    dat::set_window(0, frames | PROTECTED);
    dat::set_window(1, frames + PAGE);
    dat::set_window(2, INVALID);
    let (in_protected, in_invalid) = (WINDOW, WINDOW + 2 * PAGE);
    dat::on();
    let (control, system_mask) = (stctg_all(), epsw().0 >> 24);
    invalid!(
        in_invalid;
        "LCTL-9" "lctl 5, 5, 0({a})": 4, "LCTL-9" "lctlg 5, 5, 0({a})": 6,
        "LPSW-8" "lpsw 0({a})": 4,
        "LPSWE-5" "lpswe 0({a})": 4,
        "SCK-6" "sck 0({a})": 4,
        "SCKC-6" "sckc 0({a})": 4,
        "SPT-6" "spt 0({a})": 4,
        "SPX-9" "spx 0({a})": 4,
        "SSM-6" "ssm 0({a})": 4,
    );
    // The first part of the operand is in the valid page.
    invalid!(
        in_invalid - 8;
        "LPSWE-5" "lpswe 0({a})": 4,
        "STCTL-8" "stctl 4, 7, 0({a})": 4, "STCTL-8" "stctg 4, 5, 0({a})": 6,
    );
    shows!("LCTL-9", stctg_all(), control);
    stores!(invalid, in_invalid);
    stores!(protected, in_protected);
    shows!(["STNSM-4", "STOSM-4"], epsw().0 >> 24, system_mask);
    for (at, expected) in [
        (in_protected, suppressed(4, 4)),
        (in_invalid, nullified(0x11, 4)),
    ] {
        let mut registers = [0, 0, 0, at, 0];
        let csp = attempt_on_registers!("csp %r2, %r4", &mut registers);
        shows!("CSP-11", csp.number(), expected);
        let cspg = attempt_on_registers!("cspg %r2, %r4", &mut registers);
        shows!("CSP-11", cspg.number(), expected);
        // Function code 1 and selectors 1, 1.
        registers = [0x1000_0001, 0, 0, at, 0];
        let stsi = attempt_on_registers!("lghi %r1, 1\n stsi 0(%r4)", &mut registers);
        shows!("STSI-14", stsi.code(), (expected >> 16) as u16);
    }
    dat::off();
    lctlg_all(&control);
    // SAFETY: the program reads the page that nothing may have stored into.
    let unchanged = unsafe {
        (*(&raw const FRAMES[0]))
            .0
            .iter()
            .all(|&byte| byte == BEFORE)
    };
    shows!(["STNSM-4", "STOSM-4", "STCTL-8"], unchanged);
}
