//! Traps with the shortest handler, for host time.
#![no_std]
#![no_main]

guests::clause!("measure: a loop with a trap in each turn", native = true);
guests::guest!(run);

fn run() {
    guests::bare_traps::run(true);
}
