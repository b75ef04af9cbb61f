//! Compares the counter facility with counters that count one activity at a time, with the states as
//! three halfwords of bits and the figures as tables: what LCCTL, the external means, multithreading,
//! errors and resets do to the sets, and which alerts they cause.

use super::super::Reset;
use super::super::facility::Facility;
use super::super::fixtures::of_model;
use super::super::model::{MODELS, Model};
use super::super::second_opinion::{CPU_COUNTER_SETS, agree};
use super::{Activity, CounterSet, CounterSets, GlobalCounterControls};
use crate::instruction::{
    extract_cpu_counter, load_cpu_counter_set_controls, query_counter_information, set_cpu_counter,
};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Figure 2-2, LCCTL only; rows and columns are unauthorized, disabled, inactive, active.
const FIGURE_2_2: [[bool; 4]; 4] = [
    [true, false, false, false],
    [false, true, true, true],
    [false, true, true, true],
    [false, true, true, true],
];

/// The number of a state by A, E and C (Figure 2-1).
fn figure_2_1(a: bool, e: bool, c: bool) -> Option<usize> {
    match (a, e, c) {
        (false, false, false) => Some(0),
        (true, false, false) => Some(1),
        (true, true, false) => Some(2),
        (true, true, true) => Some(3),
        _ => None,
    }
}

/// By CSVN: which bits of each half of the LCCTL operand must be zeros, and which are ignored
/// (programming note 2).
const NOTE_2: [(u16, u16, u16); 7] = [
    (1, 0xFFF0, 0),
    (2, 0xFFF0, 0),
    (3, 0xFFF0, 0),
    (4, 0xFFC0, 0x0030),
    (5, 0xFFD0, 0x0020),
    (6, 0xFFD0, 0x0020),
    (7, 0xFFD0, 0x0020),
];

/// Which counters a set has, by (CFVN, CSVN): Figures 2-3 to 2-9 and the extended counter set.
fn numbers(bit: u16, cfvn: u16, csvn: u16) -> std::ops::Range<u16> {
    match bit {
        0x2 => 0..6,
        0x4 if cfvn == 1 => 32..38,
        0x4 => 32..34,
        0x8 if csvn < 6 => 64..80,
        0x8 => 64..84,
        0x20 if csvn > 3 => 448..496,
        0x20 => 448..448,
        _ => 128..[160, 176, 256, 256, 256, 288, 288][usize::from(csvn) - 1],
    }
}

/// The bits of the sets in the halfwords of controls: those that LCCTL controls, and MT-diagnostic.
const SETS: [u16; 4] = [0x1, 0x2, 0x4, 0x8];
const MT: u16 = 0x20;

/// "Measurement Alert": the bits of the interruption parameter that counters have.
const LOSS_OF_MT_DATA: u32 = 16;
const AUTHORIZATION_CHANGE: u32 = 24;
const LOSS_OF_DATA: u32 = 25;

/// The result of an instruction; `None` for an event that is not an instruction.
type Answer = Option<Result<ConditionCode, ProgramInterruption>>;

/// The book's CPU: control bits, and counters that exist only while their set is enabled.
struct Book {
    model: &'static Model,
    a: u16,
    e: u16,
    c: u16,
    multithreading: bool,
    pending: BTreeSet<u32>,
    counters: BTreeMap<u16, u64>,
}

impl Book {
    fn new(model: &'static Model) -> Self {
        Self {
            model,
            a: 0,
            e: 0,
            c: 0,
            multithreading: false,
            pending: BTreeSet::new(),
            counters: BTreeMap::new(),
        }
    }

    fn has_counter(&self, bit: u16, number: u16) -> bool {
        numbers(bit, self.model.cfvn, self.model.csvn).contains(&number)
    }

    fn enabled_set_of(&self, number: u16) -> Option<u16> {
        let enabled = SETS.into_iter().chain([MT]).filter(|bit| self.e & bit != 0);
        enabled
            .into_iter()
            .find(|&bit| self.has_counter(bit, number))
    }

    /// Clears the counters of sets that are not enabled, and loss of counter data when no set except
    /// MT-diagnostic is enabled.
    fn settle(&mut self) {
        if self.e & !MT == 0 {
            self.pending.remove(&LOSS_OF_DATA);
        }
        let dead: Vec<u16> = self
            .counters
            .keys()
            .copied()
            .filter(|&number| self.enabled_set_of(number).is_none())
            .collect();
        for number in dead {
            self.counters.remove(&number);
        }
    }

