//! LOAD SAMPLING CONTROLS against the cells of Figure 2-12, observed by QUERY SAMPLING INFORMATION.

use super::super::configuration_level::ConfigurationLevel;
use super::super::facility::{Facility, Installation};
use super::super::fixtures::LIMITS;
use super::super::model::{MODELS, Model};
use super::super::second_opinion::{SAMPLING_FUNCTIONS, agree};
use super::super::{Activity, Reset};
use crate::instruction::{load_sampling_controls, query_sampling_information};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;
use proptest::prelude::*;

/// Figure 2-12, LSCTL only: may a function go from the row's state to the column's? Rows and columns
/// are unauthorized, disabled, inactive, active.
const FIGURE_2_12: [[bool; 4]; 4] = [
    [true, false, false, false],
    [false, true, true, true],
    [false, true, true, true],
    [false, true, true, true],
];

/// Figure 2-11: the state of three control bits A, E, C; other combinations are invalid.
const FIGURE_2_11: [(u32, usize); 4] = [(0b000, 0), (0b100, 1), (0b110, 2), (0b111, 3)];

/// The sizes of both data entries, by CSVN.
const SIZES: [(u16, [u8; 4]); 7] = [
    (1, [0, 32, 0, 64]),
    (2, [0, 32, 0, 74]),
    (3, [0, 32, 0, 85]),
    (4, [0, 32, 0, 112]),
    (5, [0, 32, 0, 112]),
    (6, [0, 32, 0, 112]),
    (7, [0, 32, 0, 173]),
];

fn state_of(aec: u32) -> Option<usize> {
    FIGURE_2_11.iter().find(|row| row.0 == aec).map(|row| row.1)
}

/// The book's registers: A, E and C of the basic and of the diagnostic function, TEAR and DEAR.
#[derive(Clone, Debug)]
struct Book {
    model: &'static Model,
    level: ConfigurationLevel,
    aec: [u32; 2],
    /// The maximum-buffer-size indicator and the host indicator.
    indicators: (bool, bool),
    tear: u64,
    dear: u64,
    interval: u64,
}

impl Book {
    fn lsctl(&mut self, block: &[u8; 64]) -> Result<ConditionCode, ProgramInterruption> {
        let word = |at: usize| u64::from_be_bytes(block[at..at + 8].try_into().unwrap());
        let bit = |n: usize| u32::from(block[n / 8] >> (7 - n % 8) & 1);
        if (2..54).chain(56..62).any(|n| bit(n) == 1) {
            return Err(ProgramInterruption::Specification);
        }
        let asked = [bit(54) << 1 | bit(62), bit(55) << 1 | bit(63)];
        let mut next = [0; 2];
        let mut valid = true;
        for (function, aec) in self.aec.iter().enumerate() {
            next[function] = (aec & 0b100) | asked[function];
            valid &= match (state_of(*aec), state_of(next[function])) {
                (Some(from), Some(to)) => FIGURE_2_12[from][to],
                _ => false,
            };
        }
        if next.contains(&0b111) && !(1000..=1 << 32).contains(&word(8)) {
            return Err(ProgramInterruption::Specification);
        }
        if !valid {
            return Ok(ConditionCode::Three);
        }
        self.aec = next;
        if next.contains(&0b111) {
            (self.interval, self.tear, self.dear) = (word(8), word(16), word(24));
            // "The host indicator is one bit and is available to CPUs at the logical partition level."
            let partition = self.level == ConfigurationLevel::LogicalPartition;
            self.indicators = (bit(0) == 1, partition && bit(1) == 1);
        }
        Ok(ConditionCode::Zero)
    }

    fn qsi(&self) -> [u8; 64] {
        let [basic, diagnostic] = self.aec;
        let halves = [
            (basic >> 2) << 1 | diagnostic >> 2,
            (basic >> 1 & 1) << 1 | diagnostic >> 1 & 1,
            (basic & 1) << 1 | diagnostic & 1,
        ];
        let mut block = [0; 64];
        block[1] = halves[0] as u8;
        block[2] = halves[1] as u8;
        block[3] = halves[2] as u8;
        let sizes = SIZES.iter().find(|row| row.0 == self.model.csvn).unwrap().1;
        block[4..8].copy_from_slice(&sizes);
        block[8..16].copy_from_slice(&LIMITS.minimum.to_be_bytes());
        block[16..24].copy_from_slice(&LIMITS.maximum.to_be_bytes());
        block[24..32].copy_from_slice(&self.tear.to_be_bytes());
        block[32..40].copy_from_slice(&self.dear.to_be_bytes());
        block[44..48].copy_from_slice(&LIMITS.cpu_speed.to_be_bytes());
        block
    }
}

