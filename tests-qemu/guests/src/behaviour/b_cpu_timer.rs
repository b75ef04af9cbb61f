//! The CPU timer interrupts (1005) when it becomes negative; masked, it stays pending.

use guests::check::check;
use guests::externals::{self, CPU_TIMER};
use guests::insn::clock::{MICROSECOND, spt, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm, wait};
use guests::psw;

guests::clause!(
    "Principles of Operation, External Interruption (CPU timer)",
    native = true
);
guests::case!(run);

const HUNDRED: i64 = 100 * MICROSECOND as i64;

fn delay(microseconds: u64) {
    let end = stckf() + microseconds * MICROSECOND;
    while stckf() < end {}
}

fn run() {
    externals::record();
    lctlg_0(stctg_0() | CPU_TIMER);
    spt(HUNDRED);
    delay(300);
    check(
        "external mask zero: no interruption",
        externals::take_codes(),
        0,
    );
    stosm::<0x01>();
    check("pending, then open", externals::take_codes(), 0x1005);
    stnsm::<0xFE>();
    spt(HUNDRED);
    wait(psw::EXTERNAL);
    check("a wait ends by it", externals::take_codes(), 0x1005);
    stnsm::<0xFE>();
}
