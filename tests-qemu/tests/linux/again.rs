//! A part of a run of Linux, looked at again.

use std::collections::{BTreeMap, BTreeSet};

use measure::{
    folder::record::RunRecord,
    profile::Profile,
    report::Report,
    views::trace::{self, Form},
};
use tempfile::TempDir;
use tests_qemu::{
    chance::{Distance, by_routine},
    command::{self, Finished},
    suite::test,
};

use crate::guest::{NO_CIPHER_TESTS, boot};

/// Works in the kernel and in programs, on both CPUs.
const WORK: &str =
    "for i in 1 2 3 4 5 6; do (ls -lR /bin /etc /proc/sys | sort | md5sum) & done; wait";

fn zoom(directory: &TempDir, arguments: &[&str]) -> Finished {
    let mut command = command::measure(&[&["zoom", "run"], arguments].concat()).unwrap();
    command.current_dir(directory.path());
    command::finish(command).unwrap()
}

/// Samples of both CPUs in ten milliseconds in which they nearly always work.
const MOSTLY_BUSY: u64 = 470;

/// Where ten milliseconds begin in which the guest works in most routines, in milliseconds since it began. It does before and
/// after them, too: the time of a sample is that of its block, so a few of theirs are among the samples.
fn most_varied(profile: &Profile, begin: u64) -> u64 {
    let mut by_time: BTreeMap<u64, (u64, BTreeSet<String>)> = BTreeMap::new();
    for sample in profile.samples() {
        let sample = sample.unwrap();
        let time = (sample.tod - begin) / 4096 / 1000 / 10 * 10;
        let (samples, routines) = by_time.entry(time).or_default();
        *samples += 1;
        routines.insert(profile.names.line(&sample.entry).symbol.into_owned());
    }
    // The time of a block is right where the guest works all the time.
    by_time.retain(|_, (samples, _)| *samples >= MOSTLY_BUSY);
    let routines = |time| by_time.get(&time).map_or(0, |(_, routines)| routines.len());
    let least = |&time: &u64| {
        let around = [time.saturating_sub(10), time, time + 10].map(routines);
        around.into_iter().min()
    };
    by_time.keys().copied().max_by_key(least).unwrap()
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_run_of_two_cpus_is_the_same_when_ten_milliseconds_are_looked_at_again() {
    let directory = TempDir::new().unwrap();
    let line = ["--fresh", "--cpus", "2", "--interval", "20000"];
    let append = ["--append", NO_CIPHER_TESTS, "--", WORK];
    let finished = boot(directory.path(), &[&line[..], &append].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let run = directory.path().join("run");
    let record = RunRecord::read(&run).unwrap();
    let coarse = Profile::open(&run).unwrap();
    let from = most_varied(&coarse, record.begin);
    let times = [format!("{from}ms"), format!("{}ms", from + 10)];
    let finished = zoom(&directory, &["--from", &times[0], "--to", &times[1]]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(
        finished
            .output
            .contains("The repeated run was the first one")
    );

    let finer = Profile::open(&directory.path().join("run-zoom-1")).unwrap();
    let window = finer
        .record
        .as_ref()
        .and_then(|record| record.window.clone())
        .unwrap();
    let found = by_routine(&finer, 0, u64::MAX);
    let then = by_routine(&coarse, window.from, window.to);
    let [taken, of] = [&found, &then].map(|samples| samples.values().sum::<u64>());
    let distance = Distance::between(&found, &then);
    println!("{taken} samples for {of}: {distance:?}");
    assert!(taken > 10 * of && of > 100, "{taken} {of}");
    assert!(distance.is_chance(), "{distance:?} {found:?} {then:?}");
    // What the guest did before is something else.
    let before = by_routine(&coarse, 0, window.from);
    let other = Distance::between(&found, &before);
    println!("before: {other:?}");
    assert!(!other.is_chance(), "{other:?}");
}

/// A run that goes on from a kept system, and two times of it, so many milliseconds before its end.
fn kept_run(before: [u64; 2]) -> (TempDir, [String; 2]) {
    let directory = TempDir::new().unwrap();
    let line = ["--interval", "200000", "--", "ls -lR /proc/sys | md5sum"];
    let finished = boot(directory.path(), &line);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let record = RunRecord::read(&directory.path().join("run")).unwrap();
    let length = (record.ended - record.begin) / 4096 / 1000;
    let times = before.map(|before| format!("{}ms", length - before));
    (directory, times)
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_run_that_went_on_from_a_kept_system_is_looked_at_again_if_it_has_a_date() {
    let (directory, times) = kept_run([3, 1]);
    let finished = zoom(&directory, &["--from", &times[0], "--to", &times[1]]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(
        finished
            .output
            .contains("The repeated run was the first one"),
        "{finished:?}"
    );
    let finer = Profile::open(&directory.path().join("run-zoom-1")).unwrap();
    // A CPU that works all the time has 2,000 samples in two milliseconds.
    let taken: u64 = by_routine(&finer, 0, u64::MAX).values().sum();
    assert!((500..=2_000).contains(&taken), "{taken}");
    let finished = zoom(&directory, &["--from", "9ms", "--to", "8ms"]);
    finished.assert_fails(2, &["--from before --to"]);

    let line = ["linux", "--out", "dateless", "--", "true"];
    let mut command = command::measure(&line).unwrap();
    command.current_dir(directory.path());
    assert_eq!(command::finish(command).unwrap().code, Some(0));
    let mut command = command::measure(&["zoom", "dateless"]).unwrap();
    command.current_dir(directory.path());
    let finished = command::finish(command).unwrap();
    finished.assert_fails(2, &["has no date", "--rtc"]);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_routine_of_the_kernel_is_traced_when_a_run_from_a_kept_system_is_looked_at_again() {
    let (directory, times) = kept_run([2, 1]);
    // The kernel's routines are where this boot had them.
    let traces = [
        "-e",
        "FETCH RANGE __do_syscall",
        "-e",
        "BRANCH RANGE __do_syscall COUNT",
    ];
    let window = ["--from", &times[0], "--to", &times[1]];
    let finished = zoom(&directory, &[&window[..], &traces].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let zoomed = directory.path().join("run-zoom-1");
    let tracing = RunRecord::read(&zoomed).unwrap().tracing;
    let counts: Vec<u64> = tracing.traces.iter().map(|of| of.events).collect();
    assert!(
        counts[0] > 100 && counts[1] > 0 && counts[1] < counts[0],
        "{counts:?}"
    );
    assert_eq!(tracing.streamed, counts[0]);
    let mut events = Vec::new();
    trace::show(&zoomed, Form::Text, &mut events).unwrap();
    let events = String::from_utf8(events).unwrap();
    assert!(
        events.lines().all(|line| line.contains("__do_syscall+")),
        "{events}"
    );
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_count_of_one_routine_of_the_kernel_is_what_a_count_of_all_has_of_it() {
    let (directory, times) = kept_run([60, 1]);
    let window = ["--from", &times[0], "--to", &times[1], "--count"];
    let routine = |more: &[&str], number: u32| {
        let finished = zoom(&directory, &[&window, more].concat());
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let zoomed = directory.path().join(format!("run-zoom-{number}"));
        let counts = Report::read(&zoomed).unwrap().exact.unwrap();
        let found = counts.routines.iter().find(|of| of.symbol == "vfs_read");
        found.map(|of| (of.instructions, of.entries.unwrap(), counts.routines.len()))
    };
    let (instructions, entries, routines) = routine(&[], 1).unwrap();
    assert!(entries > 100 && routines > 100, "{entries} {routines}");
    let alone = routine(&["--count-in", "vfs_read"], 2);
    assert_eq!(alone, Some((instructions, entries, 1)));
}
