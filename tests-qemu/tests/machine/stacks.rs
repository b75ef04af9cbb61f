//! The call stacks of samples and the calls of exact counts are those of the exact call tree, and a chain that leads astray harms
//! nobody.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use measure::{
    computer::progress::Progress,
    counts::{Counts, Instruction, calls::UnmatchedCalls},
    events::file,
    folder::sdb_name,
    machine::{
        guest::Guest,
        run::{self, RunOutcome},
    },
    numbers::quantities::Sampling,
    options::{RunOptions, count::Counted},
    profile::callers::{Calls, Routine},
    symbols::names::Names,
};
use millimeter::{
    insn,
    link::{stack::End, trace},
};
use tempfile::TempDir;
use tests_qemu::{ipl, suite::test};

/// The guest with a call tree.
const TREE: &str = "calls";

/// The guest whose chains lead astray.
const CHAINS: &str = "chains";

/// An interval that has no common period with the tree.
const INTERVAL: u64 = 1009;

/// Bytes of a block before its trailer, which has the time.
const BLOCK: usize = 4096;
const ENTRIES: usize = BLOCK - 64;

/// Runs a guest with success, in a folder of its own.
fn run(options: RunOptions) -> (RunOutcome, TempDir) {
    let directory = TempDir::new().unwrap();
    let options = RunOptions {
        out: Some(directory.path().to_owned()),
        ..options
    };
    let outcome = run::run(&options, &Progress::Silent).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    (outcome, directory)
}

fn sampled(guest: &str, stacks: Option<u32>) -> (RunOutcome, TempDir) {
    run(RunOptions {
        sampling: Sampling::Every(INTERVAL),
        stacks,
        ..ipl::options(guest)
    })
}

/// Rounds of the tree after which it begins anew, and how many of these the guest has.
const PERIOD: u64 = 14;
const PERIODS: u64 = 43;

/// The exact call tree of a run, by the branches of its trace.
#[derive(Debug, Default)]
struct Tree {
    /// Instructions of all.
    instructions: u64,
    /// Instructions in each routine, and in it or what it had called.
    exclusive: BTreeMap<String, u64>,
    inclusive: BTreeMap<String, u64>,
    /// Callers and callees.
    calls: BTreeSet<(String, String)>,
    /// The same for branches that call: how often they did, and what was executed until these calls returned.
    returned: BTreeMap<(String, String), (u64, u64)>,
}

/// A call that has not returned.
struct Active {
    caller: String,
    callee: String,
    returns: u64,
    /// The instructions of all before it.
    before: u64,
}

/// A guest whose trace is followed.
struct Follower {
    guest: Guest,
    tree: Tree,
    /// The next instruction.
    at: u64,
    /// The calls that have not returned.
    active: Vec<Active>,
}

impl Follower {
    fn text(&self, at: u64) -> &[u8] {
        let piece = self.guest.pieces.iter();
        let mut rest = piece.filter_map(|piece| {
            let first = usize::try_from(at.checked_sub(piece.destination)?).ok()?;
            piece.bytes.get(first..).filter(|rest| !rest.is_empty())
        });
        rest.next().expect("instructions are in the guest's file")
    }

    fn routine(&self, at: u64) -> String {
        let found = self.guest.symbols.find(at);
        found.expect("an instruction of a routine").name.clone()
    }

    /// Counts the instructions from the next one up to the branch at `last`.
    fn count(&mut self, last: u64) {
        assert!(
            self.at <= last && last - self.at < 1 << 16,
            "{:X} {last:X}",
            self.at
        );
        let routine = self.routine(self.at);
        assert_eq!(self.routine(last), routine, "no routine runs into another");
        let mut number = 1;
        while self.at < last {
            self.at += insn::length(self.text(self.at)[0]) as u64;
            number += 1;
        }
        assert_eq!(self.at, last);
        let callers = self.active.iter().map(|call| &call.caller);
        let active: BTreeSet<&String> = callers.chain([&routine]).collect();
        for &routine in &active {
            *self.tree.inclusive.entry(routine.clone()).or_default() += number;
        }
        if let Some(call) = self.active.last() {
            let pair = (call.caller.clone(), routine.clone());
            self.tree.calls.insert(pair);
        }
        self.tree.instructions += number;
        *self.tree.exclusive.entry(routine).or_default() += number;
    }

