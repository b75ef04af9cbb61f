//! A line for each group.

use std::io::{self, Write};

use super::{Shown, model_name, time};
use crate::{
    figures::{figure::Figure, group::Group},
    formats::csv::cell,
};

/// The columns before the figures.
const COLUMNS: [&str; 8] = [
    "system", "machine", "model", "start", "end", "type", "cpu", "records",
];

/// Writes all groups.
pub fn write(shown: &Shown<'_>, out: &mut dyn Write) -> io::Result<()> {
    let figures = Figure::ALL.into_iter().map(Figure::name);
    let heading: Vec<&str> = COLUMNS.into_iter().chain(figures).collect();
    writeln!(out, "{}", heading.join(","))?;
    let mut groups = shown.collected.groups.iter();
    groups.try_for_each(|group| writeln!(out, "{}", line(shown, group)))
}

fn line(shown: &Shown<'_>, group: &Group) -> String {
    let key = &group.key;
    let (start, end) = match key.interval {
        Some(interval) => (time(interval.start), time(interval.end)),
        None => Default::default(),
    };
    let mut cells = vec![
        cell(key.system.as_deref().unwrap_or_default()),
        cell(&key.machine),
        model_name(group.counts.generation()).to_owned(),
        start,
        end,
        key.class.map(|class| class.to_string()).unwrap_or_default(),
        key.cpu.map(|cpu| cpu.to_string()).unwrap_or_default(),
        group.counts.records.to_string(),
    ];
    cells.extend(Figure::ALL.into_iter().map(|figure| {
        match figure {
            Figure::Hint => shown.hint(group).unwrap_or_default(),
            _ => shown
                .number(group, figure)
                .map(|number| number.to_string())
                .unwrap_or_default(),
        }
    }));
    cells.join(",")
}
