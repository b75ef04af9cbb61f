//! Worked examples: counters of real machines with the figures that a source gives for them.
//!
//! The published examples, of z13 to z16, are the output of perf stat in the messages in which Thomas Richter of IBM
//! proposed the metrics to linux-kernel on 13 March 2023 ("tools/perf/json: Add metric for tlb and cache s390", "Add cache
//! metrics for s390 z16", z15, z14 and z13, "Add common metrics for s390"). They print two digits. No source gives an
//! example for z10, z196, zEC12 or z17; theirs are small numbers. [`definitions`](super::definitions) compares the
//! counters of every formula with their definitions.

use std::rc::Rc;

use super::{
    counts::{Counted, Counts, Needed, Value},
    figure::Figure,
    generation::Generation,
    hint::Hint,
    lack::Lack,
    nest::{self, Given},
};

/// A group with one record of these counters.
fn counts(generation: Generation, counters: &[(u16, u64)]) -> Counts {
    let needed = Rc::new(Needed::of(Some(generation)));
    let values = needed.numbers().iter().map(|number| {
        let found = counters.iter().find(|(counter, _)| counter == number);
        found.map(|(_, value)| *value)
    });
    let counted = Counted {
        values: values.collect(),
        speed: 5200,
        time: 4096 * 1_000_000,
    };
    let mut counts = Counts::new(Some(generation), needed);
    counts.add(&counted);
    counts
}

pub(super) fn number(counts: &Counts, figure: Figure) -> f64 {
    match counts.figure(figure, &Given::default()) {
        Ok(Value::Number(number)) => number,
        other => panic!("{}: {other:?}", figure.name()),
    }
}

/// A number as perf prints it.
fn printed(counts: &Counts, figure: Figure) -> String {
    format!("{:.2}", number(counts, figure))
}

/// What a source gives, or what follows from its definitions.
pub(super) struct Example {
    pub generations: &'static [Generation],
    pub figures: &'static [(Figure, &'static str)],
    pub counters: &'static [(u16, u64)],
    /// Whether the figures are printed in a source; otherwise the counters are small numbers that show the formula.
    pub is_published: bool,
}

const SINCE_Z13: &[Generation] = &[
    Generation::Z13,
    Generation::Z14,
    Generation::Z15,
    Generation::Z16,
];

/// Figures to two digits, as perf prints them.
pub(super) static EXAMPLES: &[Example] = &[
    Example {
        generations: &[Generation::Z10],
        figures: &[
            (Figure::L1Misses, "10.00"),
            (Figure::Level2, "40.00"),
            (Figure::Local4, "30.00"),
            (Figure::Remote4, "20.00"),
            (Figure::Memory, "10.00"),
        ],
        counters: &[
            (1, 10_000),
            (2, 300),
            (4, 700),
            (128, 150),
            (129, 250),
            (130, 100),
            (131, 200),
            (132, 90),
            (133, 110),
            (134, 60),
            (135, 40),
        ],
        is_published: false,
    },
    Example {
        generations: &[Generation::Z196],
        figures: &[
            (Figure::Level2, "50.00"),
            (Figure::Level3, "20.00"),
            (Figure::Local4, "15.00"),
            (Figure::Remote4, "10.00"),
            (Figure::Memory, "5.00"),
        ],
        counters: &[
            (2, 400),
            (4, 600),
            (128, 300),
            (129, 200),
            (150, 130),
            (153, 70),
            (135, 60),
            (136, 40),
            (152, 30),
            (155, 20),
            (134, 10),
            (138, 20),
            (139, 30),
            (143, 40),
            (141, 35),
            (142, 15),
        ],
        is_published: false,
    },
    Example {
        generations: &[Generation::ZEc12],
        figures: &[
            (Figure::Level2, "60.00"),
            (Figure::Level3, "20.00"),
            (Figure::Local4, "12.00"),
            (Figure::Remote4, "6.00"),
            (Figure::Memory, "2.00"),
        ],
        counters: &[
            (2, 400),
            (4, 600),
            (130, 100),
            (131, 200),
            (132, 300),
            (144, 80),
            (150, 60),
            (153, 40),
            (159, 20),
            (145, 30),
            (147, 25),
            (151, 20),
            (154, 20),
            (156, 15),
            (160, 10),
            (146, 5),
            (148, 10),
            (152, 15),
            (155, 10),
            (157, 10),
            (161, 10),
            (135, 12),
            (137, 8),
        ],
        is_published: false,
    },
    Example {
        generations: SINCE_Z13,
        figures: &[(Figure::Cpi, "1.96")],
        counters: &[(0, 6_779_778_802), (1, 3_461_975_090)],
        is_published: true,
    },
    Example {
        generations: &[Generation::Z13],
        figures: &[(Figure::Remote4, "0.02")],
        counters: &[
            (2, 131_817_067),
            (4, 57_431_083),
            (149, 252),
            (150, 3_465),
            (151, 761),
            (152, 80),
            (153, 15_252),
            (154, 447),
            (155, 22),
            (156, 13_352),
            (157, 1_071),
            (167, 7),
            (168, 0),
            (169, 3),
            (170, 2),
            (171, 0),
            (172, 0),
            (173, 1),
            (174, 0),
            (175, 0),
        ],
        is_published: true,
    },
    Example {
        generations: &[Generation::Z14],
        figures: &[(Figure::Remote4, "0.01")],
        counters: &[
            (2, 71_535_353),
            (4, 46_343_940),
            (153, 219),
            (155, 16_436),
            (157, 84),
            (171, 0),
            (173, 0),
            (175, 0),
        ],
        is_published: true,
    },
    Example {
        generations: &[Generation::Z15],
        figures: &[(Figure::Remote4, "0.01")],
        counters: &[
            (2, 231_333_165),
            (4, 126_706_244),
            (153, 3_303),
            (155, 47_461),
            (157, 187),
            (171, 0),
            (173, 0),
            (175, 5),
        ],
        is_published: true,
    },
    Example {
        generations: &[Generation::Z16],
        figures: &[(Figure::Remote4, "0.00")],
        counters: &[
            (2, 431_866),
            (4, 425_960_793),
            (155, 1_437),
            (166, 2_395),
            (167, 0),
            (168, 0),
            (179, 0),
        ],
        is_published: true,
    },
    Example {
        generations: &[Generation::Z14, Generation::Z15, Generation::Z16],
        figures: &[(Figure::TlbCycles, "440.96")],
        counters: &[
            (3, 2_457_447),
            (5, 1_197_126_869),
            (129, 820),
            (130, 667_726),
            (134, 198),
            (135, 9_478),
            (143, 795_170_260),
        ],
        is_published: true,
    },
    Example {
        generations: &[Generation::Z17],
        figures: &[
            (Figure::L1Misses, "4.00"),
            (Figure::FiniteCpi, "0.50"),
            (Figure::EstimatedCpi, "1.50"),
            (Figure::MissCycles, "12.50"),
            (Figure::Memory, "10.00"),
        ],
        counters: &[
            (0, 20_000),
            (1, 10_000),
            (2, 100),
            (4, 300),
            (143, 5_000),
            (156, 10),
            (157, 16),
            (158, 8),
            (159, 6),
        ],
        is_published: false,
    },
];

