//! A started system that is kept: a machine and its guest as they were when the guest had started.
//!
//! The guest says on its console that it has started, and the machine holds it there. Then nothing moves: no CPU executes,
//! and no timer is armed. QEMU saves the states of CPUs and devices, and storage is a file that QEMU has mapped. A later
//! run maps a copy of that file, and its QEMU continues with these states. What the machine had sent until then is kept,
//! too, so the later run has everything that a run from IPL has, bit for bit.
//!
//! What a run asks of the guest comes through a [`Slot`].

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use link::{
    frame::{Channel, Decoder, LARGEST_ENCODED, Received},
    state::{BY_WORDS, State},
};
use serde::{Deserialize, Serialize};

use crate::{
    computer::{interrupt, progress::Step, temporary::Temporary},
    machine::{
        monitor::Socket,
        qemu::{Heard, Running},
        slot::{Places, Slot, next_data, read_at_most},
    },
};

/// The storage of the machine, sparse.
const STORAGE: &str = "storage";
/// The states of QEMU's CPUs and devices.
const STATE: &str = "state";
/// What the machine has sent over the link.
const SENT: &str = "sent";
/// What the files are.
const INDEX: &str = "snapshot.json";

/// The form of the files.
const VERSION: u32 = 1;

/// Storage is copied in pieces of this length.
const PIECE: usize = 1 << 20;

/// Blocks of this length that are zero are left out.
const BLOCK: usize = 64 << 10;

/// What a snapshot consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Index {
    version: u32,
    /// Bytes of storage.
    storage: u64,
    /// The sign of the slot, which is also with what the guest's first process signs.
    sign: String,
    /// Where the slot is.
    places: Places,
    /// CRC-32 of the bytes of storage that are no holes, of the states, and of what was sent.
    checks: [u32; 3],
}

/// A snapshot in a directory.
#[derive(Clone, Debug)]
pub struct Snapshot {
    directory: PathBuf,
    index: Index,
}

/// A guest that is about to start and will be kept.
pub struct Starting<'a> {
    /// The slot that it holds.
    pub slot: &'a Slot,
    /// The sign of the slot.
    pub sign: &'a str,
    /// QEMU's monitor.
    pub monitor: &'a Socket,
    /// A QEMU that is silent for this long has failed.
    pub silence: std::time::Duration,
}

/// The file of the storage of a machine that is started in this directory.
pub fn storage_file(directory: &Path) -> PathBuf {
    directory.join(STORAGE)
}

/// What a machine has said until it held its guest.
#[derive(Default)]
struct Heeded {
    /// All bytes.
    sent: Vec<u8>,
    /// Text before the link was open.
    boot: Vec<u8>,
    is_held: bool,
    /// Why it can no longer be held.
    failure: Option<String>,
}

impl Heeded {
    fn take(&mut self, decoder: &mut Decoder, bytes: &[u8], step: &mut Step) {
        self.sent.extend_from_slice(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            match decoder.take(&mut rest) {
                Received::Nothing | Received::Bad => {}
                Received::Text(byte) => self.boot.push(byte),
                Received::Frame(frame) if frame.channel == Channel::RunState => {
                    self.state(frame.payload, step);
                }
                Received::Frame(_) => {}
            }
        }
    }

    fn state(&mut self, payload: &[u8], step: &mut Step) {
        match State::parse(payload) {
            Ok(State::Progress(progress)) => {
                let millions = progress.instructions.get() / 1_000_000;
                step.update(&format!("{millions} million instructions"));
            }
            Ok(State::Held(held)) if held.trace.get() == BY_WORDS => self.is_held = true,
            Ok(State::Waiting(_)) => self.fail("the guest waits before it has started"),
            Ok(State::GuestEnded(_)) => self.fail("the guest ended before it had started"),
            Ok(State::Failure(_)) => self.fail("the machine failed before the guest had started"),
            _ => {}
        }
    }

    fn fail(&mut self, why: &str) {
        self.failure.get_or_insert_with(|| why.to_owned());
    }
}

