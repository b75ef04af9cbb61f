//! HISPROF, the profiler that BEGIN starts: the output of a collection run.
//!
//! At each step of a run HISPROF reads the counters of every CPU once, and makes everything that it writes
//! at the step from that reading. So the deltas of subtype 1, the differences of subtype 2, the values of
//! the .CNT file and the differences of the monitor records agree in each counter.
//!
//! * At the beginning of the run, at each interval, at each state change and at the end: for each CPU a record
//!   of subtype 2 and one of MRPRCMFC, if the run collects a set that these records can hold. They cannot hold
//!   the ZOS set.
//! * At each of these steps except the first: for each CPU a record of subtype 1, with how far the counters
//!   have advanced since the previous one.
//! * At a state change and at the end: the .CNT file of what the run has collected so far. After a state
//!   change each CPU has another record of subtype 2, with which the new state begins.
//! * Sample-data blocks as they become full.
//!
//! The operator can select one subtype of SMF records, as TYPE(113(1)) in SMFPRMxx does.
//!
//! Counters and samples go into one set of files after another, numbered from 0. The SMF records of the whole
//! run go into one file, and so do its monitor records.

use super::calendar::Calendar;
use super::event::{CounterLoss, Event, Events, ZOS_COUNTERS};
use super::exit::{Action, Call, Exit, Handling, Inside, Reasons, Samples, Step};
use super::run::Run;
use arch::bits::bit64;
use arch::cpu::MAXIMUM_CPUS;
use arch::tod::Tod;
use core::fmt::{self, Write as _};
use cpumf::counters::names;
use cpumf::model::Model;
use cpumf::sampling::block::SampleDataBlock;
use heapless::{String, Vec};
use record::cnt::{CounterFile, CpuCounters, SampleLoss, SetNames};
use record::layout::CannotEncode;
use record::smf::absolutes::Place;
use record::smf::{self, Absolutes, Deltas, Envelope, Identification, Subsystem};
use record::{CounterValues, Ebcdic, Moment, SetType, monitor};
use values::{Cpu, change};
use zerocopy::FromBytes;

mod values;

pub use values::ROOM;

/// The most counters of a CPU that have names: those of all event types except ZOS.
const MOST_NAMES: usize = 320;

/// The most counters of a CPU, of all event types together.
pub const MOST_VALUES: usize = MOST_NAMES + ZOS_COUNTERS as usize;

/// The longest file name: SYSHISyyyymmdd.hhmmss.xxx.CNT.
const LONGEST_NAME: usize = 40;

/// A file of a collection run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// .SMP of this CPU: sample-data blocks.
    Samples(u16),
    /// .CNT: counters as text.
    Counters,
    /// .SMF: SMF records of type 113.
    Smf,
    /// .MON: monitor records.
    Monitor,
}

/// The files to which a collection run is written.
pub trait Files {
    /// Appends to a file of the set with this number: a whole record, a whole block, or a piece of a text.
    fn write(&mut self, set: u16, file: File, bytes: &[u8]);

    /// A record could not be made.
    fn failed(&mut self, file: File, why: CannotEncode);

    /// The run with this set of files has ended: a map of the guest's programs may be written.
    fn end(&mut self, set: u16, map: bool);
}

/// The fields of the records that describe the machine, as STORE SYSTEM INFORMATION shows it.
#[derive(Clone, Copy, Debug)]
pub struct System {
    /// The model, which decides the counters.
    pub model: &'static Model,
    /// Machine type, as hexadecimal digits.
    pub machine_type: u16,
    /// Model-capacity identifier.
    pub capacity: Ebcdic<16>,
    /// Sequence code.
    pub sequence_code: Ebcdic<16>,
    /// Cycles per microsecond.
    pub speed: u32,
}

