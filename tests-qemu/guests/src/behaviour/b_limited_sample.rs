//! A secure guest that does not allow full samples gets limited ones.

use guests::check::{check, holds};
use guests::insn::control::lctlg_4;
use guests::insn::cpu::{Page, stsi};
use guests::insn::measurement::{lpp, lsctl};
use guests::sampling::{self, Entry};
use guests::{attempt_in_problem_state, shows};

guests::clause!(
    "SA23-2260, Basic-Sampling Data Entry, Limited Sample",
    native = false,
    options = "--secure; --secure=limited --host-parameter C0FFEE"
);
guests::case!(run);

static mut BLOCK: Page = Page([0; 4096]);

fn run() {
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    shows!("BSDE-16", stsi(0, 0, 0, block).1 >> 28 & 0xF, 3);
    lctlg_4(0x1234);
    check("LSCTL", lsctl(&sampling::prepare(1, 10_000)), 0);
    lpp(0x5678);
    let mut turns = 400_000_u64;
    let outcome = attempt_in_problem_state!("40: brctg {n}, 40b", n = inout(reg) turns);
    check("in the problem state", outcome.code(), 0);
    check("disabled", sampling::stop(), 0);
    let stored = sampling::stored(0);
    holds("as many samples as intervals", (39..=42).contains(&stored));
    let all = |test: fn(&Entry) -> bool| (0..stored).all(|n| test(&sampling::entry(0, n)));
    shows!(
        ["BSDE-14", "BSDE-35"],
        all(|entry| entry.format == 1 && entry.level == 0x9000)
    );
    shows!("BSDE-17", all(|entry| entry.state == 0));
    shows!("BSDE-18", all(|entry| entry.asn == 0));
    shows!("BSDE-19", all(|entry| entry.address == 0));
    shows!("BSDE-20", all(|entry| entry.guest_parameter == 0));
    holds("no host parameter", all(|entry| entry.host_parameter == 0));
}
