//! File formats: recognises the format of a file, and reads its pieces.

use std::io::Read;

use anyhow::{Context, Result, anyhow};
use record::Malformed;

pub mod counters;
pub mod csv;
pub mod gzip;
pub mod ipl_record;
pub mod lines;
pub mod recognise;
pub mod samples;
pub mod smf;

/// The first error in a record that begins at `base`.
pub(crate) fn wrong(base: u64, malformed: Malformed) -> anyhow::Error {
    let (offset, field, problem) = (malformed.at(base), malformed.field, malformed.problem);
    anyhow!("offset {offset} ({offset:X} hexadecimal), field {field}: {problem}")
}

/// Appends up to `length` bytes to `bytes`, fewer only at the end of the file.
pub(crate) fn fill(file: &mut dyn Read, bytes: &mut Vec<u8>, length: usize) -> Result<usize> {
    let limit = u64::try_from(length).unwrap_or(u64::MAX);
    file.take(limit)
        .read_to_end(bytes)
        .context("cannot read on")
}
