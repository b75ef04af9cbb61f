//! What a person or another tool gets to see.

pub mod counter_table;
pub mod diff;
pub mod dump;
pub mod export;
pub mod html;
pub mod json;
pub mod table;
pub mod top;
pub mod trace;
