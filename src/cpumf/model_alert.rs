//! Compares measurement alerts with tables of what recognizes each request and what clears it.

use super::configuration_level::ConfigurationLevel;
use super::counters::{Activity, CoprocessorGroups, CounterSet, CounterSets};
use super::facility::{Facility, Reset};
use super::fixtures::of_model;
use super::model::Z15;
use super::sampling::fixtures::SparseStorage;
use super::sampling::request::SamplingRequest;
use super::sampling::{Diagnosis, Snapshot};
use super::second_opinion::{ALERTS, agree};
use super::state::ControlState;
use crate::instruction::load_sampling_controls;
use crate::instruction::{
    extract_cpu_counter, load_cpu_counter_set_controls, load_peripheral_counter_set_controls,
    store_cpu_counter_multiple,
};
use arch::address::Virtual;
use arch::condition::ConditionCode;
use arch::psw::Psw;
use proptest::prelude::*;
use std::collections::BTreeSet;

const NOW: Activity = Activity::NONE;

/// A set or function with an authorization, an enable and an activation control. The MT-diagnostic set
/// is always active, as multithreading is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    BasicCounters,
    Groups,
    BasicSampling,
    DiagnosticSampling,
}
use Thing::*;

const THINGS: [Thing; 4] = [BasicCounters, Groups, BasicSampling, DiagnosticSampling];
const SAMPLING: &[Thing] = &[BasicSampling, DiagnosticSampling];

/// What happens at the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// LCCTL, LPCTL or LSCTL asks for these enable and activation controls of one thing.
    Load(Thing, bool, bool),
    Authorize(Thing),
    Unauthorize(Thing),
    LoseCounters,
    LoseMtCounters,
    LoseSamples,
    SampleIntoNothing,
    SampleIntoBadTable,
    SampleIntoFullBlock,
    StoreMtWithClearing,
    Interruption,
    CpuReset(Reset),
}
use Event::*;

/// "Measurement Alert": the bit of the parameter, the event, and the things of which one must be active,
/// or enabled where a thing loses its authorization (an empty list: there is no condition).
const RECOGNIZED: [(u32, Event, &[Thing]); 10] = [
    (0, SampleIntoNothing, SAMPLING),
    (1, SampleIntoBadTable, SAMPLING),
    (2, SampleIntoFullBlock, SAMPLING),
    (8, Unauthorize(BasicSampling), &[BasicSampling]),
    (8, Unauthorize(DiagnosticSampling), &[DiagnosticSampling]),
    (9, LoseSamples, SAMPLING),
    (16, LoseMtCounters, &[]),
    (24, Unauthorize(BasicCounters), &[BasicCounters]),
    (24, Unauthorize(Groups), &[Groups]),
    (25, LoseCounters, &[BasicCounters]),
];

/// The things that an alert makes inactive.
const DEACTIVATES: [(u32, &[Thing]); 4] = [
    (0, SAMPLING),
    (1, SAMPLING),
    (9, SAMPLING),
    (25, &[BasicCounters]),
];

/// The requests that are cleared when none of the things is enabled.
const POINTLESS: [(u32, &[Thing]); 5] = [
    (0, SAMPLING),
    (1, SAMPLING),
    (2, SAMPLING),
    (9, SAMPLING),
    (25, &[BasicCounters]),
];

/// The things that a reset of the CPU changes: the groups do not belong to the CPU.
const RESET: [Thing; 3] = [BasicCounters, BasicSampling, DiagnosticSampling];

/// The book's CPU: A, E and C of each thing, and the pending bits.
#[derive(Debug, Default)]
struct Book {
    a: [bool; 4],
    e: [bool; 4],
    c: [bool; 4],
    pending: BTreeSet<u32>,
}

