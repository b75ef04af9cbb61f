//! Systems that are kept as they are when they have started, and single programs in them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use measure::{
    building::build, computer::progress::Progress, counts::Counts, folder::record::RunRecord,
    linux::cache::Cache, report::Report,
};
use tempfile::TempDir;
use tests_qemu::{
    command::{self, Finished},
    ipl,
    suite::test,
};

/// A cache of its own for started systems; Debian's packages are those of all tests.
fn cache() -> TempDir {
    let cache = TempDir::new().unwrap();
    let ours = cache.path().join("millimeter");
    fs::create_dir(&ours).unwrap();
    let packages = Cache::of_user().unwrap();
    std::os::unix::fs::symlink(packages.directory(), ours.join("linux")).unwrap();
    cache
}

/// Performs the command, with this cache.
fn measure(cache: &TempDir, directory: &Path, line: &[&str]) -> Finished {
    let mut command = command::measure(line).unwrap();
    command.current_dir(directory);
    command.env("XDG_CACHE_HOME", cache.path());
    command::finish(command).unwrap()
}

/// Boots Linux, or goes on with one, with a folder of this name.
fn linux(cache: &TempDir, directory: &Path, out: &str, more: &[&str], script: &str) -> Finished {
    let mut line = vec!["linux", "--rtc", ipl::DATE, "--out", out, "--limit", "600"];
    line.extend_from_slice(more);
    line.extend(["--", script]);
    measure(cache, directory, &line)
}

/// The files of a folder that say what was measured, and the record's totals.
fn measured(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| name.starts_with("sdb-"));
    let mut files: BTreeMap<String, Vec<u8>> =
        names.map(|name| (name.clone(), read(&name))).collect();
    for name in ["console.txt", "counters.bin"] {
        files.insert(name.to_owned(), read(name));
    }
    let record: serde_json::Value = serde_json::from_slice(&read("run.json")).unwrap();
    files.insert(
        "totals".to_owned(),
        record["totals"].to_string().into_bytes(),
    );
    files
}

/// The files of the systems that are kept.
fn kept(cache: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.path().join("millimeter/started")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_dir()).collect()
}

#[test]
fn a_kept_system_goes_on_bit_for_bit_as_one_that_boots() {
    let (cache, directory) = (cache(), TempDir::new().unwrap());
    let options = ["--cpus", "2", "--profile", "--interval", "1000000"];
    // The kernel's random numbers decide where it places a program.
    let script = "nproc; perf stat -e instructions:u true 2>&1 | grep instr; ls -R /sys >/dev/null; \
        od -x -N 32 /dev/urandom; exit 5";
    for (out, fresh) in [("first", false), ("second", false), ("fresh", true)] {
        let mut options = options.to_vec();
        if fresh {
            options.push("--fresh");
        }
        let finished = linux(&cache, directory.path(), out, &options, script);
        assert_eq!(finished.code, Some(5), "{finished:?}");
        assert!(finished.output.starts_with("2\n"), "{finished:?}");
    }
    let first = measured(&directory.path().join("first"));
    assert!(first.contains_key("sdb-cpu1.bin"));
    for other in ["second", "fresh"] {
        for (name, bytes) in measured(&directory.path().join(other)) {
            assert!(first[&name] == bytes, "{other} has another {name}");
        }
    }
    assert_eq!(kept(&cache).len(), 1);
    // Another command and a script are for the same system; other options are not.
    let other = linux(&cache, directory.path(), "other", &options, "echo other");
    assert!(other.output.starts_with("other\n"), "{other:?}");
    assert_eq!(other.code, Some(0));
    assert_eq!(kept(&cache).len(), 1);
}

