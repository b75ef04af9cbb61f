//! Ten thousand random instruction streams in problem state.
#![no_std]
#![no_main]

guests::clause!(
    "Millimeter: no random instruction stream stops the machine",
    native = true
);
guests::guest!(run);

fn run() {
    guests::streams::perform_all(false);
}
