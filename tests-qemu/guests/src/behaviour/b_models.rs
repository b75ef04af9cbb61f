//! What every model shows of itself, by each instruction that shows something: the same as the tables of the book and
//! the machines' public descriptions.
//!
//! Authorization of sets does not depend on the model: a set without it has no counters, a set with it has all
//! counters of the model.

use guests::attempt;
use guests::check::{check, fact, holds};
use guests::insn::control::lctlg_8;
use guests::insn::cpu::{Page, facility, stidp, stsi};
use guests::insn::measurement::{
    SamplingRequest, controls, ecctr, lcctl, lpp, lsctl, qctri, qsi, scctr, set, stcctm,
};
use guests::{monitor, sampling, shows};

guests::clause!(
    "SA23-2260, Counter Sets; Figures 2-3 to 2-9 and 2-18 to 2-24",
    native = false,
    options = "--model z10; --model z196; --model zec12; --model z13; --model z14; --model z15; --model z16"
);
guests::case!(run);

/// A model's row.
struct Row {
    /// Machine type, in hexadecimal digits.
    machine_type: u16,
    /// Model, in EBCDIC.
    model: [u8; 3],
    /// Counter version numbers.
    versions: (u16, u16),
    /// Last counter of the problem-state, crypto-activity and extended sets.
    last: (u64, u64, u64),
    /// Whether there is an MT-diagnostic counter set.
    threads: bool,
    /// Size of a diagnostic-sampling data entry.
    entry: u16,
}

const fn row(
    machine_type: u16,
    model: [u8; 3],
    versions: (u16, u16),
    last: (u64, u64, u64),
    threads: bool,
    entry: u16,
) -> Row {
    Row {
        machine_type,
        model,
        versions,
        last,
        threads,
        entry,
    }
}

static ROWS: [Row; 7] = [
    row(0x2097, [0xC5, 0xF1, 0xF2], (1, 1), (37, 79, 159), false, 64),
    row(0x2817, [0xD4, 0xF1, 0xF5], (1, 2), (37, 79, 175), false, 74),
    row(0x2827, [0xC8, 0xF2, 0xF0], (1, 3), (37, 79, 255), false, 85),
    row(0x2964, [0xD5, 0xF3, 0xF0], (3, 4), (33, 79, 255), true, 112),
    row(0x3906, [0xD4, 0xF0, 0xF1], (3, 5), (33, 79, 255), true, 112),
    row(0x8561, [0xE3, 0xF0, 0xF1], (3, 6), (33, 83, 287), true, 112),
    row(0x3931, [0xC1, 0xF0, 0xF1], (3, 7), (33, 83, 287), true, 173),
];

const MONITOR_EVENT: u16 = 0x40;

/// An array of eight counters: halfwords, and words behind them.
#[repr(align(8))]
struct Array([u16; 24]);

static mut ARRAY: Array = Array([0; 24]);

static mut BLOCK: Page = Page([0; 4096]);

/// Whether, of the numbers before `end`, exactly `first` to `last` are available counters; or none of them, if the
/// set cannot be used.
fn exactly(first: u64, last: u64, end: u64, usable: bool) -> bool {
    (first..end).all(|number| {
        let there = usable && number <= last;
        ecctr(number).0 == if there { 0 } else { 3 }
    })
}

fn run() {
    let machine_type = (stidp() >> 16) as u16;
    let Some(row) = ROWS.iter().find(|row| row.machine_type == machine_type) else {
        check("a machine type of the table", machine_type, 0x8561);
        return;
    };
    fact("machine type", machine_type);
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    check("STSI 1.1.1", stsi(1, 1, 1, block).0, 0);
    let digit = |shift: u16| match (machine_type >> shift) as u8 & 15 {
        value @ 0..=9 => 0xF0 + value,
        value => 0xC1 + value - 10,
    };
    holds(
        "  manufacturer",
        block.0[32..36] == [0xC9, 0xC2, 0xD4, 0x40],
    );
    holds(
        "  machine type",
        block.0[48..52] == [12, 8, 4, 0].map(digit),
    );
    holds(
        "  model capacity",
        block.0[64..68] == [0xF7, 0xF0, 0xF1, 0x40],
    );
    holds(
        "  model",
        block.0[100..103] == row.model && block.0[103] == 0x40,
    );
    for (function, selector) in [(1, 2), (2, 2)] {
        for second in [1, 2] {
            let cc = stsi(function, selector, second, block).0;
            check("STSI of the CPUs and of the partition", cc, 0);
        }
    }
    versions(row);
    counters(row);
    sampling_facility(row);
    enhanced_monitor(machine_type != 0x2097);
}

/// The facility came with z196. Without it a monitor call is an event, whatever the enhanced-monitor mask is.
fn enhanced_monitor(installed: bool) {
    holds("facility bit 36", facility(36) == installed);
    monitor::designate(&raw const ARRAY as u64, 8);
    lctlg_8(monitor::counted(3));
    let code = attempt!("mc 5(%r0), 3").code();
    lctlg_8(0);
    check(
        "both masks",
        code,
        if installed { 0 } else { MONITOR_EVENT },
    );
    // SAFETY: the only reference.
    let counters = unsafe { &*(&raw const ARRAY) };
    let counted = u16::from(installed);
    check("  the counter", counters.0[5], counted);
}

