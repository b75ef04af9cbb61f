//! `--count` and `--count-from`: exact counts of the executions of every instruction.
//!
//! The machine keeps them in storage of its own at the end of that which QEMU has. For the run itself the storage is as
//! without the option, and so it stays the same run.

use std::{convert::Infallible, ops::RangeInclusive, str::FromStr};

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use link::{
    loader::{COUNTING_STORAGE, MOST_COUNTED_RANGES, flags},
    state::Mode,
};

use crate::{
    events::command::{self, LONGEST_TEXT, can_be_awaited},
    numbers::quantities::Storage,
    options::{RunOptions, Unserved, emulator::Emulator},
    symbols::places::PlaceNames,
};

/// In which states instructions are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum States {
    /// In problem state and in supervisor state
    #[default]
    All,
    /// In problem state: programs
    User,
    /// In supervisor state: the control program
    Kernel,
}

/// From when on they are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// From the beginning of the guest.
    Start,
    /// From when Linux begins with the command.
    Command,
    /// From when the guest has written this on its console.
    Words(String),
}

impl FromStr for Begin {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "start" => Self::Start,
            "command" => Self::Command,
            words => Self::Words(words.to_owned()),
        })
    }
}

/// What of a run is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The states.
    pub states: States,
    /// From when on. A command of Linux is counted from its beginning, and any other guest from its own, if nothing else is
    /// chosen.
    pub begin: Option<Begin>,
    /// The routines and addresses to which the counts are limited, as they were given; none for no limit.
    pub places: Vec<String>,
    /// The addresses of each of them, once they are [found](Self::find).
    pub ranges: Vec<RangeInclusive<u64>>,
}

impl Counted {
    /// The bits of the loader block.
    #[must_use]
    pub const fn flags(&self) -> u32 {
        let states = match self.states {
            States::All => 0,
            States::User => flags::COUNT_PROBLEM_STATE,
            States::Kernel => flags::COUNT_SUPERVISOR_STATE,
        };
        let begin = match self.begin {
            None | Some(Begin::Start) => 0,
            Some(Begin::Command | Begin::Words(_)) => flags::COUNT_FROM_WORDS,
        };
        flags::COUNT_EXECUTIONS | states | begin
    }

    /// Finds the addresses to which the counts are limited.
    ///
    /// # Errors
    /// A place has no such name, or no addresses.
    pub fn find(&mut self, names: &PlaceNames) -> Result<()> {
        if self.ranges.len() != self.places.len() {
            let found: Result<Vec<_>> = self
                .places
                .iter()
                .map(|place| range(place, names))
                .collect();
            self.ranges = found?;
        }
        Ok(())
    }

    /// The operator's command by which the machine awaits the words.
    #[must_use]
    pub fn order(&self) -> Option<String> {
        match &self.begin {
            Some(Begin::Words(words)) => Some(format!("COUNT AT {words}")),
            _ => None,
        }
    }

    /// Whether the boot of Linux is counted, too.
    #[must_use]
    pub fn has_the_boot(&self) -> bool {
        self.begin != Some(Begin::Command)
    }

    /// What is counted, in words; nothing if that is everything.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let states = match self.states {
            States::All => None,
            States::User => Some("in problem state".to_owned()),
            States::Kernel => Some("in supervisor state".to_owned()),
        };
        let begin = match &self.begin {
            None | Some(Begin::Start) => None,
            Some(Begin::Command) => Some("from the beginning of the command on".to_owned()),
            Some(Begin::Words(words)) => Some(format!("from the text {words:?} on")),
        };
        let places = (!self.places.is_empty()).then(|| format!("in {}", self.places.join(" and ")));
        let parts: Vec<String> = states.into_iter().chain(places).chain(begin).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The addresses of a place.
fn range(place: &str, names: &PlaceNames) -> Result<RangeInclusive<u64>> {
    command::range(place, names).map_err(|wrong| anyhow!("--count-in {place}: {wrong}"))
}

/// Storage for the copies of the guest's text that all CPUs execute, and for the counts.
fn for_copies(options: &RunOptions, cpus: u32) -> u64 {
    if options.count.is_some() || options.traces_a_window() {
        COUNTING_STORAGE * cpus as u64
    } else {
        0
    }
}

/// The storage that QEMU is given for a run with so many CPUs: that of the run, and that for its counts or traces.
#[must_use]
pub fn storage_below(options: &RunOptions, cpus: u32) -> Storage {
    Storage(options.storage.0 + for_copies(options, cpus))
}

/// The storage that a machine of QEMU has if it is given this much: a whole number of increments, of which there are at most
/// 1020.
const fn in_increments(storage: u64) -> u64 {
    const MOST_INCREMENTS: u64 = 1020;
    let mut shift = 20;
    while storage >> shift > MOST_INCREMENTS {
        shift += 1;
    }
    storage >> shift << shift
}

