//! What changed, and what of it is a regression.
//!
//! A total is a regression if it grew by more than its tolerance. A symbol is one if it grew by more than its tolerance and
//! by more than its resolution, which is three standard deviations of its samples. If samples hit a symbol by chance, they
//! are an N-th part p of all, and the variance of their number is N p (1 - p). That is also the number of pieces in which they come.
//! If a symbol is performed for long, they come in few pieces, and the end of each is wrong by less than a sample. So the number of pieces
//! is the variance in both cases.

use std::collections::BTreeSet;

use super::{
    EVERY,
    baseline::{Baseline, FEWEST},
    measured::{Measured, Share, State},
};

/// How many standard deviations of the number of samples are chance.
const DEVIATIONS: u64 = 3;

/// The resolution of what is counted.
const EXACT: u64 = 0;

/// How many symbols are named beside a total that grew.
const NAMED: usize = 3;

/// What a number is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// Everything in this state.
    Total(State),
    /// A counter of the model of caches.
    Counter(String),
    /// A symbol.
    Symbol(State, String),
}

/// What became of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It grew by more than is tolerated.
    Regression,
    /// It changed, and that is tolerated.
    Tolerated,
    /// It changed by no more than its resolution.
    Chance,
    /// It shrank by more than would be tolerated the other way.
    Improvement,
    /// It is the same.
    Same,
}

impl Verdict {
    /// The word for tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Tolerated => "tolerated",
            Self::Chance => "chance",
            Self::Improvement => "improvement",
            Self::Same => "same",
        }
    }
}

/// A number in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it is about.
    pub about: About,
    /// In the baseline.
    pub before: u64,
    /// In this run.
    pub now: u64,
    /// By how much it may grow; `None` without limit.
    pub limit: Option<u64>,
    /// What became of it.
    pub verdict: Verdict,
}

impl Change {
    /// A change of a number that can be wrong by its resolution.
    fn new(about: About, before: u64, now: u64, limit: Option<u64>, resolution: u64) -> Self {
        let distance = before.abs_diff(now);
        let limit = limit.map(|limit| limit.max(resolution));
        let is_beyond = limit.is_some_and(|limit| distance > limit);
        let verdict = match (now > before, is_beyond) {
            _ if distance == 0 => Verdict::Same,
            _ if distance <= resolution => Verdict::Chance,
            (true, true) => Verdict::Regression,
            (false, true) => Verdict::Improvement,
            _ => Verdict::Tolerated,
        };
        Self {
            about,
            before,
            now,
            limit,
            verdict,
        }
    }

    /// By how much it grew; negative if it shrank.
    pub fn difference(&self) -> i128 {
        i128::from(self.now) - i128::from(self.before)
    }

    /// By how many percent it grew, if it was there before.
    pub fn percent(&self) -> Option<f64> {
        (self.before > 0).then(|| self.difference() as f64 * 100.0 / self.before as f64)
    }
}

/// A run beside its baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What was run.
    pub command: String,
    /// Totals and counters.
    pub totals: Vec<Change>,
    /// Symbols, those with the largest change first.
    pub symbols: Vec<Change>,
}

