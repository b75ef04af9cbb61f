//! The same run, looked at again: finer samples in a window of it.
//!
//! An exact run can be repeated bit for bit, so it is performed again from its recorded options. In the window the
//! machine takes finer samples, which cost the guest no time. That it is the same run is not assumed: every sample of the
//! first run must come again ([`same`]), and everything else that the first run left.
//!
//! - [`span`]: the window, from times or from a routine. [`refusals`]: what cannot be looked at again.
//! - [`compose`]: the folder with the finer samples.

pub mod compose;
pub mod refusals;
pub mod same;
pub mod span;

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use link::loader::{SHORTEST_INTERVAL, Window};

use crate::{
    computer::progress::Progress,
    events::{command, event::Routines},
    folder::record::{Asked, RunRecord, WindowRecord},
    numbers::{grouped, quantities::Rtc},
    options::{again::Again, count::Counted},
    symbols::{mapped::Programs, signed::Nonce},
};

use same::Difference;
use span::{Moment, Span};

/// What is to be looked at.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder of the first run.
    pub directory: PathBuf,
    /// From when to when, by the time since the guest began.
    pub times: Option<(Moment, Moment)>,
    /// The routine whose samples decide the window.
    pub around: Option<String>,
    /// Cycles from one sample to the next.
    pub interval: u64,
    /// The operator's commands that begin traces in the window, perhaps with names.
    pub traces: Vec<String>,
    /// What is counted in the window instead.
    pub count: Option<Counted>,
    /// Where the finer samples go; beside the first run otherwise.
    pub out: Option<PathBuf>,
}

/// How the run is to be performed again.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// The command line of the first run.
    pub asked: Asked,
    /// When it began.
    pub rtc: Rtc,
    /// The window, and what must be as it was.
    pub again: Again,
    /// Where the repeated run goes.
    pub out: PathBuf,
}

/// What came of it.
#[derive(Debug)]
pub enum Zoomed {
    /// It was the same run: where the finer samples are, and the window.
    Same(PathBuf, WindowRecord),
    /// It was another one. What it left is in the folder.
    Other(PathBuf, Difference),
}

/// The shortest interval of a window.
pub const SHORTEST: u64 = SHORTEST_INTERVAL;

/// Name of the folder, in that of the window, with the repeated run.
pub const REPEATED: &str = "repeated";

/// Looks at a run again; `perform` performs it.
///
/// # Errors
/// The run cannot be repeated, the window is not in it, or it could not be performed.
pub fn zoom(
    request: &Request,
    progress: &Progress,
    perform: &mut dyn FnMut(Repetition) -> Result<()>,
) -> Result<Zoomed> {
    let first = &fs::canonicalize(&request.directory)
        .with_context(|| format!("cannot find the run {}", request.directory.display()))?;
    let record = RunRecord::read(first)?;
    let asked = refusals::check(&record, first)?;
    let traces = traces(request, first, &record)?;
    match &request.count {
        Some(_) => refusals::check_counts(&record, first)?,
        None => check_interval(request.interval, record.interval)?,
    }
    let count = counted(request, first, &record)?;
    let span = match (&request.times, &request.around) {
        (None, Some(symbol)) => span::around(first, &record, symbol)?,
        (times, _) => Span::of_times(*times, &record)?,
    };
    let out = out(request)?;
    let repeated = out.join(REPEATED);
    let nonce = record.nonce.as_deref().map(Nonce::known).transpose()?;
    let window = Window {
        from: span.from.into(),
        to: span.to.into(),
        interval: request.interval.into(),
    };
    progress.note(&again(&asked));
    progress.note(&format!("the window: {}", span.words(record.begin)));
    let performed = perform(Repetition {
        asked,
        rtc: record.rtc.parse().map_err(anyhow::Error::msg)?,
        again: Again {
            window,
            traces: traces.clone(),
            count,
            parts: record.parts.clone(),
            nonce,
        },
        out: repeated.clone(),
    });
    if !repeated.join(crate::folder::RECORD).exists() {
        // Nothing was begun.
        let _ = fs::remove_dir(&repeated);
        let _ = fs::remove_dir(&out);
        performed?;
        bail!("the run was not performed again");
    }
    let end = RunRecord::read(&repeated)?.end;
    // A guest that failed in the first run fails again.
    if let Err(error) = performed
        && end != record.end
    {
        return Err(error);
    }
    if !end.is_of_guest() {
        bail!(
            "{} before the repeated run was at its end, so nothing shows that it is the first one; what it left is in {}. \
             A shorter window takes less time (--from and --to, or --around)",
            end.sentence(),
            repeated.display()
        );
    }
    let checked = match same::compare(first, &repeated, !traces.is_empty())? {
        Ok(checked) => checked,
        Err(difference) => return Ok(Zoomed::Other(out, difference)),
    };
    let shown = WindowRecord {
        of: first.clone(),
        begin: record.begin,
        from: span.from,
        to: span.to,
        first_interval: record.interval,
        checked_samples: checked,
        missed: 0,
    };
    let interval = match request.count {
        Some(_) => 0,
        None => request.interval,
    };
    let shown = compose::compose(&out, &repeated, interval, &request.traces, shown)?;
    Ok(Zoomed::Same(out, shown))
}

/// What is performed: a folder that somebody else made may name any program in it.
fn again(asked: &Asked) -> String {
    format!(
        "performing again, in {}: measure {}",
        asked.directory.display(),
        asked.words.join(" ")
    )
}

