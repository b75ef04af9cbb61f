//! A measurement alert that is masked stays pending, is generated once for several events of a kind, and
//! is cleared when no sampling function is enabled any more.

use guests::check::check;
use guests::externals::{self, MEASUREMENT_ALERT};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::measurement::lsctl;
use guests::sampling::{self, ALERT, ENTRIES, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Measurement Alert (pending requests)",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn fill_two_blocks() {
    let request = sampling::prepare(4, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    sampling::set_trailer(1, 0, ALERT);
    check("LSCTL", lsctl(&request), 0);
    busy(INTERVAL * (ENTRIES as u64 * 2 + 10));
}

fn open() {
    stosm::<0x01>();
    busy(100);
    stnsm::<0xFE>();
}

fn run() {
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 & !MEASUREMENT_ALERT);
    stosm::<0x01>();
    fill_two_blocks();
    stnsm::<0xFE>();
    shows!(["ALERT-2", "EXTERNAL-2"], externals::recorded(), 0);
    lctlg_0(cr0 | MEASUREMENT_ALERT);
    busy(1000);
    shows!(["ALERT-65", "EXTERNAL-2"], externals::recorded(), 0);
    open();
    shows!(["ALERT-24", "EXTERNAL-2"], externals::take_codes(), 0x1407,);
    open();
    shows!("ALERT-26", externals::take_codes(), 0,);
    check("disable", sampling::stop(), 0);
    fill_two_blocks();
    check("disable while pending", sampling::stop(), 0);
    open();
    shows!("ALERT-28", externals::take_codes(), 0,);
    lctlg_0(cr0);
}
