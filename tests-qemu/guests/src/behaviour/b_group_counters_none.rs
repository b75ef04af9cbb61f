//! Where no coprocessor-group counter sets are installed (the clock does not count instructions), LOAD
//! PERIPHERAL-COUNTER-SET CONTROLS ends with condition code 3.

use guests::insn::measurement::{lpctl, qctri};
use guests::shows;

guests::clause!(
    "SA23-2260, LOAD PERIPHERAL-COUNTER-SET CONTROLS (programming note 1)",
    native = false,
    options = "--real-time"
);
guests::case!(run);

fn run() {
    for controls in [0, 2, 3] {
        shows!(["LPCTL-6", "SETS-7"], lpctl(controls), 3);
    }
    shows!("LPCTL-6", qctri().enable >> 15, 0);
}
