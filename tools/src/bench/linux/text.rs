//! The measurements as text.

use std::fmt::Write as _;

use comfy_table::Cell;
use {insn, link::tally::Cause};

use super::{LinuxBench, Share, Traps};
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
    let _ = writeln!(text, "{}", shares(&bench.shares));
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

/// A cause in words: for an instruction its name if the machine knows it, else its operation code.
pub fn cause(cause: Option<Cause>, number: u16) -> String {
    match cause {
        Some(Cause::Instruction) => mnemonic(number),
        Some(Cause::Program) => format!("(program interruption {number:04X})"),
        Some(Cause::SupervisorCall) => "SVC".to_owned(),
        Some(Cause::External) => format!("(external interruption {number:04X})"),
        Some(Cause::InputOutput) => "(I/O interruption)".to_owned(),
        Some(Cause::Other) | None => "(other)".to_owned(),
    }
}

/// The name of the instruction with this operation code.
fn mnemonic(opcode: u16) -> String {
    let [first, rest] = opcode.to_be_bytes();
    // The second part of an operation code is in one of these two bytes; the other belongs to an operand.
    for text in [[first, rest, 0, 0, 0, 0], [first, 0, 0, 0, 0, rest]] {
        let name = insn::decode(&text).mnemonic();
        if insn::opcode(&text) == opcode && !name.is_empty() {
            return name.to_owned();
        }
    }
    format!("{opcode:04X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_the_names_of_the_manual() {
        let instruction = |number| cause(Some(Cause::Instruction), number);
        assert_eq!(instruction(0xB2B2), "LPSWE");
        assert_eq!(instruction(0xEB2F), "LCTLG");
        assert_eq!(instruction(0xAC00), "STNSM");
        assert_eq!(instruction(0xFF00), "FF00");
        assert_eq!(
            cause(Some(Cause::Program), 0x10),
            "(program interruption 0010)"
        );
        assert_eq!(cause(None, 0), "(other)");
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
