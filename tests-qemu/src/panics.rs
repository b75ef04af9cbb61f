//! Panics that a trap can reach: read from the image, because only the compiler knows which checks remain.
//!
//! A *site* is a call of a routine of Rust's own library that never returns: a failed bounds check, a division by zero,
//! an `unwrap`. It counts if the trap entries reach the function that holds it. A site belongs to the file that its
//! instruction comes from, or to the file that the library was inlined into.
//!
//! The table `panics.txt` says how many sites each place may have. The number must not rise, and a lower one is
//! written down, so that it never rises again.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result, bail};
use measure::building::repository::root;

mod calls;
mod sources;

use calls::Calls;
use sources::Sources;

/// The table, in the repository.
pub const TABLE: &str = "tests-qemu/panics.txt";

/// Where Rust's own libraries belong: sites in a function of theirs that stands by itself.
const LIBRARY: &str = "core";

/// A site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// The source file below the repository, or `crate NAME`, or `core`.
    pub place: String,
    /// Its line.
    pub line: u32,
    /// The innermost line of the repository, if the site is elsewhere.
    pub caller: Option<String>,
    /// The function of the image that holds it.
    pub function: String,
    /// The routine that is called.
    pub panic: String,
}

/// The sites that the traps of an image reach.
pub fn sites(image: &Path) -> Result<Vec<Site>> {
    let data = fs::read(image).with_context(|| format!("cannot read {}", image.display()))?;
    let elf = object::File::parse(&*data).context("the image is not an ELF file")?;
    let calls = Calls::read(&elf)?;
    let sources = Sources::read(&elf)?;
    let mut sites = Vec::new();
    for (function, address, panic) in calls.panics()? {
        let (place, line, caller) = sources.of(address);
        sites.push(Site {
            place,
            line,
            caller,
            function,
            panic,
        });
    }
    sites.sort();
    Ok(sites)
}

/// The numbers that the table allows, by place.
pub fn allowed() -> Result<BTreeMap<String, usize>> {
    let file = root().join(TABLE);
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (place, number) = line
                .rsplit_once(char::is_whitespace)
                .with_context(|| format!("{TABLE}: {line}: not a place and a number"))?;
            let number = number
                .parse()
                .with_context(|| format!("{TABLE}: {line}: not a number"))?;
            Ok((place.trim().to_owned(), number))
        })
        .collect()
}

/// The place of the table that this one belongs to: itself or the longest folder that holds it.
fn belongs<'t>(table: &'t BTreeMap<String, usize>, place: &str) -> Option<&'t str> {
    table
        .keys()
        .filter(|listed| {
            place
                .strip_prefix(listed.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
        .max_by_key(|listed| listed.len())
        .map(String::as_str)
}

/// The table with what was found, and what is wrong, which is empty if the numbers are those of the table.
pub fn compare(sites: &[Site], table: &BTreeMap<String, usize>) -> (String, String) {
    let mut found: BTreeMap<&str, Vec<&Site>> =
        table.keys().map(|place| (place.as_str(), vec![])).collect();
    for site in sites {
        let place = belongs(table, &site.place).unwrap_or(&site.place);
        found.entry(place).or_default().push(site);
    }
    let mut text = String::new();
    let mut wrong = String::new();
    for (place, sites) in &found {
        let limit = table.get(*place).copied().unwrap_or(0);
        let _ = writeln!(text, "{:>5} of {limit:>4}  {place}", sites.len());
        if sites.len() > limit {
            let _ = writeln!(
                wrong,
                "{place}: {} sites where {TABLE} allows {limit}:\n{}",
                sites.len(),
                list(sites.iter().copied())
            );
        } else if sites.len() < limit {
            let _ = writeln!(
                wrong,
                "{place}: {} sites; lower its number in {TABLE}, which is {limit}",
                sites.len()
            );
        }
    }
    let _ = writeln!(text, "{:>5}          all", sites.len());
    (text, wrong)
}

/// A line for each site.
pub fn list<'s>(sites: impl IntoIterator<Item = &'s Site>) -> String {
    let mut text = String::new();
    for site in sites {
        let Site {
            place,
            line,
            function,
            panic,
            ..
        } = site;
        let _ = write!(text, "  {place}:{line}: {panic} in {function}");
        let _ = match &site.caller {
            Some(caller) => writeln!(text, ", for {caller}"),
            None => writeln!(text),
        };
    }
    text
}

/// Refuses a table with a place that the repository does not have.
pub fn check_places(table: &BTreeMap<String, usize>) -> Result<()> {
    for place in table.keys() {
        let is_source = place != LIBRARY && !place.starts_with("crate ");
        if is_source && !root().join(place).exists() {
            bail!("{TABLE}: there is no {place}");
        }
    }
    Ok(())
}
