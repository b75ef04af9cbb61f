//! The link: everything that crosses the serial console.
//!
//! One console carries the guest's own console, the log, the operator's commands and answers, and
//! the measured data. [`frame`] divides that byte stream into checked frames, [`lines`] carries it over a console that has only
//! lines of text, [`state`], [`data`],
//! [`files`], [`service`], [`stack`], [`copies`], [`counts`] and [`trace`] define the layouts of the payloads, and [`loader`] describes the block by
//! which the host hands a run to the machine before it starts. [`remains`] is where the host looks when the machine no
//! longer answers. Firmware and host use this one description, so
//! neither can drift from the other.
//!
//! Nothing here allocates or touches hardware. Received data are checked before they are used: a receiver counts
//! and drops a frame whose check is wrong.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod copies;
pub mod counts;
pub mod data;
pub mod files;
pub mod frame;
mod layout;
pub mod lines;
pub mod loader;
pub mod paths;
pub mod remains;
pub mod service;
pub mod stack;
pub mod state;
pub mod tally;
pub mod trace;
pub mod window;

use crc::{CRC_32_ISO_HDLC, Crc, Table};

/// CRC-32 as IEEE 802.3 defines it. The sixteen-way table makes the check of a sample-data block
/// a few instructions per byte: the link must not cost what the sampling path saved.
pub(crate) static CHECK: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);
