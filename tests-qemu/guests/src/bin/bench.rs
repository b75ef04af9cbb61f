//! The machine's paths, in instructions.
//!
//! Under a virtual clock that advances one nanosecond for each instruction (icount, shift 0), the guest can see the
//! time that the machine takes to perform an instruction. Each line is `path <name> <instructions>`: the instructions
//! that one instance takes beyond the instruction itself. It is the difference of two loops, the second of which is
//! empty, after a warm-up. DAT is on, the program is in supervisor state, and everything stays in one page of code.
#![no_std]
#![no_main]

use guests::dat::{self, WINDOW};
use guests::insn::control::lctlg_8;
use guests::insn::cpu::{Page, facility};
use guests::insn::measurement::{
    ACTIVATE_BASIC, ACTIVATE_DIAGNOSTIC, ENABLE_BASIC, ENABLE_DIAGNOSTIC, LARGE_BLOCKS,
    SamplingRequest, controls, lcctl, lsctl, qsi, set,
};
use guests::insn::storage::ptlb;
use guests::interruption::{Class, returning};
use guests::monitor::{counted, designate};
use guests::psw::{self, Psw};
use guests::{lowcore, println, sampling};

guests::clause!("measure: path lengths in instructions", native = true);
guests::guest!(run);

/// Instances of a loop.
const N: u64 = 1000;
/// Where the loops store their clock stamps (real and virtual).
const STAMPS: usize = 0xB00;

/// Storage that nothing else uses.
static mut PAGES: [Page; 2] = [const { Page([0; 4096]) }; 2];

/// TOD-clock units of N instances of a text, with the loop's own instructions.
macro_rules! units {
    ($text:expr $(, $name:ident = $class:ident $value:expr)* $(,)?) => {{
        let mut units = 0_u64;
        // The first run makes the text known to the machine. The second must have the same text.
        for _ in 0..core::hint::black_box(2) {
            // SAFETY: the texts change nothing that is not named.
            unsafe {
                core::arch::asm!(
                    "stckf 0xB00(%r0)",
                    "40:",
                    $text,
                    "brctg {turns}, 40b",
                    "stckf 0xB08(%r0)",
                    turns = inout(reg) N => _,
                    $($name = in($class) $value,)*
                    out("r0") _,
                    out("r1") _,
                    out("r2") _,
                );
            }
            units = lowcore::read::<u64>(STAMPS + 8) - lowcore::read::<u64>(STAMPS);
        }
        units
    }};
}

/// Nanoseconds, which are instructions, of TOD-clock units.
fn instructions(units: u64) -> u64 {
    (units * 1000 + 2048) / 4096
}

fn path(name: &str, instructions: u64) {
    println!("path {name} {instructions}");
}

fn absent(name: &str) {
    println!("path {name} absent");
}

