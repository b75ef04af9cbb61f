//! A window: a part of an exact run that is performed again and looked at more closely.
//!
//! The clock of an exact run advances with every instruction of the machine, so what the machine does more than in the
//! first run would change the run. In a run with a window it therefore sets the guest's clock back by what it took
//! more: at the exit of every trap, and after every interruption that was only for the window. The guest cannot notice,
//! and the samples of the first run come again as they were, with their usual cost.
//!
//! The clock counts in units of which 4.096 are a nanosecond. It can be set back exactly only by a multiple of 125
//! nanoseconds, which are 512 units. So the machine fills up what it took more to a multiple of 125 instructions.

use super::schedule::ROUNDED_OFF;
use crate::state::account::{Account, Mode};
use crate::state::schedule::NEVER;
use crate::state::window::Window;
use arch::tod::{clock_nanoseconds, units};

/// So many instructions can be set back exactly.
pub const STEP: u64 = 125;

/// The clock units of a step of one nanosecond each.
const STEP_UNITS: u64 = 512;

/// If the comparator of the first run comes within these clock units, the window leaves it alone: nobody could say for
/// which of the two it interrupted.
const APART: u64 = 512;

/// For what the clock comparator interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// For what the first run had, too.
    FirstRun,
    /// Only for the window, and a sample is due.
    Sample,
    /// Only for the window, and no sample is due.
    Nothing,
}

impl Window {
    /// The value for the clock comparator of a CPU that is left to the guest: the first run's, or an earlier one for the
    /// window. The guest runs since the clock showed `left` for the account, and goes on at `now`; `exit` are the ticks
    /// of the way out.
    pub fn comparator(
        &mut self,
        account: &Account,
        exit: u64,
        left: u64,
        now: u64,
        first_run: u64,
    ) -> u64 {
        if self.is_over(now) {
            return first_run;
        }
        let at = if now < self.from {
            self.from
        } else if self.interval == NEVER || self.by_stops {
            // No sample, but the end.
            self.to
        } else {
            if self.due == NEVER {
                self.due = account.total() + self.interval;
            }
            let rest = self.due.saturating_sub(account.total());
            left + account.units(rest + exit) + ROUNDED_OFF
        };
        let is_inside = at < self.to || self.interval == NEVER || self.by_stops;
        if is_inside && at.saturating_add(APART) < first_run {
            at
        } else {
            first_run
        }
    }

    /// The comparator has interrupted at `account.entered`; `overhead` are the ticks of the whole trap.
    pub fn interrupted(&mut self, account: &Account, overhead: u64, first_run: u64) -> Interrupted {
        let now = account.entered;
        if now.saturating_add(APART / 2) >= first_run {
            return Interrupted::FirstRun;
        }
        if self.interval == NEVER {
            return Interrupted::Nothing;
        }
        if now < self.from || self.is_over(now) {
            return Interrupted::Nothing;
        }
        let span = account.ticks(account.left, now).saturating_sub(overhead);
        if self.is_due(account.total() + span) {
            Interrupted::Sample
        } else {
            Interrupted::Nothing
        }
    }

    /// Whether a sample is due when the account would show so many cycles; the next one is due later then.
    pub fn is_due(&mut self, total: u64) -> bool {
        if self.interval == NEVER {
            return false;
        }
        if self.due == NEVER {
            self.due = total + self.interval;
            return false;
        }
        if self.due > total {
            return false;
        }
        let more = (total - self.due) / self.interval;
        self.missed += more;
        self.due += (more + 1) * self.interval;
        true
    }
}

/// How the clock and the CPU timer are set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Back {
    /// The clock to set, when a whole number of steps has passed since `began`.
    pub clock: u64,
    /// The CPU timer to set one instruction before.
    pub timer: u64,
    /// How many more instructions fill up the last step.
    pub fill: u64,
}

/// A CPU timer that was found not to be shown right: QEMU shows it so when it is that far from zero, or negative.
const BEYOND: u64 = 1 << 54;

/// How to set back what was begun when the clock showed `began`. Beside the steps up to the moment at which the clock is
/// set, `beyond` instructions are to be set back. One instruction after `began` the CPU timer showed `timer`; `rest` is
/// what the machine knows about it.
#[must_use]
pub const fn back(mode: Mode, began: u64, beyond: u64, timer: u64, rest: i64) -> Back {
    let shift = mode.shift();
    let (steps, fill) = steps(beyond);
    // What the steps up to the setting took is added by the moment at which the timer is set.
    let more = (STEP * steps + 2) << shift;
    let timer = if timer < BEYOND {
        // The least value of which QEMU makes these nanoseconds.
        let nanoseconds = clock_nanoseconds(timer) + more;
        (nanoseconds << 9).div_ceil(125)
    } else if rest < 0 {
        i64::MAX as u64
    } else {
        let timer = (rest as u64).saturating_add(units(more));
        if timer > i64::MAX as u64 {
            i64::MAX as u64
        } else {
            timer
        }
    };
    Back {
        clock: began.wrapping_sub((steps * STEP_UNITS) << shift),
        timer,
        fill,
    }
}

/// The CPU timer to set, as in [`Back`], if one instruction after the stamp it showed `timer`, and may have expired since the guest
/// was interrupted.
#[must_use]
pub const fn timer_of(account: &Account, beyond: u64, timer: u64) -> u64 {
    let (steps, _) = steps(beyond);
    let two = 2 << account.mode.shift();
    let timer = timer.wrapping_add(units_of(account, steps));
    // The least value of which QEMU makes these nanoseconds.
    ((clock_nanoseconds(timer) + two) << 9).div_ceil(125)
}

/// How many steps have so many instructions and some more, and how many more these are.
#[must_use]
pub const fn steps(instructions: u64) -> (u64, u64) {
    let steps = instructions / STEP + 1;
    (steps, STEP * steps - instructions)
}

/// The clock units of so many steps.
#[must_use]
pub const fn units_of(account: &Account, steps: u64) -> u64 {
    (steps * STEP_UNITS) << account.mode.shift()
}

/// The clock at which the clock is to be set: a whole number of steps after `began`, and at least `spare` instructions
/// after `now`.
#[must_use]
pub fn moment(account: &Account, began: u64, now: u64, spare: u64) -> u64 {
    let shift = account.mode.shift();
    let steps = (account.ticks(began, now) + spare).div_ceil(STEP);
    began.wrapping_add((steps * STEP_UNITS) << shift)
}

#[cfg(test)]
mod tests;
