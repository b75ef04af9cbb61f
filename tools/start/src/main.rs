//! `cargo measure`: see the library for what happens before the host command begins.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(start::first_use::run())
}
