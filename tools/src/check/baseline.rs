//! The baseline: a file in the user's repository that says what a run took, and what it may take more.
//!
//! It is TOML. Names stand in alphabetical order, one a line, so a change of the program is a small change of the file. A
//! person may change the tolerances in it; everything else is written by `--update`, which keeps them.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::{
    EVERY,
    measured::{Measured, Share, State, Taken},
    tolerance::{self, Tolerance},
};
use crate::computer::{input_file, whole_file};

/// The form of the file.
const FORMAT: u32 = 1;

/// Symbols with fewer samples than this are left out: they come and go with every change.
pub const FEWEST: u64 = 30;

/// What the file begins with.
const HEAD: &str = "# What `cargo measure check` compares with. `--update` writes it anew, and keeps the tolerances.\n\
                    # Totals are exact. A symbol has its samples times their interval, and in how many pieces they came; or with\n\
                    # `counted` the instructions that were executed in it.\n";

/// How many more instructions are no regression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerances {
    /// Of the total in problem state, and of a counter.
    pub user: Option<Tolerance>,
    /// Of the total in supervisor state.
    pub kernel: Option<Tolerance>,
    /// Of a symbol.
    pub symbol: Option<Tolerance>,
    /// Of these symbols.
    #[serde(default)]
    pub symbols: BTreeMap<String, Tolerance>,
}

impl Tolerances {
    /// The tolerance of a total.
    pub fn of_total(&self, state: State) -> Tolerance {
        match state {
            State::User => self.user.unwrap_or(tolerance::USER),
            State::Kernel => self.kernel.unwrap_or(tolerance::KERNEL),
        }
    }

    /// By how much a total may grow that is so large in the baseline; `None` without limit.
    pub fn growth_of_total(&self, state: State, before: u64) -> Option<u64> {
        let growth = self.of_total(state).of(before);
        if state == State::Kernel && self.kernel.is_none() {
            return growth.map(|growth| growth.max(tolerance::TIMER_INTERRUPTION));
        }
        growth
    }

    /// By how many instructions a symbol may differ that is counted: one timer interruption more in the kernel, unless the
    /// person says what it may differ by.
    pub fn chance_of_counted(&self, state: State) -> u64 {
        match state {
            State::Kernel if self.kernel.is_none() => tolerance::TIMER_INTERRUPTION,
            State::Kernel | State::User => 0,
        }
    }

    /// The tolerance of this symbol.
    pub fn of_symbol(&self, state: State, name: &str) -> Tolerance {
        let named = self.symbols.get(name).copied();
        named
            .or(self.symbol)
            .unwrap_or_else(|| self.of_total(state))
    }
}

/// A baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// What was measured.
    pub measured: Measured,
    /// What is tolerated.
    pub tolerances: Tolerances,
}

/// The file as TOML has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    command: String,
    interval: Option<u64>,
    #[serde(default)]
    counted: bool,
    #[serde(default)]
    unmatched: u64,
    conditions: BTreeMap<String, String>,
    #[serde(default)]
    tolerance: Tolerances,
    instructions: Totals,
    #[serde(default)]
    counters: BTreeMap<String, u64>,
    #[serde(default)]
    user: BTreeMap<String, Share>,
    #[serde(default)]
    kernel: BTreeMap<String, Share>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Totals {
    user: u64,
    kernel: u64,
}

