//! Millimeter: a machine underneath the machine.
//!
//! A freestanding image that is IPLed below a guest, hides at the top of storage as the hardware
//! system area (HSA), runs the guest deprivileged, and performs the instructions of IBM's
//! load-program-parameter and CPU-measurement facilities (SA23-2260) that the machine below lacks.
//!
//! Calls go one way: `machine` → [`guest`] → {[`insn`], [`cpumf`], [`per`], [`msa`], [`cache`], [`his`]} → [`arch`]; [`record`]
//! has the forms in which measurements leave the machine. Everything but `machine` compiles and is tested
//! on the host; `machine` is the only room that touches hardware and the only one with unsafe code.

#![cfg_attr(not(test), no_std)]
#![deny(unsafe_code)]

pub use arch;
pub use cache;
pub use command;
pub use cpumf;
pub use guest;
pub use his;
pub use insn;
pub use link;
pub use msa;
pub use per;
pub use record;

// Above another system, as tests for a big-endian target are, there is no hardware to touch.
#[cfg(all(target_arch = "s390x", target_os = "none"))]
#[allow(unsafe_code)]
pub mod machine;