#[test]
fn a_kept_system_that_is_spoilt_is_started_anew() {
    is_started_anew(&["state"]);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_kept_system_is_started_anew_whichever_of_its_files_is_spoilt() {
    is_started_anew(&["storage", "sent", "snapshot.json"]);
}

/// Each of these files once: cut, changed, or gone.
fn is_started_anew(names: &[&str]) {
    let (cache, directory) = (cache(), TempDir::new().unwrap());
    let run = || linux(&cache, directory.path(), "run", &[], "echo here");
    assert_eq!(run().output, "here\n");
    let [system] = &kept(&cache)[..] else {
        panic!("one system is kept");
    };
    type Spoil<'a> = &'a dyn Fn(&Path);
    let spoil: [(&str, Spoil<'_>); 4] = [
        ("storage", &|file| {
            fs::File::options()
                .write(true)
                .open(file)
                .unwrap()
                .set_len(1 << 20)
                .unwrap();
        }),
        ("state", &|file| {
            let mut bytes = fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(file, bytes).unwrap();
        }),
        ("sent", &|file| fs::remove_file(file).unwrap()),
        ("snapshot.json", &|file| fs::write(file, "{}").unwrap()),
    ];
    for (name, spoil) in spoil {
        if !names.contains(&name) {
            continue;
        }
        spoil(&system.join(name));
        let finished = run();
        assert_eq!(
            (finished.output.as_str(), finished.code),
            ("here\n", Some(0)),
            "{finished:?}"
        );
        assert!(
            finished.error.contains("started anew") && finished.error.contains(name),
            "{finished:?}"
        );
    }
}

/// Seconds from 1970 on this computer.
fn now() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    time.unwrap().as_secs()
}

#[test]
fn without_a_date_the_time_of_day_goes_on_while_a_system_is_kept() {
    let (cache, directory) = (cache(), TempDir::new().unwrap());
    let mut dates = Vec::new();
    for run in ["first", "second"] {
        let begun = now();
        let line = ["linux", "--out", run, "--limit", "600", "--", "date +%s"];
        let finished = measure(&cache, directory.path(), &line);
        let ended = now();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let date: u64 = finished.output.trim().parse().unwrap();
        // The guest's seconds are instructions, so they can also be shorter than those of a busy computer.
        assert!(
            (begun..=ended + 5).contains(&date),
            "{begun} {date} {ended}"
        );
        let is_started = finished.error.contains("has started and is kept");
        assert_eq!(is_started, run == "first", "{finished:?}");
        dates.push(date);
    }
    assert!(dates[0] < dates[1] && kept(&cache).len() == 1, "{dates:?}");
    // The stamps of a profile are those of the clock itself.
    let line = [
        "linux",
        "--profile",
        "--interval",
        "1000000",
        "--out",
        "third",
        "--",
        "true",
    ];
    let finished = measure(&cache, directory.path(), &line);
    assert_eq!(
        (finished.code, kept(&cache).len()),
        (Some(0), 1),
        "{finished:?}"
    );
}

#[test]
fn a_system_that_cannot_be_kept_boots_and_says_why() {
    let (cache, directory) = (cache(), TempDir::new().unwrap());
    // A file of 100 MiB has no storage of 512 MiB in it.
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 204800; exec \"$@\"", "sh"]);
    shell.arg(command::program().unwrap());
    shell.args([
        "linux",
        "--rtc",
        ipl::DATE,
        "--out",
        "run",
        "--limit",
        "600",
        "--",
        "echo here",
    ]);
    shell.current_dir(directory.path());
    shell.env("XDG_CACHE_HOME", cache.path());
    let finished = command::finish(shell).unwrap();
    let output = finished.output.as_str();
    assert_eq!((output, finished.code), ("here\n", Some(0)), "{finished:?}");
    assert!(
        finished
            .error
            .contains("this run boots, because no kept system can be used: "),
        "{finished:?}"
    );
    let entries = fs::read_dir(cache.path().join("millimeter/started")).unwrap();
    assert!(
        entries
            .map(|entry| entry.unwrap().path())
            .all(|path| !path.is_dir())
    );
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_counted_program_is_the_program_without_counts_in_a_kept_system() {
    let (cache, directory) = (cache(), TempDir::new().unwrap());
    let programs = build::build_programs(&Progress::Plain).unwrap();
    let looping = programs.join("loop").into_os_string();
    let looping = looping.into_string().unwrap();
    let exec = |out: &str, more: &[&str]| {
        let line = [&["exec", "--out", out], more, &[&looping]].concat();
        let finished = measure(&cache, directory.path(), &line);
        assert!(
            finished
                .error
                .contains("10,000,003 instructions in problem state"),
            "{finished:?}"
        );
        directory.path().join(out)
    };
    let plain = RunRecord::read(&exec("plain", &[])).unwrap();
    // The second run goes on from what the first one has kept.
    exec("first", &["--count=user"]);
    let counted = exec("counted", &["--count=user"]);
    let record = RunRecord::read(&counted).unwrap();
    let instructions = |record: &RunRecord| record.totals[0].guest_instructions;
    assert_eq!(instructions(&record), instructions(&plain));
    let counts = Counts::read(&counted, &record).unwrap().unwrap();
    let known = counts.counted() + counts.skipped() + counts.unmatched();
    assert_eq!(known, instructions(&plain));
    assert!(counts.unmatched() < 1000, "{}", counts.unmatched());
    // The loop is one instruction. Another program may have some at the same address.
    let most = counts.executed.values().map(|of| of.times).max().unwrap();
    assert!((10_000_000..10_000_010).contains(&most), "{most}");
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_routine_of_a_program_is_counted_when_its_run_is_looked_at_again() {
    let (cache, directory) = (cache(), TempDir::new().unwrap());
    let programs = build::build_programs(&Progress::Plain).unwrap();
    let sums = programs.join("sums").into_os_string();
    let sums = sums.into_string().unwrap();
    let done = |line: &[&str]| {
        let finished = measure(&cache, directory.path(), line);
        assert_eq!(finished.code, Some(0), "{finished:?}");
    };
    done(&["exec", "--profile", "--out", "run", &sums]);
    done(&["zoom", "run", "--count", "--count-in", "solve"]);
    let report = Report::read(&directory.path().join("run-zoom-1")).unwrap();
    let routines = report.exact.unwrap().routines.into_iter();
    let found: Vec<_> = routines
        .map(|of| (of.symbol, of.module, of.instructions))
        .collect();
    // As many rounds of one instruction as the program says, and its return.
    let solve = ("solve".to_owned(), "sums".to_owned(), 1_000_001);
    assert_eq!(found, [solve]);
}

#[test]
fn a_program_has_its_output_its_exit_code_and_its_exact_instructions() {
    let (cache, directory) = (cache(), TempDir::new().unwrap());
    let programs = build::build_programs(&Progress::Plain).unwrap();
    let packages = Cache::of_user().unwrap().directory().join("programs/tree");
    let exec = |line: &[&str]| {
        let line = [&["exec"], line].concat();
        measure(&cache, directory.path(), &line)
    };
    let path = |path: PathBuf| path.into_os_string().into_string().unwrap();
    let (looping, busybox) = (
        path(programs.join("loop")),
        path(packages.join("bin/busybox")),
    );
    // The program itself says how many instructions it has.
    for _ in 0..2 {
        let finished = exec(&["--json", "counts", &looping]);
        assert_eq!(
            (finished.output.as_str(), finished.code),
            ("", Some(0)),
            "{finished:?}"
        );
        assert!(
            finished
                .error
                .contains("10,000,003 instructions in problem state"),
            "{finished:?}"
        );
    }
    let lines = fs::read_to_string(directory.path().join("counts")).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        lines[0], lines[1],
        "the same program gives the same numbers"
    );
    // Its environment, its files, its directory, and signals.
    fs::write(directory.path().join("given"), "given\n").unwrap();
    let here = path(directory.path().canonicalize().unwrap());
    let finished = exec(&[
        "--with",
        "given",
        "--env",
        "WORD=it's",
        &busybox,
        "sh",
        "-c",
        "cat given; echo $WORD; pwd; exit 9",
    ]);
    let output = format!("given\nit's\n{here}\n");
    assert_eq!((finished.output, finished.code), (output, Some(9)));
    assert_eq!(exec(&[&busybox, "sh", "-c", "kill -6 $$"]).code, Some(134));
    // One with shared libraries.
    let finished = exec(&["-q", &path(packages.join("usr/bin/perf")), "--version"]);
    assert!(finished.output.starts_with("perf version"), "{finished:?}");
    assert_eq!(finished.error, "");
    // What is no program for this machine.
    let here = path(std::env::current_exe().unwrap());
    for (wrong, why) in [
        (here.as_str(), "not for s390x"),
        ("given", "not an ELF file"),
        ("gone", "cannot read"),
    ] {
        let finished = exec(&[wrong]);
        assert_eq!(finished.code, Some(2));
        assert!(finished.error.contains(why), "{finished:?}");
    }
}

