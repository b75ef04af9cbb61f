//! Why there is no number for a figure.

use std::fmt;

use super::{figure::Figure, generation::Generation};

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack {
    /// A counter that it needs is in no record.
    NotCollected(u16),
    /// A counter that it needs is in some of the records only.
    Partly {
        /// The counter.
        counter: u16,
        /// Records with it.
        found: u32,
        /// All records.
        records: u32,
    },
    /// A counter that it needs counts nothing on the machine that was measured.
    CountsNothing(u16),
    /// It divides by a sum that is zero.
    DividesByZero,
    /// No record has the CPU speed.
    NoSpeed,
    /// No record has the time that it is about.
    NoTime,
    /// No source gives a formula for the model.
    NoFormula(Generation),
    /// No source gives the weights of the model.
    NoWeights(Generation),
    /// The model has nothing of the kind.
    NotThere(Generation),
    /// The model is not known.
    UnknownModel,
    /// It is made of another figure that is missing.
    Needs(Figure),
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotCollected(counter) => match set(*counter) {
                Some(set) => write!(
                    f,
                    "counters of the {set} set were not collected; collect it as well"
                ),
                None => write!(f, "counter {counter} was not collected"),
            },
            Self::Partly {
                counter,
                found,
                records,
            } => write!(
                f,
                "counter {counter} is in {found} of {records} records only; report by interval or by CPU"
            ),
            Self::CountsNothing(_) => f.write_str("its counters count nothing on this machine"),
            Self::DividesByZero => f.write_str("what it divides by is zero"),
            Self::NoSpeed => f.write_str("the records do not give the CPU speed"),
            Self::NoTime => f.write_str("the records do not give the time they are about"),
            Self::NoFormula(generation) => {
                write!(f, "no source here gives a formula for {}", generation.name())
            }
            Self::NoWeights(generation) => {
                let name = generation.name();
                write!(
                    f,
                    "no source here gives the weights of {name}; take them from IBM's CPU MF formulas and give them as --rni-weights {name}=…"
                )
            }
            Self::NotThere(generation) => write!(f, "{} has none", generation.name()),
            Self::UnknownModel => f.write_str(
                "the model is not known, so neither are its extended counters; if they are those of a known model, name it with --model",
            ),
            Self::Needs(figure) => write!(f, "it is made of {}, which is missing", figure.name()),
        }
    }
}

/// The set of a counter, as the operator of a collection names it.
const fn set(counter: u16) -> Option<&'static str> {
    match counter {
        0..=31 => Some("basic"),
        32..=63 => Some("problem-state"),
        64..=127 => Some("crypto-activity"),
        128..=447 => Some("extended"),
        _ => None,
    }
}
