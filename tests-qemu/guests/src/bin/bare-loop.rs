//! The loop of bare-traps without the traps, for host time.
#![no_std]
#![no_main]

guests::clause!(
    "measure: a loop of the same length without traps",
    native = true
);
guests::guest!(run);

fn run() {
    guests::bare_traps::run(false);
}
