//! What a CPU and a configuration hold.
//!
//! Behaviour stands in the rooms above: here is what they share, with no more than what keeps it consistent. A type
//! whose fields are visible in the whole of the virtual CPU belongs to one of these rooms, which its file names.

pub mod access;
pub mod account;
pub mod assist;
pub mod channel_program;
pub mod channels;
pub mod configuration;
pub mod extended;
pub mod held;
pub mod kept;
pub mod loaded_program;
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
pub mod vcpu;
pub mod watched;
