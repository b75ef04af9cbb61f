//! A call tree: routines that call each other in every way in which a routine has its return address.
//!
//! Each 14 rounds are alike. So a trace of few rounds tells the exact call tree of all.
//! `tests-qemu/tests/machine/stacks.rs` compares the call stacks of samples with it.
//!
//! | routine | what it shows |
//! |---|---|
//! | `straight` | calls nobody and has no frame |
//! | `often` | few instructions and a frame, so that its first and last ones count |
//! | `shared` | has two callers with different shares |
//! | `nested` | calls itself |
//! | `handing_on` | ends by branching to another routine, which returns for it |
//! | `local` | calls nobody and has a frame |
#![no_std]
#![no_main]

use core::arch::asm;
use core::hint::black_box;

guests::clause!("measure: call stacks of samples", native = false);
guests::guest!(run);

/// So many instructions, one behind the other.
macro_rules! instructions {
    ($number:literal) => {
        // SAFETY: a register only.
        unsafe {
            asm!(
                concat!(".rept ", $number),
                "la %r0, 1(%r0)",
                ".endr",
                out("r0") _,
                options(nomem, nostack)
            )
        }
    };
}

#[repr(C)]
struct Parameters {
    mark: [u8; 24],
    /// Rounds of the whole tree.
    rounds: u64,
}

#[used]
static mut PARAMETERS: Parameters = Parameters {
    mark: *b"rounds of the call tree:",
    rounds: 602,
};

fn run() {
    // SAFETY: nothing stores there.
    let rounds = unsafe { (&raw const PARAMETERS.rounds).read_volatile() };
    for round in 0..rounds {
        first(black_box(round));
        second(black_box(round));
        black_box(nested(black_box(round % 7)));
        black_box(local(black_box(round)));
    }
}

#[inline(never)]
fn first(round: u64) {
    instructions!(700);
    shared(black_box(3));
    for _ in 0..black_box(20) {
        black_box(often(black_box(round)));
    }
    instructions!(300);
}

#[inline(never)]
fn second(round: u64) {
    straight();
    shared(black_box(1 + round % 2));
    black_box(handing_on(black_box(round)));
}

#[inline(never)]
fn shared(times: u64) {
    for _ in 0..times {
        instructions!(900);
        straight();
    }
}

#[inline(never)]
fn straight() {
    instructions!(1300);
}

#[inline(never)]
fn often(number: u64) -> u64 {
    black_box(little(black_box(number))) + 1
}

#[inline(never)]
fn little(number: u64) -> u64 {
    number ^ 5
}

#[inline(never)]
fn nested(depth: u64) -> u64 {
    instructions!(250);
    if depth == 0 {
        return 1;
    }
    let below = nested(black_box(depth - 1));
    instructions!(150);
    below + 1
}

#[inline(never)]
fn handing_on(number: u64) -> u64 {
    straight();
    instructions!(400);
    taking_over(number + 1)
}

#[inline(never)]
fn taking_over(number: u64) -> u64 {
    instructions!(1100);
    number
}

#[inline(never)]
fn local(number: u64) -> u64 {
    let mut numbers = [number; 40];
    black_box(&mut numbers);
    instructions!(1700);
    numbers[(number % 40) as usize]
}
