//! The difference as text for a person.

use std::fmt::Write as _;

use comfy_table::Cell;

use super::{Difference, Side};
use crate::{
    numbers::grouped,
    views::table::{number, plain_table, shortened, trimmed},
};

/// Lines of the table of names.
const MOST: usize = 30;

/// The difference.
pub fn text(difference: &Difference) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for (letter, side) in ["A", "B"].into_iter().zip(&difference.sides) {
        let Side { name, title, .. } = side;
        let samples = grouped(side.found.samples);
        let _ = writeln!(text, "{letter}: {name} ({title}), {samples} samples");
    }
    for warning in &difference.warnings {
        let _ = writeln!(text, "\nnote: {warning}");
    }
    for (letter, side) in ["A", "B"].into_iter().zip(&difference.sides) {
        for doubt in &side.doubts {
            let _ = writeln!(text, "\nnote: {letter}: {doubt}");
        }
    }
    if !difference.lines.is_empty() {
        let _ = writeln!(text, "\n{}", lines(difference));
    }
    if !difference.counters.is_empty() {
        let _ = writeln!(text, "\ncounters\n{}", counters(difference));
    }
    text
}

fn lines(difference: &Difference) -> String {
    let header = [
        "symbol",
        "module",
        "A %",
        "B %",
        "B - A",
        "A samples",
        "B samples",
    ];
    let mut table = plain_table(&header);
    for line in difference.lines.iter().take(MOST) {
        let module = if line.module.is_empty() {
            "-"
        } else {
            &line.module
        };
        let mut row = vec![Cell::new(shortened(&line.symbol)), Cell::new(module)];
        row.extend(line.percent.map(|percent| number(format!("{percent:.2}"))));
        row.push(number(format!("{:+.2}", line.difference())));
        row.extend(line.samples.map(|samples| number(grouped(samples))));
        table.add_row(row);
    }
    let mut text = trimmed(&table);
    if let Some(rest) = difference.lines.get(MOST..).filter(|rest| !rest.is_empty()) {
        let largest = rest[0].difference().abs();
        let _ = write!(
            text,
            "\n and {} more that differ by {largest:.2} points at most",
            rest.len()
        );
    }
    text
}

fn counters(difference: &Difference) -> String {
    let mut table = plain_table(&["set", "no.", "counter", "A", "B", "B / A"]);
    for counter in &difference.counters {
        let mut row = vec![
            Cell::new(&counter.set),
            number(counter.number),
            Cell::new(&counter.name),
        ];
        let value = |value: Option<u64>| number(value.map_or("-".to_owned(), grouped));
        row.extend(counter.values.map(value));
        let ratio = counter.ratio();
        row.push(number(
            ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.4}")),
        ));
        table.add_row(row);
    }
    trimmed(&table)
}
