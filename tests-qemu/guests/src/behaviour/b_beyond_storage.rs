//! Every instruction that takes an operand, its own text, a control block or a prefix from beyond the end of storage
//! meets an addressing exception, and registers, storage and the prefix stay as they were. Above the machine the
//! hardware system area begins there.

use guests::attempt::Outcome;
use guests::check::{check, holds};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::{Page, spx, stpx};
use guests::misdirected::{end, load, store};
use guests::sccb::{hole, storage_end};
use guests::{attempt, attempt_in_problem_state, attempt_on_registers, lowcore};

guests::clause!(
    "Principles of Operation, Addressing Exception; Prefixing; program exceptions of the instructions",
    native = true,
    options = "--storage 512M; --storage 4G"
);
guests::case!(run);

/// A doubleword that nothing may replace.
const MARK: u64 = 0x5A5A_A5A5_1234_8765;

/// The program's own storage, for the operand that is available.
static mut HERE: Page = Page([0; 4096]);

/// Page addresses from the end of storage on: of storage that the machine keeps, and of storage that nobody has.
fn beyond() -> [u64; 12] {
    let end = end();
    // Where the area is a hole, storage ends elsewhere.
    let behind = (storage_end() as u64).max(0x8000_0000);
    let last = hole().map_or(end + (16 << 20), |_| 0x8000_0000) - 4096;
    [
        end,
        end + 0x1000,
        end + 0x2000,
        end + 0x8_0000,
        end + (1 << 20),
        end + (4 << 20),
        last,
        0x7FFF_E000,
        behind,
        behind + 0x7FFF_F000,
        1 << 40,
        4096_u64.wrapping_neg(),
    ]
}

/// Expects the addressing exception at each of these addresses.
const EVERY: u64 = 0x5555_5555_5555;

fn every(text: &str, attempt: impl Fn(u64) -> Outcome) {
    // The text before the instruction prepares it.
    let name = text.lines().last().unwrap_or(text).trim();
    let here = &raw mut HERE as u64;
    for at in (here..here + 4096).step_by(8) {
        store(at, MARK);
    }
    let codes = beyond().iter().fold(0, |all: u64, &at| {
        all << 4 | u64::from(attempt(at).code().min(15))
    });
    check(name, codes, EVERY);
    let changed = (here..here + 4096).step_by(8).any(|at| load(at) != MARK);
    holds("  nothing came from there", !changed);
}

/// Attempts an instruction of the storage operand at `a`, with the register `v` that must keep its mark.
macro_rules! keeps {
    ($text:literal) => {
        every($text, |a| {
            let mut v = MARK;
            let outcome = attempt!($text, v = inout(reg) v, a = in(reg_addr) a);
            if v == MARK { outcome } else { Outcome::Completed(0) }
        })
    };
}

/// Attempts an instruction whose other operand, if it has one, is the program's own page at `h`.
macro_rules! every {
    ($text:literal) => {
        every($text, |a| {
            let here = &raw mut HERE as u64;
            attempt!(concat!($text, "\n lgr {h}, {h}"), h = in(reg_addr) here, a = in(reg_addr) a)
        })
    };
}

/// Attempts an instruction with addresses or lengths in registers 2 to 5, which must all stay. In `$registers`, `a`
/// is the address beyond storage and `h` the program's own page.
macro_rules! registers {
    ($text:literal, |$a:ident, $h:ident| $registers:expr) => {
        every($text, |$a| {
            let $h = &raw mut HERE as u64;
            let before: [u64; 5] = $registers;
            let mut after = before;
            let outcome = attempt_on_registers!($text, &mut after);
            if after == before {
                outcome
            } else {
                Outcome::Completed(0)
            }
        })
    };
}

fn unprivileged() {
    keeps!("lg {v}, 0({a})");
    keeps!("lgf {v}, 4092({a})");
    keeps!("ic {v}, 4095({a})");
    keeps!("agf {v}, 0({a})");
    keeps!("lrvg {v}, 8({a})");
    keeps!(".insn rsy, 0xeb00000000e8, {v}, {v}, 0({a})");
    keeps!("csg {v}, {v}, 0({a})");
    keeps!("stg {v}, 0({a})");
    keeps!("stcmh {v}, 15, 0({a})");
    every!("mvc 0(256,{h}), 0({a})");
    every!("mvc 0(256,{a}), 0({h})");
    every!("xc 0(8,{a}), 0({a})");
    every!("oc 0(8,{h}), 0({a})");
    every!("tr 0(8,{h}), 0({a})");
    every!("clc 0(8,{h}), 0({a})");
    every!("tm 0({a}), 1");
    every!("mvi 0({a}), 1");
    every!("agsi 0({a}), 1");
    every!("lmg %r2, %r5, 0({a})");
    every!("stmg %r0, %r15, 0({a})");
    every!("lam %a2, %a3, 0({a})");
    every!("stckf 0({a})");
    every!("stcke 0({a})");
    every!("stfle 0({a})");
    every!("ex %r0, 0({a})");
    registers!("mvcl %r2, %r4", |a, h| [0, a, 64, h, 64]);
    registers!("mvcl %r2, %r4", |a, h| [0, h, 64, a, 64]);
    registers!("mvcle %r2, %r4, 0", |a, h| [0, a, 64, h, 64]);
    registers!("mvst %r2, %r4", |a, h| [0, h, 0, a, 0]);
    registers!("clst %r2, %r4", |a, h| [0, h, 0, a, 0]);
    registers!("lgr %r1, %r0\n cdsg %r2, %r4, 0(%r1)", |a, h| [
        a, h, h, h, h
    ]);
    registers!("mvpg %r2, %r3", |a, h| [0, h, a, 0, 0]);
    registers!("mvpg %r2, %r3", |a, h| [0, a, h, 0, 0]);
    every(
        "in problem state: a fetch",
        |a| attempt_in_problem_state!("lg %r1, 0({a})", a = in(reg_addr) a),
    );
    every(
        "in problem state: a store",
        |a| attempt_in_problem_state!("mvghi 0({a}), 1", a = in(reg_addr) a),
    );
}

