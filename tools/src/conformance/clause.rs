//! The `.clause` section of a guest: what it checks and what it needs. The section `.shows` adds the statements that its
//! assertions name.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, bail};
use clap::Parser;
use object::{Object, ObjectSection};

use crate::{args::RunArguments, folder::record::End, options::RunOptions};

/// How a guest is meant to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeantEnd {
    /// Disabled wait at FFF.
    Success,
    /// Disabled wait at another address.
    Failure,
}

impl MeantEnd {
    /// Whether a run ended in this way.
    pub fn is_met(self, end: &End) -> bool {
        match (end, self) {
            (End::Guest(end), Self::Success) => end.is_success(),
            (End::Guest(end), Self::Failure) => !end.is_success(),
            _ => false,
        }
    }
}

/// What a guest declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Where it was declared.
    pub module: String,
    /// Document and place.
    pub text: String,
    /// The statements that assertions of the guest name.
    pub statements: BTreeSet<String>,
    /// Whether it also runs without the machine, with the same output.
    pub native: bool,
    /// CPUs that it needs.
    pub cpus: u32,
    /// How it ends.
    pub end: MeantEnd,
    /// The options of each run that it needs, as on a command line.
    pub options: Vec<String>,
    /// What the operator says when every CPU waits, one of these each time.
    pub when_waiting: Vec<String>,
}

/// One run of a guest, as its clause declares it.
#[derive(Clone, Debug)]
pub struct ClauseRun {
    /// The guest's name, with the options of this run if it has any.
    pub name: String,
    /// The options of the run.
    pub options: RunOptions,
}

/// The options of one run, parsed like those of the command.
#[derive(Debug, Parser)]
#[command(name = "clause")]
struct Line {
    #[command(flatten)]
    run: RunArguments,
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
        let mut clause = Self::parse(std::str::from_utf8(data)?.trim_end_matches('\0'))?;
        if let Some(section) = elf.section_by_name(".shows") {
            clause.name(std::str::from_utf8(section.data()?)?);
        }
        Ok(clause)
    }

    /// Takes the statements of its own module from the section of all modules.
    fn name(&mut self, shows: &str) {
        let own = format!("{}::", self.module);
        for line in shows.split('\0').filter(|line| line.starts_with(&own)) {
            let statements = line.split(' ').skip(1);
            self.statements.extend(statements.map(str::to_owned));
        }
    }

    fn parse(text: &str) -> Result<Self> {
        let mut clause = Self {
            module: String::new(),
            text: String::new(),
            statements: BTreeSet::new(),
            native: false,
            cpus: 1,
            end: MeantEnd::Success,
            options: vec![String::new()],
            when_waiting: Vec::new(),
        };
        let parts = |text: &str| text.split(';').map(|part| part.trim().to_owned()).collect();
        for line in text.lines() {
            let (key, value) = line
                .split_once('=')
                .with_context(|| format!("{line} is not key=value"))?;
            match key {
                "module" => clause.module = value.to_owned(),
                "clause" => clause.text = value.to_owned(),
                "native" => clause.native = value.parse()?,
                "cpus" => clause.cpus = value.parse()?,
                "end" if value == "success" => clause.end = MeantEnd::Success,
                "end" if value == "failure" => clause.end = MeantEnd::Failure,
                "options" => clause.options = parts(value),
                "when_waiting" => clause.when_waiting = parts(value),
                _ => bail!("{line} has an unknown key or value"),
            }
        }
        if clause.text.is_empty() {
            bail!("no document is named");
        }
        Ok(clause)
    }

    /// The runs of this guest: one, unless the options name several.
    pub fn runs(&self, guest: &str) -> Result<Vec<ClauseRun>> {
        self.options
            .iter()
            .map(|line| self.run(guest, line))
            .collect()
    }

    fn run(&self, guest: &str, line: &str) -> Result<ClauseRun> {
        let words = ["clause", guest];
        let arguments = Line::try_parse_from(words.into_iter().chain(words_of(line)))
            .map_err(|error| anyhow::anyhow!("{guest}: the options {line}: {error}"))?;
        let mut options = arguments.run.options();
        options
            .when_waiting
            .extend(self.when_waiting.iter().cloned());
        let name = if line.is_empty() {
            guest.to_owned()
        } else {
            format!("{guest} {line}")
        };
        Ok(ClauseRun { name, options })
    }
}

/// The words of a line. Text between apostrophes is one word.
fn words_of(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        if number % 2 == 1 {
            words.push(part);
        } else {
            words.extend(part.split_whitespace());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbers::quantities::Sampling;

    #[test]
    fn a_guest_that_declares_no_options_runs_once_on_one_cpu() {
        let clause = Clause::parse("clause=Here\nnative=true\n").unwrap();
        assert!(clause.native);
        let runs = clause.runs("b_x").unwrap();
        assert_eq!((runs.len(), &runs[0].name[..]), (1, "b_x"));
        assert_eq!(runs[0].options.guest, "b_x");
    }

    #[test]
    fn a_guest_names_the_options_of_each_run_and_what_the_operator_says() {
        let text = "clause=Here\nnative=false\noptions=--no-sampling; --interval 5000\n\
                    when_waiting=help;registers 0\n";
        let runs = Clause::parse(text).unwrap().runs("b_x").unwrap();
        assert_eq!(runs[0].name, "b_x --no-sampling");
        assert_eq!(runs[0].options.sampling, Sampling::Off);
        assert_eq!(runs[1].options.sampling, Sampling::Every(5000));
        assert!(runs.iter().all(|run| run.options.when_waiting.len() == 2));
    }

    #[test]
    fn a_guest_names_the_statements_of_its_own_module() {
        let mut clause = Clause::parse("module=behaviour::b_x\nclause=Here\n").unwrap();
        clause.name("behaviour::b_x::named A-1 B-12\0behaviour::b_xy::named A-2\0behaviour::b_x::part::named A-3\0");
        assert!(clause.statements.iter().eq(["A-1", "A-3", "B-12"]));
    }

    #[test]
    fn text_between_apostrophes_is_one_word() {
        assert_eq!(words_of("--a 'b c'  --d 'e'"), ["--a", "b c", "--d", "e"]);
        assert!(words_of("").is_empty());
    }

    #[test]
    fn an_unknown_line_is_refused() {
        assert!(Clause::parse("native=true\n").is_err());
        assert!(Clause::parse("clause=Here\nmoon=full\n").is_err());
        let clause = Clause::parse("clause=Here\noptions=--moon\n").unwrap();
        assert!(
            clause
                .runs("b_x")
                .unwrap_err()
                .to_string()
                .contains("--moon")
        );
    }
}