/// The run that HISPROF collects.
#[derive(Clone, Debug)]
struct Collected {
    system: System,
    /// The only subtype of SMF records that it writes, if it does not write both.
    subtype: Option<u8>,
    command: String<{ super::run::LONGEST_COMMAND }>,
    started: Tod,
    events: Events,
    /// The number of counters of each event type.
    counts: [u16; Event::ALL.len()],
    samples: bool,
    counter_file: bool,
    map: bool,
    /// The number of the set of files.
    set: u16,
    /// Counter data were lost since the last record, those of the MT-diagnostic set aside.
    lost: bool,
    /// Counter data of the MT-diagnostic set were lost since the last record.
    lost_mt: bool,
    /// Counter data of a counter set of this run were lost since this set of files began.
    lost_in_set: bool,
    /// How many times counter data have been lost since the IPL, as [`Registry`](super::registry::Registry) counts them.
    losses: u32,
    /// The samples that were lost since this set of files began.
    sample_loss: SampleLoss,
}

/// The exit of HISPROF. There is one, as there is one run at a time.
#[derive(Debug)]
pub struct Hisprof<F> {
    /// The files to which it writes.
    pub files: F,
    /// The subtype of SMF records that the next run writes; both if `None`.
    pub subtype: Option<u8>,
    collected: Option<Collected>,
    cpus: [Cpu; MAXIMUM_CPUS],
    names: Vec<&'static str, MOST_NAMES>,
    record: [u8; smf::LONGEST],
}

impl<F: Files> Hisprof<F> {
    /// Without a run. [`Self::lend`] gives it the space for one.
    #[must_use]
    pub const fn new(files: F) -> Self {
        Self {
            files,
            subtype: None,
            collected: None,
            cpus: [const { Cpu::NEW }; MAXIMUM_CPUS],
            names: Vec::new(),
            record: [0; smf::LONGEST],
        }
    }

    /// Lends it [`ROOM`] values of space for the readings of each CPU.
    pub fn lend(&mut self, room: &'static mut [u64]) {
        let mut pieces = room.chunks_exact_mut(MOST_VALUES);
        self.cpus.iter_mut().for_each(|cpu| cpu.take(&mut pieces));
    }

    /// A run begins; its first step follows.
    pub fn begin(&mut self, run: &Run, system: System) {
        self.cpus.iter_mut().for_each(Cpu::clear);
        self.collected = Some(Collected {
            system,
            subtype: self.subtype,
            command: run.command.clone(),
            started: run.started,
            events: run.events,
            counts: [0; Event::ALL.len()],
            samples: run.parameters.samples,
            counter_file: run.parameters.counters && run.parameters.counter_file,
            map: run.parameters.map,
            set: 0,
            lost: false,
            lost_mt: false,
            lost_in_set: false,
            losses: 0,
            sample_loss: NO_LOSS,
        });
    }

    fn step(&mut self, step: Step, service: &mut Inside<'_>) {
        match step {
            Step::Begin => {
                self.harvest(service);
                self.absolutes(Place::First);
                for cpu in &mut self.cpus {
                    cpu.first.copy(&cpu.now);
                }
            }
            Step::Interval => {
                self.harvest(service);
                self.deltas();
                self.absolutes(Place::Intermediate);
            }
            Step::NextFiles(set) => {
                self.harvest(service);
                self.deltas();
                self.absolutes(Place::Intermediate);
                self.counter_file(true);
                self.next_set(set);
                // The new state begins where the old one ends.
                self.absolutes(Place::Intermediate);
            }
            Step::End { state_change } => {
                self.harvest(service);
                self.deltas();
                self.absolutes(Place::Final);
                self.counter_file(state_change);
                if let Some(run) = self.collected.take() {
                    self.files.end(run.set, run.map);
                }
            }
        }
        for cpu in &mut self.cpus {
            cpu.last.copy(&cpu.now);
        }
        if let Some(run) = &mut self.collected {
            run.lost = false;
            run.lost_mt = false;
        }
    }

    fn next_set(&mut self, set: u16) {
        for cpu in &mut self.cpus {
            cpu.first.copy(&cpu.now);
        }
        if let Some(run) = &mut self.collected {
            run.set = set;
            run.lost_in_set = false;
            run.sample_loss = NO_LOSS;
        }
    }