#[derive(Clone, Debug)]
enum Event {
    Lsctl(u64, u64, u64, u64),
    AuthorizeBasic(bool),
    AuthorizeDiagnostic(bool),
    CpuReset,
    InitialReset,
    Loss,
}

fn controls() -> impl Strategy<Value = u64> {
    let assigned = (any::<bool>(), any::<bool>(), 0_u64..4, 0_u64..4)
        .prop_map(|(s, h, e, c)| u64::from(s) << 63 | u64::from(h) << 62 | e << 8 | c);
    let stray = (assigned.clone(), 0_u32..64).prop_map(|(word, bit)| word | 1 << bit);
    prop_oneof![8 => assigned, 1 => stray]
}

fn event() -> impl Strategy<Value = Event> {
    let interval = prop_oneof![
        6 => 1000_u64..1 << 32,
        1 => Just(999_u64),
        1 => Just(1 << 32),
        1 => Just((1 << 32) + 1),
        1 => any::<u64>(),
    ];
    prop_oneof![
        12 => (controls(), interval, any::<u64>(), any::<u64>())
            .prop_map(|(word, interval, tear, dear)| Event::Lsctl(word, interval, tear, dear)),
        3 => any::<bool>().prop_map(Event::AuthorizeBasic),
        3 => any::<bool>().prop_map(Event::AuthorizeDiagnostic),
        1 => Just(Event::CpuReset),
        1 => Just(Event::InitialReset),
        1 => Just(Event::Loss),
    ]
}

#[test]
fn lsctl_and_qsi_agree_with_the_figures() {
    let levels = vec![
        ConfigurationLevel::BasicMachine,
        ConfigurationLevel::LogicalPartition,
        ConfigurationLevel::VirtualMachine,
    ];
    let cases = (
        0..MODELS.len(),
        proptest::sample::select(levels),
        proptest::collection::vec(event(), 1..30),
    );
    agree(SAMPLING_FUNCTIONS, cases, |(model, level, events)| {
        let model = &MODELS[model];
        let mut facility = Facility::new(level, model, Installation::ALL, LIMITS);
        facility.authorize_basic_sampling(true);
        let mut book = Book {
            model,
            level,
            aec: [0b100, 0],
            indicators: (false, false),
            tear: 0,
            dear: 0,
            interval: 0,
        };
        for event in events {
            match event {
                Event::Lsctl(word, interval, tear, dear) => {
                    let mut block = [0x5A; 64];
                    for (at, value) in [(0, word), (8, interval), (16, tear), (24, dear)] {
                        block[at..at + 8].copy_from_slice(&value.to_be_bytes());
                    }
                    let found = load_sampling_controls(&mut facility, &block);
                    prop_assert_eq!(found, book.lsctl(&block));
                }
                Event::AuthorizeBasic(on) => {
                    facility.authorize_basic_sampling(on);
                    book.aec[0] = if on { book.aec[0] | 0b100 } else { 0 };
                }
                Event::AuthorizeDiagnostic(on) => {
                    facility.authorize_diagnostic_sampling(on);
                    book.aec[1] = if on { book.aec[1] | 0b100 } else { 0 };
                }
                Event::CpuReset => {
                    facility.reset(Reset::Cpu, &Activity::NONE);
                    book.aec = book.aec.map(|aec| aec & 0b110);
                }
                Event::InitialReset => {
                    facility.reset(Reset::Initial, &Activity::NONE);
                    book.aec = book.aec.map(|aec| aec & 0b100);
                }
                Event::Loss => {
                    facility.lose_sample_data();
                    book.aec = book.aec.map(|aec| aec & 0b110);
                }
            }
            if book.aec.iter().all(|aec| aec & 0b10 == 0) {
                // "No sampling control, except for authorization controls, is preserved."
                (book.interval, book.tear, book.dear) = (0, 0, 0);
                book.indicators = (false, false);
            }
            prop_assert_eq!(query_sampling_information(&facility), book.qsi());
            let sampling = facility.sampling();
            prop_assert_eq!(sampling.interval(), book.interval);
            let indicators = (sampling.maximum_buffer_size(), sampling.host_indicator());
            prop_assert_eq!(indicators, book.indicators);
        }
        Ok(())
    });
}
