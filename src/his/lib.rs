//! HIS: the service that gives what the machine measures to those who ask for it.
//!
//! Everything in this room is pure: it knows what was asked for and decides what is to be done; the
//! machine does it.
//!
//! * [`His`] carries out the operator's commands and leads the collection run of HISPROF, the profiler
//!   behind BEGIN; it is what the machine holds;
//! * [`Service`] is HISSERV: profilers, each with its exit, their requests and what they are told;
//! * [`command`]: the operator's MODIFY HIS and DISPLAY HIS, from a line to what it asks for;
//! * [`request`]: what a profiler outside the machine asks for;
//! * [`parameters`]: the parameter files that they name;
//! * [`hisprof`]: what a collection run writes;
//! * [`event`] and [`sampling`]: what can be asked for, and the controls that are the same for all;
//! * [`machine`]: what all of it needs of the machine.

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
mod any_order;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod display_tests;
#[cfg(test)]
mod query_tests;
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
