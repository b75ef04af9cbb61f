//! A collection of the hardware instrumentation services: which files belong together, and what they say.
//!
//! `SYSHISyyyymmdd.hhmmss.xxx.` begins the name of every file of a collection; xxx goes up by one when a change
//! of the state begins new files. The samples of each CPU are in `SMP.cpu`, with the CPU's address in
//! hexadecimal digits; the counters are in `CNT` and the map of storage is in `MAP`, which is written at the end
//! only.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufReader, Seek},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use millimeter::record::cnt::{Line, Parser};

use super::{BlockFile, Names, Pace, Profile, map::Map};
use crate::{
    counters::CounterValues,
    dump::{
        lines::Lines,
        recognise::{self, Encoding, Kind},
    },
};
use millimeter::link::data::Level;

/// What the name of every file begins with.
const BEGIN: &str = "SYSHIS";

/// What the name of a file says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    /// The collection: SYSHISyyyymmdd.hhmmss.
    prefix: String,
    /// Which of its sets of files.
    number: u16,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Samples(u16),
    Map,
    Counters,
}

impl Name {
    fn of(file: &str) -> Option<Self> {
        let mut parts = file.split('.');
        let (date, time, number) = (parts.next()?, parts.next()?, parts.next()?);
        let digits = |text: &str, count: usize| {
            text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(date.strip_prefix(BEGIN)?, 8) || !digits(time, 6) || !digits(number, 3) {
            return None;
        }
        let what = match (parts.next()?, parts.next()) {
            ("SMP", Some(cpu)) if cpu.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                What::Samples(u16::from_str_radix(cpu, 16).ok()?)
            }
            ("MAP", None) => What::Map,
            ("CNT", None) => What::Counters,
            _ => return None,
        };
        let name = Self {
            prefix: format!("{date}.{time}"),
            number: number.parse().ok()?,
            what,
        };
        parts.next().is_none().then_some(name)
    }
}

/// The files of one collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    directory: PathBuf,
    prefix: String,
    files: Vec<(u16, What, PathBuf)>,
}

/// The collection that a folder holds, or the one that `FOLDER/SYSHISyyyymmdd.hhmmss` names; none if there is
/// none.
pub fn find(path: &Path) -> Result<Option<Collection>> {
    let (directory, wanted) = if path.is_dir() {
        (path, None)
    } else {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| name.starts_with(BEGIN)) else {
            return Ok(None);
        };
        let directory = path.parent().unwrap_or(Path::new("."));
        let here = directory.as_os_str().is_empty();
        let directory = if here { Path::new(".") } else { directory };
        (directory, Some(name.trim_end_matches('.')))
    };
    let Ok(entries) = fs::read_dir(directory) else {
        return Ok(None);
    };
    let mut collections: BTreeMap<String, Vec<(u16, What, PathBuf)>> = BTreeMap::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", directory.display()))?;
        let Some(name) = entry.file_name().to_str().and_then(Name::of) else {
            continue;
        };
        if wanted.is_none_or(|wanted| wanted == name.prefix || is_of(wanted, &name.prefix)) {
            let files = collections.entry(name.prefix).or_default();
            files.push((name.number, name.what, entry.path()));
        }
    }
    if collections.len() > 1 {
        let names: Vec<&str> = collections.keys().map(String::as_str).collect();
        bail!(
            "{} holds {} collections: {}; name one of them, as {}",
            directory.display(),
            names.len(),
            names.join(", "),
            directory.join(names[0]).display()
        );
    }
    Ok(collections.pop_first().map(|(prefix, mut files)| {
        files.sort();
        Collection {
            directory: directory.to_owned(),
            prefix,
            files,
        }
    }))
}

/// Whether this is a file of the collection.
fn is_of(file: &str, prefix: &str) -> bool {
    Name::of(file).is_some_and(|name| name.prefix == prefix)
}

/// Opens a collection. Of the samples only what their blocks are is read.
pub fn open(collection: &Collection) -> Result<Profile> {
    let mut files = Vec::new();
    let mut map = Map::default();
    let mut has_map = false;
    let mut counts = Counts::default();
    let mut doubts = Vec::new();
    for (_, what, path) in &collection.files {
        let Some((mut file, kind)) = recognised(path)? else {
            if *what != What::Map {
                continue;
            }
            doubts.push(format!("{} is empty", path.display()));
            continue;
        };
        let name = || path.display().to_string();
        match (*what, kind) {
            (What::Samples(cpu), Kind::Samples { block }) => files.push(BlockFile {
                cpu,
                path: path.clone(),
                block,
            }),
            (What::Map, Kind::Map(encoding)) => {
                map = Map::read(&mut file, encoding).with_context(name)?;
                has_map = true;
            }
            (What::Counters, Kind::Counters(encoding)) => {
                counts.read(&mut file, encoding).with_context(name)?;
            }
            _ => bail!(
                "{} is not what its name says; `measure dump` shows what it is",
                name()
            ),
        }
    }
    // Those of one CPU stay in the order of their numbers.
    files.sort_by_key(|file| file.cpu);
    if !has_map {
        doubts.push(format!(
            "{}.….MAP is missing, as it is written at the end of a collection: no address has a name",
            collection.prefix
        ));
    }
    if counts.counter_loss {
        doubts.push("a measurement alert said that counter data were lost".to_owned());
    }
    Ok(Profile {
        directory: collection.directory.clone(),
        title: collection.prefix.clone(),
        is_linux: false,
        record: None,
        machine_type: counts.machine_type.clone(),
        pace: counts.pace(),
        names: Names::Map(map),
        counters: counts.sets(),
        doubts,
        files,
    })
}

