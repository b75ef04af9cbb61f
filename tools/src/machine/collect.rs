//! The raw files of a run, written as the data arrives.
//!
//! Data is written as soon as it arrives. If the tool, the machine or the disk fails, everything that arrived before
//! is in the directory and can be reported. No file ends in the middle of a frame's data.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs, io,
    path::{self, Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Result;
use command::{self, Command};
use link::{
    copies, counts,
    data::{parse_counters, parse_samples},
    frame::{Channel, Decoder, Frame, LARGEST_ENCODED, Received},
    stack,
    state::{Counted, State},
    trace, window,
};
use thiserror::Error;

use crate::{
    calls::places::Places,
    events::{file, tally::EventTally},
    folder::{
        BOOT, CONSOLE, COUNTERS, EVENTS, HANG, HANG_CORE, LOG, LOG_RAW, OPERATOR, PLACES, RECORD,
        SYMBOLS,
        append::{AppendedFile, Directory},
        copies_name, counts_name,
        record::{
            CountsRecord, End, GuestEnd, LoopRecord, ProgressRecord, RunRecord, StartedRecord,
            TotalsRecord, TracedRecord, TrapsRecord,
        },
        sdb_name, stacks_name, window_name,
    },
    machine::{
        failure::ImageSymbols,
        his_files::{HisFiles, Taken},
        log::LogReader,
        monitor::Socket,
        nested,
        remains::{self, Area},
    },
    numbers::quantities::Kept,
    symbols::{
        SymbolTable,
        map_file::Contents,
        names::Names,
        signed::{Nonce, Signed},
    },
};

/// A file that could not be written.
#[derive(Debug, Error)]
#[error("cannot write {}: {why}; free some space or choose another directory with --out (what was collected up to then is kept)", .path.display())]
pub struct WriteError {
    path: PathBuf,
    // Not the source of this error: who prints an error with its sources would say it twice.
    why: io::Error,
}

/// A file of the directory.
struct Output {
    path: PathBuf,
    file: AppendedFile,
}

impl Output {
    fn create(directory: &Directory, name: &str) -> Result<Self, WriteError> {
        let path = directory.path().join(name);
        match directory.create(name) {
            Ok(file) => Ok(Self { path, file }),
            Err(why) => Err(WriteError { path, why }),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.file.append(bytes).map_err(|why| WriteError {
            path: self.path.clone(),
            why,
        })
    }
}

/// What a frame meant for the run.
#[derive(Debug, PartialEq, Eq)]
pub enum Noted {
    /// Data, kept.
    Data,
    /// The guest wrote on its console.
    Console(Vec<u8>),
    /// The machine answered the operator.
    Answer(String),
    /// How far the guest has come.
    Progress {
        /// Instructions on all CPUs.
        instructions: u64,
    },
    /// The machine has logged errors.
    Errors(Vec<String>),
    /// Every CPU waits for the host.
    Waiting,
    /// A trace has stopped the guest.
    Held {
        /// Its number.
        trace: u16,
    },
    /// Traced events, kept.
    Traced(Vec<u8>),
    /// The guest has read what was typed for it.
    InputRead {
        /// Number of these bytes.
        bytes: usize,
    },
    /// The machine has read from a console of lines, and the host may type the next.
    LineRead {
        /// The number of lines so far.
        lines: u32,
    },
    /// The guest has been loaded anew.
    Loaded,
    /// The guest has ended; its totals and counters follow.
    GuestEnded,
    /// A file of a collection run of HIS cannot be written.
    NotWritten {
        /// The payload that tells the machine, on the files channel.
        answer: Vec<u8>,
        /// Why, for a person.
        why: String,
    },
    /// A call or an answer for the profilers on the host.
    Service(Vec<u8>),
    /// The machine has failed; nothing follows.
    Failed,
    /// The run is complete.
    End,
}

/// Writes what arrives.
pub struct Collector<'t> {
    directory: Directory,
    /// What is known about the run so far.
    pub record: RunRecord,
    image: ImageSymbols,
    log_reader: LogReader<'t>,
    boot: Output,
    console: Output,
    /// Bytes of console text that may still be kept.
    console_room: u64,
    /// Bytes of other data that may still be kept.
    data_room: u64,
    /// The markers on the console, if they are signed.
    signed: Option<Signed>,
    log_raw: Output,
    log: Output,
    operator: Output,
    counters: Output,
    blocks: BTreeMap<u16, (Output, u32)>,
    /// Call stacks of each CPU, and the number of its next payload.
    stacks: BTreeMap<u16, (Output, u32)>,
    /// The same of its window.
    windows: BTreeMap<u16, (Output, u32)>,
    /// The same of copies of stacks.
    copies: BTreeMap<u16, (Output, u32)>,
    /// The same of exact counts.
    counts: BTreeMap<u16, (Output, u32)>,
    his: HisFiles,
    events: Option<Output>,
    tally: EventTally,
    /// What each trace records, in the machine's words.
    traces: BTreeMap<u16, String>,
    /// When the record was written last.
    recorded: Instant,
    /// The end of the text before the link was open, for messages.
    pub boot_tail: Vec<u8>,
    /// What comes from the guest, if it is a machine that has a guest itself.
    pub above: Option<Above<'t>>,
}

/// What comes from an inner machine, over the console of the outer machine's guest.
pub struct Above<'t> {
    decoder: Box<Decoder<LARGEST_ENCODED>>,
    /// Keeps it.
    pub collector: Box<Collector<'t>>,
    /// The routines of the inner machine's image as it is loaded, and those of its guest.
    pub symbols: [SymbolTable; 2],
}

