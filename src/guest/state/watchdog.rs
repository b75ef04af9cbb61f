//! The watchdog: a timer that the guest sets again and again, and that loads its program anew if it does not.
//!
//! Any CPU sets it. [`WATCHING`] finds that it has expired, because a load goes on at that CPU.

use crate::state::schedule::NEVER;
use spin::Mutex;

/// The CPU that watches.
pub const WATCHING: u16 = 0;

/// Clock units in a second.
const SECOND: u64 = 1_000_000 << 12;

/// The watchdog of a configuration.
#[derive(Debug)]
pub struct Watchdog {
    /// Whether the machine below has one.
    pub present: bool,
    /// The clock beyond which it has expired; [`NEVER`] while it is disabled.
    expires_at: Mutex<u64>,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self {
            present: false,
            expires_at: Mutex::new(NEVER),
        }
    }
}

impl Watchdog {
    /// The clock beyond which it has expired; [`NEVER`] while it is disabled.
    #[must_use]
    pub fn expires_at(&self) -> u64 {
        *self.expires_at.lock()
    }

    /// Whether it will expire.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.expires_at() != NEVER
    }

    /// Expires so many seconds from the clock `now` on. A time beyond the end of the clock is its end.
    pub fn set(&self, now: u64, seconds: u64) {
        let at = now.saturating_add(seconds.saturating_mul(SECOND));
        *self.expires_at.lock() = at.min(NEVER - 1);
    }

    /// Expires no more. Returns whether it was enabled.
    pub fn disable(&self) -> bool {
        core::mem::replace(&mut *self.expires_at.lock(), NEVER) != NEVER
    }

    /// Whether it has expired by the clock that `clock` returns; then it is disabled.
    pub fn take_expired(&self, clock: impl FnOnce() -> u64) -> bool {
        let mut expires_at = self.expires_at.lock();
        let expired = *expires_at != NEVER && clock() > *expires_at;
        if expired {
            *expires_at = NEVER;
        }
        expired
    }

    /// Performs `set`, which sets the clock forward by what it returns, and keeps the time that is left.
    pub fn while_clock_is_set<E>(&self, set: impl FnOnce() -> Result<u64, E>) -> Result<u64, E> {
        let mut expires_at = self.expires_at.lock();
        let forward = set()?;
        move_forward(&mut expires_at, forward);
        Ok(forward)
    }

    /// The guest has stood still for so many clock units.
    pub fn extend(&self, units: u64) {
        move_forward(&mut self.expires_at.lock(), units);
    }
}

const fn move_forward(expires_at: &mut u64, units: u64) {
    if *expires_at != NEVER {
        *expires_at = expires_at.wrapping_add(units);
    }
}
