//! Which counter sets the machine's own measurement counts.

use std::str::FromStr;

use anyhow::{Result, bail};
use link::{loader::sets, state::Mode};

use crate::nearest;

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
                    "{word} is not a counter set{}; write none, or some of {} with commas between them",
                    nearest::mentioned(&nearest::nearest(word, WORDS.map(|(word, _)| word))),
                    WORDS.map(|(word, _)| word).join(", ")
                )),
            }
        })
    }
}

/// Refuses sets that have no source in the run.
pub fn check(chosen: Option<CounterChoice>, mode: Mode, threads: u32) -> Result<()> {
    let Some(CounterChoice(named)) = chosen else {
        return Ok(());
    };
    if mode == Mode::RealTime && named != 0 {
        bail!(
            "--real-time counts nothing, because time does not say how many instructions were executed; leave --real-time or --counters out"
        );
    }
    if mode == Mode::Native && named & (sets::CRYPTO | sets::COPROCESSOR_GROUPS) != 0 {
        bail!(
            "--native counts no cryptographic functions, because their time is modelled by a clock that counts instructions; leave crypto and group out"
        );
    }
    if named & sets::MT_DIAGNOSTIC != 0 && threads < 2 {
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
    fn a_set_without_a_source_is_refused_with_what_helps() {
        let refusal = |set, mode, threads| {
            check(Some(CounterChoice(set)), mode, threads)
                .unwrap_err()
                .to_string()
        };
        let mt = sets::MT_DIAGNOSTIC;
        assert!(refusal(mt, Mode::Exact, 1).contains("add --threads 2"));
        assert!(check(Some(CounterChoice(mt)), Mode::Exact, 2).is_ok());
        assert!(refusal(mt, Mode::RealTime, 2).contains("leave --real-time"));
        assert!(check(Some(CounterChoice(0)), Mode::RealTime, 2).is_ok());
    }
}
