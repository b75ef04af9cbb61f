//! The form of a table: a line for each test, with blanks between its columns.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use anyhow::{Context, Result};

use super::Price;

/// The word before a part of a test.
const STEP: &str = "step";

/// The word before a suite and a test that it no longer has.
const GONE: &str = "gone";

/// The word before the seconds of the work that all computers do.
const REFERENCE: &str = "reference";

/// One test of a suite.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// The suite's program.
    pub suite: String,
    /// The test, as on the command line.
    pub name: String,
    /// What it takes.
    pub price: Price,
}

/// A part of a test that has a name: a guest, a boot, or a build before the first test.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The test, or `-` before the first one.
    pub test: String,
    /// What it is.
    pub name: String,
    /// What it took.
    pub price: Price,
}

/// A table as it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Seconds of the work that all computers do.
    pub reference: Option<f64>,
    /// Its lines, in any order.
    pub rows: Vec<Recorded>,
    /// Parts of tests. The kept table has none.
    pub steps: Vec<Step>,
    /// Tests that have a price in the kept table and are no longer there, each with its suite.
    pub gone: Vec<(String, String)>,
}

impl Table {
    /// Reads a table. A line that begins with `#` is for people.
    pub fn parse(text: &str) -> Result<Self> {
        let mut table = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |word: &str| {
                word.parse::<f64>()
                    .with_context(|| format!("{word} is no number: {line}"))
            };
            match words[..] {
                [] | ["#", ..] => {}
                [REFERENCE, seconds] => table.reference = Some(number(seconds)?),
                [STEP, cpu, wall, test, name] => table.steps.push(Step {
                    test: test.to_owned(),
                    name: name.to_owned(),
                    price: Price {
                        cpu: number(cpu)?,
                        wall: number(wall)?,
                    },
                }),
                [GONE, suite, name] => table.gone.push((suite.to_owned(), name.to_owned())),
                [cpu, wall, suite, name] => table.rows.push(Recorded {
                    suite: suite.to_owned(),
                    name: name.to_owned(),
                    price: Price {
                        cpu: number(cpu)?,
                        wall: number(wall)?,
                    },
                }),
                _ => anyhow::bail!("a line has two seconds, a suite and a test, and not: {line}"),
            }
        }
        Ok(table)
    }

    /// Its text, in the order of the names, so that a change shows as the lines that changed.
    pub fn text(&self) -> String {
        let mut text = "# Seconds of processors, seconds that passed, suite, test. `cargo times keep` writes it.\n".to_owned();
        if let Some(seconds) = self.reference {
            let _ = writeln!(text, "{REFERENCE} {seconds:.3}");
        }
        let mut rows: Vec<&Recorded> = self.rows.iter().collect();
        rows.sort_by(|one, other| (&one.suite, &one.name).cmp(&(&other.suite, &other.name)));
        for Recorded { suite, name, price } in rows {
            let _ = writeln!(text, "{:7.1} {:7.1} {suite} {name}", price.cpu, price.wall);
        }
        for Step { test, name, price } in &self.steps {
            let _ = writeln!(
                text,
                "{STEP} {:.1} {:.1} {test} {name}",
                price.cpu, price.wall
            );
        }
        for (suite, name) in &self.gone {
            let _ = writeln!(text, "{GONE} {suite} {name}");
        }
        text
    }
}

/// The kept table, by suite and test.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    reference: Option<f64>,
    prices: BTreeMap<(String, String), Price>,
}

impl Kept {
    /// As it is in the repository.
    pub fn read() -> Result<Self> {
        let file = super::file();
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let table = Table::parse(&text)
            .with_context(|| format!("{} is no table of prices", file.display()))?;
        Ok(Self::from(table))
    }

    /// Tests of a suite that have a price and are not among these.
    pub fn beyond(&self, suite: &str, tests: &[&str]) -> Vec<(String, String)> {
        let of_suite = self.prices.keys().filter(|(of, _)| of == suite);
        let gone = of_suite.filter(|(_, name)| !tests.contains(&name.as_str()));
        gone.cloned().collect()
    }

    /// How much longer a computer takes on which the work takes so long.
    pub fn scale(&self, reference: Option<f64>) -> f64 {
        match (reference, self.reference) {
            (Some(found), Some(kept)) if kept > 0.0 => found / kept,
            _ => 1.0,
        }
    }

