//! The report as text for a person.

pub mod calls;
mod counters;
mod exact;
pub mod paths;
pub mod traces;

use std::fmt::Write as _;

use comfy_table::{Cell, CellAlignment, Table, presets};
use link::data::Level;

use crate::{
    folder::{
        CONSOLE, COUNTERS, EVENTS, HANG, HANG_CORE, LOG, OPERATOR, RECORD, counts_name,
        record::End, sdb_name, stacks_name,
    },
    numbers::{self, grouped, quantities::Storage},
    report::{Hot, Report},
};

/// Lines of the table of the hottest routines.
pub(crate) const HOTTEST: usize = 20;

/// Longest name of a routine that is not cut.
const LONGEST_NAME: usize = 64;

/// The report.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    let record = &report.record;
    // Writing to a string does not fail.
    let _ = writeln!(text, "{}", heading(report));
    let _ = writeln!(text, "{}", sentence(&record.end));
    if let End::Machine { text: detail, .. } = &record.end {
        let _ = writeln!(text, "\n{detail}");
    }
    if let Some(calls) = &report.calls {
        let _ = writeln!(text, "\n{}", calls::hottest(report, calls));
    } else if !report.hot.is_empty() {
        let _ = writeln!(text, "\n{}", hottest(report, "symbol", &report.hot));
    }
    if let Some(exact) = &report.exact {
        let _ = writeln!(text, "\n{}", exact::text(report, exact));
    }
    let programs = report.programs();
    if !programs.is_empty() {
        let _ = writeln!(text, "\n{}", hottest(report, "program", &programs));
    }
    if !report.units.is_empty() {
        let _ = writeln!(text, "\n{}", units(report));
    }
    if let Some(paths) = paths::text(report) {
        let _ = writeln!(text, "\n{paths}");
    }
    let _ = writeln!(text, "\nsamples: {}", samples(report));
    if let Some(calls) = &report.calls {
        let _ = writeln!(text, "\nstacks: {}", calls::found(calls));
    }
    if let Some(traces) = traces::text(report) {
        let _ = writeln!(text, "\n{traces}");
    }
    for (level, title) in [
        (Level::Machine, "counters"),
        (Level::Guest, "the guest's own counters"),
    ] {
        let table = counters::text(report, level);
        if let Some(table) = table {
            let _ = writeln!(text, "\n{title}\n{table}");
        } else if level == Level::Machine {
            let _ = writeln!(text, "\ncounters: {}", no_counters(report));
        }
    }
    if let Some(line) = cost(report) {
        let _ = writeln!(text, "\n{line}");
    }
    for doubt in &report.doubts {
        let _ = writeln!(text, "\nnote: {doubt}");
    }
    let _ = write!(text, "\n{}", files(report));
    text
}

fn heading(report: &Report) -> String {
    let record = &report.record;
    let cpus = if record.cpus == 1 {
        "1 CPU".to_owned()
    } else {
        format!("{} CPUs", record.cpus)
    };
    let sampling = match record.interval {
        0 if report.collected.is_some() => "samples of HIS".to_owned(),
        0 => "no sampling".to_owned(),
        interval => format!("a sample every {} cycles", grouped(interval)),
    };
    let mut heading = format!(
        "{}: {} mode, {cpus}, {} of storage, {sampling}",
        record.guest,
        record.mode_found(),
        Storage(record.storage)
    );
    for word in &record.configuration {
        heading.push_str(", ");
        heading.push_str(word);
    }
    heading
}

fn sentence(end: &End) -> String {
    let sentence = end.sentence();
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => sentence,
    }
}

pub(crate) fn plain_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(header.iter().map(Cell::new));
    table
}

