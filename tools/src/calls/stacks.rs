//! The files of call stacks, read as a stream beside the samples.
//!
//! A stack belongs to the sample of its number, and has that sample's address. One that has not is of another sample: a
//! block was lost on the way. It is counted and not used.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::{self, File},
    io::{BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result};
use link::{
    copies::{self, CopyHead, LONGEST_COPY, StackCopy},
    stack::{self, End, StackHead},
};
use zerocopy::{FromBytes, IntoBytes};

use super::{places::Places, unwind::Unwinder};
use crate::{
    folder::{self, PLACES, copies_name, optional, stacks_name},
    symbols::{mapped::Programs, names::Frame},
};

/// A call stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallStack {
    /// The callers, the innermost first.
    pub callers: Vec<Frame>,
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
    files: BTreeMap<u16, Reader<StackRecord>>,
    copies: BTreeMap<u16, Reader<CopyRecord>>,
    programs: Arc<Programs>,
    /// Where the routines of each mapped file have their return addresses.
    of_files: BTreeMap<usize, Places>,
    unwinder: Unwinder,
    /// What was found up to now.
    pub found: StackCounts,
}

impl Stacks {
    /// Those of a folder; `None` if it has none of these CPUs. `programs` is what the processes of Linux mapped.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of_run(directory: &Path, cpus: &[u16], programs: Arc<Programs>) -> Result<Option<Self>> {
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
            copies: BTreeMap::new(),
            programs,
            of_files: BTreeMap::new(),
            unwinder: Unwinder::default(),
            found,
        }))
    }

    /// The stack of the sample with this number on its CPU and this address. The samples of a CPU come in ascending
    /// order.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of_sample(&mut self, sample: &Sampled) -> Result<Option<CallStack>> {
        let Sampled { cpu, number, .. } = *sample;
        let found = find(
            &mut self.files,
            &self.directory.join(stacks_name(cpu)),
            cpu,
            number,
        );
        let copied = find(
            &mut self.copies,
            &self.directory.join(copies_name(cpu)),
            cpu,
            number,
        );
        let ((found, damaged), (copied, also)) = (found?, copied?);
        self.found.damaged += u64::from(damaged) + u64::from(also);
        let found = found.filter(|(head, _)| head.address.get() == sample.address);
        let Some((head, chain)) = found else {
            self.found.missing += 1;
            return Ok(None);
        };
        let copied = copied
            .as_ref()
            .map(|(head, bytes)| StackCopy { head, bytes });
        let stack = self.stack(sample, &head, &chain, copied.as_ref());
        *self.found.ends.entry(stack.end).or_default() += 1;
        Ok(Some(stack))
    }

    fn stack(
        &mut self,
        sample: &Sampled,
        head: &StackHead,
        chain: &[u64],
        copied: Option<&StackCopy<'_>>,
    ) -> CallStack {
        let mut end = End::from_number(head.end).unwrap_or(End::Complete);
        let (link, saved) = (head.link.get(), head.saved_link.get());
        if sample.is_program {
            let copied = copied.filter(|copy| copy.head.address == head.address);
            let callers = match copied {
                Some(copy) => {
                    let unwound = self.unwinder.unwind(&self.programs, sample.process, copy);
                    end = unwound.1;
                    unwound.0
                }
                None => self.of_program(sample.process, sample.address, [link, saved], chain),
            };
            return CallStack { callers, end };
        }
        // Behind the kernel's part there may be that of a program.
        let program = usize::from(head.program.get()).checked_sub(1);
        let (chain, program) = match program.and_then(|at| chain.split_at_checked(at)) {
            Some((kernels, [address, link, saved, rest @ ..])) => {
                (kernels, Some((*address, [*link, *saved], rest)))
            }
            _ => (chain, None),
        };
        let place = self.places.at(sample.address);
        let mut callers = frames(&place.returns(link, saved, chain), false);
        if let Some((address, links, rest)) = program {
            callers.push(Frame {
                address,
                is_return: false,
                is_program: true,
            });
            let copied = copied.filter(|copy| copy.head.address.get() == address);
            match copied {
                Some(copy) => {
                    let (more, why) = self.unwinder.unwind(&self.programs, sample.process, copy);
                    callers.extend(more);
                    end = why;
                }
                None => callers.extend(self.of_program(sample.process, address, links, rest)),
            }
        }
        CallStack { callers, end }
    }

    /// The callers in a program of Linux, by its back chain.
    fn of_program(
        &mut self,
        process: u32,
        address: u64,
        [link, saved]: [u64; 2],
        chain: &[u64],
    ) -> Vec<Frame> {
        let returns = match self.programs.find(process, address) {
            Some(place) => {
                let content = place.file.content();
                let places = self.of_files.entry(place.number);
                let places = places
                    .or_insert_with(|| Places::of(&content.symbols, |range| content.text(range)));
                places.at(place.address).returns(link, saved, chain)
            }
            None => chain.to_vec(),
        };
        frames(&returns, true)
    }
}