    /// The table with what was found, as it would be on the computer of the table.
    #[must_use]
    pub fn renewed(mut self, found: Vec<Table>) -> Table {
        // The first table that is ever kept is that of its computer.
        let first = found.iter().find_map(|table| table.reference);
        self.reference = self.reference.or(first);
        for table in found {
            for gone in &table.gone {
                self.prices.remove(gone);
            }
            let scale = self.scale(table.reference);
            for row in table.rows {
                let price = Price {
                    cpu: row.price.cpu / scale,
                    wall: row.price.wall / scale,
                };
                self.prices.insert((row.suite, row.name), price);
            }
        }
        let row = |((suite, name), price)| Recorded { suite, name, price };
        Table {
            reference: self.reference,
            rows: self.prices.into_iter().map(row).collect(),
            ..Table::default()
        }
    }

    /// The price of a test. One that is performed with each of two QEMUs, `name@qemu-10.0`, has that of its name.
    pub fn of(&self, suite: &str, name: &str) -> Option<Price> {
        let of = |name: &str| self.prices.get(&(suite.to_owned(), name.to_owned()));
        let (without, _) = name.split_once('@').unwrap_or((name, ""));
        of(name).or_else(|| of(without)).copied()
    }
}

impl From<Table> for Kept {
    fn from(table: Table) -> Self {
        let price = |row: Recorded| ((row.suite, row.name), row.price);
        Self {
            reference: table.reference,
            prices: table.rows.into_iter().map(price).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_was_written_and_lines_are_in_the_order_of_names() {
        let row = |name: &str, cpu| Recorded {
            suite: "linux".to_owned(),
            name: name.to_owned(),
            price: Price { cpu, wall: 0.5 },
        };
        let table = Table {
            reference: Some(0.25),
            rows: vec![row("b::c", 1.5), row("a::b", 12.0)],
            ..Table::default()
        };
        let text = table.text();
        assert!(
            text.ends_with(
                "reference 0.250\n   12.0     0.5 linux a::b\n    1.5     0.5 linux b::c\n"
            ),
            "{text}"
        );
        let read = Table::parse(&text).unwrap();
        assert_eq!(read.rows, [table.rows[1].clone(), table.rows[0].clone()]);
        assert_eq!(read.reference, Some(0.25));
    }

    #[test]
    fn what_was_found_on_a_slower_computer_is_kept_as_on_the_one_of_the_table() {
        let row = |cpu, wall| Recorded {
            suite: "linux".to_owned(),
            name: "a".to_owned(),
            price: Price { cpu, wall },
        };
        let table = |reference, rows: &[Recorded]| Table {
            reference: Some(reference),
            rows: rows.to_vec(),
            ..Table::default()
        };
        let kept = Kept::from(table(1.0, &[row(10.0, 10.0)]));
        let renewed = kept.renewed(vec![table(2.0, &[row(8.0, 4.0)])]);
        assert_eq!(renewed, table(1.0, &[row(4.0, 2.0)]));
        let first = Kept::default().renewed(vec![table(2.0, &[row(8.0, 4.0)])]);
        assert_eq!(first, table(2.0, &[row(8.0, 4.0)]));
    }

    #[test]
    fn a_test_that_is_gone_has_no_price_any_longer() {
        let row = |name: &str| Recorded {
            suite: "linux".to_owned(),
            name: name.to_owned(),
            price: Price {
                cpu: 1.0,
                wall: 1.0,
            },
        };
        let kept = Kept::from(Table {
            rows: vec![row("a"), row("b")],
            ..Table::default()
        });
        let gone = kept.beyond("linux", &["b", "c"]);
        assert_eq!(gone, [("linux".to_owned(), "a".to_owned())]);
        assert!(kept.beyond("machine", &[]).is_empty());
        let steps = vec![Step {
            test: "b".to_owned(),
            name: "boot".to_owned(),
            price: Price {
                cpu: 4.0,
                wall: 5.0,
            },
        }];
        let found = Table {
            gone,
            steps,
            ..Table::default()
        };
        let text = found.text();
        assert_eq!(Table::parse(&text).unwrap(), found);
        assert_eq!(kept.renewed(vec![found]).rows, [row("b")]);
    }

    #[test]
    fn a_line_that_is_none_of_a_table_is_named() {
        for line in ["1.0 machine a", "x 1.0 machine a", "reference fast"] {
            let error = format!("{:#}", Table::parse(line).unwrap_err());
            assert!(error.contains(line), "{error}");
        }
    }
}