impl<'t> Above<'t> {
    /// Nothing has come yet.
    pub fn new(collector: Collector<'t>, symbols: [SymbolTable; 2]) -> Self {
        Self {
            decoder: Box::new(Decoder::new()),
            collector: Box::new(collector),
            symbols,
        }
    }

    /// Keeps what the console has brought. Says what the inner machine's guest wrote and what errors the machine reported.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(Vec<u8>, Vec<String>), WriteError> {
        let (mut console, mut errors, mut boot) = (Vec::new(), Vec::new(), Vec::new());
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.decoder.take(&mut rest) {
                Received::Nothing | Received::Bad => {}
                Received::Text(byte) => boot.push(byte),
                Received::Frame(frame) => match self.collector.frame(frame)? {
                    Noted::Console(bytes) => console.extend(bytes),
                    Noted::Errors(new) => errors.extend(new),
                    _ => {}
                },
            }
        }
        self.collector.record.link.bad_frames = self.decoder.bad_frames();
        if !boot.is_empty() {
            self.collector.boot_text(&boot)?;
        }
        Ok((console, errors))
    }

    /// The routines in the outer machine's guest.
    pub fn all_symbols(&self) -> SymbolTable {
        let [image, guest] = &self.symbols;
        let started = self.collector.record.started.as_ref();
        let moved_to = started.map(|started| started.guest_storage_end);
        nested::all_symbols(image, guest, moved_to)
    }
}

/// The record is written as the guest goes on, but not more often than this.
const RECORD_PACE: Duration = Duration::from_millis(500);

/// How much of the text before the link was open goes into a message.
const BOOT_TAIL: usize = 2048;

/// Appends what came with this CPU address and sequence number to the CPU's file; what has come before is left out.
/// Returns how many sequence numbers before it did not come.
fn append(
    directory: &Directory,
    files: &mut BTreeMap<u16, (Output, u32)>,
    name: fn(u16) -> String,
    (cpu, sequence): (u16, u32),
    bytes: &[u8],
) -> Result<u32, WriteError> {
    let (output, expected) = match files.entry(cpu) {
        Entry::Occupied(file) => file.into_mut(),
        Entry::Vacant(place) => place.insert((Output::create(directory, &name(cpu))?, 0)),
    };
    let Some(missing) = sequence.checked_sub(*expected) else {
        return Ok(0);
    };
    *expected = sequence.wrapping_add(1);
    output.write(bytes)?;
    Ok(missing)
}

