//! The host command that Cargo built with these tests.

use std::{env, path::PathBuf};

/// Its program: where Cargo says when it runs a test, else where it was when the test was compiled. In a copied checkout
/// Cargo compiles nothing again.
pub fn program() -> PathBuf {
    let now = env::var_os("CARGO_BIN_EXE_measure");
    now.map_or(env!("CARGO_BIN_EXE_measure").into(), PathBuf::from)
}