/// A file from its beginning, and what it is; none if it is empty.
fn recognised(path: &Path) -> Result<Option<(BufReader<File>, Kind)>> {
    let name = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(name)?;
    let length = file.metadata().with_context(name)?.len();
    if length == 0 {
        return Ok(None);
    }
    let kind = recognise::recognise(&mut file, length)
        .and_then(|kind| {
            let named = || recognise::named(path);
            kind.or_else(named).context(recognise::UNKNOWN)
        })
        .with_context(|| path.display().to_string())?;
    file.rewind().with_context(name)?;
    Ok(Some((BufReader::new(file), kind)))
}

/// What the files of counters say, summed up over all of them.
#[derive(Default)]
struct Counts {
    machine_type: String,
    speed: u32,
    start: u64,
    /// Samples a minute that were asked for.
    frequency: u64,
    counter_loss: bool,
    /// By CPU and number.
    values: BTreeMap<(u16, u16), u64>,
}

/// The M3 code of each set, and the number of its first counter.
const SETS: [(u16, u16); 5] = [(448, 5), (128, 0), (64, 3), (32, 2), (0, 1)];

impl Counts {
    fn read(&mut self, file: &mut BufReader<File>, encoding: Encoding) -> Result<()> {
        let mut lines = Lines::new(file, encoding);
        let (mut parser, mut number) = (Parser::new(), 0);
        // Whose values come; those of the z/OS set are not the machine's.
        let mut whose = None;
        while let Some(line) = lines.next()? {
            number += 1;
            let line = parser.line(line).map_err(|malformed| {
                let (column, field) = (malformed.offset, malformed.field);
                let problem = malformed.problem;
                anyhow::anyhow!("line {number}, column {column}, field {field}: {problem}")
            })?;
            match line {
                Line::Command(command) => {
                    self.frequency = frequency(command).unwrap_or(self.frequency);
                }
                Line::CounterLoss(lost) => self.counter_loss |= lost,
                Line::Model(model, _) => {
                    let machine = model.split('-').next().unwrap_or_default();
                    machine.trim().clone_into(&mut self.machine_type);
                }
                Line::Start(_, tod) if self.start == 0 || tod < self.start => self.start = tod,
                Line::Cpu {
                    cpu,
                    speed,
                    software,
                } => {
                    self.speed = speed;
                    whose = (!software).then_some(cpu);
                }
                Line::Values {
                    first,
                    count,
                    values,
                } => {
                    let Some(cpu) = whose else { continue };
                    for (counter, value) in
                        (first..=u16::MAX).zip(&values[..count.min(values.len())])
                    {
                        let sum = self.values.entry((cpu, counter)).or_default();
                        *sum = sum.wrapping_add(*value);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn pace(&self) -> Pace {
        let a_minute = u64::from(self.speed) * 60_000_000;
        Pace {
            interval: a_minute.checked_div(self.frequency).unwrap_or(0),
            speed: self.speed,
            start: self.start,
        }
    }

    /// The values as sets; a gap within a set begins another one.
    fn sets(&self) -> Vec<CounterValues> {
        let mut sets: Vec<CounterValues> = Vec::new();
        for ((cpu, counter), value) in &self.values {
            let known = SETS.iter().find(|(first, _)| counter >= first);
            let set = known.map_or(1, |(_, code)| *code);
            let goes_on = |last: &&mut CounterValues| {
                let next = usize::from(last.first) + last.values.len();
                (last.cpu, last.set, next) == (*cpu, set, usize::from(*counter))
            };
            match sets.last_mut().filter(goes_on) {
                Some(last) => last.values.push(*value),
                None => sets.push(CounterValues {
                    cpu: *cpu,
                    level: Level::Machine,
                    set,
                    first: *counter,
                    authorized: true,
                    values: vec![*value],
                }),
            }
        }
        sets
    }
}

/// What a command says behind SAMPFREQ=.
fn frequency(command: &str) -> Option<u64> {
    let (_, behind) = command.split_once("SAMPFREQ=")?;
    let digits = behind.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}
