//! The path of a sample with its call stack, in instructions.
//!
//! A run of `bench` samples this guest from below and follows stacks of 16 return addresses; the loop has more callers.
//! As in `bench` the clock counts instructions, the machine's own included, so the time of the loop beyond its own
//! instructions is that of its samples. Stacks are sent when their room is full, which takes longer: the shortest of
//! some loops has sent none.
#![no_std]
#![no_main]

use core::hint::black_box;

use guests::insn::clock::stckf;
use guests::{dat, println, sampling};

guests::clause!(
    "measure: the path of a sample with its call stack",
    native = false
);
guests::guest!(run);

/// The interval of the run, and the samples that fall into a loop.
const INTERVAL: u64 = 10_000;
const SAMPLES: u64 = 20;
/// Loops of which the shortest counts.
const LOOPS: u64 = 8;
/// Callers of the loop.
const CALLERS: u64 = 20;

fn run() {
    dat::prepare();
    dat::on();
    let shortest = below(CALLERS);
    dat::off();
    println!("path sample-stack-16 {shortest}");
}

/// The shortest loop, below so many callers.
#[inline(never)]
fn below(callers: u64) -> u64 {
    if callers == 0 {
        return (0..LOOPS)
            .map(|_| instructions_of_a_sample())
            .min()
            .unwrap_or(0);
    }
    // The result is used after the call, so each call has a frame.
    black_box(below(black_box(callers - 1)))
}

#[inline(never)]
fn instructions_of_a_sample() -> u64 {
    let turns = SAMPLES * INTERVAL;
    let start = stckf();
    sampling::busy(turns);
    let units = stckf() - start;
    ((units * 1000 + 2048) / 4096).saturating_sub(turns) / SAMPLES
}