/// A sample, as far as its stack needs it.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// Its CPU.
    pub cpu: u16,
    /// Its number on that CPU.
    pub number: u64,
    /// Its instruction address.
    pub address: u64,
    /// The process of Linux.
    pub process: u32,
    /// Whether that process was in its own program.
    pub is_program: bool,
}

/// The frames of return addresses; an odd one is that of an interruption.
fn frames(returns: &[u64], is_program: bool) -> Vec<Frame> {
    // In the first frame of a program nobody need have saved anything.
    let used = returns.iter().rposition(|address| *address != 0);
    let used = &returns[..used.map_or(0, |last| last + 1)];
    used.iter()
        .map(|address| Frame {
            address: address & !1,
            is_return: address & 1 == 0,
            is_program,
        })
        .collect()
}

/// The record of a sample in its CPU's file, and whether the file was found to be damaged now.
fn find<R: Record>(
    files: &mut BTreeMap<u16, Reader<R>>,
    path: &Path,
    cpu: u16,
    number: u64,
) -> Result<(Option<R::Found>, bool)> {
    let reader = match files.entry(cpu) {
        Entry::Occupied(reader) => reader.into_mut(),
        Entry::Vacant(place) => place.insert(Reader::open(path)?),
    };
    let was_damaged = reader.is_damaged;
    let found = reader.find(number)?;
    Ok((found, reader.is_damaged && !was_damaged))
}

/// What a file has for each sample: a heading, and more of a length that the heading gives.
trait Record {
    /// A record.
    type Found;
    /// Bytes of its heading.
    const HEAD: usize;
    /// Bytes behind the heading; no more than a good one can have.
    fn rest(head: &[u8]) -> usize;
    /// The record of these bytes, and the number of its sample.
    fn of(bytes: &[u8]) -> Option<(u64, Self::Found)>;
}

/// A call stack.
struct StackRecord;

impl Record for StackRecord {
    type Found = (StackHead, Vec<u64>);
    const HEAD: usize = size_of::<StackHead>();

    fn rest(head: &[u8]) -> usize {
        let count = StackHead::ref_from_bytes(head).map_or(0, |head| head.count.get());
        usize::from(count).min(stack::MOST_FRAMES) * 8
    }

    fn of(bytes: &[u8]) -> Option<(u64, Self::Found)> {
        let (found, _) = stack::first(bytes).ok()?;
        let returns = found.returns.iter().map(|found| found.get()).collect();
        Some((found.head.sample.get(), (*found.head, returns)))
    }
}

/// A copy of a stack.
struct CopyRecord;

impl Record for CopyRecord {
    type Found = (CopyHead, Vec<u8>);
    const HEAD: usize = size_of::<CopyHead>();

    fn rest(head: &[u8]) -> usize {
        let length = CopyHead::ref_from_bytes(head).map_or(0, |head| head.length.get());
        length.min(LONGEST_COPY) as usize
    }

    fn of(bytes: &[u8]) -> Option<(u64, Self::Found)> {
        let (found, _) = copies::first(bytes).ok()?;
        Some((found.head.sample.get(), (*found.head, found.bytes.to_vec())))
    }
}

