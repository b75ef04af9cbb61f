//! The options of `report` for figures.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::{
    figures::{
        generation::Generation,
        group::Grouping,
        nest::{self, Given, Weights},
        read::Manner,
    },
    nearest,
};

/// Which figures, and in what form.
#[derive(Clone, Debug, Args)]
pub struct FiguresArguments {
    /// Show the figures that analysts read (CPI, L1MP, RNI and others) instead of the report. A file has no other report
    #[arg(long, conflicts_with_all = ["html", "zos"])]
    pub figures: bool,
    /// A row of figures for each of these [default: system,type]
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',', conflicts_with_all = ["html", "zos"])]
    pub by: Vec<By>,
    /// The model whose counters a machine has that is not known: z10 to z17
    #[arg(long, value_name = "MODEL", value_parser = generation)]
    pub model: Option<Generation>,
    /// The weights of RNI, from IBM's CPU MF formulas: MODEL=FACTOR,L3P,L4LP,L4RP,MEMP (z10=FACTOR,L2LP,L2RP,MEMP).
    /// Again for another model
    #[arg(long, value_name = "WEIGHTS", value_parser = nest::parse)]
    pub rni_weights: Vec<(Generation, Weights)>,
    /// Write the figures as comma-separated values to this file as well; - is standard output, without the text
    #[arg(long, value_name = "FILE", conflicts_with_all = ["html", "zos"])]
    pub csv: Option<PathBuf>,
    /// Write the figures as a table of Apache Parquet to this file as well
    #[arg(long, value_name = "FILE", conflicts_with_all = ["html", "zos"])]
    pub parquet: Option<PathBuf>,
}

/// What groups are by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The system that wrote the records
    System,
    /// The interval that they are about
    Interval,
    /// CP, zIIP and the like
    Type,
    /// The CPU address
    Cpu,
}

impl FiguresArguments {
    /// Whether a person wants figures of this path.
    pub fn are_wanted(&self, path: &Path) -> bool {
        let is_form = self.csv.is_some() || self.parquet.is_some();
        self.figures || !self.by.is_empty() || is_form || path.is_file()
    }

    /// How to read.
    pub fn manner(&self) -> Manner {
        let has = |by: By| match &self.by[..] {
            [] => matches!(by, By::System | By::Type),
            all => all.contains(&by),
        };
        Manner {
            by: Grouping {
                system: has(By::System),
                interval: has(By::Interval),
                class: has(By::Type),
                cpu: has(By::Cpu),
            },
            model: self.model,
        }
    }

    /// The weights that the person gave.
    pub fn given(&self) -> Given {
        let mut given = Given::default();
        for (generation, weights) in &self.rni_weights {
            given.add(*generation, *weights);
        }
        given
    }
}

fn generation(text: &str) -> Result<Generation, String> {
    Generation::of_name(text).ok_or_else(|| {
        let names = Generation::ALL.map(Generation::name);
        format!("{text} is not a model{}", nearest::remedy(text, &names))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Arguments, Command};
    use clap::Parser;

    fn report(line: &str) -> Result<FiguresArguments, String> {
        let words = ["measure", "report"]
            .into_iter()
            .chain(line.split_whitespace());
        let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
        match arguments.command {
            Some(Command::Report { figures, .. }) => Ok(figures),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn groups_are_by_system_and_type_unless_something_else_is_said() {
        let by = |line: &str| report(line).unwrap().manner().by;
        let default = by("dump.smf");
        assert!(default.system && default.class && !default.interval && !default.cpu);
        let chosen = by("dump.smf --by interval,cpu");
        assert!(chosen.interval && chosen.cpu && !chosen.system && !chosen.class);
        assert!(
            report("dump.smf --by week")
                .unwrap_err()
                .contains("interval")
        );
    }

    #[test]
    fn a_directory_has_figures_only_if_a_person_wants_them() {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        let wanted = |line: &str| report(line).unwrap().are_wanted(directory);
        assert!(!wanted("x"));
        for option in ["--figures", "--by cpu", "--csv -", "--parquet f"] {
            assert!(wanted(&format!("x {option}")), "{option}");
        }
        let file = directory.join("dump.smf");
        std::fs::write(&file, "").unwrap();
        assert!(report("x").unwrap().are_wanted(&file));
        assert!(report("x --figures --html page.html").is_err());
    }

    #[test]
    fn models_and_weights_are_named_or_refused() {
        let arguments =
            report("x --model z17 --rni-weights z16=1,2,3,4,5 --rni-weights z10=1,2,3,4");
        let arguments = arguments.unwrap();
        assert_eq!(arguments.manner().model, Some(Generation::Z17));
        let given = arguments.given();
        let (weights, _) = given.weights(Generation::Z16).unwrap();
        assert_eq!(weights.shares, [2.0, 3.0, 4.0, 5.0]);
        assert!(given.weights(Generation::Z10).is_some());
        assert!(report("x --model z9").unwrap_err().contains("z10, z196"));
        assert!(
            report("x --rni-weights z16=1")
                .unwrap_err()
                .contains("FACTOR")
        );
    }
}
