//! A machine for tests: it does what the service requires and logs what it did.

use super::command::Name;
use super::event::{Event, Events, SampleTypes, ZOS_COUNTERS};
use super::exit::{Call, Exit, Handling, Inside, Step};
use super::machine::{
    Block, EventState, File, Machine, SamplingOrder, SamplingState, TakenBlock, Thread,
};
use arch::bits::bit64;
use arch::tod::{Tod, UNITS_PER_MICROSECOND};
use core::fmt;
use cpumf::SamplingLimits;
use cpumf::model::{CounterRange, Z15};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// 2026-01-01 00:00:00, in microseconds from 1900.
pub const NEW_YEAR: u64 = 46_021 * 86_400_000_000;

/// The log of a test: a line for each call of the machine or of an exit.
pub type Heard = Rc<RefCell<Vec<String>>>;

/// The machine.
pub struct Bench {
    /// Microseconds from 1900.
    pub clock: Rc<Cell<u64>>,
    pub cpus: u64,
    /// Threads of a core.
    pub threads: u16,
    pub authorized: Events,
    pub types: SampleTypes,
    pub limits: SamplingLimits,
    pub enabled: Events,
    pub order: Option<SamplingOrder>,
    /// Full blocks: CPU and number of samples.
    pub full: VecDeque<(u16, u32)>,
    /// Samples in the block that each of two CPUs is filling.
    pub filling: [u32; 2],
    /// How far the counters have advanced.
    pub counted: u64,
    /// Monitor calls without a counter.
    pub dropped: u64,
    pub file: Option<&'static str>,
    /// What the machine did, and the calls of exits.
    pub heard: Heard,
    pub messages: Vec<String>,
}

impl Bench {
    pub fn new() -> Self {
        let limits = SamplingLimits {
            minimum: 1_000,
            maximum: 1 << 32,
            cpu_speed: 1_000,
        };
        Self {
            clock: Rc::new(Cell::new(NEW_YEAR)),
            cpus: bit64(0) | bit64(1),
            threads: 1,
            authorized: Event::Basic.bit().union(Event::ProblemState.bit()),
            types: SampleTypes::BASIC,
            limits,
            enabled: Events::NONE,
            order: None,
            full: VecDeque::new(),
            filling: [0; 2],
            counted: 0,
            dropped: 0,
            file: None,
            heard: Heard::default(),
            messages: Vec::new(),
        }
    }

    /// The log since the previous call.
    pub fn happened(&self) -> Vec<String> {
        self.heard.take()
    }

    fn note(&self, what: String) {
        self.heard.borrow_mut().push(what);
    }
}

impl Machine for Bench {
    fn tod(&mut self) -> Tod {
        Tod(self.clock.get() * UNITS_PER_MICROSECOND)
    }

    fn cpus(&self) -> u64 {
        self.cpus
    }

    fn thread(&self, cpu: u16) -> Thread {
        Thread {
            core: cpu / self.threads,
            number: (cpu % self.threads) as u8,
        }
    }

    fn events(&self) -> EventState {
        EventState {
            authorized: self.authorized,
            cfvn: 3,
            csvn: 6,
        }
    }

    fn counters(&self, event: Event) -> CounterRange {
        let zos = CounterRange {
            first: 0,
            count: ZOS_COUNTERS,
        };
        event.counter_set().map_or(zos, |set| Z15.range(set))
    }

    fn enable(&mut self, events: Events) {
        let excess = events.without(self.authorized);
        assert_eq!(excess, Events::NONE, "not authorized");
        self.enabled = events;
        self.note(format!("enable {events}"));
    }

    fn read(
        &mut self,
        cpu: u16,
        events: Events,
        counter: &mut dyn FnMut(Event, u64),
    ) -> Option<Tod> {
        if self.cpus & bit64(cpu.into()) == 0 {
            return None;
        }
        for event in events.iter() {
            let range = self.counters(event);
            for number in range.first..range.first + range.count {
                counter(event, value(cpu, number, self.counted));
            }
        }
        Some(self.tod())
    }

    fn dropped_calls(&mut self) -> u64 {
        self.dropped
    }

    fn sampling(&self) -> SamplingState {
        SamplingState {
            authorized: self.types,
            limits: self.limits,
            most_buffers: 64,
            bsdes: 32,
            dsdes: 112,
        }
    }

    fn start_sampling(&mut self, order: &SamplingOrder) {
        assert!(self.order.is_none(), "it samples already");
        self.order = Some(*order);
        let SamplingOrder {
            types,
            interval,
            buffers,
        } = order;
        self.note(format!("sample {types} {interval} {buffers}"));
    }

    fn stop_sampling(&mut self) {
        assert!(self.order.take().is_some(), "it does not sample");
        self.note("sample no more".into());
    }

    fn take_block(&mut self, block: &mut Block) -> Option<TakenBlock> {
        let (cpu, samples) = self.full.pop_front().or_else(|| {
            let last = || {
                let cpu = self.filling.iter().position(|&samples| samples > 0)?;
                Some((cpu as u16, core::mem::take(&mut self.filling[cpu])))
            };
            self.order.is_none().then(last).flatten()
        })?;
        block.fill(cpu as u8 + 1);
        Some(TakenBlock { cpu, samples })
    }

    fn file(&mut self, _: &Name) -> Option<File> {
        self.file.and_then(|text| File::try_from(text).ok())
    }

    fn say(&mut self, lines: fmt::Arguments<'_>) {
        let lines = lines.to_string();
        assert!(lines.ends_with('\n'));
        self.messages.extend(lines.lines().map(String::from));
    }
}

/// The value of a counter of the machine.
pub fn value(cpu: u16, number: u16, counted: u64) -> u64 {
    (u64::from(cpu) << 48) + counted * (u64::from(number) + 1)
}

/// An exit that is a closure.
pub struct Called(Box<Closure>);

type Closure = dyn FnMut(&Call<'_>, &mut Inside<'_>) -> Handling;

impl Called {
    pub fn new(closure: impl FnMut(&Call<'_>, &mut Inside<'_>) -> Handling + 'static) -> Self {
        Self(Box::new(closure))
    }

    /// An exit that logs its calls and handles blocks in this way.
    pub fn listening(name: &'static str, bench: &Bench, handling: Handling) -> Self {
        let heard = Rc::clone(&bench.heard);
        Self::new(move |call, _| {
            heard.borrow_mut().push(format!("{name} {}", shown(call)));
            handling
        })
    }
}

impl Exit for Called {
    fn call(&mut self, call: &Call<'_>, service: &mut Inside<'_>) -> Handling {
        self.0(call, service)
    }
}

/// A call in a few words.
pub fn shown(call: &Call<'_>) -> String {
    match call {
        Call::State(change) => format!("{:?} {:08X}", change.action, change.reasons.0),
        Call::Samples(samples) => {
            assert_eq!(*samples.block, [samples.cpu as u8 + 1; 4096]);
            let missed = match samples.missed {
                0 => String::new(),
                missed => format!(", {missed} missed"),
            };
            format!("cpu{} {}{missed}", samples.cpu, samples.samples)
        }
        Call::Status(status) => format!("{status:?}"),
        Call::Step(Step::End { .. }) => "End".into(),
        Call::Step(step) => format!("{step:?}"),
    }
}
