//! Accesses by random translation tables. Prints their results for comparison.
#![no_std]
#![no_main]

guests::clause!(
    "Principles of Operation, Dynamic Address Translation: as on bare QEMU, access by access",
    native = true
);
guests::guest!(run);

fn run() {
    guests::translations::perform_all();
}