pub(crate) fn number(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// A table without the blanks at the ends of its lines.
pub(crate) fn trimmed(table: &Table) -> String {
    let text = table.to_string();
    text.lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}

fn hottest(report: &Report, what: &str, lines: &[Hot]) -> String {
    let mut table = plain_table(&[what, "module", "samples", "percent"]);
    for hot in lines.iter().take(HOTTEST) {
        let module = if hot.module.is_empty() {
            "-"
        } else {
            &hot.module
        };
        table.add_row(vec![
            Cell::new(shortened(&hot.symbol)),
            Cell::new(module),
            number(grouped(hot.samples)),
            number(format!("{:.2}", report.percent(hot.samples))),
        ]);
    }
    let mut text = trimmed(&table);
    if lines.len() > HOTTEST {
        let rest: u64 = lines[HOTTEST..].iter().map(|hot| hot.samples).sum();
        let lines = lines.len() - HOTTEST;
        let _ = write!(
            text,
            "\n and {lines} more with {} samples ({:.2} percent)",
            grouped(rest),
            report.percent(rest)
        );
    }
    text
}

/// The samples of z/OS by what its dispatcher had dispatched.
fn units(report: &Report) -> String {
    let mut table = plain_table(&["home ASN", "work unit", "samples", "percent"]);
    for (parameter, samples) in report.units.iter().take(HOTTEST) {
        table.add_row(vec![
            Cell::new(format!("{:04X}", parameter.home_asn)),
            Cell::new(parameter),
            number(grouped(*samples)),
            number(format!("{:.2}", report.percent(*samples))),
        ]);
    }
    let mut text = trimmed(&table);
    if report.units.len() > HOTTEST {
        let rest: u64 = report.units[HOTTEST..]
            .iter()
            .map(|(_, samples)| samples)
            .sum();
        let lines = report.units.len() - HOTTEST;
        let (rest, percent) = (grouped(rest), report.percent(rest));
        let _ = write!(
            text,
            "\n and {lines} more with {rest} samples ({percent:.2} percent)"
        );
    }
    text
}

pub(crate) fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

fn samples(report: &Report) -> String {
    if report.record.interval == 0 && report.collected.is_none() {
        return if report.record.collections.is_empty() {
            "none, sampling was off".to_owned()
        } else {
            "those of the collection runs of HIS, in their files".to_owned()
        };
    }
    let by_cpu = report
        .cpus
        .iter()
        .map(|cpu| format!("CPU {}: {}", cpu.cpu, grouped(cpu.entries.len() as u64)));
    let by_cpu = if report.cpus.len() > 1 {
        format!(" ({})", by_cpu.collect::<Vec<_>>().join(", "))
    } else {
        String::new()
    };
    let mut text = format!(
        "{} taken{by_cpu}, {} lost, in {} blocks",
        grouped(report.taken()),
        grouped(report.lost()),
        grouped(report.blocks())
    );
    if let Some(collected) = &report.collected {
        let _ = write!(text, ", by HIS in {}", collected.prefix);
        let intervals = collected.intervals.iter();
        let each: Vec<String> = intervals
            .map(|interval| format!("one every {} cycles", grouped(*interval)))
            .collect();
        if !each.is_empty() {
            let _ = write!(text, ", {}", each.join(", then "));
        }
    }
    text
}

fn no_counters(report: &Report) -> &'static str {
    if report.record.mode_found() == "real-time" {
        "not authorized, because in real-time mode instructions cannot be counted"
    } else {
        "none arrived"
    }
}

/// What the machine spent for the guest.
fn cost(report: &Report) -> Option<String> {
    let totals = &report.record.totals;
    let sum = |field: fn(&crate::folder::record::TotalsRecord) -> u64| {
        numbers::sum(totals.iter().map(field))
    };
    let guest = sum(|totals| totals.guest_instructions);
    let firmware = sum(|totals| totals.firmware_instructions);
    (guest > 0 && firmware > 0).then(|| {
        format!(
            "machine: {} instructions of its own for {} of the guest ({:.3} percent), {} interruptions",
            grouped(firmware),
            grouped(guest),
            firmware as f64 * 100.0 / guest as f64,
            grouped(sum(|totals| totals.traps)),
        )
    })
}

