//! A file that ends behind something whole, whatever happens while it is written.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    path::Path,
};

/// A file to which blocks, records or lines are appended.
///
/// A disk that becomes full takes the first part of a piece. That part is taken back, so whoever reads the file
/// finds whole pieces and nothing else.
#[derive(Debug)]
pub struct Whole {
    file: File,
    /// Behind the last whole piece.
    end: u64,
}

impl Whole {
    /// An empty file; one that was there before is replaced.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::create(path)?,
            end: 0,
        })
    }

    /// Appends a piece, all of it or nothing.
    pub fn append(&mut self, piece: &[u8]) -> io::Result<()> {
        let done = self.file.write_all(piece);
        if done.is_ok() {
            self.end += piece.len() as u64;
        } else {
            // What has no length, as a device, keeps what it took; the first error is the one that matters.
            let _ = self.file.set_len(self.end);
            let _ = self.file.seek(SeekFrom::Start(self.end));
        }
        done
    }
}