    fn lcctl(&mut self, operand: u64) -> Result<ConditionCode, ProgramInterruption> {
        let rule = NOTE_2
            .iter()
            .find(|rule| rule.0 == self.model.csvn)
            .unwrap();
        let [_, high, e, c] = [48, 32, 16, 0].map(|shift| (operand >> shift) as u16);
        if operand >> 48 != 0 || high != 0 || (e | c) & rule.1 != 0 {
            return Err(ProgramInterruption::Specification);
        }
        let (e, c) = (e & !rule.2, c & !rule.2);
        for bit in SETS {
            let has = |controls: u16| controls & bit != 0;
            let from = figure_2_1(has(self.a), has(self.e), has(self.c)).unwrap();
            let to = figure_2_1(has(self.a), has(e), has(c));
            if !to.is_some_and(|to| FIGURE_2_2[from][to]) {
                return Ok(ConditionCode::Three);
            }
        }
        (self.e, self.c) = (e | self.e & MT, c | self.c & MT);
        Ok(ConditionCode::Zero)
    }

    /// The sets that a reset of the CPU does not change.
    fn spared(&self) -> u16 {
        if self.multithreading { MT } else { 0 }
    }

    fn scctr(&mut self, number: u64, value: u64) -> Result<ConditionCode, ProgramInterruption> {
        if number > 0xFFFF {
            return Err(ProgramInterruption::Specification);
        }
        match self.enabled_set_of(number as u16) {
            // Programs cannot set counters of the MT-diagnostic set.
            None | Some(MT) => Ok(ConditionCode::Three),
            Some(_) => {
                self.counters.insert(number as u16, value);
                Ok(ConditionCode::Zero)
            }
        }
    }

    fn ecctr(&self, number: u64) -> Result<(Option<u64>, ConditionCode), ProgramInterruption> {
        if number > 0xFFFF {
            return Err(ProgramInterruption::Specification);
        }
        let number = number as u16;
        let lost = |set| set == MT && self.pending.contains(&LOSS_OF_MT_DATA);
        Ok(match self.enabled_set_of(number) {
            Some(set) if !lost(set) => {
                let value = self.counters.get(&number).copied().unwrap_or(0);
                (Some(value), ConditionCode::Zero)
            }
            _ => (None, ConditionCode::Three),
        })
    }

    fn count(&mut self, bit: u16, number: u16, amount: u64) {
        if self.c & bit != 0 && self.has_counter(bit, number) {
            let counter = self.counters.entry(number).or_insert(0);
            *counter = counter.wrapping_add(amount);
        }
    }

    fn meet(&mut self, event: &Event) -> Answer {
        let mut answer = None;
        match *event {
            Event::Lcctl(operand) => answer = Some(self.lcctl(operand)),
            Event::Scctr(number, value) => answer = Some(self.scctr(number, value)),
            Event::Run(ref by) => self.run(by),
            Event::Extended(number, amount) => self.count(0x1, number, amount),
            // Figure 2-9: 448 with one thread active, 449 with two.
            Event::Threads(threads @ 1..=2, cycles) => self.count(MT, 447 + threads, cycles),
            Event::Threads(..) => {}
            Event::Authorize(sets) => {
                let installed = if self.model.csvn > 3 { 0x2F } else { 0x0F };
                self.a = sets & installed;
                if self.e & !self.a != 0 {
                    self.pending.insert(AUTHORIZATION_CHANGE);
                }
                let begun = self.a & self.spared();
                (self.e, self.c) = (self.e & self.a | begun, self.c & self.a | begun);
            }
            // Figure 2-2, notes 3 and 4.
            Event::Multithreading(on) => {
                self.multithreading = on;
                let begun = self.a & self.spared();
                (self.e, self.c) = (self.e & !MT | begun, self.c & !MT | begun);
            }
            Event::Lose(MT) if self.c & MT != 0 => {
                self.pending.insert(LOSS_OF_MT_DATA);
            }
            Event::Lose(bit) if self.c & bit != 0 => {
                self.pending.insert(LOSS_OF_DATA);
                self.c &= !bit;
            }
            Event::Lose(_) => {}
            Event::CpuReset => {
                self.pending.clear();
                self.c &= self.spared();
            }
            Event::InitialReset => {
                self.pending.clear();
                (self.e, self.c) = (self.e & self.spared(), self.c & self.spared());
            }
        }
        self.settle();
        answer
    }

