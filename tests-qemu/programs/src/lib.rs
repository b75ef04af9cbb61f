//! A tiny runtime for programs of Linux on s390x.
//!
//! The guest has no compiler, and the target that builds the machine has no C library. So these programs speak to the
//! kernel themselves: an entry, SUPERVISOR CALL, and text on the standard output. Each is one file of `src/bin`.
//!
//! The crate is empty except for the s390x target, so it adds nothing to a workspace build on the host.
#![no_std]
#![cfg(target_arch = "s390x")]

pub mod attempt;
pub mod call;
pub mod entry;
pub mod event;
pub mod steps;
pub mod text;
pub mod trace;
