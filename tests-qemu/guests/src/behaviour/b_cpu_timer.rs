//! The CPU timer interrupts (1005) when it becomes negative; masked, it stays pending.

use guests::externals::{self, CPU_TIMER};
use guests::insn::clock::{MICROSECOND, spt, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm, wait};
use guests::{psw, shows};

guests::clause!("SA22-7832, Chapter 4, CPU Timer", native = true);
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
    delay(10_000);
    shows!("TIMER-1", externals::take_codes(), 0);
    stosm::<0x01>();
    shows!("TIMER-1", externals::take_codes(), 0x1005);
    stnsm::<0xFE>();
    spt(HUNDRED);
    wait(psw::EXTERNAL);
    shows!("TIMER-2", externals::take_codes(), 0x1005);
    stnsm::<0xFE>();
}
