//! A collection of the hardware instrumentation services: which files belong together, and what they say.
//!
//! `SYSHISyyyymmdd.hhmmss.xxx.` begins the name of every file of a collection; xxx goes up by one when a change
//! of the state begins new files. The samples of each CPU are in `SMP.cpu`, with the CPU's address in
//! hexadecimal digits. The counters are in `CNT`, and the map of storage is in `MAP`, which is written only at the end.
//! `SMF` has the counts of each interval, if somebody put the records beside the other files.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufReader, Seek},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use super::{
    BlockFile, Names, Pace, Profile,
    counts::{self, Counts},
    intervals,
};
use crate::folder;
use crate::formats::recognise::{self, Kind};
use crate::symbols::map::Map;

/// The beginning of the name of every file.
const BEGIN: &str = "SYSHIS";

/// The name of a file, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    /// The collection: SYSHISyyyymmdd.hhmmss.
    prefix: String,
    /// The number of its set of files.
    number: u16,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Samples(u16),
    Map,
    Counters,
    Records,
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
            ("SMF", None) => What::Records,
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

/// The collection that a folder holds, or the one that `FOLDER/SYSHISyyyymmdd.hhmmss` names; `None` if there is no
/// collection.
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

impl Collection {
    /// Its files in the order of their sets, and whether they have samples.
    pub fn paths(&self) -> impl Iterator<Item = (&Path, bool)> {
        let files = self.files.iter();
        files.map(|(_, what, path)| (path.as_path(), matches!(what, What::Samples(_))))
    }
}

/// Whether this is a file of the collection.
fn is_of(file: &str, prefix: &str) -> bool {
    Name::of(file).is_some_and(|name| name.prefix == prefix)
}

/// Opens a collection. Reads no samples, only the form of their blocks.
pub fn open(collection: &Collection) -> Result<Profile> {
    let (mut files, mut records) = (Vec::new(), Vec::new());
    let mut map = Map::default();
    let mut has_map = false;
    let mut counts: BTreeMap<u16, Counts> = BTreeMap::new();
    let mut doubts = Vec::new();
    for (set, what, path) in &collection.files {
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
                set: *set,
                pace: Pace::default(),
            }),
            (What::Map, Kind::Map(encoding)) => {
                map = Map::read(&mut file, encoding).with_context(name)?;
                has_map = true;
            }
            (What::Counters, Kind::Counters(encoding)) => {
                let set = counts.entry(*set).or_default();
                set.read(&mut file, encoding).with_context(name)?;
            }
            (What::Records, Kind::Smf { .. }) => records.push(path.clone()),
            _ => bail!(
                "{} has the content of another kind of file; `measure dump` shows which",
                name()
            ),
        }
    }
    // The files of one CPU stay in the order of their numbers.
    files.sort_by_key(|file| file.cpu);
    if !has_map {
        doubts.push(format!(
            "{}.….MAP is missing (it is written at the end of a collection): no address has a name",
            collection.prefix
        ));
    }
    let (pace, derived) = intervals::put(&mut files, &counts)?;
    if counts.values().any(|set| set.counter_loss) {
        doubts.push("a measurement alert said that counter data were lost".to_owned());
    }
    Ok(Profile {
        directory: collection.directory.clone(),
        title: collection.prefix.clone(),
        is_linux: false,
        record: None,
        machine_type: counts
            .values()
            .map(|set| set.machine_type.clone())
            .rfind(|machine| !machine.is_empty())
            .unwrap_or_default(),
        pace,
        names: Names::Map(map),
        counters: counts::summed(&counts),
        doubts,
        derived,
        files,
        records,
    })
}

/// A file from its beginning, and its kind; `None` if it is empty.
fn recognised(path: &Path) -> Result<Option<(BufReader<File>, Kind)>> {
    let name = || format!("cannot read {}", path.display());
    let mut file = folder::open(path).with_context(name)?;
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