#[test]
fn every_model_has_a_worked_example() {
    for generation in Generation::ALL {
        let mut examples = EXAMPLES.iter();
        assert!(
            examples.any(|example| example.generations.contains(&generation)),
            "{}",
            generation.name()
        );
    }
}

#[test]
fn a_worked_example_gives_what_it_says() {
    for example in EXAMPLES {
        for generation in example.generations {
            let counts = counts(*generation, example.counters);
            for (figure, expected) in example.figures {
                let name = (generation.name(), figure.name());
                assert_eq!(printed(&counts, *figure), *expected, "{name:?}");
            }
        }
    }
}

/// The remote shares are so small that two digits say little.
#[test]
fn remote_shares_of_perf_are_right_to_every_digit() {
    let exact = |above: f64, below: f64| above * 100.0 / below;
    for (generation, expected) in [
        (Generation::Z13, exact(34_715.0, 189_248_150.0)),
        (Generation::Z14, exact(16_739.0, 117_879_293.0)),
        (Generation::Z15, exact(50_956.0, 358_039_409.0)),
        (Generation::Z16, exact(3_832.0, 426_392_659.0)),
    ] {
        let is_meant = |example: &&Example| {
            example.generations == [generation] && example.figures[0].0 == Figure::Remote4
        };
        let example = EXAMPLES.iter().find(is_meant).unwrap();
        let counts = counts(generation, example.counters);
        assert!((number(&counts, Figure::Remote4) - expected).abs() < 1e-12);
    }
}

#[test]
fn estimates_share_the_cycles_of_misses() {
    let counters = [
        (130, 667_726),
        (134, 198),
        (143, 795_170_260),
        (135, 9_478),
        (129, 820),
        (5, 1_197_126_869),
        (3, 2_457_447),
        (0, 6_779_778_802),
        (1, 3_461_975_090),
    ];
    for generation in [Generation::Z14, Generation::Z15, Generation::Z16] {
        let counts = counts(generation, &counters);
        assert_eq!(printed(&counts, Figure::FiniteCpi), "0.23");
        assert_eq!(printed(&counts, Figure::EstimatedCpi), "1.73");
        // At 5.2 GHz.
        assert!((number(&counts, Figure::Mips) - 2655.3).abs() < 0.1);
        let share = 100.0 * 677_204.0 / 6_779_778_802.0 * 795_170_260.0 / 1_199_584_316.0;
        assert!((number(&counts, Figure::TlbShare) - share).abs() < 1e-9);
    }
}