/// Refuses a storage that the run would not have unchanged, because QEMU rounds it.
///
/// # Errors
/// It is such a storage.
pub fn check_storage(options: &RunOptions, cpus: u32) -> Result<()> {
    let (storage, counts) = (options.storage, for_copies(options, cpus));
    if in_increments(storage.0 + counts) == in_increments(storage.0) + counts {
        return Ok(());
    }
    bail!(
        "QEMU rounds storage of {storage} and {} for the counts or traces of {cpus} CPUs, so the run would not be the one \
         without them; choose a little less with --storage, or an even number of CPUs",
        Storage(counts)
    );
}

/// Refuses a run that wants exact counts and cannot have them.
///
/// # Errors
/// It is such a run.
pub fn check(options: &RunOptions) -> Result<()> {
    let Some(counted) = &options.count else {
        return Ok(());
    };
    if let Some(Begin::Words(words)) = &counted.begin
        && !can_be_awaited(words)
    {
        bail!(
            "--count-from {words:?}: choose start, or a text of 1 to {LONGEST_TEXT} bytes that the guest writes on its console"
        );
    }
    if counted.places.len() > MOST_COUNTED_RANGES {
        bail!(
            "--count-in is there {} times; choose {MOST_COUNTED_RANGES} at most, or a range for several routines",
            counted.places.len()
        );
    }
    let unserved = [
        Unserved::new(
            options.below == Emulator::Hercules,
            "below Hercules",
            "leave --below out",
        ),
        Unserved::new(
            options.mode.is_real_time(),
            "in real time, where nothing counts instructions",
            "leave --real-time or --native out",
        ),
        Unserved::new(
            options.mode == Mode::Interactive,
            "of an interactive run or one with devices, which cannot be repeated",
            "give a command, and leave devices, disks and networks out",
        ),
        Unserved::new(
            options.nested != 0,
            "of machines above the machine",
            "leave --nested out",
        ),
        Unserved::new(
            options.exact_caches.is_some(),
            "of a run in which every instruction stops for the model of caches",
            "leave --exact-caches out",
        ),
        Unserved::new(
            options.count_traps || options.count_paths,
            "of a run that counts its traps or paths",
            "count them in another run",
        ),
    ];
    Unserved::refuse(&unserved, |Unserved { what, remedy, .. }| {
        format!("--count has no counts {what}; {remedy}, or leave --count out")
    })
}

/// What of a run of Linux is counted: from the command on, unless something else is chosen.
///
/// # Errors
/// It is a run with a shell, or cannot be counted from then on.
pub fn of_linux(counted: &Counted, wants_shell: bool, can_be_held: bool) -> Result<Counted> {
    if wants_shell {
        bail!(
            "--count has no counts of a shell for a person, whose input cannot be repeated; add a command behind --"
        );
    }
    let mut unknown = counted.places.iter().skip(counted.ranges.len());
    if let Some(place) = unknown.find(|place| range(place, &PlaceNames::NONE).is_err()) {
        bail!(
            "--count-in {place}: the names of Linux are known only after a run; write hexadecimal addresses, or count it in a window \
             of a run: `cargo measure zoom DIR --count --count-in {place}`"
        );
    }
    let begin = match &counted.begin {
        None if !can_be_held => Begin::Start,
        None => Begin::Command,
        Some(Begin::Command) if !can_be_held => bail!(
            "--count-from command: this run does not say when its command begins, as it has devices or a first file system of \
             its own; choose --count-from start"
        ),
        Some(Begin::Words(words)) => bail!(
            "--count-from {words}: Linux is counted from the beginning of its command or from its start; choose command or start"
        ),
        Some(begin) => begin.clone(),
    };
    Ok(Counted {
        begin: Some(begin),
        ..counted.clone()
    })
}

