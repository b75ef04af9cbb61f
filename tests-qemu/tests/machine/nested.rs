//! A machine that is a guest of the machine.

use measure::{
    bench,
    computer::progress::Progress,
    costs,
    folder::record::{End, TrapsRecord},
    machine::run::RunOutcome,
    numbers::quantities::{Sampling, Storage},
    options::RunOptions,
};
use millimeter::link::{
    data::Level,
    loader::{PROGRAM_PARAMETER, sets},
    state::Mode,
    tally::Cause,
};
use tests_qemu::{ipl, suite::test};

/// A guest whose rounds are known, its mark, and the instructions of a round: all of them, and those that millicode
/// performs.
const ROUNDS_GUEST: &str = "levels";
const ROUNDS_MARK: &[u8] = b"rounds for the levels..:";
const ROUND: u64 = 101;
const PERFORMED: u64 = 2;

/// Counter sets, as STORE CPU COUNTER MULTIPLE names them.
const BASIC: u16 = 1;
const PROBLEM_STATE: u16 = 2;

/// A guest with tasks, timers and supervisor calls.
const GUEST: &str = "brief";

/// The first counter of the problem-state set.
const FIRST_OF_PROBLEM_STATE: u16 = 32;

const INTERVAL: u64 = 20_000;

/// The program that the image is.
const MACHINE: &str = "millimeter";

fn run(nested: u32) -> RunOutcome {
    ipl::above_with_success(&RunOptions {
        nested,
        storage: Storage(512 << 20),
        sampling: Sampling::Every(INTERVAL),
        ..ipl::options(GUEST)
    })
    .unwrap()
}

/// What the machine has counted of its guest, by CPU.
fn counted(outcome: &RunOutcome) -> Vec<(u16, u64, u64)> {
    let totals = outcome.report.record.totals.iter();
    totals
        .map(|cpu| (cpu.cpu, cpu.guest_cycles, cpu.guest_instructions))
        .collect()
}

/// Instructions that a level has counted: in supervisor state, and in problem state.
fn by_state(outcome: &RunOutcome) -> [u64; 2] {
    let counter = |set| -> u64 {
        let sets = outcome.report.counters.iter();
        let of_machine = sets.filter(|values| values.level == Level::Machine && values.set == set);
        of_machine.map(|values| values.values[1]).sum()
    };
    let (all, problem) = (counter(BASIC), counter(PROBLEM_STATE));
    [all - problem, problem]
}

/// The samples in a program.
fn samples_in(outcome: &RunOutcome, module: &str) -> u64 {
    let hot = outcome.report.hot.iter();
    hot.filter(|line| line.module == module)
        .map(|line| line.samples)
        .sum()
}

