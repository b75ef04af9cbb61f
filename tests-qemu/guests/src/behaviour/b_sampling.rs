//! Basic sampling into 4 KiB blocks: the contents of a data entry, in supervisor and problem state, with DAT off and
//! on, in code that runs disabled.

use guests::attempt_in_problem_state;
use guests::check::check;
use guests::dat;
use guests::insn::control::{lctlg_4, stctg_all};
use guests::insn::measurement::{lsctl, qsi};
use guests::sampling::{self, Entry, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Basic-Sampling Data Entry; Sample-Data-Block Update Process",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
const SAMPLES: u64 = 100;
const ASN: u16 = 0x1234;
/// DAT and problem state in the state halfword of an entry (bits 26 and 28).
const T: u16 = 1 << 5;
const P: u16 = 1 << 3;
/// The number of unique instructions (bits 20-23): one, as the CPU does not wait.
const UNIQUE: u16 = 1 << 8;

/// Samples a loop and checks every entry with an address in it.
fn sample(name: &str, state: u16, work: impl FnOnce() -> core::ops::Range<u64>) {
    let request = sampling::prepare(4, INTERVAL);
    check(name, lsctl(&request), 0);
    let range = work();
    let dear = qsi().dear;
    check("  disable", sampling::stop(), 0);
    let stored = sampling::stored(0);
    shows!(
        ["SAMPLING-1", "SREG-11"],
        (SAMPLES as usize - 1..=SAMPLES as usize + 1).contains(&stored),
    );
    shows!(
        ["UPDATE-2", "SREG-7"],
        dear == sampling::block(0) + 32 * stored as u64,
    );
    let inside = (0..stored)
        .map(|n| sampling::entry(0, n))
        .filter(|entry| range.contains(&entry.address));
    let mut count = 0;
    for entry in inside {
        count += 1;
        let expected = Entry {
            format: 1,
            state: state | UNIQUE,
            level: 0x4000,
            asn: ASN,
            address: entry.address,
            ..Default::default()
        };
        shows!(
            ["BSDE-1", "BSDE-21", "SAMPLING-3", "SAMPLING-4", "SDB-2"],
            entry,
            expected
        );
        shows!(["BSDE-2", "BSDE-9"], entry.state & 0xF001, 0);
        shows!("BSDE-4", entry.state & UNIQUE, UNIQUE);
        shows!("BSDE-6", entry.state >> 4 & 1, 0);
        shows!(["BSDE-10", "BSDE-15", "BSDE-22"], entry.level, 0x4000);
        shows!("BSDE-23", entry.asn, ASN);
        shows!("BSDE-32", entry.host_parameter, 0);
        if state & T == 0 {
            shows!(["BSDE-5", "BSDE-25"], entry.state & T, 0);
        } else {
            shows!(["BSDE-5", "BSDE-33"], entry.state & T, T);
        }
        if state & P == 0 {
            shows!("BSDE-7", entry.state & P, 0);
        } else {
            shows!("BSDE-7", entry.state & P, P);
        }
    }
    shows!("BSDE-24", count + 2 >= stored);
    check(
        "  the block is not full",
        sampling::trailer(0, 0) & sampling::FULL,
        0,
    );
    shows!(
        "STEP-3",
        sampling::trailer(1, 0) | sampling::trailer(1, 1),
        0,
    );
}

fn run() {
    let cr4 = stctg_all()[4];
    lctlg_4(0xFFFF_FFFF_FFFF_0000 | u64::from(ASN));
    guests::insn::measurement::lpp(0);
    sample("supervisor state, DAT off, disabled", 0, || {
        busy(SAMPLES * INTERVAL)
    });
    sample("problem state", P, in_problem_state);
    dat::prepare();
    lctlg_4(u64::from(ASN));
    dat::on();
    sample("DAT on", T, || busy(SAMPLES * INTERVAL));
    sample("DAT on, problem state", T | P, in_problem_state);
    dat::off();
    lctlg_4(cr4);
}

fn in_problem_state() -> core::ops::Range<u64> {
    let mut turns = SAMPLES * INTERVAL;
    let (mut start, mut end) = (0_u64, 0_u64);
    let outcome = attempt_in_problem_state!(
        "larl {s}, 40f\n larl {e}, 41f\n 40: brctg {n}, 40b\n 41:",
        s = inout(reg) start,
        e = inout(reg) end,
        n = inout(reg) turns,
    );
    check("  completed", outcome.code(), 0);
    check("  turns left", turns, 0);
    start..end
}
