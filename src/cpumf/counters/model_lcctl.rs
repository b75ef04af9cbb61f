//! The counter facility against counters that are incremented one activity at a time, with the
//! states as three halfwords of bits and the figures as tables.

use super::super::Reset;
use super::super::fixtures::of_model;
use super::super::model::{MODELS, Model};
use super::super::second_opinion::{CPU_COUNTER_SETS, agree};
use super::{
    Activity, CounterSet, CounterSets, GlobalCounterControls, extract_cpu_counter,
    load_cpu_counter_set_controls, query_counter_information, set_cpu_counter,
};
use crate::arch::condition::ConditionCode;
use crate::arch::interruption::ProgramInterruption;
use proptest::prelude::*;
use std::collections::BTreeMap;

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

/// Which counters a set has, by (CFVN, CSVN): Figures 2-3 to 2-8 and the extended counter set.
fn numbers(bit: u16, cfvn: u16, csvn: u16) -> std::ops::Range<u16> {
    match bit {
        0x2 => 0..6,
        0x4 if cfvn == 1 => 32..38,
        0x4 => 32..34,
        0x8 if csvn < 6 => 64..80,
        0x8 => 64..84,
        _ => 128..[160, 176, 256, 256, 256, 288, 288][usize::from(csvn) - 1],
    }
}

/// The book's CPU: control bits, and counters that exist only while their set is enabled.
struct Book {
    model: &'static Model,
    a: u16,
    e: u16,
    c: u16,
    counters: BTreeMap<u16, u64>,
}

const SETS: [u16; 4] = [0x1, 0x2, 0x4, 0x8];

impl Book {
    fn enabled_set_of(&self, number: u16) -> Option<u16> {
        SETS.into_iter().find(|&bit| {
            numbers(bit, self.model.cfvn, self.model.csvn).contains(&number) && self.e & bit != 0
        })
    }

    /// The contents of all counters in a set that is not enabled are zeros.
    fn settle(&mut self) {
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
        (self.e, self.c) = (e, c);
        Ok(ConditionCode::Zero)
    }

    fn run(&mut self, by: &Activity) {
        let sources = [
            (0x2, 0, by.cycles),
            (0x2, 1, by.instructions),
            (0x4, 32, by.problem_cycles),
            (0x4, 33, by.problem_instructions),
        ];
        for (bit, number, amount) in sources {
            if self.c & bit != 0 {
                let counter = self.counters.entry(number).or_insert(0);
                *counter = counter.wrapping_add(amount);
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Event {
    Lcctl(u64),
    Scctr(u64, u64),
    Run(u64, u64, u64, u64),
    Authorize(u16),
    Lose(usize),
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
    prop_oneof![
        6 => operand().prop_map(Event::Lcctl),
        4 => (number(), any::<u64>()).prop_map(|(number, value)| Event::Scctr(number, value)),
        6 => (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>())
            .prop_map(|(a, b, c, d)| Event::Run(a, b, c, d)),
        2 => (0_u16..16).prop_map(Event::Authorize),
        1 => (0_usize..4).prop_map(Event::Lose),
        1 => Just(Event::CpuReset),
        1 => Just(Event::InitialReset),
    ]
}

#[test]
fn counters_by_difference_are_counters_by_increment() {
    let cases = (
        0..MODELS.len(),
        0_u16..16,
        proptest::collection::vec(event(), 1..30),
        proptest::collection::vec(number(), 8),
    );
    agree(
        CPU_COUNTER_SETS,
        cases,
        |(model, authorized, events, probes)| {
            let model = &MODELS[model];
            let mut facility = of_model(model);
            let mut now = Activity::NONE;
            facility.authorize_counters(CounterSets(authorized), &now);
            let mut book = Book {
                model,
                a: authorized,
                e: 0,
                c: 0,
                counters: BTreeMap::new(),
            };
            for event in events {
                match event {
                    Event::Lcctl(operand) => {
                        let found = load_cpu_counter_set_controls(&mut facility, &now, operand);
                        prop_assert_eq!(found, book.lcctl(operand));
                    }
                    Event::Scctr(number, value) => {
                        let found = set_cpu_counter(&mut facility, &now, false, value, number);
                        let expected = if number > 0xFFFF {
                            Err(ProgramInterruption::Specification)
                        } else if book.enabled_set_of(number as u16).is_some() {
                            book.counters.insert(number as u16, value);
                            Ok(ConditionCode::Zero)
                        } else {
                            Ok(ConditionCode::Three)
                        };
                        prop_assert_eq!(found, expected);
                    }
                    Event::Run(cycles, instructions, problem_cycles, problem_instructions) => {
                        let by = Activity {
                            cycles,
                            instructions,
                            problem_cycles,
                            problem_instructions,
                        };
                        book.run(&by);
                        now = Activity {
                            cycles: now.cycles.wrapping_add(cycles),
                            instructions: now.instructions.wrapping_add(instructions),
                            problem_cycles: now.problem_cycles.wrapping_add(problem_cycles),
                            problem_instructions: now
                                .problem_instructions
                                .wrapping_add(problem_instructions),
                        };
                    }
                    Event::Authorize(sets) => {
                        facility.authorize_counters(CounterSets(sets), &now);
                        (book.a, book.e, book.c) = (sets, book.e & sets, book.c & sets);
                    }
                    Event::Lose(index) => {
                        let set = CounterSet::LOADED[index];
                        facility.lose_counter_data(set, &now);
                        book.c &= !set.bit().0;
                    }
                    Event::CpuReset => {
                        facility.reset(Reset::Cpu, &now);
                        book.c = 0;
                    }
                    Event::InitialReset => {
                        facility.reset(Reset::Initial, &now);
                        (book.e, book.c) = (0, 0);
                    }
                }
                book.settle();
                let block = query_counter_information(&facility, &GlobalCounterControls::default());
                let halfwords = [model.cfvn, book.a, book.e, book.c, 0, model.csvn];
                for (index, halfword) in halfwords.into_iter().enumerate() {
                    prop_assert_eq!(&block[2 * index..2 * index + 2], halfword.to_be_bytes());
                }
                for &number in probes.iter().chain(&[0, 1, 32, 33]) {
                    let found = extract_cpu_counter(&facility, &now, false, 0, number);
                    let expected = if number > 0xFFFF {
                        Err(ProgramInterruption::Specification)
                    } else if book.enabled_set_of(number as u16).is_some() {
                        let value = book.counters.get(&(number as u16)).copied().unwrap_or(0);
                        Ok((Some(value), ConditionCode::Zero))
                    } else {
                        Ok((None, ConditionCode::Three))
                    };
                    prop_assert_eq!(found, expected, "counter {}", number);
                }
            }
            Ok(())
        },
    );
}
