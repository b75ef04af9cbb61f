//! Compares the coprocessor groups with records of bits, cycles and a map of counters, on several CPUs
//! that share them.

use super::super::Reset;
use super::super::facility::Facility;
use super::super::fixtures::of_model;
use super::super::model::{MODELS, Model};
use super::super::second_opinion::{COPROCESSOR_GROUPS, agree};
use super::{Activity, Coprocessor, CoprocessorGroups, CounterSets, CryptoFunction};
use crate::instruction::{
    extract_coprocessor_group_address, extract_cpu_counter, extract_peripheral_counter,
    load_cpu_counter_set_controls, load_peripheral_counter_set_controls, query_counter_information,
    set_peripheral_counter,
};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

const CPUS: usize = 4;
const NOW: Activity = Activity::NONE;

/// Figure 2-2, LPCTL only; rows and columns are unauthorized, disabled, inactive, active.
const FIGURE_2_2: [&str; 4] = ["*   ", " ***", " ***", " ***"];

/// Figure 2-1: A, E and C of the four states in the same order.
const FIGURE_2_1: [(bool, bool, bool); 4] = [
    (false, false, false),
    (true, false, false),
    (true, true, false),
    (true, true, true),
];

/// Figure 2-10: the first counter of each coprocessor, and how many numbers are assigned.
const FIGURE_2_10: [(Coprocessor, u8); 2] = [(Coprocessor::Sha, 0), (Coprocessor::DeaAes, 4)];
const ASSIGNED: u64 = 8;

/// Figures 2-7 and 2-8: the first counter of each kind of function, and the first CSVN that has it.
const FIGURE_2_8: [(CryptoFunction, u64, u16); 5] = [
    (CryptoFunction::Prng, 64, 1),
    (CryptoFunction::Sha, 68, 1),
    (CryptoFunction::Dea, 72, 1),
    (CryptoFunction::Aes, 76, 1),
    (CryptoFunction::Ecc, 80, 6),
];

/// The CPUs at which the crypto-activity set is active.
const CRYPTO_ACTIVE: [bool; CPUS] = [true, false, true, false];

fn state(aec: (bool, bool, bool)) -> Option<usize> {
    FIGURE_2_1.iter().position(|row| *row == aec)
}

/// The book's machine.
struct Book {
    model: &'static Model,
    groups: u64,
    attached: [u64; CPUS],
    a: [bool; CPUS],
    e: bool,
    c: bool,
    change: bool,
    /// By group and number; what is not there is zero.
    counters: BTreeMap<(u64, u64), u64>,
    /// By CPU and number.
    crypto: BTreeMap<(usize, u64), u64>,
    /// The cycles in which a coprocessor is busy, by group and coprocessor.
    busy: BTreeMap<(u64, u8), Vec<Range<u64>>>,
    clock: u64,
    alerted: [bool; CPUS],
}

impl Book {
    fn disable(&mut self) {
        (self.e, self.c, self.change) = (false, false, false);
        self.counters.clear();
    }

    fn lpctl(&mut self, cpu: usize, operand: u64) -> Result<ConditionCode, ProgramInterruption> {
        if operand >= 4 {
            return Err(ProgramInterruption::Specification);
        }
        if self.groups == 0 {
            return Ok(ConditionCode::Three);
        }
        let a = self.a[cpu];
        let (e, c) = (operand & 2 != 0, operand & 1 != 0);
        let from = state((a, a && self.e, a && self.c)).unwrap();
        let valid = state((a, e, c)).is_some_and(|to| FIGURE_2_2[from].as_bytes()[to] == b'*');
        if !valid {
            return Ok(ConditionCode::Three);
        }
        match (a, e) {
            (false, _) => {}
            (true, true) => (self.e, self.c) = (e, c),
            (true, false) => self.disable(),
        }
        Ok(ConditionCode::Zero)
    }

    /// Group and number of a counter that this CPU can extract and set.
    fn place(&self, cpu: usize, r2: u64) -> Result<Option<(u64, u64)>, ProgramInterruption> {
        if r2 > 0xFF_FFFF {
            return Err(ProgramInterruption::Specification);
        }
        let (group, number) = (r2 / 256, r2 % 256);
        let there = group < self.groups && number < ASSIGNED;
        Ok((there && self.a[cpu] && self.e).then_some((group, number)))
    }

