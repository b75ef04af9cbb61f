//! CPUs that pass the turn to each other again and again, without other work: the clock at the end tells how long that
//! took.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering};

use guests::insn::clock::stckf;
use guests::{println, smp};

guests::clause!(
    "measure: the turns of more than one CPU",
    native = false,
    cpus = 3
);
guests::guest!(run);

const ROUNDS: u64 = 30_000;

/// How often the other CPUs had the turn.
static TURNS: AtomicU64 = AtomicU64::new(0);

extern "C" fn other() -> ! {
    loop {
        TURNS.fetch_add(1, Ordering::Relaxed);
        guests::insn::yield_cpu();
    }
}

fn run() {
    let cpus = smp::count();
    for cpu in 1..cpus {
        smp::start(cpu, other);
    }
    println!("{cpus} CPUs begin");
    let began = stckf();
    for _ in 0..ROUNDS {
        guests::insn::yield_cpu();
    }
    println!(
        "{ROUNDS} rounds, {} turns of others, {} units of the clock",
        TURNS.load(Ordering::Relaxed),
        stckf() - began
    );
}
