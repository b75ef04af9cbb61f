//! The operator's traces of program events in a report.

use std::fmt::Write as _;

use comfy_table::Cell;

use super::{number, plain_table, sentence, trimmed};
use crate::{folder::record::TracingRecord, numbers::grouped, report::Report};

/// How many events each trace had; `None` if there were no traces.
pub fn text(report: &Report) -> Option<String> {
    let tracing = &report.record.tracing;
    if tracing.is_empty() {
        return None;
    }
    let mut text = String::from("traces of program events\n");
    if !tracing.traces.is_empty() {
        let mut table = plain_table(&["no.", "trace", "events"]);
        for traced in &tracing.traces {
            table.add_row(vec![
                number(traced.trace),
                Cell::new(&traced.what),
                number(grouped(traced.events)),
            ]);
        }
        let _ = writeln!(text, "{}", trimmed(&table));
    }
    let _ = write!(text, "{}", arrived(tracing));
    Some(text)
}

fn arrived(tracing: &TracingRecord) -> String {
    let mut text = format!(
        "streamed: {} instructions with events",
        grouped(tracing.streamed)
    );
    if tracing.unseen > 0 {
        let _ = write!(
            text,
            "; {} instructions were not looked at, because the machine performed them together with others",
            grouped(tracing.unseen)
        );
    }
    for (lost, how) in [
        (tracing.lost_in_machine, "found no room in the machine"),
        (tracing.lost_on_link, "did not come over the link"),
    ] {
        if lost > 0 {
            let _ = write!(text, "; LOST: {} that {how}", grouped(lost));
        }
    }
    text
}

/// The summary of a traced run: its end, the traces, doubts, and where its files are.
pub fn summary(report: &Report) -> String {
    let mut text = format!("\n{}\n", sentence(&report.record.end));
    if let Some(traces) = self::text(report) {
        let _ = writeln!(text, "\n{traces}");
    }
    for doubt in &report.doubts {
        let _ = writeln!(text, "\nnote: {doubt}");
    }
    let _ = writeln!(text, "\nraw files in {}", report.directory.display());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        folder::record::{RunRecord, TracedRecord},
        report::tests::directory,
    };

    #[test]
    fn traces_have_counts_and_losses_appear_in_the_table_and_as_a_note() {
        let directory = directory();
        let report = Report::read(directory.path()).unwrap();
        assert_eq!(text(&report), None);
        let mut record = RunRecord::read(directory.path()).unwrap();
        record.tracing = TracingRecord {
            traces: vec![TracedRecord {
                trace: 1,
                what: "FETCH RANGE 1000-1FFF TRACE".to_owned(),
                events: 12345,
            }],
            streamed: 12000,
            lost_in_machine: 300,
            lost_on_link: 45,
            unseen: 6,
        };
        record.write(directory.path()).unwrap();
        let report = Report::read(directory.path()).unwrap();
        let text = summary(&report);
        for expected in [
            "The guest ended with success",
            "  1  FETCH RANGE 1000-1FFF TRACE  12,345",
            "streamed: 12,000 instructions with events; 6 instructions were not looked at, because the machine performed them together with others; LOST: 300 that found no room in the machine; LOST: 45 that did not",
            "note: 300 traced events found no room",
            "note: 45 traced events were lost on the link",
        ] {
            assert!(text.contains(expected), "{expected}\nin\n{text}");
        }
        let json = crate::views::json::text(&report).unwrap();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["tracing"]["traces"][0]["events"], 12345);
        assert_eq!(value["tracing"]["lost_on_link"], 45);
    }
}
