//! A file that never ends in the middle of a piece, even when writing fails.

use std::{
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    path::Path,
};

/// A file to which blocks, records or lines are appended.
///
/// A disk that becomes full takes only the first part of a piece. That part is removed again, so a reader finds
/// whole pieces only.
#[derive(Debug)]
pub struct AppendedFile {
    file: File,
    /// Length of the whole pieces.
    end: u64,
}

impl AppendedFile {
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
            // A device cannot be shortened and keeps what it took. The first error is the one that matters.
            let _ = self.file.set_len(self.end);
            let _ = self.file.seek(SeekFrom::Start(self.end));
        }
        done
    }
}
