//! The measurements as text.

use std::fmt::Write as _;

use comfy_table::Cell;

use super::{LinuxBench, Share, Traps, floor};
use crate::bench::{ratios_text, right, table, verdict};

/// Lines of a table of traps.
const LINES: usize = 20;

/// All measurements.
pub fn text(bench: &LinuxBench) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    if !bench.ratios.is_empty() {
        let _ = writeln!(text, "{}\n", ratios_text(&bench.ratios));
    }
    if let Some(floor) = &bench.floor {
        let _ = writeln!(text, "{}\n", floor::text(floor));
    }
    if !bench.shares.is_empty() {
        let _ = writeln!(text, "{}", shares(&bench.shares));
    }
    for (what, lines) in &bench.traps {
        let _ = writeln!(text, "\n{}", traps(what, lines));
    }
    text
}

fn shares(shares: &[Share]) -> String {
    let mut table = table(["instructions", "guest", "machine", "percent", "budget", ""]);
    for share in shares {
        table.add_row(vec![
            Cell::new(&share.what),
            right(share.guest),
            right(share.machine),
            right(format!("{:.3}", share.percent())),
            right(
                share
                    .budget
                    .map_or("-".to_owned(), |budget| budget.to_string()),
            ),
            if share.budget.is_some() {
                verdict(share.is_over())
            } else {
                Cell::new("")
            },
        ]);
    }
    table.to_string()
}

fn traps(what: &str, traps: &[Traps]) -> String {
    let all: u64 = traps.iter().map(|line| line.instructions).sum();
    let mut table = table([
        &format!("traps: {what}"),
        "number",
        "mean length",
        "percent",
    ]);
    let mut add = |cause: &str, lines: &[Traps]| {
        let number: u64 = lines.iter().map(|line| line.traps).sum();
        let instructions: u64 = lines.iter().map(|line| line.instructions).sum();
        table.add_row(vec![
            Cell::new(cause),
            right(number),
            right(instructions / number.max(1)),
            right(format!("{:.2}", instructions as f64 * 100.0 / all as f64)),
        ]);
    };
    let (shown, rest) = traps.split_at(traps.len().min(LINES));
    for line in shown {
        add(&line.cause, std::slice::from_ref(line));
    }
    if !rest.is_empty() {
        add(&format!("{} others", rest.len()), rest);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Ratio;

    #[test]
    fn without_counts_there_is_no_table_of_them() {
        let ratio = Ratio {
            what: "boot".to_owned(),
            pairs: vec![1.0],
            budget: 1.3,
        };
        let text = text(&LinuxBench {
            ratios: vec![ratio],
            shares: Vec::new(),
            traps: Vec::new(),
            floor: None,
        });
        assert!(
            text.contains("host time") && !text.contains("instructions"),
            "{text}"
        );
    }

    #[test]
    fn causes_beyond_the_twenty_most_expensive_share_one_line() {
        let lines: Vec<Traps> = (0..30)
            .map(|number| Traps {
                cause: number.to_string(),
                traps: 2,
                instructions: 200,
            })
            .collect();
        let text = traps("boot", &lines);
        assert_eq!(text.lines().count(), 1 + 20 + 1);
        let last = text.lines().last().unwrap();
        let words: Vec<&str> = last.split_whitespace().collect();
        assert_eq!(words, ["10", "others", "20", "100", "33.33"]);
    }
}
