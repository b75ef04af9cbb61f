//! `measure dump`: shows what is in a file of samples, counters or monitor records.
//!
//! The content decides what a file is ([`recognise`]). If the content does not tell, the name does, so that a file
//! with damaged first bytes is read and the damage is named. Every field is printed under the name in its manual
//! ([`mod@print`]), record by record as it is read. Only one block, record or line is in storage, however long the file
//! is.
//!
//! What is wrong is named with the offset and the field when the dump ends ([`findings`]). A field that breaks a rule
//! does not end it; a record, block or line that cannot be found does.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::{
    computer::{
        input_file,
        progress::{Progress, Step},
    },
    formats::recognise::{self, Kind},
};
use findings::Findings;
use print::Printer;

pub mod findings;
#[cfg(test)]
mod fixtures;
pub mod lines;
pub mod monitor;
pub mod parts;
pub mod print;
pub mod samples;
pub mod smf;
#[cfg(test)]
mod tests;

pub use print::{Form, Manner};

/// Prints the file to `out`.
pub fn dump(
    path: &Path,
    manner: impl Into<Manner>,
    progress: Progress,
    out: &mut dyn Write,
) -> Result<()> {
    let name = path.display();
    let cannot_open = || format!("cannot open {name}");
    // A FIFO without a writer would not even open.
    let about = fs::metadata(path).with_context(cannot_open)?;
    if about.is_dir() {
        bail!("{name} is not a file; name one of the files in it");
    }
    if !about.is_file() {
        bail!("{name} is not a regular file; copy what it has into one");
    }
    let mut file = input_file::open(path).with_context(cannot_open)?;
    let about = file.metadata();
    let length = about.with_context(|| format!("cannot read {name}"))?.len();
    let done = recognise::recognise(&mut file, length).and_then(|kind| {
        let kind = kind.or_else(|| recognise::named(path));
        let file = WatchedFile::new(file, length, progress);
        print(kind, file, manner.into(), out)
    });
    done.with_context(|| name.to_string())
}

/// Prints a file of `length` bytes that has no name.
pub fn read(
    file: &mut (impl Read + Seek),
    length: u64,
    form: Form,
    out: &mut dyn Write,
) -> Result<()> {
    let kind = recognise::recognise(file, length)?;
    print(kind, file, form.into(), out)
}

fn print(
    kind: Option<Kind>,
    mut file: impl Read + Seek,
    manner: Manner,
    out: &mut dyn Write,
) -> Result<()> {
    let kind = kind.context(recognise::UNKNOWN)?;
    file.rewind().context("cannot read it from the beginning")?;
    let mut file = BufReader::with_capacity(1 << 16, file);
    read_as(kind, &mut file, manner, out)
}

/// Prints a file that is of this kind.
pub fn read_as(
    kind: Kind,
    file: &mut dyn BufRead,
    manner: impl Into<Manner>,
    out: &mut dyn Write,
) -> Result<()> {
    let Manner { form, zos } = manner.into();
    let mut out = BufWriter::new(out);
    let mut printer = Printer::new(&mut out, form);
    let mut findings = Findings::default();
    let done = match kind {
        Kind::Samples { block } => samples::print(file, (block, zos), &mut printer, &mut findings),
        Kind::Counters(encoding) => {
            lines::print_counters(file, encoding, &mut printer, &mut findings)
        }
        Kind::Map(encoding) => lines::print_map(file, encoding, &mut printer),
        Kind::Smf { blocks } => smf::print(file, blocks, &mut printer, &mut findings),
        Kind::Monitor => monitor::print(file, &mut printer, &mut findings),
    };
    // Everything before an error is printed.
    printer.finish()?;
    findings.end(done)
}

/// After this time progress is shown.
const PATIENCE: Duration = Duration::from_secs(2);

/// A file that shows how much of it has been read.
struct WatchedFile {
    file: File,
    length: u64,
    read: u64,
    progress: Progress,
    began: Instant,
    step: Option<Step>,
}

impl WatchedFile {
    fn new(file: File, length: u64, progress: Progress) -> Self {
        Self {
            file,
            length,
            read: 0,
            progress,
            began: Instant::now(),
            step: None,
        }
    }
}

impl Read for WatchedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read += read as u64;
        if self.step.is_none() && self.began.elapsed() >= PATIENCE {
            let what = format!("dumping {} MB", self.length / 1_000_000);
            self.step = Some(self.progress.step(&what).since(self.began));
        }
        if let Some(step) = &mut self.step {
            let percent = u128::from(self.read) * 100 / u128::from(self.length.max(1));
            let how_far = format!("{percent} %");
            step.reach_of(self.read, self.length, &how_far);
        }
        Ok(read)
    }
}

impl Seek for WatchedFile {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
