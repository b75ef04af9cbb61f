//! The cycle counts of coprocessors count each CPU cycle: while a coprocessor performs a function, the CPU that
//! issued it waits, and another CPU executes as many cycles as the function counts.

use core::sync::atomic::{AtomicU64, Ordering};

use guests::check::holds;
use guests::coprocessor::{Counted, KINDS, Kind, Operands, group_counter};
use guests::insn::measurement::{controls, ecctr, epctr, lcctl, lpctl, set};
use guests::insn::yield_cpu;
use guests::{shows, smp};

guests::clause!(
    "SA23-2260, Crypto-Activity Counter Set; Coprocessor-Group Counter Set: cycles",
    native = false,
    cpus = 2,
    options = "--cryptography"
);
guests::case!(run);

/// Functions of each kind.
const FUNCTIONS: u64 = 8;
/// More cycles than the other CPU's loop takes.
const LOOP: u64 = 16;

/// So few cycles before a function ends the machine gives no other CPU the turn any more: the way there takes as long.
const SHORTEST_WAIT: u64 = 64;

/// The cycles of the other CPU.
static OTHER: AtomicU64 = AtomicU64::new(0);

extern "C" fn other() -> ! {
    lcctl(controls(set::BASIC, set::BASIC));
    loop {
        OTHER.store(ecctr(0).1, Ordering::SeqCst);
        yield_cpu();
    }
}

fn run() {
    lpctl(3);
    lcctl(controls(set::CRYPTO, set::CRYPTO));
    smp::start(1, other);
    while OTHER.load(Ordering::SeqCst) == 0 {
        yield_cpu();
    }
    for kind in KINDS {
        measured(kind);
    }
    smp::stop_others();
}

/// Issues functions of a kind. Meanwhile the other CPU had the turn for the counted cycles, but perhaps for the last ones of a
/// function, and for the rest of its loop when a function ended.
fn measured(kind: Kind) {
    let mut operands = Operands::of(kind);
    let (before, group) = (Counted::now(), group(kind));
    let other = OTHER.load(Ordering::SeqCst);
    for _ in 0..FUNCTIONS {
        operands.issue(kind);
    }
    let passed = OTHER.load(Ordering::SeqCst) - other;
    let busy = Counted::now().since(before).of(kind)[1];
    let least = busy.saturating_sub(FUNCTIONS * SHORTEST_WAIT);
    let exact = (least..busy + FUNCTIONS * LOOP).contains(&passed);
    match kind {
        Kind::Prng => shows!(["CRYPTO-4", "CPUSET-3"], exact),
        Kind::Sha => shows!(["CRYPTO-8", "CPUSET-3"], exact),
        Kind::Dea => shows!(["CRYPTO-12", "CPUSET-3"], exact),
        Kind::Aes => shows!(["CRYPTO-16", "CPUSET-3"], exact),
        Kind::Ecc => shows!(["CRYPTO-20", "CPUSET-3"], exact),
    }
    holds("functions take their time", busy > 0);
    if let (Some(before), Some(now)) = (group, self::group(kind)) {
        let exact = (now - before, exact);
        match kind {
            Kind::Prng | Kind::Sha => shows!(["GROUP-5", "GROUP-11"], exact, (busy, true)),
            _ => shows!(["GROUP-5", "GROUP-15"], exact, (busy, true)),
        }
    }
}

/// The cycle count of this CPU's group for a kind of function, if it has one.
fn group(kind: Kind) -> Option<u64> {
    Some(epctr(group_counter(kind)? + 1, 0).1)
}