impl Starting<'_> {
    /// Waits until the machine holds the guest, and keeps both in this directory, where QEMU has its storage.
    pub fn keep(&self, mut qemu: Running, directory: &Path, step: &mut Step) -> Result<()> {
        let mut decoder = Box::new(Decoder::<LARGEST_ENCODED>::new());
        let mut heeded = Heeded::default();
        let mut last = Instant::now();
        while !heeded.is_held {
            ensure!(!interrupt::requested(), "interrupted");
            match qemu.hear(std::time::Duration::from_millis(20)) {
                Heard::Bytes(bytes) => {
                    last = Instant::now();
                    heeded.take(&mut decoder, &bytes, step);
                }
                Heard::Silence if last.elapsed() < self.silence => {}
                Heard::Silence => bail!(
                    "the machine is silent for {} s before the guest has started",
                    self.silence.as_secs()
                ),
                Heard::End => {
                    qemu.kill();
                    let status = qemu.finish(std::time::Duration::ZERO)?;
                    let said = [
                        String::from_utf8_lossy(&heeded.boot).into_owned(),
                        qemu.complaints(),
                    ];
                    bail!(
                        "QEMU ended before the guest had started ({status}): {}",
                        said.join("\n").trim()
                    );
                }
            }
            if let Some(failure) = &heeded.failure {
                bail!("{failure}");
            }
        }
        let state = self.monitor.save()?;
        drop(qemu);
        let storage = File::open(directory.join(STORAGE)).context("QEMU has left no storage")?;
        let places = self.slot.find(&storage)?;
        let index = Index {
            version: VERSION,
            storage: storage.metadata()?.size(),
            sign: self.sign.to_owned(),
            places,
            checks: [
                copy(&storage, None)?,
                crc32fast::hash(&state),
                crc32fast::hash(&heeded.sent),
            ],
        };
        write(directory, STATE, &state)?;
        write(directory, SENT, &heeded.sent)?;
        write(directory, INDEX, &serde_json::to_vec_pretty(&index)?)
    }
}

fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = directory.join(name);
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Goes through the bytes of storage that are no holes, copies them, and returns their check.
fn copy(from: &File, to: Option<&File>) -> Result<u32> {
    let length = from.metadata()?.size();
    let mut check = crc32fast::Hasher::new();
    let mut piece = vec![0; PIECE];
    let zeros = [0; BLOCK];
    let mut at = 0;
    while let Some(begin) = next_data(from, at, length)? {
        let begin = begin - begin % PIECE as u64;
        let read = read_at_most(from, &mut piece, begin)?;
        let piece = &piece[..read];
        check.update(&begin.to_be_bytes());
        check.update(piece);
        if let Some(to) = to {
            for (block, at) in piece.chunks(BLOCK).zip((begin..).step_by(BLOCK)) {
                if *block != zeros[..block.len()] {
                    to.write_all_at(block, at)
                        .context("cannot copy the storage of a started system; set TMPDIR to a directory with free space")?;
                }
            }
        }
        at = begin + PIECE as u64;
    }
    Ok(check.finalize())
}

/// A snapshot that is about to be continued by one run.
pub struct Continued {
    /// The directory of its storage, which is removed with this.
    directory: Temporary,
    /// The states of QEMU's CPUs and devices.
    pub state: Vec<u8>,
    /// What the machine had sent.
    pub sent: Vec<u8>,
}

impl Continued {
    /// The file of its storage.
    pub fn storage(&self) -> PathBuf {
        self.directory.path().join(STORAGE)
    }
}

impl Snapshot {
    /// The snapshot in this directory.
    pub fn open(directory: &Path) -> Result<Self> {
        let path = directory.join(INDEX);
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let index: Index = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not the index of a snapshot", path.display()))?;
        ensure!(
            index.version == VERSION,
            "{} has the form {}, and this tool knows {VERSION}",
            path.display(),
            index.version
        );
        Ok(Self {
            directory: directory.to_owned(),
            index,
        })
    }

    /// With what the guest's first process signs.
    pub fn sign(&self) -> &str {
        &self.index.sign
    }

    /// Copies the snapshot for one run, and fills its slot.
    pub fn begin(&self, content: &[u8]) -> Result<Continued> {
        let directory = Temporary::new()?;
        let from = self.directory.join(STORAGE);
        let source =
            File::open(&from).with_context(|| format!("cannot read {}", from.display()))?;
        ensure!(
            source.metadata()?.size() == self.index.storage,
            "{} does not have the {} bytes of the snapshot",
            from.display(),
            self.index.storage
        );
        let to = directory.path().join(STORAGE);
        let copied = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&to)
            .with_context(|| format!("cannot create {}", to.display()))?;
        copied.set_len(self.index.storage)?;
        let [storage, state, sent] = self.index.checks;
        self.check(STORAGE, storage, copy(&source, Some(&copied))?)?;
        self.index.places.fill(&copied, content)?;
        Ok(Continued {
            directory,
            state: self.read(STATE, state)?,
            sent: self.read(SENT, sent)?,
        })
    }

    fn read(&self, name: &str, check: u32) -> Result<Vec<u8>> {
        let path = self.directory.join(name);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        self.check(name, check, crc32fast::hash(&bytes))?;
        Ok(bytes)
    }

    fn check(&self, name: &str, expected: u32, found: u32) -> Result<()> {
        ensure!(
            expected == found,
            "{} has changed since it was made",
            self.directory.join(name).display()
        );
        Ok(())
    }
}
