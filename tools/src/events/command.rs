//! Operator commands about program events with names, and how the names become addresses for the machine.

use std::ops::RangeInclusive;

use command::{self, Command};
use thiserror::Error;

use crate::{
    nearest,
    symbols::places::{Meant, NameError, PlaceNames, Wanted},
};

/// The most storage that the machine shows at once, in bytes.
const MOST_SHOWN: u64 = 4096;

/// Why the machine would not carry out a command.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CommandError {
    /// It names something that the guest does not have.
    #[error("{command}: {error}")]
    Name {
        /// The command.
        command: String,
        /// What is wrong with the name.
        error: NameError,
    },
    /// The machine would answer this.
    #[error("{command}: {answer}")]
    Misunderstood {
        /// The command.
        command: String,
        /// The answer.
        answer: String,
    },
}

/// A command as the machine understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The command.
    pub line: String,
    /// Whether there was a name in it.
    pub had_name: bool,
}

/// A command with its names replaced by addresses. A command that is not about program events stays as it is; the
/// machine judges it.
///
/// # Errors
/// [`CommandError`].
pub fn resolved(line: &str, names: &PlaceNames) -> Result<Resolved, CommandError> {
    let plain = |line: &str| Resolved {
        line: line.to_owned(),
        had_name: false,
    };
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    if !is_of_events(&words) {
        return Ok(plain(line));
    }
    let resolved = match Parts::of(&words) {
        None => plain(line),
        Some(parts) => {
            let (range, taken, had_name) =
                parts.resolved(names).map_err(|error| CommandError::Name {
                    command: line.to_owned(),
                    error,
                })?;
            let behind = &parts.spec[taken..];
            let words = [parts.before, &[&range], behind, parts.behind].concat();
            Resolved {
                line: words.join(" "),
                had_name,
            }
        }
    };
    match command::parse(&resolved.line) {
        Ok(_) => Ok(resolved),
        Err(misunderstood) => Err(CommandError::Misunderstood {
            command: line.to_owned(),
            answer: misunderstood.to_string(),
        }),
    }
}

/// The command that begins a trace, from the words that follow PER. It is checked as far as possible without a guest
/// and its names.
///
/// # Errors
/// The answer that the machine would give.
pub fn event(text: &str) -> Result<String, String> {
    let line = format!("PER {text}");
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let anywhere = match Parts::of(&words) {
        // Any name stands for an address here.
        Some(parts) => [parts.before, &["0"], parts.behind].concat().join(" "),
        None => line.clone(),
    };
    let answer = match command::parse(&anywhere) {
        Ok(Command::Trace(_)) => return Ok(line),
        Ok(_) => format!("an event begins with one of {}", EVENTS.join(", ")),
        Err(misunderstood) => misunderstood.to_string(),
    };
    let first = words.get(1).copied().unwrap_or_default();
    let is_known = EVENTS.iter().any(|event| event.eq_ignore_ascii_case(first));
    let near = match is_known {
        true => Vec::new(),
        false => nearest::nearest(first, EVENTS),
    };
    Err(format!("{answer}{}", nearest::mentioned(&near)))
}

/// The addresses of a routine, or of what is written as a range in a command.
///
/// # Errors
/// What is wrong with it.
pub fn range(text: &str, names: &PlaceNames) -> Result<RangeInclusive<u64>, String> {
    let meant = names.meant(text, Wanted::Routine);
    let found = match meant.map_err(|error| error.to_string())? {
        Meant::Named(start, last) => Some(start..=last),
        Meant::Numbers(numbers) => {
            command::addresses(&numbers).map(|range| range.start..=range.end)
        }
    };
    found.filter(|found| !found.is_empty()).ok_or_else(|| {
        "write hexadecimal addresses as a-b, both included, or as a.n for n bytes from a on"
            .to_owned()
    })
}

/// The words that an event begins with.
const EVENTS: [&str; 4] = ["BRANCH", "FETCH", "STORE", "REG"];

/// The most bytes of a text on the guest's console that the operator can await.
pub const LONGEST_TEXT: usize = command::LONGEST_WORDS;

/// Whether the operator can await this text on the guest's console.
#[must_use]
pub fn can_be_awaited(text: &str) -> bool {
    command::ConsoleWords::new(text.as_bytes()).is_some()
}

/// Whether a command begins a trace.
#[must_use]
pub fn begins_trace(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let is_per = words
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case("PER"));
    is_per
        && words
            .next()
            .is_some_and(|word| !word.eq_ignore_ascii_case("OFF"))
}

fn is_of_events(words: &[&str]) -> bool {
    let first = words.first();
    first.is_some_and(|first| {
        ["PER", "SHOW", "GO"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(first))
    })
}

/// A command that has addresses or names in it.
struct Parts<'a> {
    before: &'a [&'a str],
    /// The addresses; the name of a routine may have blanks.
    spec: &'a [&'a str],
    behind: &'a [&'a str],
    wanted: Wanted,
    is_shown: bool,
}

