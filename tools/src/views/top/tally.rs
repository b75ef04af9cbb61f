//! Two counts of samples: all of them, and the recent ones.
//!
//! With each refresh that brings samples a recent count keeps seven eighths of itself and takes the new ones, so
//! what happened a minute ago fades slowly. Samples arrive in blocks, so a refresh may bring none. Then nothing
//! fades, or a slow run would show nothing.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
};

use cpumf::sampling::block::BasicEntry;

use crate::symbols::names::{Line, Names};

/// The part of itself that a recent count keeps at each refresh.
const KEPT: f64 = 7.0 / 8.0;

/// Most lines. A guest may have any number of processes; the rest of them have a line together.
const MOST_LINES: usize = 1 << 16;

/// The line for all routines beyond the limit.
const OTHERS: &str = "(all others)";

/// A count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    /// All samples.
    pub total: u64,
    /// Recent samples.
    pub recent: f64,
    /// Samples since the last refresh.
    fresh: u64,
}

impl Count {
    fn add(&mut self) {
        self.total += 1;
        self.fresh += 1;
    }

    fn age(&mut self) {
        self.recent = self.recent * KEPT + self.fresh as f64;
        self.fresh = 0;
    }

    /// The total or the recent count.
    pub fn weight(&self, span: Span) -> f64 {
        match span {
            Span::Recent => self.recent,
            Span::Total => self.total as f64,
        }
    }
}

/// Which of the two counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Span {
    /// The last moments.
    #[default]
    Recent,
    /// The whole run.
    Total,
}

/// The samples of one CPU by the state that they were taken in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct States {
    /// Supervisor state.
    pub supervisor: Count,
    /// Problem state.
    pub problem: Count,
    /// Wait state.
    pub wait: Count,
    /// Of a secure guest, whose state they do not show.
    pub limited: Count,
}

impl States {
    fn of_entry(&mut self, entry: &BasicEntry) -> &mut Count {
        match () {
            () if entry.limited() => &mut self.limited,
            () if entry.wait() => &mut self.wait,
            () if entry.problem_state() => &mut self.problem,
            () => &mut self.supervisor,
        }
    }

    fn each(&mut self) -> [&mut Count; 4] {
        let Self {
            supervisor,
            problem,
            wait,
            limited,
        } = self;
        [supervisor, problem, wait, limited]
    }

    /// All samples.
    pub fn samples(&self, span: Span) -> f64 {
        let all = [&self.supervisor, &self.problem, &self.wait, &self.limited];
        all.iter().map(|count| count.weight(span)).sum()
    }
}

/// A routine, or one of the lines in parentheses.
#[derive(Clone, Debug, PartialEq)]
pub struct Hot {
    /// Its name, and what it is part of.
    pub line: Line<'static>,
    /// Its samples.
    pub count: Count,
}

/// What the lines are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Samples, the most first.
    #[default]
    Share,
    /// The name.
    Symbol,
    /// The module, and in each module samples.
    Module,
}

/// All samples that have been read.
#[derive(Clone, Debug, Default)]
pub struct SampleTally {
    lines: Vec<Hot>,
    places: HashMap<Line<'static>, usize>,
    /// By CPU.
    pub cpus: BTreeMap<u16, States>,
    /// All of them.
    pub all: Count,
}

impl SampleTally {
    /// Counts a sample.
    pub fn count(&mut self, cpu: u16, entry: &BasicEntry, names: &Names) {
        self.all.add();
        self.cpus.entry(cpu).or_default().of_entry(entry).add();
        let line = names.line(entry);
        let known = self.places.get(&line).copied();
        let place = known.unwrap_or_else(|| self.place_for(&line));
        self.lines[place].count.add();
    }

    /// Finds a place for a new line.
    fn place_for(&mut self, line: &Line<'_>) -> usize {
        let line = match self.lines.len() < MOST_LINES {
            true => Line {
                symbol: line.symbol.clone().into_owned().into(),
                module: line.module.clone().into_owned().into(),
            },
            false => Line {
                symbol: OTHERS.into(),
                module: "".into(),
            },
        };
        let next = self.lines.len();
        let place = *self.places.entry(line.clone()).or_insert(next);
        if place == next {
            let count = Count::default();
            self.lines.push(Hot { line, count });
        }
        place
    }