    fn issue(&mut self, cpu: usize, coprocessor: usize, kind: usize, cycles: u64) -> (u64, u64) {
        let group = self.attached[cpu];
        let (_, first) = FIGURE_2_10[coprocessor];
        let busy = self.busy.entry((group, first)).or_default();
        let mut begin = self.clock;
        while busy.iter().any(|range| range.contains(&begin)) {
            begin += 1;
        }
        busy.push(begin..begin + cycles);
        let blocked = begin - self.clock;
        let amounts = [1, cycles, u64::from(blocked != 0), blocked];
        let (_, kind, csvn) = FIGURE_2_8[kind];
        for (index, amount) in (0..).zip(amounts) {
            if self.c {
                let number = u64::from(first) + index;
                let counter = self.counters.entry((group, number)).or_insert(0);
                *counter = counter.wrapping_add(amount);
            }
            if CRYPTO_ACTIVE[cpu] && self.model.csvn >= csvn {
                *self.crypto.entry((cpu, kind + index)).or_insert(0) += amount;
            }
        }
        (cycles, blocked)
    }
}

#[derive(Clone, Debug)]
enum Event {
    Lpctl(usize, u64),
    Spctr(usize, u64, u64),
    Authorize(usize, bool),
    Attach(usize, u16),
    Issue(usize, usize, usize, u64),
    Time(u64),
    CpuReset(usize, bool),
    MachineReset,
}

fn r2() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (0_u64..3, 0_u64..10).prop_map(|(group, number)| group << 8 | number),
        1 => (0_u64..0x1_0000, 0_u64..256).prop_map(|(group, number)| group << 8 | number),
        1 => any::<u64>(),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let operand = prop_oneof![9 => 0_u64..4, 1 => any::<u64>()];
    prop_oneof![
        6 => (0..CPUS, operand).prop_map(|(cpu, operand)| Event::Lpctl(cpu, operand)),
        4 => (0..CPUS, any::<u64>(), r2()).prop_map(|(cpu, value, r2)| Event::Spctr(cpu, value, r2)),
        3 => (0..CPUS, any::<bool>()).prop_map(|(cpu, on)| Event::Authorize(cpu, on)),
        1 => (0..CPUS, 0_u16..3).prop_map(|(cpu, group)| Event::Attach(cpu, group)),
        8 => (0..CPUS, 0_usize..2, 0_usize..5, 0_u64..40)
            .prop_map(|(cpu, coprocessor, kind, cycles)| Event::Issue(cpu, coprocessor, kind, cycles)),
        5 => (0_u64..50).prop_map(Event::Time),
        1 => (0..CPUS, any::<bool>()).prop_map(|(cpu, initial)| Event::CpuReset(cpu, initial)),
        1 => Just(Event::MachineReset),
    ]
}

/// The CPUs at the beginning of a case.
fn cpus(model: &'static Model) -> [Facility; CPUS] {
    core::array::from_fn(|cpu| {
        let mut facility = of_model(model);
        if CRYPTO_ACTIVE[cpu] {
            facility.authorize_counters(CounterSets::CRYPTO_ACTIVITY, &NOW);
            load_cpu_counter_set_controls(&mut facility, &NOW, 0x0008_0008).unwrap();
        }
        facility
    })
}

