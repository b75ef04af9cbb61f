//! What a command line needs besides the host command: packages, the image, and a guest.
//!
//! The host command reads its command line itself, but it is not built yet. Here a few words are enough: what is not
//! certain is left to the host command, which installs and builds what it needs anyway.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::building::{build::DEFAULT_GUEST, install::Lack, lacks};

/// What runs the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Below {
    /// Nothing: it is only built.
    Nothing,
    /// QEMU, perhaps a chosen one.
    Qemu(Option<PathBuf>),
    /// Hercules, perhaps a chosen one.
    Hercules(Option<PathBuf>),
}

/// What a command line needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What runs the image.
    pub below: Below,
    /// The bundled guest that is measured, if there is one.
    pub guest: Option<String>,
    /// Whether the person agrees in advance to an installation.
    pub is_agreed: bool,
}

/// Commands that build the image, and how their guest is found.
const COMMANDS: [(&str, Guest); 11] = [
    ("bench", Guest::None),
    ("build", Guest::None),
    ("check", Guest::None),
    ("conformance", Guest::None),
    ("console", Guest::NamedOrDefault),
    ("exec", Guest::None),
    ("image", Guest::Named),
    ("linux", Guest::None),
    ("package", Guest::None),
    ("run", Guest::NamedOrDefault),
    ("trace", Guest::NamedOrDefault),
];

/// Commands whose last words belong to a program.
const WITH_PROGRAMS: [&str; 3] = ["check", "exec", "linux"];

/// Commands that build and do not run.
const WITHOUT_EMULATOR: [&str; 3] = ["build", "image", "package"];

/// Words with which nothing is run.
const ONLY_SHOW: [&str; 7] = [
    "--help",
    "-h",
    "--version",
    "-V",
    "--list",
    "--host",
    "--of",
];

/// How a command finds its guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guest {
    /// It has none, or one that is not known before.
    None,
    /// One of its words names it.
    Named,
    /// One of its words names it, or it is the one of a run that names none.
    NamedOrDefault,
}

impl Request {
    /// Judges the words after the command's name. `None` if they need no image, or if it is not certain. `is_bundled` knows
    /// the names of the bundled guests.
    pub fn of(words: &[OsString], is_bundled: impl Fn(&str) -> bool) -> Option<Self> {
        let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
        let mut words = words?;
        // What follows belongs to the guest or to a program.
        let end = words.iter().position(|word| *word == "--");
        words.truncate(end.unwrap_or(words.len()));
        if words.iter().any(|word| ONLY_SHOW.contains(word)) {
            return None;
        }
        let leading = words.iter().take_while(|word| **word == "--yes").count();
        let mut is_agreed = leading > 0;
        words.drain(..leading);
        if words.starts_with(&["top", "run"]) {
            words.remove(0);
        }
        let command = words.first().copied().unwrap_or("run");
        let known = COMMANDS.iter().find(|(name, _)| *name == command);
        let guest = match known {
            Some((_, guest)) => {
                if !words.is_empty() {
                    words.remove(0);
                }
                *guest
            }
            // The options or the guest of a run without its name.
            None if command.starts_with('-') || is_bundled(command) => Guest::NamedOrDefault,
            // A command that needs nothing, or a mistyped one.
            None => return None,
        };
        if words.contains(&"--yes") {
            // It may be a word of the program.
            if WITH_PROGRAMS.contains(&command) {
                return None;
            }
            is_agreed = true;
        }
        words.retain(|word| *word != "--yes");
        let below = match command {
            _ if WITHOUT_EMULATOR.contains(&command) => Below::Nothing,
            _ if value(&words, "--below") == Some("hercules") => {
                Below::Hercules(value(&words, "--hercules").map(PathBuf::from))
            }
            _ => Below::Qemu(value(&words, "--qemu").map(PathBuf::from)),
        };
        let named = words.iter().find(|word| is_bundled(word));
        let guest = match (guest, named) {
            (Guest::None, _) => None,
            (_, Some(named)) => Some((*named).to_owned()),
            (Guest::NamedOrDefault, None) if all_are_options(&words) => {
                Some(DEFAULT_GUEST.to_owned())
            }
            _ => None,
        };
        Some(Self {
            below,
            guest,
            is_agreed,
        })
    }

