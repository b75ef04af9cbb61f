//! The call stacks of programs of Linux: by their back chain, or by their rules for unwinding.
//!
//! How many instructions the routines of a program have is known, so it is known which share of the samples each of them
//! has, alone and with what it calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use measure::{
    building::install::{self, Lack},
    computer::progress::Progress,
    profile::Profile,
    report::Report,
};
use millimeter::link::stack::End;
use tempfile::TempDir;
use tests_qemu::{command, suite::test};

use crate::guest::{self, NO_CIPHER_TESTS, boot};

/// The program with the tree, and its name.
const SOURCE: &str = include_str!("stacks/tree.c");
const NAME: &str = "calltree";

/// A program whose stack pointer lies.
const LIAR_SOURCE: &str = include_str!("stacks/liar.c");
const LIAR: &str = "liar";

const INTERVAL: &str = "100003";

/// How often the program calls all its routines.
const ROUNDS: u64 = 14_000;

/// Builds a program, with or without a back chain.
fn build(directory: &Path, name: &str, source: &str, flag: &str) -> PathBuf {
    let lack = || Lack {
        what: "a C compiler for s390x".to_owned(),
        packages: vec!["gcc-s390x-linux-gnu"],
        otherwise: "install a cross compiler of your system".to_owned(),
    };
    let is_absent = || install::in_path("s390x-linux-gnu-gcc").is_none();
    install::provide(
        || is_absent().then(lack).into_iter().collect(),
        &Progress::Plain,
    )
    .unwrap();
    let file = directory.join(format!("{name}.c"));
    fs::write(&file, source).unwrap();
    let program = directory.join(name);
    let mut compiler = Command::new("s390x-linux-gnu-gcc");
    compiler
        .args(["-O2", "-static", "-nostdlib", "-fno-stack-protector"])
        .args(["-fasynchronous-unwind-tables", flag, "-o"])
        .args([&program, &file])
        .arg(format!("-DROUNDS={ROUNDS}"));
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    program
}

/// Instructions of each routine with what it calls, in one round.
fn inclusive() -> BTreeMap<&'static str, u64> {
    let (straight, local) = (6000, 9000);
    let shared = 4000 + straight;
    let first = 5000 + 3 * shared + 3000;
    let second = shared + 2000 + local;
    let nested = 5 * 3000;
    let all = first + second + nested;
    BTreeMap::from([
        ("straight", 4 * straight),
        ("local", local),
        ("shared", 4 * shared),
        ("first", first),
        ("second", second),
        ("nested", nested),
        ("all", all),
        ("begin", all),
        ("_start", all),
    ])
}

/// The run of both programs in Linux, with this option of the compiler and this one of the command.
fn run(flag: &str, stacks: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    let programs = [(LIAR, LIAR_SOURCE), (NAME, SOURCE)];
    let programs = programs.map(|(name, source)| {
        let program = build(directory.path(), name, source, flag);
        (name.to_owned(), program)
    });
    let initrd = guest::initrd_with("root", &programs);
    fs::write(directory.path().join("initrd"), initrd).unwrap();
    let finished = boot(
        directory.path(),
        &[
            "--initrd",
            "initrd",
            "--append",
            NO_CIPHER_TESTS,
            "--profile",
            "--interval",
            INTERVAL,
            stacks,
            "--",
            &format!("/root/{LIAR} && /root/{NAME}"),
        ],
    );
    assert_eq!(finished.code, Some(0), "{finished:?}");
    directory
}

/// Checks the stacks of the program's samples against its call tree, and that stacks of the other one ended for each of
/// these reasons.
fn check(directory: &TempDir, reasons: &[End]) {
    let folder = directory.path().join("run");
    let report = Report::read(&folder).unwrap();
    assert_eq!(report.lost(), 0);
    assert_eq!(report.doubts, Vec::<String>::new());
    // Every sample has a stack, and so have those of the program that lies.
    let calls = report.calls.as_ref().unwrap();
    assert_eq!(calls.found.stacks(), report.taken());
    for reason in reasons {
        let stacks = calls.found.ends.get(reason).copied().unwrap_or_default();
        assert!(stacks >= 250, "{reason:?}: {:?}", calls.found.ends);
    }
    println!("{:?}", calls.found.ends);
    let profile = Profile::open(&folder).unwrap();
    let mut callers = profile.callers().unwrap();
    let (mut in_program, mut in_kernel) = (0, 0);
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for sample in profile.samples() {
        let sample = sample.unwrap();
        let entry = &sample.entry;
        let frames = callers.of(&sample).unwrap();
        if profile.names.owner(entry, "").name != NAME {
            continue;
        }
        let lines = profile.names.stack(entry, &frames);
        let names: BTreeSet<&str> = lines.iter().map(|line| &line.symbol[..]).collect();
        if entry.problem_state() {
            in_program += 1;
            for name in names {
                *found.entry(name.to_owned()).or_default() += 1;
            }
        } else if names.contains("reading") {
            in_kernel += 1;
            let last = lines.iter().rev().take(4).rev();
            let last: Vec<&str> = last.map(|line| &line.symbol[..]).collect();
            // In a switch of tasks the kernel has not loaded the program's space yet, so its stack cannot be followed.
            if names
                .iter()
                .any(|name| name.starts_with("finish_task_switch"))
            {
                assert!(last.contains(&"reading"), "{lines:?}");
                continue;
            }
            assert_eq!(last, ["reading", "all", "begin", "_start"], "{lines:?}");
        }
    }
    assert!(in_program >= 10_000, "{in_program}");
    assert!(in_kernel >= 500, "{in_kernel}");
    let expected = inclusive();
    let percent = |part: u64, whole: u64| part as f64 * 100.0 / whole as f64;
    for (name, instructions) in &expected {
        let exact = percent(*instructions, expected["all"]);
        let sampled = percent(found.get(*name).copied().unwrap_or_default(), in_program);
        println!("{name}: inclusive {sampled:.3} of the samples, {exact:.3} exactly");
        assert!((sampled - exact).abs() <= 1.0, "{name}: {sampled} {exact}");
    }
    println!("{in_program} samples of the program, {in_kernel} of the kernel in `reading`");
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_program_with_a_back_chain_has_the_shares_of_its_call_tree_and_its_calls_of_the_kernel_go_on_in_it()
 {
    let directory = run("-mbackchain", "--stacks");
    check(&directory, &[End::Boundary, End::Order, End::Storage]);
}

#[test]
fn a_program_without_a_back_chain_is_unwound_by_its_rules() {
    let directory = run("-mno-backchain", "--stacks=dwarf");
    check(&directory, &[End::Value, End::Copy]);
    // perf finds the routines in the files beside its data.
    let run = directory.path().join("run");
    let export = command::measure(&["export", run.to_str().unwrap(), "--to", "perf"]).unwrap();
    let finished = command::finish(export).unwrap();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let beside = run.join("perf.data.symbols");
    let names = fs::read_dir(beside).unwrap();
    let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.any(|name| name.ends_with(NAME)));
}
