//! What is selected, and the run that this one is compared with.

use maud::{Markup, html};

use super::name::name;
use crate::{
    numbers::grouped,
    views::html::page::{Page, TimeLine},
};

/// The controls of the selection. The script fills them; without it they are not there.
pub fn bar(time: &TimeLine) -> Markup {
    html! {
        div id="selection" role="region" aria-label="Selection" hidden {
            p class="selected" {
                output id="selected" {}
                button type="button" id="clear" hidden { "clear" }
            }
            @if time.lanes.len() > 1 { div class="chips" id="cpus" role="group" aria-label="CPUs" {} }
            @if time.programs.len() > 1 { div class="chips" id="programs" role="group" aria-label="Programs" {} }
            p class="find" {
                label for="find" { "Find" }
                input id="find" type="search" placeholder="a part of a name" aria-keyshortcuts="/" autocomplete="off" spellcheck="false";
                output id="found" {}
            }
        }
    }
}

/// The sentence that names the run before.
pub fn compared(page: &Page) -> Markup {
    html! {
        @if let Some(before) = &page.before {
            p id="compared" {
                "Compared with " (name(&before.title)) " of " (name(&before.directory)) ", the run before: "
                (grouped(before.samples)) " samples. Changes are of shares, in percentage points."
            }
        }
    }
}
