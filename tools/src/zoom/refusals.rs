//! What cannot be looked at again, and what helps.

use std::path::Path;

use anyhow::{Result, bail};
use link::state::Mode;
use per::trace::MOST_TRACES;

use crate::folder::record::{Asked, End, RunRecord};

/// Words of a command line by which the outside takes part in a run. Nothing of it is recorded.
const OUTSIDE: [(&str, &str); 3] = [
    ("--disk", "a disk"),
    ("--net", "a network"),
    ("--qemu-arg", "a device of QEMU"),
];

/// The command line of a run that can be repeated.
///
/// # Errors
/// It cannot be.
pub fn check(record: &RunRecord, directory: &Path) -> Result<Asked> {
    let place = directory.display();
    if let Some(window) = &record.window {
        bail!(
            "{place} is a window of another run; look at that one again: {}",
            window.of.display()
        );
    }
    if [Mode::RealTime, Mode::Native]
        .map(Mode::name)
        .contains(&&record.mode[..])
    {
        bail!(
            "the run in {place} was in real time and cannot be repeated; make it anew without --real-time"
        );
    }
    let words = record.asked.iter().flat_map(|asked| &asked.words);
    let options = words.take_while(|word| *word != "--");
    for word in options {
        let name = word.split('=').next().unwrap_or_default();
        if let Some((_, what)) = OUTSIDE.iter().find(|(option, _)| *option == name) {
            bail!(
                "the run in {place} had {what}, and what came from there is not recorded; make it anew without {name}"
            );
        }
    }
    if record.mode != Mode::Exact.name() {
        bail!(
            "the run in {place} was not exact: its input from outside is not recorded; make it anew with a command instead of \
             a person, and without devices of this computer"
        );
    }
    if !matches!(record.end, End::Guest(_) | End::Console { .. }) {
        bail!(
            "the run in {place} did not come to its end ({}), so nothing shows whether a repetition is the same; let it end",
            record.end.sentence()
        );
    }
    if record.link.not_kept.frames != 0 {
        bail!(
            "the run in {place} has not kept all its data, so nothing shows whether a repetition is the same; make it anew \
             with a larger --data-limit"
        );
    }
    if !record.traps.is_empty() {
        bail!(
            "the run in {place} counted its traps, which a window cannot; make it anew without that"
        );
    }
    if record.count_executions {
        bail!(
            "the run in {place} counted executions, which a window cannot; make it anew without --count"
        );
    }
    if record.begin == 0 {
        bail!(
            "the run in {place} has no date: it went on from a kept system at the time of that day; make it anew with --rtc, as \
             --rtc 2026-01-01T00:00:00"
        );
    }
    match &record.asked {
        Some(asked) if !record.parts.is_empty() => Ok(asked.clone()),
        _ => bail!(
            "{place} does not say how its run was begun; make it anew with run, linux or exec of this version"
        ),
    }
}

/// Refuses counts that a window of a run cannot have.
///
/// # Errors
/// It is such a run.
pub fn check_counts(record: &RunRecord, directory: &Path) -> Result<()> {
    check_stops(record, directory, "count executions")
}

/// Refuses a window in which the guest stops for something else, if it stops in the run already.
fn check_stops(record: &RunRecord, directory: &Path, what: &str) -> Result<()> {
    let place = directory.display();
    if !record.tracing.is_empty() {
        bail!(
            "the run in {place} traced events itself, and its window cannot {what}; make it anew without traces"
        );
    }
    if record.exact_caches.is_some() {
        bail!(
            "the run in {place} modelled caches, for which every instruction stops already; make it anew without --exact-caches"
        );
    }
    Ok(())
}

