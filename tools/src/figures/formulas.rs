//! The table of formulas: for each model and figure the formula and its source.

use super::{
    figure::Figure,
    formula::{Formula, Quotient, percent, ratio},
    generation::Generation,
    lack::Lack,
    source::Source,
};

/// A formula with its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// The formula.
    pub formula: Formula,
    /// Where it is published.
    pub source: Source,
}

/// Counters of level-1 directory writes: a miss each.
const MISSES: &[u16] = &[2, 4];
/// Cycles in which a level-1 miss was outstanding.
const PENALTIES: &[u16] = &[3, 5];
/// Cycles with a miss of the level-1 cache or of the TLB, from z13 on.
const MISSING: &[u16] = &[143];
/// Cycles with a TLB miss, from z13 on.
const TLB_MISSING: &[u16] = &[130, 135];
/// Entries that were written to the TLB, from z13 on.
const TLB_WRITES: &[u16] = &[129, 134];

/// The counters of the lines that came from each place, which are consecutive levels from the CPU outwards.
struct Sourced {
    level_2: &'static [u16],
    level_3: &'static [u16],
    local: &'static [u16],
    remote: &'static [u16],
    memory: &'static [u16],
}

/// The level-1.5 cache, and the level-2 caches of the same and of other books.
static Z10: Sourced = Sourced {
    level_2: &[128, 129],
    level_3: &[],
    local: &[130, 131],
    remote: &[132, 133],
    memory: &[134, 135],
};

/// A level-3 cache of another chip of the book is as near as the book's level-4 cache.
static Z196: Sourced = Sourced {
    level_2: &[128, 129],
    level_3: &[150, 153],
    local: &[135, 136, 152, 155],
    remote: &[134, 138, 139, 143],
    memory: &[141, 142],
};

/// As z196, with and without intervention.
static ZEC12: Sourced = Sourced {
    level_2: &[130, 131, 132],
    level_3: &[144, 150, 153, 159],
    local: &[145, 147, 151, 154, 156, 160],
    remote: &[146, 148, 152, 155, 157, 161],
    memory: &[135, 137],
};

static Z13: Sourced = Sourced {
    level_2: &[133, 136],
    level_3: &[144, 145, 162, 163],
    local: &[146, 147, 148, 164, 165, 166],
    remote: &[
        149, 150, 151, 152, 153, 154, 155, 156, 157, 167, 168, 169, 170, 171, 172, 173, 174, 175,
    ],
    memory: &[158, 159, 160, 161, 176, 177, 178, 179],
};

/// Of z15 as well.
static Z14: Sourced = Sourced {
    level_2: &[133, 136],
    level_3: &[144, 146, 162, 164],
    local: &[147, 149, 150, 152, 156, 158, 165, 167, 168, 170, 174],
    remote: &[153, 155, 157, 171, 173, 175],
    memory: &[145, 148, 151, 154, 163, 166, 169, 172],
};

/// Levels 3 and 4 are virtual: the level-2 caches of the chip and of the drawer.
static Z16: Sourced = Sourced {
    level_2: &[145, 146, 169, 170],
    level_3: &[147, 149, 150, 151, 171, 173, 174, 175],
    local: &[
        148, 152, 153, 154, 160, 161, 162, 163, 164, 165, 172, 176, 177, 178,
    ],
    remote: &[155, 166, 167, 168, 179],
    memory: &[156, 157, 158, 159, 180, 181, 182, 183],
};

/// The counters of memory are of both caches together.
static Z17: Sourced = Sourced {
    level_2: Z16.level_2,
    level_3: Z16.level_3,
    local: Z16.local,
    remote: Z16.remote,
    memory: &[156, 157, 158, 159],
};

const fn sourced(generation: Generation) -> &'static Sourced {
    match generation {
        Generation::Z10 => &Z10,
        Generation::Z196 => &Z196,
        Generation::ZEc12 => &ZEC12,
        Generation::Z13 => &Z13,
        Generation::Z14 | Generation::Z15 => &Z14,
        Generation::Z16 => &Z16,
        Generation::Z17 => &Z17,
    }
}

