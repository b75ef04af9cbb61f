//! A hundred thousand rounds of ten simple instructions: what a trace of every instruction costs for each.
#![no_std]
#![no_main]

use core::arch::asm;

guests::clause!("measure: a million simple instructions", native = true);
guests::guest!(run);

/// Rounds of the loop.
const ROUNDS: u64 = 100_000;

static mut OPERANDS: [u64; 4] = [1, 2, 3, 4];

fn run() {
    let operands = (&raw mut OPERANDS).cast::<u64>();
    let sum: u64;
    // SAFETY: the loop accesses nothing but its operands.
    unsafe {
        asm!(
            "2: lg 3, 0({at})",
            "agr {sum}, 3",
            "aghi 3, 1",
            "stg 3, 0({at})",
            "mvc 16(8, {at}), 0({at})",
            "clgr 3, {sum}",
            "lgr 4, 3",
            "sllg 4, 4, 1",
            "xg 4, 8({at})",
            "brctg {rounds}, 2b",
            at = in(reg_addr) operands,
            sum = inout(reg) 0u64 => sum,
            rounds = inout(reg) ROUNDS => _,
            out("r3") _,
            out("r4") _,
        );
    }
    guests::println!("sum {sum}");
}