impl<'t> Collector<'t> {
    /// Creates the files and writes the record of a run that has not ended.
    pub fn create(
        directory: &Path,
        record: RunRecord,
        symbols: &str,
        image: ImageSymbols,
        log_reader: LogReader<'t>,
    ) -> Result<Self, WriteError> {
        let path = directory;
        let directory = Directory::open(path).map_err(|why| WriteError {
            path: path.to_owned(),
            why,
        })?;
        let open = |name| Output::create(&directory, name);
        open(SYMBOLS)?.write(symbols.as_bytes())?;
        // Linux says only at its end where its programs lie. No map is better than a wrong one.
        let mapped =
            (!record.is_linux).then(|| SymbolTable::from_text(symbols).unwrap_or_default().into());
        let mut collector = Self {
            boot: open(BOOT)?,
            console: open(CONSOLE)?,
            console_room: u64::MAX,
            data_room: u64::MAX,
            signed: None,
            log_raw: open(LOG_RAW)?,
            log: open(LOG)?,
            operator: open(OPERATOR)?,
            counters: open(COUNTERS)?,
            his: HisFiles::new(path, mapped),
            events: None,
            tally: EventTally::default(),
            traces: BTreeMap::new(),
            directory,
            record,
            image,
            log_reader,
            blocks: BTreeMap::new(),
            stacks: BTreeMap::new(),
            windows: BTreeMap::new(),
            copies: BTreeMap::new(),
            counts: BTreeMap::new(),
            recorded: Instant::now(),
            boot_tail: Vec::new(),
            above: None,
        };
        collector.write_record()?;
        Ok(collector)
    }

    /// Keeps where routines have their return addresses, for the stacks of the run.
    pub fn keep_places(&self, places: &Places) -> Result<(), WriteError> {
        Output::create(&self.directory, PLACES)?.write(places.to_text().as_bytes())
    }

    /// Keeps no more than this.
    pub const fn limit(&mut self, console: Kept, data: Kept) {
        self.console_room = console.0;
        self.data_room = data.0;
    }

    /// From now on only what has this nonce is a marker on the console.
    pub fn believe_only(&mut self, nonce: &Nonce) {
        self.signed = Some(Signed::new(nonce));
    }

    /// Writes the record as it is now.
    pub fn write_record(&mut self) -> Result<(), WriteError> {
        self.recorded = Instant::now();
        self.record
            .write(self.directory.path())
            .map_err(|why| WriteError {
                path: self.directory.path().join(RECORD),
                why,
            })
    }

    /// Writes the record for those who watch the run. The one on disk is still right, so an error does not end the run.
    fn show_record(&mut self) {
        let _ = self.write_record();
    }

    /// Keeps text that came before the link was open.
    pub fn boot_text(&mut self, text: &[u8]) -> Result<(), WriteError> {
        self.boot_tail.extend_from_slice(text);
        let surplus = self.boot_tail.len().saturating_sub(BOOT_TAIL);
        self.boot_tail.drain(..surplus);
        self.boot.write(text)
    }

    /// Counts a frame that checked and whose payload makes no sense.
    pub const fn count_bad_payload(&mut self) {
        self.record.link.bad_payloads += 1;
    }

    /// Takes note of a command of the operator: it decides where a collection run may have its files.
    pub fn commanded(&mut self, command: &str) {
        self.his.commanded(command);
    }

    /// Keeps what the operator said.
    pub fn keep_command(&mut self, command: &str) -> Result<(), WriteError> {
        self.commanded(command);
        self.operator.write(format!("// {command}\n").as_bytes())
    }

    /// Keeps an answer of the host to the operator.
    pub fn keep_answer(&mut self, answer: &str) -> Result<(), WriteError> {
        self.operator.write(format!("{answer}\n").as_bytes())
    }

