//! The machine's own level, as HIS sees it: all CPUs at once.

use crate::arch::bits::bit64;
use crate::arch::tod::Tod;
use crate::cpumf::model::{BSDES, CounterRange, capacity_identifier};
use crate::cpumf::sampling::request;
use crate::guest::measuring::{assist, machine_level};
use crate::guest::state::account::Mode;
use crate::guest::state::pending_work::PendingWork;
use crate::his::command::Name;
use crate::his::event::{Event, Events, SampleTypes, ZOS_COUNTERS};
use crate::his::hisprof::System;
use crate::his::machine::{
    Block, EventState, File, SamplingOrder, SamplingState, TakenBlock, Thread,
};
use crate::machine::hardware::hsa::BLOCKS;
use crate::machine::hardware::instruction;
use crate::machine::io::console;
use crate::machine::state::machine::{Cpu, Machine, sampling_limits};
use crate::record::Ebcdic;
use core::fmt;
use core::sync::atomic::Ordering;

/// The machine's own level on all CPUs.
pub(super) struct Level<'a> {
    pub machine: &'static Machine,
    /// The CPU that has the turn; `None` at the end of a run, when no CPU needs its own any more.
    pub running: Option<&'a mut Cpu>,
}

impl<'a> Level<'a> {
    pub fn of(cpu: &'a mut Cpu) -> Self {
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
    pub fn cpu(&mut self, number: u16) -> &mut Cpu {
        if let Some(running) = &mut self.running
            && running.vcpu.address == number
        {
            return running;
        }
        // SAFETY: that CPU waits for its turn, which only this one gives; while it waits it lets others use what is its
        // own. There is no other reference to it, because `self` is borrowed.
        unsafe { &mut *self.machine.cpus.of(number).get() }
    }

    /// Samples that the CPUs could not store so far.
    pub fn lost(&mut self) -> u64 {
        (0..self.count())
            .map(|number| self.cpu(number).vcpu.sampling.lost)
            .sum()
    }

    /// Information about the machine for records.
    pub fn system(&self) -> System {
        let configuration = &self.machine.configuration;
        let cores = configuration.threads.cores(configuration.cpus);
        let capacity = capacity_identifier(cores);
        System {
            model: self.machine.model,
            machine_type: (configuration.cpu_id >> 16) as u16,
            capacity: Ebcdic::new(str::from_utf8(&capacity).unwrap_or_default()),
            sequence_code: Ebcdic(self.machine.sequence_code),
            speed: self.speed(),
        }
    }

    fn speed(&self) -> u32 {
        self.machine.configuration.cpu_speed
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

    /// What a CPU counts may have changed. Storage is accessed by the CPU that has the turn, because real addresses
    /// differ between CPUs.
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
        // SAFETY: the two are different CPUs, and the other one waits for its turn, as in `cpu`.
        assist::counting_changed(unsafe { &*other }, configuration, native);
    }

    /// Counts the monitor calls of the classes that the operator has chosen, or none. Counters that count already
    /// continue; others begin at zero.
    fn count_software(&mut self, on: bool) {
        let software = &self.machine.his.software;
        let classes = if on {
            software.classes.load(Ordering::Relaxed)
        } else {
            0
        };
        let begins = !software.counting.swap(on, Ordering::Relaxed) && on;
        for number in 0..self.count() {
            let cpu = &mut self.cpu(number).vcpu;
            if begins {
                cpu.software.clear();
            }
            cpu.software.classes = classes;
            cpu.pending_work |= PendingWork::CONTROLS;
        }
    }

    /// The operator has chosen other classes: counts them at once, if any are counted.
    pub fn classes_chosen(&mut self) {
        if self.machine.his.software.counting.load(Ordering::Relaxed) {
            self.count_software(true);
        }
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

    fn thread(&self, cpu: u16) -> Thread {
        let (core, number) = self.machine.configuration.threads.thread_of(cpu);
        Thread { core, number }
    }

    fn events(&self) -> EventState {
        let Machine {
            model,
            configuration,
            ..
        } = self.machine;
        // In real time no hardware counter has a source.
        let sources = match configuration.mode {
            Mode::Exact { .. } => {
                Events::of_counter_sets(machine_level::sources(model, configuration))
            }
            Mode::RealTime => Events::NONE,
        };
        // The monitor calls are those that the enhanced-monitor facility counts.
        let sources = if model.has_enhanced_monitor() {
            sources.union(Events::SOFTWARE)
        } else {
            sources
        };
        EventState {
            authorized: sources.without(self.machine.his.taken.events()),
            cfvn: model.cfvn,
            csvn: model.csvn,
        }
    }

    fn counters(&self, event: Event) -> CounterRange {
        let model = self.machine.model;
        let software = CounterRange {
            first: 0,
            count: if model.has_enhanced_monitor() {
                ZOS_COUNTERS
            } else {
                0
            },
        };
        event.counter_set().map_or(software, |set| model.range(set))
    }

    fn enable(&mut self, events: Events) {
        self.settle();
        let configuration = &self.machine.configuration;
        for number in 0..self.count() {
            let sets = events.counter_sets();
            machine_level::count_besides(&mut self.cpu(number).vcpu, configuration, sets);
            self.counting_changed(number);
        }
        self.count_software(events.has(Event::Zos));
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
                if event == Event::Zos {
                    counter(event, cpu.vcpu.software.read(number));
                    continue;
                }
                // A set that has since been deauthorized no longer counts.
                counter(event, counters.read(number.into(), &now).unwrap_or(0));
            }
        }
        Some(self.tod())
    }

    fn dropped_calls(&mut self) -> u64 {
        (0..self.count())
            .map(|number| self.cpu(number).vcpu.software.dropped)
            .sum()
    }

    fn sampling(&self) -> SamplingState {
        SamplingState {
            authorized: if self.machine.samples_for_host {
                SampleTypes::NONE
            } else {
                SampleTypes::COMBINED.without(self.machine.his.taken.types())
            },
            limits: sampling_limits(self.speed()),
            most_buffers: BLOCKS as u16,
            bsdes: BSDES,
            dsdes: self.machine.model.dsdes,
        }
    }

    fn start_sampling(&mut self, order: &SamplingOrder) {
        self.machine.his.samples.store(true, Ordering::Relaxed);
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
            self.machine.his.samples.store(false, Ordering::Relaxed);
        }
        found
    }

    fn file(&mut self, name: &Name) -> Option<File> {
        self.machine.his.parameters.lock().get(name).cloned()
    }

    fn say(&mut self, lines: fmt::Arguments<'_>) {
        console::say(lines);
    }
}