    /// Ends a refresh.
    pub fn age(&mut self) {
        if self.all.fresh == 0 {
            return;
        }
        self.all.age();
        self.lines.iter_mut().for_each(|hot| hot.count.age());
        let states = self.cpus.values_mut().flat_map(States::each);
        states.for_each(Count::age);
    }

    /// The lines in this order. Those without recent samples come last.
    pub fn ordered(&self, span: Span, order: Order) -> Vec<&Hot> {
        let mut lines: Vec<&Hot> = self.lines.iter().collect();
        let weight = |hot: &Hot| hot.count.weight(span);
        let by_share = |one: &&Hot, other: &&Hot| {
            weight(other)
                .total_cmp(&weight(one))
                .then(other.count.total.cmp(&one.count.total))
                .then_with(|| one.line.cmp(&other.line))
        };
        lines.sort_by(|one, other| {
            let first = match order {
                Order::Share => Ordering::Equal,
                Order::Symbol => one.line.symbol.cmp(&other.line.symbol),
                Order::Module => one.line.module.cmp(&other.line.module),
            };
            first.then_with(|| by_share(one, other))
        });
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        formats::samples::{
            self,
            tests::{LIMITED as LIMITED_BIT, WAIT as WAIT_BIT, block},
        },
        symbols::{LIMITED, SymbolTable, UNKNOWN, WAIT},
    };

    const PROBLEM: u64 = 1 << (63 - 28);

    fn names() -> Names {
        let text = "0000000000200000\t0000000000200010\tg\tstart\n0000000000200020\t0000000000200040\ta\tinner\n";
        Names::Routines(SymbolTable::from_text(text).unwrap())
    }

    fn add(tally: &mut SampleTally, samples: &[(u64, u64)]) {
        for entry in samples::read(0, &block(samples, 0)).entries {
            tally.count(0, &entry, &names());
        }
        tally.age();
    }

    fn symbols(lines: &[&Hot]) -> Vec<String> {
        let symbols = lines.iter().map(|hot| hot.line.symbol.to_string());
        symbols.collect()
    }

    #[test]
    fn recent_counts_fade_with_each_refresh_that_brings_samples() {
        let mut tally = SampleTally::default();
        add(&mut tally, &[(0x20_0000, 0), (0x20_0004, 0)]);
        add(&mut tally, &[(0x20_0020, PROBLEM)]);
        let counts = |tally: &SampleTally| {
            let lines = tally.ordered(Span::Total, Order::Share);
            let counts = lines.iter().map(|hot| (hot.count.total, hot.count.recent));
            counts.collect::<Vec<_>>()
        };
        assert_eq!(counts(&tally), [(2, 1.75), (1, 1.0)]);
        // A refresh without samples changes nothing.
        tally.age();
        assert_eq!(counts(&tally), [(2, 1.75), (1, 1.0)]);
        add(&mut tally, &[(0x20_0020, PROBLEM)]);
        // Equal counts are in alphabetical order.
        assert_eq!(counts(&tally), [(2, 1.875), (2, 1.75 * KEPT)]);
        let states = &tally.cpus[&0];
        assert_eq!(states.samples(Span::Total), 4.0);
        assert_eq!(states.problem.recent, 1.875);
        assert_eq!((states.supervisor.total, tally.all.total), (2, 4));
    }

    #[test]
    fn lines_are_ordered_by_samples_by_name_or_by_module() {
        let mut tally = SampleTally::default();
        let old = [(0x20_0000, 0); 3];
        add(&mut tally, &old);
        for _ in 0..8 {
            add(&mut tally, &[(0x20_0020, 0), (0x99, 0)]);
        }
        add(&mut tally, &[(0, LIMITED_BIT), (0, WAIT_BIT)]);
        let order = |span, order| symbols(&tally.ordered(span, order));
        let total = order(Span::Total, Order::Share);
        assert_eq!(total, [UNKNOWN, "inner", "start", LIMITED, WAIT]);
        let recent = order(Span::Recent, Order::Share);
        assert_eq!(recent, [UNKNOWN, "inner", LIMITED, WAIT, "start"]);
        let symbol = order(Span::Total, Order::Symbol);
        assert_eq!(symbol, [LIMITED, UNKNOWN, WAIT, "inner", "start"]);
        let module = order(Span::Total, Order::Module);
        assert_eq!(module, [UNKNOWN, LIMITED, WAIT, "inner", "start"]);
        let states = &tally.cpus[&0];
        assert_eq!((states.wait.total, states.limited.total), (1, 1));
    }
}