#[test]
fn the_coprocessor_groups_are_what_all_cpus_see_of_them() {
    let cases = (
        0..MODELS.len(),
        0_u16..5,
        proptest::collection::vec(event(), 1..50),
        proptest::collection::vec(r2(), 4),
    );
    agree(
        COPROCESSOR_GROUPS,
        cases,
        |(model, shared, events, probes)| {
            let model = &MODELS[model];
            let mut cpus = cpus(model);
            // With `shared` 0 nothing is installed; otherwise each group has `shared` CPUs.
            let (mut groups, attached) = match shared {
                0 => (CoprocessorGroups::none(), [0; CPUS]),
                _ => {
                    let attached = core::array::from_fn(|cpu| cpu as u64 / u64::from(shared));
                    (CoprocessorGroups::new(CPUS as u16, shared), attached)
                }
            };
            let mut book = Book {
                model,
                groups: if shared == 0 {
                    0
                } else {
                    attached[CPUS - 1] + 1
                },
                attached,
                a: [false; CPUS],
                e: false,
                c: false,
                change: false,
                counters: BTreeMap::new(),
                crypto: BTreeMap::new(),
                busy: BTreeMap::new(),
                clock: 0,
                alerted: [false; CPUS],
            };
            for event in events {
                match event {
                    Event::Lpctl(cpu, operand) => {
                        let found =
                            load_peripheral_counter_set_controls(&cpus[cpu], &mut groups, operand);
                        prop_assert_eq!(found, book.lpctl(cpu, operand));
                    }
                    Event::Spctr(cpu, value, r2) => {
                        let found =
                            set_peripheral_counter(&cpus[cpu], &mut groups, false, value, r2);
                        let expected = book.place(cpu, r2).map(|place| match place {
                            Some(place) => {
                                book.counters.insert(place, value);
                                ConditionCode::Zero
                            }
                            None => ConditionCode::Three,
                        });
                        prop_assert_eq!(found, expected);
                    }
                    Event::Authorize(cpu, on) => {
                        cpus[cpu].authorize_coprocessor_groups(on, &groups);
                        book.alerted[cpu] |= book.a[cpu] && book.e && !on;
                        book.a[cpu] = on;
                    }
                    Event::Attach(cpu, group) => {
                        groups.attach(cpu as u16, group);
                        if u64::from(group) < book.groups {
                            book.attached[cpu] = u64::from(group);
                        }
                        book.change |= book.e;
                    }
                    Event::Issue(cpu, coprocessor, kind, cycles) => {
                        let (name, _) = FIGURE_2_10[coprocessor];
                        let found = groups.issue(cpu as u16, name, book.clock, cycles);
                        if shared == 0 {
                            prop_assert_eq!(found, None);
                            continue;
                        }
                        let expected = book.issue(cpu, coprocessor, kind, cycles);
                        let found = found.unwrap();
                        prop_assert_eq!((found.busy, found.blocked), expected);
                        cpus[cpu].count_crypto(FIGURE_2_8[kind].0, found);
                    }
                    Event::Time(cycles) => book.clock += cycles,
                    Event::CpuReset(cpu, initial) => {
                        let reset = if initial { Reset::Initial } else { Reset::Cpu };
                        cpus[cpu].reset(reset, &NOW);
                        book.alerted[cpu] = false;
                        // Another model checks what the reset does to the crypto-activity set.
                        book.crypto
                            .retain(|(other, _), _| *other != cpu || !initial);
                        if CRYPTO_ACTIVE[cpu] {
                            load_cpu_counter_set_controls(&mut cpus[cpu], &NOW, 0x0008_0008)
                                .unwrap();
                        }
                    }
                    Event::MachineReset => {
                        groups.reset();
                        book.disable();
                    }
                }
                let controls = groups.controls();
                for (cpu, facility) in cpus.iter().enumerate() {
                    let block = query_counter_information(facility, &controls);
                    let sees = |control: bool| u8::from(book.a[cpu] && control) << 7;
                    prop_assert_eq!(block[2], sees(true));
                    prop_assert_eq!(block[4], sees(book.e));
                    prop_assert_eq!(block[6], sees(book.c));
                    let last = u16::try_from(book.groups.saturating_sub(1)).unwrap();
                    prop_assert_eq!(&block[12..14], last.to_be_bytes());
                    prop_assert_eq!(block[14], u8::from(book.change) << 7);
                    let alerts = if book.alerted[cpu] { 0x80 } else { 0 };
                    prop_assert_eq!(facility.alerts().parameter(), alerts);
                    for &r2 in probes.iter().chain(&[0, 1, 2, 3, 4, 5, 6, 7, 0x100]) {
                        let found = extract_peripheral_counter(facility, &groups, false, r2);
                        let expected = book.place(cpu, r2).map(|place| match place {
                            Some(place) => {
                                let value = book.counters.get(&place).copied().unwrap_or(0);
                                (Some(value), ConditionCode::Zero)
                            }
                            None => (None, ConditionCode::Three),
                        });
                        prop_assert_eq!(found, expected);
                    }
                    let address = extract_coprocessor_group_address(
                        &cpus[0],
                        |address| groups.attached(address),
                        false,
                        !0,
                        cpu as u64,
                    );
                    let expected = match shared {
                        0 => (None, ConditionCode::Three),
                        _ => (
                            Some(!0 << 32 | book.attached[cpu] << 8),
                            ConditionCode::Zero,
                        ),
                    };
                    prop_assert_eq!(address, Ok(expected));
                    let last = if model.csvn < 6 { 80 } else { 84 };
                    for number in (64..last).filter(|_| CRYPTO_ACTIVE[cpu]) {
                        let found = extract_cpu_counter(facility, &NOW, false, 0, number);
                        let value = book.crypto.get(&(cpu, number)).copied().unwrap_or(0);
                        prop_assert_eq!(found, Ok((Some(value), ConditionCode::Zero)));
                    }
                }
            }
            Ok(())
        },
    );
}
