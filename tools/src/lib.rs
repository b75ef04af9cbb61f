//! The host's side of Millimeter.
//!
//! `cargo measure` builds the image and the guests for the bare machine, IPLs them in QEMU, keeps
//! what comes over the link, and reports where the guest's time went. The library is the command
//! without its command line, so that the test harness runs guests exactly as a person does:
//!
//! - [`build`]: the image and the bundled guests, by whatever [`toolchain`] there is.
//! - [`run`]: a run above the machine ([`run::run`]) and one on bare QEMU ([`run::run_native`]).
//! - [`session`]: the conversation with the machine; [`collect`] keeps what it says.
//! - [`his`]: the files of HIS's collection runs. [`profiler`]: profilers on the host, beside it.
//! - [`report`]: from the raw files to results; [`table`], [`json`] and [`html`] give them a form.
//! - [`profile`]: the samples of a run or of a collection as a stream, each with its name.
//! - [`export`]: these in the forms of other people's tools.
//! - [`trace`]: program events of the guest, as the operator has them traced.
//! - [`diff`]: where two of them differ. [`top`]: a live view of one that is still measured.
//! - [`mod@dump`]: what is in a file of samples, counters or monitor records.
//! - [`linux`]: Debian's kernels as guests, and a command or a shell in them; [`terminal`]: to type in it.
//! - [`clause`]: what a guest says about itself. [`conformance`]: which statements of the book the
//!   behaviour guests show.
//! - [`mod@bench`]: what the machine costs. [`doctor`]: what this computer lacks.

#![forbid(unsafe_code)]

pub mod args;
pub mod bench;
pub mod building;
pub mod computer;
pub mod conformance;
pub mod events;
pub mod folder;
pub mod formats;
pub mod linux;
pub mod machine;
pub mod numbers;
pub mod options;
pub mod profile;
pub mod report;
pub mod symbols;
pub mod views;
