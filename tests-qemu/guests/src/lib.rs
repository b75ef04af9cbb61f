//! A tiny runtime for programs on a bare z/Architecture machine.
//!
//! Every guest is one program of `src/bin`, or a case of `src/behaviour`, started by an IPL or by Millimeter with all
//! registers zero, DAT off, disabled, on CPU 0. The runtime has only what guests need to examine the machine: an
//! entry, prefixed storage with handlers for the six interruption classes, a console over SERVC, an end, one wrapper
//! for each instruction, and `attempt!`, which performs one instruction and tells how it ended. The same program runs
//! on bare QEMU and above Millimeter. A behaviour that both have must print the same bytes on both, so printed text
//! must not depend on time.
//!
//! The crate is empty except for the s390x target, so it adds nothing to a workspace build on the host.
#![no_std]
#![cfg(target_arch = "s390x")]

#[cfg(feature = "guest")]
extern crate alloc;

pub mod attempt;
pub mod bare_timer;
pub mod bare_traps;
pub mod check;
pub mod clause;
pub mod console;
pub mod coprocessor;
pub mod dat;
pub mod end;
pub mod entry;
pub mod externals;
pub mod insn;
pub mod interruption;
pub mod lowcore;
pub mod misdirected;
pub mod monitor;
pub mod psw;
pub mod recording;
pub mod reset;
pub mod routines;
pub mod sampling;
pub mod sccb;
pub mod shows;
pub mod smp;
pub mod spin;
pub mod status;
pub mod stores;
pub mod virtio;

#[cfg(feature = "guest")]
pub mod streams;
#[cfg(feature = "guest")]
pub mod supervisor;
#[cfg(feature = "guest")]
pub mod translations;
#[cfg(feature = "guest")]
pub mod workload;
