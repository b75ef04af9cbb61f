//! Relative nest intensity: how far out the lines of level-1 misses come from, as one number.
//!
//! It is a sum of the shares of the nest with weights, times a factor, both of which IBM chose anew for each model and
//! has corrected since. A wrong weight gives a number that nobody can tell from a right one. So the table has only the
//! weights whose source says them; a person who has IBM's paper gives those of another model.

use super::{figure::Figure, formulas, generation::Generation, source::Source};
use crate::nearest;

/// The weights of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// The factor of the sum.
    pub factor: f64,
    /// The weights of the level-3 cache, local and remote caches, and memory, each per cent of the misses. A model
    /// without a level-3 cache has no use for the first.
    pub shares: [f64; 4],
}

/// The formula with these weights.
pub fn text(weights: &Weights, generation: Generation) -> String {
    let shares = [
        Figure::Level3,
        Figure::Local4,
        Figure::Remote4,
        Figure::Memory,
    ];
    let products = shares
        .into_iter()
        .zip(weights.shares)
        .filter(|(share, _)| formulas::published(*share, Some(generation)).is_ok())
        .map(|(share, weight)| format!("{weight} × {}", share.name_on(Some(generation))));
    let sum: Vec<String> = products.collect();
    format!("{} × ({}) ÷ 100", weights.factor, sum.join(" + "))
}

/// The weights that a source gives.
#[must_use]
pub fn published(generation: Generation) -> Option<(Weights, Source)> {
    match generation {
        Generation::Z13 => Some((
            Weights {
                factor: 2.6,
                shares: [0.4, 1.6, 3.5, 7.5],
            },
            Source::NestOfZ13,
        )),
        _ => None,
    }
}

/// The weights of the models that a person gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given(Vec<(Generation, Weights)>);

impl Given {
    /// Takes the weights of a model; later ones replace earlier ones.
    pub fn add(&mut self, generation: Generation, weights: Weights) {
        self.0.retain(|(known, _)| *known != generation);
        self.0.push((generation, weights));
    }

    /// The weights of a model, and who says them.
    pub fn weights(&self, generation: Generation) -> Option<(Weights, Source)> {
        let given = self.0.iter().find(|(known, _)| *known == generation);
        given
            .map(|(_, weights)| (*weights, Source::Given))
            .or_else(|| published(generation))
    }
}

/// MODEL=FACTOR,L3P,L4LP,L4RP,MEMP; for z10, which has no level-3 cache, MODEL=FACTOR,L2LP,L2RP,MEMP.
pub fn parse(text: &str) -> Result<(Generation, Weights), String> {
    let form = "write MODEL=FACTOR,L3P,L4LP,L4RP,MEMP, as z13=2.6,0.4,1.6,3.5,7.5 (z10=FACTOR,L2LP,L2RP,MEMP)";
    let wrong = |what: String| format!("{what}; {form}");
    let (model, numbers) = text
        .split_once('=')
        .ok_or_else(|| wrong(format!("`{text}` has no model")))?;
    let generation = Generation::of_name(model.trim()).ok_or_else(|| {
        let names = Generation::ALL.map(Generation::name);
        let near = nearest::mentioned(&nearest::nearest(model, names));
        wrong(format!("`{model}` is not a model{near}"))
    })?;
    let numbers: Option<Vec<f64>> = numbers
        .split(',')
        .map(|number| {
            let number: f64 = number.trim().parse().ok()?;
            (0.0..=1000.0).contains(&number).then_some(number)
        })
        .collect();
    let numbers = numbers.ok_or_else(|| {
        wrong(format!(
            "`{text}` has a weight that is no number from 0 to 1000"
        ))
    })?;
    let weights = match (generation, &numbers[..]) {
        (Generation::Z10, [factor, local, remote, memory]) => Weights {
            factor: *factor,
            shares: [0.0, *local, *remote, *memory],
        },
        (Generation::Z10, _) => return Err(wrong("z10 has a factor and 3 weights".to_owned())),
        (_, [factor, level_3, local, remote, memory]) => Weights {
            factor: *factor,
            shares: [*level_3, *local, *remote, *memory],
        },
        _ => return Err(wrong(format!("{model} has a factor and 4 weights"))),
    };
    Ok((generation, weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_given_for_a_model_in_the_order_of_its_nest() {
        let (generation, weights) = parse("Z16=2,0.5,1,3,6").unwrap();
        assert_eq!(generation, Generation::Z16);
        assert_eq!(
            (weights.factor, weights.shares),
            (2.0, [0.5, 1.0, 3.0, 6.0])
        );
        let (_, weights) = parse("z10=1,2,3,4").unwrap();
        assert_eq!(weights.shares, [0.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn the_formula_shows_the_weights_of_the_shares_that_the_model_has() {
        let (weights, _) = published(Generation::Z13).unwrap();
        assert_eq!(
            text(&weights, Generation::Z13),
            "2.6 × (0.4 × L3P + 1.6 × L4LP + 3.5 × L4RP + 7.5 × MEMP) ÷ 100"
        );
        let (_, weights) = parse("z10=1,2,3,4").unwrap();
        assert_eq!(
            text(&weights, Generation::Z10),
            "1 × (2 × L2LP + 3 × L2RP + 4 × MEMP) ÷ 100"
        );
    }

    #[test]
    fn weights_in_another_form_are_refused_with_the_form() {
        for text in [
            "",
            "z16",
            "z9=1,1,1,1,1",
            "z16=1,2,3,4",
            "z10=1,2,3,4,5",
            "z16=1,2,x,4,5",
        ] {
            let refusal = parse(text).unwrap_err();
            assert!(refusal.contains("FACTOR,L3P"), "{text}: {refusal}");
        }
        for number in ["-1", "NaN", "inf", "1001"] {
            assert!(parse(&format!("z16={number},1,1,1,1")).is_err(), "{number}");
        }
    }

    #[test]
    fn given_weights_come_before_those_of_a_source() {
        let mut given = Given::default();
        let (published, source) = given.weights(Generation::Z13).unwrap();
        assert_eq!((published.factor, source), (2.6, Source::NestOfZ13));
        assert_eq!(given.weights(Generation::Z16), None);
        for factor in [9.0, 2.3] {
            let weights = Weights {
                factor,
                ..published
            };
            given.add(Generation::Z13, weights);
        }
        let (weights, source) = given.weights(Generation::Z13).unwrap();
        assert_eq!((weights.factor, source), (2.3, Source::Given));
    }
}
