//! HIS on this machine: its counters, its samples and its files.
//!
//! HIS measures at the machine's own level, below the guest. What the operator says is kept until a CPU has
//! come out of its guest and has the turn; it then does what is to be done on all CPUs, for none of the others
//! executes anything. So HIS needs turns, and with them a clock that counts instructions.

use crate::arch::bits::bit64;
use crate::arch::tod::Tod;
use crate::cpumf::model::{BSDES, CounterRange};
use crate::cpumf::sampling::request;
use crate::guest::account::Mode;
use crate::guest::assist;
use crate::guest::machine_level;
use crate::guest::schedule::NEVER;
use crate::his::command::Name;
use crate::his::event::{Event, Events, SampleTypes};
use crate::his::hisprof::{self, Hisprof, System};
use crate::his::machine::{Block, EventState, File, SamplingOrder, SamplingState, TakenBlock};
use crate::his::parameters::ParameterFiles;
use crate::his::run::{Cause, Run};
use crate::his::{Call, Exit, Handling, His, Inside};
use crate::link::files::{FileHead, Kind, LARGEST_PIECE};
use crate::link::frame::Channel;
use crate::machine::console;
use crate::machine::cpu::Cpu;
use crate::machine::hsa::BLOCKS;
use crate::machine::instruction;
use crate::machine::ipl::{self, Machine};
use crate::record::layout::CannotEncode;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use spin::Mutex;
use zerocopy::IntoBytes;

/// The longest command, in bytes: a line of the operator.
const LONGEST: usize = 256;

/// Commands that are kept until a CPU looks.
const MOST_KEPT: usize = 8;

/// HIS.
static HIS: Mutex<His<Recorder>> = Mutex::new(His::new());

/// HISPROF's exit, which outlives its runs.
static HISPROF: Mutex<Hisprof<Link>> = Mutex::new(Hisprof::new(Link { run: 0 }));

/// What the operator has said and nobody has done.
static SAID: Mutex<heapless::Deque<heapless::String<LONGEST>, MOST_KEPT>> =
    Mutex::new(heapless::Deque::new());

/// The parameter files.
static PARAMETERS: Mutex<ParameterFiles> = Mutex::new(ParameterFiles::new());

/// Whether there is anything to do: a command, or the host cannot write.
static ATTENTION: AtomicBool = AtomicBool::new(false);

/// Whether the host cannot write.
static NOT_WRITTEN: AtomicBool = AtomicBool::new(false);

/// Whether HIS has the machine's sampling function.
static SAMPLES: AtomicBool = AtomicBool::new(false);

/// Samples that were lost, as far as HIS has been told.
static LOST_TOLD: AtomicU64 = AtomicU64::new(0);

/// When time itself is something to do: TOD clock, bits 0-63.
static DUE: AtomicU64 = AtomicU64::new(NEVER);

/// The profiler in the machine: HISPROF.
struct Recorder;

impl Exit for Recorder {
    fn call(&mut self, call: &Call<'_>, service: &mut Inside<'_>) -> Handling {
        HISPROF.lock().call(call, service)
    }
}

/// Keeps a command until a CPU looks.
pub fn ask(line: &str) {
    let kept = heapless::String::try_from(line)
        .ok()
        .is_some_and(|line| SAID.lock().push_back(line).is_ok());
    if !kept {
        console::say(format_args!(
            "HIS has not done what it was asked for before; say it again later\n"
        ));
    }
    ATTENTION.store(true, Ordering::Relaxed);
}

/// Takes a line of the operator that is about a parameter file.
pub fn define(line: &str) {
    if let Err(wrong) = PARAMETERS.lock().define(line) {
        console::say(format_args!("{wrong}\n"));
    }
}

/// The host cannot write what a run collects.
pub fn not_written() {
    NOT_WRITTEN.store(true, Ordering::Relaxed);
    ATTENTION.store(true, Ordering::Relaxed);
}

/// Whether the machine's sample-data blocks are HIS's.
#[must_use]
pub fn samples() -> bool {
    SAMPLES.load(Ordering::Relaxed)
}

/// When HIS wants to be called though nothing happens.
#[must_use]
pub fn due() -> u64 {
    DUE.load(Ordering::Relaxed)
}

/// Whether HIS has something to do.
#[must_use]
#[inline]
pub fn wants(now: u64) -> bool {
    ATTENTION.load(Ordering::Relaxed) || now >= DUE.load(Ordering::Relaxed)
}

