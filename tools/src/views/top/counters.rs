//! Counter sets as they arrive.
//!
//! The machine reads a set and appends it to the file. A refresh reads what is new and keeps the last reading of each
//! set.

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use link::data::{CounterHead, Level};

use crate::{
    folder,
    formats::counters::{self, CounterValues},
};

/// How much is read at a time.
const AT_A_TIME: u64 = 1 << 20;

/// The longest set that a heading can announce.
const LONGEST: usize = size_of::<CounterHead>() + u16::MAX as usize * size_of::<u64>();

/// More sets than any machine has.
const MOST_SETS: usize = 4096;

/// The file of counter sets, as far as it has been read.
#[derive(Clone, Debug, Default)]
pub struct CounterFile {
    sets: BTreeMap<(Level, u16, u16), CounterValues>,
    /// Bytes that have been read.
    read: u64,
    /// The part of a set at the end of what has been read.
    rest: Vec<u8>,
    /// Whether the file holds something that is not a set. Nothing behind it can be read.
    is_damaged: bool,
}

impl CounterFile {
    /// Reads what has come. Returns false if the file has become shorter, which means that it is another file.
    pub fn read(&mut self, path: &Path) -> io::Result<bool> {
        let length = match path.metadata() {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            Ok(_) => 0,
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        if length < self.read {
            return Ok(false);
        }
        if length == self.read {
            return Ok(true);
        }
        let mut file = folder::open(path)?;
        file.seek(SeekFrom::Start(self.read))?;
        while self.read < length && !self.is_damaged {
            let some = (length - self.read).min(AT_A_TIME);
            let before = self.rest.len();
            file.by_ref().take(some).read_to_end(&mut self.rest)?;
            let now = (self.rest.len() - before) as u64;
            if now == 0 {
                break;
            }
            self.read += now;
            self.take();
        }
        Ok(true)
    }

    /// Takes the whole sets.
    fn take(&mut self) {
        let (mut taken, mut too_many) = (0, false);
        counters::each(&self.rest, |set| {
            taken += size_of::<CounterHead>() + set.values.len() * size_of::<u64>();
            let key = (set.level, set.cpu, set.set);
            if self.sets.len() < MOST_SETS || self.sets.contains_key(&key) {
                self.sets.insert(key, set);
            } else {
                too_many = true;
            }
        });
        self.rest.drain(..taken);
        self.is_damaged = too_many || self.rest.len() > LONGEST;
        if self.is_damaged {
            self.rest.clear();
        }
    }

    /// Whether the file holds something that is not a set.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Whether the file ends in the middle of a set, for now.
    pub fn is_cut(&self) -> bool {
        !self.rest.is_empty()
    }

    /// The last reading of each set, by level, CPU or coprocessor group, and set.
    pub fn sets(&self) -> Vec<CounterValues> {
        self.sets.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::counters::tests::payload;
    use std::fs;

    #[test]
    fn the_last_reading_of_each_set_is_kept_and_half_a_set_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("counters.bin");
        let mut file = CounterFile::default();
        assert!(file.read(&path).unwrap() && file.sets().is_empty());
        let first = payload(0, Level::Machine, 1, 0, &[5, 6]);
        let second = payload(0, Level::Machine, 1, 0, &[7, 8]);
        fs::write(&path, [&first[..], &second[..15]].concat()).unwrap();
        assert!(file.read(&path).unwrap() && file.is_cut());
        assert_eq!(file.sets()[0].values, [5, 6]);
        let other = payload(1, Level::Guest, 2, 32, &[1]);
        fs::write(&path, [first.clone(), second, other].concat()).unwrap();
        assert!(file.read(&path).unwrap() && !file.is_cut());
        let sets = file.sets();
        assert_eq!((sets.len(), &sets[0].values[..]), (2, &[7, 8][..]));
        fs::write(&path, first).unwrap();
        assert!(!file.read(&path).unwrap(), "another file");
    }

    #[test]
    fn garbage_ends_the_reading_in_a_bounded_buffer() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("counters.bin");
        let mut file = CounterFile::default();
        let mut bytes = payload(0, Level::Machine, 1, 0, &[5]);
        bytes.extend(vec![0xEE; LONGEST + 1]);
        fs::write(&path, &bytes).unwrap();
        assert!(file.read(&path).unwrap());
        assert!(file.is_damaged() && file.rest.is_empty());
        assert_eq!(file.sets()[0].values, [5]);
        bytes.extend([0; 100]);
        fs::write(&path, &bytes).unwrap();
        assert!(file.read(&path).unwrap() && file.is_damaged());
    }
}
