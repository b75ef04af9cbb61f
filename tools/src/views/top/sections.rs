//! The parts of the view, as lines of any length.
//!
//! Names come from files that anybody may have made, so every one of them goes through
//! [`visible`] before it is a part of a line.

use ratatui::{
    style::{Color, Style, Stylize},
    text::{Line, Span as Words},
};

use super::{
    follow::{Followed, state},
    keys::Choices,
    tally::{Span, States},
};
use crate::{computer::visible::visible, numbers::grouped};

mod counters;

/// Longest module that has a column of its own width.
const MODULE: usize = 24;

/// All of it.
pub struct Sections {
    /// What is measured, its state, and how far it has come.
    pub head: Vec<Line<'static>>,
    /// Losses and doubts.
    pub warnings: Vec<Line<'static>>,
    /// The states of the CPUs, with the headings of the table.
    pub cpus: Vec<Line<'static>>,
    /// The headings of the symbols.
    pub hot_heading: Line<'static>,
    /// The symbols.
    pub hot: Vec<Line<'static>>,
    /// The headings of the counters.
    pub counters_heading: Line<'static>,
    /// What follows from counters, and the counters.
    pub counters: Vec<Line<'static>>,
}

impl Sections {
    /// The sections of a run as it is now, for lines of this many columns. A single look has no recent counts.
    pub fn of(followed: &Followed, choices: &Choices, columns: usize, has_recent: bool) -> Self {
        let (hot_heading, hot) = hot(followed, choices, has_recent);
        let (counters_heading, counters) = counters::counters(followed);
        Self {
            head: head(followed, choices),
            warnings: warnings(followed, columns),
            cpus: cpus(followed, has_recent),
            hot_heading,
            hot,
            counters_heading,
            counters,
        }
    }
}

fn quiet(text: impl Into<String>) -> Line<'static> {
    Line::from(text.into().dim())
}

fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

fn head(followed: &Followed, choices: &Choices) -> Vec<Line<'static>> {
    let folder = &followed.folder;
    let mut title = visible(&folder.title);
    let state = match &folder.record {
        Some(record) => {
            let cpus = match record.cpus {
                1 => "1 CPU".to_owned(),
                cpus => format!("{cpus} CPUs"),
            };
            let mode = visible(record.mode_found());
            title.push_str(&format!(": {mode} mode, {cpus}, "));
            title.push_str(&match record.interval {
                0 if record.collections.is_empty() => "no sampling".to_owned(),
                0 => "sampled by HIS".to_owned(),
                interval => format!("a sample every {} cycles", grouped(interval)),
            });
            let state = state(&record.end);
            capitalized(&visible(state.lines().next().unwrap_or_default()))
        }
        None => "A collection (its files do not say how it ended)".to_owned(),
    };
    let mut second = vec![match folder.has_ended() {
        true => Words::from(state).bold(),
        false => Words::from(state).green().bold(),
    }];
    if choices.is_paused {
        second.push(Words::from("  paused: nothing is read").yellow().bold());
    }
    if let Some(share) = followed.read_so_far() {
        let percent = (share * 100.0) as u32;
        second.push(Words::from(format!("  {percent} % of it has been read")).dim());
    }
    vec![
        Line::from(title.bold()),
        Line::from(second),
        Line::from(progress(followed)),
    ]
}

fn progress(followed: &Followed) -> String {
    let found = followed.found();
    let mut parts = Vec::new();
    let seconds = followed.guest_seconds();
    if let Some(seconds) = seconds {
        parts.push(format!("{seconds:.3} s of guest time"));
    }
    if let Some(instructions) = followed.instructions() {
        parts.push(format!(
            "{} million instructions",
            grouped(instructions / 1_000_000)
        ));
    }
    parts.push(format!(
        "{} samples in {} blocks",
        grouped(found.samples),
        grouped(found.blocks)
    ));
    parts.join(", ")
}

fn warnings(followed: &Followed, columns: usize) -> Vec<Line<'static>> {
    let warnings = followed.warnings();
    if warnings.is_empty() {
        return vec![quiet("Nothing was lost, and nothing is in doubt.")];
    }
    let mut lines = Vec::new();
    for (is_loss, text) in warnings {
        let (what, color) = match is_loss {
            true => ("LOST ", Color::Red),
            false => ("DOUBT ", Color::Yellow),
        };
        for line in wrapped(&format!("{what} {text}"), columns) {
            lines.push(Line::styled(line, Style::new().fg(color).bold()));
        }
    }
    lines
}