/// Does what there is to do. This CPU has the turn.
#[cold]
#[inline(never)]
pub fn work(cpu: &mut Cpu) {
    ATTENTION.store(false, Ordering::Relaxed);
    let machine = cpu.machine;
    if machine.configuration.mode == Mode::RealTime {
        while SAID.lock().pop_front().is_some() {
            console::say(format_args!(
                "HIS measures by a clock that counts instructions, and in real time there is none; begin the run without --real-time\n"
            ));
        }
        return;
    }
    act(&mut Level::of(cpu));
}

/// The guest has ended: what a run has collected is written. No other CPU runs, and the caller uses no reference
/// into a CPU again that it has now.
pub fn go_down(machine: &'static Machine) {
    let mut level = Level {
        machine,
        running: None,
    };
    // Where HIS never came up nothing is to be done.
    HIS.lock().disable(&mut level);
}

fn act(level: &mut Level<'_>) {
    let mut his = HIS.lock();
    // What was sampled before a command is its predecessor's.
    his.blocks_ready(level);
    let lost = level.lost();
    let told = LOST_TOLD.swap(lost, Ordering::Relaxed);
    if lost != told && samples() {
        his.sample_data_lost(level, lost - told);
    }
    if NOT_WRITTEN.swap(false, Ordering::Relaxed) {
        his.end_early(level, Cause::NotWritten);
    }
    loop {
        let next = SAID.lock().pop_front();
        let Some(line) = next else { break };
        his.service.enable(level);
        let system = level.system();
        his.command(level, &line, |run| {
            let mut hisprof = HISPROF.lock();
            hisprof.files.begin(run);
            hisprof.begin(run, system);
            Recorder
        });
    }
    his.tick(level);
    DUE.store(his.due().map_or(NEVER, |due| due.0), Ordering::Relaxed);
}

/// The machine's own level on all CPUs.
struct Level<'a> {
    machine: &'static Machine,
    /// The CPU that has the turn, unless nobody needs its own any more.
    running: Option<&'a mut Cpu>,
}

impl<'a> Level<'a> {
    fn of(cpu: &'a mut Cpu) -> Self {
        Self {
            machine: cpu.machine,
            running: Some(cpu),
        }
    }

    /// How many CPUs there are.
    fn count(&self) -> u16 {
        self.machine.configuration.cpus
    }

    /// One of them.
    fn cpu(&mut self, number: u16) -> &mut Cpu {
        if let Some(running) = &mut self.running
            && running.vcpu.address == number
        {
            return running;
        }
        let cells = &self.machine.cpus;
        // SAFETY: that CPU waits for its turn, which only this one gives; where it waits it has said that
        // others use what is its own. Nobody else has a reference to it: `self` is borrowed.
        unsafe { &mut *cells[usize::from(number) % cells.len()].get() }
    }

    /// Samples that the CPUs could not store so far.
    fn lost(&mut self) -> u64 {
        (0..self.count())
            .map(|number| self.cpu(number).vcpu.sampling.lost)
            .sum()
    }

    /// What records say about the machine.
    fn system(&self) -> System {
        let identification = self.machine.configuration.cpu_id;
        System {
            model: self.machine.model,
            machine_type: (identification >> 16) as u16,
            // The version code is no part of it.
            sequence: identification >> 32 & 0xFF_FFFF,
            speed: self.speed(),
        }
    }

    fn speed(&self) -> u32 {
        self.machine.configuration.mode.cpu_speed()
    }

    /// Bytes of a sample of these types.
    const fn entry_length(&self, types: SampleTypes) -> u64 {
        let mut length = 0;
        if types.has(SampleTypes::BASIC) {
            length += BSDES as u64;
        }
        if types.has(SampleTypes::DIAGNOSTIC) {
            length += self.machine.model.dsdes as u64;
        }
        length
    }

    /// What a CPU counts may have changed. Storage is reached by the CPU that has the turn: real addresses mean
    /// something else to each.
    fn counting_changed(&mut self, number: u16) {
        let configuration = &self.machine.configuration;
        let own = instruction::stap();
        if own == number {
            let cpu = self.cpu(own);
            assist::counting_changed(&cpu.vcpu, configuration, &mut cpu.native);
            return;
        }
        let other = &raw const self.cpu(number).vcpu;
        let native = &mut self.cpu(own).native;
        // SAFETY: the two are not of the same CPU; that one waits for its turn, as in `cpu`.
        assist::counting_changed(unsafe { &*other }, configuration, native);
    }

