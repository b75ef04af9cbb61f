//! The CPU-measurement sampling facility: the basic-sampling and diagnostic-sampling functions.
//!
//! When a sampling interval has passed, the caller gives [`Facility::sample`](crate::Facility::sample)
//! a [`Snapshot`] of the CPU and the storage that holds the blocks. The [update process](update) does
//! the rest, step by step as SA23-2260 describes it.

pub mod block;
pub(crate) mod controls;
mod diagnostic;
mod entry;
pub mod request;
pub mod update;

#[cfg(test)]
pub(super) mod fixtures;
#[cfg(test)]
mod model_entry;
#[cfg(test)]
mod model_lsctl;
#[cfg(test)]
mod model_update;
#[cfg(test)]
mod update_tests;

pub use block::{BasicEntry, SampleDataBlock, TableEntry, Trailer};
pub use controls::{ActiveFunctions, SamplingControls, SamplingLimits};
pub use diagnostic::{Diagnosis, DiagnosticEntry, EntryBytes};
pub use entry::Snapshot;
pub use update::{SampleStorage, Sampled};