#[test]
fn a_program_has_the_same_stack_and_numbers_whoever_starts_it_and_where() {
    let (cache, directory) = (cache(), TempDir::new().unwrap());
    let built = build::build_programs(&Progress::Plain).unwrap();
    // No multiple of 16 is near to these lengths, nor to those of the arguments and variables below.
    let long = "n".repeat(57);
    let places = ["p".to_owned(), format!("{long}/{long}/{long}/p")].map(|place| {
        let place = directory.path().join(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(built.join("stack"), &place).unwrap();
        place
    });
    let (argument, value) = ("a".repeat(301), "v".repeat(1003));
    let exec = |place: &Path, arguments: &[&str], variables: &[(&str, &str)]| {
        let line = ["exec", "--json", "counts", "./p"];
        let mut command = command::measure(&[&line, arguments].concat()).unwrap();
        command.current_dir(place.parent().unwrap());
        command.env("XDG_CACHE_HOME", cache.path());
        command.env_remove("RUST_LOG");
        command.envs(variables.iter().copied());
        let finished = command::finish(command).unwrap();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let counts = fs::read_to_string(place.with_file_name("counts")).unwrap();
        let counts: serde_json::Value =
            serde_json::from_str(counts.lines().last().unwrap()).unwrap();
        (finished.output, counts)
    };
    let (address, first) = exec(&places[0], &[], &[]);
    // A shell has other variables, and Cargo names the package.
    let shell = [
        ("LS_COLORS", &value[..]),
        ("RUSTUP_HOME", &value),
        ("CARGO_HOME", "/c"),
    ];
    let cargo = [("CARGO_PKG_DESCRIPTION", &value[..]), ("RUST_LOG", "x")];
    for (place, arguments, variables) in [
        (&places[0], &[][..], &shell[..]),
        (&places[1], &[], &[]),
        (&places[0], &["1"], &[]),
        (&places[0], &["1", &argument], &cargo[..1]),
        (&places[1], &[&argument, "2", "3"], &cargo),
    ] {
        let (again, counts) = exec(place, arguments, variables);
        let case = format!("{arguments:?} {variables:?}: {first} {counts}");
        assert_eq!(again, address, "{case}");
        assert_eq!(
            counts["user_instructions"], first["user_instructions"],
            "{case}"
        );
        let environment = counts["environment"].as_object().unwrap();
        for (name, value) in &cargo {
            let is_set = variables.iter().any(|(set, _)| set == name);
            assert_eq!(
                environment.get(*name).is_some_and(|found| found == value),
                is_set,
                "{case}"
            );
        }
        assert!(!environment.contains_key("RUSTUP_HOME"), "{case}");
    }
}