    fn run(&mut self, by: &Activity) {
        let sources = [
            (0x2, 0, by.cycles),
            (0x2, 1, by.instructions),
            (0x4, 32, by.problem_cycles),
            (0x4, 33, by.problem_instructions),
        ];
        for (bit, number, amount) in sources {
            self.count(bit, number, amount);
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Lcctl(u64),
    Scctr(u64, u64),
    Run(Activity),
    Extended(u16, u64),
    Threads(u16, u64),
    Authorize(u16),
    Multithreading(bool),
    Lose(u16),
    CpuReset,
    InitialReset,
}

fn operand() -> impl Strategy<Value = u64> {
    let plain = (0_u64..16, 0_u64..16).prop_map(|(e, c)| e << 16 | c);
    let nested = (0_u64..16, 0_u64..16).prop_map(|(e, c)| e << 16 | (e & c));
    let stray = (nested.clone(), 0_u32..64).prop_map(|(word, bit)| word | 1 << bit);
    prop_oneof![2 => plain, 6 => nested, 2 => stray, 1 => any::<u64>()]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => 0_u64..8,
        6 => 30_u64..40,
        2 => 60_u64..90,
        2 => 120_u64..300,
        1 => 440_u64..500,
        1 => any::<u64>(),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let run = any::<[u64; 4]>().prop_map(|[cycles, instructions, of_problem, in_problem]| {
        Event::Run(Activity {
            cycles,
            instructions,
            problem_cycles: of_problem,
            problem_instructions: in_problem,
        })
    });
    let bit = proptest::sample::select(vec![0x1, 0x2, 0x4, 0x8, MT]);
    prop_oneof![
        6 => operand().prop_map(Event::Lcctl),
        4 => (number(), any::<u64>()).prop_map(|(number, value)| Event::Scctr(number, value)),
        6 => run,
        1 => (120_u16..300, any::<u64>()).prop_map(|(number, by)| Event::Extended(number, by)),
        1 => (0_u16..4, any::<u64>()).prop_map(|(threads, by)| Event::Threads(threads, by)),
        2 => (0_u16..0x40).prop_map(|sets| Event::Authorize(sets & 0x2F)),
        1 => any::<bool>().prop_map(Event::Multithreading),
        1 => bit.prop_map(Event::Lose),
        1 => Just(Event::CpuReset),
        1 => Just(Event::InitialReset),
    ]
}

fn perform(facility: &mut Facility, now: &mut Activity, event: &Event) -> Answer {
    match *event {
        Event::Lcctl(operand) => {
            return Some(load_cpu_counter_set_controls(facility, now, operand));
        }
        Event::Scctr(number, value) => {
            return Some(set_cpu_counter(facility, now, false, value, number));
        }
        Event::Run(by) => {
            *now = Activity {
                cycles: now.cycles.wrapping_add(by.cycles),
                instructions: now.instructions.wrapping_add(by.instructions),
                problem_cycles: now.problem_cycles.wrapping_add(by.problem_cycles),
                problem_instructions: now
                    .problem_instructions
                    .wrapping_add(by.problem_instructions),
            }
        }
        Event::Extended(number, amount) => facility.count_extended(number, amount),
        Event::Threads(threads, cycles) => facility.count_thread_cycles(threads, cycles),
        Event::Authorize(sets) => facility.authorize_counters(CounterSets(sets), now),
        Event::Multithreading(on) => facility.multithreading(on, now),
        Event::Lose(bit) => {
            let set = CounterSet::ALL.into_iter().find(|set| set.bit().0 == bit);
            facility.lose_counter_data(set.unwrap(), now);
        }
        Event::CpuReset => facility.reset(Reset::Cpu, now),
        Event::InitialReset => facility.reset(Reset::Initial, now),
    }
    None
}

#[test]
fn counter_sets_and_their_counters_are_what_the_figures_make_of_every_event() {
    let cases = (
        0..MODELS.len(),
        proptest::collection::vec(event(), 1..30),
        proptest::collection::vec(number(), 8),
    );
    agree(CPU_COUNTER_SETS, cases, |(model, events, probes)| {
        let model = &MODELS[model];
        let (mut facility, mut now) = (of_model(model), Activity::NONE);
        let mut book = Book::new(model);
        // All sets begin authorized: otherwise little happens.
        for event in [Event::Authorize(0x2F)].iter().chain(&events) {
            prop_assert_eq!(perform(&mut facility, &mut now, event), book.meet(event));
            let block = query_counter_information(&facility, &GlobalCounterControls::default());
            let halfwords = [model.cfvn, book.a, book.e, book.c, 0, model.csvn];
            for (index, halfword) in halfwords.into_iter().enumerate() {
                prop_assert_eq!(&block[2 * index..2 * index + 2], halfword.to_be_bytes());
            }
            let pending: u32 = book.pending.iter().map(|bit| 0x8000_0000 >> bit).sum();
            prop_assert_eq!(facility.alerts().parameter(), pending);
            for &number in probes.iter().chain(&[0, 1, 32, 33, 448, 449]) {
                let found = extract_cpu_counter(&facility, &now, false, 0, number);
                prop_assert_eq!(found, book.ecctr(number), "counter {}", number);
            }
        }
        Ok(())
    });
}
