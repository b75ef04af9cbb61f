//! Samples of a dedicated CPU while it waits have the wait-state bit and no instruction at the sampling point.

use guests::externals::{self, CLOCK_COMPARATOR};
use guests::insn::clock::{MICROSECOND, sckc, stck};
use guests::insn::control::{lctlg_0, stctg_0, wait};
use guests::insn::measurement::lsctl;
use guests::psw;
use guests::sampling;
use guests::shows;

guests::clause!(
    "SA23-2260, Basic-Sampling Data Entry (wait state)",
    native = false,
    options = "--dedicated"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn run() {
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 | CLOCK_COMPARATOR);
    lsctl(&sampling::prepare(4, INTERVAL));
    sckc(stck() + 300 * MICROSECOND);
    wait(psw::EXTERNAL);
    sampling::stop();
    lctlg_0(cr0);
    let stored = sampling::stored(0);
    let waiting = (0..stored)
        .map(|n| sampling::entry(0, n))
        .filter(|entry| entry.state >> 4 & 1 == 1);
    let mut count = 0;
    for entry in waiting {
        count += 1;
        shows!("BSDE-3", entry.state >> 8 & 0xF, 0);
    }
    shows!("BSDE-6", count >= 10 && count + 2 >= stored);
    shows!("BSDE-3", count >= 10);
}
