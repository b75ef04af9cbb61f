//! `measure export`: samples in the forms that other people's tools read.
//!
//! All forms are made from a [`Profile`], so the folder of a run and that of a collection are exported alike, and a
//! sample has the same name as in the report. A form that wants call stacks gets the program and the routines of the
//! stack; of a run that did not follow stacks, the program and the routine in it.
//!
//! | form | for | how it is written |
//! |---|---|---|
//! | [`perf`] | `perf report` and other readers of perf.data | as samples are read |
//! | [`pprof`] | `go tool pprof` | summed up by address |
//! | [`firefox`] | profiler.firefox.com | whole in storage |
//! | [`folded`] | flamegraph.pl, inferno | summed up by name |
//! | [`speedscope`] | speedscope.app | as samples are read, twice |
//! | [`csv`] | spreadsheets, data frames | as samples are read |
//! | [`callgrind`] | callgrind_annotate, KCachegrind | exact counts, summed up by address |
//! | [`lcov`] | genhtml, editors | exact counts, summed up by source line |
//! | [`cobertura`] | continuous integration | as that |

use std::{
    fs,
    io::{self, BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::{
    computer::{
        progress::{Progress, Step},
        whole_file::WholeFile,
    },
    profile::{Profile, blocks::BlockCounts},
};

pub mod callgrind;
pub mod cobertura;
pub mod coverage;
pub mod csv;
pub mod elf;
mod exact;
pub mod firefox;
pub mod folded;
pub mod lcov;
pub mod perf;
pub mod pprof;
pub mod speedscope;
#[cfg(test)]
mod tests;

/// A form of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// perf.data, with files of symbols beside it, for `perf report` on any computer
    Perf,
    /// Compressed protobuf for `go tool pprof`
    Pprof,
    /// JSON for profiler.firefox.com
    Firefox,
    /// Lines `program;routine;… samples` for flame graphs
    Folded,
    /// JSON for speedscope.app
    Speedscope,
    /// A line for each sample with every field of its entry
    Csv,
    /// Exact counts by instruction and source line for callgrind_annotate and KCachegrind
    Callgrind,
    /// Exact counts as coverage by source line for genhtml and editors
    Lcov,
    /// Exact counts as coverage in XML, which continuous integration shows
    Cobertura,
}

impl To {
    /// Every form of samples.
    pub const ALL: [Self; 6] = [
        Self::Perf,
        Self::Pprof,
        Self::Firefox,
        Self::Folded,
        Self::Speedscope,
        Self::Csv,
    ];

    /// Whether it has exact counts and no samples.
    const fn is_of_counts(self) -> bool {
        matches!(self, Self::Callgrind | Self::Lcov | Self::Cobertura)
    }

    /// The default name of its file.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Perf => "perf.data",
            Self::Pprof => "profile.pb.gz",
            Self::Firefox => "firefox.json",
            Self::Folded => "samples.folded",
            Self::Speedscope => "samples.speedscope.json",
            Self::Csv => "samples.csv",
            Self::Callgrind => "callgrind.out",
            Self::Lcov => "lcov.info",
            Self::Cobertura => "cobertura.xml",
        }
    }

    /// A command or a step that uses the file.
    fn use_of(self, file: &str) -> String {
        match self {
            Self::Perf => format!("perf report -i {file}"),
            Self::Pprof => format!("go tool pprof -top {file}"),
            Self::Firefox => format!("load {file} into https://profiler.firefox.com"),
            Self::Folded => format!("flamegraph.pl {file} > graph.svg"),
            Self::Speedscope => format!("load {file} into https://www.speedscope.app"),
            Self::Csv => format!("head {file}"),
            Self::Callgrind => format!("callgrind_annotate {file}"),
            Self::Lcov => format!("genhtml --output-directory coverage {file}"),
            Self::Cobertura => format!("name {file} as the coverage report of a job"),
        }
    }
}

/// Counts samples as they are read, and shows progress.
pub struct Ticker {
    step: Option<Step>,
    samples: u64,
}

/// Samples between two looks at the clock.
const PACE: u64 = 1 << 14;

impl Ticker {
    /// A ticker that shows progress with these samples, or other things that are read.
    pub fn new(what: &str, of: &str, progress: Progress) -> Self {
        let what = format!("reading the {what} of {of}");
        Self {
            step: Some(progress.step(&what)),
            samples: 0,
        }
    }

    /// A ticker that shows nothing.
    pub fn silent() -> Self {
        Self {
            step: None,
            samples: 0,
        }
    }

    /// Counts one more sample.
    pub fn tick(&mut self) {
        self.samples += 1;
        if self.samples.is_multiple_of(PACE)
            && let Some(step) = &mut self.step
        {
            step.update(&format!(
                "{} samples",
                crate::numbers::grouped(self.samples)
            ));
        }
    }
}

/// A form, with what the user knows of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The form.
    pub to: To,
    /// Whether the samples are those of z/OS. The form must have a place for its program parameter.
    pub zos: bool,
}

