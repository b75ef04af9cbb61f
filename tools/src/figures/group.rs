//! Groups of records: by system, interval, CPU type and CPU, as a person wants them.
//!
//! Records of two machine types are never in one group, because their counters are not the same.

use std::{collections::BTreeMap, fmt, rc::Rc};

use anyhow::{Result, bail};

use super::{
    counts::{Counted, Counts, Needed},
    generation::Generation,
};

/// The most groups. Each keeps some hundred counters, so all of them stay small beside the storage of a computer.
pub const MOST_GROUPS: usize = 100_000;

/// What the groups are by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouping {
    /// The system that wrote the records.
    pub system: bool,
    /// The interval that they are about.
    pub interval: bool,
    /// CP, zIIP and the like.
    pub class: bool,
    /// The CPU address.
    pub cpu: bool,
}

/// The type of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class {
    code: u8,
    /// Code 2 has two meanings.
    is_zcbp: bool,
}

impl Class {
    /// The type with this code, in a record that says whether code 2 means zCBP.
    pub const fn new(code: u8, zcbp: bool) -> Self {
        let is_zcbp = zcbp && code == 2;
        Self { code, is_zcbp }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            0 => f.write_str("CP"),
            2 if self.is_zcbp => f.write_str("zCBP"),
            2 => f.write_str("zAAP"),
            4 => f.write_str("zIIP"),
            other => write!(f, "class {other}"),
        }
    }
}

/// From when to when, in whole seconds of the TOD clock: the CPUs of a system do not end an interval at the same
/// microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    /// Its beginning.
    pub start: u64,
    /// Its end.
    pub end: u64,
}

/// TOD units in a second.
const SECOND: u64 = 4_096_000_000;

impl Interval {
    /// The interval between two values of the TOD clock, bits 0-63.
    pub const fn between(start: u64, end: u64) -> Self {
        const fn nearest(tod: u64) -> u64 {
            tod.saturating_add(SECOND / 2) / SECOND
        }
        Self {
            start: nearest(start),
            end: nearest(end),
        }
    }

    /// The clock at a second.
    pub const fn tod(second: u64) -> u64 {
        second.saturating_mul(SECOND)
    }
}

/// What tells a group from another. A field that the groups are not by is `None`, and so is one that the records lack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// System identifier.
    pub system: Option<String>,
    /// Machine type, or the counter version number if there is no more; empty if neither is known.
    pub machine: String,
    /// The interval.
    pub interval: Option<Interval>,
    /// Type of the CPUs.
    pub class: Option<Class>,
    /// CPU address.
    pub cpu: Option<u16>,
}

/// What a record says about itself.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// System identifier; empty if the record has none.
    pub system: &'a str,
    /// As in [`Key`].
    pub machine: &'a str,
    /// The model of the machine, if it is known.
    pub generation: Option<Generation>,
    /// Type of the CPU.
    pub class: Option<Class>,
    /// CPU address.
    pub cpu: u16,
    /// The interval, if it is known.
    pub interval: Option<Interval>,
}

/// A group.
#[derive(Clone, Debug)]
pub struct Group {
    /// What it is.
    pub key: Key,
    /// What it counted.
    pub counts: Counts,
}

/// The counters that the figures of each model need, made once.
#[derive(Debug, Default)]
pub struct NeededOf(BTreeMap<Option<Generation>, Rc<Needed>>);

impl NeededOf {
    /// Those of a model.
    pub fn model(&mut self, generation: Option<Generation>) -> Rc<Needed> {
        let make = || Rc::new(Needed::of(generation));
        Rc::clone(self.0.entry(generation).or_insert_with(make))
    }
}

/// Groups that grow.
#[derive(Debug)]
pub struct Groups {
    grouping: Grouping,
    groups: BTreeMap<Key, Counts>,
}

impl Groups {
    /// No groups yet.
    pub const fn new(grouping: Grouping) -> Self {
        Self {
            grouping,
            groups: BTreeMap::new(),
        }
    }

