//! The view: its sections below each other, as many lines of each as fit.

use std::fmt::Write as _;

use ratatui::{
    buffer::Buffer,
    layout::{Constraint, Layout, Rect},
    style::Stylize,
    text::Line,
    widgets::{Paragraph, Widget},
};

use super::{
    follow::Followed,
    keys::{self, Choices, Table},
    sections::Sections,
};
use crate::numbers::grouped;

/// Symbols of a single look.
const HOTTEST: usize = 20;

/// Columns of a single look that does not go to a terminal.
const COLUMNS: usize = 120;

/// Draws it.
pub fn draw(followed: &Followed, choices: &mut Choices, area: Rect, buffer: &mut Buffer) {
    let sections = Sections::of(followed, choices, area.width.into(), true);
    let scrolled = match choices.table {
        Table::Symbols => sections.hot.len(),
        Table::Counters => sections.counters.len(),
    };
    // The last line stays in sight.
    choices.offset = choices.offset.min(scrolled.saturating_sub(1));
    let lines = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let rows = area.height;
    let small = |table: &[Line<'_>]| lines(table.len() + 1).min(rows / 3);
    let (hot, counters) = match choices.table {
        Table::Symbols => (
            Constraint::Min(0),
            Constraint::Length(small(&sections.counters)),
        ),
        Table::Counters => (Constraint::Length(small(&sections.hot)), Constraint::Min(0)),
    };
    let heights = [
        Constraint::Length(lines(sections.head.len())),
        Constraint::Length(lines(sections.warnings.len()).min((rows / 4).max(1))),
        Constraint::Length(lines(sections.cpus.len())),
        hot,
        counters,
        Constraint::Length(1),
    ];
    let areas: [Rect; 6] = Layout::vertical(heights).areas(area);
    let [head, warnings, cpus, hot, counters, footer] = areas;
    let offset = |table| {
        if choices.table == table {
            choices.offset
        } else {
            0
        }
    };
    Paragraph::new(sections.head).render(head, buffer);
    Paragraph::new(shortened(sections.warnings, warnings.height)).render(warnings, buffer);
    Paragraph::new(sections.cpus).render(cpus, buffer);
    let symbols = table(
        sections.hot_heading,
        sections.hot,
        offset(Table::Symbols),
        hot,
    );
    symbols.render(hot, buffer);
    let values = (sections.counters_heading, sections.counters);
    let values = table(values.0, values.1, offset(Table::Counters), counters);
    values.render(counters, buffer);
    Line::from(keys::help(choices).reversed()).render(footer, buffer);
}

fn table<'l>(heading: Line<'l>, lines: Vec<Line<'l>>, offset: usize, area: Rect) -> Paragraph<'l> {
    let shown = lines.into_iter().skip(offset).take(area.height.into());
    Paragraph::new(std::iter::once(heading).chain(shown).collect::<Vec<_>>())
}

/// As many of the lines as fit; the last one says how many are missing.
fn shortened(mut lines: Vec<Line<'_>>, rows: u16) -> Vec<Line<'_>> {
    let rows = usize::from(rows);
    if lines.len() > rows && rows > 0 {
        let missing = lines.len() - rows + 1;
        lines.truncate(rows - 1);
        lines.push(Line::from(format!("… and {missing} more lines").bold()));
    }
    lines
}

/// A single look, as text.
pub fn text(followed: &Followed, choices: &Choices) -> String {
    let sections = Sections::of(followed, choices, COLUMNS, false);
    let mut text = String::new();
    let mut put = |lines: &[Line<'_>]| {
        for line in lines {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}", plain(line));
        }
    };
    let blank = [Line::default()];
    put(&sections.head);
    put(&sections.warnings);
    put(&blank);
    put(&sections.cpus);
    put(&blank);
    let hottest = sections.hot.len().min(HOTTEST);
    if hottest > 0 {
        put(&[sections.hot_heading]);
        put(&sections.hot[..hottest]);
    }
    if sections.hot.len() > hottest {
        let more = sections.hot.len() - hottest;
        put(&[Line::from(format!("and {} more", grouped(more as u64)))]);
    }
    put(&blank[usize::from(hottest == 0)..]);
    put(&[sections.counters_heading]);
    put(&sections.counters);
    text
}

fn plain(line: &Line<'_>) -> String {
    let text: String = line.spans.iter().map(|span| &*span.content).collect();
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests;
