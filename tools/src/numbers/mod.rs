//! Numbers as a person reads them.

pub mod date;
pub mod quantities;

pub use start::numbers::{grouped, hexadecimal, sum};
