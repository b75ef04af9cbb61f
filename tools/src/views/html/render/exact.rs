//! The exact counts of a run by routine.

use maud::{Markup, html};

use super::name;
use crate::{
    numbers::grouped,
    views::html::page::{Exact, ExactLine, Page},
};

/// The table, if the run has exact counts.
pub fn exact(page: &Page) -> Option<Markup> {
    page.exact.as_ref().map(table)
}

fn table(exact: &Exact) -> Markup {
    html! {
        div class="scroll" {
            table class="sortable" {
                thead {
                    tr {
                        @for title in ["routine", "module"] {
                            th scope="col" { button type="button" { (title) } }
                        }
                        @for title in ["instructions", "percent", "inclusive", "percent", "calls", "entries"] {
                            th scope="col" class="n" { button type="button" { (title) } }
                        }
                    }
                }
                tbody { @for routine in &exact.lines { (line(routine)) } }
            }
        }
        @for note in &exact.notes { p class="quiet" { (note) } }
    }
}

fn line(routine: &ExactLine) -> Markup {
    html! {
        tr {
            th scope="row" { (name(&routine.symbol)) }
            td { (name(&routine.module)) }
            (both(Some(routine.own)))
            (both(routine.inclusive))
            (number(routine.calls))
            (number(routine.entries))
        }
    }
}

/// A number of instructions, and their share.
fn both(value: Option<(u64, f64)>) -> Markup {
    html! {
        (number(value.map(|(value, _)| value)))
        @match value {
            Some((_, percent)) => td class="n" data-v=(percent) { (format!("{percent:.2}")) },
            None => td class="n" { "–" },
        }
    }
}

fn number(value: Option<u64>) -> Markup {
    html! {
        @match value {
            Some(value) => td class="n" data-v=(value) { (grouped(value)) },
            None => td class="n" { "–" },
        }
    }
}
