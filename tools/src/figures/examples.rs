//! Worked examples: counters of real machines with the figures that a source gives for them.
//!
//! The examples of z13 to z16 are the output of perf stat in the messages in which Thomas Richter of IBM proposed the
//! metrics to linux-kernel on 13 March 2023 ("tools/perf/json: Add metric for tlb and cache s390", "Add cache metrics
//! for s390 z16", z15, z14 and z13, "Add common metrics for s390"). They print two digits. No source gives an example
//! for z10, z196, zEC12 or z17; their tests show that each formula takes the counters that the definitions name, with
//! weights that tell one counter from another.

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

fn number(counts: &Counts, figure: Figure) -> f64 {
    match counts.figure(figure, &Given::default()) {
        Ok(Value::Number(number)) => number,
        other => panic!("{}: {other:?}", figure.name()),
    }
}

/// A number as perf prints it.
fn printed(counts: &Counts, figure: Figure) -> String {
    format!("{:.2}", number(counts, figure))
}

#[test]
fn cycles_for_an_instruction_are_those_of_perf() {
    let counters = [(0, 6_779_778_802), (1, 3_461_975_090)];
    for generation in [
        Generation::Z13,
        Generation::Z14,
        Generation::Z15,
        Generation::Z16,
    ] {
        let counts = counts(generation, &counters);
        assert_eq!(printed(&counts, Figure::Cpi), "1.96");
        // At 5.2 GHz.
        assert!((number(&counts, Figure::Mips) - 2655.3).abs() < 0.1);
    }
}

#[test]
fn the_remote_share_of_z13_is_that_of_perf() {
    let counters = [
        (170, 2),
        (149, 252),
        (150, 3_465),
        (152, 80),
        (151, 761),
        (172, 0),
        (2, 131_817_067),
        (173, 1),
        (154, 447),
        (155, 22),
        (167, 7),
        (175, 0),
        (157, 1_071),
        (169, 3),
        (156, 13_352),
        (153, 15_252),
        (168, 0),
        (174, 0),
        (4, 57_431_083),
        (171, 0),
    ];
    let counts = counts(Generation::Z13, &counters);
    assert_eq!(printed(&counts, Figure::Remote4), "0.02");
    let exact = 34_715.0 * 100.0 / 189_248_150.0;
    assert!((number(&counts, Figure::Remote4) - exact).abs() < 1e-12);
}

#[test]
fn the_remote_share_of_z14_is_that_of_perf() {
    let counters = [
        (175, 0),
        (157, 84),
        (171, 0),
        (2, 71_535_353),
        (153, 219),
        (155, 16_436),
        (173, 0),
        (4, 46_343_940),
    ];
    let counts = counts(Generation::Z14, &counters);
    assert_eq!(printed(&counts, Figure::Remote4), "0.01");
    let exact = 16_739.0 * 100.0 / 117_879_293.0;
    assert!((number(&counts, Figure::Remote4) - exact).abs() < 1e-12);
}

#[test]
fn the_remote_share_of_z15_is_that_of_perf() {
    let counters = [
        (175, 5),
        (157, 187),
        (171, 0),
        (2, 231_333_165),
        (153, 3_303),
        (155, 47_461),
        (173, 0),
        (4, 126_706_244),
    ];
    let counts = counts(Generation::Z15, &counters);
    assert_eq!(printed(&counts, Figure::Remote4), "0.01");
    let exact = 50_956.0 * 100.0 / 358_039_409.0;
    assert!((number(&counts, Figure::Remote4) - exact).abs() < 1e-12);
}

#[test]
fn the_remote_share_of_z16_is_that_of_perf() {
    let counters = [
        (167, 0),
        (2, 431_866),
        (166, 2_395),
        (179, 0),
        (168, 0),
        (155, 1_437),
        (4, 425_960_793),
    ];
    let counts = counts(Generation::Z16, &counters);
    assert_eq!(printed(&counts, Figure::Remote4), "0.00");
    let exact = 3_832.0 * 100.0 / 426_392_659.0;
    assert!((number(&counts, Figure::Remote4) - exact).abs() < 1e-12);
}

