//! `cargo times`: what the tests took, the longest first, beside the table of prices.

#![forbid(unsafe_code)]

use std::{env, fs, process::ExitCode};

use anyhow::{Context, Result, bail};
use tests_qemu::prices::{self, Comparison, Kept, Recorded, Step, Table};

const HELP: &str = "\
Lists what the last whole run of each suite took, the longest test first, beside the table tests-qemu/prices.txt.

Usage: cargo times [COMMAND]

  list [WORD]  list the tests, or those whose suite or name has this word (default)
  steps        list the parts of tests: guests, boots, and what was built before
  compare      say only which tests are slower than the table explains, and which have no price
  keep         write the table anew: each test that was run gets the price that was found

A run of `cargo test` or `cargo soak` leaves what it found below target/times. The columns are seconds of processors, seconds
that passed, the part of the table's price on this computer, the suite, and the test.

Exit codes: 0 everything is right, 1 a test is slower or has no price (compare), 2 nothing could be read.";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("times: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] | ["list"] => list(""),
        ["list", word] => list(word),
        ["steps"] => steps(),
        ["compare"] => compare(),
        ["keep"] => keep(),
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(true)
        }
        _ => bail!("{} is not a command\n\n{HELP}", arguments.join(" ")),
    }
}

/// What the last run of each suite left, with the seconds of its computer's work.
fn found() -> Result<Vec<Table>> {
    let directory = prices::directory();
    let entries = fs::read_dir(&directory).with_context(|| {
        format!(
            "cannot read {}; a whole run of `cargo test` leaves what it found there",
            directory.display()
        )
    })?;
    let mut files = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    files.sort();
    let mut tables = files
        .iter()
        .map(|file| {
            let text = fs::read_to_string(file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            Table::parse(&text).with_context(|| format!("{} is no table of prices", file.display()))
        })
        .collect::<Result<Vec<_>>>()?;
    // The steps of `.ci/run` were on the computer of the suites.
    let reference = tables.iter().find_map(|table| table.reference);
    for table in &mut tables {
        table.reference = table.reference.or(reference);
    }
    Ok(tables)
}

fn list(word: &str) -> Result<bool> {
    let kept = Kept::read()?;
    let mut rows: Vec<(Recorded, Option<f64>)> = Vec::new();
    for table in found()? {
        let scale = kept.scale(table.reference);
        for row in table.rows {
            let price = kept.of(&row.suite, &row.name);
            let part = price.map(|price| row.price.cpu / (price.cpu * scale).max(0.1));
            rows.push((row, part));
        }
    }
    rows.retain(|(row, _)| row.suite.contains(word) || row.name.contains(word));
    rows.sort_by(|(one, _), (other, _)| other.price.cpu.total_cmp(&one.price.cpu));
    let mut sums = [0.0, 0.0];
    for (row, part) in &rows {
        let part = part.map_or_else(|| "new".to_owned(), |part| format!("{part:.2}"));
        sums = [sums[0] + row.price.cpu, sums[1] + row.price.wall];
        println!(
            "{:7.1} {:7.1} {part:>5} {} {}",
            row.price.cpu, row.price.wall, row.suite, row.name
        );
    }
    println!("{:7.1} {:7.1} in all", sums[0], sums[1]);
    Ok(true)
}

fn steps() -> Result<bool> {
    let mut steps: Vec<Step> = found()?.into_iter().flat_map(|table| table.steps).collect();
    steps.sort_by(|one, other| other.price.cpu.total_cmp(&one.price.cpu));
    for Step { test, name, price } in steps {
        println!("{:7.1} {:7.1} {name} of {test}", price.cpu, price.wall);
    }
    Ok(true)
}

fn compare() -> Result<bool> {
    let kept = Kept::read()?;
    let mut is_right = true;
    for table in found()? {
        let reference = table
            .reference
            .context("a table has no seconds of the work")?;
        let comparison = Comparison::new(&table.rows, &kept, reference);
        is_right &= comparison.slower.is_empty() && comparison.new.is_empty();
        let suite = table.rows.first().map_or("", |row| &row.suite);
        print!("{suite} {}", comparison.text());
    }
    Ok(is_right)
}

fn keep() -> Result<bool> {
    let kept = Kept::read()?;
    let tables = found()?;
    let count: usize = tables.iter().map(|table| table.rows.len()).sum();
    let file = prices::file();
    fs::write(&file, kept.renewed(tables).text())
        .with_context(|| format!("cannot write {}", file.display()))?;
    println!("{count} prices are in {}", file.display());
    Ok(true)
}
