//! The results of a run, in the forms for people and for other tools.

pub mod counter_table;
pub mod diff;
pub mod dump;
pub mod export;
pub mod figures;
pub mod html;
pub mod json;
pub mod table;
pub mod top;
pub mod trace;

#[cfg(test)]
mod tests;