impl Comparison {
    /// Compares a run with a baseline of its kind.
    pub fn new(baseline: &Baseline, now: &Measured) -> Self {
        let (before, tolerances) = (&baseline.measured, &baseline.tolerances);
        let total = |about, state, before, now| {
            let limit = tolerances.growth_of_total(state, before);
            Change::new(about, before, now, limit, EXACT)
        };
        let mut totals: Vec<Change> = State::ALL
            .into_iter()
            .map(|state| {
                let (before, now) = (before.taken(state).total, now.taken(state).total);
                total(About::Total(state), state, before, now)
            })
            .collect();
        totals.extend(now.counters.iter().map(|(name, value)| {
            let before = before.counters.get(name).copied().unwrap_or(0);
            total(About::Counter(name.clone()), State::User, before, *value)
        }));
        let mut symbols = Vec::new();
        for state in State::ALL {
            let [known, found] = [before, now].map(|measured| &measured.taken(state).symbols);
            let names: BTreeSet<_> = known.keys().chain(found.keys()).collect();
            symbols.extend(names.into_iter().map(|name| {
                let found = found.get(name).copied().unwrap_or_default();
                let known = known.get(name).copied().unwrap_or_else(|| {
                    // A symbol with few samples is not in the file.
                    let most = FEWEST.saturating_mul(before.interval);
                    Share {
                        instructions: found.instructions.min(most),
                        pieces: FEWEST,
                    }
                });
                let chance = match before.interval {
                    EVERY => {
                        let unknown = before.unmatched.saturating_add(now.unmatched);
                        unknown.max(tolerances.chance_of_counted(state))
                    }
                    interval => resolution(known, found, interval),
                };
                let [known, found] = [known, found].map(|share| share.instructions);
                let limit = tolerances.of_symbol(state, name).of(known);
                let about = About::Symbol(state, name.clone());
                Change::new(about, known, found, limit, chance)
            }));
        }
        symbols.retain(|change| change.verdict != Verdict::Same);
        symbols.sort_by_key(|change| std::cmp::Reverse(change.before.abs_diff(change.now)));
        Self {
            command: now.command.clone(),
            totals,
            symbols,
        }
    }

    /// Everything in it.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.totals.iter().chain(&self.symbols)
    }

    /// Everything that is a regression.
    pub fn regressions(&self) -> impl Iterator<Item = &Change> {
        self.changes()
            .filter(|change| change.verdict == Verdict::Regression)
    }

    /// Whether something is better than the baseline says.
    pub fn is_improved(&self) -> bool {
        self.changes()
            .any(|change| change.verdict == Verdict::Improvement)
    }

    /// Why a total grew: the symbols of its state that grew most.
    pub fn causes(&self, of: &Change) -> Vec<&Change> {
        let About::Total(total) = of.about else {
            return Vec::new();
        };
        let grew = self.symbols.iter().filter(|change| {
            matches!(&change.about, About::Symbol(state, _) if *state == total)
                && change.now > change.before
        });
        let surely = grew
            .clone()
            .filter(|change| change.verdict != Verdict::Chance);
        let surely: Vec<&Change> = surely.take(NAMED).collect();
        // Better a guess than nothing.
        if surely.is_empty() {
            grew.take(NAMED).collect()
        } else {
            surely
        }
    }
}