/// Wraps a text into lines of at most this many columns. A longer word has a line to itself.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_inclusive(' ') {
        let is_room = |line: &&mut String| {
            Words::raw(line.as_str()).width() + Words::raw(word.trim_end()).width() <= columns
        };
        match lines.last_mut().filter(is_room) {
            Some(line) => line.push_str(word),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn percent(part: f64, all: f64) -> String {
    match all > 0.0 {
        true => format!("{:.2}", part * 100.0 / all),
        false => "–".to_owned(),
    }
}

fn cpus(followed: &Followed, has_recent: bool) -> Vec<Line<'static>> {
    let cpus = &followed.tally.cpus;
    let is_secure = cpus.values().any(|states| states.limited.total > 0);
    let spans: &[Span] = match has_recent {
        true => &[Span::Recent, Span::Total],
        false => &[Span::Total],
    };
    let width = if is_secure { 35 } else { 28 };
    let (mut above, mut heading) = ("    ".to_owned(), " CPU".to_owned());
    for span in spans {
        let what = match span {
            Span::Recent => "recently, %",
            Span::Total => "in all, %",
        };
        above.push_str(&format!(" {what:>width$}"));
        heading.push_str(&format!(
            " {:>11} {:>8} {:>7}",
            "supervisor", "problem", "wait"
        ));
        if is_secure {
            heading.push_str(&format!(" {:>6}", "secure"));
        }
    }
    heading.push_str(&format!(" {:>13} {:>9}", "samples", "lost"));
    let is_waiting = cpus.values().any(|states| states.wait.total > 0);
    if !is_waiting && !cpus.is_empty() {
        above.push_str("   only dedicated CPUs are sampled in the wait");
    }
    let mut lines = vec![quiet(above), quiet(heading)];
    for (cpu, states) in cpus {
        let mut line = format!("{cpu:>4}");
        for span in spans {
            line.push_str(&shares(states, *span, is_secure));
        }
        let samples = states.samples(Span::Total) as u64;
        let lost = followed.lost(*cpu);
        line.push_str(&format!(" {:>13} ", grouped(samples)));
        let lost_words = Words::from(format!("{:>9}", grouped(lost)));
        let lost_words = if lost > 0 {
            lost_words.red().bold()
        } else {
            lost_words
        };
        lines.push(Line::from(vec![Words::from(line), lost_words]));
    }
    lines
}

fn shares(states: &States, span: Span, is_secure: bool) -> String {
    let all = states.samples(span);
    let share = |count: &super::tally::Count| percent(count.weight(span), all);
    let mut text = format!(
        " {:>11} {:>8} {:>7}",
        share(&states.supervisor),
        share(&states.problem),
        share(&states.wait)
    );
    if is_secure {
        text.push_str(&format!(" {:>6}", share(&states.limited)));
    }
    text
}

fn hot(
    followed: &Followed,
    choices: &Choices,
    has_recent: bool,
) -> (Line<'static>, Vec<Line<'static>>) {
    let tally = &followed.tally;
    let lines = tally.ordered(choices.span, choices.order);
    let modules = lines
        .iter()
        .map(|hot| Words::raw(visible(&hot.line.module)).width());
    let module_width = modules.max().unwrap_or(0).clamp(6, MODULE);
    let recent = if has_recent {
        format!("{:>8} ", "recent %")
    } else {
        String::new()
    };
    let heading = format!(
        "{recent}{:>8} {:>12}  {:<module_width$}  symbol",
        "total %", "samples", "module"
    );
    let rows = lines.iter().map(|hot| {
        let count = &hot.count;
        let mut spans = Vec::new();
        if has_recent {
            let share = percent(count.recent, tally.all.recent);
            spans.push(Words::from(format!("{share:>8} ")));
        }
        let share = percent(count.total as f64, tally.all.total as f64);
        spans.push(Words::from(format!(
            "{share:>8} {:>12}  ",
            grouped(count.total)
        )));
        if has_recent {
            let chosen = usize::from(choices.span == Span::Total);
            spans[chosen] = spans[chosen].clone().bold();
        }
        let module = match &*hot.line.module {
            "" => "-".to_owned(),
            module => visible(module),
        };
        let blanks = " ".repeat(module_width.saturating_sub(Words::raw(module.as_str()).width()));
        spans.push(Words::from(format!("{module}{blanks}  ")).dim());
        spans.push(Words::from(visible(&hot.line.symbol)));
        Line::from(spans)
    });
    (quiet(heading), rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wrapped_at_words_and_a_long_word_stands_alone() {
        assert_eq!(wrapped("ab cd ef", 5), ["ab cd ", "ef"]);
        assert_eq!(wrapped("abcdefgh ij", 5), ["abcdefgh ", "ij"]);
        assert_eq!(wrapped("größe 日本", 10), ["größe 日本"]);
        assert_eq!(wrapped("größe 日本", 9), ["größe ", "日本"]);
        assert_eq!(wrapped("a b", 0), ["a ", "b"]);
    }
}
