//! The call stacks of programs of Linux: by their back chain, or by their rules for unwinding.
//!
//! How many instructions the routines of a program have is known, so it is known which share of the samples each of them
//! has, alone and with what it calls.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use measure::{
    building::install::{self, Lack},
    computer::progress::Progress,
    profile::Profile,
    report::Report,
};
use tempfile::TempDir;
use tests_qemu::command;

use crate::guest::{self, NO_CIPHER_TESTS, boot};

/// The program, and its name.
const SOURCE: &str = include_str!("stacks/tree.c");
const NAME: &str = "calltree";

const INTERVAL: &str = "100003";

/// How often the program calls all its routines.
const ROUNDS: u64 = 14_000;

/// Builds the program, with or without a back chain.
fn build(directory: &Path, flag: &str) -> std::path::PathBuf {
    let lack = || Lack {
        what: "a C compiler for s390x".to_owned(),
        packages: vec!["gcc-s390x-linux-gnu"],
        otherwise: "install a cross compiler of your system".to_owned(),
    };
    let is_absent = || install::in_path("s390x-linux-gnu-gcc").is_none();
    install::provide(|| is_absent().then(lack).into_iter().collect(), &Progress::Plain).unwrap();
    let source = directory.join("tree.c");
    fs::write(&source, SOURCE).unwrap();
    let program = directory.join(NAME);
    let mut compiler = Command::new("s390x-linux-gnu-gcc");
    compiler
        .args(["-O2", "-static", "-nostdlib", "-fno-stack-protector"])
        .args(["-fasynchronous-unwind-tables", flag, "-o"])
        .args([&program, &source])
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

/// The run of a program in Linux, with these options.
fn run(flag: &str, stacks: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    let program = build(directory.path(), flag);
    let initrd = guest::initrd_with("root", &[(NAME.to_owned(), program)]);
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
            &format!("/root/{NAME}"),
        ],
    );
    assert_eq!(finished.code, Some(0), "{finished:?}");
    directory
}

/// Checks the stacks of the program's samples against its call tree.
fn check(directory: &TempDir) {
    let folder = directory.path().join("run");
    let report = Report::read(&folder).unwrap();
    assert_eq!(report.lost(), 0);
    assert_eq!(report.doubts, Vec::<String>::new());
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
fn a_program_with_a_back_chain_has_the_shares_of_its_call_tree_and_its_calls_of_the_kernel_go_on_in_it()
 {
    check(&run("-mbackchain", "--stacks"));
}

#[test]
fn a_program_without_a_back_chain_is_unwound_by_its_rules() {
    let directory = run("-mno-backchain", "--stacks=dwarf");
    check(&directory);
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
