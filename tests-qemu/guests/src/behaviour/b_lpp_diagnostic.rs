//! LOAD PROGRAM PARAMETER is performed while the diagnostic-sampling function alone is enabled, active or not.

use guests::insn::measurement::{
    ACTIVATE_DIAGNOSTIC, ENABLE_DIAGNOSTIC, SamplingRequest, lpp, lsctl,
};
use guests::{sampling, shows};

guests::clause!(
    "SA23-2260, LOAD PROGRAM PARAMETER (at least one sampling function)",
    native = false,
    options = "--no-sampling --operator 'AUTH CPU 0 SAMPLING DIAGNOSTIC ON'"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;

fn run() {
    let request = sampling::prepare(4, INTERVAL);
    for (parameter, state) in [
        (5, ENABLE_DIAGNOSTIC),
        (6, ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC),
    ] {
        lsctl(&SamplingRequest { state, ..request });
        lpp(parameter);
        sampling::stop();
        // Not enabled: no operation.
        lpp(99);
        shows!("LPP-19", sampling::parameter(INTERVAL), parameter);
    }
}
