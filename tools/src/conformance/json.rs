//! The result as one JSON object.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::{Conformance, Status};
use crate::views::json;

#[derive(Serialize)]
struct Object<'a> {
    shown: usize,
    not_applicable: usize,
    not_shown: usize,
    statements: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    id: &'a str,
    book: &'a str,
    section: &'a str,
    text: &'a str,
    status: &'static str,
    /// The runs that show it; `None` if none does.
    test: Option<String>,
    /// Why it is not applicable or not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// The object as text.
pub fn text(conformance: &Conformance) -> Result<String> {
    let [shown, not_applicable, not_shown] = conformance.totals();
    let statements = conformance
        .found
        .iter()
        .map(|found| {
            let (status, test, reason) = match &found.status {
                Status::Shown(runs) => ("shown", Some(runs.join(", ")), None),
                Status::NotApplicable(reason) => ("not_applicable", None, Some(&reason[..])),
                Status::NotShown(why) => ("not_shown", None, Some(&why[..])),
            };
            Row {
                id: &found.statement.id,
                book: &found.statement.book,
                section: &found.statement.section,
                text: &found.statement.text,
                status,
                test,
                reason,
            }
        })
        .collect();
    let object = Object {
        shown,
        not_applicable,
        not_shown,
        statements,
    };
    Ok(serde_json::to_string_pretty(&object)? + "\n")
}

/// Writes the object to a file.
pub fn write(conformance: &Conformance, file: &Path) -> Result<()> {
    json::save(&text(conformance)?, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{evidence::Evidence, statements::Statements};

    #[test]
    fn the_object_has_the_documented_shape() {
        let mut statements = Statements::default();
        statements
            .add("book='GA1-1'\n[[section]]\nplace='Here'\n[section.statements]\nA-1='one'\nA-2='two'\n")
            .unwrap();
        let conformance = Conformance {
            found: Evidence::heard("b_x", "shown A-1\n")
                .judge(&statements)
                .unwrap(),
            ended_badly: Vec::new(),
        };
        let value: serde_json::Value = serde_json::from_str(&text(&conformance).unwrap()).unwrap();
        assert_eq!(
            value,
            serde_json::json!({
                "shown": 1, "not_applicable": 0, "not_shown": 1,
                "statements": [
                    {"id": "A-1", "book": "GA1-1", "section": "Here", "text": "one", "status": "shown", "test": "b_x"},
                    {"id": "A-2", "book": "GA1-1", "section": "Here", "text": "two", "status": "not_shown",
                     "test": null, "reason": "no assertion names it"},
                ],
            })
        );
    }
}