    /// Keeps a frame's data and says what the frame meant.
    pub fn frame(&mut self, frame: Frame<'_>) -> Result<Noted, WriteError> {
        self.record.link.frames += 1;
        let payload = frame.payload;
        let is_data = !matches!(
            frame.channel,
            Channel::RunState | Channel::Console | Channel::Operator | Channel::Service
        );
        if is_data && !self.has_room(payload.len() as u64)? {
            return Ok(Noted::Data);
        }
        match frame.channel {
            Channel::RunState => Ok(self.state(payload)),
            Channel::Console if self.above.is_some() => self.said_above(payload),
            Channel::Console => {
                let text = match &mut self.signed {
                    Some(signed) => signed.pass(payload),
                    None => payload.to_vec(),
                };
                self.console_text(&text)?;
                Ok(Noted::Console(text))
            }
            Channel::Operator => {
                self.operator.write(payload)?;
                if !payload.ends_with(b"\n") {
                    self.operator.write(b"\n")?;
                }
                let text = String::from_utf8_lossy(payload).into_owned();
                self.traces.extend(text.lines().filter_map(begun));
                Ok(Noted::Answer(text))
            }
            Channel::Log => {
                self.log_raw.write(payload)?;
                let mut errors = Vec::new();
                for message in self.log_reader.read(payload) {
                    self.log.write(message.line.as_bytes())?;
                    self.log.write(b"\n")?;
                    errors.extend(message.error);
                }
                Ok(if errors.is_empty() {
                    Noted::Data
                } else {
                    Noted::Errors(errors)
                })
            }
            Channel::SampleData => self.block(payload),
            Channel::Files => Ok(match self.his.take(payload) {
                Taken::Begun(prefix) => {
                    self.record.collections.push(prefix);
                    self.show_record();
                    Noted::Data
                }
                Taken::Written => Noted::Data,
                Taken::Bad => {
                    self.record.link.bad_payloads += 1;
                    Noted::Data
                }
                Taken::NotWritten { answer, why } => {
                    // On a full disk there may be no room for this either, and the run can still go on.
                    let _ = self.operator.write(format!("// {why}\n").as_bytes());
                    Noted::NotWritten { answer, why }
                }
            }),
            Channel::Service => Ok(Noted::Service(payload.to_vec())),
            Channel::Trace => self.events(payload),
            Channel::Stacks => self.stacks(payload),
            Channel::Window => self.window(payload),
            Channel::StackCopies => self.copies(payload),
            Channel::Counts => self.counts(payload),
            Channel::Counters => {
                match parse_counters(payload) {
                    Ok(_) => self.counters.write(payload)?,
                    Err(_) => self.record.link.bad_payloads += 1,
                }
                Ok(Noted::Data)
            }
        }
    }

    /// Keeps what a machine above this one has said.
    fn said_above(&mut self, payload: &[u8]) -> Result<Noted, WriteError> {
        let Some(above) = &mut self.above else {
            return Ok(Noted::Data);
        };
        let (console, errors) = above.take(payload)?;
        Ok(if errors.is_empty() {
            Noted::Console(console)
        } else {
            Noted::Errors(errors)
        })
    }

    /// Writes the names of the routines in the guest, if it is a machine: it has said where it is.
    pub fn settle_symbols(&mut self) -> Result<(), WriteError> {
        let Some(above) = &mut self.above else {
            return Ok(());
        };
        above.collector.settle_symbols()?;
        let text = above.all_symbols().to_text();
        Output::create(&self.directory, SYMBOLS)?.write(text.as_bytes())
    }

    /// Has QEMU's monitor tell what the CPUs of a machine that no longer answers are doing, and keeps it. Returns it for a
    /// person.
    pub fn keep_remains(&mut self, monitor: &Socket) -> Result<String> {
        let started = self.record.started.as_ref();
        let area = started
            .map(|started| Area::hsa(started.guest_storage_end, started.hsa_end))
            .filter(|area| area.base < area.end)
            .unwrap_or(Area::before_ipl(self.image.base()));
        let file = path::absolute(self.directory.path().join(HANG_CORE))?;
        monitor.dump(&file, area.base, area.end - area.base)?;
        let text = remains::describe(&fs::read(&file)?, area, &self.image)?;
        Output::create(&self.directory, HANG)?.write(text.as_bytes())?;
        Ok(text)
    }

    /// Writes the maps of Linux, which had to wait until the guest had said everything. Returns a line for each map
    /// that it does not write.
    pub fn finish(&mut self) -> Result<Vec<String>, WriteError> {
        if let Some(signed) = &mut self.signed {
            self.console.write(&signed.rest())?;
        }
        if !self.his.awaits_contents() {
            return Ok(Vec::new());
        }
        let contents = self.linux_map_contents();
        let lines = self
            .his
            .settle_maps(contents.as_ref().map_err(|why| &why[..]));
        for line in &lines {
            self.operator.write(format!("// {line}\n").as_bytes())?;
        }
        Ok(lines)
    }

    /// The contents of a map of Linux, or why they are unknown.
    fn linux_map_contents(&self) -> Result<Contents, String> {
        match Names::of_run(self.directory.path(), &self.record) {
            Ok((Names::Linux(programs), _)) => programs.contents().map_err(str::to_owned),
            Ok(_) => Err("the guest is not Linux".to_owned()),
            Err(error) => Err(format!("{error:#}")),
        }
    }

