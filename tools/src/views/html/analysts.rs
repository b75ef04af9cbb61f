//! The figures that analysts read, of a file of counters: by system and CPU type, with a chart by interval.

use std::{collections::BTreeMap, path::Path};

use anyhow::Result;
use record::Moment;

use super::{
    page::{Absent, Fact, Figure as Line, Figures, Page, Warning},
    render,
};
use crate::{
    computer::{progress::Progress, visible::visible, whole_file},
    figures::{
        counts::{Counts, Value},
        figure::Figure,
        generation::Generation,
        group::{Group, Grouping, Interval, Key},
        nest::Given,
        read::{self, Collected, Manner},
    },
    numbers::grouped,
};

/// Columns of a chart. More intervals share them.
const MOST_COLUMNS: usize = 720;

/// Groups of systems and CPU types that are shown.
const MOST_PARTS: usize = 64;

/// Writes the page of a file of counters.
pub fn write(
    path: &Path,
    model: Option<Generation>,
    given: &Given,
    file: &Path,
    progress: &Progress,
) -> Result<()> {
    let step = progress.step(&format!("making {}", file.display()));
    let by = Grouping {
        system: true,
        interval: true,
        class: true,
        cpu: false,
    };
    let collected = read::read(path, Manner { by, model })?;
    let text = render::page(&page(&collected, given, path));
    whole_file::write(file, text, "--html")?;
    step.done(&format!("{} written", file.display()));
    Ok(())
}

/// The page of these groups, which are by interval.
fn page(collected: &Collected, given: &Given, path: &Path) -> Page {
    let name = |path: &Path| visible(&path.display().to_string());
    let mut parts: BTreeMap<Key, Vec<&Group>> = BTreeMap::new();
    for group in &collected.groups {
        let key = Key {
            interval: None,
            ..group.key.clone()
        };
        parts.entry(key).or_default().push(group);
    }
    let mut warnings: Vec<Warning> = collected
        .doubts
        .iter()
        .map(|doubt| doubtful(visible(doubt)))
        .collect();
    if parts.len() > MOST_PARTS {
        let more = (parts.len() - MOST_PARTS) as u64;
        let more = grouped(more);
        warnings.push(doubtful(format!(
            "{more} more systems and CPU types are not shown; --csv has them."
        )));
    }
    Page {
        guest: path
            .file_name()
            .map(Path::new)
            .map(name)
            .unwrap_or_default(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        directory: path.parent().map(name).unwrap_or_default(),
        end: format!("{} intervals of CPUs", grouped(collected.records)),
        is_success: true,
        has_counters_only: true,
        facts: facts(collected),
        figures: parts
            .iter()
            .take(MOST_PARTS)
            .filter_map(|(key, groups)| part(key, groups, given))
            .collect(),
        counters: Absent::Present(Vec::new()),
        warnings,
        ..Page::default()
    }
}

const fn doubtful(text: String) -> Warning {
    Warning {
        is_loss: false,
        text,
    }
}

/// When the records begin and end.
fn facts(collected: &Collected) -> Vec<Fact> {
    let intervals = || {
        collected
            .groups
            .iter()
            .filter_map(|group| group.key.interval)
    };
    let first = intervals().map(|interval| interval.start).min();
    let last = intervals().map(|interval| interval.end).max();
    [("From", first), ("To", last)]
        .into_iter()
        .filter_map(|(name, second)| {
            let value = time(second?);
            Some(Fact { name, value })
        })
        .collect()
}

/// A second of the TOD clock as date and time.
fn time(second: u64) -> String {
    let moment = Moment::from_tod(Interval::tod(second));
    let (month, day) = moment.month_and_day();
    let (hour, minute, second) = moment.time();
    let year = moment.year;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// The sum of groups of one machine; `None` if there are none.
fn sum(groups: &[&Group]) -> Option<Counts> {
    let (first, others) = groups.split_first()?;
    let mut counts = first.counts.clone();
    for group in others {
        counts.merge(&group.counts);
    }
    Some(counts)
}

/// The figures of a system and a CPU type, all intervals together and one by one.
fn part(key: &Key, groups: &[&Group], given: &Given) -> Option<Figures> {
    let all = sum(groups)?;
    let width = groups.len().div_ceil(MOST_COLUMNS).max(1);
    let columns: Vec<Counts> = groups.chunks(width).filter_map(sum).collect();
    let generation = all.generation();
    let mut figures = Figures {
        title: title(key, generation),
        owners: vec!["all CPUs".to_owned()],
        ..Figures::default()
    };
    let mut lacks: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for figure in Figure::ALL {
        let name = figure.name_on(generation);
        let number = |counts: &Counts| counts.figure(figure, given).ok().and_then(Value::number);
        match all.figure(figure, given) {
            Ok(Value::Number(value)) => figures.lines.push(Line {
                name,
                formula: all.formula_text(figure, given).unwrap_or_default(),
                unit: figure.unit(),
                values: vec![Some(value)],
                chart: columns.iter().map(number).collect(),
            }),
            Ok(Value::Workload(hint)) => figures.notes.push(format!(
                "The workload of LSPR that is most like it: {hint}."
            )),
            Err(lack) => lacks.entry(lack.to_string()).or_default().push(name),
        }
    }
    let lacks = lacks.into_iter();
    figures
        .notes
        .extend(lacks.map(|(lack, names)| format!("Not given: {}: {lack}.", names.join(", "))));
    if width > 1 {
        figures.notes.push(format!(
            "A step of a chart is {width} intervals of the records."
        ));
    }
    Some(figures)
}

fn title(key: &Key, generation: Option<Generation>) -> String {
    let machine = match (&key.machine[..], generation) {
        ("", None) => None,
        ("", Some(model)) => Some(model.name().to_owned()),
        (machine, None) => Some(machine.to_owned()),
        (machine, Some(model)) => Some(format!("{machine} ({})", model.name())),
    };
    let class = key.class.map(|class| class.to_string());
    let names: Vec<String> = [key.system.clone(), machine, class]
        .into_iter()
        .flatten()
        .collect();
    match names.is_empty() {
        true => "The file".to_owned(),
        false => visible(&names.join(", ")),
    }
}

#[cfg(test)]
mod tests;
