//! Figures of counters as text, CSV, JSON and Parquet.
//!
//! All forms have a row for each group with what it is and its figures. A figure that is missing is empty; text and JSON also
//! say why, and show each formula with its source.

pub mod csv;
pub mod json;
pub mod parquet;
pub mod text;

#[cfg(test)]
mod tests;

use record::Moment;

use crate::figures::{
    figure::Figure,
    generation::Generation,
    group::{Group, Interval},
    nest::Given,
    read::Collected,
};

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'c> {
    /// The groups.
    pub collected: &'c Collected,
    /// The weights that the person gave.
    pub given: &'c Given,
}

impl<'c> Shown<'c> {
    /// The models in the order of their age, each with one of its groups. All groups whose model is not known have
    /// the same formulas.
    fn models(&self) -> Vec<(Option<Generation>, &'c Group)> {
        let mut models: Vec<(Option<Generation>, &Group)> = Vec::new();
        for group in &self.collected.groups {
            let generation = group.counts.generation();
            if models.iter().all(|(known, _)| *known != generation) {
                models.push((generation, group));
            }
        }
        models.sort_by_key(|(generation, _)| (generation.is_none(), *generation));
        models
    }

    /// The number of a figure; `None` if it is missing or is not a number.
    fn number(&self, group: &Group, figure: Figure) -> Option<f64> {
        let value = group.counts.figure(figure, self.given);
        value.ok().and_then(crate::figures::counts::Value::number)
    }

    /// The workload hint.
    fn hint(&self, group: &Group) -> Option<String> {
        match group.counts.figure(Figure::Hint, self.given) {
            Ok(crate::figures::counts::Value::Workload(hint)) => Some(hint.to_string()),
            _ => None,
        }
    }
}

/// The name of a model.
fn model_name(generation: Option<Generation>) -> &'static str {
    generation.map_or("unknown", Generation::name)
}

/// A second of the TOD clock as date and time, without leap seconds.
fn time(second: u64) -> String {
    let moment = Moment::from_tod(Interval::tod(second));
    let (month, day) = moment.month_and_day();
    let (hour, minute, second) = moment.time();
    let year = moment.year;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}
