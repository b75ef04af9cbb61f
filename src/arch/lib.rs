//! The vocabulary of the z/Architecture: words, numbers and layouts, without state.
//!
//! The spelling is that of the Principles of Operation, so that the other rooms can be read beside the
//! manual.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod address;
pub mod bits;
pub mod channel;
pub mod condition;
pub mod control;
pub mod cpu;
pub mod ebcdic;
pub mod extent;
pub mod facility;
pub mod interruption;
pub mod lowcore;
pub mod psw;
pub mod table;
pub mod tod;
