//! Measurement alerts against a table: what recognizes each request, and what clears it.

use super::counters::{Activity, store_cpu_counter_multiple};
use super::counters::{CounterSet, CounterSets, load_cpu_counter_set_controls};
use super::facility::{ConfigurationLevel, Facility, Installation, Reset};
use super::fixtures::{bare, of_model};
use super::model::Z15;
use super::property_config;
use super::sampling::fixtures::SparseStorage;
use super::sampling::request::SamplingRequest;
use super::sampling::{Diagnosis, Snapshot, load_sampling_controls};
use crate::arch::address::Virtual;
use crate::arch::psw::Psw;
use proptest::prelude::*;
use zerocopy::IntoBytes;

const NOW: Activity = Activity::NONE;

/// What happens at the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    EnableCounters,
    ActivateCounters,
    DisableCounters,
    AuthorizeCounters,
    UnauthorizeCounters,
    LoseCounters,
    LoseMtCounters,
    StoreMtWithClearing,
    ActivateSampling,
    DeactivateSampling,
    DisableSampling,
    AuthorizeSampling,
    UnauthorizeSampling,
    LoseSamples,
    SampleIntoNothing,
    SampleIntoBadTable,
    SampleIntoFullBlock,
    Interruption,
    CpuReset,
    InitialReset,
}
use Event::*;

const EVENTS: [Event; 20] = [
    EnableCounters,
    ActivateCounters,
    DisableCounters,
    AuthorizeCounters,
    UnauthorizeCounters,
    LoseCounters,
    LoseMtCounters,
    StoreMtWithClearing,
    ActivateSampling,
    DeactivateSampling,
    DisableSampling,
    AuthorizeSampling,
    UnauthorizeSampling,
    LoseSamples,
    SampleIntoNothing,
    SampleIntoBadTable,
    SampleIntoFullBlock,
    Interruption,
    CpuReset,
    InitialReset,
];

/// The conditions under which an event recognizes its alert.
#[derive(Clone, Copy, Debug)]
enum While {
    CountersEnabled,
    CountersActive,
    MtActive,
    SamplingEnabled,
    SamplingActive,
}

/// "Measurement Alert": event, the condition it needs, the bit of the parameter.
const RECOGNIZED: [(Event, While, u32); 7] = [
    (SampleIntoNothing, While::SamplingActive, 0),
    (SampleIntoBadTable, While::SamplingActive, 1),
    (SampleIntoFullBlock, While::SamplingActive, 2),
    (UnauthorizeSampling, While::SamplingEnabled, 8),
    (LoseSamples, While::SamplingActive, 9),
    (LoseMtCounters, While::MtActive, 16),
    (LoseCounters, While::CountersActive, 25),
];

/// The counter-authorization change is listed apart: both sets of the fixture can cause it.
const AUTHORIZATION_CHANGE: (Event, While, u32) = (UnauthorizeCounters, While::CountersEnabled, 24);

/// Bits that go when no sampling function is enabled, and when no non-MT counter set is.
const GO_WITH_SAMPLING: [u32; 4] = [0, 1, 2, 9];
const GO_WITH_COUNTERS: [u32; 1] = [25];

/// The book's CPU: two states by A, E, C each, and the pending bits.
#[derive(Debug)]
struct Book {
    counters: (bool, bool, bool),
    sampling: (bool, bool, bool),
    mt: bool,
    pending: Vec<u32>,
}

impl Book {
    fn holds(&self, condition: While) -> bool {
        match condition {
            While::CountersEnabled => self.counters.1,
            While::CountersActive => self.counters.2,
            While::MtActive => self.mt,
            While::SamplingEnabled => self.sampling.1,
            While::SamplingActive => self.sampling.2,
        }
    }

    fn meet(&mut self, event: Event) {
        for (cause, condition, bit) in RECOGNIZED.into_iter().chain([AUTHORIZATION_CHANGE]) {
            if cause == event && self.holds(condition) && !self.pending.contains(&bit) {
                self.pending.push(bit);
            }
        }
        let set = |triple: &mut (bool, bool, bool), enable, activation| {
            if triple.0 {
                (triple.1, triple.2) = (enable, activation);
            }
        };
        match event {
            EnableCounters => set(&mut self.counters, true, false),
            ActivateCounters => set(&mut self.counters, true, true),
            DisableCounters => set(&mut self.counters, false, false),
            AuthorizeCounters => self.counters.0 = true,
            UnauthorizeCounters => self.counters = (false, false, false),
            ActivateSampling => set(&mut self.sampling, true, true),
            DeactivateSampling => set(&mut self.sampling, true, false),
            DisableSampling => set(&mut self.sampling, false, false),
            AuthorizeSampling => self.sampling.0 = true,
            UnauthorizeSampling => self.sampling = (false, false, false),
            LoseCounters => self.counters.2 = false,
            LoseSamples | SampleIntoNothing | SampleIntoBadTable => self.sampling.2 = false,
            LoseMtCounters | SampleIntoFullBlock => {}
            StoreMtWithClearing => self.pending.retain(|&bit| bit != 16),
            Interruption => self.pending.clear(),
            CpuReset => {
                (self.counters.2, self.sampling.2) = (false, false);
                self.pending.clear();
            }
            InitialReset => {
                (self.counters.1, self.counters.2) = (false, false);
                (self.sampling.1, self.sampling.2) = (false, false);
                self.pending.clear();
            }
        }
        if !self.sampling.1 {
            self.pending.retain(|bit| !GO_WITH_SAMPLING.contains(bit));
        }
        if !self.counters.1 {
            self.pending.retain(|bit| !GO_WITH_COUNTERS.contains(bit));
        }
    }

