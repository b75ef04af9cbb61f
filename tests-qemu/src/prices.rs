//! What tests take, beside what they took when the table was written.
//!
//! `tests-qemu/prices.txt` has a line for each test of a suite: the seconds of processors that it took with all that it
//! started, and the seconds that passed. A test is called slower if it takes more than a third more seconds of processors.
//! Computers differ, so each run does the same piece of work, and its seconds and those of the table
//! say how fast one computer is beside the other. Seconds that passed say how well tests run side by side, and nothing else.
//!
//! A run leaves what it found below `target/times`. `cargo times` lists it.

mod reference;
mod table;

use std::{cmp::Ordering, fmt::Write as _, fs, path::PathBuf};

use anyhow::{Context, Result};
use measure::building::repository;

pub use self::table::{Kept, Recorded, Step, Table};

/// What a test takes, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Of processors, with everything that the test starts.
    pub cpu: f64,
    /// That pass.
    pub wall: f64,
}

/// By how much a test may take longer before it is called slower.
const TOLERANCE: f64 = 4.0 / 3.0;

/// A difference of fewer seconds is not worth a line.
const LEAST: f64 = 2.0;

/// The part of its time in which a test has a processor, from which on it is said to compute. Two that compute on one processor
/// have half of it each.
const COMPUTES: f64 = 0.5;

/// The least part that is promised to a test that waits.
const WAITS: f64 = 0.1;

impl Price {
    /// The processors that the test needs while it runs.
    pub fn weight(self) -> f64 {
        let share = self.cpu / self.wall.max(0.01);
        if share > COMPUTES {
            share.max(1.0)
        } else {
            share.max(WAITS)
        }
    }
}

/// The order in which tests begin.
pub fn longest_first(one: Option<&Price>, other: Option<&Price>) -> Ordering {
    let length = |price: Option<&Price>| price.map_or(f64::INFINITY, |price| price.wall);
    length(other).total_cmp(&length(one))
}

/// What is said of a test that became slower, faster, or has no price, and how far a whole run is from the table.
pub struct Comparison {
    /// How much slower this computer is than the one of the table.
    pub scale: f64,
    /// Tests that became slower: found, and expected on this computer.
    pub slower: Vec<(Recorded, f64)>,
    /// Tests without a price.
    pub new: Vec<Recorded>,
    /// Seconds of processors of all tests that have a price: found, and expected on this computer.
    pub sums: [f64; 2],
}

impl Comparison {
    /// Compares what was found with the table, on a computer on which the work takes so long.
    pub fn new(found: &[Recorded], kept: &Kept, reference: f64) -> Self {
        let scale = kept.scale(Some(reference));
        let (mut slower, mut new, mut sums) = (Vec::new(), Vec::new(), [0.0, 0.0]);
        for recorded in found {
            let Some(price) = kept.of(&recorded.suite, &recorded.name) else {
                new.push(recorded.clone());
                continue;
            };
            let (cpu, expected) = (recorded.price.cpu, price.cpu * scale);
            sums = [sums[0] + cpu, sums[1] + expected];
            if cpu > expected * TOLERANCE && cpu - expected >= LEAST {
                slower.push((recorded.clone(), expected));
            }
        }
        let more = |(recorded, expected): &(Recorded, f64)| recorded.price.cpu - expected;
        slower.sort_by(|one, other| more(other).total_cmp(&more(one)));
        Self {
            scale,
            slower,
            new,
            sums,
        }
    }

    /// In words. It is the end of a run's output.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let [found, expected] = self.sums;
        let _ = writeln!(
            text,
            "prices: {found:.0} s of processors, {expected:.0} expected on this computer (its speed: {:.2} of the table's)",
            1.0 / self.scale
        );
        for (recorded, expected) in &self.slower {
            let (cpu, name) = (recorded.price.cpu, &recorded.name);
            let _ = writeln!(
                text,
                "slower: {name} took {cpu:.1} s of processors, {expected:.1} expected"
            );
        }
        for recorded in &self.new {
            let _ = writeln!(text, "no price: {}", recorded.name);
        }
        if !self.slower.is_empty() || !self.new.is_empty() {
            text.push_str("`cargo times` lists them; `cargo times keep` writes the table anew\n");
        }
        text
    }
}