impl Baseline {
    /// Reads the file.
    pub fn read(file: &Path) -> Result<Self> {
        let text = match input_file::read_once(file).and_then(input_file::text) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
                "there is no baseline {}; write it with --update, and keep it beside the source",
                file.display()
            ),
            Err(error) => bail!("cannot read the baseline {}: {error}", file.display()),
        };
        Self::of(&text).with_context(|| {
            format!(
                "{} is not a baseline that this version reads; correct it, or remove it and write it anew with --update",
                file.display()
            )
        })
    }

    /// Reads the text of the file.
    pub fn of(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text).map_err(|error| anyhow::anyhow!("{error}"))?;
        ensure!(
            file.format == FORMAT,
            "it has the format {}, and {FORMAT} is known",
            file.format
        );
        let interval = match (file.interval, file.counted) {
            (Some(interval @ 1..), false) => interval,
            (None, true) => EVERY,
            _ => bail!("it has neither an interval of samples nor `counted = true`"),
        };
        let taken = |total, symbols| Taken { total, symbols };
        Ok(Self {
            measured: Measured {
                command: file.command,
                conditions: file.conditions,
                interval,
                unmatched: file.unmatched,
                user: taken(file.instructions.user, file.user),
                kernel: taken(file.instructions.kernel, file.kernel),
                counters: file.counters,
            },
            tolerances: file.tolerance,
        })
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let measured = &self.measured;
        let mut text = HEAD.to_owned();
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "format = {FORMAT}\ncommand = {}\n",
            quoted(&measured.command),
        );
        let _ = match measured.interval {
            EVERY => writeln!(text, "counted = true\nunmatched = {}", measured.unmatched),
            interval => writeln!(text, "interval = {interval}"),
        };
        text.push_str("\n[conditions]\n");
        for (name, value) in &measured.conditions {
            let _ = writeln!(text, "{} = {}", quoted(name), quoted(value));
        }
        text.push_str("\n[tolerance]\n");
        let tolerances = &self.tolerances;
        for (name, tolerance) in [
            ("user", tolerances.user),
            ("kernel", tolerances.kernel),
            ("symbol", tolerances.symbol),
        ] {
            if let Some(tolerance) = tolerance {
                let _ = writeln!(text, "{name} = \"{tolerance}\"");
            }
        }
        if !tolerances.symbols.is_empty() {
            text.push_str("\n[tolerance.symbols]\n");
            for (name, tolerance) in &tolerances.symbols {
                let _ = writeln!(text, "{} = \"{tolerance}\"", quoted(name));
            }
        }
        text.push_str("\n[instructions]\n");
        for state in State::ALL {
            let _ = writeln!(text, "{} = {}", state.name(), measured.taken(state).total);
        }
        if !measured.counters.is_empty() {
            text.push_str("\n[counters]\n");
        }
        for (name, value) in &measured.counters {
            let _ = writeln!(text, "{} = {value}", quoted(name));
        }
        let fewest = FEWEST.saturating_mul(measured.interval);
        for state in State::ALL {
            let _ = writeln!(text, "\n[{}]", state.name());
            for (name, share) in &measured.taken(state).symbols {
                let Share {
                    instructions,
                    pieces,
                } = share;
                let value = match measured.interval {
                    EVERY => instructions.to_string(),
                    _ if *instructions < fewest => continue,
                    _ => format!("[{instructions}, {pieces}]"),
                };
                let _ = writeln!(text, "{} = {value}", quoted(name));
            }
        }
        text
    }

    /// Writes the file. One that is there already stays as it is until the new one is complete.
    pub fn write(&self, file: &Path) -> Result<()> {
        whole_file::put(file, self.text()).with_context(|| {
            format!(
                "cannot write the baseline {}; an older one is unchanged. Make room there, or name another file",
                file.display()
            )
        })
    }

    /// Refuses a run that is not one of the baseline's kind, and says how to make it one.
    pub fn check_kind(&self, now: &Measured) -> Result<()> {
        let before = &self.measured;
        let mut differences = Vec::new();
        let mut differ = |what: &str, before: &str, now: &str, remedy: &str| {
            if before != now {
                let shown = |text: &str| match text {
                    "" => "nothing".to_owned(),
                    text => text.to_owned(),
                };
                differences.push(format!(
                    "its {what} is {}, and that of this run {}{remedy}",
                    shown(before),
                    shown(now)
                ));
            }
        };
        differ("command", &before.command, &now.command, "");
        let interval = |of: &Measured| match of.interval {
            EVERY => "that of exact counts".to_owned(),
            interval => interval.to_string(),
        };
        differ(
            "interval",
            &interval(before),
            &interval(now),
            " (--interval, --count)",
        );
        let names: std::collections::BTreeSet<_> = before
            .conditions
            .keys()
            .chain(now.conditions.keys())
            .collect();
        for name in names {
            let value = |measured: &Measured| {
                let value = measured.conditions.get(name);
                value.cloned().unwrap_or_default()
            };
            let remedy = match &name[..] {
                "kernel" => " (--kernel or --release)",
                "environment" => " (variables that are set, and --env)",
                "qemu" => " (--qemu, or MILLIMETER_QEMU)",
                "image" => " (another Millimeter, or another Rust built it)",
                _ => "",
            };
            differ(name, &value(before), &value(now), remedy);
        }
        ensure!(
            differences.is_empty(),
            "the baseline is not of this kind of run, so its numbers say nothing about it: {}. Run it as the baseline was run, or write the baseline anew with --update",
            differences.join("; ")
        );
        Ok(())
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            character if character.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;

    use super::*;

    pub(crate) fn measured(user: &[(&str, u64)], kernel: &[(&str, u64)]) -> Measured {
        let taken = |symbols: &[(&str, u64)]| Taken {
            total: symbols.iter().map(|(_, number)| number).sum(),
            symbols: symbols
                .iter()
                .map(|(name, number)| ((*name).to_owned(), [*number, 3].into()))
                .collect(),
        };
        Measured {
            command: "exec sum 1 2".to_owned(),
            conditions: [
                ("kernel", "Debian 6.1, 0123"),
                ("qemu", "7.2.22"),
                ("image", "4567"),
                ("options", "512M of storage"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            interval: 1000,
            unmatched: 0,
            user: taken(user),
            kernel: taken(kernel),
            counters: BTreeMap::new(),
        }
    }

    fn baseline() -> Baseline {
        let mut measured = measured(
            &[("sum::add \"it\"", 5_000_000), ("rare", 9_000)],
            &[("vfs_read", 70_000)],
        );
        measured.counters.insert("D-cache".to_owned(), 3);
        Baseline {
            measured,
            tolerances: Tolerances {
                user: Some(Tolerance::Share(100)),
                kernel: None,
                symbol: None,
                symbols: [("a\\b\u{7F}\n".to_owned(), Tolerance::Instructions(7))].into(),
            },
        }
    }

    #[test]
    fn the_file_is_read_back_without_the_rare_symbols() {
        let mut expected = baseline();
        let text = expected.text();
        assert_eq!(text, baseline().text());
        expected.measured.user.symbols.remove("rare");
        assert_eq!(Baseline::of(&text).unwrap(), expected, "{text}");
    }

    #[test]
    fn a_baseline_of_exact_counts_has_every_symbol_with_one_number() {
        let mut expected = baseline();
        expected.measured.interval = EVERY;
        expected.measured.unmatched = 7;
        for state in State::ALL {
            let symbols = &mut expected.measured.taken_mut(state).symbols;
            symbols.values_mut().for_each(|share| share.pieces = 0);
        }
        let text = expected.text();
        assert!(text.contains("counted = true\nunmatched = 7\n"), "{text}");
        assert!(text.contains("\n\"rare\" = 9000\n"), "{text}");
        assert_eq!(Baseline::of(&text).unwrap(), expected, "{text}");
        for wrong in ["", "interval = 0", "interval = 3\ncounted = true"] {
            let wrong = text.replace("counted = true", wrong);
            let refusal = Baseline::of(&wrong).unwrap_err().to_string();
            assert!(refusal.contains("neither an interval"), "{refusal}");
        }
        let refusal = baseline().check_kind(&expected.measured).unwrap_err();
        let words =
            "its interval is 1000, and that of this run that of exact counts (--interval, --count)";
        assert!(refusal.to_string().contains(words), "{refusal}");
    }

    #[test]
    fn the_tolerance_of_a_symbol_is_its_own_or_that_of_all_or_of_the_total() {
        let mut tolerances = baseline().tolerances;
        let share = Tolerance::Share;
        let user = |tolerances: &Tolerances, name: &str| tolerances.of_symbol(State::User, name);
        assert_eq!(
            user(&tolerances, "a\\b\u{7F}\n"),
            Tolerance::Instructions(7)
        );
        assert_eq!(user(&tolerances, "b"), share(100));
        assert_eq!(tolerances.of_symbol(State::Kernel, "b"), tolerance::KERNEL);
        tolerances.symbol = Some(share(5));
        assert_eq!(user(&tolerances, "b"), share(5));
        assert_eq!(tolerances.of_total(State::User), share(100));
        assert_eq!(user(&Tolerances::default(), "b"), tolerance::USER);
    }

    #[test]
    fn a_short_program_may_have_one_timer_interruption_more_in_the_kernel_unless_the_file_says_otherwise()
     {
        let mut tolerances = Tolerances::default();
        let more = tolerance::TIMER_INTERRUPTION;
        let kernel = |of: &Tolerances, before| of.growth_of_total(State::Kernel, before);
        assert_eq!(kernel(&tolerances, 40_864), Some(more));
        assert_eq!(kernel(&tolerances, 200 * more), Some(2 * more));
        assert_eq!(tolerances.growth_of_total(State::User, 40_864), Some(40));
        tolerances.kernel = Some(Tolerance::Instructions(0));
        assert_eq!(kernel(&tolerances, 40_864), Some(0));
    }

    #[test]
    fn a_baseline_of_another_kind_is_refused_with_what_differs_and_the_remedy() {
        let baseline = baseline();
        let refusal = |change: &dyn Fn(&mut Measured)| {
            let mut now = baseline.measured.clone();
            change(&mut now);
            baseline
                .check_kind(&now)
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(refusal(&|_| ()), None);
        let kernel = refusal(&|now| {
            now.conditions
                .insert("kernel".to_owned(), "ffff".to_owned());
        });
        let kernel = kernel.unwrap();
        assert!(
            kernel.contains(
                "its kernel is Debian 6.1, 0123, and that of this run ffff (--kernel or --release)"
            ) && kernel.contains("--update"),
            "{kernel}"
        );
        let append = refusal(&|now| {
            now.conditions
                .insert("append".to_owned(), "nosmp".to_owned());
        });
        assert!(
            append
                .unwrap()
                .contains("its append is nothing, and that of this run nosmp")
        );
        for (change, word) in [
            (
                &(|now: &mut Measured| now.interval = 7) as &dyn Fn(&mut Measured),
                "--interval",
            ),
            (&|now| now.command = "exec other".to_owned(), "exec other"),
            (
                &|now| {
                    now.conditions.insert("qemu".to_owned(), "10".to_owned());
                },
                "--qemu",
            ),
            (
                &|now| {
                    now.conditions.remove("image");
                },
                "its image is 4567",
            ),
        ] {
            let text = refusal(change).unwrap();
            assert!(text.contains(word), "{word}: {text}");
        }
    }

    #[test]
    fn a_damaged_file_is_refused_with_its_place() {
        let good = baseline().text();
        for (from, to, says) in [
            ("format = 1", "format = 2", "the format 2"),
            ("interval = 1000", "interval = 0", "interval"),
            ("user = 5009000", "user = -1", "line"),
            ("[instructions]", "[instruction]", "instruction"),
            ("\"0.01%\"", "\"0.01\"", "0.5% or 1000i"),
            ("command =", "command", "line"),
        ] {
            let text = good.replacen(from, to, 1);
            assert_ne!(text, good, "{from}");
            let error = format!("{:#}", Baseline::of(&text).unwrap_err());
            assert!(error.contains(says), "{says}: {error}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_the_older_one() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("baseline.toml");
        let missing = Baseline::read(&file).unwrap_err().to_string();
        assert!(missing.contains("--update"), "{missing}");
        baseline().write(&file).unwrap();
        let written = fs::read_to_string(&file).unwrap();
        assert_eq!(written, baseline().text());
        let into_nothing = baseline().write(&directory.path().join("gone/baseline.toml"));
        assert!(into_nothing.unwrap_err().to_string().contains("Make room"));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