fn run() {
    let counters = facility(67);
    let sampler = facility(68);
    dat::prepare();
    dat::on();
    let empty = units!("");
    // The cost of one instance beyond the instruction itself.
    let beyond = |units: u64| (instructions(units.saturating_sub(empty)) + N / 2) / N;
    let one = |units: u64| beyond(units).saturating_sub(1);
    let mut block = [0_u64; 8];
    let a = block.as_mut_ptr() as u64;

    path("trap-decode", one(units!("stap 0({a})", a = reg_addr a)));
    let mask = [0x04_u8];
    path("ssm", one(units!("ssm 0({a})", a = reg_addr mask.as_ptr())));
    path("stnsm", one(units!("stnsm 0({a}), 0xFC", a = reg_addr a)));
    path("stosm", one(units!("stosm 0({a}), 0x04", a = reg_addr a)));
    path("stpt", one(units!("stpt 0({a})", a = reg_addr a)));
    if facility(40) {
        path(
            "lpp",
            one(units!(".insn s,0xb2800000,0({a})", a = reg_addr a)),
        );
    } else {
        absent("lpp");
    }
    if counters && lcctl(controls(set::BASIC, set::BASIC)) == 0 {
        path(
            "ecctr",
            one(units!(".insn rre,0xb2e40000,%r2,{n}", n = reg 1_u64)),
        );
    } else {
        absent("ecctr");
    }
    let mut next = Psw::new(psw::INITIAL | psw::DAT, 0);
    let lpswe = beyond(units!(
        "larl %r2, 41f\n stg %r2, 8({p})\n lpswe 0({p})\n 41:",
        p = reg_addr &raw mut next,
    ))
    .saturating_sub(2);
    path("lpswe", lpswe.saturating_sub(1));
    if facility(36) {
        designate(a, 8);
        lctlg_8(counted(1));
        path("monitor-call", one(units!("mc 5(%r0), 1")));
        lctlg_8(0);
    } else {
        absent("monitor-call");
    }
    let primary = guests::insn::control::stctg_all()[1];
    let list = [primary];
    path(
        "lctlg-1",
        one(units!("lctlg 1, 1, 0({a})", a = reg_addr list.as_ptr())),
    );
    on_other_paths(empty);
    interruptions(empty, lpswe);
    if sampler {
        samples();
        sample_of("sample-1m", LARGE_BLOCKS | BASIC, 32);
        let combined = 32 + u64::from(qsi().diagnostic_entry_size);
        sample_of("sample-combined", BASIC | DIAGNOSTIC, combined);
        sample_of(
            "sample-combined-1m",
            LARGE_BLOCKS | BASIC | DIAGNOSTIC,
            combined,
        );
    } else {
        absent("sample");
        absent("sample-block-change");
        absent("sample-1m");
        absent("sample-combined");
        absent("sample-combined-1m");
    }
    if counters && facility(142) {
        // All six counters of the basic set in one instruction.
        let six =
            one(units!(".insn rsy,0xeb0000000017,{n},1,0({a})", n = reg 6_u64, a = reg_addr a));
        path("stcctm-6", six);
    } else {
        absent("stcctm-6");
    }
    // The hardware executes it, but nothing behind it. The two instructions around it are the guest's own.
    let alone = units!(
        "j 41f\n 42: lgr %r2, %r2\n 41: exrl {m}, 42b",
        m = reg_addr 0_u64,
    );
    path("alone", beyond(alone).saturating_sub(3));
    path("shadow-fill", fill(FAR));
    path("shadow-fill-near", fill(1));
    if counters {
        lcctl(0);
    }
    dat::off();
}

/// Instructions that control programs seldom issue.
#[inline(never)]
fn on_other_paths(empty: u64) {
    let beyond = |units: u64| (instructions(units.saturating_sub(empty)) + N / 2) / N;
    path(
        "sigp-sense",
        beyond(units!("sigp %r0, {own}, 1", own = reg 0_u64)).saturating_sub(1),
    );
    path("stfl", beyond(units!("stfl 0(%r0)")).saturating_sub(1));
    let pages = (&raw mut PAGES).cast::<Page>();
    let move_page = units!(
        "lghi %r0, 0\n mvpg {to}, {from}",
        to = reg pages,
        from = reg pages.wrapping_add(1),
    );
    path("mvpg", beyond(move_page).saturating_sub(2));
    let identity = units!(
        "llilh %r0, 0x1000\n oill %r0, 1\n lghi %r1, 1\n stsi 0({to})",
        to = reg_addr pages,
    );
    path("stsi-1.1.1", beyond(identity).saturating_sub(4));
    path(
        "diagnose-44",
        beyond(units!("diag %r0, %r0, 0x44")).saturating_sub(1),
    );
}

/// Interruptions of the guest, which the machine delivers. The handler is one LPSWE, whose own path is known.
#[inline(never)]
fn interruptions(empty: u64, lpswe: u64) {
    let interrupted = |units: u64| {
        let all = (instructions(units.saturating_sub(empty)) + N / 2) / N;
        all.saturating_sub(1 + lpswe)
    };
    returning(Class::SupervisorCall, || {
        path("svc", interrupted(units!("svc 1")));
    });
    let block = [0_u64; 8];
    // An operation that is not assigned, an operand that the machine refuses, and an odd register that the hardware does.
    returning(Class::Program, || {
        path(
            "illegal",
            interrupted(units!(".insn rre,0xb9f30000,%r0,%r0")),
        );
        path(
            "specification",
            interrupted(units!("stap 1({a})", a = reg_addr block.as_ptr())),
        );
        path("reflected", interrupted(units!(".short 0x1c30")));
    });
}

