//! Sampling while the CPU waits: a dedicated CPU is sampled, any other is not.

use guests::check::{check, holds};
use guests::externals::{self, CLOCK_COMPARATOR, MEASUREMENT_ALERT};
use guests::insn::clock::{MICROSECOND, sckc, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, wait};
use guests::insn::cpu::{Page, stsi};
use guests::insn::measurement::lsctl;
use guests::sampling::{self, ENTRIES};
use guests::{psw, shows};

guests::clause!(
    "SA23-2260, Basic-Sampling Data Entry, programming note 5 (samples in the wait state)",
    native = false,
    options = "--dedicated; --dedicated --no-sampling; --interval 5000; --level vm --dedicated"
);
guests::case!(run);

/// Cycles, which are nanoseconds.
const INTERVAL: u64 = 20_000;
/// W in the state halfword (bit 27), and the number of unique instructions (bits 20-23).
const W: u16 = 1 << 4;
const UNIQUE: u16 = 0xF00;

static mut BLOCK: Page = Page([0; 4096]);

fn run() {
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    stsi(2, 2, 2, block);
    let dedicated = block.0[35] & 0x80 != 0;
    holds(
        "STSI 2.2.2 says that the CPU is dedicated or that it is shared",
        dedicated != (block.0[35] & 0x40 != 0),
    );
    externals::record();
    let cr0 = stctg_0();
    lctlg_0(cr0 | CLOCK_COMPARATOR);
    check("LSCTL", lsctl(&sampling::prepare(1, INTERVAL)), 0);
    sckc(stckf() + 1000 * MICROSECOND);
    wait(psw::EXTERNAL);
    stnsm::<0xFE>();
    check("disabled", sampling::stop(), 0);
    check("the wait ended by", externals::take_codes(), 0x1004);
    let stored = sampling::stored(0);
    let waited = (0..stored)
        .map(|n| sampling::entry(0, n).state)
        .filter(|state| state & W != 0);
    holds(
        "samples in wait have no instruction",
        waited.clone().all(|state| state & UNIQUE == 0),
    );
    let count = waited.count();
    if dedicated {
        // 1 ms of 20 µs each.
        shows!("SAMPLING-11", (48..=51).contains(&count));
        alert(cr0);
    } else {
        shows!("SAMPLING-10", count == 0 && stored <= 3);
    }
    lctlg_0(cr0);
}

/// An alert of sampling in wait ends the wait, with no timer set.
fn alert(cr0: u64) {
    lctlg_0(cr0 | MEASUREMENT_ALERT);
    sckc(u64::MAX);
    // The first time the machine gets to know the text, which takes time.
    wait_for_alert();
    let took = wait_for_alert();
    let least = ENTRIES as u64 * INTERVAL / 1000;
    holds(
        "when the block had become full",
        (least..least + 100).contains(&took),
    );
    check(
        "entries of the block",
        sampling::stored(0) as u64,
        ENTRIES as u64,
    );
}

/// Waits until a block is full; returns how many microseconds that took.
#[inline(never)]
fn wait_for_alert() -> u64 {
    let request = sampling::prepare(2, INTERVAL);
    sampling::set_trailer(0, 0, sampling::ALERT);
    let began = stckf();
    check("LSCTL", lsctl(&request), 0);
    wait(psw::EXTERNAL);
    let took = (stckf() - began) / MICROSECOND;
    stnsm::<0xFE>();
    check("disabled", sampling::stop(), 0);
    check(
        "a full block's alert ends the wait",
        externals::take_codes(),
        0x1407,
    );
    took
}
