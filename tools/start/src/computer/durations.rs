//! How long steps usually take, from one use of the tool to the next.
//!
//! Nobody can say how far a build or a guest has come. But the same step usually takes as long as it did last time, so
//! that is what the tool says when it begins one. What it keeps for this is worth nothing else: if the file is lost or
//! damaged, the next steps have no estimate.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::Duration,
};

/// Steps that are shorter need no estimate.
const SHORTEST: Duration = Duration::from_secs(2);

/// The most steps that are kept; the oldest are forgotten.
const MOST: usize = 200;

/// The file, if the process keeps durations.
static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Keeps durations in this file from now on.
pub fn keep_in(file: PathBuf) {
    let _ = FILE.set(file);
}

/// How long a step took last time.
pub fn last(step: &str) -> Option<Duration> {
    last_in(FILE.get()?, step)
}

/// A step has ended well.
pub fn note(step: &str, took: Duration) {
    if let Some(file) = FILE.get() {
        note_in(file, step, took);
    }
}

/// Steps and seconds, oldest first: a line each.
fn read(file: &Path) -> Vec<(f64, String)> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = |line: &str| {
        let (seconds, step) = line.split_once('\t')?;
        let seconds = seconds.parse().ok();
        let seconds = seconds.filter(|seconds| (0.0..1e6).contains(seconds))?;
        Some((seconds, step.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

fn last_in(file: &Path, step: &str) -> Option<Duration> {
    let kept = read(file);
    let (seconds, _) = kept.iter().rev().find(|(_, known)| known == step)?;
    Some(Duration::from_secs_f64(*seconds)).filter(|took| *took >= SHORTEST)
}

fn note_in(file: &Path, step: &str, took: Duration) {
    if step.contains(['\n', '\t']) {
        return;
    }
    let mut kept = read(file);
    kept.retain(|(_, known)| known != step);
    if took >= SHORTEST {
        kept.push((took.as_secs_f64(), step.to_owned()));
    }
    let first = kept.len().saturating_sub(MOST);
    let lines = kept.iter().skip(first);
    let text: String = lines
        .map(|(seconds, step)| format!("{seconds:.1}\t{step}\n"))
        .collect();
    // Another process may write at the same time; the rename lets each reader find a whole file.
    let new = file.with_extension(format!("{}.new", std::process::id()));
    if fs::write(&new, text).is_ok() && fs::rename(&new, file).is_err() {
        let _ = fs::remove_file(&new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_as_long_as_it_did_last_time() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("durations");
        assert_eq!(last_in(&file, "building"), None);
        let seconds = Duration::from_secs;
        note_in(&file, "building", seconds(40));
        note_in(&file, "running", seconds(7));
        note_in(&file, "building", seconds(30));
        assert_eq!(last_in(&file, "building"), Some(seconds(30)));
        assert_eq!(last_in(&file, "running"), Some(seconds(7)));
        // It was short this time, as a build of what was built already.
        note_in(&file, "building", seconds(1));
        assert_eq!(last_in(&file, "building"), None);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_is_damaged_or_full_of_others_is_no_obstacle() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("durations");
        fs::write(&file, b"\xFF\n7\n-3\ta\nNaN\tb\n1e300\tc\n\tb\n").unwrap();
        assert_eq!(last_in(&file, "a"), None);
        for step in 0..MOST + 20 {
            note_in(&file, &step.to_string(), Duration::from_secs(9));
        }
        assert_eq!(read(&file).len(), MOST);
        assert_eq!(last_in(&file, "0"), None);
        assert!(last_in(&file, &MOST.to_string()).is_some());
    }
}