    /// Follows a branch.
    fn branch(&mut self, at: u64, text: &[u8], next: u64) {
        self.count(at);
        match *text {
            // BRASL, BRAS and BASR of register 14.
            [0xC0 | 0xA7, 0xE5, ..] | [0x0D, 0xE1..=0xEF] => {
                self.active.push(Active {
                    caller: self.routine(at),
                    callee: self.routine(next),
                    returns: at + text.len() as u64,
                    before: self.tree.instructions,
                });
            }
            [0x07, 0xFE] => {
                let call = self.active.pop().expect("a call");
                assert_eq!(call.returns, next, "a routine returns to its caller");
                let inclusive = self.tree.instructions - call.before;
                let pair = (call.caller, call.callee);
                let (times, all) = self.tree.returned.entry(pair).or_default();
                *times += 1;
                *all += inclusive;
            }
            _ => {}
        }
        self.at = next;
    }
}

/// The tree of a run of so many rounds, whose branches are traced, and the instructions of that run.
fn traced(rounds: u64) -> (Tree, u64) {
    let guest = ipl::with_parameters(TREE, b"rounds of the call tree:", &[rounds]).unwrap();
    let (outcome, directory) = run(RunOptions {
        operator: vec!["PER BRANCH".to_owned()],
        sampling: Sampling::Off,
        ..ipl::options(guest.path().to_str().unwrap())
    });
    let guest = Guest::load(guest.path()).unwrap();
    let mut follower = Follower {
        at: guest.psw_address,
        guest,
        tree: Tree::default(),
        active: Vec::new(),
    };
    file::read(directory.path(), |payload| {
        trace::parse(payload, |event| {
            let head = event.head;
            follower.branch(head.at.get(), event.text(), head.next.get());
        })?;
        Ok(true)
    })
    .unwrap();
    // No branch follows the last instructions of all.
    let instructions = outcome.report.record.totals[0].guest_instructions;
    let rest = instructions - follower.tree.instructions;
    assert!(rest < 100, "{rest} of {instructions}");
    (follower.tree, instructions)
}

/// What all periods have, if one more has the difference of these.
fn of_all(one: u64, two: u64) -> u64 {
    one + (PERIODS - 1) * (two - one)
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole as f64
}