    /// Adds what a record counted. `needed` are the counters of its model.
    pub fn add(
        &mut self,
        subject: &Subject<'_>,
        counted: &Counted,
        needed: &Rc<Needed>,
    ) -> Result<()> {
        let by = self.grouping;
        let is_named = by.system && !subject.system.is_empty();
        let key = Key {
            system: is_named.then(|| subject.system.to_owned()),
            machine: subject.machine.to_owned(),
            interval: subject.interval.filter(|_| by.interval),
            class: subject.class.filter(|_| by.class),
            cpu: by.cpu.then_some(subject.cpu),
        };
        if let Some(known) = self.groups.get_mut(&key) {
            known.add(counted);
            return Ok(());
        }
        self.check_room()?;
        let mut counts = Counts::new(subject.generation, Rc::clone(needed));
        counts.add(counted);
        self.groups.insert(key, counts);
        Ok(())
    }

    /// Adds a group of records.
    pub fn merge(&mut self, group: Group) -> Result<()> {
        if let Some(known) = self.groups.get_mut(&group.key) {
            known.merge(&group.counts);
            return Ok(());
        }
        self.check_room()?;
        self.groups.insert(group.key, group.counts);
        Ok(())
    }

    /// Takes the counters for which this is false as counting nothing.
    pub fn keep(&mut self, counts: impl Fn(u16) -> bool) {
        for group in self.groups.values_mut() {
            group.keep(&counts);
        }
    }

    fn check_room(&self) -> Result<()> {
        if self.groups.len() >= MOST_GROUPS {
            bail!("there are more than {MOST_GROUPS} groups; leave cpu or interval out of --by");
        }
        Ok(())
    }

    /// All of them, in the order of their keys.
    pub fn finish(self) -> Vec<Group> {
        let groups = self.groups.into_iter();
        groups.map(|(key, counts)| Group { key, counts }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{figure::Figure, nest::Given};

    #[test]
    fn groups_are_by_what_was_asked_for_and_always_by_machine() {
        let mut needed = NeededOf::default();
        let mut groups = Groups::new(Grouping {
            class: true,
            ..Grouping::default()
        });
        let mut add = |system, machine, generation, class, cycles| {
            let needed = needed.model(generation);
            let values = needed.numbers().iter().map(|number| match number {
                0 => Some(cycles),
                1 => Some(10),
                _ => None,
            });
            let counted = Counted {
                values: values.collect(),
                speed: 1000,
                time: 0,
            };
            let subject = Subject {
                system,
                machine,
                generation,
                class: Some(Class::new(class, false)),
                cpu: 0,
                interval: None,
            };
            groups.add(&subject, &counted, &needed).unwrap();
        };
        add("SYSA", "8561", Some(Generation::Z15), 0, 20);
        add("SYSB", "8561", Some(Generation::Z15), 0, 40);
        add("SYSA", "8561", Some(Generation::Z15), 4, 50);
        add("SYSA", "3931", Some(Generation::Z16), 0, 90);
        let found: Vec<_> = groups
            .finish()
            .into_iter()
            .map(|group| {
                let cpi = group.counts.figure(Figure::Cpi, &Given::default());
                let cpi = cpi.unwrap().number().unwrap();
                let class = group.key.class.unwrap().to_string();
                (group.key.machine, class, cpi)
            })
            .collect();
        let row = |machine: &str, class: &str, cpi| (machine.to_owned(), class.to_owned(), cpi);
        assert_eq!(
            found,
            [
                row("3931", "CP", 9.0),
                row("8561", "CP", 3.0),
                row("8561", "zIIP", 5.0)
            ]
        );
    }

    #[test]
    fn an_interval_has_whole_seconds_and_no_end_of_the_clock_goes_beyond_it() {
        let interval = Interval::between(SECOND * 5 + 7, SECOND * 9 - 7);
        assert_eq!((interval.start, interval.end), (5, 9));
        let last = Interval::between(u64::MAX, u64::MAX);
        assert_eq!(Interval::tod(last.end) / SECOND, last.end);
    }
}
