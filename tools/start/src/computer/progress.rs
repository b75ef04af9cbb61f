//! What the tool is doing, on standard error.
//!
//! On a terminal a moving line, elsewhere one plain line when a step begins and one when it has
//! ended, so that a log of a build machine reads well. A step says about how long it will take: by its
//! pace, if it knows how far it has come, and otherwise as it took last time ([`durations`]). Reports go to standard output
//! and never through here. What it quotes from a guest or a file commands no terminal ([`super::visible`]).

use std::{
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

use super::{durations, visible::message};

/// Where progress goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// To a terminal.
    Terminal,
    /// To a terminal on which another program, as Cargo, moves a line: only whole lines.
    Beside,
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
    /// How long it took last time, in words that follow others.
    usual: String,
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

    /// The same beside a program that moves a line of its own.
    #[must_use]
    pub const fn beside_another(self) -> Self {
        match self {
            Self::Terminal => Self::Beside,
            other => other,
        }
    }

    /// A line that moves on a terminal until the result is dropped, while others tell what is done.
    pub fn only_moving(self, what: &str) -> Option<Step> {
        (self == Self::Terminal).then(|| self.step(what))
    }

    /// Begins a step.
    pub fn step(self, what: &str) -> Step {
        let usual = match durations::last(what) {
            Some(took) => format!(" ({}, as last time)", about(took)),
            None => String::new(),
        };
        let bar = (self == Self::Terminal).then(|| {
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} [{elapsed}] {wide_msg}") {
                bar.set_style(style);
            }
            bar.set_message(message(&format!("{what}{usual}")));
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        self.line(&format!("{what} …{usual}"));
        let now = Instant::now();
        Step {
            kind: self,
            what: what.to_owned(),
            bar,
            usual,
            began: now,
            told: now,
        }
    }

    /// Says something that is not a step.
    pub fn note(self, text: &str) {
        match self {
            Self::Terminal | Self::Plain => write_line(text),
            Self::Beside => write_over(text),
            Self::Silent => {}
        }
    }

    /// Says what the person must know before it happens, even if nothing else is said.
    pub fn announce(self, text: &str) {
        match self {
            Self::Beside => write_over(text),
            _ => write_line(text),
        }
    }

    fn line(self, text: &str) {
        if matches!(self, Self::Plain | Self::Beside) {
            self.note(text);
        }
    }
}

/// Replaces a line that moves by whole ones; whoever moves it writes it again below them.
fn write_over(text: &str) {
    let _ = write!(stderr(), "\r\x1B[2K{}\n", message(text));
}

/// A closed standard error must not end a measurement.
fn write_line(text: &str) {
    let _ = writeln!(stderr(), "{}", message(text));
}

/// A time in words, as precise as an estimate is.
fn about(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 99.5 => format!("about {seconds:.0} s"),
        seconds => format!("about {:.0} min", seconds / 60.0),
    }
}

/// How long the rest of a step takes at its pace, if it has come so far, from 0 to 1. There is no pace in the first
/// second, and no rest at the end.
fn left(elapsed: Duration, share: f64) -> Option<Duration> {
    if elapsed < Duration::from_secs(1) || !(0.001..1.0).contains(&share) {
        return None;
    }
    Some(elapsed.mul_f64((1.0 - share) / share))
}

impl Step {
    /// The step began earlier than it was shown.
    #[must_use]
    pub const fn since(mut self, began: Instant) -> Self {
        self.began = began;
        self
    }

    /// Says how far the step has come.
    pub fn update(&mut self, how_far: &str) {
        let usual = std::mem::take(&mut self.usual);
        self.tell(&format!("{how_far}{usual}"));
        self.usual = usual;
    }

    /// Says how far the step has come, also as a share of the whole from 0 to 1, and about how long the rest will take.
    pub fn reach(&mut self, share: f64, how_far: &str) {
        match left(self.began.elapsed(), share) {
            Some(left) => self.tell(&format!("{how_far}, {} left", about(left))),
            None => self.tell(how_far),
        }
    }

    /// Says that so many of all pieces are done, and about how long the others will take.
    pub fn reach_of(&mut self, done: u64, all: u64, how_far: &str) {
        self.reach(done as f64 / all.max(1) as f64, how_far);
    }

    fn tell(&mut self, how_far: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(message(&format!("{}: {how_far}", self.what)));
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
        let took = self.began.elapsed();
        durations::note(&self.what, took);
        let seconds = took.as_secs_f64();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_step_takes_as_long_as_its_pace_says() {
        let seconds = Duration::from_secs;
        assert_eq!(left(seconds(10), 0.5), Some(seconds(10)));
        assert_eq!(left(seconds(10), 0.25), Some(seconds(30)));
        // Too early, at the end, or nothing is known.
        for (elapsed, share) in [
            (0, 0.5),
            (10, 0.0),
            (10, f64::NAN),
            (10, 1.0),
            (10, 1.5),
            (10, -1.0),
        ] {
            assert_eq!(left(seconds(elapsed), share), None, "{elapsed} {share}");
        }
        assert_eq!(about(seconds(42)), "about 42 s");
        assert_eq!(about(seconds(600)), "about 10 min");
    }
}
