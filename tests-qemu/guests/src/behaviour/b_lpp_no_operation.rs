//! LOAD PROGRAM PARAMETER does nothing while no sampling function is enabled at this level or the one
//! below: the machine's own sampling is off.

use guests::insn::measurement::{lpp, lsctl};
use guests::sampling;
use guests::shows;

guests::clause!(
    "SA23-2260, LOAD PROGRAM PARAMETER (configuration levels)",
    native = false,
    options = "--no-sampling"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn run() {
    lsctl(&sampling::prepare(4, INTERVAL));
    lpp(1);
    sampling::stop();
    lpp(2);
    shows!("LPP-9", sampling::parameter(INTERVAL), 1);
}