/// TOD-clock units of a loop of `turns` instructions.
fn spin_units(turns: u64) -> u64 {
    let start = guests::insn::clock::stckf();
    sampling::busy(turns);
    guests::insn::clock::stckf() - start
}

/// One basic sample: a loop with sampling active against the same loop with it inactive. The first run
/// stays inside the first block, the second one goes on into the next.
fn samples() {
    const INTERVAL: u64 = 10_000;
    const TURNS: u64 = 100 * INTERVAL;
    let request = sampling::prepare(sampling::BLOCKS, INTERVAL);
    spin_units(TURNS);
    let without = instructions(spin_units(TURNS));
    if lsctl(&request) != 0 {
        absent("sample");
        absent("sample-block-change");
        return;
    }
    let taken = || (qsi().dear - sampling::block(0)) / 32;
    let first = taken();
    let inside = instructions(spin_units(TURNS));
    let samples = taken() - first;
    let across = instructions(spin_units(TURNS));
    lsctl(&SamplingRequest::default());
    let blocks = (0..sampling::BLOCKS)
        .filter(|&n| sampling::trailer(n, 0) & sampling::FULL != 0)
        .count();
    println!("samples in the first block {samples}, blocks that became full {blocks}");
    let each = inside.saturating_sub(without) / samples.max(1);
    path("sample", each);
    // As many samples as before, one of them with a block change.
    path("sample-block-change", across.saturating_sub(inside) + each);
}

/// The address of a block of 1 MiB, in storage that nothing else uses and that no DAT table maps.
const LARGE_BLOCK: u64 = 0x400_0000;
/// Both controls of the basic-sampling function.
const BASIC: u64 = ENABLE_BASIC | ACTIVATE_BASIC;
/// Both controls of the diagnostic-sampling function.
const DIAGNOSTIC: u64 = ENABLE_DIAGNOSTIC | ACTIVATE_DIAGNOSTIC;

/// One sample of another kind, in a block of another size: its entry has `length` bytes, and no sample changes the
/// block.
fn sample_of(name: &str, controls: u64, length: u64) {
    const INTERVAL: u64 = 10_000;
    const SAMPLES: u64 = 20;
    let mut request = sampling::prepare(sampling::BLOCKS, INTERVAL);
    request.state = controls;
    if controls & LARGE_BLOCKS != 0 {
        request.dear = LARGE_BLOCK;
    }
    let without = instructions(spin_units(SAMPLES * INTERVAL));
    if lsctl(&request) != 0 {
        absent(name);
        return;
    }
    let with = instructions(spin_units(SAMPLES * INTERVAL));
    let samples = (qsi().dear - request.dear) / length;
    lsctl(&SamplingRequest::default());
    path(name, with.saturating_sub(without) / samples.max(1));
}

/// A distance of pages of which no two are filled together.
const FAR: u64 = 16;

/// The pages of the window that are touched.
const WINDOW_PAGES: u64 = 208;

/// Pages that become reachable only at their first touch after PURGE TLB, each at this distance behind the one before. The
/// mean of one.
fn fill(distance: u64) -> u64 {
    let pages = WINDOW_PAGES / distance;
    for n in 0..WINDOW_PAGES {
        let is_touched = n.is_multiple_of(distance);
        let entry = if is_touched {
            0x80_0000 + (n << 12)
        } else {
            dat::INVALID
        };
        dat::replace_window(n as usize, entry);
    }
    let touch = || {
        // SAFETY: fetches from pages of the window.
        unsafe {
            core::arch::asm!(
                "stckf 0xB00(%r0)",
                "40: lg %r2, 0({p})",
                "agr {p}, {d}",
                "brctg {n}, 40b",
                "stckf 0xB08(%r0)",
                p = inout(reg_addr) WINDOW => _,
                d = in(reg) distance << 12,
                n = inout(reg) pages => _,
                out("r2") _,
            );
        }
        instructions(lowcore::read::<u64>(STAMPS + 8) - lowcore::read::<u64>(STAMPS))
    };
    touch();
    let warm = touch();
    ptlb();
    let cold = touch();
    cold.saturating_sub(warm) / pages
}
