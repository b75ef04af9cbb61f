//! The link to the host's files.

use crate::his::hisprof::{self, Hisprof};
use crate::his::run::Run;
use crate::link::files::{FileHead, Kind, LARGEST_PIECE};
use crate::link::frame::Channel;
use crate::machine::io::console;
use crate::record::layout::CannotEncode;
use spin::Mutex;
use zerocopy::IntoBytes;

/// HISPROF's exit, which outlives its runs.
pub type HisprofExit = Mutex<Hisprof<Link>>;

/// The link to the host's files.
pub struct Link {
    /// When the run began, which identifies it.
    run: u64,
}

impl Link {
    /// Nothing written yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { run: 0 }
    }

    /// Begins the files of a run.
    pub fn begin(&mut self, run: &Run) {
        self.run = run.started.0;
        self.send(Kind::Begin, 0, 0, run.parameters.path.as_bytes());
    }

    /// Sends data of one record, in pieces if need be.
    fn send(&self, kind: Kind, set: u16, cpu: u16, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let (piece, later) = rest.split_at(rest.len().min(LARGEST_PIECE));
            let head = FileHead {
                kind: kind as u8,
                more: (!later.is_empty()).into(),
                set: set.into(),
                cpu: cpu.into(),
                reserved: 0.into(),
                run: self.run.into(),
            };
            console::send(Channel::Files, &[head.as_bytes(), piece]);
            if later.is_empty() {
                return;
            }
            rest = later;
        }
    }
}

impl hisprof::Files for Link {
    fn write(&mut self, set: u16, file: hisprof::File, bytes: &[u8]) {
        match file {
            hisprof::File::Samples(cpu) => self.send(Kind::Samples, set, cpu, bytes),
            hisprof::File::Counters => self.send(Kind::Counters, set, 0, bytes),
            hisprof::File::Smf => self.send(Kind::Smf, set, 0, bytes),
            hisprof::File::Monitor => self.send(Kind::Monitor, set, 0, bytes),
        }
    }

    fn failed(&mut self, file: hisprof::File, why: CannotEncode) {
        console::say(format_args!(
            "a record of {file:?} was not written: {why}\n"
        ));
    }

    fn end(&mut self, set: u16, map: bool) {
        let kind = if map { Kind::EndWithMap } else { Kind::End };
        self.send(kind, set, 0, &[]);
    }
}
