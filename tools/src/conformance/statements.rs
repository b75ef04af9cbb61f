//! The statements of the books, from `tests-qemu/conformance`.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// One normative statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// `TOPIC-n`.
    pub id: String,
    /// The book that makes it, as clauses cite it.
    pub book: String,
    /// Its place in the book.
    pub section: String,
    /// What it says, in one line.
    pub text: String,
    /// Why it does not apply to this machine, if it does not.
    pub not_applicable: Option<String>,
}

/// All statements, in the order of the books.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    list: Vec<Statement>,
    places: HashMap<String, usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    book: String,
    section: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    place: String,
    statements: toml::Table,
    #[serde(default)]
    not_applicable: toml::Table,
}

impl Statements {
    /// Reads all files of a directory, in the order of their names, in which a number counts as a number.
    pub fn read(directory: &Path) -> Result<Self> {
        let entries = fs::read_dir(directory)
            .with_context(|| format!("cannot read {}", directory.display()))?;
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                files.push(path);
            }
        }
        files.sort_by_cached_key(|file| parts(&file.to_string_lossy()));
        let mut statements = Self::default();
        for file in files {
            let text = fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            statements
                .add(&text)
                .with_context(|| format!("in {}", file.display()))?;
        }
        if statements.list.is_empty() {
            bail!("{} holds no statements", directory.display());
        }
        Ok(statements)
    }

    /// Adds the statements of one file.
    pub fn add(&mut self, text: &str) -> Result<()> {
        let file: File = toml::from_str(text)?;
        for section in file.section {
            let mut reasons = section.not_applicable;
            for (id, text) in section.statements {
                if !is_identifier(&id) {
                    bail!("{id} is not an identifier; write it as TOPIC-1");
                }
                let statement = Statement {
                    book: file.book.clone(),
                    section: section.place.clone(),
                    text: line(&id, text)?,
                    not_applicable: reasons
                        .remove(&id)
                        .map(|reason| line(&id, reason))
                        .transpose()?,
                    id,
                };
                let place = self.list.len();
                if self.places.insert(statement.id.clone(), place).is_some() {
                    bail!("{} is there twice", statement.id);
                }
                self.list.push(statement);
            }
            if let Some((id, _)) = reasons.iter().next() {
                bail!(
                    "{id} does not apply, but is not a statement of {}",
                    section.place
                );
            }
        }
        Ok(())
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Statement> {
        self.list.iter()
    }

    /// Whether a clause cites one of the books.
    pub fn are_cited_by(&self, clause: &str) -> bool {
        self.list
            .iter()
            .any(|statement| clause.contains(&statement.book))
    }

    /// Whether there is a statement of this identifier.
    pub fn contains(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }
}

/// The parts of a name by which names are in order: a text, and the number behind it. So chapter 7 comes before chapter
/// 10.
fn parts(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let is_digit = |c: char| c.is_ascii_digit();
        let (text, behind) = rest.split_at(rest.find(is_digit).unwrap_or(rest.len()));
        let end = behind.find(|c| !is_digit(c)).unwrap_or(behind.len());
        let (digits, behind) = behind.split_at(end);
        // A name without a number at its end, or with one that is too large, comes last.
        parts.push((text.to_owned(), digits.parse().unwrap_or(u64::MAX)));
        rest = behind;
    }
    parts
}

fn line(id: &str, value: toml::Value) -> Result<String> {
    match value {
        toml::Value::String(text) if !text.trim().is_empty() && !text.contains('\n') => Ok(text),
        _ => bail!("{id} is not one line of text"),
    }
}

/// `TOPIC-n`: capital letters and digits, a hyphen, a number without a leading zero.
pub fn is_identifier(text: &str) -> bool {
    let Some((topic, number)) = text.split_once('-') else {
        return false;
    };
    topic.starts_with(|c: char| c.is_ascii_uppercase())
        && topic
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
        && !number.starts_with('0')
        && !number.is_empty()
        && number.chars().all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::directory;

    const FILE: &str = "
book = 'GA1-1'
[[section]]
place = 'Here'
[section.statements]
LPP-2 = 'second'
LPP-10 = 'tenth'
LPP-1 = 'first'
[section.not_applicable]
LPP-10 = 'a reason'
";

    fn refusal(text: &str) -> String {
        let error = Statements::default().add(text).unwrap_err();
        format!("{error:#}")
    }

    #[test]
    fn statements_stay_in_the_order_of_the_file() {
        let mut statements = Statements::default();
        statements.add(FILE).unwrap();
        let ids: Vec<&str> = statements.iter().map(|s| &s.id[..]).collect();
        assert_eq!(ids, ["LPP-2", "LPP-10", "LPP-1"]);
        let tenth = statements.iter().nth(1).unwrap();
        assert_eq!((&tenth.section[..], &tenth.text[..]), ("Here", "tenth"));
        assert_eq!(tenth.not_applicable.as_deref(), Some("a reason"));
        assert!(statements.contains("LPP-1") && !statements.contains("LPP-3"));
        assert_eq!(tenth.book, "GA1-1");
        assert!(statements.are_cited_by("GA1-1, Here; GA1-2, There"));
        assert!(!statements.are_cited_by("GA1-2, There"));
    }

    #[test]
    fn an_identifier_is_unique_and_well_formed() {
        let mut statements = Statements::default();
        statements.add(FILE).unwrap();
        assert!(statements.add(FILE).is_err());
        assert!(refusal(&FILE.replace("LPP-2", "lpp-2")).contains("TOPIC-1"));
        for wrong in ["LPP", "LPP-", "LPP-01", "-1", "LPP-1A", "LPP_1", "1-1"] {
            assert!(!is_identifier(wrong), "{wrong}");
        }
        assert!(is_identifier("CR0-12"));
    }

    #[test]
    fn a_reason_belongs_to_a_statement_and_every_text_is_a_line() {
        let other = FILE.replace("LPP-10 = 'a", "LPP-11 = 'a");
        assert!(refusal(&other).contains("LPP-11"));
        assert!(refusal(&FILE.replace("'a reason'", "''")).contains("LPP-10"));
        assert!(refusal(&FILE.replace("'first'", "7")).contains("LPP-1"));
        assert!(refusal(&FILE.replace("place", "plaice")).contains("plaice"));
        assert!(refusal(&FILE.replace("book", "boot")).contains("boot"));
    }

    #[test]
    fn chapter_7_comes_before_chapter_10_and_both_behind_what_begins_with_a_number() {
        let mut names = [
            "principles-10-b.toml",
            "program.toml",
            "principles-7-a.toml",
            "9-z.toml",
            "principles-10-a.toml",
        ];
        names.sort_by_cached_key(|name| parts(name));
        assert_eq!(
            names,
            [
                "9-z.toml",
                "principles-7-a.toml",
                "principles-10-a.toml",
                "principles-10-b.toml",
                "program.toml"
            ]
        );
    }

    #[test]
    fn the_table_of_the_repository_can_be_read_and_few_statements_do_not_apply() {
        let statements = Statements::read(&directory()).unwrap();
        let out = statements.iter().filter(|s| s.not_applicable.is_some());
        let all = statements.iter().count();
        assert!(all > 750);
        // Those of modes and facilities that are not offered, and of what cannot happen below the machine.
        assert!(out.count() * 20 <= all);
    }
}
