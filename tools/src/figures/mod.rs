//! The figures that analysts read, made of counters.
//!
//! IBM and others publish formulas for them, model by model, because the extended counters of each model are others. Here
//! is one table of these formulas ([`formulas`]), each with its source beside it, for the models that [`generation`]
//! names. A formula is data, so that a report shows what it calculates ([`formula`]).
//!
//! A figure is a number or the reason why there is none ([`lack`]): a counter set that was not collected, a divisor of
//! zero, a formula that no source gives. No figure is estimated in place of one that is missing.

pub mod counts;
pub mod figure;
pub mod formula;
pub mod formulas;
pub mod generation;
pub mod group;
pub mod hint;
pub mod lack;
pub mod nest;
pub mod read;
pub mod source;

#[cfg(test)]
mod book;
#[cfg(test)]
mod definitions;
#[cfg(test)]
pub mod example_records;
#[cfg(test)]
mod examples;