/// All counters of a model, each with a value of its own: a power of two of its number would be too large, so its
/// square.
pub(super) fn distinct(generation: Generation) -> Counts {
    let numbers = Needed::of(Some(generation));
    let all: Vec<(u16, u64)> = numbers
        .numbers()
        .iter()
        .map(|number| (*number, u64::from(*number).pow(2)))
        .collect();
    counts(generation, &all)
}

#[test]
fn nest_intensity_is_the_weighted_sum_of_the_shares_of_the_nest() {
    // 4 misses for 100 instructions, of which 20, 10, 5 and 2 per cent go beyond level 2.
    let mut counters: Vec<(u16, u64)> = Needed::of(Some(Generation::Z13))
        .numbers()
        .iter()
        .map(|number| (*number, 0))
        .collect();
    let mut set = |number: u16, value: u64| {
        counters.retain(|(known, _)| *known != number);
        counters.push((number, value));
    };
    set(1, 100_000);
    set(2, 1_000);
    set(4, 3_000);
    set(144, 800);
    set(146, 400);
    set(149, 200);
    set(158, 80);
    let z13 = counts(Generation::Z13, &counters);
    let rni = 2.6 * (0.4 * 20.0 + 1.6 * 10.0 + 3.5 * 5.0 + 7.5 * 2.0) / 100.0;
    assert!((number(&z13, Figure::NestIntensity) - rni).abs() < 1e-12);
    let hint = z13.figure(Figure::Hint, &Given::default());
    assert_eq!(hint, Ok(Value::Workload(Hint::High)));
    // Another weight of the person.
    let mut given = Given::default();
    let (generation, weights) = nest::parse("z13=1,0,0,0,25").unwrap();
    given.add(generation, weights);
    let hint = z13.figure(Figure::Hint, &given);
    assert_eq!(hint, Ok(Value::Workload(Hint::Low)));
}

#[test]
fn without_weights_there_is_neither_nest_intensity_nor_hint() {
    let z16 = distinct(Generation::Z16);
    let none = Given::default();
    let lack = z16.figure(Figure::NestIntensity, &none).unwrap_err();
    assert_eq!(lack, Lack::NoWeights(Generation::Z16));
    assert!(lack.to_string().contains("--rni-weights z16="), "{lack}");
    let lack = z16.figure(Figure::Hint, &none).unwrap_err();
    assert_eq!(lack, Lack::Needs(Figure::NestIntensity));
}

#[test]
fn a_figure_whose_counters_are_missing_says_which() {
    let none = Given::default();
    let basic = counts(Generation::Z15, &[(0, 10), (1, 5), (2, 0), (4, 0)]);
    let lack = basic.figure(Figure::ProblemState, &none).unwrap_err();
    assert_eq!(lack, Lack::NotCollected(33));
    assert!(lack.to_string().contains("problem-state set"), "{lack}");
    let lack = basic.figure(Figure::FiniteCpi, &none).unwrap_err();
    assert_eq!(lack, Lack::NotCollected(143));
    let idle = counts(Generation::Z15, &[(0, 0), (1, 0)]);
    let lack = idle.figure(Figure::Cpi, &none).unwrap_err();
    assert_eq!(lack, Lack::DividesByZero);
}

#[test]
fn a_counter_that_some_records_lack_makes_no_figure() {
    let needed = Rc::new(Needed::of(Some(Generation::Z14)));
    let mut counts = Counts::new(Some(Generation::Z14), Rc::clone(&needed));
    for misses in [Some(7), None] {
        let values = needed.numbers().iter().map(|number| match number {
            0 | 1 => Some(100),
            143 => misses,
            _ => None,
        });
        counts.add(&Counted {
            values: values.collect(),
            speed: 0,
            time: 0,
        });
    }
    let none = Given::default();
    assert_eq!(counts.figure(Figure::Cpi, &none), Ok(Value::Number(1.0)));
    let lack = Lack::Partly {
        counter: 143,
        found: 1,
        records: 2,
    };
    assert_eq!(counts.figure(Figure::FiniteCpi, &none), Err(lack));
    assert_eq!(counts.figure(Figure::Mips, &none), Err(Lack::NoSpeed));
    assert_eq!(counts.figure(Figure::Busy, &none), Err(Lack::NoSpeed));
}

#[test]
fn cycles_of_cryptographic_functions_are_shares_of_the_cycles_of_the_cpu() {
    let functions = [(65, 1), (69, 20), (73, 30), (77, 40), (81, 9)];
    let mut counters = vec![(0, 1_000), (67, 2), (71, 3), (75, 4), (79, 5), (83, 6)];
    counters.extend(functions);
    let z16 = counts(Generation::Z16, &counters);
    assert_eq!(printed(&z16, Figure::Cryptography), "10.00");
    assert_eq!(printed(&z16, Figure::Sha), "2.00");
    assert_eq!(printed(&z16, Figure::Ecc), "0.90");
    assert_eq!(printed(&z16, Figure::Blocked), "2.00");
    let z13 = counts(Generation::Z13, &counters);
    assert_eq!(printed(&z13, Figure::Cryptography), "9.10");
}