    /// What this computer lacks for it.
    pub fn lacks(&self) -> Vec<Lack> {
        match &self.below {
            Below::Nothing => lacks::of_the_build().into_iter().collect(),
            Below::Qemu(chosen) => lacks::in_qemu(chosen.as_deref()),
            Below::Hercules(chosen) => lacks::in_hercules(chosen.as_deref()),
        }
    }
}

/// The value of an option: the word after it, or what follows the equals sign.
fn value<'w>(words: &[&'w str], option: &str) -> Option<&'w str> {
    let place = words.iter().position(|word| {
        let rest = word.strip_prefix(option);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    })?;
    match words[place].split_once('=') {
        Some((_, value)) => Some(value),
        None => words.get(place + 1).copied(),
    }
}

/// Whether no word can be a guest: each is an option, or follows one and is no file.
fn all_are_options(words: &[&str]) -> bool {
    let is_option = |word: &str| word.starts_with('-');
    let mut is_after_option = false;
    words.iter().all(|word| {
        let is_fine = is_option(word) || is_after_option && !Path::new(word).is_file();
        is_after_option = is_option(word) && !word.contains('=');
        is_fine
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(line: &str) -> Option<Request> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Request::of(&words, |name| ["hash", DEFAULT_GUEST].contains(&name))
    }

    fn guest(line: &str) -> Option<String> {
        request(line).unwrap().guest
    }

    #[test]
    fn a_command_that_only_shows_something_needs_no_image() {
        for line in [
            "--help",
            "-h",
            "help run",
            "--version",
            "run --help",
            "run --list",
            "--list",
            "doctor",
            "report millimeter-hash-1",
            "report run",
            "dump file",
            "counters --model z14",
            "diff a b",
            "export run --to perf",
            "completions bash",
            "man",
            "top",
            "top run --list",
            "bench --host",
            "trace --of run",
            "zoom run --from 1s",
        ] {
            assert_eq!(request(line), None, "{line}");
        }
    }

    #[test]
    fn a_mistyped_command_installs_and_builds_nothing() {
        for line in ["dcotor", "rum hash", "hsah"] {
            assert_eq!(request(line), None, "{line}");
        }
    }

    #[test]
    fn a_run_needs_an_emulator_the_image_and_its_guest() {
        for line in [
            "",
            "run",
            "--cpus 2",
            "run --cpus 2 --interval=100000 --strict",
            "--yes",
        ] {
            let request = request(line).unwrap();
            assert_eq!(request.below, Below::Qemu(None), "{line}");
            assert_eq!(request.guest.as_deref(), Some(DEFAULT_GUEST), "{line}");
        }
        for line in [
            "hash",
            "run hash",
            "run --cpus 2 hash",
            "top run hash",
            "image hash",
        ] {
            assert_eq!(guest(line).as_deref(), Some("hash"), "{line}");
        }
        for line in [
            "run a.elf",
            "run --strict Cargo.toml",
            "image",
            "linux -- hash",
            "exec hash",
        ] {
            assert_eq!(guest(line), None, "{line}");
        }
    }

    #[test]
    fn words_for_the_guest_are_not_read() {
        assert_eq!(guest("run -- hash --help").as_deref(), Some(DEFAULT_GUEST));
        assert!(!request("run -- --yes").unwrap().is_agreed);
    }

    #[test]
    fn only_a_word_that_is_surely_for_the_command_agrees() {
        for line in [
            "--yes",
            "run --yes",
            "--yes linux -- true",
            "run hash --yes",
        ] {
            assert!(request(line).unwrap().is_agreed, "{line}");
        }
        assert!(!request("run hash").unwrap().is_agreed);
        for line in ["exec ./install --yes", "linux --cpus 2 --yes"] {
            assert_eq!(request(line), None, "{line}");
        }
    }

    #[test]
    fn a_chosen_emulator_is_found_in_both_ways_to_write_it() {
        let below = |line: &str| request(line).unwrap().below;
        let chosen = Some(PathBuf::from("/q"));
        assert_eq!(below("run --qemu /q"), Below::Qemu(chosen.clone()));
        assert_eq!(below("run --qemu=/q"), Below::Qemu(chosen.clone()));
        assert_eq!(below("run --below hercules"), Below::Hercules(None));
        let line = "run --below=hercules --hercules /q";
        assert_eq!(below(line), Below::Hercules(chosen));
        assert_eq!(below("build"), Below::Nothing);
    }
}
