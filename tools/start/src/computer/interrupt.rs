//! Ctrl-C: a request to end, which the tool obeys at the next safe point.
//!
//! A terminal in raw mode sends no signals; there [`request`] does the same.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// When the first request was made.
static REQUESTED: OnceLock<Instant> = OnceLock::new();

/// A second signal within this time is the same request: a terminal, a shell and `timeout` may all pass it on.
const SAME_REQUEST: Duration = Duration::from_secs(1);

/// From now on SIGINT, SIGTERM and SIGHUP do not end the process: long work checks [`requested`] and ends in good
/// order. A second request ends the process at once, after `restore` has given the terminal back; the kernel then ends
/// QEMU.
pub fn install(restore: fn()) -> Result<()> {
    ctrlc::set_handler(move || {
        if REQUESTED.get_or_init(Instant::now).elapsed() > SAME_REQUEST {
            restore();
            std::process::exit(2);
        }
    })
    .context("cannot catch Ctrl-C")
}

/// Makes the request, as Ctrl-C does.
pub fn request() {
    REQUESTED.get_or_init(Instant::now);
}

/// Whether the tool should end.
pub fn requested() -> bool {
    REQUESTED.get().is_some()
}
