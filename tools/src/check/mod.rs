//! `measure check`: a run, compared with the one that a baseline in the user's repository describes.
//!
//! - [`tolerance`]: how many more instructions are no regression. [`baseline`]: the file.
//! - [`measured`]: what a run took, in all and by symbol. [`programs`]: the routines of a program of Linux.
//! - [`comparison`]: what changed, and what of it is a regression. [`forms`]: the comparison for people and for other
//!   tools.
//!
//! The totals are counted, so they are exact, and the same program has the same ones each time. What a routine took is
//! measured by samples of a short interval. They are also the same each time, but a program that has changed has them
//! elsewhere, so a routine's number has a resolution, and a change that is smaller than it is no regression of this routine. The
//! totals still show it, and the routines that changed most are named.
//!
//! With exact counts in place of samples ([`EVERY`]) the routines are counted, too, and have no such resolution.

pub mod baseline;
pub mod comparison;
pub mod forms;
pub mod measured;
pub mod programs;
pub mod tolerance;

/// Instructions from one sample to the next. A prime number, so that a loop does not have all its samples at one place.
pub const INTERVAL: u64 = 1009;

/// In place of such an interval: every instruction is counted.
pub const EVERY: u64 = 0;