/// Refuses a moment that only Linux has.
///
/// # Errors
/// It is such a moment.
pub fn check_guest(options: &RunOptions) -> Result<()> {
    let begin = options.count.as_ref().and_then(|of| of.begin.as_ref());
    if begin == Some(&Begin::Command) {
        bail!(
            "--count-from command: only `linux` and `exec` have a command; choose start, or a text that the guest writes on its \
             console"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::kallsyms::Name;
    use cache::Geometry;

    fn counting(change: impl FnOnce(&mut RunOptions)) -> RunOptions {
        let mut options = RunOptions {
            count: Some(Counted::default()),
            ..RunOptions::default()
        };
        change(&mut options);
        options
    }

    #[test]
    fn what_has_no_exact_counts_is_refused_with_what_helps() {
        assert!(counting(|_| ()).check().is_ok());
        let refuses = |change: &dyn Fn(&mut RunOptions), word: &str| {
            let mut options = counting(change);
            let refusal = options.check().unwrap_err().to_string();
            assert!(
                refusal.contains("--count") && refusal.contains(word),
                "{refusal}"
            );
            options.count = None;
            assert!(options.check().is_ok(), "{word}");
        };
        refuses(&|options| options.mode = Mode::RealTime, "--real-time");
        refuses(&|options| options.mode = Mode::Native, "--native");
        refuses(&|options| options.mode = Mode::Interactive, "repeated");
        refuses(&|options| options.below = Emulator::Hercules, "--below");
        refuses(&|options| options.nested = 1, "--nested");
        refuses(&|options| options.count_traps = true, "traps");
        let caches = |options: &mut RunOptions| options.exact_caches = Some(Geometry::default());
        refuses(&caches, "--exact-caches");
    }

    #[test]
    fn linux_is_counted_from_its_command_on_if_nothing_else_is_chosen() {
        let counted = |begin: Option<Begin>| Counted {
            begin,
            ..Counted::default()
        };
        let of = |begin, held| {
            of_linux(&counted(begin), false, held)
                .map(|found| found.begin.unwrap())
                .map_err(|error| error.to_string())
        };
        assert_eq!(of(None, true), Ok(Begin::Command));
        assert_eq!(of(None, false), Ok(Begin::Start));
        assert_eq!(of(Some(Begin::Start), true), Ok(Begin::Start));
        let refusal = of(Some(Begin::Command), false).unwrap_err();
        assert!(refusal.contains("--count-from start"), "{refusal}");
        let refusal = of(Some("login:".parse().unwrap()), true).unwrap_err();
        assert!(refusal.contains("login:"), "{refusal}");
        let named = Counted {
            places: vec!["10-1F".to_owned(), "vfs_read".to_owned()],
            ..Counted::default()
        };
        let refusal = of_linux(&named, false, true).unwrap_err().to_string();
        assert!(
            refusal.contains("zoom DIR --count --count-in vfs_read"),
            "{refusal}"
        );
        let shell = of_linux(&counted(None), true, false).unwrap_err();
        assert!(shell.to_string().contains("a command"), "{shell}");
    }

    #[test]
    fn another_guest_is_counted_from_its_start_or_from_words_on_its_console() {
        let with = |begin: &str| {
            counting(|options| {
                options.count = Some(Counted {
                    states: States::User,
                    begin: Some(begin.parse().unwrap()),
                    ..Counted::default()
                });
            })
        };
        let words = with("go on").count.unwrap();
        assert_eq!(words.order().unwrap(), "COUNT AT go on");
        let flags = [
            flags::COUNT_EXECUTIONS,
            flags::COUNT_PROBLEM_STATE,
            flags::COUNT_FROM_WORDS,
        ];
        assert_eq!(words.flags(), flags.into_iter().sum::<u32>());
        assert_eq!(
            words.words().unwrap(),
            "in problem state, from the text \"go on\" on"
        );
        let start = with("start");
        assert!(check_guest(&start).is_ok() && start.check().is_ok());
        let refusal = check_guest(&with("command")).unwrap_err().to_string();
        assert!(refusal.contains("start"), "{refusal}");
        for text in ["", &"x".repeat(LONGEST_TEXT + 1)] {
            let refusal = with(text).check().unwrap_err().to_string();
            assert!(refusal.contains("80 bytes"), "{refusal}");
        }
    }

    #[test]
    fn a_part_is_a_routine_or_addresses_and_there_are_eight_at_most() {
        let name = |name: &str, address| Name {
            address,
            kind: b'T',
            name: name.to_owned(),
        };
        let names = PlaceNames::of_kernel(&[name("main", 0x1000), name("next", 0x1100)]);
        let found = |place: &str| {
            let mut counted = Counted {
                places: vec![place.to_owned()],
                ..Counted::default()
            };
            let found = counted.find(&names).map_err(|error| error.to_string());
            found.map(|()| counted.ranges[0].clone())
        };
        assert_eq!(found("main"), Ok(0x1000..=0x10FF));
        assert_eq!(found("0.10"), Ok(0..=0xF));
        assert_eq!(found("20-2F"), Ok(0x20..=0x2F));
        assert!(found("2F-20").unwrap_err().contains("--count-in 2F-20"));
        assert!(found("mian").unwrap_err().contains("main"));
        let with = |number| {
            counting(|options| {
                options.count = Some(Counted {
                    places: vec!["0".to_owned(); number],
                    ..Counted::default()
                });
            })
        };
        assert!(with(8).check().is_ok());
        assert!(with(9).check().unwrap_err().to_string().contains("9 times"));
    }

    #[test]
    fn qemu_has_more_storage_for_the_counts_of_each_cpu_and_the_run_has_its_own() {
        let options = counting(|_| ());
        assert_eq!(storage_below(&options, 2), Storage((512 + 64) << 20));
        let without = RunOptions::default();
        assert_eq!(storage_below(&without, 2), without.storage);
        let fits = |storage, cpus| {
            let options = counting(|options| options.storage = Storage(storage));
            check_storage(&options, cpus).map_err(|error| error.to_string())
        };
        for storage in [256 << 20, 2047 << 20, 2 << 30, 8 << 30] {
            for cpus in [1, 2, 3, 16] {
                assert_eq!(fits(storage, cpus), Ok(()), "{storage} {cpus}");
            }
        }
        // Increments of 64 MiB.
        assert_eq!(fits(32 << 30, 2), Ok(()));
        let refusal = fits(32 << 30, 3).unwrap_err();
        assert!(
            refusal.contains("32G") && refusal.contains("96M"),
            "{refusal}"
        );
    }
}