/// Refuses traces that a window of a run cannot have. They are the operator's commands.
///
/// # Errors
/// There is one.
pub fn check_traces(traces: &[String], record: &RunRecord, directory: &Path) -> Result<()> {
    check_stops(record, directory, "trace others")?;
    if traces.len() > MOST_TRACES {
        bail!(
            "{} traces are too many; a window has at most {MOST_TRACES}",
            traces.len()
        );
    }
    let stops = |line: &&String| {
        let last = line.split_ascii_whitespace().next_back();
        last.is_some_and(|word| word.eq_ignore_ascii_case("STOP"))
    };
    if let Some(line) = traces.iter().find(stops) {
        bail!("{line}: a window cannot stop the guest; choose TRACE or COUNT");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::record::{NotKept, WindowRecord};

    /// The record of a run that can be repeated.
    fn repeatable() -> RunRecord {
        RunRecord {
            begin: 77,
            asked: Some(Asked {
                words: ["linux", "--cpus", "2", "--", "ls", "--net"]
                    .map(str::to_owned)
                    .to_vec(),
                directory: "/".into(),
            }),
            parts: [("QEMU".to_owned(), "7".to_owned())].into(),
            end: End::Console {
                text: String::new(),
            },
            ..crate::folder::record::tests::record()
        }
    }

    #[test]
    fn what_cannot_be_repeated_is_refused_with_what_helps() {
        let place = Path::new("d");
        assert!(check(&repeatable(), place).is_ok());
        let refuses = |change: &dyn Fn(&mut RunRecord), word: &str| {
            let mut record = repeatable();
            change(&mut record);
            let refusal = check(&record, place).unwrap_err().to_string();
            assert!(refusal.contains(word), "{refusal}");
        };
        let asked = |word: &str| {
            let word = word.to_owned();
            move |record: &mut RunRecord| {
                record.asked.as_mut().unwrap().words[1].clone_from(&word);
            }
        };
        refuses(
            &|record| record.mode = Mode::RealTime.name().to_owned(),
            "--real-time",
        );
        refuses(
            &|record| record.mode = Mode::Interactive.name().to_owned(),
            "input from outside",
        );
        refuses(&asked("--disk"), "--disk");
        refuses(&asked("--disk=/x"), "a disk");
        refuses(&asked("--net"), "a network");
        refuses(&asked("--qemu-arg=-foo"), "--qemu-arg");
        refuses(&|record| record.count_executions = true, "--count");
        refuses(&|record| record.begin = 0, "--rtc");
        refuses(&|record| record.asked = None, "how its run was begun");
        refuses(&|record| record.parts.clear(), "how its run was begun");
        refuses(
            &|record| record.end = End::Interrupted,
            "did not come to its end",
        );
        let not_kept = |record: &mut RunRecord| {
            record.link.not_kept = NotKept {
                frames: 1,
                ..NotKept::default()
            };
        };
        refuses(&not_kept, "--data-limit");
        let window = |record: &mut RunRecord| {
            record.window = Some(WindowRecord {
                of: "/first".into(),
                begin: 0,
                from: 0,
                to: 1,
                first_interval: 0,
                checked_samples: 0,
                missed: 0,
            });
        };
        refuses(&window, "/first");
    }

    #[test]
    fn a_window_traces_only_what_the_run_did_not_record_and_never_stops_it() {
        let refusal = |lines: &[&str], record: &RunRecord| {
            let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            check_traces(&lines, record, Path::new("d")).map_err(|error| error.to_string())
        };
        let record = repeatable();
        assert_eq!(refusal(&["PER FETCH", "PER BRANCH COUNT"], &record), Ok(()));
        let stop = refusal(&["PER FETCH", "PER BRANCH stop"], &record).unwrap_err();
        assert!(
            stop.contains("PER BRANCH stop") && stop.contains("COUNT"),
            "{stop}"
        );
        assert!(
            refusal(&["PER FETCH"; 9], &record)
                .unwrap_err()
                .contains("at most 8")
        );
        let mut traced = repeatable();
        traced.tracing.streamed = 1;
        assert!(
            refusal(&["PER FETCH"], &traced)
                .unwrap_err()
                .contains("without traces")
        );
        let mut cached = repeatable();
        cached.exact_caches = Some(String::new());
        assert!(
            refusal(&["PER FETCH"], &cached)
                .unwrap_err()
                .contains("--exact-caches")
        );
    }
}