    /// Brings the counters of all CPUs up to date.
    fn settle(&mut self) {
        let configuration = &self.machine.configuration;
        for number in 0..self.count() {
            machine_level::book(&mut self.cpu(number).vcpu, configuration);
        }
        for number in 0..self.count() {
            machine_level::settle(&mut self.cpu(number).vcpu, configuration);
        }
    }
}

impl crate::his::Machine for Level<'_> {
    fn tod(&mut self) -> Tod {
        Tod(instruction::stckf())
    }

    fn cpus(&self) -> u64 {
        (0..u32::from(self.count())).fold(0, |cpus, cpu| cpus | bit64(cpu))
    }

    fn events(&self) -> EventState {
        let Machine {
            model,
            configuration,
            ..
        } = self.machine;
        let sources = machine_level::sources(model, configuration);
        EventState {
            authorized: Events::of_counter_sets(sources),
            cfvn: model.cfvn,
            csvn: model.csvn,
        }
    }

    fn counters(&self, event: Event) -> CounterRange {
        let nothing = CounterRange { first: 0, count: 0 };
        event
            .counter_set()
            .map_or(nothing, |set| self.machine.model.range(set))
    }

    fn enable(&mut self, events: Events) {
        self.settle();
        let configuration = &self.machine.configuration;
        for number in 0..self.count() {
            let sets = events.counter_sets();
            machine_level::count_besides(&mut self.cpu(number).vcpu, configuration, sets);
            self.counting_changed(number);
        }
    }

    fn read(
        &mut self,
        number: u16,
        events: Events,
        counter: &mut dyn FnMut(Event, u64),
    ) -> Option<Tod> {
        if number >= self.count() {
            return None;
        }
        self.settle();
        let ranges = Event::ALL.map(|event| self.counters(event));
        let cpu = self.cpu(number);
        let now = cpu.vcpu.account.activity();
        let counters = cpu.vcpu.machine.counters();
        for (event, range) in Event::ALL.into_iter().zip(ranges) {
            if !events.has(event) {
                continue;
            }
            for number in range.first..range.first + range.count {
                // A set that has been deauthorized since counts no more.
                counter(event, counters.read(number.into(), &now).unwrap_or(0));
            }
        }
        Some(self.tod())
    }

    fn sampling(&self) -> SamplingState {
        SamplingState {
            authorized: if self.machine.samples_for_host {
                SampleTypes::NONE
            } else {
                SampleTypes::BASIC.union(SampleTypes::DIAGNOSTIC)
            },
            limits: ipl::sampling_limits(self.speed()),
            most_buffers: BLOCKS as u16,
            bsdes: BSDES,
            dsdes: self.machine.model.dsdes,
        }
    }

    fn start_sampling(&mut self, order: &SamplingOrder) {
        SAMPLES.store(true, Ordering::Relaxed);
        let mut controls = 0;
        if order.types.has(SampleTypes::BASIC) {
            controls |= request::ENABLE_BASIC | request::ACTIVATE_BASIC;
        }
        if order.types.has(SampleTypes::DIAGNOSTIC) {
            controls |= request::ENABLE_DIAGNOSTIC | request::ACTIVATE_DIAGNOSTIC;
        }
        for number in 0..self.count() {
            let entry = self.entry_length(order.types);
            self.cpu(number)
                .begin_sampling(controls, order.interval, order.buffers.into(), entry);
        }
    }

    fn stop_sampling(&mut self) {
        for number in 0..self.count() {
            self.cpu(number).end_sampling();
        }
    }

    fn take_block(&mut self, block: &mut Block) -> Option<TakenBlock> {
        let found = (0..self.count()).find_map(|number| {
            let samples = self.cpu(number).take_block(block)?;
            Some(TakenBlock {
                cpu: number,
                samples,
            })
        });
        if found.is_none() && self.cpu(0).vcpu.machine.active_interval().is_none() {
            SAMPLES.store(false, Ordering::Relaxed);
        }
        found
    }

    fn file(&mut self, name: &Name) -> Option<File> {
        PARAMETERS.lock().get(name).cloned()
    }

    fn say(&mut self, lines: fmt::Arguments<'_>) {
        console::say(lines);
    }
}

/// The way to the host's files.
struct Link {
    /// When the run began, which names it.
    run: u64,
}

impl Link {
    fn begin(&mut self, run: &Run) {
        self.run = run.started.0;
        if !console::framed() {
            // Nobody at a console of text writes files.
            not_written();
        }
        self.send(Kind::Begin, 0, 0, run.parameters.path.as_bytes());
    }

    /// Sends what belongs together, in pieces if need be.
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
