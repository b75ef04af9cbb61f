//! Records: the forms in which measurements leave the machine for others to read.
//!
//! SMF type 113 with its two subtypes ([`smf`]), z/VM's monitor record with the counters ([`monitor`]),
//! and the texts that the z/OS hardware instrumentation services write: the counters of a run ([`cnt`])
//! and the map of what was in storage ([`map`]). A .SMP file is nothing but sample-data blocks, which
//! [`cpumf::sampling::block`] describes and [`smp`] reads. There is one description of each, for the machine that
//! writes it and the host that reads it, so neither can drift from the other.
//!
//! An encoder writes into a buffer of its caller and allocates nothing. A decoder believes nothing: each
//! length and each offset is a claim until it has been checked against the bytes that are there, and what
//! does not hold is a [`Malformed`], which names the field and where it is. What a decoder does not know
//! it passes by: longer sections, sections in another order, bits that have no meaning yet.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod cnt;
pub mod counters;
pub mod ebcdic;
pub mod layout;
pub mod map;
pub mod moment;
pub mod monitor;
pub mod smf;
pub mod smp;
pub mod text;

#[cfg(test)]
mod fixtures;

pub use counters::{CounterValues, Counters, SetType};
pub use ebcdic::Ebcdic;
pub use layout::{Malformed, Problem};
pub use moment::Moment;
