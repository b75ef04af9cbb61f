//! The clock comparator is a number without a sign: zero is always behind the clock, and ones are always ahead of it. (A
//! value in the past does not interrupt bare QEMU at once, hence not native.)

use guests::externals::{self, CLOCK_COMPARATOR};
use guests::insn::clock::{MICROSECOND, sckc, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::shows;

guests::clause!("SA22-7832, Chapter 4, Clock Comparator", native = false);
guests::case!(run);

fn run() {
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 & !(externals::SERVICE_SIGNAL | externals::CPU_TIMER) | CLOCK_COMPARATOR);
    sckc(u64::MAX);
    stosm::<0x01>();
    let end = stckf() + 5000 * MICROSECOND;
    while stckf() < end {}
    let ahead = externals::take_codes();
    sckc(0);
    let end = stckf() + 5000 * MICROSECOND;
    while stckf() < end {}
    stnsm::<0xFE>();
    let behind = externals::take_codes();
    lctlg_0(cr0);
    shows!("COMPARATOR-6", (ahead, behind), (0, 0x1004));
}