/// The commands of the traces with the addresses that the names had in the first run.
fn traces(request: &Request, first: &Path, record: &RunRecord) -> Result<Vec<String>> {
    if request.traces.is_empty() {
        return Ok(Vec::new());
    }
    refusals::check_traces(&request.traces, record, first)?;
    let names = Routines::of_run(first, record)?.names();
    let lines = request.traces.iter();
    let resolved = lines.map(|line| Ok(command::resolved(line, &names)?.line));
    let resolved: Result<Vec<String>> = resolved.collect();
    if names.is_empty() {
        return resolved.with_context(|| {
            format!(
                "the run in {} has no names of routines, because it took no samples; write addresses, or make it anew with \
                 --interval",
                first.display()
            )
        });
    }
    resolved
}

/// What is counted, with the addresses of the first run's names.
fn counted(request: &Request, first: &Path, record: &RunRecord) -> Result<Option<Counted>> {
    let mut count = request.count.clone();
    if let Some(counted) = &mut count
        && !counted.places.is_empty()
    {
        let kernel = Routines::of_run(first, record)?.names();
        counted.find(&kernel.with(&Programs::of_run(first).routines()))?;
    }
    Ok(count)
}

/// What was looked at, in words; it may have exact counts instead of samples.
#[must_use]
pub fn text(directory: &Path, window: &WindowRecord, is_counted: bool) -> String {
    let found = match is_counted {
        true => "exact counts",
        false => "finer samples",
    };
    let mut text = format!(
        "\nThe repeated run was the first one: {} samples, the counters and the console are the same\n\
         The {found} ({}) are in {}; {} has the repeated run\n",
        grouped(window.checked_samples),
        Span {
            from: window.from,
            to: window.to
        }
        .words(window.begin),
        directory.display(),
        directory.join(REPEATED).display()
    );
    if window.missed != 0 {
        text.push_str(&format!(
            "{} samples were missed, because the next one was due, too\n",
            grouped(window.missed)
        ));
    }
    text
}

/// An interval that the machine has, and that shows more than the first run.
fn check_interval(interval: u64, first: u64) -> Result<()> {
    if interval < SHORTEST {
        bail!(
            "an interval of {} cycles is too short; choose {} or more",
            grouped(interval),
            grouped(SHORTEST)
        );
    }
    if first != 0 && interval >= first {
        bail!(
            "an interval of {} cycles shows no more than that of the first run, {}; choose a shorter one",
            grouped(interval),
            grouped(first)
        );
    }
    Ok(())
}

/// The new folder: the chosen one, which must be new or empty, or the first of `DIR-zoom-1`, `-2`, … that is free.
fn out(request: &Request) -> Result<PathBuf> {
    if let Some(chosen) = &request.out {
        let is_taken = fs::read_dir(chosen).is_ok_and(|mut entries| entries.next().is_some());
        if is_taken || chosen.is_file() {
            bail!(
                "{} is not empty; choose a new folder with --out",
                chosen.display()
            );
        }
        return made(chosen);
    }
    let first = fs::canonicalize(&request.directory)
        .with_context(|| format!("cannot find {}", request.directory.display()))?;
    let name = first.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..=9999 {
        let path = first.with_file_name(format!("{name}-zoom-{number}"));
        // Another command may want the same one at the same time.
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| cannot_create(&path)),
            Ok(()) => return Ok(path),
        }
    }
    bail!("every name for a new folder is taken; choose one with --out")
}

fn cannot_create(path: &Path) -> String {
    format!(
        "cannot create {}; choose another folder with --out",
        path.display()
    )
}

fn made(path: &Path) -> Result<PathBuf> {
    fs::create_dir_all(path).with_context(|| cannot_create(path))?;
    Ok(fs::canonicalize(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_not_shorter_than_the_machine_has_and_shorter_than_that_of_the_first_run() {
        let refusal =
            |interval, first| check_interval(interval, first).map_err(|error| error.to_string());
        assert_eq!(refusal(1000, 1_000_000), Ok(()));
        assert_eq!(refusal(1000, 0), Ok(()));
        assert!(
            refusal(999, 0)
                .unwrap_err()
                .contains("choose 1,000 or more")
        );
        assert!(
            refusal(5000, 5000)
                .unwrap_err()
                .contains("choose a shorter")
        );
    }

    #[test]
    fn the_command_line_that_is_performed_is_shown_with_its_place() {
        let asked = Asked {
            words: ["run", "hash", "--qemu", "./theirs"]
                .map(str::to_owned)
                .into(),
            directory: "/their/place".into(),
        };
        let expected = "performing again, in /their/place: measure run hash --qemu ./theirs";
        assert_eq!(again(&asked), expected);
    }

    #[test]
    fn a_folder_that_holds_something_is_not_taken() {
        let place = tempfile::tempdir().unwrap();
        let first = place.path().join("run");
        fs::create_dir_all(first.join("x")).unwrap();
        let mut request = Request {
            directory: first.clone(),
            times: None,
            around: None,
            interval: 1000,
            traces: Vec::new(),
            count: None,
            out: Some(first),
        };
        assert!(out(&request).unwrap_err().to_string().contains("--out"));
        request.out = None;
        let found = [out(&request).unwrap(), out(&request).unwrap()];
        let names = found.map(|path| path.file_name().unwrap().to_owned());
        assert_eq!(names, ["run-zoom-1", "run-zoom-2"]);
        // A name that another command has taken meanwhile is not taken again, even if nothing is seen there.
        std::os::unix::fs::symlink("nowhere", place.path().join("run-zoom-3")).unwrap();
        assert!(out(&request).unwrap().ends_with("run-zoom-4"));
    }
}
