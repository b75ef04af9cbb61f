//! The two facilities of SA23-2260: load-program-parameter and CPU-measurement.
//!
//! A [`Facility`] is one value per CPU and configuration level: the guest's own, whose controls the
//! guest's instructions set and whose alerts the guest takes, and the machine's, one level below.
//! Neither disturbs the other's registers. Everything in this room is pure. Storage, the clock, the
//! activity of the CPU and the passage of time come in as arguments; what goes out is a register,
//! a condition code, a program interruption or a pending measurement alert. So the whole room runs
//! in host tests, and the sampling path can name neither an allocator nor a lock.
//!
//! Each instruction has its routine in a file of its own, in [`instruction`].

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod alert;
pub mod configuration_level;
pub mod counters;
pub mod facility;
pub mod instruction;
pub mod model;
pub mod sampling;
pub mod state;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod model_alert;
#[cfg(test)]
mod second_opinion;

pub use alert::{Alert, PendingAlerts};
pub use configuration_level::ConfigurationLevel;
pub use counters::{Activity, CounterSet, CounterSets};
pub use facility::{Facility, Installation, Reset};
pub use instruction::{Instruction, authorize, load_program_parameter};
pub use model::Model;
pub use sampling::{Diagnosis, SampleStorage, Sampled, SamplingLimits, Snapshot};
pub use state::ControlState;
