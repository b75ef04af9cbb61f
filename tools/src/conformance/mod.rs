//! Which statements of the books the behaviour guests show: SA23-2260, SA22-7832 (the z/Architecture Principles of
//! Operation) for what the virtual CPU performs, and the System/370 Principles of Operation where they define
//! program-event recording.
//!
//! The [`statements`] of the books are a table in the repository, which does not say whether they hold. Only the guests
//! do: while a guest runs, `shows!` prints `shown ID` or `failed ID` for each assertion that names a statement. Every
//! behaviour guest runs if its clause cites one of the books, and its console is read ([`evidence`]). A statement is
//! shown if an assertion held in this run, none failed, and no guest that names it died. [`text`] and [`json`] give the
//! result a form.

use std::{
    num::NonZero,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::{
    building::{build, repository},
    computer::{interrupt, progress::Progress, temporary::Temporary},
    conformance::{
        clause::{Clause, ClauseRun},
        evidence::Evidence,
        statements::{Statement, Statements},
    },
    machine::{doctor, run},
    numbers::quantities::Rtc,
};

pub mod clause;
pub mod evidence;
pub mod json;
pub mod statements;
pub mod text;

/// The longest run of a guest.
const LIMIT: Duration = Duration::from_secs(300);

/// The date of every run, so that the table is the same each time.
const DATE: &str = "2026-01-01T00:00:00";

/// The status of a statement after the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Assertions held and none failed, in these runs.
    Shown(Vec<String>),
    /// It does not apply, for this reason.
    NotApplicable(String),
    /// No assertion names it, or one failed; the text says why.
    NotShown(String),
}

/// A statement and its status.
#[derive(Clone, Debug)]
pub struct JudgedStatement {
    /// The statement.
    pub statement: Statement,
    /// Its status.
    pub status: Status,
}

/// The evidence of one run, and how it ended if that is not what its guest declares.
type Heard = (Evidence, Option<String>);

/// The outcome of all runs.
#[derive(Clone, Debug, Default)]
pub struct Conformance {
    /// Every statement, in the order of the books.
    pub found: Vec<JudgedStatement>,
    /// Runs that did not end as their guest declares, and how they ended.
    pub ended_badly: Vec<(String, String)>,
}

impl Conformance {
    /// How many statements are shown, not applicable, and not shown.
    pub fn totals(&self) -> [usize; 3] {
        let mut totals = [0; 3];
        for found in &self.found {
            totals[match found.status {
                Status::Shown(_) => 0,
                Status::NotApplicable(_) => 1,
                Status::NotShown(_) => 2,
            }] += 1;
        }
        totals
    }

    /// Whether every applicable statement is shown and every run ended as it should.
    pub fn is_complete(&self) -> bool {
        self.totals()[2] == 0 && self.ended_badly.is_empty()
    }
}

/// The directory of the table.
pub fn directory() -> PathBuf {
    repository::root().join("tests-qemu/conformance")
}

/// The runs of all behaviour guests that cite one of the books, with the clause of each guest.
pub fn runs(statements: &Statements, progress: &Progress) -> Result<Vec<(ClauseRun, Clause)>> {
    let mut all = Vec::new();
    for name in build::bundled_guests() {
        if !name.starts_with("b_") {
            continue;
        }
        let clause = Clause::read(&build::build_guest(&name, progress)?)?;
        if !statements.are_cited_by(&clause.text) {
            continue;
        }
        for run in clause.runs(&name)? {
            all.push((run, clause.clone()));
        }
    }
    Ok(all)
}

/// Runs all of them, a few at a time, and judges the statements of the table by their output.
pub fn measure(qemu: Option<PathBuf>, progress: &Progress) -> Result<Conformance> {
    let statements = Statements::read(&directory())?;
    doctor::provide(qemu.as_deref(), progress)?;
    build::build_image(progress)?;
    let runs = runs(&statements, progress)?;
    let step = Mutex::new(progress.step(&format!("running {} behaviour guests", runs.len())));
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let heard: Mutex<Vec<(usize, Result<Heard>)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((run, clause)) = runs.get(number) else {
                return;
            };
            if interrupt::requested() {
                return;
            }
            let result = hear(run, clause, qemu.as_ref());
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if let Ok(mut step) = step.lock() {
                let how_far = format!("{done} of {}: {}", runs.len(), run.name);
                step.reach_of(done as u64, runs.len() as u64, &how_far);
            }
            if let Ok(mut heard) = heard.lock() {
                heard.push((number, result));
            }
        }
    };
    thread::scope(|scope| {
        let at_once = thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..at_once.min(runs.len()) {
            scope.spawn(work);
        }
    });
    if interrupt::requested() {
        bail!("interrupted");
    }
    let mut heard = heard.into_inner().unwrap_or_default();
    heard.sort_by_key(|(number, _)| *number);
    let (mut evidence, mut ended_badly) = (Evidence::default(), Vec::new());
    for (number, result) in heard {
        let name = &runs[number].0.name;
        let (one, bad) = result.with_context(|| format!("cannot run {name}"))?;
        evidence.extend(one);
        ended_badly.extend(bad.map(|how| (name.clone(), how)));
    }
    let found = evidence.judge(&statements)?;
    let conformance = Conformance { found, ended_badly };
    let [shown, _, not_shown] = conformance.totals();
    let step = step
        .into_inner()
        .ok()
        .context("another thread's run has panicked")?;
    step.done(&format!("{shown} statements shown, {not_shown} not shown"));
    Ok(conformance)
}

/// One run.
fn hear(run: &ClauseRun, clause: &Clause, qemu: Option<&PathBuf>) -> Result<Heard> {
    let directory = Temporary::new()?;
    let mut options = run.options.clone();
    options.rtc = DATE.parse().unwrap_or(Rtc::Now);
    options.limit = Some(LIMIT);
    options.qemu = qemu.cloned();
    options.out = Some(directory.path().to_owned());
    let outcome = run::run(&options, &Progress::Silent)?;
    Ok(if clause.end.is_met(&outcome.end) {
        (Evidence::heard(&run.name, &outcome.console), None)
    } else {
        let how = outcome.end.sentence();
        let evidence = Evidence::ended_badly(&run.name, &outcome.console, &how, &clause.statements);
        (evidence, Some(how))
    })
}
