//! Program-event recording: control registers 9 to 11 with every event and every address have no effect while the PER
//! mask of the PSW is zero.

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::check;
use guests::insn::control::{epsw, lctlg_all, stctg_all};

guests::clause!(
    "Principles of Operation, Program-Event Recording (PER mask zero)",
    native = true
);
guests::case!(run);

fn run() {
    let saved = stctg_all();
    let mut values = saved;
    values[9] = 0xE8 << 24;
    values[10] = 0;
    values[11] = u64::MAX;
    lctlg_all(&values);
    let mut sum = 0_u64;
    for n in 0..1000_u64 {
        // SAFETY: stores to a local.
        unsafe {
            core::ptr::write_volatile(&raw mut sum, core::ptr::read_volatile(&raw const sum) + n)
        };
    }
    check(
        "stores, branches and fetches without an event",
        sum,
        499_500,
    );
    check(
        "another program interruption carries no PER bit",
        attempt!(".short 0").number(),
        suppressed(1, 2),
    );
    check("PER mask", epsw().0 >> 30 & 1, 0);
    check(
        "the registers keep their values",
        u64::from(stctg_all()[9..12] == values[9..12]),
        1,
    );
    lctlg_all(&saved);
}
