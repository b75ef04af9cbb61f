//! The counters of a report: a line for each counter, a column for each CPU or coprocessor group.

use std::fmt::Write as _;

use comfy_table::Cell;
use link::data::Level;

use super::{number, plain_table, trimmed};
use crate::{
    formats::counters::{CounterValues, counter_name, counts, group_counter_name, set_name},
    numbers::grouped,
    options::exact_caches,
    report::Report,
};

/// The counters of one level; `None` if there are none.
pub fn text(report: &Report, level: Level) -> Option<String> {
    let of_level = report
        .counters
        .iter()
        .filter(|set| set.level == level && set.authorized);
    let (groups, cpus): (Vec<_>, Vec<_>) = of_level.partition(|set| set.is_of_group());
    let tables = [("CPU", cpus), ("group", groups)]
        .into_iter()
        .filter(|(_, sets)| !sets.is_empty())
        .map(|(owner, sets)| table(report, owner, &sets));
    let mut text = tables.collect::<Vec<_>>().join("\n\n");
    if text.is_empty() {
        return None;
    }
    if let Some(geometry) = &report.record.exact_caches {
        text = format!("{text}\n {}", exact_caches::sentence(geometry));
    }
    Some(text)
}

/// A table of sets that CPUs own, or that groups do. Counters that count nothing on the model of the
/// guest have no line unless somebody has set one.
fn table(report: &Report, owner: &str, sets: &[&CounterValues]) -> String {
    let mut owners: Vec<u16> = sets.iter().map(|set| set.cpu).collect();
    owners.sort_unstable();
    owners.dedup();
    let is_summed = owner == "CPU" && owners.len() > 1;
    let mut header = vec!["set".to_owned(), "no.".to_owned(), "counter".to_owned()];
    header.extend(owners.iter().map(|number| format!("{owner} {number}")));
    if is_summed {
        header.push("sum".to_owned());
    }
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = plain_table(&header);
    let mut silent = 0;
    for (kind, counter) in numbers(sets) {
        let of_kind = sets.iter().filter(|set| set.set == kind);
        let value = |whose: u16| {
            let set = of_kind.clone().find(|set| set.cpu == whose)?;
            let index = counter.checked_sub(set.first)?;
            set.values.get(usize::from(index)).copied()
        };
        let values: Vec<Option<u64>> = owners.iter().map(|whose| value(*whose)).collect();
        let is_zero = values.iter().flatten().all(|value| *value == 0);
        if owner == "CPU" && is_zero && !counts(report.model(), counter, report.models_caches()) {
            silent += 1;
            continue;
        }
        let name = match owner {
            "CPU" => counter_name(report.model(), counter),
            _ => group_counter_name(counter),
        };
        let mut row = vec![Cell::new(set_name(kind)), number(counter), Cell::new(name)];
        let shown = values
            .iter()
            .map(|value| number(value.map_or("-".to_owned(), grouped)));
        row.extend(shown);
        if is_summed {
            let summed = of_kind.clone().filter(|set| set.is_in_sum());
            let sum = summed
                .filter_map(|set| value(set.cpu))
                .fold(0u64, u64::wrapping_add);
            row.push(number(grouped(sum)));
        }
        table.add_row(row);
    }
    let mut text = trimmed(&table);
    if silent > 0 {
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "\n and {silent} more that count nothing here: zero by definition, or reserved"
        );
    }
    text
}

/// All counters of the sets, as set and number, by number.
fn numbers(sets: &[&CounterValues]) -> Vec<(u16, u16)> {
    let all = sets.iter().flat_map(|set| {
        let end = set.first.saturating_add(set.values.len() as u16);
        (set.first..end).map(|counter| (set.set, counter))
    });
    let mut numbers: Vec<_> = all.collect();
    numbers.sort_unstable_by_key(|(_, counter)| *counter);
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::directory;

    fn line<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
        let found = text.lines().find(|line| line.contains(name));
        found
            .unwrap_or_else(|| panic!("{name} in\n{text}"))
            .split_whitespace()
            .collect()
    }

    #[test]
    fn counters_have_names_and_those_that_count_nothing_share_one_line() {
        let directory = directory();
        let report = Report::read(directory.path()).unwrap();
        let text = text(&report, Level::Machine).unwrap();
        let writes = line(&text, "DTLB2_WRITES");
        assert_eq!(writes, ["extended", "129", "DTLB2_WRITES", "7", "7", "14"]);
        assert_eq!(line(&text, "AES function count")[5..], ["0", "7", "7"]);
        // Extended counters 128 and 131 are not counted on a z15, and 450 is reserved.
        assert!(
            text.contains("and 3 more that count nothing here"),
            "{text}"
        );
        assert!(!text.contains("Reserved") && !text.contains("Extended counter"));
        let basic = text.find("Cycle count").unwrap();
        assert!(basic < text.find("DTLB2_WRITES").unwrap(), "by number");
    }

    #[test]
    fn the_sum_counts_the_cycles_of_a_core_once_and_groups_have_columns_of_their_own() {
        let directory = directory();
        let report = Report::read(directory.path()).unwrap();
        let text = text(&report, Level::Machine).unwrap();
        let threads = line(&text, "Cycle count with one thread active");
        assert_eq!(threads[threads.len() - 3..], ["300", "300", "300"]);
        let heading = line(&text, "group 1");
        assert_eq!(heading[3..], ["group", "0", "group", "1"]);
        let group = line(&text, "DEA/AES/MAC function count");
        assert_eq!(group[group.len() - 2..], ["40", "41"]);
    }

    #[test]
    fn cache_counters_have_lines_and_a_sentence_where_caches_are_modelled() {
        let directory = directory();
        let mut report = Report::read(directory.path()).unwrap();
        let basic = report
            .counters
            .iter_mut()
            .filter(|set| (set.level, set.set) == (Level::Machine, 1));
        for set in basic {
            set.values.resize(6, 0);
        }
        let before = text(&report, Level::Machine).unwrap();
        assert!(!before.contains("I-cache") && !before.contains("model"));
        report.record.exact_caches = Some("i=1K/1/64/8,d=1K/1/64/8".to_owned());
        let text = text(&report, Level::Machine).unwrap();
        let writes = line(&text, "Level-1 I-cache directory-write count");
        assert_eq!(writes[..2], ["basic", "2"]);
        let last = text.lines().last().unwrap();
        assert!(last.contains("a model (i=1K/1/64/8,d=1K/1/64/8;"), "{text}");
    }

    #[test]
    fn a_counter_that_counts_nothing_has_a_line_when_it_was_set() {
        let directory = directory();
        let mut report = Report::read(directory.path()).unwrap();
        let extended = report.counters.iter_mut().find(|set| set.first == 128);
        extended.unwrap().values[0] = 5;
        let text = text(&report, Level::Machine).unwrap();
        assert_eq!(line(&text, "Extended counter 128")[5..], ["5", "0", "5"]);
    }
}
