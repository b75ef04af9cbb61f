//! The clock comparator interrupts (1004) when the clock passes it, and only while both masks are open. A masked
//! condition stays pending; setting the comparator to a later time removes it.

use guests::externals::{self, CLOCK_COMPARATOR};
use guests::insn::clock::{MICROSECOND, sckc, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm, wait};
use guests::{psw, shows};

guests::clause!("SA22-7832, Chapter 4, Clock Comparator", native = true);
guests::case!(run);

fn delay(microseconds: u64) {
    let end = stckf() + microseconds * MICROSECOND;
    while stckf() < end {}
}

fn run() {
    externals::record();
    let cr0 = stctg_0();
    sckc(stckf() + 100 * MICROSECOND);
    stosm::<0x01>();
    delay(10_000);
    shows!("COMPARATOR-1", externals::take_codes(), 0);
    stnsm::<0xFE>();
    lctlg_0(cr0 | CLOCK_COMPARATOR);
    sckc(stckf() + 100 * MICROSECOND);
    delay(10_000);
    shows!("COMPARATOR-1", externals::take_codes(), 0);
    stosm::<0x01>();
    shows!("COMPARATOR-2", externals::take_codes(), 0x1004);
    let comparator = stckf() + 500 * MICROSECOND;
    sckc(comparator);
    wait(psw::EXTERNAL);
    shows!("COMPARATOR-3", stckf() >= comparator);
    shows!("COMPARATOR-3", externals::take_codes(), 0x1004);
    stnsm::<0xFE>();
    sckc(stckf() + 100 * MICROSECOND);
    delay(10_000);
    sckc(u64::MAX);
    stosm::<0x01>();
    delay(100);
    shows!("COMPARATOR-4", externals::take_codes(), 0);
    stnsm::<0xFE>();
}