/// By how many instructions two symbols can differ by chance.
fn resolution(before: Share, now: Share, interval: u64) -> u64 {
    let variance = before.pieces.saturating_add(now.pieces);
    DEVIATIONS
        .saturating_mul(variance.isqrt() + 1)
        .saturating_mul(interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{
        baseline::{Tolerances, tests::measured},
        tolerance::Tolerance,
    };

    const BEFORE: [(&str, u64); 2] = [("hot", 200_000_000), ("cold", 10_000_000)];

    fn compared(now: &[(&str, u64)], tolerances: Tolerances) -> Comparison {
        let baseline = Baseline {
            measured: measured(&BEFORE, &[("vfs_read", 70_000)]),
            tolerances,
        };
        Comparison::new(&baseline, &measured(now, &[("vfs_read", 70_000)]))
    }

    fn regressions(comparison: &Comparison) -> Vec<About> {
        let regressions = comparison.regressions();
        regressions.map(|change| change.about.clone()).collect()
    }

    fn symbol(name: &str) -> About {
        About::Symbol(State::User, name.to_owned())
    }

    #[test]
    fn the_same_run_has_no_change() {
        let comparison = compared(&BEFORE, Tolerances::default());
        assert!(comparison.symbols.is_empty() && !comparison.is_improved());
        let all_same = |change: &Change| change.verdict == Verdict::Same;
        assert!(comparison.totals.iter().all(all_same));
    }

    #[test]
    fn a_function_that_is_one_percent_slower_is_named() {
        let slower = [("hot", 202_000_000), ("cold", 10_001_000)];
        let comparison = compared(&slower, Tolerances::default());
        assert_eq!(
            regressions(&comparison),
            [About::Total(State::User), symbol("hot")]
        );
        let causes = comparison.causes(&comparison.totals[0]);
        assert_eq!(causes[0].about, symbol("hot"));
        assert_eq!(causes[0].percent(), Some(1.0));
    }

    #[test]
    fn what_one_function_gains_does_not_hide_what_another_loses() {
        let moved = [("hot", 196_000_000), ("cold", 14_000_000)];
        let comparison = compared(&moved, Tolerances::default());
        assert_eq!(regressions(&comparison), [symbol("cold")]);
        assert!(comparison.is_improved());
    }

    #[test]
    fn what_is_tolerated_is_no_regression() {
        let slower = [("hot", 202_000_000), ("cold", 10_000_000)];
        let tolerances = |user, symbol| Tolerances {
            user: Some(user),
            symbol: Some(symbol),
            ..Tolerances::default()
        };
        let (share, any) = (Tolerance::Share(10_000), Tolerance::Any);
        assert_eq!(
            regressions(&compared(&slower, tolerances(share, share))),
            []
        );
        assert_eq!(
            regressions(&compared(
                &slower,
                tolerances(Tolerance::Instructions(1), any)
            )),
            [About::Total(State::User)]
        );
        let mut one = tolerances(any, Tolerance::Share(0));
        one.symbols
            .insert("hot".to_owned(), Tolerance::Instructions(3_000_000));
        assert_eq!(regressions(&compared(&slower, one)), []);
    }

    #[test]
    fn what_can_be_chance_is_no_regression_of_a_symbol() {
        let regressions = |pieces, more| {
            let mut baseline = Baseline {
                measured: measured(&BEFORE, &[]),
                tolerances: Tolerances::default(),
            };
            baseline.tolerances.user = Some(Tolerance::Instructions(0));
            let symbols = &mut baseline.measured.user.symbols;
            symbols.get_mut("cold").unwrap().pieces = pieces;
            let mut now = baseline.measured.clone();
            now.user.total += more;
            now.user.symbols.get_mut("cold").unwrap().instructions += more;
            regressions(&Comparison::new(&baseline, &now))
        };
        let only_total = || vec![About::Total(State::User)];
        let both = || vec![About::Total(State::User), symbol("cold")];
        // Three deviations of 5000 + 5000 pieces, and one more, are 303 samples.
        assert_eq!(regressions(5000, 303_000), only_total());
        assert_eq!(regressions(5000, 304_000), both());
        assert_eq!(regressions(2, 9_000), only_total());
        assert_eq!(regressions(2, 10_000), both());
    }

    #[test]
    fn no_change_of_a_counted_symbol_is_chance_but_for_what_could_not_be_counted_and_a_timer_interruption()
     {
        let regressions = |unmatched, (user, kernel)| {
            let mut baseline = Baseline {
                measured: measured(&BEFORE, &[("vfs_read", 70_000)]),
                tolerances: Tolerances {
                    symbol: Some(Tolerance::Instructions(0)),
                    user: Some(Tolerance::Any),
                    ..Tolerances::default()
                },
            };
            baseline.measured.interval = EVERY;
            let mut now = baseline.measured.clone();
            now.unmatched = unmatched;
            now.user.symbols.get_mut("cold").unwrap().instructions += user;
            now.kernel.symbols.get_mut("vfs_read").unwrap().instructions += kernel;
            regressions(&Comparison::new(&baseline, &now))
        };
        let of_kernel = About::Symbol(State::Kernel, "vfs_read".to_owned());
        let tick = crate::check::tolerance::TIMER_INTERRUPTION;
        assert_eq!(regressions(0, (0, tick)), []);
        assert_eq!(regressions(0, (1, 0)), [symbol("cold")]);
        assert_eq!(regressions(9, (9, tick)), []);
        assert_eq!(regressions(9, (10, 0)), [symbol("cold")]);
        assert_eq!(regressions(0, (0, tick + 1)), [of_kernel]);
    }

    #[test]
    fn a_symbol_that_the_file_leaves_out_may_have_had_a_few_samples() {
        let new = |number| {
            let symbols = [BEFORE[0], BEFORE[1], ("new", number)];
            let tolerances = Tolerances {
                user: Some(Tolerance::Any),
                symbol: Some(Tolerance::Share(0)),
                ..Tolerances::default()
            };
            regressions(&compared(&symbols, tolerances))
        };
        assert_eq!(new(40_000), []);
        assert_eq!(new(100_000), [symbol("new")]);
    }
}
