//! The paths of a guest that is a machine.

use maud::{Markup, html};

use crate::{
    costs::paths::Path,
    numbers::grouped,
    views::html::page::{CountedPaths, Page},
};

/// The table, if the run counted paths.
pub fn paths(page: &Page) -> Option<Markup> {
    page.paths.as_ref().map(table)
}

fn table(counted: &CountedPaths) -> Markup {
    html! {
        div class="scroll" {
            table class="sortable" {
                thead {
                    tr {
                        th scope="col" { button type="button" { "cause" } }
                        @for name in ["number", "shortest", "mean", "longest", "budget"] {
                            th scope="col" class="n" { button type="button" { (name) } }
                        }
                        th scope="col" { button type="button" { "of the path" } }
                        th scope="col" { button type="button" { "verdict" } }
                    }
                }
                tbody { @for path in counted.paths.frequent() { (line(path)) } }
            }
        }
        @if let Some(rest) = counted.paths.rest() { p class="quiet" { (rest) } }
        p class="quiet" { (counted.paths.sum(counted.executed)) }
    }
}

fn line(path: &Path) -> Markup {
    html! {
        tr {
            th scope="row" { (path.cause) }
            @for value in [path.paths, path.shortest, path.mean, path.longest] {
                td class="n" data-v=(value) { (grouped(value)) }
            }
            @match &path.budget {
                Some(budget) => {
                    td class="n" data-v=(budget.instructions) { (grouped(budget.instructions)) }
                    td { (budget.path) }
                    td { (budget.verdict()) }
                }
                None => { td class="n" { "–" } td {} td {} }
            }
        }
    }
}
