//! The files of call stacks, read as a stream beside the samples.
//!
//! A stack belongs to the sample of its number, and has that sample's address. One that has not is of another sample: a
//! block was lost on the way. It is counted and not used.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use link::stack::{self, End, StackHead};
use zerocopy::IntoBytes;

use super::places::Places;
use crate::folder::{PLACES, optional, stacks_name};

/// A call stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallStack {
    /// Return addresses, the innermost first.
    pub returns: Vec<u64>,
    /// Why there are no more.
    pub end: End,
}

/// What was found in the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackCounts {
    /// Stacks by why they ended.
    pub ends: BTreeMap<End, u64>,
    /// Samples without a stack.
    pub missing: u64,
    /// Files that are cut off or damaged.
    pub damaged: u64,
}

impl StackCounts {
    /// Stacks.
    #[must_use]
    pub fn stacks(&self) -> u64 {
        self.ends.values().sum()
    }
}

/// The call stacks of a run.
pub struct Stacks {
    directory: PathBuf,
    places: Places,
    files: BTreeMap<u16, Reader>,
    /// What was found up to now.
    pub found: StackCounts,
}

impl Stacks {
    /// Those of a folder; `None` if it has none of these CPUs.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of_run(directory: &Path, cpus: &[u16]) -> Result<Option<Self>> {
        let exists = |cpu: &u16| directory.join(stacks_name(*cpu)).exists();
        if !cpus.iter().any(exists) {
            return Ok(None);
        }
        let text = optional(&directory.join(PLACES))?.unwrap_or_default();
        let places = Places::from_text(&String::from_utf8_lossy(&text));
        let found = StackCounts {
            damaged: u64::from(places.is_err()),
            ..StackCounts::default()
        };
        Ok(Some(Self {
            directory: directory.to_owned(),
            places: places.unwrap_or_default(),
            files: BTreeMap::new(),
            found,
        }))
    }

    /// The stack of the sample with this number on its CPU and this address. The samples of a CPU come in ascending
    /// order.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of_sample(&mut self, cpu: u16, number: u64, address: u64) -> Result<Option<CallStack>> {
        if !self.files.contains_key(&cpu) {
            let path = self.directory.join(stacks_name(cpu));
            self.files.insert(cpu, Reader::open(&path)?);
        }
        let Some(reader) = self.files.get_mut(&cpu) else {
            return Ok(None);
        };
        let was_damaged = reader.is_damaged;
        let found = reader.find(number)?;
        let found = found.filter(|(head, _)| head.address.get() == address);
        self.found.damaged += u64::from(reader.is_damaged && !was_damaged);
        let Some((head, chain)) = found else {
            self.found.missing += 1;
            return Ok(None);
        };
        let end = End::from_number(head.end).unwrap_or(End::Complete);
        *self.found.ends.entry(end).or_default() += 1;
        let place = self.places.at(address);
        let mut returns = place.returns(head.link.get(), head.saved_link.get(), &chain);
        // In the first frame of a program nobody need have saved anything.
        while returns.last() == Some(&0) {
            returns.pop();
        }
        Ok(Some(CallStack { returns, end }))
    }
}

type Found = (StackHead, Vec<u64>);

/// One file.
struct Reader {
    file: Option<BufReader<File>>,
    path: PathBuf,
    /// The stack that was read last.
    ahead: Option<Found>,
    is_damaged: bool,
}

impl Reader {
    fn open(path: &Path) -> Result<Self> {
        let about = || format!("cannot open {}", path.display());
        let file = match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            _ => Some(BufReader::new(File::open(path).with_context(about)?)),
        };
        Ok(Self {
            file,
            path: path.to_owned(),
            ahead: None,
            is_damaged: false,
        })
    }

    /// The stack of sample `number`, if there is one.
    fn find(&mut self, number: u64) -> Result<Option<Found>> {
        loop {
            match &self.ahead {
                Some((head, _)) if head.sample.get() > number => return Ok(None),
                Some((head, _)) if head.sample.get() == number => return Ok(self.ahead.take()),
                _ => {}
            }
            self.ahead = self
                .next()
                .with_context(|| format!("cannot read {}", self.path.display()))?;
            if self.ahead.is_none() {
                return Ok(None);
            }
        }
    }

    /// The next stack. Nothing follows a damaged one.
    fn next(&mut self) -> std::io::Result<Option<Found>> {
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        let mut bytes = [0; size_of::<StackHead>()];
        let read = read_up_to(file, &mut bytes)?;
        let mut whole = bytes.to_vec();
        if read == bytes.len() {
            let head: StackHead = zerocopy::transmute!(bytes);
            let count = usize::from(head.count.get()).min(stack::MOST_FRAMES);
            let mut returns = vec![0; count * 8];
            let read = read_up_to(file, &mut returns)?;
            whole.extend(&returns[..read]);
            if let Ok((found, _)) = stack::first(&whole) {
                let returns = found.returns.iter().map(|found| found.get());
                return Ok(Some((*found.head, returns.collect())));
            }
        }
        self.is_damaged = read != 0;
        self.file = None;
        Ok(None)
    }
}

fn read_up_to(file: &mut impl Read, into: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match file.read(&mut into[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// A stack as its file has it.
#[must_use]
pub fn bytes(head: &StackHead, returns: &[u64]) -> Vec<u8> {
    let mut bytes = head.as_bytes().to_vec();
    bytes.extend(returns.iter().flat_map(|found| found.to_be_bytes()));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(sample: u64, count: u16) -> StackHead {
        StackHead {
            sample: sample.into(),
            address: (0x1000 + sample).into(),
            link: 0x77.into(),
            count: count.into(),
            ..StackHead::default()
        }
    }

    #[test]
    fn a_sample_has_the_stack_of_its_number_if_the_address_is_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let none = Stacks::of_run(directory.path(), &[0, 1]).unwrap();
        assert!(none.is_none());
        let mut file = bytes(&head(0, 2), &[7, 0]);
        file.extend(bytes(&head(2, 1), &[8]));
        file.extend(bytes(&head(3, 1), &[9]));
        file.extend(&bytes(&head(4, 1), &[9])[..50]);
        fs::write(directory.path().join(stacks_name(1)), file).unwrap();
        let places = "0000000000001003\t0000000000001004\tregister\n";
        fs::write(directory.path().join(PLACES), places).unwrap();
        let mut stacks = Stacks::of_run(directory.path(), &[0, 1]).unwrap().unwrap();
        let mut of = |cpu, number, address| {
            let found = stacks.of_sample(cpu, number, address).unwrap();
            found.map(|found| found.returns)
        };
        assert_eq!(of(1, 0, 0x1000), Some(vec![7]));
        assert_eq!(of(1, 1, 0x1001), None);
        assert_eq!(of(1, 2, 0x2000), None);
        assert_eq!(of(0, 0, 0x1000), None);
        assert_eq!(of(1, 3, 0x1003), Some(vec![0x77, 9]));
        assert_eq!(of(1, 4, 0x1004), None);
        assert_eq!((stacks.found.stacks(), stacks.found.missing), (2, 4));
        assert_eq!(stacks.found.damaged, 1);
        // Without its places a stack still has its chain.
        fs::write(directory.path().join(PLACES), "nothing").unwrap();
        let mut stacks = Stacks::of_run(directory.path(), &[1]).unwrap().unwrap();
        assert_eq!(stacks.found.damaged, 1);
        let found = stacks.of_sample(1, 3, 0x1003).unwrap();
        assert_eq!(found.map(|found| found.returns), Some(vec![9]));
    }
}
