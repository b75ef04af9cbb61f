//! A loop with a bare timer interruption every 1,000,000 instructions, for ratios of host time.
#![no_std]
#![no_main]

guests::clause!(
    "measure: the CPU-bound loop with a bare timer interruption every 1,000,000 instructions",
    native = true
);
guests::guest!(run);

fn run() {
    guests::bare_timer::run(1_000_000);
}