    /// Reads the counters of every CPU.
    fn harvest(&mut self, service: &mut Inside<'_>) {
        let Some(run) = &mut self.collected else {
            return;
        };
        if !run.events.is_empty() {
            service.note_query();
        }
        for (event, count) in Event::ALL.into_iter().zip(&mut run.counts) {
            *count = if run.events.has(event) {
                service.counters(event).count
            } else {
                0
            };
        }
        run.losses = service.registry().counter_losses();
        let there = service.cpus();
        for (number, cpu) in (0..).zip(&mut self.cpus) {
            cpu.now.clear();
            if there & bit64(u32::from(number)) == 0 {
                continue;
            }
            cpu.thread = service.thread(number);
            let events = cpu.thread.counted(run.events);
            let values = &mut cpu.now.values;
            // The counters of every model fit: a test counts them.
            cpu.now.at = service.read(number, events, &mut |_, value| {
                values.push(value);
            });
        }
    }

    /// Writes a record of subtype 1 of each CPU that was installed at the previous record.
    fn deltas(&mut self) {
        let Some(run) = &self.collected else { return };
        if run.events.is_empty() || !run.writes(1) {
            return;
        }
        for (number, cpu) in (0..).zip(&mut self.cpus) {
            let Some((from, to)) = change(&cpu.last, &cpu.now, &mut cpu.change) else {
                continue;
            };
            let sets = run.sets(cpu.change.all());
            if sets.is_empty() {
                continue;
            }
            let data = Deltas {
                run_start: run.started.0,
                written: to.0,
                cpu: number,
                class: 0,
                zcbp: false,
                speed: run.system.speed,
                machine_type: run.machine_type(),
                model: run.system.capacity,
                versions: [0, run.system.model.cfvn, run.system.model.csvn],
                lost: run.lost,
                lost_mt: run.lost_mt,
                sequence_code: run.system.sequence_code,
                core: cpu.thread.core,
            };
            let envelope = run.envelope(from, to);
            let mut records = smf::Records::deltas(&envelope, &data, &sets);
            write_all(&mut self.files, File::Smf, &mut self.record, |out| {
                records.write(out)
            });
        }
    }

    /// Writes a record of subtype 2 and one of MRPRCMFC of each CPU.
    fn absolutes(&mut self, place: Place) {
        let Some(run) = &self.collected else { return };
        if run.events.is_empty() {
            return;
        }
        for (number, cpu) in (0..).zip(&self.cpus) {
            let Some(at) = cpu.now.at else { continue };
            let all = run.sets(cpu.now.values.all());
            // Neither record can hold the newer sets.
            let mut sets = Vec::<CounterValues<'_>, { Event::ALL.len() }>::new();
            for set in all.iter().filter(|set| set.set.0 <= SetType::EXTENDED.0) {
                let _ = sets.push(*set);
            }
            if sets.is_empty() {
                continue;
            }
            let system = &run.system;
            let versions = [system.model.cfvn, system.model.csvn];
            let data = Absolutes {
                run_start: run.started.0,
                written: at.0,
                cpu: number,
                class: 0,
                zcbp: false,
                place,
                lost: run.lost,
                versions,
                speed: system.speed,
                machine_type: run.machine_type(),
                model: system.capacity,
                sequence_code: run.system.sequence_code,
            };
            if run.writes(2) {
                let envelope = run.envelope(cpu.last.at.unwrap_or(at), at);
                let mut records = smf::Records::absolutes(&envelope, &data, &sets);
                write_all(&mut self.files, File::Smf, &mut self.record, |out| {
                    records.write(out)
                });
            }
            let data = monitor::ProcessorCounters {
                written: at.0,
                cpu: number,
                coprocessor_group: false,
                lost: run.losses,
                lifetime: 1,
                speed: system.speed,
                versions,
                hardware_versions: versions,
                harvested: at.0,
                thread: cpu.thread.number,
                core: cpu.thread.core,
            };
            let mut records = monitor::Records::new(&data, &sets);
            write_all(&mut self.files, File::Monitor, &mut self.record, |out| {
                records.write(out)
            });
        }
    }