fn calls(outcome: &RunOutcome) -> &Calls {
    outcome.report.calls.as_ref().expect("call stacks")
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn each_routine_has_the_inclusive_share_of_the_exact_call_tree() {
    let (outcome, _directory) = sampled(TREE, Some(64));
    let calls = calls(&outcome);
    let samples = outcome.report.taken();
    assert!(samples >= 10_000, "{samples}");
    assert_eq!(calls.found.ends, [(End::Complete, samples)].into());
    assert_eq!(calls.found.missing, 0);

    let ((one, first), (two, second)) = (traced(PERIOD), traced(2 * PERIOD));
    let instructions = outcome.report.record.totals[0].guest_instructions;
    assert_eq!(of_all(first, second), instructions, "periods are alike");

    for (name, &inclusive) in &one.inclusive {
        let exact = |one: Option<&u64>, two: Option<&u64>| {
            let of = |count: Option<&u64>| count.copied().unwrap_or_default();
            of_all(of(one), of(two))
        };
        let inclusive = exact(Some(&inclusive), two.inclusive.get(name));
        let exclusive = exact(one.exclusive.get(name), two.exclusive.get(name));
        let found = calls.routines.iter();
        let mut found = found.filter(|(routine, _)| routine.symbol == *name);
        let shares = found.next().map(|(_, shares)| *shares).unwrap_or_default();
        for (what, sampled, exact) in [
            ("inclusive", shares.inclusive, inclusive),
            ("exclusive", shares.exclusive, exclusive),
        ] {
            let (sampled, exact) = (percent(sampled, samples), percent(exact, instructions));
            println!("{name}: {what} {sampled:.3} of the samples, {exact:.3} exactly");
            assert!(
                (sampled - exact).abs() <= 1.0,
                "{name}: {what} {sampled} {exact}"
            );
        }
    }
    // Not one sample is in a call that there was not.
    for (caller, callee) in calls.pairs.keys() {
        let name = |routine: &Routine| routine.symbol.clone();
        let pair = (name(caller), name(callee));
        assert!(one.calls.contains(&pair), "{pair:?}");
    }
}

#[test]
fn exact_counts_have_each_call_of_the_exact_call_tree_with_what_it_executed() {
    let (tree, instructions) = traced(PERIOD);
    let guest = ipl::with_parameters(TREE, b"rounds of the call tree:", &[PERIOD]).unwrap();
    let (outcome, directory) = run(RunOptions {
        count: Some(Counted::default()),
        ..ipl::options(guest.path().to_str().unwrap())
    });
    let counts = Counts::read(directory.path(), &outcome.report.record);
    let counts = counts.unwrap().expect("the run has counts");
    assert_eq!((counts.counted(), counts.unmatched()), (instructions, 0));
    assert_eq!(counts.calls.unmatched, UnmatchedCalls::default());
    let guest = Guest::load(guest.path()).unwrap();
    let name = |at: &Instruction| guest.symbols.find(at.address).unwrap().name.clone();
    let mut found: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for (edge, called) in &counts.calls.edges {
        if let Some(site) = &edge.site {
            let pair = (name(site), name(&edge.routine));
            let (times, all) = found.entry(pair).or_default();
            *times += called.times;
            *all += called.inclusive;
        }
    }
    for (pair, returned) in &tree.returned {
        assert_eq!(found.remove(pair), Some(*returned), "{pair:?}");
    }
    // What the guest ends with does not return.
    assert!(found.values().all(|(times, _)| *times == 1), "{found:?}");
    // A routine that calls itself has the instructions once.
    let routines = counts.routines(&Names::Routines(guest.symbols.clone()));
    let of = |name: &str| routines.iter().find(|routine| routine.symbol == name);
    for name in ["calls::nested", "calls::first", "calls::shared"] {
        let routine = of(name).unwrap();
        assert_eq!(routine.inclusive, Some(tree.inclusive[name]), "{name}");
    }
}

#[test]
fn a_chain_that_leads_astray_ends_its_stack_and_the_samples_are_those_of_a_run_without_stacks() {
    let (with, one) = sampled(CHAINS, Some(64));
    let (without, other) = sampled(CHAINS, None);
    assert!(without.report.calls.is_none());
    let found = &calls(&with).found;
    let stacks = |end: End| found.ends.get(&end).copied().unwrap_or_default();
    for end in [End::Complete, End::Boundary, End::Order, End::Storage] {
        assert!(stacks(end) >= 30, "{end:?}: {}", stacks(end));
    }
    assert_eq!(found.stacks(), with.report.taken());
    assert_eq!(
        (found.missing, found.damaged, with.report.lost()),
        (0, 0, 0)
    );
    let entries = |directory: &TempDir| {
        let bytes = fs::read(directory.path().join(sdb_name(0))).unwrap();
        let blocks = bytes.chunks_exact(BLOCK);
        blocks
            .map(|block| block[..ENTRIES].to_vec())
            .collect::<Vec<_>>()
    };
    assert_eq!(entries(&one), entries(&other));
    let counted = |outcome: &RunOutcome| {
        let totals = &outcome.report.record.totals[0];
        (totals.guest_instructions, totals.samples_taken)
    };
    assert_eq!(counted(&with), counted(&without));
}

#[test]
fn every_sample_of_two_cpus_has_its_stack_at_a_short_interval() {
    let (outcome, _directory) = run(RunOptions {
        cpus: Some(2),
        sampling: Sampling::Every(100_000),
        stacks: Some(16),
        ..ipl::options("workload")
    });
    let found = &calls(&outcome).found;
    assert_eq!(outcome.report.lost(), 0);
    assert_eq!(found.stacks(), outcome.report.taken());
    assert_eq!(stacks_that_are_not_complete(found.ends.iter()), 0);
    assert!(
        outcome.report.doubts.is_empty(),
        "{:?}",
        outcome.report.doubts
    );
}

fn stacks_that_are_not_complete<'e>(ends: impl Iterator<Item = (&'e End, &'e u64)>) -> u64 {
    ends.filter(|(end, _)| **end != End::Complete)
        .map(|(_, stacks)| stacks)
        .sum()
}