/// One file.
struct Reader<R: Record> {
    file: Option<BufReader<File>>,
    path: PathBuf,
    /// The record that was read last, and the number of its sample.
    ahead: Option<(u64, R::Found)>,
    is_damaged: bool,
}

impl<R: Record> Reader<R> {
    fn open(path: &Path) -> Result<Self> {
        let about = || format!("cannot open {}", path.display());
        let file = match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            _ => Some(BufReader::new(folder::open(path).with_context(about)?)),
        };
        Ok(Self {
            file,
            path: path.to_owned(),
            ahead: None,
            is_damaged: false,
        })
    }

    /// The record of sample `number`, if there is one.
    fn find(&mut self, number: u64) -> Result<Option<R::Found>> {
        loop {
            match &self.ahead {
                Some((sample, _)) if *sample > number => return Ok(None),
                Some((sample, _)) if *sample == number => {
                    return Ok(self.ahead.take().map(|(_, found)| found));
                }
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

    /// The next record. Nothing follows a damaged one.
    fn next(&mut self) -> std::io::Result<Option<(u64, R::Found)>> {
        let Some(file) = &mut self.file else {
            return Ok(None);
        };
        let mut whole = vec![0; R::HEAD];
        let mut read = read_up_to(file, &mut whole)?;
        if read == R::HEAD {
            let rest = R::rest(&whole);
            whole.resize(R::HEAD + rest, 0);
            read += read_up_to(file, &mut whole[R::HEAD..])?;
            if read == whole.len()
                && let Some(found) = R::of(&whole)
            {
                return Ok(Some(found));
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
            link: 0x76.into(),
            count: count.into(),
            ..StackHead::default()
        }
    }

    fn kernels(cpu: u16, number: u64, address: u64) -> Sampled {
        Sampled {
            cpu,
            number,
            address,
            process: 0,
            is_program: false,
        }
    }

    fn addresses(found: &CallStack) -> Vec<u64> {
        found.callers.iter().map(|caller| caller.address).collect()
    }

    #[test]
    fn a_sample_has_the_stack_of_its_number_if_the_address_is_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let of_run = |cpus: &[u16]| Stacks::of_run(directory.path(), cpus, Arc::default()).unwrap();
        let none = of_run(&[0, 1]);
        assert!(none.is_none());
        let mut file = bytes(&head(0, 2), &[6, 0]);
        file.extend(bytes(&head(2, 1), &[8]));
        file.extend(bytes(&head(3, 1), &[8]));
        file.extend(&bytes(&head(4, 1), &[8])[..50]);
        fs::write(directory.path().join(stacks_name(1)), file).unwrap();
        let places = "0000000000001003\t0000000000001004\tregister\n";
        fs::write(directory.path().join(PLACES), places).unwrap();
        let mut stacks = of_run(&[0, 1]).unwrap();
        let mut of = |cpu, number, address| {
            let found = stacks.of_sample(&kernels(cpu, number, address)).unwrap();
            found.map(|found| addresses(&found))
        };
        assert_eq!(of(1, 0, 0x1000), Some(vec![6]));
        assert_eq!(of(1, 1, 0x1001), None);
        assert_eq!(of(1, 2, 0x2000), None);
        assert_eq!(of(0, 0, 0x1000), None);
        assert_eq!(of(1, 3, 0x1003), Some(vec![0x76, 8]));
        assert_eq!(of(1, 4, 0x1004), None);
        assert_eq!((stacks.found.stacks(), stacks.found.missing), (2, 4));
        assert_eq!(stacks.found.damaged, 1);
        // Without its places a stack still has its chain.
        fs::write(directory.path().join(PLACES), "nothing").unwrap();
        let mut stacks = of_run(&[1]).unwrap();
        assert_eq!(stacks.found.damaged, 1);
        let found = stacks.of_sample(&kernels(1, 3, 0x1003)).unwrap();
        assert_eq!(found.map(|found| addresses(&found)), Some(vec![8]));
    }
}
