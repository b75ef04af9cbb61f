//! Ctrl-C: a wish to end, answered at the next convenient moment.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

static WISHED: AtomicBool = AtomicBool::new(false);

/// From now on SIGINT, SIGTERM and SIGHUP do not end the process: whoever works looks at
/// [`wished`] and ends in good order. A second one ends it at once; the kernel then ends QEMU.
pub fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        if WISHED.swap(true, Ordering::SeqCst) {
            std::process::exit(2);
        }
    })
    .context("cannot catch Ctrl-C")
}

/// Whether somebody wants the tool to end.
pub fn wished() -> bool {
    WISHED.load(Ordering::SeqCst)
}
