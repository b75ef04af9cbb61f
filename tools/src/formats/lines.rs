//! Text files line by line: in ASCII, or in EBCDIC as z/OS writes them.

use std::io::{BufRead, Read};

use anyhow::{Context, Result};
use {
    arch::ebcdic,
    record::{Malformed, Problem},
};

use super::{
    recognise::{Encoding, NEW_LINE},
    wrong,
};

/// The longest line.
const LONGEST_LINE: usize = 1 << 14;

/// Reads lines.
pub(crate) struct Lines<'r> {
    file: &'r mut dyn BufRead,
    encoding: Encoding,
    /// Where the line begins in the file.
    start: u64,
    /// Where the next one begins.
    pub(crate) next: u64,
    line: Vec<u8>,
}

impl<'r> Lines<'r> {
    pub(crate) fn new(file: &'r mut dyn BufRead, encoding: Encoding) -> Self {
        Self {
            file,
            encoding,
            start: 0,
            next: 0,
            line: Vec::new(),
        }
    }

    /// The next line, in ASCII and without its end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        let end = match self.encoding {
            Encoding::Ascii => b'\n',
            Encoding::Ebcdic => NEW_LINE,
        };
        self.line.clear();
        self.start = self.next;
        let read = Read::take(&mut *self.file, LONGEST_LINE as u64)
            .read_until(end, &mut self.line)
            .context("cannot read on")?;
        self.next += read as u64;
        if read == 0 {
            return Ok(None);
        }
        if self.line.last() == Some(&end) {
            self.line.pop();
        } else if read == LONGEST_LINE {
            let malformed = Malformed {
                offset: 0,
                field: "line",
                problem: Problem::Form {
                    expected: "shorter than 16,384 characters",
                },
            };
            return Err(wrong(self.start, malformed));
        }
        if self.encoding == Encoding::Ebcdic {
            for byte in &mut self.line {
                *byte = ebcdic::character(*byte).map_or(b'?', |character| character as u8);
            }
        }
        Ok(Some(&self.line))
    }
}
