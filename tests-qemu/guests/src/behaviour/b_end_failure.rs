//! A guest that enters a disabled wait at an address other than FFF has failed.

guests::clause!(
    "Principles of Operation, wait state; Millimeter: how a guest ends",
    native = true,
    end = failure
);
guests::case!(run);

fn run() {
    guests::println!("about to enter a disabled wait at 123456");
    guests::end::disabled_wait(0x12_3456);
}