/// The formula of a figure for a model, or why there is none. Without a model only what all models count is known.
pub fn published(figure: Figure, generation: Option<Generation>) -> Result<Published, Lack> {
    let since_z13 = generation.is_some_and(|generation| generation >= Generation::Z13);
    // Both give the same for z13.
    let basic = match since_z13 {
        true => Source::Metrics,
        false => Source::HisReports,
    };
    let of = |quotient: Quotient, source| {
        Ok(Published {
            formula: Formula::Quotient(quotient),
            source,
        })
    };
    let made = |formula, source| Ok(Published { formula, source });
    match figure {
        Figure::Cpi => of(ratio(&[0], &[1]), basic),
        Figure::ProblemState => of(percent(&[33], &[1]), basic),
        Figure::L1Misses => of(percent(MISSES, &[1]), basic),
        Figure::Mips => made(Formula::Rate, Source::HisReports),
        Figure::Busy => made(Formula::Busy, Source::HisReports),
        Figure::NestIntensity => made(Formula::Nest, Source::NestOfZ13),
        Figure::Hint => made(Formula::Hint, Source::WorkloadSelection),
        Figure::Cryptography
        | Figure::Prng
        | Figure::Sha
        | Figure::Dea
        | Figure::Aes
        | Figure::Ecc
        | Figure::Blocked => of(
            percent(functions(figure, generation)?, &[0]),
            Source::Architecture,
        ),
        Figure::Level2 | Figure::Level3 | Figure::Local4 | Figure::Remote4 | Figure::Memory => {
            let generation = generation.ok_or(Lack::UnknownModel)?;
            let sourced = sourced(generation);
            let from = match figure {
                Figure::Level2 => sourced.level_2,
                Figure::Level3 => sourced.level_3,
                Figure::Local4 => sourced.local,
                Figure::Remote4 => sourced.remote,
                _ => sourced.memory,
            };
            if from.is_empty() {
                return Err(Lack::NotThere(generation));
            }
            let source = match since_z13 {
                true => Source::Metrics,
                false => Source::Definitions,
            };
            of(percent(from, MISSES), source)
        }
        Figure::FiniteCpi
        | Figure::EstimatedCpi
        | Figure::MissCycles
        | Figure::TlbShare
        | Figure::TlbCycles
        | Figure::PageTableMisses => {
            let generation = generation.ok_or(Lack::UnknownModel)?;
            let formula = match figure {
                _ if !since_z13 => return Err(Lack::NoFormula(generation)),
                Figure::PageTableMisses if generation != Generation::Z13 => {
                    return Err(Lack::NoFormula(generation));
                }
                Figure::FiniteCpi => Formula::Quotient(ratio(MISSING, &[1])),
                Figure::EstimatedCpi => {
                    Formula::Difference([ratio(&[0], &[1]), ratio(MISSING, &[1])])
                }
                Figure::MissCycles => Formula::Quotient(ratio(MISSING, MISSES)),
                Figure::TlbShare => {
                    Formula::Product([percent(TLB_MISSING, &[0]), ratio(MISSING, PENALTIES)])
                }
                Figure::TlbCycles => {
                    Formula::Product([ratio(TLB_MISSING, TLB_WRITES), ratio(MISSING, PENALTIES)])
                }
                _ => Formula::Quotient(percent(&[137], TLB_WRITES)),
            };
            made(formula, Source::Metrics)
        }
    }
}

/// The cycle counters of cryptographic functions. Machines before z15 do not count functions for elliptic curves.
fn functions(figure: Figure, generation: Option<Generation>) -> Result<&'static [u16], Lack> {
    let curves = generation.is_none_or(Generation::counts_curves);
    Ok(match figure {
        Figure::Prng => &[65],
        Figure::Sha => &[69],
        Figure::Dea => &[73],
        Figure::Aes => &[77],
        Figure::Ecc => match generation {
            Some(generation) if !curves => return Err(Lack::NotThere(generation)),
            _ => &[81],
        },
        Figure::Blocked if curves && generation.is_some() => &[67, 71, 75, 79, 83],
        Figure::Blocked => &[67, 71, 75, 79],
        _ if curves && generation.is_some() => &[65, 69, 73, 77, 81],
        _ => &[65, 69, 73, 77],
    })
}

/// The counters that the figures of a model need, in ascending order.
pub fn counters(generation: Option<Generation>) -> Vec<u16> {
    let formulas = Figure::ALL
        .into_iter()
        .filter_map(|figure| published(figure, generation).ok());
    let mut all: Vec<u16> = formulas
        .flat_map(|published| published.formula.counters())
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_counter_of_a_formula_is_installed_on_the_model() {
        for generation in Generation::ALL {
            let Some(model) = generation.model() else {
                continue;
            };
            for counter in counters(Some(generation)) {
                assert!(model.locate(counter).is_some(), "{} {counter}", model.name);
            }
        }
    }

    #[test]
    fn a_line_comes_from_one_place_only() {
        for generation in Generation::ALL {
            let from = sourced(generation);
            let places = [
                from.level_2,
                from.level_3,
                from.local,
                from.remote,
                from.memory,
            ];
            let all: Vec<u16> = places.concat();
            let distinct: BTreeSet<u16> = all.iter().copied().collect();
            assert_eq!(all.len(), distinct.len(), "{}", generation.name());
        }
    }

    #[test]
    fn what_no_source_gives_has_a_reason_in_place_of_a_formula() {
        let lack = |figure, generation| published(figure, generation).unwrap_err();
        assert_eq!(
            lack(Figure::FiniteCpi, Some(Generation::ZEc12)),
            Lack::NoFormula(Generation::ZEc12)
        );
        assert_eq!(
            lack(Figure::Level3, Some(Generation::Z10)),
            Lack::NotThere(Generation::Z10)
        );
        assert_eq!(
            lack(Figure::Ecc, Some(Generation::Z14)),
            Lack::NotThere(Generation::Z14)
        );
        assert_eq!(lack(Figure::Memory, None), Lack::UnknownModel);
        for figure in [Figure::Cpi, Figure::ProblemState, Figure::L1Misses] {
            assert!(published(figure, None).is_ok(), "{}", figure.name());
        }
    }
}
