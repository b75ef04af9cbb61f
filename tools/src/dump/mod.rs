//! `measure dump`: shows what is in a file of samples, counters or monitor records.
//!
//! What a file is, it says itself ([`recognise`]); its name does not matter. Every field is printed with the
//! name that its manual gives it ([`mod@print`]), record by record as it is read, so a file may be longer than
//! storage. At the first thing that is wrong the dump ends with offset and field of that, and what was good
//! before has been printed.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Seek, Write},
    path::Path,
};

use anyhow::{Context, Result, anyhow, bail};
use millimeter::record::Malformed;

use print::Printer;

#[cfg(test)]
mod fixtures;
pub mod lines;
pub mod monitor;
pub mod parts;
pub mod print;
pub mod recognise;
pub mod samples;
pub mod smf;
#[cfg(test)]
mod tests;

pub use print::Form;
pub use recognise::Kind;

/// Prints the file to `out`.
pub fn dump(path: &Path, form: Form, out: &mut dyn Write) -> Result<()> {
    let name = path.display();
    let mut file = File::open(path).with_context(|| format!("cannot open {name}"))?;
    let length = file
        .metadata()
        .with_context(|| format!("cannot read {name}"))?;
    if !length.is_file() {
        bail!("{name} is no file; name one of the files in it");
    }
    let mut out = BufWriter::new(out);
    let mut printer = Printer::new(&mut out, form);
    let done = print(&mut file, length.len(), &mut printer);
    // What was good is printed even if something else is wrong.
    printer.finish()?;
    done.with_context(|| name.to_string())
}

fn print(file: &mut File, length: u64, printer: &mut Printer<'_>) -> Result<()> {
    let kind = recognise::recognise(file, length)?;
    file.rewind().context("cannot read it from the beginning")?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    match kind {
        Kind::Samples { block } => samples::print(&mut file, block, printer),
        Kind::Counters(encoding) => lines::print_counters(&mut file, encoding, printer),
        Kind::Map(encoding) => lines::print_map(&mut file, encoding, printer),
        Kind::Smf { blocks } => smf::print(&mut file, blocks, printer),
        Kind::Monitor => monitor::print(&mut file, printer),
    }
}

/// The first thing that is wrong with a record that begins at `base`, as an error.
fn wrong(base: u64, malformed: Malformed) -> anyhow::Error {
    let (offset, field, problem) = (malformed.at(base), malformed.field, malformed.problem);
    anyhow!("offset {offset} ({offset:X} hexadecimal), field {field}: {problem}")
}

/// Reads up to `length` bytes, fewer only at the end of the file, behind what `bytes` has.
fn fill(file: &mut dyn Read, bytes: &mut Vec<u8>, length: usize) -> Result<usize> {
    let limit = u64::try_from(length).unwrap_or(u64::MAX);
    file.take(limit)
        .read_to_end(bytes)
        .context("cannot read on")
}
