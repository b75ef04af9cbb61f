//! The tables of formulas and of worked examples in the book's page.
//!
//! They are made here. If a formula changes, the test fails and shows the table that the page must have.

use std::{env, fmt::Write as _, fs, path::PathBuf};

use super::{
    counts::{Counts, Needed},
    examples::EXAMPLES,
    figure::Figure,
    generation::Generation,
    nest::Given,
    source::Source,
};
use crate::numbers::grouped;

/// A source as the page's table of sources names it.
const fn name(source: Source) -> &'static str {
    match source {
        Source::Metrics => "Linux",
        Source::Definitions => "definitions",
        Source::HisReports => "HIS CSV",
        Source::Architecture => "SA23-2260",
        Source::NestOfZ13 => "LongEx",
        Source::WorkloadSelection => "LSPR",
        Source::Given => "--rni-weights",
    }
}

/// A figure on a model.
#[derive(PartialEq)]
struct Row {
    name: &'static str,
    formula: String,
    source: &'static str,
}

impl Row {
    /// `None` if no source gives the formula.
    fn of(figure: Figure, generation: Generation) -> Option<Self> {
        let needed = Needed::of(Some(generation));
        let counts = Counts::new(Some(generation), needed.into());
        let given = Given::default();
        // The hint needs the nest intensity.
        let needs = match figure {
            Figure::Hint => Figure::NestIntensity,
            other => other,
        };
        counts.formula(needs, &given).ok()?;
        Some(Self {
            name: figure.name_on(Some(generation)),
            formula: counts.formula_text(figure, &given).ok()?,
            source: name(counts.formula(figure, &given).ok()?.source),
        })
    }
}

/// The models in words.
fn models(generations: &[Generation]) -> String {
    let name = |generation: &Generation| generation.name();
    match generations {
        all if all == Generation::ALL => "all".to_owned(),
        [first, _, .., last] => format!("{} to {}", name(first), name(last)),
        some => some.iter().map(name).collect::<Vec<_>>().join(", "),
    }
}

fn formulas() -> String {
    let mut table = String::from("| figure | models | formula | source |\n|---|---|---|---|\n");
    for figure in Figure::ALL {
        let mut runs: Vec<(Vec<Generation>, Row)> = Vec::new();
        for generation in Generation::ALL {
            let Some(row) = Row::of(figure, generation) else {
                continue;
            };
            match runs.last_mut() {
                Some((generations, last)) if *last == row => generations.push(generation),
                _ => runs.push((vec![generation], row)),
            }
        }
        for (generations, row) in runs {
            let Row {
                name,
                formula,
                source,
            } = row;
            let models = models(&generations);
            let _ = writeln!(table, "| `{name}` | {models} | {formula} | {source} |");
        }
    }
    table
}

/// A counter with the letter of its set.
fn counter(number: u16) -> String {
    let letter = match number {
        0..=31 => 'B',
        _ => 'E',
    };
    format!("{letter}{number}")
}

fn examples() -> String {
    let mut table = String::from("| models | counters | figures | of |\n|---|---|---|---|\n");
    for example in EXAMPLES {
        let first = example.generations.first().copied();
        let counters = example.counters.iter();
        let counters = counters.map(|(number, value)| {
            let (counter, value) = (counter(*number), grouped(*value));
            format!("{counter} = {value}")
        });
        let figures = example.figures.iter();
        let figures =
            figures.map(|(figure, value)| format!("`{}` = {value}", figure.name_on(first)));
        let source = match example.is_published {
            true => "perf",
            false => "small numbers",
        };
        let _ = writeln!(
            table,
            "| {} | {} | {} | {source} |",
            models(example.generations),
            counters.collect::<Vec<_>>().join("; "),
            figures.collect::<Vec<_>>().join("; "),
        );
    }
    table
}

#[test]
fn the_page_has_every_formula_and_every_worked_example() {
    // Cargo does not compile this again in a copied checkout, but names the package that it tests.
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let file = PathBuf::from(package).join("book/src/figures.md");
    let page = fs::read_to_string(file).unwrap();
    let tables = [formulas(), examples()];
    let missing: Vec<String> = tables
        .into_iter()
        .filter(|table| !page.contains(table))
        .collect();
    assert!(
        missing.is_empty(),
        "the page lacks:\n{}",
        missing.join("\n")
    );
}
