//! Ctrl-C: a request to end, which the tool obeys at the next safe point.
//!
//! A person whose terminal sends no signals makes the same request by [`wish`].

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

/// When it was first wished.
static WISHED: OnceLock<Instant> = OnceLock::new();

/// A second signal within this time is the first one again: a terminal, a shell and `timeout` may
/// all pass the same one on.
const SAME_WISH: Duration = Duration::from_secs(1);

/// From now on SIGINT, SIGTERM and SIGHUP do not end the process: whoever works looks at
/// [`wished`] and ends in good order. Asked again, the process ends at once, when `restore` has given the terminal
/// back; the kernel then ends QEMU.
pub fn install(restore: fn()) -> Result<()> {
    ctrlc::set_handler(move || {
        if WISHED.get_or_init(Instant::now).elapsed() > SAME_WISH {
            restore();
            std::process::exit(2);
        }
    })
    .context("cannot catch Ctrl-C")
}

/// Wishes it as Ctrl-C does.
pub fn wish() {
    WISHED.get_or_init(Instant::now);
}

/// Whether somebody wants the tool to end.
pub fn wished() -> bool {
    WISHED.get().is_some()
}
