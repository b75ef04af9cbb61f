//! A loop of fixed length, for ratios of host time: 1.5 × 10⁹ instructions of compare, add and branch.
#![no_std]
#![no_main]

guests::clause!("measure: the CPU-bound loop alone", native = true);
guests::guest!(run);

fn run() {
    guests::println!("spin: {:016x}", guests::spin::spin());
}
