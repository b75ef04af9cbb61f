//! `cargo survivors`: mutants of the facilities of SA23-2260 that no test kills, beside the table that accounts for them.

#![forbid(unsafe_code)]

use std::{env, process::ExitCode};

use anyhow::{Result, bail};
use tests_qemu::survivors::{
    Figure,
    mutant::Fate,
    rows::{self, JudgedByGuests},
    run,
    table::{Entry, Table},
};

const HELP: &str = "\
Changes the code of the facilities of SA23-2260 in small ways, runs the unit tests on each, and compares what survives with
tests-qemu/survivors.toml. Needs cargo-mutants (`cargo install --locked cargo-mutants`) and about an hour.

Usage: cargo survivors [COMMAND]

Commands:
  compare         compare the outcomes of the last run again, after a change of the table
  rows [REGEX]…   let the behaviour guests judge: the mutants whose names match, or the survivors that are left to rows;
                  some minutes each

Exit codes: 0 the table accounts for every survivor, 1 it does not, 2 the tool failed.";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("survivors: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        None => {
            run::all()?;
            compare()
        }
        Some("compare") if arguments.len() == 1 => compare(),
        Some("rows") => judge_by_rows(&arguments[1..]),
        Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            Ok(true)
        }
        _ => bail!("unknown arguments: see `cargo survivors --help`"),
    }
}

fn compare() -> Result<bool> {
    let (table, judged) = (Table::read()?, run::outcomes()?);
    let wrong = table.compare(&judged);
    print!("{wrong}{}", Figure::of(&judged, &table));
    Ok(wrong.is_empty())
}

/// Whether the guests kill every mutant, and break the rows that the table promises.
fn judge_by_rows(expressions: &[String]) -> Result<bool> {
    let table = Table::read()?;
    let mut expressions = expressions.to_vec();
    if expressions.is_empty() {
        let judged = run::outcomes()?;
        let left = judged.iter().filter(|judged| {
            let is_left_to_rows = |entry: &Entry| entry.rows.is_some();
            judged.fate == Fate::Survived && table.of(&judged.mutant).all(is_left_to_rows)
        });
        expressions.extend(left.map(|judged| run::exactly(&judged.mutant.name)));
    }
    if expressions.is_empty() {
        println!("no survivor is left to rows");
        return Ok(true);
    }
    let mut is_right = true;
    for JudgedByGuests {
        mutant,
        fate,
        broken,
    } in rows::judge(&expressions)?
    {
        println!("{}", mutant.name);
        if fate == Fate::Unviable {
            println!("    does not compile");
            continue;
        }
        println!("    breaks {} rows: {}", broken.len(), broken.join(" "));
        let promised = table.of(&mutant).filter_map(|entry| entry.rows.as_ref());
        for row in promised.flatten().filter(|row| !broken.contains(row)) {
            println!("    does not break {row}");
            is_right = false;
        }
        is_right &= !broken.is_empty();
    }
    Ok(is_right)
}