fn versions(row: &Row) {
    let information = qctri();
    let versions = (information.first_version, information.second_version);
    shows!(["SETS-5", "SETS-6"], versions == row.versions);
    fact("counter first version number", versions.0);
    fact("counter second version number", versions.1);
}

fn counters(row: &Row) {
    let (first, second) = row.versions;
    let information = qctri();
    let usable =
        information.authorization & (set::BASIC | set::PROBLEM_STATE | set::CRYPTO | set::EXTENDED);
    check("LCCTL", lcctl(controls(usable, usable)), 0);
    let has = |bit: u16| usable & bit != 0;
    let (problem, crypto, extended) = row.last;
    holds(
        "counters 0 to 5 and no other",
        exactly(0, 5, 32, has(set::BASIC)),
    );
    let problem_set = exactly(32, problem, 64, has(set::PROBLEM_STATE));
    holds("counters of the problem-state set", problem_set);
    if first == 1 {
        shows!("PROBLEM-2", problem_set);
        let caches = || (34..=37).all(|number| ecctr(number) == (0, 0));
        if has(set::PROBLEM_STATE) {
            shows!("PROBLEM-6", caches());
        }
    }
    let crypto_set = exactly(64, crypto, 128, has(set::CRYPTO));
    holds("counters of the crypto-activity set", crypto_set);
    let extended_set = exactly(128, extended, 448, has(set::EXTENDED));
    holds("counters of the extended set", extended_set);
    if has(set::CRYPTO) {
        match second {
            1..=5 => shows!("CRYPTO-1", crypto_set),
            _ => shows!("CRYPTO-2", crypto_set),
        }
    }
    if has(set::EXTENDED) {
        shows!("EXTENDED-5", extended_set);
        match second {
            1 => shows!("EXTENDED-1", extended_set),
            2 => shows!("EXTENDED-2", extended_set),
            3..=5 => shows!("EXTENDED-3", extended_set),
            _ => shows!("EXTENDED-4", extended_set),
        }
    }
    // Without multithreading the MT-diagnostic set cannot be enabled, even if it is installed.
    let none = exactly(448, 0, 512, false);
    holds("no counters of the MT-diagnostic set", none);
    if !row.threads {
        shows!("MT-1", none);
    }
    for number in [0, 5, 32, problem, problem + 1] {
        let usable = number <= 5 && has(set::BASIC)
            || (32..=problem).contains(&number) && has(set::PROBLEM_STATE);
        let cc = if usable { 0 } else { 3 };
        check("SCCTR: condition code", scctr(number, 1 << 40), cc);
    }
    let mut list = [0; 64];
    if has(set::BASIC) {
        check("STCCTM, all of the basic set", stcctm::<1>(6, &mut list), 0);
        check("STCCTM, more than it has", stcctm::<1>(7, &mut list), 2);
    }
    if has(set::PROBLEM_STATE) {
        let count = problem - 31;
        check(
            "STCCTM, problem-state set",
            stcctm::<2>(count, &mut list),
            0,
        );
        check(
            "STCCTM, more than it has",
            stcctm::<2>(count + 1, &mut list),
            2,
        );
    }
    let none = stcctm::<5>(1, &mut list);
    check("STCCTM, MT-diagnostic set", none, 3);
    if !row.threads {
        shows!("STCCTM-16", none, 3);
    }
    assigned(second);
    check("LCCTL", lcctl(0), 0);
}

/// Which bits LCCTL accepts for the MT-diagnostic set and for the set that is reserved for IBM use.
fn assigned(second: u16) {
    let codes = [42, 43, 58, 59].map(|bit| {
        let operand: u64 = 1 << (63 - bit);
        let at = &raw const operand as u64;
        attempt!(".insn s,0xb2840000,0({a})", a = in(reg_addr) at).code()
    });
    match second {
        1..=3 => shows!("LCCTL-8", codes, [6; 4]),
        4 => shows!("LCCTL-9", codes, [0; 4]),
        _ => check(
            "LCCTL: bits 42, 43, 58, 59",
            codes.iter().fold(0, |all, code| all << 4 | code),
            0x0606,
        ),
    }
}

fn sampling_facility(row: &Row) {
    let information = qsi();
    check("size of a basic entry", information.basic_entry_size, 32);
    check(
        "size of a diagnostic entry",
        information.diagnostic_entry_size,
        row.entry,
    );
    lpp(0x1234);
    let request = SamplingRequest {
        ..sampling::prepare(2, information.minimum_interval)
    };
    check("LSCTL", lsctl(&request), 0);
    sampling::busy(100 * information.minimum_interval);
    check("LSCTL, disabled", sampling::stop(), 0);
    holds("samples were stored", sampling::stored(0) > 90);
}