    /// Writes the .CNT file of the present set of files.
    fn counter_file(&mut self, state_change: bool) {
        let Some(run) = &self.collected else { return };
        if !run.counter_file {
            return;
        }
        let times = self
            .cpus
            .each_mut()
            .map(|cpu| change(&cpu.first, &cpu.now, &mut cpu.change));
        let sets = self.cpus.each_ref().map(|cpu| run.sets(cpu.change.all()));
        let mut cpus = Vec::<CpuCounters<'_>, MAXIMUM_CPUS>::new();
        for ((number, times), sets) in (0..).zip(times).zip(&sets) {
            if let Some((from, to)) = times
                && !sets.is_empty()
            {
                // All CPUs fit.
                let _ = cpus.push(CpuCounters {
                    cpu: number,
                    speed: run.system.speed,
                    start: from.0,
                    end: Some(to.0),
                    sets,
                });
            }
        }
        run.name(&mut self.names);
        let names = run.named(&self.names);
        let mut file_name = String::<LONGEST_NAME>::new();
        let prefix = Calendar::of(run.started).file_prefix();
        // The name fits.
        let _ = write!(file_name, "{prefix}{:03}.CNT", run.set);
        let mut model = String::<32>::new();
        let system = &run.system;
        let _ = write!(model, "{:04X}-{}", system.machine_type, system.capacity);
        let mut sequence = String::<16>::new();
        let _ = write!(sequence, "{}", system.sequence_code);
        let file = CounterFile {
            file_name: &file_name,
            command: &run.command,
            sample_loss: run.samples.then_some(run.sample_loss),
            counter_loss: run.lost_in_set,
            state_change,
            model: &model,
            sequence_code: &sequence,
            versions: [system.model.cfvn, system.model.csvn],
            local: 0,
            sets: &names,
            cpus: &cpus,
        };
        let mut text = Text {
            files: &mut self.files,
            set: run.set,
            buffer: &mut self.record,
            length: 0,
        };
        // Writing to `text` cannot fail.
        let _ = file.write(&mut text);
        text.flush();
    }

    fn samples(&mut self, samples: &Samples<'_>) {
        let Some(run) = &mut self.collected else {
            return;
        };
        run.sample_loss.overflow = run.sample_loss.overflow.saturating_add(samples.missed);
        if let Ok(block) = SampleDataBlock::ref_from_bytes(samples.block) {
            let overflow = block.trailer.overflow_count.get();
            run.sample_loss.overflow = run.sample_loss.overflow.saturating_add(overflow);
        }
        let file = File::Samples(samples.cpu);
        self.files.write(run.set, file, samples.block);
    }

    fn state(&mut self, action: Action, reasons: Reasons) {
        let Some(run) = &mut self.collected else {
            return;
        };
        if matches!(action, Action::None) && reasons.any_of(Reasons::COUNTER_DATA_LOST) {
            let loss = if reasons.any_of(Reasons::ONLY_MT) {
                run.lost_mt = true;
                CounterLoss::Mt
            } else {
                run.lost = true;
                CounterLoss::Cpu
            };
            run.lost_in_set |= !run.events.intersection(loss.events()).is_empty();
        }
        if reasons.any_of(Reasons::SAMPLE_DATA_LOST) {
            run.sample_loss.alert = true;
        }
    }
}

const NO_LOSS: SampleLoss = SampleLoss {
    alert: false,
    overflow: 0,
};

impl Collected {
    /// Whether the run writes SMF records of this subtype.
    fn writes(&self, subtype: u8) -> bool {
        self.subtype.is_none_or(|only| only == subtype)
    }