    fn parameter(&self) -> u32 {
        self.pending.iter().map(|bit| 0x8000_0000 >> bit).sum()
    }
}

/// A ring of one block whose trailer requests an alert, and a table with a block link too many.
fn storage() -> SparseStorage {
    let mut storage = SparseStorage::new(0..0x10_0000);
    storage.put_u64(0x1_0008, 0x1_0001);
    storage.put_u64(0x1_0000, 0x2_0000);
    storage.put_u64(0x1_1FF8, 0x2_0000);
    storage.put_u64(0x2_0FC0, 1 << 62);
    storage
}

fn sample(facility: &mut Facility, tear: u64, dear: u64) {
    if facility.active_interval().is_none() {
        return;
    }
    lsctl(facility, true, true, tear, dear);
    let snapshot = Snapshot {
        psw: Psw::default(),
        cr4: 0,
        program_parameter: 0,
        host_program_parameter: 0,
        level: ConfigurationLevel::LogicalPartition,
        limited: false,
    };
    facility.sample(&snapshot, Diagnosis::default, &mut storage());
}

fn lsctl(facility: &mut Facility, enable: bool, activate: bool, tear: u64, dear: u64) {
    let request = SamplingRequest::basic(enable, activate, 1000, tear, dear);
    load_sampling_controls(facility, request.as_bytes().try_into().unwrap()).unwrap();
}

fn lcctl(facility: &mut Facility, operand: u64) {
    load_cpu_counter_set_controls(facility, &NOW, operand).unwrap();
}

fn meet(facility: &mut Facility, event: Event) -> Option<u32> {
    let mt = CounterSets::MT_DIAGNOSTIC;
    match event {
        EnableCounters => lcctl(facility, 0x0002_0000),
        ActivateCounters => lcctl(facility, 0x0002_0002),
        DisableCounters => lcctl(facility, 0),
        AuthorizeCounters => facility.authorize_counters(mt.union(CounterSets::BASIC), &NOW),
        UnauthorizeCounters => facility.authorize_counters(mt, &NOW),
        LoseCounters => facility.lose_counter_data(CounterSet::Basic, &NOW),
        LoseMtCounters => facility.lose_counter_data(CounterSet::MtDiagnostic, &NOW),
        StoreMtWithClearing => {
            store_cpu_counter_multiple(facility, false, 0, 1, 9, Virtual(0))
                .unwrap()
                .complete(facility);
        }
        ActivateSampling => lsctl(facility, true, true, 0, 0),
        DeactivateSampling => lsctl(facility, true, false, 0, 0),
        DisableSampling => lsctl(facility, false, false, 0, 0),
        AuthorizeSampling => facility.authorize_basic_sampling(true),
        UnauthorizeSampling => facility.authorize_basic_sampling(false),
        LoseSamples => facility.lose_sample_data(),
        SampleIntoNothing => sample(facility, 0x1_0000, 0x100_0000),
        SampleIntoBadTable => sample(facility, 0x1_1FF0, 0x3_0FC0),
        SampleIntoFullBlock => sample(facility, 0x1_0000, 0x2_0FC0),
        Interruption => return Some(facility.take_alerts()),
        CpuReset => facility.reset(Reset::Cpu, &NOW),
        InitialReset => facility.reset(Reset::Initial, &NOW),
    }
    None
}

proptest! {
    #![proptest_config(property_config())]

    #[test]
    fn pending_alerts_follow_the_table(
        events in proptest::collection::vec(proptest::sample::select(&EVENTS[..]), 1..60),
    ) {
        let mut facility = of_model(&Z15);
        let mut book = Book {
            counters: (false, false, false),
            sampling: (false, false, false),
            mt: true,
            pending: Vec::new(),
        };
        facility.authorize_counters(CounterSets::MT_DIAGNOSTIC, &NOW);
        facility.multithreading(true, &NOW);
        for event in events {
            let expected = (event == Interruption).then(|| book.parameter());
            prop_assert_eq!(meet(&mut facility, event), expected);
            book.meet(event);
            prop_assert_eq!(facility.alerts().parameter(), book.parameter(), "{:?}", event);
        }
    }
}

#[test]
fn a_facility_begins_with_nothing_pending() {
    assert!(!bare(Installation::ALL).alerts().any());
}
