//! The counters with rates, and the figures that follow from them.

use ratatui::{
    style::Stylize,
    text::{Line, Span as Words},
};

use super::quiet;
use crate::{
    computer::visible::visible,
    formats::counters::set_name,
    numbers::grouped,
    views::{
        html::{
            figures::{self, Measured},
            page::{CounterRow, CounterTable, Figures},
            readings::Readings,
        },
        top::follow::Followed,
    },
};

/// The headings, or why there are no counters, and the lines.
pub fn counters(followed: &Followed) -> (Line<'static>, Vec<Line<'static>>) {
    let sets = followed.sets();
    let folder = &followed.folder;
    let record = folder.record.as_ref();
    let mode = record.map_or("", |record| record.mode_found());
    let heading = format!(
        "{:>20} {:>16} {:>5}  counter",
        "counted", "a guest second", "no."
    );
    let heading = quiet(heading);
    if sets.iter().all(|set| !set.authorized) {
        let why = match (mode, folder.has_ended()) {
            ("real-time", _) => "No counters: in real-time mode instructions cannot be counted.",
            (_, false) => {
                "Counters: the machine says what it has counted when the guest has ended."
            }
            (_, true) => "No counters arrived.",
        };
        return (quiet(why), Vec::new());
    }
    let measured = Measured {
        sets: &sets,
        readings: &Readings::default(),
        model: followed.model(),
        speed: folder.speed(),
        is_exact: mode == "exact",
        models_caches: record.is_some_and(|record| record.exact_caches.is_some()),
    };
    let mut lines = Vec::new();
    for figures in figures::figures(&measured) {
        lines.extend(figure_lines(&figures));
    }
    for table in figures::tables(&measured) {
        lines.extend(table_lines(&table, measured.speed));
    }
    (heading, lines)
}

fn figure_lines(figures: &Figures) -> Vec<Line<'static>> {
    let mut lines = vec![quiet(format!("{}:", figures.title))];
    for figure in &figures.lines {
        // The last one is that of all CPUs, if there are several.
        let Some(value) = figure.values.last().copied().flatten() else {
            continue;
        };
        let (name, unit) = (figure.name, figure.unit);
        lines.push(Line::from(vec![
            Words::from(format!("{value:>20.3} ")).bold(),
            Words::from(format!("{unit:<16}        {name}")),
        ]));
    }
    lines.extend(figures.notes.iter().map(quiet));
    lines
}

/// A table for each of the owners, or one for all of them if they have a sum.
fn table_lines(table: &CounterTable, speed: u32) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let whole = (table.is_summed, table.owners.len());
    if let (true, count) = whole {
        let title = format!("{}, the sum of {count} CPUs:", table.title);
        owner_lines(&mut lines, table, title, speed, |row| row.sum);
    } else {
        for (place, owner) in table.owners.iter().enumerate() {
            let title = format!("{}, {owner}:", table.title);
            let value = |row: &CounterRow| row.values.get(place).copied().flatten();
            owner_lines(&mut lines, table, title, speed, value);
        }
    }
    if table.silent > 0 {
        lines.push(quiet(format!(
            "and {} more that count nothing here: zero by definition, or reserved",
            table.silent
        )));
    }
    lines
}

fn owner_lines(
    lines: &mut Vec<Line<'static>>,
    table: &CounterTable,
    title: String,
    speed: u32,
    value: impl Fn(&CounterRow) -> Option<u64>,
) {
    lines.push(quiet(title));
    let is_cycles = |row: &&CounterRow| row.number == 0 && row.set == set_name(1);
    let cycles = table.rows.iter().find(is_cycles).and_then(&value);
    for row in &table.rows {
        let Some(counted) = value(row) else { continue };
        // A second of guest time is as many cycles as the CPU has in a second.
        let rate = u128::from(counted) * u128::from(speed) * 1_000_000;
        let rate = rate.checked_div(cycles.unwrap_or(0).into());
        let rate = rate
            .filter(|_| speed > 0)
            .and_then(|rate| u64::try_from(rate).ok());
        let rate = rate.map_or_else(|| "–".to_owned(), grouped);
        let (counted, number) = (grouped(counted), row.number);
        let name = visible(&row.name);
        lines.push(Line::from(format!(
            "{counted:>20} {rate:>16} {number:>5}  {name}"
        )));
    }
}
