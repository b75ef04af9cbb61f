//! What the tool is doing, on standard error.
//!
//! On a terminal a moving line, elsewhere one plain line when a step begins and one when it has
//! ended, so that a log of a build machine reads well. Reports go to standard output and never
//! through here. What it quotes from a guest or a file commands no terminal ([`super::visible`]).

use std::{
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::visible::lines;

/// Where progress goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// To a terminal.
    Terminal,
    /// To a file or a pipe.
    Plain,
    /// Nowhere: the tests' choice.
    Silent,
}

/// A step that has begun.
pub struct Step {
    kind: Progress,
    what: String,
    bar: Option<ProgressBar>,
    began: Instant,
    told: Instant,
}

/// How often a plain log shows that a long step goes on.
const PLAIN_PACE: Duration = Duration::from_secs(10);

impl Progress {
    /// What standard error is.
    pub fn detect() -> Self {
        if stderr().is_terminal() {
            Self::Terminal
        } else {
            Self::Plain
        }
    }

    /// Begins a step.
    pub fn step(self, what: &str) -> Step {
        let bar = (self == Self::Terminal).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} [{elapsed}] {wide_msg}") {
                bar.set_style(style);
            }
            bar.set_message(lines(what));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        self.line(&format!("{what} …"));
        let now = Instant::now();
        Step {
            kind: self,
            what: what.to_owned(),
            bar,
            began: now,
            told: now,
        }
    }

    /// Says something that is not a step.
    pub fn note(self, text: &str) {
        match self {
            Self::Terminal | Self::Plain => write_line(text),
            Self::Silent => {}
        }
    }

    fn line(self, text: &str) {
        if self == Self::Plain {
            write_line(text);
        }
    }
}

/// A closed standard error must not end a measurement.
fn write_line(text: &str) {
    let _ = writeln!(stderr(), "{}", lines(text));
}

impl Step {
    /// Says how far the step has come.
    pub fn update(&mut self, how_far: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(lines(&format!("{}: {how_far}", self.what)));
        } else if self.told.elapsed() >= PLAIN_PACE {
            self.told = Instant::now();
            self.kind.line(&format!("{}: {how_far}", self.what));
        }
    }

    /// Prints a line about the step, beside its progress.
    pub fn say(&self, what: &str) {
        self.aside(|| self.kind.note(what));
    }

    /// Runs `work`, which writes to the terminal, while the moving line is hidden.
    pub fn aside(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Ends the step and says what came of it.
    pub fn done(self, outcome: &str) {
        let seconds = self.began.elapsed().as_secs_f64();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.kind.note(&format!("{outcome} ({seconds:.1} s)"));
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // A step that failed leaves no line behind; the error says what happened.
        if let Some(bar) = &self.bar
            && !bar.is_finished()
        {
            bar.finish_and_clear();
        }
    }
}
