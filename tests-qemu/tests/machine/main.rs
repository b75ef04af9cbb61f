//! The machine, its guests and the host command together, all but Linux and the behaviour guests: one
//! program, so that tests run side by side across files and are linked once.

mod bad_input;
mod book;
mod budgets;
mod caches;
mod configuration;
mod conformance;
mod counting;
mod his;
mod ipl_forms;
mod machine_counters;
mod monitor;
mod profilers;
mod random;
mod real_time;
mod recording;
mod repeatable;
mod tracing;
mod translations;