    /// Keeps console text, up to the limit.
    fn console_text(&mut self, text: &[u8]) -> Result<(), WriteError> {
        let room = self.console_room.min(text.len() as u64);
        let (kept, rest) = text.split_at(room as usize);
        self.console.write(kept)?;
        self.console_room -= room;
        if !rest.is_empty() {
            let not_kept = &mut self.record.link.not_kept.console_bytes;
            if *not_kept == 0 {
                self.operator.write(
                    b"// the console text has reached its limit; what follows is shown and not kept\n",
                )?;
            }
            *not_kept += rest.len() as u64;
        }
        Ok(())
    }

    /// Whether there is room for so many bytes of data. If there is not, nothing that follows is kept either.
    fn has_room(&mut self, length: u64) -> Result<bool, WriteError> {
        let not_kept = &mut self.record.link.not_kept;
        if not_kept.frames == 0 && length <= self.data_room {
            self.data_room -= length;
            return Ok(true);
        }
        if not_kept.frames == 0 {
            self.operator.write(
                b"// the data of the run have reached their limit; what follows is not kept\n",
            )?;
        }
        not_kept.frames += 1;
        not_kept.bytes += length;
        Ok(false)
    }

    fn block(&mut self, payload: &[u8]) -> Result<Noted, WriteError> {
        let Ok((head, block)) = parse_samples(payload) else {
            self.record.link.bad_payloads += 1;
            return Ok(Noted::Data);
        };
        let (cpu, sequence) = (head.cpu.get(), head.sequence.get());
        if !self.blocks.contains_key(&cpu) {
            self.blocks
                .insert(cpu, (Output::create(&self.directory, &sdb_name(cpu))?, 0));
        }
        if let Some((output, expected)) = self.blocks.get_mut(&cpu) {
            if sequence < *expected {
                self.record.link.blocks_repeated += 1;
                return Ok(Noted::Data);
            }
            self.record.link.blocks_missing += u64::from(sequence.saturating_sub(*expected));
            *expected = sequence.wrapping_add(1);
            output.write(block)?;
        }
        Ok(Noted::Data)
    }

    fn window(&mut self, payload: &[u8]) -> Result<Noted, WriteError> {
        let Some((head, _)) = window::parse(payload) else {
            self.record.link.bad_payloads += 1;
            return Ok(Noted::Data);
        };
        let number = (head.cpu.get(), head.sequence.get());
        let missing = append(
            &self.directory,
            &mut self.windows,
            window_name,
            number,
            payload,
        )?;
        self.record.link.blocks_missing += u64::from(missing);
        Ok(Noted::Data)
    }

    fn counts(&mut self, payload: &[u8]) -> Result<Noted, WriteError> {
        let Some((head, _)) = counts::parse(payload) else {
            self.record.link.bad_payloads += 1;
            return Ok(Noted::Data);
        };
        let number = (head.cpu.get(), head.sequence.get());
        let missing = append(
            &self.directory,
            &mut self.counts,
            counts_name,
            number,
            payload,
        )?;
        self.record.note_counts(CountsRecord {
            cpu: head.cpu.get(),
            counted: head.counted.get(),
            unmatched: head.unmatched.get(),
            skipped: head.skipped.get(),
            missing: missing.into(),
        });
        Ok(Noted::Data)
    }

    fn stacks(&mut self, payload: &[u8]) -> Result<Noted, WriteError> {
        let Ok((head, stacks)) = stack::parse(payload) else {
            self.record.link.bad_payloads += 1;
            return Ok(Noted::Data);
        };
        let number = (head.cpu.get(), head.sequence.get());
        // What did not arrive shows in the numbers of the samples.
        append(
            &self.directory,
            &mut self.stacks,
            stacks_name,
            number,
            stacks,
        )?;
        Ok(Noted::Data)
    }

    fn copies(&mut self, payload: &[u8]) -> Result<Noted, WriteError> {
        let Ok((head, copies)) = copies::parse(payload) else {
            self.record.link.bad_payloads += 1;
            return Ok(Noted::Data);
        };
        let number = (head.cpu.get(), head.sequence.get());
        append(
            &self.directory,
            &mut self.copies,
            copies_name,
            number,
            copies,
        )?;
        Ok(Noted::Data)
    }