#[test]
fn a_guest_has_the_same_counters_above_two_machines_as_above_one() {
    let direct = run(0);
    let outer = run(1);
    let inner = outer.of_guest();
    assert_eq!(inner.end.exit_code(), 0, "{}", ipl::story(inner));
    assert_eq!(inner.report.record.mode_found(), "exact");
    assert_eq!(inner.console, direct.console);
    assert_eq!(counted(inner), counted(&direct));
    assert!(!direct.report.counters.is_empty());
    assert_eq!(inner.report.counters, direct.report.counters);
    let taken = |outcome: &RunOutcome| outcome.report.record.totals[0].samples_taken;
    assert_eq!(taken(inner), taken(&direct));
    let link = &inner.report.record.link;
    assert_eq!(
        (link.bad_frames, link.bad_payloads, link.blocks_missing),
        (0, 0, 0)
    );
    assert_eq!(link.frames_sent.map(u64::from), Some(link.frames));

    // The level below sees the inner machine's routines in supervisor state, and its guest's in problem state.
    let (machine, guest) = (samples_in(&outer, MACHINE), samples_in(&outer, GUEST));
    assert!(machine > 100 && guest > 5_000, "{machine} {guest}");
    let samples = || outer.report.cpus.iter().flat_map(|cpu| &cpu.entries);
    let in_problem_state = samples().filter(|entry| entry.problem_state()).count() as u64;
    assert!(in_problem_state.abs_diff(guest) <= guest / 1000);
    let known = samples()
        .filter(|entry| entry.guest_program_parameter.get() == PROGRAM_PARAMETER)
        .count() as u64;
    assert!(known > guest, "{known} of {guest} samples");
    let all: u64 = by_state(&outer).iter().sum();
    assert_eq!(taken(&outer), all / INTERVAL);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn the_cpus_of_a_guest_have_the_same_counters_above_two_machines_as_above_one() {
    for (guest, cpus) in [("search", 2), ("turns", 4)] {
        let run = |nested| {
            ipl::above_with_success(&RunOptions {
                nested,
                cpus: Some(cpus),
                sampling: Sampling::Off,
                ..ipl::options(guest)
            })
            .unwrap()
        };
        let (direct, outer) = (run(0), run(1));
        let inner = outer.of_guest();
        assert_eq!(inner.end.exit_code(), 0, "{}", ipl::story(inner));
        assert_eq!(counted(inner), counted(&direct));
        assert_eq!(inner.report.counters, direct.report.counters);
        // The time in which a CPU has no turn is not the machine's.
        for cpu in &outer.report.record.totals {
            let each = cpu.firmware_instructions / cpu.traps;
            assert!((100..10_000).contains(&each), "{cpu:?}");
        }
    }
}

/// A guest that purges in every state of its CPUs.
const PURGING: &str = "b_purge_attached";

#[test]
fn a_purge_above_two_machines_leaves_no_old_translation() {
    for (mode, nested) in [(Mode::Exact, 1), (Mode::RealTime, 1), (Mode::Exact, 2)] {
        let outer = ipl::above_with_success(&RunOptions {
            nested,
            mode,
            cpus: Some(2),
            sampling: Sampling::Off,
            ..ipl::options(PURGING)
        })
        .unwrap();
        let inner = outer.of_guest();
        assert_eq!(inner.end.exit_code(), 0, "{mode:?}: {}", ipl::story(inner));
        for statement in ["TLB-2", "TLB-4"] {
            let shown = format!("shown {statement}");
            assert!(
                inner.console.contains(&shown),
                "{mode:?}: {}",
                inner.console
            );
        }
    }
}

/// Rounds after which what the inner machine sends at its end takes the same instructions as after twice as many. A byte of
/// a number that is zero is framed in another way, and takes some more.
const EVEN_ROUNDS: u64 = 500;

#[test]
fn the_instructions_of_an_inner_machine_and_its_guest_are_all_that_the_outer_one_counts() {
    let counted = |rounds| {
        let guest = ipl::with_parameters(ROUNDS_GUEST, ROUNDS_MARK, &[rounds]).unwrap();
        let outer = ipl::above_with_success(&RunOptions {
            nested: 1,
            sampling: Sampling::Off,
            ..ipl::options(guest.path().to_str().unwrap())
        })
        .unwrap();
        let inner = outer.of_guest();
        assert_eq!(inner.end.exit_code(), 0, "{}", ipl::story(inner));
        let totals = &inner.report.record.totals[0];
        let of_inner = [totals.firmware_instructions, totals.guest_instructions];
        (by_state(&outer), of_inner)
    };
    const ROUNDS: u64 = EVEN_ROUNDS;
    // The IPL and the end of the inner machine are the same in both runs.
    let (few, many) = (counted(ROUNDS), counted(2 * ROUNDS));
    let [supervisor, problem] = [0, 1].map(|state| many.0[state] - few.0[state]);
    let [machine, guest] = [0, 1].map(|part| many.1[part] - few.1[part]);
    assert_eq!(guest, ROUNDS * ROUND);
    assert_eq!(problem, guest - ROUNDS * PERFORMED);
    assert_eq!(supervisor, machine + ROUNDS * PERFORMED);
}

/// The paths of the machine above, all causes together.
fn in_paths(outcome: &RunOutcome) -> [u64; 2] {
    let paths = outcome.report.record.paths.iter();
    paths.fold([0; 2], |[number, instructions], path| {
        [number + path.traps, instructions + path.instructions]
    })
}

#[test]
fn the_paths_of_an_inner_machine_are_all_that_it_executes_for_its_guest() {
    let counted = |rounds| {
        let guest = ipl::with_parameters(ROUNDS_GUEST, ROUNDS_MARK, &[rounds]).unwrap();
        let outer = ipl::above_with_success(&RunOptions {
            nested: 1,
            sampling: Sampling::Off,
            ..ipl::options(guest.path().to_str().unwrap())
        })
        .unwrap();
        let inner = outer.of_guest().report.record.totals[0].clone();
        let [number, in_paths] = in_paths(&outer);
        [
            [number, inner.traps],
            [in_paths, by_state(&outer)[0]],
            [in_paths, inner.firmware_instructions],
        ]
    };
    const ROUNDS: u64 = EVEN_ROUNDS;
    let (few, many) = (counted(ROUNDS), counted(2 * ROUNDS));
    let more = |what: usize| [0, 1].map(|side| many[what][side] - few[what][side]);
    let [paths, traps] = more(0);
    assert!(paths >= ROUNDS * PERFORMED, "{paths}");
    assert_eq!(paths, traps);
    let [in_paths, in_supervisor_state] = more(1);
    assert_eq!(in_paths, in_supervisor_state);
    // What its guest's instructions do is counted for the guest, and belongs to the paths.
    let [in_paths, own] = more(2);
    assert_eq!(in_paths, own + ROUNDS * PERFORMED);
}

#[test]
fn the_outer_machine_counts_the_paths_of_the_inner_one_as_long_as_they_are_above_qemu() {
    let options = RunOptions {
        sampling: Sampling::Off,
        ..ipl::options(bench::PATHS_GUEST)
    };
    let direct = bench::guest_paths(&options, &Progress::Silent).unwrap();
    let direct = |name: &str| {
        let found = direct.iter().find(|path| path.name == name);
        found.expect("the guest measures it").instructions
    };
    let outer = ipl::above_with_success(&RunOptions {
        nested: 1,
        ..options
    })
    .unwrap();
    let paths = &outer.report.record.paths;
    let path = |cause: Cause, number| -> &TrapsRecord {
        let is_it = |path: &&TrapsRecord| (path.cause, path.number) == (cause as u8, number);
        paths.iter().find(is_it).expect("the cause has paths")
    };
    // The guest sees by its clock what the outer machine counts.
    for number in [
        0xB212, 0x8000, 0xAC00, 0xAD00, 0xB209, 0xB280, 0xB2E4, 0xEB2F, 0xAE00, 0xB2B1, 0xB27D,
        0x8300, 0xEB17,
    ] {
        let cause = Cause::Instruction;
        let path = path(cause, number);
        let (name, budget) = costs::budget(Some(cause), number).unwrap();
        assert_eq!(path.least, direct(name), "{name}: {path:?}");
        assert!(
            path.least <= budget && path.traps >= 2000,
            "{name}: {path:?}"
        );
    }
    // QEMU's clock charges a refused instruction, and no monitor call.
    assert_eq!(path(Cause::Program, 0x40).least, direct("monitor-call") + 1);
    // An interruption of the guest is two paths: to its handler, and back by LPSWE.
    let back = path(Cause::Instruction, 0xB2B2).least;
    for (cause, number, name) in [
        (Cause::SupervisorCall, 0, "svc"),
        (Cause::Program, 0x06, "reflected"),
    ] {
        // The shortest LPSWE goes on behind itself. One that goes elsewhere has its PSW stored for the exit.
        let both = path(cause, number).least + back + 1;
        assert_eq!(both, direct(name) + direct("lpswe"), "{name}");
    }
    // All of it is what the inner machine's counters say of its own work.
    let [_, instructions] = in_paths(&outer);
    assert!(instructions < by_state(&outer)[0]);

    let text = measure::views::table::text(&outer.report);
    let line = text.lines().find(|line| line.trim().starts_with("STAP "));
    let words: Vec<&str> = line.expect("a line").split_whitespace().collect();
    let shortest = direct("trap-decode").to_string();
    let budgeted = costs::BUDGETS
        .iter()
        .find(|(name, _)| *name == "trap-decode");
    let budget = budgeted.expect("a budget").1.to_string();
    assert_eq!(words[2], shortest, "{text}");
    assert_eq!(words[5..], [&budget, "trap-decode", "within"], "{text}");
    // The machine right below the guest counts no paths.
    assert!(outer.of_guest().report.record.paths.is_empty());
}

#[test]
fn what_a_guest_counts_of_itself_above_two_machines_is_exact() {
    let outer = ipl::above_with_success(&RunOptions {
        nested: 1,
        ..ipl::options("count")
    })
    .unwrap();
    let inner = outer.of_guest();
    assert_eq!(inner.end.exit_code(), 0, "{}", ipl::story(inner));
    let phases = inner.console.lines();
    let exact = phases
        .filter(|line| line.contains(" difference 0 ("))
        .count();
    assert_eq!(exact, 4, "{}", inner.console);
}

/// A run of a guest whose machine takes its counts from the machine below.
fn native(guest: &str, cpus: u32) -> RunOptions {
    RunOptions {
        nested: 1,
        mode: Mode::Native,
        cpus: Some(cpus),
        sampling: Sampling::Every(100_000),
        ..ipl::options(guest)
    }
}

#[test]
fn what_a_guest_counts_of_itself_is_exact_if_the_machine_below_counts() {
    let outer = ipl::above_with_success(&native("count", 1)).unwrap();
    let inner = outer.of_guest();
    assert_eq!(inner.end.exit_code(), 0, "{}", ipl::story(inner));
    let exact = inner.console.matches(" difference 0 (").count();
    assert_eq!(exact, 4, "{}", inner.console);
}

#[test]
fn counts_of_the_machine_below_are_those_of_a_machine_that_counts_by_its_clock() {
    let direct = run(0);
    let outer = ipl::above_with_success(&native(GUEST, 1)).unwrap();
    let inner = outer.of_guest();
    assert_eq!(inner.end.exit_code(), 0, "{}", ipl::story(inner));
    let record = &inner.report.record;
    assert_eq!(record.mode_found(), "native");
    let started = record.started.as_ref().unwrap();
    assert_eq!(started.below.map(u32::from), Some(sets::DEFAULT));
    // It has measured the speed of the machine below, which counts a cycle for each nanosecond.
    assert_eq!(started.cpu_speed, 1000);
    assert_eq!(inner.console, direct.console);
    assert_eq!(counted(inner), counted(&direct));
    assert_eq!(inner.report.counters, direct.report.counters);
    let taken = inner.report.taken();
    let expected = inner.report.record.totals[0].guest_cycles / 100_000;
    assert!(taken.abs_diff(expected) <= 1, "{taken} of {expected}");
    // The outer machine gave the inner one what it had counted of the problem state.
    let given = outer.report.counters.iter();
    let given =
        given.filter(|set| set.level == Level::Guest && set.first == FIRST_OF_PROBLEM_STATE);
    let given: u64 = given.flat_map(|set| set.values.get(1)).sum();
    assert!(given > counted(inner)[0].2 / 2, "{given}");
}

/// Each CPU has counters of its own, so no time in which another one has its turn is counted.
#[test]
#[ignore = "long: cargo soak runs it"]
fn counts_of_the_machine_below_are_exact_with_two_cpus() {
    let problem_state = |outcome: &RunOutcome| {
        let sets = outcome.report.counters.iter();
        let own =
            sets.filter(|set| set.level == Level::Machine && set.first == FIRST_OF_PROBLEM_STATE);
        own.flat_map(|set| set.values.get(1)).sum::<u64>()
    };
    let direct = ipl::above_with_success(&RunOptions {
        nested: 0,
        mode: Mode::Exact,
        ..native("workload", 2)
    })
    .unwrap();
    let outer = ipl::above_with_success(&native("workload", 2)).unwrap();
    let inner = outer.of_guest();
    assert_eq!(inner.end.exit_code(), 0, "{}", ipl::story(inner));
    assert!(problem_state(&direct) > 1_000_000_000);
    assert_eq!(problem_state(inner), problem_state(&direct));
}

#[test]
fn a_machine_that_cannot_count_for_the_one_above_is_refused_with_a_remedy() {
    let refusal = |outcome: &RunOutcome| match &outcome.end {
        End::Machine { text, .. } => text.clone(),
        end => end.sentence(),
    };
    // QEMU has no facility.
    let alone = ipl::above(&RunOptions {
        nested: 0,
        ..native(GUEST, 1)
    });
    let refused = refusal(&alone.unwrap());
    for word in [
        "no CPU-measurement counter facility",
        "leave --native out",
        "--nested",
    ] {
        assert!(refused.contains(word), "{refused}");
    }
    // The outer machine authorizes no set.
    let unauthorized = ipl::above(&RunOptions {
        guest_sets: 0,
        ..native(GUEST, 1)
    });
    let refused = refusal(unauthorized.unwrap().of_guest());
    assert!(
        refused.contains("does not authorize the problem-state"),
        "{refused}"
    );
}

#[test]
fn three_machines_above_each_other_run_a_guest_to_its_end() {
    let outermost = ipl::above_with_success(&RunOptions {
        nested: 2,
        storage: Storage(512 << 20),
        sampling: Sampling::Off,
        ..ipl::options("b_clock")
    })
    .unwrap();
    let innermost = outermost.of_guest();
    assert_eq!(innermost.end.exit_code(), 0, "{}", ipl::story(innermost));
    assert_eq!(innermost.report.record.mode_found(), "exact");
}
