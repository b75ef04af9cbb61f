//! Tables for a person.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use comfy_table::{Cell, CellAlignment, Table};

use super::{Shown, model_name, time};
use crate::{
    figures::{counts::Value, figure::Figure, generation::Generation, group::Group},
    numbers::grouped,
    views::table::plain_table,
};

/// The tables with their figures. The first two are always there.
const TABLES: [(&str, &[Figure]); 3] = [
    (
        "work",
        &[
            Figure::Cpi,
            Figure::EstimatedCpi,
            Figure::FiniteCpi,
            Figure::ProblemState,
            Figure::Mips,
            Figure::Busy,
            Figure::L1Misses,
            Figure::NestIntensity,
            Figure::Hint,
        ],
    ),
    (
        "where the lines of level-1 misses came from, and what misses cost",
        &[
            Figure::Level2,
            Figure::Level3,
            Figure::Local4,
            Figure::Remote4,
            Figure::Memory,
            Figure::MissCycles,
            Figure::TlbShare,
            Figure::TlbCycles,
            Figure::PageTableMisses,
        ],
    ),
    (
        "cryptographic functions",
        &[
            Figure::Cryptography,
            Figure::Prng,
            Figure::Sha,
            Figure::Dea,
            Figure::Aes,
            Figure::Ecc,
            Figure::Blocked,
        ],
    ),
];

/// The figures of a file.
pub fn text(shown: &Shown<'_>, path: &Path) -> String {
    let mut text = String::new();
    let groups = &shown.collected.groups;
    let (records, count) = (shown.collected.records, groups.len() as u64);
    let plural = if count == 1 { "group" } else { "groups" };
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "{}: {} intervals of CPUs in {} {plural}",
        path.display(),
        grouped(records),
        grouped(count)
    );
    for (title, figures) in TABLES {
        let is_used = |figure: &Figure| {
            let mut numbers = groups.iter().map(|group| shown.number(group, *figure));
            numbers.any(|number| number.is_some_and(|number| number > 0.0))
        };
        let is_crypto = figures.contains(&Figure::Cryptography);
        if is_crypto && !figures.iter().any(is_used) {
            continue;
        }
        let _ = writeln!(text, "\n{title}\n{}", table(shown, figures).trim_fmt());
    }
    let lacks = lacks(shown);
    if !lacks.is_empty() {
        let _ = writeln!(text, "\nnot given");
        for ((model, reason), names) in lacks {
            let _ = writeln!(text, " {} of {model}: {reason}", names.join(", "));
        }
    }
    for (generation, group) in shown.models() {
        let _ = write!(text, "\n{}", formulas(shown, generation, group));
    }
    for doubt in &shown.collected.doubts {
        let _ = writeln!(text, "\nnote: {doubt}");
    }
    text
}

/// A row for each group.
fn table(shown: &Shown<'_>, figures: &[Figure]) -> Table {
    let groups = &shown.collected.groups;
    let has = |which: fn(&Group) -> bool| groups.iter().any(which);
    let of_one_model = match &shown.models()[..] {
        [(generation, _)] => *generation,
        _ => None,
    };
    let mut heading = Vec::new();
    let by_system = has(|group| group.key.system.is_some());
    let by_interval = has(|group| group.key.interval.is_some());
    let by_class = has(|group| group.key.class.is_some());
    let by_cpu = has(|group| group.key.cpu.is_some());
    heading.extend(by_system.then_some("system"));
    heading.push("machine");
    heading.extend(by_interval.then_some("from"));
    heading.extend(by_interval.then_some("seconds"));
    heading.extend(by_class.then_some("type"));
    heading.extend(by_cpu.then_some("CPU"));
    heading.extend(figures.iter().map(|figure| figure.name_on(of_one_model)));
    let mut table = plain_table(&heading);
    for group in groups {
        let key = &group.key;
        let mut row = Vec::new();
        let mut add = |is_shown: bool, text: Option<String>| {
            row.extend(is_shown.then(|| Cell::new(text.unwrap_or_else(|| "-".to_owned()))));
        };
        add(by_system, key.system.clone());
        let machine = Some(&key.machine).filter(|machine| !machine.is_empty());
        add(true, machine.cloned());
        add(
            by_interval,
            key.interval.map(|interval| time(interval.start)),
        );
        let seconds = key
            .interval
            .map(|interval| interval.end.saturating_sub(interval.start));
        add(by_interval, seconds.map(grouped));
        add(by_class, key.class.map(|class| class.to_string()));
        add(by_cpu, key.cpu.map(|cpu| cpu.to_string()));
        row.extend(figures.iter().map(|figure| value(shown, group, *figure)));
        table.add_row(row);
    }
    table
}

fn value(shown: &Shown<'_>, group: &Group, figure: Figure) -> Cell {
    let text = match group.counts.figure(figure, shown.given) {
        Ok(Value::Number(number)) => match figure {
            Figure::Cpi | Figure::EstimatedCpi | Figure::FiniteCpi => format!("{number:.3}"),
            Figure::Mips => format!("{number:.1}"),
            _ => format!("{number:.2}"),
        },
        Ok(Value::Workload(hint)) => hint.to_string(),
        Err(_) => "-".to_owned(),
    };
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// The figures that are missing, by model and reason.
fn lacks(shown: &Shown<'_>) -> BTreeMap<(&'static str, String), Vec<&'static str>> {
    let mut lacks: BTreeMap<(&'static str, String), Vec<&'static str>> = BTreeMap::new();
    for group in &shown.collected.groups {
        let generation = group.counts.generation();
        for figure in Figure::ALL {
            let Err(lack) = group.counts.figure(figure, shown.given) else {
                continue;
            };
            let key = (model_name(generation), lack.to_string());
            let names = lacks.entry(key).or_default();
            let name = figure.name_on(generation);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    lacks
}

/// The formulas of a model, each with the number of its source below.
fn formulas(shown: &Shown<'_>, generation: Option<Generation>, group: &Group) -> String {
    let mut sources: Vec<String> = Vec::new();
    let mut table = plain_table(&["figure", "source", "what it is", "formula"]);
    for figure in Figure::ALL {
        let (Ok(published), Ok(formula)) = (
            group.counts.formula(figure, shown.given),
            group.counts.formula_text(figure, shown.given),
        ) else {
            continue;
        };
        let source = published.source.text(generation);
        let place = sources.iter().position(|known| *known == source);
        let place = place.unwrap_or_else(|| {
            sources.push(source);
            sources.len() - 1
        });
        let unit = match figure.unit() {
            "" => String::new(),
            unit => format!(" ({unit})"),
        };
        let meaning = format!("{}{unit}", figure.meaning());
        let number = format!("[{}]", place + 1);
        table.add_row([
            figure.name_on(generation).to_owned(),
            number,
            meaning,
            formula,
        ]);
    }
    let mut text = format!(
        "formulas of {}\n{}\n",
        model_name(generation),
        table.trim_fmt()
    );
    for (place, source) in sources.iter().enumerate() {
        let _ = writeln!(text, " [{}] {source}", place + 1);
    }
    text
}
