//! Records: the forms in which measurements leave the machine for others to read.
//!
//! This crate writes and reads five forms:
//!
//! * [`smf`]: SMF type 113, subtypes 1 and 2, the counters of the z/OS hardware instrumentation services;
//! * [`monitor`]: MRPRCMFC, the z/VM monitor record with the counters of a CPU;
//! * [`cnt`]: the .CNT file, the counters of a z/OS collection run as text (message HIS019I);
//! * [`map`]: the .MAP file, what was in storage at the end of a run;
//! * [`smp`]: the .SMP file, sample-data blocks as [`cpumf::sampling::block`] describes them, and in them the
//!   program parameters of z/OS ([`zos`]).
//!
//! Each form has one description for the machine that writes it and the host that reads it, so neither
//! can drift from the other. The crate uses no allocator and no `unsafe` code, needs no operating
//! system, and depends only on `millimeter-arch` and `millimeter-cpumf`.
//!
//! # Writing
//!
//! A writer puts a record into a buffer of its caller. [`smf::Records`] and [`monitor::Records`] divide
//! counters that do not fit into one record: each call of `write` gives the next record, until it gives
//! `None`. [`cnt::CounterFile`] and [`map::Record`] write text into any [`core::fmt::Write`], for example
//! a [`text::TextBuffer`].
//!
//! # Reading
//!
//! A decoder trusts nothing. It checks every length and every offset against the bytes that are there;
//! the first one that is wrong becomes a [`Malformed`], which names the field as the manual does and
//! gives its offset. It ignores what it does not know: longer sections, sections in another order, bits
//! without a meaning yet. Besides `decode`, [`smf`] and [`monitor`] have `decode_with`, which shows each
//! section and each field on the way. [`layout::Part::check`] then finds the fields that can be read and
//! nevertheless break a rule: reserved bits, codes without a meaning, fields that contradict each other.
//! [`smp::Rules`] does the same for sample-data blocks.
//!
//! The first example writes a record of SMF type 113 subtype 1 and reads it back.
//!
//! ```
//! use record::smf::{Data, Deltas, Envelope, Records, decode};
//! use record::{CounterValues, Ebcdic, Moment, SetType};
//!
//! let tod = 0xDF00_0000_0000_0000;
//! let envelope = Envelope::new(Ebcdic::new("SYS1"), Moment::from_tod(tod));
//! let cpu = Deltas {
//!     run_start: tod,
//!     written: tod + 1_000_000,
//!     cpu: 3,
//!     class: 0,
//!     zcbp: false,
//!     speed: 5_200,
//!     machine_type: Ebcdic::new("8561"),
//!     model: Ebcdic::new("701"),
//!     versions: [0, 3, 6],
//!     lost: false,
//!     lost_mt: false,
//!     sequence_code: Ebcdic::new("0000000000035DC7"),
//!     core: 3,
//! };
//! let sets = [
//!     CounterValues::new(SetType::BASIC, &[7_000, 5_000, 0, 0, 0, 0]),
//!     CounterValues::new(SetType::PROBLEM_STATE, &[4_000, 3_000]),
//! ];
//!
//! let mut buffer = [0; 1024];
//! let mut records = Records::deltas(&envelope, &cpu, &sets);
//! let length = records.write(&mut buffer)?.unwrap();
//! assert_eq!(records.write(&mut [0; 1024])?, None);
//!
//! let record = decode(&buffer[..length]).unwrap();
//! assert_eq!(record.envelope.system.to_string(), "SYS1");
//! let Data::Deltas(data) = record.data else { panic!("not subtype 1") };
//! assert_eq!(data.data, cpu);
//! assert!(data.sets().eq(sets));
//!
//! // One byte is missing: the error names the length field.
//! let error = decode(&buffer[..length - 1]).unwrap_err();
//! assert_eq!((error.offset, error.field), (0, "SMF113LEN"));
//! # Ok::<(), record::layout::CannotEncode>(())
//! ```
//!
//! The second reads a sample-data block.
//!
//! ```
//! use cpumf::sampling::BasicEntry;
//! use record::smp::{Entry, SMALL_BLOCK, Sizes};
//! use zerocopy::IntoBytes;
//!
//! let sample = BasicEntry {
//!     head: 0x0001_0108_4000_0001.into(),
//!     instruction_address: 0x1FF0.into(),
//!     ..BasicEntry::default()
//! };
//! let mut block = [0; SMALL_BLOCK];
//! block[..32].copy_from_slice(sample.as_bytes());
//!
//! let mut entries = Sizes::default().block(&block).unwrap().entries();
//! let Some(Ok((0, Entry::Basic(entry)))) = entries.next() else { panic!("no sample") };
//! assert_eq!(entry.instruction_address.get(), 0x1FF0);
//! assert_eq!((entry.problem_state(), entry.primary_asn()), (true, 1));
//! assert!(entries.next().is_none());
//! ```
//!
//! # Sources
//!
//! * *z/OS MVS System Management Facilities (SMF)*: record type 113 with the field names used here.
//! * *z/OS MVS System Commands* and *z/OS MVS System Messages*: MODIFY HIS, message HIS019I and the
//!   files of a run.
//! * z/VM, *CP Monitor Records*: MRRECHDR and MRPRCMFC.
//! * SA23-2260-07: sample-data blocks, and which counters a set has.
//!
//! Where no public source gives a length or the exact blanks of a line, the documentation of the item
//! says what is written here; decoders then follow the length fields.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod cnt;
mod counters;
pub mod ebcdic;
pub mod layout;
pub mod map;
mod moment;
pub mod monitor;
pub mod smf;
pub mod smp;
pub mod text;
pub mod zos;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod spoilt;

pub use counters::{CounterValues, Counters, MOST_COUNTERS, SetType};
pub use ebcdic::Ebcdic;
pub use layout::{Malformed, Problem};
pub use moment::Moment;
