//! The result as text for a person.

use std::fmt::Write as _;

use super::{Conformance, Status};

/// The table: a heading for each place of a book, a line for each statement, the sums at the end.
pub fn text(conformance: &Conformance) -> String {
    let mut text = String::new();
    let width = conformance
        .found
        .iter()
        .map(|found| found.statement.id.len())
        .max()
        .unwrap_or(0);
    let mut place = ("", "");
    for found in &conformance.found {
        let statement = &found.statement;
        // Writing to a string does not fail.
        if (&statement.book[..], &statement.section[..]) != place {
            place = (&statement.book, &statement.section);
            let _ = writeln!(text, "\n{}, {}", place.0, place.1);
        }
        let (word, why) = match &found.status {
            Status::Shown(runs) => ("shown", runs.join(", ")),
            Status::NotApplicable(reason) => ("not applicable", reason.clone()),
            Status::NotShown(why) => ("NOT SHOWN", why.clone()),
        };
        let _ = writeln!(
            text,
            "  {:width$}  {word:14}  {}  [{why}]",
            statement.id, statement.text
        );
    }
    let [shown, not_applicable, not_shown] = conformance.totals();
    let _ = writeln!(
        text,
        "\n{} statements: {shown} shown, {not_applicable} not applicable, {not_shown} not shown",
        conformance.found.len()
    );
    for (run, how) in &conformance.ended_badly {
        let _ = writeln!(text, "note: {run} did not end as it declares: {how}");
    }
    text.split_off(usize::from(text.starts_with('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{evidence::Evidence, statements::Statements};

    #[test]
    fn the_table_names_place_statement_status_and_reason() {
        let mut statements = Statements::default();
        statements
            .add(
                "book='GA1-1'\n[[section]]\nplace='Here'\n[section.statements]\nA-1='one'\nA-10='ten'\n\
                 [[section]]\nplace='There'\n[section.statements]\nB-1='two'\n\
                 [section.not_applicable]\nB-1='never'\n",
            )
            .unwrap();
        let conformance = Conformance {
            found: Evidence::heard("b_x", "shown A-1\n")
                .judge(&statements)
                .unwrap(),
            ended_badly: vec![("b_y".to_owned(), "it hung".to_owned())],
        };
        assert_eq!(
            text(&conformance),
            "GA1-1, Here\n  A-1   shown           one  [b_x]\n  \
             A-10  NOT SHOWN       ten  [no assertion names it]\n\nGA1-1, There\n  \
             B-1   not applicable  two  [never]\n\n\
             3 statements: 1 shown, 1 not applicable, 1 not shown\n\
             note: b_y did not end as it declares: it hung\n"
        );
        assert!(!conformance.is_complete());
    }
}
