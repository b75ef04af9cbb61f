//! Whether numbers of samples can differ as they do by chance alone.

use std::collections::BTreeMap;

use measure::profile::Profile;

/// Pearson's statistic against the same chance for all.
///
/// # Panics
/// There are too few samples for it to mean anything.
#[must_use]
pub fn even(samples: &[u64]) -> f64 {
    let expected = samples.iter().sum::<u64>() as f64 / samples.len() as f64;
    assert!(expected > 5.0, "too few samples: {samples:?}");
    let deviation = |&samples: &u64| (samples as f64 - expected).powi(2) / expected;
    samples.iter().map(deviation).sum()
}

/// What chance exceeds once in a thousand times, by the approximation of Wilson and Hilferty.
#[must_use]
pub fn critical(degrees_of_freedom: usize) -> f64 {
    const NORMAL: f64 = 3.0902;
    let k = degrees_of_freedom as f64;
    let variance = 2.0 / (9.0 * k);
    k * (1.0 - variance + NORMAL * variance.sqrt()).powi(3)
}

/// Samples by routine, of those that were taken between two times. The routines of a program without symbols are one.
///
/// # Panics
/// A sample cannot be read.
#[must_use]
pub fn by_routine(profile: &Profile, from: u64, to: u64) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    for sample in profile.samples() {
        let sample = sample.unwrap();
        if (from..to).contains(&sample.tod) {
            let line = profile.names.line(&sample.entry);
            *found.entry(line.symbol.into_owned()).or_insert(0) += 1;
        }
    }
    found
}

/// How far two samples of the same things are from each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Pearson's statistic.
    pub pearson: f64,
    /// How many classes there are, with all rare ones together.
    pub classes: usize,
}

impl Distance {
    /// Between two samples, by class. Classes in which fewer than five samples are expected on either side are one.
    #[must_use]
    pub fn between(first: &BTreeMap<String, u64>, second: &BTreeMap<String, u64>) -> Self {
        let sum = |samples: &BTreeMap<String, u64>| samples.values().sum::<u64>() as f64;
        let (all_first, all_second) = (sum(first), sum(second));
        let smaller = all_first.min(all_second) / (all_first + all_second);
        let mut classes: Vec<[f64; 2]> = Vec::new();
        let mut rare = [0.0; 2];
        let mut names: Vec<&String> = first.keys().chain(second.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let count = |samples: &BTreeMap<String, u64>| {
                samples.get(name).copied().unwrap_or_default() as f64
            };
            let class = [count(first), count(second)];
            if (class[0] + class[1]) * smaller < 5.0 {
                rare = [rare[0] + class[0], rare[1] + class[1]];
            } else {
                classes.push(class);
            }
        }
        if rare[0] + rare[1] > 0.0 {
            classes.push(rare);
        }
        let all = all_first + all_second;
        let mut pearson = 0.0;
        for class in &classes {
            let both = class[0] + class[1];
            for (found, of) in class.iter().zip([all_first, all_second]) {
                let expected = both * of / all;
                pearson += (found - expected).powi(2) / expected;
            }
        }
        Self {
            pearson,
            classes: classes.len(),
        }
    }

    /// Whether chance explains it: it would be exceeded more often than once in a thousand times.
    #[must_use]
    pub fn is_chance(&self) -> bool {
        self.classes > 1 && self.pearson < critical(self.classes - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
        of.iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    }

    #[test]
    fn the_critical_values_are_those_of_the_tables() {
        for (degrees, table) in [(10, 29.588), (50, 86.661), (100, 149.449)] {
            let error = (critical(degrees) - table).abs() / table;
            assert!(error < 0.01, "{degrees}: {}", critical(degrees));
        }
    }

    #[test]
    fn samples_of_the_same_thing_are_near_and_others_are_far() {
        let many = samples(&[("a", 5000), ("b", 3000), ("c", 2000), ("d", 3), ("e", 4)]);
        let few = samples(&[("a", 260), ("b", 145), ("c", 95), ("f", 1)]);
        let near = Distance::between(&many, &few);
        assert!(near.is_chance() && near.classes == 4, "{near:?}");
        assert_eq!(near.pearson, Distance::between(&few, &many).pearson);
        let other = samples(&[("a", 200), ("b", 145), ("c", 155)]);
        let far = Distance::between(&many, &other);
        assert!(!far.is_chance(), "{far:?}");
        let none = Distance::between(&many, &BTreeMap::new());
        assert!(!none.is_chance());
    }
}