impl From<To> for Form {
    fn from(to: To) -> Self {
        Self { to, zos: false }
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The file; `None` for standard output.
    pub file: Option<PathBuf>,
    /// What to do with it, and what to know about it.
    pub notes: Vec<String>,
}

/// Exports a folder. Without a name the file is in the folder; `-` is standard output.
pub fn export(
    directory: &Path,
    form: impl Into<Form>,
    out: Option<&Path>,
    progress: Progress,
) -> Result<Exported> {
    let form = form.into();
    let Form { to, zos } = form;
    if zos && to != To::Csv {
        bail!("only csv has a place for the program parameter of z/OS; leave --zos out");
    }
    let profile = Profile::open(directory)?;
    let file = out.map_or_else(|| profile.directory.join(to.file_name()), Path::to_owned);
    let is_stream = file.as_os_str() == "-";
    if to == To::Perf && (is_stream || is_written_through(&file)) {
        bail!(
            "perf.data needs files beside it, so it cannot go to {}; name a file with --out",
            match is_stream {
                true => "standard output".into(),
                false => file.display().to_string(),
            }
        );
    }
    let what = match to.is_of_counts() {
        true => "exact counts",
        false => "samples",
    };
    let mut ticker = Ticker::new(what, &directory.display().to_string(), progress);
    let mut notes = Vec::new();
    let found = if is_stream {
        let mut out = BufWriter::new(io::stdout().lock());
        let written = write(&profile, form, &mut out, &mut ticker);
        let flushed = written.and_then(|found| Ok(out.flush().map(|()| found)?));
        match flushed {
            // A reader that has gone away, as `head` does, is not an error.
            Err(error) if failed_for(&error, &[ErrorKind::BrokenPipe]) => {
                return Ok(Exported {
                    file: None,
                    notes: Vec::new(),
                });
            }
            flushed => flushed.context("cannot write to standard output")?,
        }
    } else {
        let remedy = || {
            let file = file.display();
            format!("cannot write {file}; choose another file with --out")
        };
        let mut new = WholeFile::create(&file).with_context(remedy)?;
        let written = match to {
            To::Perf => perf::write(&profile, new.file(), &file, &mut ticker),
            _ => {
                let mut out = BufWriter::new(&mut new);
                let written = write(&profile, form, &mut out, &mut ticker);
                written.and_then(|found| Ok(out.flush().map(|()| found)?))
            }
        };
        let found = written.map_err(|error| match failed_for(&error, &NO_ROOM) {
            true => error.context(remedy()),
            false => error,
        })?;
        new.finish().with_context(remedy)?;
        notes.push(to.use_of(&file.display().to_string()));
        found
    };
    if to == To::Perf {
        let symbols = perf::symbols_directory(&file);
        notes.push(format!(
            "{} has the routines' names and must stay where it is",
            symbols.display()
        ));
        notes.push(
            "what perf says of kernel address maps is about the kernel of this computer".to_owned(),
        );
    }
    if let Some(step) = ticker.step.take() {
        step.done(&match to.is_of_counts() {
            true => "exact counts exported".to_owned(),
            false => format!(
                "{} samples exported",
                crate::numbers::grouped(found.samples)
            ),
        });
    }
    notes.extend(profile.doubts.iter().map(|doubt| format!("note: {doubt}")));
    for (number, text) in [
        (found.malformed, "sample-data blocks are damaged or cut off"),
        (found.invalid, "samples are marked invalid"),
        (found.overflow, "samples were lost because blocks were full"),
    ] {
        if number > 0 {
            notes.push(format!("note: {number} {text}"));
        }
    }
    Ok(Exported {
        file: (file.as_os_str() != "-").then_some(file),
        notes,
    })
}

/// Writes a form that needs only a stream.
fn write(
    profile: &Profile,
    form: impl Into<Form>,
    out: &mut dyn Write,
    ticker: &mut Ticker,
) -> Result<BlockCounts> {
    let Form { to, zos } = form.into();
    match to {
        To::Perf => bail!("perf.data needs a file"),
        To::Pprof => pprof::write(profile, out, ticker),
        To::Firefox => firefox::write(profile, out, ticker),
        To::Folded => folded::write(profile, out, ticker),
        To::Speedscope => speedscope::write(profile, out, ticker),
        To::Csv => csv::write(profile, zos, out, ticker),
        To::Callgrind => callgrind::write(&exact::Run::of(profile)?, out),
        To::Lcov => lcov::write(&exact::Run::of(profile)?, out),
        To::Cobertura => cobertura::write(&exact::Run::of(profile)?, out),
    }
}

/// Whether a file is neither one that can be replaced nor missing, as a device, a FIFO or `/dev/stdout`.
fn is_written_through(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// Whether something failed because of an error of one of these kinds.
fn failed_for(error: &anyhow::Error, kinds: &[ErrorKind]) -> bool {
    let mut causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| kinds.contains(&cause.kind()))
}

/// What only writing can fail for.
const NO_ROOM: [ErrorKind; 4] = [
    ErrorKind::StorageFull,
    ErrorKind::QuotaExceeded,
    ErrorKind::FileTooLarge,
    ErrorKind::BrokenPipe,
];