fn files(report: &Report) -> String {
    let directory = &report.directory;
    let mut text = format!("raw files in {}\n", directory.display());
    // The names of files of stacks are the longest.
    let has_long_names = report.calls.is_some() || !report.record.counts.is_empty();
    let width = if has_long_names { 15 } else { 14 };
    let own = report.cpus.iter().filter(|_| report.collected.is_none());
    let blocks = own.map(|cpu| {
        (
            sdb_name(cpu.cpu),
            format!("sample-data blocks of CPU {}", cpu.cpu),
        )
    });
    let stacks = report.cpus.iter().map(|cpu| {
        (
            stacks_name(cpu.cpu),
            format!("call stacks of the samples of CPU {}", cpu.cpu),
        )
    });
    let counts = report.record.counts.iter().map(|counts| {
        (
            counts_name(counts.cpu),
            format!("exact counts of CPU {}", counts.cpu),
        )
    });
    let others = [
        (COUNTERS, "counter sets as the machine sent them"),
        (CONSOLE, "what the guest wrote on its console"),
        (LOG, "the machine's log"),
        (OPERATOR, "the operator and the machine"),
        (EVENTS, "traced events; measure trace --of DIR shows them"),
        (
            HANG,
            "what the CPUs did when the machine no longer answered",
        ),
        (
            HANG_CORE,
            "their registers and the machine's storage (a core file)",
        ),
        (RECORD, "how the run was and how it ended"),
    ];
    let others = others
        .into_iter()
        .map(|(name, what)| (name.to_owned(), what.to_owned()));
    for (name, what) in blocks.chain(stacks).chain(counts).chain(others) {
        if directory
            .join(&name)
            .metadata()
            .is_ok_and(|data| data.len() > 0)
        {
            let _ = writeln!(text, "  {name:<width$} {what}");
        }
    }
    for prefix in &report.record.collections {
        let _ = writeln!(
            text,
            "  {prefix}* what a collection run of HIS wrote; measure dump FILE shows it"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        counts::tests::{add, add_calls, calls},
        folder::record::RunRecord,
        report::tests::{directory, with_stacks},
    };

    #[test]
    fn a_report_says_where_the_time_went_what_was_counted_and_where_the_files_are() {
        let directory = directory();
        let text = text(&Report::read(directory.path()).unwrap());
        for expected in [
            "loop: exact mode, 2 CPUs, 512M of storage, a sample every 1,000,000 cycles",
            "The guest ended with success",
            "inner              g             3    42.86",
            "(wait)             -             1    14.29",
            "samples: 7 taken (CPU 0: 5, CPU 1: 2), 2 lost, in 2 blocks",
            "Problem-state instruction count",
            "2,001",
            "the guest's own counters",
            "sdb-cpu1.bin   sample-data blocks of CPU 1",
        ] {
            assert!(text.contains(expected), "{expected}\nin\n{text}");
        }
        assert!(!text.contains("note:"), "{text}");
    }

    #[test]
    fn a_report_with_call_stacks_has_inclusive_samples_and_says_where_stacks_broke() {
        let directory = with_stacks();
        let report = Report::read(directory.path()).unwrap();
        let text = text(&report);
        for expected in [
            " symbol             module  inclusive  percent  exclusive  percent",
            " start              g               4    57.14          2    28.57",
            "stacks: 5 followed, 3 complete, 1 broken: a frame that is not above the one before, 1 broken: a frame that has no storage",
            "stacks-cpu0.bin call stacks of the samples of CPU 0",
            "note: 2 samples have no call stack",
        ] {
            assert!(text.contains(expected), "{expected}\nin\n{text}");
        }
    }

    #[test]
    fn exact_counts_have_a_table_and_their_sum_beside_the_instruction_counter() {
        let directory = directory();
        let shown = || text(&Report::read(directory.path()).unwrap());
        assert!(!shown().contains("exact counts"));
        add(
            directory.path(),
            0,
            &[&[(0x20_0000, 4, 10), (0x20_0020, 8, 120)]],
        );
        let unmatched = link::counts::Unmatched {
            returns: 1,
            abandoned: 0,
            not_followed: 2000,
        };
        add_calls(
            directory.path(),
            0,
            1,
            &[calls(0x20_0006, 0x20_0020, (120, 990)), unmatched.into()],
        );
        let whole = shown();
        for expected in [
            "exact counts\n routine  module  instructions  percent  inclusive  percent  calls  entries",
            " inner    g                960    96.00        990    99.00    120      120",
            " start    g                 40     4.00          -        -      -       10",
            "\nsum: 1,000 instructions, as the instruction counter says\n\
             calls that do not match: 1 returns to where no call was, 2,000 calls that were not followed to their end\n",
            "counts-cpu0.bin exact counts of CPU 0",
        ] {
            assert!(whole.contains(expected), "{expected}\nin\n{whole}");
        }
        // Its machine could not count three.
        add(directory.path(), 1, &[&[(0x20_0000, 1, 5)]]);
        let cut = shown();
        let sum = "sum: 1,005 instructions of 1,000 by the instruction counter, and 3 that could not be counted (it is not \
                   known where they were); that leaves a difference of 8";
        assert!(cut.contains(sum), "{cut}");
        let mut record = RunRecord::read(directory.path()).unwrap();
        record.counted_part = Some("in problem state".to_owned());
        record.write(directory.path()).unwrap();
        assert!(
            shown().contains("sum: 1,005 instructions in problem state of 1,000 by"),
            "{}",
            shown()
        );
        let damaged_file = directory.path().join(counts_name(1));
        std::fs::write(&damaged_file, [0; 9]).unwrap();
        let damaged = shown();
        assert!(damaged.contains("note: the exact counts in") && !damaged.contains("sum:"));
        let mut record = RunRecord::read(directory.path()).unwrap();
        record.counts.clear();
        record.write(directory.path()).unwrap();
        for cpu in 0..2 {
            std::fs::remove_file(directory.path().join(counts_name(cpu))).unwrap();
        }
        assert!(shown().contains("note: the run was to count all executions"));
    }

    #[test]
    fn the_callers_and_callees_of_a_routine_are_found_by_a_part_of_its_name() {
        let directory = with_stacks();
        let report = Report::read(directory.path()).unwrap();
        let text = calls::beside(&report, "inne").unwrap();
        assert!(
            text.starts_with(
                "inner in g: 3 samples in it or in what it had called (42.86 percent)"
            )
        );
        assert!(text.contains(" start   g             2    28.57"), "{text}");
        assert!(text.contains("no stack has a routine that it had called"));
        for (name, words) in [("nobody", "a part of its name"), ("n", "inner (g)")] {
            let refusal = calls::beside(&report, name).unwrap_err().to_string();
            assert!(refusal.contains(words), "{refusal}");
        }
        let report = Report::read(self::directory().path()).unwrap();
        let refusal = calls::beside(&report, "inner").unwrap_err().to_string();
        assert!(refusal.contains("--stacks"), "{refusal}");
    }

    #[test]
    fn a_long_name_is_cut_at_a_character() {
        let name = "ü".repeat(100);
        assert_eq!(shortened(&name).chars().count(), LONGEST_NAME);
        assert_eq!(shortened("short"), "short");
    }
}
