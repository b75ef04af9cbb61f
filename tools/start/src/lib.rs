//! What `cargo measure` does before the host command is there.
//!
//! The host command has many libraries, so its first build takes minutes. This package has few. It finds out what the
//! computer lacks, builds the host command beside the image, and becomes it. The host command uses the same rooms.
//!
//! The rooms, from the ground up; each calls only those above it in this list:
//!
//! - [`numbers`]: numbers as a person reads them. [`computer`]: this computer's terminal and signals.
//! - [`building`]: the image and the bundled guests, the toolchain that builds them, and what must be installed.
//! - [`request`]: what a command line needs. [`host_command`]: the host command and its build.
//! - [`first_use`]: all of that, one beside the other.

#![forbid(unsafe_code)]

pub mod building;
pub mod computer;
pub mod first_use;
pub mod host_command;
pub mod numbers;
pub mod request;