fn privileged() {
    for_control();
    every!("ssm 0({a})");
    every!("stnsm 0({a}), 255");
    every!("lpsw 0({a})");
    every!("lpswe 0({a})");
    every!("spx 0({a})");
    every!("stpx 0({a})");
    every!("stap 0({a})");
    every!("sck 0({a})");
    every!("sckc 0({a})");
    every!("spt 0({a})");
    every!("stckc 0({a})");
    every!("tb %r2, {a}");
    every!("tprot 0({a}), 0(%r0)");
    every!("sske {h}, {a}");
    every!("rrbe {h}, {a}");
    keeps!("iske {v}, {a}");
    keeps!("lura {v}, {a}");
    keeps!("lurag {v}, {a}");
    keeps!("stura {v}, {a}");
    keeps!("sturg {v}, {a}");
    registers!("csp %r2, %r4", |a, h| [0, h, h, a, 0]);
    registers!(".insn rre, 0xb98a0000, %r2, %r4", |a, h| [0, h, h, a, 0]);
    every("stsi", |a| {
        let mut registers = [0x1000_0001, a, 0, 0, 0];
        attempt_on_registers!("lghi %r1, 1\n stsi 0(%r2)", &mut registers)
    });
    every!(".insn rre, 0xb25f0000, {a}, %r0");
    // The channel subsystem, with a subchannel that does not exist.
    every!("lgfi %r1, 0x10000\n msch 0({a})");
    every!("lgfi %r1, 0x10000\n ssch 0({a})");
    every!("stcrw 0({a})");
}

/// LOAD CONTROL does not change the control registers.
fn for_control() {
    let before = stctg_all();
    every!("lctl 1, 1, 0({a})");
    every!("lctlg 13, 13, 0({a})");
    every!("stctl 0, 15, 0({a})");
    every!("stctg 0, 15, 0({a})");
    holds("control registers", stctg_all() == before);
    lctlg_all(&before);
}

/// An instruction beyond the end is not executed, either.
fn execution() {
    every("branch", |a| attempt!("basr %r1, {a}", a = in(reg_addr) a));
    // The first halfword of LG is the last one of storage.
    let last = end() - 8;
    let kept = load(last);
    store(last, 0x0700_0700_0700_E310);
    let outcome = attempt!("basr %r1, {a}", a = in(reg_addr) end() - 2);
    check("an instruction across the end", outcome.code(), 5);
    store(last, kept);
}

/// Operands that begin in the last bytes of storage.
fn across() {
    let last = end() - 8;
    let kept = load(last);
    let codes = [
        attempt!("lg %r1, 4({a})", a = in(reg_addr) last).code(),
        attempt!("stg %r2, 4({a})", a = in(reg_addr) last).code(),
        attempt!("stctg 2, 3, 0({a})", a = in(reg_addr) last).code(),
        attempt!("lctlg 2, 3, 0({a})", a = in(reg_addr) last).code(),
        attempt!("lpswe 0({a})", a = in(reg_addr) last).code(),
    ];
    let codes = codes
        .iter()
        .fold(0_u64, |all, &code| all << 4 | u64::from(code));
    check("operands across the end", codes, 0x5_5555);
    store(last, kept);
}

/// SET PREFIX.
fn prefixing() {
    let mut codes = 0;
    // The last one is absolute 0 in 31 bits.
    for at in beyond().into_iter().take(8).chain([0x8000_0000]) {
        let new = at as u32;
        let outcome = attempt!("spx 0({a})", a = in(reg_addr) &raw const new as u64);
        codes = codes << 4 | u64::from(outcome.code());
        if stpx() != 0 {
            check("prefix", stpx(), 0);
            spx(0);
        }
    }
    check("SET PREFIX", codes, 0x5_5555_5550);
}

/// SERVICE CALL, and the parameters of a load.
fn blocks() {
    let mut codes = 0_u64;
    for at in beyond().into_iter().take(8) {
        let outcome = attempt!(".insn rre, 0xb2200000, {c}, {a}", c = in(reg) 0x0002_0001_u64, a = in(reg) at);
        codes = codes << 4 | u64::from(outcome.code());
        let mut registers = [0, at, 0, 5, 0];
        let outcome = attempt_on_registers!("diag %r2, %r4, 0x308", &mut registers);
        codes = codes << 4 | u64::from(outcome.code());
    }
    check(
        "SERVICE CALL and DIAGNOSE 308",
        codes,
        0x5555_5555_5555_5555,
    );
}

/// Every page of the first megabytes behind the end, or of a hole if that is smaller.
fn sweep() {
    let mut reached = 0;
    let first = end();
    let last = first + (32 << 20);
    let last = hole().map_or(last, |_| last.min(0x8000_0000));
    for a in (first..last).step_by(4096) {
        let fetched = attempt!("lg %r1, 0({a})", a = in(reg_addr) a).code();
        let stored = attempt!("mvghi 8({a}), 0", a = in(reg_addr) a).code();
        reached += u64::from(fetched != 5) + u64::from(stored != 5);
    }
    check("pages that could be reached", reached, 0);
}

fn run() {
    let before: u64 = lowcore::read(0x1F0);
    unprivileged();
    privileged();
    execution();
    across();
    prefixing();
    blocks();
    sweep();
    holds(
        "the prefix area is as it was",
        lowcore::read::<u64>(0x1F0) == before,
    );
}