impl Book {
    fn meet(&mut self, event: Event) {
        for (bit, cause, things) in RECOGNIZED {
            let control = if matches!(event, Unauthorize(_)) {
                &self.e
            } else {
                &self.c
            };
            let has = |&thing: &Thing| self.a[thing as usize] && control[thing as usize];
            let there = things.is_empty() || things.iter().any(has);
            if cause != event || !there {
                continue;
            }
            self.pending.insert(bit);
            for (_, things) in DEACTIVATES.iter().filter(|row| row.0 == bit) {
                things
                    .iter()
                    .for_each(|&thing| self.c[thing as usize] = false);
            }
        }
        match event {
            // A request to a thing that is not authorized can only have zeros, its present controls.
            Load(thing, enable, activation) if self.a[thing as usize] => {
                self.e[thing as usize] = enable;
                self.c[thing as usize] = enable && activation;
            }
            Authorize(thing) => self.a[thing as usize] = true,
            Unauthorize(thing) => {
                self.a[thing as usize] = false;
                // The other controls of the groups do not belong to the CPU, and do not change.
                self.e[thing as usize] &= thing == Groups;
                self.c[thing as usize] &= thing == Groups;
            }
            StoreMtWithClearing => {
                self.pending.remove(&16);
            }
            Interruption => self.pending.clear(),
            CpuReset(reset) => {
                self.pending.clear();
                for thing in RESET {
                    self.c[thing as usize] = false;
                    self.e[thing as usize] &= reset == Reset::Cpu;
                }
            }
            _ => {}
        }
        for (bit, things) in POINTLESS {
            if !things.iter().any(|&thing| self.e[thing as usize]) {
                self.pending.remove(&bit);
            }
        }
    }

    fn parameter(&self) -> u32 {
        self.pending.iter().map(|bit| 0x8000_0000 >> bit).sum()
    }
}

/// The CPU under test, and the groups of its machine.
struct Cpu {
    facility: Facility,
    groups: CoprocessorGroups,
}

impl Cpu {
    /// With multithreading on, and nothing else authorized.
    fn new() -> Self {
        let mut facility = of_model(&Z15);
        facility.authorize_counters(CounterSets::MT_DIAGNOSTIC, &NOW);
        facility.multithreading(true, &NOW);
        let groups = CoprocessorGroups::new(1, 1);
        Self { facility, groups }
    }

    /// The enable and activation bits of an LSCTL request that leave both functions as they are.
    fn sampling_controls(&self) -> u64 {
        let bits =
            |state: ControlState| u64::from(state.enabled()) << 8 | u64::from(state.active());
        let sampling = self.facility.sampling();
        bits(sampling.basic()) << 1 | bits(sampling.diagnostic())
    }

    fn lsctl(&mut self, controls: u64, tear: u64, dear: u64) {
        let request = zerocopy::transmute!(SamplingRequest::new(controls, 1000, tear, dear));
        load_sampling_controls(&mut self.facility, &request).unwrap();
    }

    fn load(&mut self, thing: Thing, enable: bool, activation: bool) {
        let (e, c) = (u64::from(enable), u64::from(enable && activation));
        match thing {
            BasicCounters => {
                let operand = e << 17 | c << 1;
                load_cpu_counter_set_controls(&mut self.facility, &NOW, operand).unwrap();
            }
            Groups => {
                let groups = &mut self.groups;
                load_peripheral_counter_set_controls(&self.facility, groups, e << 1 | c).unwrap();
            }
            BasicSampling | DiagnosticSampling => {
                let place = u32::from(thing == BasicSampling);
                let others = self.sampling_controls() & !(0x101 << place);
                self.lsctl(others | (e << 8 | c) << place, 0, 0);
            }
        }
    }

    fn authorize(&mut self, thing: Thing, on: bool) {
        let mt = CounterSets::MT_DIAGNOSTIC;
        match thing {
            BasicCounters if on => {
                self.facility
                    .authorize_counters(mt.union(CounterSets::BASIC), &NOW);
            }
            BasicCounters => self.facility.authorize_counters(mt, &NOW),
            Groups => self.facility.authorize_coprocessor_groups(on, &self.groups),
            BasicSampling => self.facility.authorize_basic_sampling(on),
            DiagnosticSampling => self.facility.authorize_diagnostic_sampling(on),
        }
    }