    /// The values of a CPU by counter sets. If it has those of the first sets only, it has no others.
    fn sets<'a>(&self, values: &'a [u64]) -> Vec<CounterValues<'a>, { Event::ALL.len() }> {
        let mut rest = values;
        let mut sets = Vec::new();
        for (event, count) in Event::ALL.into_iter().zip(self.counts) {
            let (own, behind) = rest.split_at(usize::from(count).min(rest.len()));
            rest = behind;
            if !own.is_empty() {
                // There is room for one of each.
                let _ = sets.push(CounterValues::new(set_type(event), own));
            }
        }
        sets
    }

    /// Puts the names of all counters into `names`.
    fn name(&self, names: &mut Vec<&'static str, MOST_NAMES>) {
        names.clear();
        for (event, count) in Event::ALL.into_iter().zip(self.counts) {
            let Some(set) = event.counter_set() else {
                continue;
            };
            let model = self.system.model;
            let first = model.range(set).first;
            for number in first..first + count {
                // There are as many names as values. No public source names all counters.
                let _ = names.push(names::name(model, number).unwrap_or("UNNAMED"));
            }
        }
    }

    /// These names by counter sets.
    fn named<'a>(&self, names: &'a [&'static str]) -> Vec<SetNames<'a>, { Event::ALL.len() }> {
        let mut rest = names;
        let mut sets = Vec::new();
        for (event, count) in Event::ALL.into_iter().zip(self.counts) {
            if count == 0 {
                continue;
            }
            // Counters of software have no names.
            let named = event.counter_set().map_or(0, |_| usize::from(count));
            let (names, behind) = rest.split_at(named.min(rest.len()));
            rest = behind;
            let set = set_type(event);
            // There is room for one of each.
            let _ = sets.push(SetNames { set, names });
        }
        sets
    }

    fn machine_type(&self) -> Ebcdic<4> {
        let mut text = String::<4>::new();
        let _ = write!(text, "{:04X}", self.system.machine_type);
        Ebcdic::new(&text)
    }

    /// The header and sections before the data of an SMF record about the interval `from` to `to`.
    fn envelope(&self, from: Tod, to: Tod) -> Envelope {
        let started = Moment::from_tod(self.started.0);
        Envelope {
            subsystem: Some(Ebcdic::new("HIS")),
            product: Some(Subsystem {
                version: Ebcdic::new("01"),
                product: Ebcdic::new("HIS"),
                level: Ebcdic::new(env!("CARGO_PKG_VERSION")),
            }),
            identification: Some(Identification {
                job: Ebcdic::new("HIS"),
                reader_time: started.hundredths.into(),
                reader_date: started.packed_date(),
                step: Ebcdic::new("HIS"),
                interval_start: from.0.into(),
                interval_end: to.0.into(),
            }),
            ..Envelope::new(Ebcdic::new("MMTR"), Moment::from_tod(to.0))
        }
    }
}

fn set_type(event: Event) -> SetType {
    event.counter_set().map_or(SetType::ZOS, SetType::from)
}

/// Writes all records to the file of the run.
fn write_all<F: Files>(
    files: &mut F,
    file: File,
    record: &mut [u8],
    mut next: impl FnMut(&mut [u8]) -> Result<Option<usize>, CannotEncode>,
) {
    loop {
        match next(record) {
            Ok(Some(length)) => files.write(0, file, &record[..length]),
            Ok(None) => return,
            Err(why) => return files.failed(file, why),
        }
    }
}

/// Writes the text of a .CNT file in pieces.
struct Text<'a, F: Files> {
    files: &'a mut F,
    set: u16,
    buffer: &'a mut [u8],
    length: usize,
}

impl<F: Files> Text<'_, F> {
    fn flush(&mut self) {
        let text = &self.buffer[..self.length];
        self.files.write(self.set, File::Counters, text);
        self.length = 0;
    }
}

impl<F: Files> fmt::Write for Text<'_, F> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.length == self.buffer.len() {
                self.flush();
            }
            self.buffer[self.length] = byte;
            self.length += 1;
        }
        Ok(())
    }
}

impl<F: Files> Exit for Hisprof<F> {
    fn call(&mut self, call: &Call<'_>, service: &mut Inside<'_>) -> Handling {
        match call {
            Call::Step(step) => self.step(*step, service),
            Call::Samples(samples) => self.samples(samples),
            Call::State(change) => self.state(change.action, change.reasons),
            Call::Status(_) => {}
        }
        Handling::Done
    }
}

#[cfg(test)]
mod tests;