/// Notes what a whole run of a suite with these tests found, and compares it.
pub fn settle(
    suite: &str,
    is_long: bool,
    tests: &[&str],
    (found, steps): (&[Recorded], &[Step]),
    kept: &Kept,
) -> Result<String> {
    let reference = reference::seconds();
    let tier = if is_long { "-long" } else { "" };
    let place = directory().join(format!("{suite}{tier}.txt"));
    let table = Table {
        reference: Some(reference),
        rows: found.to_vec(),
        steps: steps.to_vec(),
        gone: kept.beyond(suite, tests),
    };
    fs::create_dir_all(directory())
        .and_then(|()| fs::write(&place, table.text()))
        .with_context(|| format!("cannot write {}", place.display()))?;
    Ok(Comparison::new(found, kept, reference).text())
}

/// Where runs leave what they found.
pub fn directory() -> PathBuf {
    repository::target_directory()
        .parent()
        .map_or_else(PathBuf::new, |target| target.join("times"))
}

/// The kept table.
pub fn file() -> PathBuf {
    repository::root().join("tests-qemu/prices.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(name: &str, cpu: f64) -> Recorded {
        Recorded {
            suite: "machine".to_owned(),
            name: name.to_owned(),
            price: Price { cpu, wall: cpu },
        }
    }

    fn kept(rows: &[Recorded]) -> Kept {
        Kept::from(Table {
            reference: Some(1.0),
            rows: rows.to_vec(),
            ..Table::default()
        })
    }

    #[test]
    fn a_test_is_slower_if_it_takes_a_third_more_than_this_computer_explains() {
        let kept = kept(&[recorded("a", 10.0), recorded("b", 10.0), recorded("c", 1.0)]);
        let found = [recorded("a", 26.0), recorded("b", 27.0), recorded("c", 3.5)];
        let names = |reference: f64| -> Vec<String> {
            let slower = Comparison::new(&found, &kept, reference).slower;
            slower
                .into_iter()
                .map(|(recorded, _)| recorded.name)
                .collect()
        };
        assert_eq!(names(2.0), ["b"]);
        assert_eq!(names(1.0), ["b", "a", "c"]);
        assert!(names(3.0).is_empty());
    }

    #[test]
    fn a_test_without_a_price_is_named() {
        let text = Comparison::new(&[recorded("a", 1.0)], &kept(&[]), 1.0).text();
        assert!(
            text.contains("no price: a\n") && text.contains("cargo times keep"),
            "{text}"
        );
    }

    #[test]
    fn a_test_with_a_second_qemu_has_the_price_of_its_name() {
        let found = [recorded("a@qemu-10.0", 1.0), recorded("b@qemu-10.0", 1.0)];
        let compared = Comparison::new(&found, &kept(&[recorded("a", 1.0)]), 1.0);
        assert_eq!(compared.new, found[1..]);
    }

    #[test]
    fn a_test_that_computes_needs_a_processor_and_one_that_waits_a_part() {
        let weight = |cpu, wall| Price { cpu, wall }.weight();
        assert_eq!(weight(6.0, 10.0), 1.0);
        assert_eq!(weight(20.0, 10.0), 2.0);
        assert_eq!(weight(3.0, 10.0), 0.3);
        assert_eq!(weight(0.0, 10.0), 0.1);
    }

    #[test]
    fn one_without_a_price_begins_first_and_then_the_longest() {
        let prices = [
            Some(Price {
                cpu: 0.0,
                wall: 1.0,
            }),
            None,
            Some(Price {
                cpu: 0.0,
                wall: 2.0,
            }),
        ];
        let mut order = prices;
        order.sort_by(|one, other| longest_first(one.as_ref(), other.as_ref()));
        assert_eq!(order, [prices[1], prices[2], prices[0]]);
    }
}
