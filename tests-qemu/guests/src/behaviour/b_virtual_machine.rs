//! At the virtual-machine level, samples show the level, the guest's host indicator is ignored, and the program
//! parameter in the samples is the guest's.

use guests::insn::measurement::{lpp, lsctl};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Configuration Level; Host Indicator; Guest Program Parameter",
    native = false,
    options = "--level vm; --level vm --host-parameter C0FFEE"
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
/// H, bit 1 of the request block.
const HOST: u64 = 1 << 62;

fn run() {
    for host in [0, HOST] {
        let mut request = sampling::prepare(4, INTERVAL);
        request.state |= host;
        shows!("LSCTL-4", lsctl(&request), 0);
        lpp(0x1234_5678_9ABC_DEF0);
        busy(10 * INTERVAL);
        sampling::stop();
        for n in 1..9 {
            let entry = sampling::entry(0, n);
            shows!("BSDE-11", (entry.format, entry.level >> 14), (1, 2));
            shows!(["BSDE-13", "LSCTL-4"], entry.level >> 13 & 1, 0);
            shows!(
                ["BSDE-30", "LSCTL-4"],
                entry.guest_parameter,
                0x1234_5678_9ABC_DEF0
            );
        }
    }
}
