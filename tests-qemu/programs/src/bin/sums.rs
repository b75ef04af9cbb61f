//! Two functions that take as many instructions as the parameters say: for tests of what finds the slower one.
#![no_std]
#![no_main]

use core::arch::global_asm;

/// How many instructions each function takes. A test replaces the numbers behind the mark in the file.
#[repr(C)]
struct Parameters {
    mark: [u8; 8],
    rounds: [u64; 2],
}

static mut PARAMETERS: Parameters = Parameters {
    mark: *b"ROUNDS: ",
    rounds: [3_000_000, 1_000_000],
};

programs::program!(run);

global_asm!(
    ".globl parse",
    ".type parse, @function",
    "parse: brctg %r2, parse",
    "br %r14",
    ".size parse, . - parse",
    ".globl solve",
    ".type solve, @function",
    "solve: brctg %r2, solve",
    "br %r14",
    ".size solve, . - solve",
);

unsafe extern "C" {
    fn parse(rounds: u64);
    fn solve(rounds: u64);
}

fn run() -> u8 {
    // SAFETY: the only thread reads what the file has; both functions change nothing but register 2.
    unsafe {
        let mark = (&raw const PARAMETERS.mark).read_volatile();
        let [first, second] = (&raw const PARAMETERS.rounds).read_volatile();
        parse(first);
        solve(second);
        u8::from(mark[0] != b'R')
    }
}
