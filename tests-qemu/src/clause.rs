//! The `.clause` section of a guest: what it checks and what it needs.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use object::{Object, ObjectSection};

/// How a guest is meant to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeantEnd {
    /// Disabled wait at FFF.
    Success,
    /// Disabled wait at another address.
    Failure,
}

/// What a guest declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Document and place.
    pub text: String,
    /// Whether it also runs without the machine, and prints the same there.
    pub native: bool,
    /// CPUs that it needs.
    pub cpus: u32,
    /// How it ends.
    pub end: MeantEnd,
}

impl Clause {
    /// Reads the declaration of a guest's ELF file.
    pub fn read(file: &Path) -> Result<Self> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let elf = object::File::parse(&*bytes)?;
        let section = elf.section_by_name(".clause");
        let section = section.with_context(|| {
            format!(
                "{} declares no clause; begin it with guests::clause!",
                file.display()
            )
        })?;
        let data = section.data()?;
        Self::parse(std::str::from_utf8(data)?.trim_end_matches('\0'))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut clause = Self {
            text: String::new(),
            native: false,
            cpus: 1,
            end: MeantEnd::Success,
        };
        for line in text.lines() {
            let (key, value) = line
                .split_once('=')
                .with_context(|| format!("{line} is no key=value"))?;
            match key {
                "clause" => clause.text = value.to_owned(),
                "native" => clause.native = value.parse()?,
                "cpus" => clause.cpus = value.parse()?,
                "end" if value == "success" => clause.end = MeantEnd::Success,
                "end" if value == "failure" => clause.end = MeantEnd::Failure,
                _ => bail!("{line} is not known"),
            }
        }
        if clause.text.is_empty() {
            bail!("no document is named");
        }
        Ok(clause)
    }
}
