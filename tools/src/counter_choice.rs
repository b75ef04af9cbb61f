//! Which counter sets the machine's own measurement counts.

use std::str::FromStr;

use anyhow::{Result, bail};
use millimeter::link::{loader::sets, state::Mode};

use crate::options::RunOptions;

/// The words of `--counters`, those of the operator's AUTH, and the sets that they name.
const WORDS: [(&str, u32); 6] = [
    ("basic", sets::BASIC),
    ("problem", sets::PROBLEM_STATE),
    ("crypto", sets::CRYPTO),
    ("extended", sets::EXTENDED),
    ("mt", sets::MT_DIAGNOSTIC),
    ("group", sets::COPROCESSOR_GROUPS),
];

/// Counter sets that a run names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterChoice(pub u32);

impl FromStr for CounterChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(0));
        }
        text.split(',').try_fold(Self(0), |chosen, word| {
            let found = WORDS.iter().find(|(known, _)| *known == word);
            match found {
                Some((_, set)) => Ok(Self(chosen.0 | set)),
                None => Err(format!(
                    "{word} is no counter set; write none, or some of {} with commas between them",
                    WORDS.map(|(word, _)| word).join(", ")
                )),
            }
        })
    }
}

/// The sets that a run counts: those that it names, else all that have a source and cost nothing.
/// Cryptographic functions cost nothing where the machine performs them anyway.
pub fn of(options: &RunOptions) -> u32 {
    let optional = |set, is_there| if is_there { set } else { 0 };
    match (options.mode, options.counters) {
        (Mode::RealTime, _) => 0,
        (_, Some(CounterChoice(named))) => named,
        (_, None) => {
            let functions = sets::CRYPTO | sets::COPROCESSOR_GROUPS;
            sets::BASIC
                | sets::PROBLEM_STATE
                | sets::EXTENDED
                | optional(functions, options.cryptography)
                | optional(sets::MT_DIAGNOSTIC, options.configuration.threads > 1)
        }
    }
}

/// Whether the sets that a run names have a source in it.
pub fn check(options: &RunOptions) -> Result<()> {
    let Some(CounterChoice(named)) = options.counters else {
        return Ok(());
    };
    if options.mode == Mode::RealTime && named != 0 {
        bail!(
            "--real-time counts nothing, because instructions cannot be told from time; leave --real-time or --counters out"
        );
    }
    if named & sets::MT_DIAGNOSTIC != 0 && options.configuration.threads < 2 {
        bail!("--counters mt counts the threads of a core; add --threads 2");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str) -> u32 {
        text.parse::<CounterChoice>().unwrap().0
    }

    #[test]
    fn sets_are_named_by_the_operators_words() {
        assert_eq!(chosen("basic"), 2);
        assert_eq!(
            chosen("basic,problem,crypto,extended,mt,group"),
            sets::ALL,
            "every set has a word"
        );
        assert_eq!(chosen("none"), 0);
        for wrong in ["", "basic,", "cache", "basic problem"] {
            let refusal = wrong.parse::<CounterChoice>().unwrap_err();
            assert!(
                refusal.contains("basic, problem, crypto, extended, mt, group"),
                "{refusal}"
            );
        }
    }

    #[test]
    fn what_costs_nothing_is_counted_unless_the_run_chooses() {
        let mut options = RunOptions::default();
        assert_eq!(of(&options), 0x7);
        options.cryptography = true;
        assert_eq!(of(&options), 0x800F);
        options.configuration.threads = 2;
        assert_eq!(of(&options), 0x802F);
        options.counters = Some(CounterChoice(sets::BASIC));
        assert_eq!(of(&options), sets::BASIC);
        options.mode = Mode::RealTime;
        assert_eq!(of(&options), 0);
    }

    #[test]
    fn a_set_without_a_source_is_refused_with_what_helps() {
        let mut options = RunOptions {
            counters: Some(CounterChoice(sets::MT_DIAGNOSTIC)),
            ..RunOptions::default()
        };
        let refusal = |options: &RunOptions| check(options).unwrap_err().to_string();
        assert!(refusal(&options).contains("add --threads 2"));
        options.configuration.threads = 2;
        assert!(check(&options).is_ok());
        options.mode = Mode::RealTime;
        assert!(refusal(&options).contains("leave --real-time"));
        options.counters = Some(CounterChoice(0));
        assert!(check(&options).is_ok());
    }
}
