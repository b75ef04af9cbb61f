//! A million counted monitor calls: each is counted once, is one instruction to the program, and costs the machine
//! a limited number of instructions.
#![no_std]
#![no_main]

use core::arch::asm;
use core::ptr;

use guests::check::{check, holds};
use guests::dat;
use guests::insn::clock::stckf;
use guests::insn::control::lctlg_8;
use guests::insn::cpu::facility;
use guests::insn::measurement::{controls, ecctr, lcctl, set};
use guests::monitor::{counted, designate, exceptions};
use guests::println;

guests::clause!(
    "measure: a million counted monitor calls, and what each costs",
    native = false
);
guests::guest!(run);

/// Rounds of ten monitor calls: each counter is carried from its halfword to its word.
const ROUNDS: u64 = 100_000;
const CALLS: u64 = 10 * ROUNDS;
/// Instructions of the machine for each.
const MOST: u64 = 200;
/// Counters: as many as HIS has. The last of the ten is the last of these.
const SIZE: usize = 1500;

#[repr(C, align(8))]
struct Array {
    halfwords: [u16; SIZE],
    words: [u32; SIZE],
}

static mut ARRAY: Array = Array {
    halfwords: [0; SIZE],
    words: [0; SIZE],
};

fn counter(number: usize) -> u64 {
    // SAFETY: what the machine counts there is read as it stands.
    unsafe {
        let word = ptr::read_volatile(&raw const ARRAY.words[number]);
        let halfword = ptr::read_volatile(&raw const ARRAY.halfwords[number]);
        u64::from(word) << 16 | u64::from(halfword)
    }
}

/// Issues them. Returns how many instructions they were.
fn calls(rounds: u64) -> u64 {
    let before = ecctr(1).1;
    // SAFETY: counts in the array.
    unsafe {
        asm!(
            "40: mc 0(%r0), 5",
            "mc 1(%r0), 5",
            "mc 2(%r0), 5",
            "mc 3(%r0), 5",
            "mc 4(%r0), 5",
            "mc 5(%r0), 5",
            "mc 6(%r0), 5",
            "mc 7(%r0), 5",
            "mc 8(%r0), 5",
            "mc 1499(%r0), 5",
            "brctg {n}, 40b",
            n = inout(reg) rounds => _,
        );
    }
    ecctr(1).1 - before
}

fn run() {
    holds("facility 36", facility(36));
    dat::prepare();
    dat::on();
    designate(&raw const ARRAY as u64, SIZE as u32);
    lcctl(controls(set::BASIC, set::BASIC));
    let without = calls(ROUNDS / 10) - ROUNDS / 10 * 11;
    lctlg_8(counted(5));
    let start = stckf();
    let instructions = calls(ROUNDS);
    let units = stckf() - start;
    lctlg_8(0);
    check("instructions", instructions, CALLS + ROUNDS + without);
    let mut sum = 0;
    for number in 0..SIZE {
        let expected = if number < 9 || number == SIZE - 1 {
            ROUNDS
        } else {
            0
        };
        let found = counter(number);
        if found != expected {
            check("a counter", found, expected);
        }
        sum += found;
    }
    check("counted", sum, CALLS);
    check("exceptions", exceptions(), 0);
    lcctl(0);
    dat::off();
    // A nanosecond is an instruction.
    let spent = (units * 1000 >> 12) - instructions;
    println!(
        "{CALLS} monitor calls, {} instructions of the machine for each",
        spent / CALLS
    );
    holds("at most 200 each", spent <= CALLS * MOST);
}