    /// A sample at these registers, if a function is active: to a ring of one block whose trailer
    /// requests an alert, and a table with a block link too many.
    fn sample(&mut self, tear: u64, dear: u64) {
        if !self.facility.sampling().active() {
            return;
        }
        self.lsctl(self.sampling_controls(), tear, dear);
        let mut storage = SparseStorage::new(0..0x10_0000);
        storage.put_u64(0x1_0008, 0x1_0001);
        storage.put_u64(0x1_0000, 0x2_0000);
        storage.put_u64(0x1_1FF8, 0x2_0000);
        storage.put_u64(0x2_0FC0, 1 << 62);
        let snapshot = Snapshot {
            psw: Psw::default(),
            cr4: 0,
            program_parameter: 0,
            host_program_parameter: 0,
            level: ConfigurationLevel::LogicalPartition,
            limited: false,
        };
        self.facility
            .sample(&snapshot, Diagnosis::default, &mut storage);
    }

    /// Makes the event happen, and gives the parameter of the interruption if it is one.
    fn meet(&mut self, event: Event) -> Option<u32> {
        let facility = &mut self.facility;
        match event {
            Load(thing, enable, activation) => self.load(thing, enable, activation),
            Authorize(thing) => self.authorize(thing, true),
            Unauthorize(thing) => self.authorize(thing, false),
            LoseCounters => facility.lose_counter_data(CounterSet::Basic, &NOW),
            LoseMtCounters => facility.lose_counter_data(CounterSet::MtDiagnostic, &NOW),
            LoseSamples => facility.lose_sample_data(),
            SampleIntoNothing => self.sample(0x1_0000, 0x100_0000),
            SampleIntoBadTable => self.sample(0x1_1FF0, 0x3_0FC0),
            SampleIntoFullBlock => self.sample(0x1_0000, 0x2_0FC0),
            StoreMtWithClearing => {
                let multiple = store_cpu_counter_multiple(facility, false, 0, 1, 9, Virtual(0));
                multiple.unwrap().complete(facility);
            }
            Interruption => return Some(facility.take_alerts()),
            CpuReset(reset) => facility.reset(reset, &NOW),
        }
        None
    }
}

fn event() -> impl Strategy<Value = Event> {
    let thing = || proptest::sample::select(&THINGS[..]);
    let load = (thing(), any::<bool>(), any::<bool>());
    prop_oneof![
        8 => load.prop_map(|(thing, enable, activation)| Load(thing, enable, activation)),
        4 => thing().prop_map(Authorize),
        2 => thing().prop_map(Unauthorize),
        1 => Just(LoseCounters),
        1 => Just(LoseMtCounters),
        1 => Just(LoseSamples),
        1 => Just(SampleIntoNothing),
        1 => Just(SampleIntoBadTable),
        2 => Just(SampleIntoFullBlock),
        1 => Just(StoreMtWithClearing),
        1 => Just(Interruption),
        1 => proptest::sample::select(vec![Reset::Cpu, Reset::Initial]).prop_map(CpuReset),
    ]
}

#[test]
fn pending_alerts_follow_the_tables() {
    let cases = proptest::collection::vec(event(), 1..80);
    agree(ALERTS, cases, |events| {
        let (mut cpu, mut book) = (Cpu::new(), Book::default());
        prop_assert_eq!(cpu.facility.alerts().parameter(), 0);
        for event in events {
            let expected = (event == Interruption).then(|| book.parameter());
            prop_assert_eq!(cpu.meet(event), expected);
            book.meet(event);
            let pending = cpu.facility.alerts().parameter();
            prop_assert_eq!(pending, book.parameter(), "{:?}", event);

            let counters = cpu.facility.counters().state(CounterSet::Basic);
            let states = [
                counters,
                cpu.groups
                    .state(cpu.facility.counters().coprocessor_groups_authorized()),
                cpu.facility.sampling().basic(),
                cpu.facility.sampling().diagnostic(),
            ];
            for (thing, state) in states.into_iter().enumerate() {
                let found = (state.authorized(), state.enabled(), state.active());
                let a = book.a[thing];
                prop_assert_eq!(found, (a, a && book.e[thing], a && book.c[thing]));
            }
            // An MT-diagnostic counter cannot be extracted while their loss is pending.
            let (_, code) = extract_cpu_counter(&cpu.facility, &NOW, false, 0, 448).unwrap();
            prop_assert_eq!(code == ConditionCode::Three, book.pending.contains(&16));
        }
        Ok(())
    });
}