    fn events(&mut self, payload: &[u8]) -> Result<Noted, WriteError> {
        let Ok(head) = trace::parse(payload, |_| ()) else {
            self.record.link.bad_payloads += 1;
            return Ok(Noted::Data);
        };
        self.tally.note(&head);
        let tracing = &mut self.record.tracing;
        tracing.streamed = self.tally.arrived();
        tracing.lost_in_machine = self.tally.lost_in_machine();
        tracing.lost_on_link = self.tally.lost_on_link();
        let output = match &mut self.events {
            Some(output) => output,
            none => none.insert(Output::create(&self.directory, EVENTS)?),
        };
        output.write(&file::framed(payload))?;
        Ok(Noted::Traced(payload.to_vec()))
    }

    fn state(&mut self, payload: &[u8]) -> Noted {
        let record = &mut self.record;
        match State::parse(payload) {
            Ok(State::Started(started)) => {
                record.started = Some(StartedRecord::from(started));
                self.show_record();
                Noted::Data
            }
            Ok(State::Progress(progress)) => {
                record.progress = Some(ProgressRecord::from(progress));
                if self.recorded.elapsed() >= RECORD_PACE {
                    self.show_record();
                }
                Noted::Progress {
                    instructions: progress.instructions.get(),
                }
            }
            Ok(State::GuestEnded(ended)) => {
                record.end = End::Guest(GuestEnd::from(ended));
                record.ended = ended.tod.get();
                Noted::GuestEnded
            }
            Ok(State::Failure(failure)) => {
                record.end = End::Machine {
                    wait_state: failure.head.wait_state.get(),
                    text: self.image.describe(&failure),
                };
                Noted::Failed
            }
            Ok(State::Waiting(_)) => Noted::Waiting,
            Ok(State::Loaded(loaded)) => {
                record.loads = loaded.times.get();
                if let Some(signed) = &mut self.signed {
                    signed.restart();
                }
                Noted::Loaded
            }
            Ok(State::InputRead(read)) => Noted::InputRead {
                bytes: read.bytes.get() as usize,
            },
            Ok(State::LineRead(read)) => Noted::LineRead {
                lines: read.lines.get(),
            },
            Ok(State::Totals(totals)) => {
                record.totals.retain(|known| known.cpu != totals.cpu.get());
                record.totals.push(TotalsRecord::from(totals));
                record.totals.sort_by_key(|totals| totals.cpu);
                Noted::Data
            }
            Ok(State::Traps(traps)) => {
                let lines = match Counted::from_number(traps.counted) {
                    Some(Counted::ControlProgram) => &mut record.paths,
                    _ => &mut record.traps,
                };
                lines.push(TrapsRecord::from(traps));
                Noted::Data
            }
            Ok(State::Looping(looping)) => {
                record.note_loop(LoopRecord::from(looping));
                // The record grows no more with those that it only counts.
                if record.more_loops == 0 || self.recorded.elapsed() >= RECORD_PACE {
                    self.show_record();
                }
                Noted::Data
            }
            Ok(State::Held(held)) => Noted::Held {
                trace: held.trace.get(),
            },
            Ok(State::Traced(traced)) => {
                let trace = traced.trace.get();
                record.tracing.unseen = traced.unseen.get().into();
                let traces = &mut record.tracing.traces;
                traces.retain(|known| known.trace != trace);
                traces.push(TracedRecord {
                    trace,
                    what: self.traces.get(&trace).cloned().unwrap_or_default(),
                    events: traced.events.get(),
                });
                traces.sort_by_key(|traced| traced.trace);
                Noted::Data
            }
            Ok(State::End(end)) => {
                record.link.frames_sent = Some(end.frames.get());
                Noted::End
            }
            Err(_) => {
                record.link.bad_payloads += 1;
                Noted::Data
            }
        }
    }
}

/// The trace that begins, if the machine's answer says so.
fn begun(answer: &str) -> Option<(u16, String)> {
    let (number, what) = answer.strip_prefix("trace ")?.split_once(": ")?;
    let is_one = matches!(
        command::parse(&format!("PER {what}")),
        Ok(Command::Trace(_))
    );
    Some((number.parse().ok()?, what.trim().to_owned())).filter(|_| is_one)
}

#[cfg(test)]
mod tests;