#[test]
fn the_cost_of_a_tlb_miss_is_that_of_perf() {
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
        assert_eq!(printed(&counts, Figure::TlbCycles), "440.96");
        // With the cycles and instructions of the other example.
        assert_eq!(printed(&counts, Figure::FiniteCpi), "0.23");
        assert_eq!(printed(&counts, Figure::EstimatedCpi), "1.73");
        let share = 100.0 * 677_204.0 / 6_779_778_802.0 * 795_170_260.0 / 1_199_584_316.0;
        assert!((number(&counts, Figure::TlbShare) - share).abs() < 1e-9);
    }
}

/// All counters of a model, each with a value of its own: a power of two of its number would be too large, so its
/// square.
fn distinct(generation: Generation) -> Counts {
    let numbers = Needed::of(Some(generation));
    let all: Vec<(u16, u64)> = numbers
        .numbers()
        .iter()
        .map(|number| (*number, u64::from(*number).pow(2)))
        .collect();
    counts(generation, &all)
}

fn squares(numbers: &[u16]) -> f64 {
    numbers
        .iter()
        .map(|number| f64::from(*number).powi(2))
        .sum()
}

/// L2P, L3P, L4LP, L4RP and MEMP of a model.
fn check(generation: Generation, places: [&[u16]; 5]) {
    let counts = distinct(generation);
    let figures = [
        Figure::Level2,
        Figure::Level3,
        Figure::Local4,
        Figure::Remote4,
        Figure::Memory,
    ];
    for (figure, numbers) in figures.into_iter().zip(places) {
        if numbers.is_empty() {
            let lack = counts.figure(figure, &Given::default());
            assert_eq!(lack, Err(Lack::NotThere(generation)));
            continue;
        }
        let expected = 100.0 * squares(numbers) / squares(&[2, 4]);
        let found = number(&counts, figure);
        assert!(
            (found - expected).abs() < 1e-6,
            "{} {}",
            generation.name(),
            figure.name()
        );
    }
    let expected = 100.0 * squares(&[2, 4]);
    assert!((number(&counts, Figure::L1Misses) - expected).abs() < 1e-9);
}

#[test]
fn the_shares_of_z10_are_of_the_counters_that_name_these_places() {
    check(
        Generation::Z10,
        [&[128, 129], &[], &[130, 131], &[132, 133], &[134, 135]],
    );
    let z10 = Some(Generation::Z10);
    assert_eq!(Figure::Level2.name_on(z10), "L15P");
    assert_eq!(Figure::Local4.name_on(z10), "L2LP");
    assert_eq!(Figure::Remote4.name_on(z10), "L2RP");
}

#[test]
fn the_shares_of_z196_are_of_the_counters_that_name_these_places() {
    check(
        Generation::Z196,
        [
            &[128, 129],
            &[150, 153],
            &[152, 155, 135, 136],
            &[134, 143, 138, 139],
            &[141, 142],
        ],
    );
}

#[test]
fn the_shares_of_z_ec12_are_of_the_counters_that_name_these_places() {
    check(
        Generation::ZEc12,
        [
            &[130, 131, 132],
            &[144, 150, 153, 159],
            &[145, 151, 154, 160, 147, 156],
            &[146, 152, 155, 161, 148, 157],
            &[135, 137],
        ],
    );
}

#[test]
fn the_shares_of_z17_take_the_counters_of_memory_for_both_caches() {
    check(
        Generation::Z17,
        [
            &[145, 146, 169, 170],
            &[147, 149, 150, 151, 171, 173, 174, 175],
            &[
                148, 152, 153, 154, 160, 161, 162, 163, 164, 165, 172, 176, 177, 178,
            ],
            &[155, 166, 167, 168, 179],
            &[156, 157, 158, 159],
        ],
    );
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
