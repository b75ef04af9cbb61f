//! A loop with a bare timer interruption every 100,000 instructions, for ratios of host time.
#![no_std]
#![no_main]

guests::clause!(
    "measure: the CPU-bound loop with a bare timer interruption every 100,000 instructions",
    native = true
);
guests::guest!(run);

fn run() {
    guests::bare_timer::run(100_000);
}
