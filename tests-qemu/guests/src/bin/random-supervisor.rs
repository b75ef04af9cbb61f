//! Ten thousand random instruction streams in supervisor state: instructions that the machine performs for a control
//! program, with random operands. (SET ADDRESS SPACE CONTROL to access-register mode ends bare QEMU.)
#![no_std]
#![no_main]

guests::clause!(
    "Millimeter: no random instruction stream stops the machine",
    native = false
);
guests::guest!(run);

fn run() {
    guests::streams::perform_all(true);
}
