//! `cargo panics`: the panics that the traps of the image reach, beside the numbers that the table allows.

#![forbid(unsafe_code)]

use std::{env, path::PathBuf, process::ExitCode};

use anyhow::Result;
use tests_qemu::{ipl, panics};

const HELP: &str = "\
Counts the panics that the traps of the image reach, by place, beside the numbers of tests-qemu/panics.txt.

Usage: cargo panics [PLACE]

  PLACE  list the sites below this folder or file, or of this crate (`crate NAME`)

Exit codes: 0 the numbers are those of the table, 1 they are not, 2 the check could not run.";

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("panics: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool> {
    let place = env::args().nth(1);
    if let Some("help" | "--help" | "-h") = place.as_deref() {
        println!("{HELP}");
        return Ok(true);
    }
    let image =
        env::var_os("MILLIMETER_IMAGE").map_or_else(ipl::image, |file| Ok(PathBuf::from(file)))?;
    let sites = panics::sites(&image)?;
    if let Some(place) = place {
        print!(
            "{}",
            panics::list(sites.iter().filter(|site| site.place.starts_with(&place)))
        );
        return Ok(true);
    }
    let (text, wrong) = panics::compare(&sites, &panics::allowed()?);
    print!("{text}{wrong}");
    Ok(wrong.is_empty())
}
