//! The bundled guests: what each of them is, by kind.
//!
//! The first sentence of a guest's source says what it is. `tests-qemu/guests/Cargo.toml` says which kind it is of; the
//! behaviour guests have the kind of the manual that they check.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{
    build::{bundled_guests, guest_source},
    installed,
    repository::root,
};

/// The name under which a command of a release carries the list.
pub(super) const KEPT: &str = "guests";

/// Characters of a line about a guest.
const LONGEST: usize = 100;

/// The package of the guests, with its kinds.
const PACKAGE: &str = "tests-qemu/guests/Cargo.toml";

/// The kinds of behaviour guests.
const OF_FACILITIES: &str = "Behaviour of the two facilities (SA23-2260)";
const OF_THE_CPU: &str = "Behaviour of the virtual CPU (Principles of Operation and others)";

/// A bundled guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundled {
    /// Its name.
    pub name: String,
    /// What it is.
    pub line: String,
}

/// Guests of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// What they have in common.
    pub title: String,
    /// The guests.
    pub guests: Vec<Bundled>,
}

#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    kinds: toml::Table,
}

/// All bundled guests, by kind.
pub fn kinds() -> Result<Vec<Kind>> {
    let file = root().join(PACKAGE);
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let manifest: Manifest =
        toml::from_str(&text).with_context(|| format!("cannot understand {}", file.display()))?;
    let declared = manifest.package.metadata.kinds;
    let titles = declared.keys().map(String::as_str);
    let mut titles: Vec<&str> = titles.collect();
    titles.extend([OF_FACILITIES, OF_THE_CPU]);
    let mut guests: BTreeMap<&str, Vec<Bundled>> = BTreeMap::new();
    for name in bundled_guests() {
        let source = source(&name)?;
        let is_of = |names: &toml::Value| {
            let mut names = names.as_array().into_iter().flatten();
            names.any(|known| known.as_str() == Some(&name))
        };
        let declared = declared.iter().find(|(_, names)| is_of(names));
        let title = match declared {
            Some((title, _)) => title,
            None if checks_facilities(&source) => OF_FACILITIES,
            None => OF_THE_CPU,
        };
        let line = first_sentence(&source);
        guests
            .entry(title)
            .or_default()
            .push(Bundled { name, line });
    }
    let kinds = titles.into_iter().filter_map(|title| {
        let guests = guests.remove(title)?;
        let title = title.to_owned();
        Some(Kind { title, guests })
    });
    Ok(kinds.collect())
}

/// The list for a person: as the sources have it, or as a command of a release carries it.
pub fn list() -> Result<String> {
    let lines = installed::products().and_then(|kept| kept.names(KEPT));
    match lines {
        Some(lines) => Ok(lines.join("\n").replace("cargo measure", "measure") + "\n"),
        None => Ok(text(&kinds()?)),
    }
}

/// The guests in lines, under their kinds.
pub fn text(kinds: &[Kind]) -> String {
    let mut text = String::new();
    for kind in kinds {
        let widest = kind.guests.iter().map(|guest| guest.name.len()).max();
        let width = widest.unwrap_or(0);
        let _ = writeln!(text, "{}", kind.title);
        for Bundled { name, line } in &kind.guests {
            let _ = writeln!(text, "  {name:width$}  {line}");
        }
        text.push('\n');
    }
    text.push_str("`cargo measure run NAME` builds and runs one.\n");
    text
}

fn source(name: &str) -> Result<String> {
    let file = guest_source(name);
    fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
}

/// Whether a behaviour guest names SA23-2260 first.
fn checks_facilities(source: &str) -> bool {
    let clause = source.split("clause!(").nth(1).unwrap_or_default();
    let named = clause.trim_start().trim_start_matches('"');
    named.starts_with("SA23-2260")
}

/// The first sentence of a source's documentation, without its full stop. A long one is cut between two words.
fn first_sentence(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let paragraph: Vec<&str> = lines
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let paragraph = paragraph.join(" ");
    let sentence = paragraph.split(". ").next().unwrap_or_default();
    shortened(sentence.trim_end_matches('.'), LONGEST)
}

/// The text, or as many of its words as fit.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short = String::new();
    for word in text.split(' ') {
        if short.chars().count() + word.chars().count() + 2 > most {
            break;
        }
        short.push_str(word);
        short.push(' ');
    }
    short + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_guest_has_a_kind_and_a_line() {
        let kinds = kinds().unwrap();
        let listed = kinds.iter().flat_map(|kind| &kind.guests);
        let mut names: Vec<&str> = listed.clone().map(|guest| &guest.name[..]).collect();
        names.sort_unstable();
        assert_eq!(names, bundled_guests());
        for guest in listed {
            let length = guest.line.chars().count();
            assert!((1..=LONGEST).contains(&length), "{}", guest.name);
        }
        for kind in &kinds {
            let is_of_behaviour = kind.title.starts_with("Behaviour");
            for guest in &kind.guests {
                let name = &guest.name;
                assert_eq!(name.starts_with("b_"), is_of_behaviour, "{name}");
            }
        }
        assert!(kinds.len() >= 5, "{kinds:?}");
    }

    #[test]
    fn a_kind_names_only_guests_that_are_there() {
        let text = fs::read_to_string(root().join(PACKAGE)).unwrap();
        let manifest: Manifest = toml::from_str(&text).unwrap();
        for (title, names) in manifest.package.metadata.kinds {
            for name in names.as_array().unwrap() {
                let name = name.as_str().unwrap();
                assert!(guest_source(name).is_file(), "{title}: {name}");
            }
        }
    }

    #[test]
    fn the_list_has_the_kinds_first_and_a_line_for_each_guest() {
        let guest = |name: &str, line: &str| Bundled {
            name: name.to_owned(),
            line: line.to_owned(),
        };
        let kind = Kind {
            title: "Work".to_owned(),
            guests: vec![guest("hash", "Hashing"), guest("compress", "Packing")],
        };
        let list = text(&[kind]);
        assert!(list.starts_with("Work\n  hash      Hashing\n  compress  Packing\n\n"));
        assert!(list.contains("cargo measure run NAME"));
    }

    #[test]
    fn a_line_is_the_first_sentence_and_ends_between_two_words() {
        let source = "//! One thing\n//! and another. More.\n//!\n//! Other.\nfn run() {}\n";
        assert_eq!(first_sentence(source), "One thing and another");
        assert_eq!(shortened("one two three", 9), "one two …");
        assert_eq!(shortened("one two", 7), "one two");
    }
}