impl<'a> Parts<'a> {
    fn of(words: &'a [&'a str]) -> Option<Self> {
        let is = |place: usize, known: &str| {
            words
                .get(place)
                .is_some_and(|word| known.eq_ignore_ascii_case(word))
        };
        let is_shown = is(0, "SHOW");
        let begin = if is_shown {
            is(1, "STORAGE").then_some(2)
        } else {
            let range = (1..words.len()).find(|place| is(*place, "RANGE"));
            range.filter(|_| is(0, "PER")).map(|place| place + 1)
        }?;
        let (before, rest) = words.split_at(begin);
        let is_action = |word: &&&str| {
            ["COUNT", "TRACE", "STOP"]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(word))
        };
        let actions = usize::from(!is_shown && rest.last().as_ref().is_some_and(is_action));
        let (spec, behind) = rest.split_at(rest.len() - actions);
        let wanted = if is_shown || is(1, "STORE") {
            Wanted::Any
        } else {
            Wanted::Routine
        };
        (!spec.is_empty()).then_some(Self {
            before,
            spec,
            behind,
            wanted,
            is_shown,
        })
    }

    /// The addresses, how many words they were, and whether there was a name among them.
    fn resolved(&self, names: &PlaceNames) -> Result<(String, usize, bool), NameError> {
        let all = names.meant(&self.spec.join(" "), self.wanted);
        let (meant, taken) = match all {
            Ok(meant) => (meant, self.spec.len()),
            // An extra word is not part of a name. The machine reports it.
            Err(error) => (
                names.meant(self.spec[0], self.wanted).map_err(|_| error)?,
                1,
            ),
        };
        Ok(match meant {
            Meant::Numbers(numbers) => (numbers, taken, false),
            Meant::Named(start, last) if self.is_shown => {
                let most = start.saturating_add(MOST_SHOWN - 1);
                (format!("{start:X}-{:X}", last.min(most)), taken, true)
            }
            Meant::Named(start, last) => (format!("{start:X}-{last:X}"), taken, true),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::kallsyms::Name;

    fn names() -> PlaceNames {
        let name = |address, kind, name: &str| Name {
            address,
            kind,
            name: name.to_owned(),
        };
        PlaceNames::of_kernel(&[
            name(0x1000, b'T', "main"),
            name(0x1100, b'T', "<A as B>::c"),
            name(0x1200, b'T', "stop"),
            name(0x8000, b'd', "table"),
            name(0xA000, b'd', "end"),
        ])
    }

    fn line(text: &str) -> String {
        resolved(text, &names()).unwrap().line
    }

    fn refusal(text: &str) -> String {
        resolved(text, &names()).unwrap_err().to_string()
    }

    #[test]
    fn a_name_becomes_its_addresses_and_all_else_stays() {
        for (written, expected) in [
            ("per fetch range main", "per fetch range 1000-10FF"),
            (
                "PER FETCH RANGE main COUNT",
                "PER FETCH RANGE 1000-10FF COUNT",
            ),
            (
                "PER BRANCH RANGE main-<A as B>::c STOP",
                "PER BRANCH RANGE 1000-11FF STOP",
            ),
            (
                "PER FETCH RANGE stop STOP",
                "PER FETCH RANGE 1200-7FFF STOP",
            ),
            (
                "PER STORE DATA C1 RANGE table",
                "PER STORE DATA C1 RANGE 8000-9FFF",
            ),
            (
                "PER REG 1,2 RANGE 0x1000-0x10FF",
                "PER REG 1,2 RANGE 1000-10FF",
            ),
            ("SHOW STORAGE main", "SHOW STORAGE 1000-10FF"),
            ("SHOW STORAGE table", "SHOW STORAGE 8000-8FFF"),
            ("SHOW PSW", "SHOW PSW"),
            ("PER", "PER"),
            ("PER OFF ALL", "PER OFF ALL"),
            // Other commands stay as they are.
            ("AUTH main", "AUTH main"),
            ("", ""),
        ] {
            assert_eq!(line(written), expected);
        }
        assert!(resolved("PER FETCH RANGE main", &names()).unwrap().had_name);
        assert!(!resolved("PER FETCH RANGE 0x10", &names()).unwrap().had_name);
    }

    #[test]
    fn a_wrong_command_gets_the_answer_that_the_machine_would_give() {
        assert!(
            refusal("PER FETCH RANGE mian").starts_with("PER FETCH RANGE mian: mian is neither")
        );
        assert!(refusal("PER FETCH RANGE table").contains("table is data"));
        assert_eq!(
            refusal("PER FETCH RANGE 1-2 FROB"),
            "PER FETCH RANGE 1-2 FROB: FROB is not understood here; these are: COUNT, TRACE, STOP"
        );
        assert!(refusal("PER FETCH RANGE").contains("a word is missing"));
        assert!(refusal("PER FETCH RANGE STOP").contains("STOP is not understood"));
        assert!(refusal("SHOW MEMORY").contains("PSW, REGISTERS, CONTROLS, STORAGE"));
    }

    #[test]
    fn an_event_is_checked_before_there_are_names() {
        assert_eq!(
            event("fetch range frob"),
            Ok("PER fetch range frob".to_owned())
        );
        assert!(
            event("STORE DATA 1 RANGE x")
                .unwrap_err()
                .contains("1 to 8 bytes")
        );
        assert!(event("").unwrap_err().contains("an event begins with"));
        assert!(
            event("OFF ALL")
                .unwrap_err()
                .contains("an event begins with")
        );
        assert!(
            event("EXECUTE")
                .unwrap_err()
                .contains("BRANCH, FETCH, STORE, REG")
        );
    }

    #[test]
    fn a_trace_begins_with_an_event() {
        for line in ["PER FETCH", " per branch count"] {
            assert!(begins_trace(line), "{line}");
        }
        for line in ["PER", "PER OFF 1", "SHOW PSW", "STATUS", ""] {
            assert!(!begins_trace(line), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_text_gives_a_command_for_the_machine_or_an_error(text in "(PER|SHOW) (FETCH|STORE|STORAGE)? ?(RANGE)? ?\\PC{0,20}") {
            if let Ok(resolved) = resolved(&text, &names()) {
                proptest::prop_assert!(command::parse(&resolved.line).is_ok());
            }
            let _ = event(&text);
        }
    }
}
