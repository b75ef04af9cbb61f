//! The hardware system area is beyond the end of storage also for instructions that the machine performs itself,
//! where bare QEMU has no check or no such instruction: invalidation of table entries, LOAD REAL ADDRESS by tables in
//! the area, status of another CPU, measurement. Each gives the exception or status of an address that is not
//! available and changes no storage. Every page of the area is out of reach with DAT off and on.

use guests::attempt::Outcome;
use guests::check::{check, holds};
use guests::dat::{self, WINDOW};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::Order;
use guests::insn::measurement::{controls, lcctl, qctri, qsi, set};
use guests::insn::storage::ptlb;
use guests::misdirected::{MACHINE_END, end, load, not_available, store, sum_of_the_rest};
use guests::{attempt, attempt_on_registers, smp};

guests::clause!(
    "Principles of Operation, Addressing Exception; INVALIDATE DAT TABLE ENTRY; LOAD REAL ADDRESS; SIGNAL PROCESSOR; SA23-2260",
    native = false,
    cpus = 2
);
guests::case!(run);

/// A doubleword that nothing may replace.
const MARK: u64 = 0x5A5A_A5A5_1234_8765;
/// Expects the addressing exception at each address that is not available.
const EVERY: u64 = 0x5555_5555;

fn every(name: &str, attempt: impl Fn(u64) -> Outcome) {
    let codes = not_available().iter().fold(0, |all: u64, &at| {
        all << 4 | u64::from(attempt(at).code().min(15))
    });
    check(name, codes, EVERY);
}

fn invalidations() {
    every("IPTE", |a| {
        attempt_on_registers!("ipte %r2, %r3", &mut [0, a, 0x1000, 0, 0])
    });
    for (name, kind) in [
        ("IDTE of a segment-table entry", 0),
        ("IDTE of a region-third-table entry", 4),
        ("IDTE of a region-second-table entry", 8),
        ("IDTE of a region-first-table entry", 12),
    ] {
        every(name, |a| {
            attempt_on_registers!("idte %r2, %r0, %r3", &mut [0, a & !0xFFF | kind, 0, 0, 0])
        });
    }
    // The table begins in storage and extends beyond it: entries from 1536 on are not available.
    let last = end() - 0x3000;
    let outcome = attempt_on_registers!("idte %r2, %r0, %r3", &mut [0, last, 1536 << 20, 0, 0]);
    check("IDTE across the end", outcome.code(), 5);
}

fn load_real_address() {
    let kept = stctg_all();
    for (name, kind) in [("segment table", 0), ("region-first table", 12)] {
        every(name, |a| {
            let mut registers = kept;
            registers[1] = a & !0xFFF | kind | 3;
            lctlg_all(&registers);
            let (mut short, mut long) = (MARK, MARK);
            let outcome =
                attempt!("lrag {v}, 0({a})", v = inout(reg) long, a = in(reg_addr) 0x1000_u64);
            let other =
                attempt!("lra {v}, 0({a})", v = inout(reg) short, a = in(reg_addr) 0x1000_u64);
            lctlg_all(&kept);
            if (short, long, other.code()) == (MARK, MARK, 5) {
                outcome
            } else {
                Outcome::Completed(0)
            }
        });
    }
}

/// Condition code and status of an order to the other CPU, which is stopped.
fn order(order: Order, parameter: u64) -> u64 {
    let (cc, status) = smp::signal(1, order, parameter as u32);
    u64::from(cc) << 32 | u64::from(status)
}

fn other_cpu() {
    const INVALID_PARAMETER: u64 = 1 << 32 | 0x100;
    let addresses = not_available().into_iter().filter(|at| at >> 31 == 0);
    let mut refused = 0;
    for at in addresses {
        refused += u64::from(order(Order::SetPrefix, at) == INVALID_PARAMETER);
        refused += u64::from(order(Order::StoreStatusAtAddress, at) == INVALID_PARAMETER);
    }
    check("SIGP set prefix and store status", refused, 10);
}

fn measurement() {
    lcctl(controls(set::BASIC, 0));
    let before = (qctri(), qsi());
    every(
        "LPP",
        |a| attempt!(".insn s, 0xb2800000, 0({a})", a = in(reg_addr) a),
    );
    every(
        "LCCTL",
        |a| attempt!(".insn s, 0xb2840000, 0({a})", a = in(reg_addr) a),
    );
    every(
        "LSCTL",
        |a| attempt!(".insn s, 0xb2870000, 0({a})", a = in(reg_addr) a),
    );
    every(
        "QCTRI",
        |a| attempt!(".insn s, 0xb28e0000, 0({a})", a = in(reg_addr) a),
    );
    every(
        "QSI",
        |a| attempt!(".insn s, 0xb2860000, 0({a})", a = in(reg_addr) a),
    );
    every(
        "STCCTM",
        |a| attempt!(".insn rsy, 0xeb0000000017, {n}, 1, 0({a})", n = in(reg) 6_u64, a = in(reg_addr) a),
    );
    holds("controls are as they were", (qctri(), qsi()) == before);
    every("TPI", |a| attempt!("tpi 0({a})", a = in(reg_addr) a));
    every("STCPS", |a| attempt!("stcps 0({a})", a = in(reg_addr) a));
}

/// Bare QEMU stores a part of such an operand. The machine stores nothing.
fn across() {
    let last = end() - 8;
    let kept = load(last);
    store(last, MARK);
    let codes = [
        attempt!("stctg 2, 3, 0({a})", a = in(reg_addr) last).code(),
        attempt!("stpt 4({a})", a = in(reg_addr) last).code(),
        attempt!(".insn s, 0xb28e0000, 0({a})", a = in(reg_addr) last).code(),
        attempt!(".insn s, 0xb2860000, 0({a})", a = in(reg_addr) last).code(),
    ];
    // STORE CPU TIMER requires a doubleword boundary.
    let codes = codes
        .iter()
        .fold(0_u64, |all, &code| all << 4 | u64::from(code));
    check("stores across the end", codes, 0x5655);
    check("  what is before it", load(last), MARK);
    store(last, kept);
}

/// Every page of the area.
fn sweep(name: &str, reach: impl Fn(u64) -> u64) {
    let reached: u64 = (end()..MACHINE_END)
        .step_by(4096)
        .map(|page| reach(page))
        .sum();
    check(name, reached, 0);
}

fn run() {
    let sum = sum_of_the_rest();
    dat::prepare();
    invalidations();
    load_real_address();
    other_cpu();
    measurement();
    across();
    sweep("pages that can be reached with DAT off", |page| {
        let fetched = attempt!("lg %r1, 0x120({a})", a = in(reg_addr) page).code();
        let stored = attempt!("mvghi 0x120({a}), 0", a = in(reg_addr) page).code();
        let real = attempt!("lurag %r1, {a}", a = in(reg) page).code();
        u64::from((fetched, stored, real) != (5, 5, 5))
    });
    dat::on();
    sweep("pages that can be reached by a table", |page| {
        dat::set_window(9, page);
        ptlb();
        let a = WINDOW + 0x9120;
        let fetched = attempt!("lg %r1, 0({a})", a = in(reg_addr) a).code();
        let stored = attempt!("mvghi 0({a}), 0", a = in(reg_addr) a).code();
        let executed = attempt!("basr %r1, {a}", a = in(reg_addr) a).code();
        u64::from((fetched, stored, executed) != (5, 5, 5))
    });
    dat::off();
    holds("storage is as it was", sum_of_the_rest() == sum);
}
