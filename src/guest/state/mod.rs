//! What a CPU and a configuration hold.
//!
//! Behaviour belongs to the rooms above. This room has the data that they share, and only the methods that keep it
//! consistent. If the fields of a type are visible in the whole crate, the documentation of its file
//! names the room that it belongs to.

pub mod access;
pub mod account;
pub mod assist;
pub mod awaited;
pub mod channel_monitor;
pub mod channel_program;
pub mod channels;
pub mod configuration;
pub mod copies;
pub mod counting;
pub mod device;
pub mod exit_code;
pub mod extended;
pub mod held;
pub mod kept;
pub mod loaded_program;
pub mod looping;
pub mod mailbox;
pub mod page_frames;
pub mod pending_work;
pub mod protected;
pub mod recording;
pub mod reference;
pub mod schedule;
pub mod shadow;
pub mod software;
pub mod text;
pub mod threads;
pub mod tracing;
pub mod tried;
pub mod vcpu;
pub mod watchdog;
pub mod watched;
pub mod window;
pub mod window_traces;
