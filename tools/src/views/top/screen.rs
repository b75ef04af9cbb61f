//! The terminal's whole screen, for as long as the view is shown.
//!
//! Meanwhile keys come one by one. The old screen comes back however the view ends. An error drops the guard, and a
//! panic restores the screen before its message. The second Ctrl-C, which ends the process at once, calls
//! [`give_back`].

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use ratatui::DefaultTerminal;

/// Whether the screen is taken.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The screen. Dropping it gives it back.
pub struct Screen {
    /// What is drawn on.
    pub terminal: DefaultTerminal,
}

impl Screen {
    /// Takes it.
    pub fn take() -> Result<Self> {
        TAKEN.store(true, Ordering::SeqCst);
        let taken = ratatui::try_init().context(
            "cannot draw on this terminal; `cargo measure top --once` shows the same as text",
        );
        match taken {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the screen back, if it was taken.
pub fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // A terminal that has gone away needs nothing.
        let _ = ratatui::try_restore();
    }
}
