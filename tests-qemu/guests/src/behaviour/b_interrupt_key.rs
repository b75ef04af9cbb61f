//! The interrupt key comes before a measurement alert.

use guests::externals::{self, INTERRUPT_KEY, MEASUREMENT_ALERT};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::measurement::lsctl;
use guests::sampling::{self, ALERT, ENTRIES, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, External Interruption (priorities)",
    native = false,
    options = "--operator 'INTERRUPT CPU 0'"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn run() {
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 | INTERRUPT_KEY | MEASUREMENT_ALERT);
    let request = sampling::prepare(3, INTERVAL);
    sampling::set_trailer(0, 0, ALERT);
    lsctl(&request);
    busy(INTERVAL * (ENTRIES as u64 + 10));
    stosm::<0x01>();
    busy(1000);
    stnsm::<0xFE>();
    shows!("EXTERNAL-7", externals::take_codes(), 0x0040_1407);
    sampling::stop();
    lctlg_0(cr0);
}
