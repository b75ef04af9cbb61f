//! A file of SMF records, with or without block-descriptor words around them, record by record.

use std::io::Read;

use anyhow::Result;
use record::{Malformed, Problem};

use super::{fill, wrong};

/// The fewest bytes of an SMF record: a header without subtypes, as far as the system identifier.
pub const SHORTEST: usize = 18;

/// Reads records.
pub(crate) struct Reader<'r> {
    file: &'r mut dyn Read,
    /// Where the next byte is in the file.
    pub(crate) at: u64,
    /// Bytes that are left in the block; `None` if there are no blocks.
    block: Option<u64>,
}

impl<'r> Reader<'r> {
    /// Reads a file from its beginning, with or without block-descriptor words.
    pub(crate) fn new(file: &'r mut dyn Read, blocks: bool) -> Self {
        Self {
            file,
            at: 0,
            block: blocks.then_some(0),
        }
    }

    /// Puts the next record into `bytes`, as much as there is of it. False at the end of the file.
    pub(crate) fn next(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        bytes.clear();
        if self.block == Some(0) && !self.begin_block(bytes)? {
            return Ok(false);
        }
        let read = fill(self.file, bytes, 4)?;
        self.at += read as u64;
        let start = self.at - read as u64;
        let malformed = |field, problem| {
            let malformed = Malformed {
                offset: 0,
                field,
                problem,
            };
            Err(wrong(start, malformed))
        };
        if read == 0 && self.block.is_none() {
            return Ok(false);
        }
        let Some([high, low, ..]) = bytes.first_chunk::<4>() else {
            return malformed("RDW", Problem::Missing);
        };
        let says = u64::from(u16::from_be_bytes([*high, *low]));
        let least = SHORTEST as u64;
        if says < least {
            return malformed("RDW", Problem::TooShort { says, least });
        }
        if let Some(left) = &mut self.block {
            if says > *left {
                let (end, limit) = (start + says, start + *left);
                return malformed("RDW", Problem::Beyond { end, limit });
            }
            *left -= says;
        }
        let more = fill(self.file, bytes, says as usize - 4)?;
        self.at += more as u64;
        let there = (more + 4) as u64;
        if there < says {
            return malformed("RDW", Problem::Truncated { says, there });
        }
        Ok(true)
    }

    fn begin_block(&mut self, bytes: &mut Vec<u8>) -> Result<bool> {
        let start = self.at;
        let read = fill(self.file, bytes, 4)?;
        self.at += read as u64;
        let malformed = |problem| {
            let malformed = Malformed {
                offset: 0,
                field: "BDW",
                problem,
            };
            Err(wrong(start, malformed))
        };
        if read == 0 {
            return Ok(false);
        }
        let Some(word) = bytes.first_chunk().copied().map(u32::from_be_bytes) else {
            return malformed(Problem::Missing);
        };
        let (says, found) = match word >> 31 {
            1 => (word & 0x7FFF_FFFF, 0),
            _ => (word >> 16, word & 0xFFFF),
        };
        if found != 0 {
            let (found, expected) = (found.into(), "zeros behind the length");
            return malformed(Problem::Value { found, expected });
        }
        let (says, least) = (u64::from(says), (4 + SHORTEST) as u64);
        if says < least {
            return malformed(Problem::TooShort { says, least });
        }
        self.block = Some(says - 4);
        bytes.clear();
        Ok(true)
    }
}
