//! A file of sample-data blocks that somebody is still writing.
//!
//! Only whole blocks are read, each once. What follows the last whole block is the beginning of another or a loss;
//! only the end of the run tells which.

use std::{
    cell::Cell,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::Path,
    rc::Rc,
    time::SystemTime,
};

use crate::{
    folder,
    profile::{
        BlockFile,
        blocks::{BlockCounts, Blocks},
    },
    symbols::names::Names,
};

use super::tally::SampleTally;

/// Identifies a file's present content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Device and number of the file.
    identity: (u64, u64),
    /// Its length.
    pub length: u64,
    /// When it was written.
    pub written: Option<SystemTime>,
}

impl Stamp {
    /// The stamp of the file with this name; `None` if there is no regular file.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Self {
            identity: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            written: metadata.modified().ok(),
        })
    }

    /// Which file it is, apart from its content.
    pub fn identity(self) -> Self {
        Self {
            length: 0,
            written: None,
            ..self
        }
    }
}

/// Reads at most a given number of bytes of a file.
struct Allowed {
    file: File,
    left: Rc<Cell<u64>>,
}

impl Read for Allowed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let read = self.file.read(&mut buffer[..most])?;
        self.left.set(self.left.get() - read as u64);
        Ok(read)
    }
}

/// The file, as far as it has been read.
pub struct Tail {
    /// Which one it is.
    pub file: BlockFile,
    identity: (u64, u64),
    blocks: Blocks<Allowed>,
    left: Rc<Cell<u64>>,
    read: u64,
    length: u64,
    /// When the last full block became full: TOD clock, bits 0-63; 0 if none did.
    pub full_at: u64,
    samples: u64,
}

/// The outcome of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// What has come was read.
    Done,
    /// It is another file by now, and what was read is no longer valid.
    Another,
}

impl Tail {
    /// Opens a file at its beginning; `None` if it is not a regular file.
    pub fn open(file: BlockFile) -> io::Result<Option<Self>> {
        let Some(stamp) = Stamp::of(&file.path) else {
            return Ok(None);
        };
        let left = Rc::new(Cell::new(0));
        let allowed = Allowed {
            file: folder::open(&file.path)?,
            left: Rc::clone(&left),
        };
        Ok(Some(Self {
            blocks: Blocks::new(allowed, file.block),
            identity: stamp.identity,
            file,
            left,
            read: 0,
            length: 0,
            full_at: 0,
            samples: 0,
        }))
    }

    /// Reads the whole blocks that have come, but at most about `most` bytes.
    pub fn read(
        &mut self,
        most: u64,
        names: &Names,
        tally: &mut SampleTally,
    ) -> io::Result<Reading> {
        let stamp = Stamp::of(&self.file.path);
        let Some(stamp) =
            stamp.filter(|stamp| stamp.identity == self.identity && stamp.length >= self.read)
        else {
            return Ok(Reading::Another);
        };
        self.length = stamp.length;
        let block = self.file.block as u64;
        let whole = self.behind().min(most.max(block) / block * block);
        self.left.set(whole);
        while self.blocks.advance()? {
            for entry in &self.blocks.entries {
                if !entry.invalid() {
                    self.samples += 1;
                    tally.count(self.file.cpu, entry, names);
                }
            }
            self.full_at = self.full_at.max(self.blocks.full_at.unwrap_or(0));
        }
        self.read += whole - self.left.get();
        Ok(Reading::Done)
    }

    /// Bytes of whole blocks that have not been read.
    pub fn behind(&self) -> u64 {
        let block = self.file.block as u64;
        self.length.saturating_sub(self.read) / block * block
    }

    /// Bytes that have been read.
    pub fn bytes(&self) -> u64 {
        self.read
    }

    /// Whether there is something behind the last whole block.
    pub fn is_cut(&self) -> bool {
        !self.length.is_multiple_of(self.file.block as u64)
    }

    /// What was found up to now.
    pub fn found(&self) -> BlockCounts {
        BlockCounts {
            samples: self.samples,
            ..self.blocks.found
        }
    }
}
