//! Call stacks as the machine sent them: which of their addresses are return addresses, and their files.
//!
//! The machine follows the back chain and nothing else. A routine that is not yet, or no longer, in a frame of its own
//! has its return address elsewhere. [`places`] finds out by the text of the routines, once and before the run, because a
//! report must not need the guest. [`stacks`] reads the files. For programs of Linux there may be copies of their stacks,
//! and [`unwind`] follows these by the rules of the programs.

pub mod places;
pub mod stacks;
pub mod unwind;
