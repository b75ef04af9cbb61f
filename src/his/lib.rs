//! HIS: the hardware instrumentation services, which give measurements to profilers and to files.
//!
//! Everything in this room is pure: it keeps the requests and decides what to do; the machine does it.
//!
//! * [`His`] carries out the operator's commands and controls the collection run of HISPROF, the profiler
//!   that BEGIN starts; the machine holds one;
//! * [`Service`] is HISSERV: the profilers, each with its exit, their requests and notifications;
//! * [`command`]: reads the operator's MODIFY HIS and DISPLAY HIS;
//! * [`request`]: the requests of a profiler outside the machine;
//! * [`parameters`]: the parameter files that commands name;
//! * [`hisprof`]: the output of a collection run;
//! * [`event`] and [`sampling`]: event types, sample types, and the controls that all profilers share;
//! * [`machine`]: what the service needs from the machine.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod answer;
pub mod calendar;
mod collection;
pub mod command;
pub mod display;
pub mod event;
pub mod exit;
pub mod hisprof;
pub mod machine;
pub mod message;
pub mod operator;
pub mod parameters;
pub mod query;
pub mod reason;
pub mod registry;
pub mod request;
pub mod run;
pub mod sampling;
pub mod service;

#[cfg(test)]
mod bench;
#[cfg(test)]
mod display_tests;
#[cfg(test)]
mod query_tests;
#[cfg(test)]
mod random_sequences;
#[cfg(test)]
mod script;
#[cfg(test)]
mod service_tests;

pub use exit::{Call, Exit, Handling, Inside};
pub use machine::Machine;
pub use operator::His;
pub use query::Query;
pub use reason::Reason;
pub use registry::{Registration, Token};
pub use service::Service;
