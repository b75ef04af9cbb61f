//! LOAD PROGRAM PARAMETER is performed while a sampling function is enabled at this level, or only at the one below:
//! here the machine's own sampling is on.

use guests::insn::measurement::{ENABLE_BASIC, SamplingRequest, lpp, lsctl};
use guests::sampling;
use guests::shows;

guests::clause!(
    "SA23-2260, LOAD PROGRAM PARAMETER (configuration levels)",
    native = false,
    options = "--interval 1000000"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn run() {
    lsctl(&sampling::prepare(4, INTERVAL));
    lpp(1);
    shows!("LPP-7", sampling::parameter(INTERVAL), 1);
    lsctl(&SamplingRequest {
        state: ENABLE_BASIC,
        ..Default::default()
    });
    lpp(2);
    shows!(["LPP-7", "LPP-10"], sampling::parameter(INTERVAL), 2);
    // No sampling function is enabled at this level.
    lpp(0x8000_0000_0000_0003);
    shows!(
        ["LPP-8", "LPP-1"],
        sampling::parameter(INTERVAL),
        0x8000_0000_0000_0003
    );
}
