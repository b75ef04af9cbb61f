//! The host's side of Millimeter.
//!
//! `cargo measure` builds the image and the guests for the bare machine, IPLs them in QEMU, keeps
//! what comes over the link, and reports where the guest's time went. The library is the command
//! without its command line, so that the test harness runs guests exactly as a person does.
//!
//! The rooms, from the ground up; each calls only those above it in this list:
//!
//! - [`numbers`]: numbers, sizes and dates as people write them. [`computer`]: this computer's terminal and signals.
//! - [`building`]: the image and the bundled guests, the toolchain that builds them, and what must be installed.
//! - [`folder`]: the folder of a run and its record. [`formats`]: files of samples, counters and records, as read.
//! - [`symbols`]: from addresses to names and back. [`events`]: program events as the operator traces them.
//! - [`calls`]: call stacks, and where routines have their return addresses.
//! - [`counts`]: exact counts of instructions, by routine and source line.
//! - [`costs`]: the causes of traps in words, and the budgets of the machine's paths.
//! - [`nearest`]: the names that are most like a mistyped one.
//! - [`options`]: the options of a run. [`profile`]: the samples of a run or of a collection as a stream.
//! - [`report`]: from the raw files to results. [`figures`]: what analysts read, from counters of any machine.
//! - [`machine`]: a run, above the machine ([`machine::run::run`]) or on bare QEMU ([`machine::run::run_native`]):
//!   staging, the conversation, what is kept of it, and profilers on the host ([`machine::profiler`]).
//! - [`linux`]: Debian's kernels as guests, and a command or a shell in them.
//! - [`views`]: what a person or another tool gets to see: table, JSON, page, live view, exports, dump, trace.
//! - [`zoom`]: a run performed again, with finer samples in a part of it.
//! - [`check`]: a run compared with a baseline.
//! - [`release`]: a command that carries image and guests, and its Debian package.
//! - [`args`]: the command line. [`mod@bench`]: what the machine costs. [`conformance`]: which statements of the
//!   books the behaviour guests show.

#![forbid(unsafe_code)]

pub mod args;
pub mod bench;
pub mod building;
pub mod calls;
pub mod check;
pub mod conformance;
pub mod costs;
pub mod counts;
pub mod events;
pub mod figures;
pub mod folder;
pub mod formats;
pub mod linux;
pub mod machine;
pub mod nearest;
pub mod numbers;
pub mod options;
pub mod profile;
pub mod release;
pub mod report;
pub mod symbols;
pub mod views;
pub mod zoom;

pub use start::computer;
