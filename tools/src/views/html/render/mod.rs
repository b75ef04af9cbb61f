//! The page's form.
//!
//! The templates escape every text. The script's data stand in a block of JSON without a `<`, so nothing in it can end
//! the block. The policy of the page allows only its own script, by its hash, and nothing from elsewhere.

mod counters;
mod data;
mod exact;
mod name;
mod paths;
mod samples;
mod selection;

use base64::{Engine, prelude::BASE64_STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use self::name::{breakable, name};
use super::page::{Absent, Page, TimeLine};
use crate::numbers::grouped;

const STYLE: &str = include_str!("../style.css");

/// One module: what a file defines, the files behind it use.
const SCRIPT: &str = concat!(
    include_str!("../script/data.js"),
    include_str!("../script/names.js"),
    include_str!("../script/selection.js"),
    include_str!("../script/tip.js"),
    include_str!("../script/theme.js"),
    include_str!("../script/bar.js"),
    include_str!("../script/timeline.js"),
    include_str!("../script/flame.js"),
    include_str!("../script/symbols.js"),
    include_str!("../script/states.js"),
    include_str!("../script/code.js"),
    include_str!("../script/charts.js"),
    include_str!("../script/keys.js"),
);

/// The page as HTML.
pub fn page(page: &Page) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        BASE64_STANDARD.encode(Sha256::digest(SCRIPT))
    );
    let sections = [
        (
            "run",
            if page.has_counters_only {
                "File"
            } else {
                "Run"
            },
            run(page),
        ),
        ("states", "States", samples::states(page)),
        ("time", "Time line", samples::time_line(page)),
        ("flame", "Flame graph", samples::flame_graph(page)),
        ("symbols", "Symbols", samples::hot(page)),
        ("code", "Code", samples::listings(page)),
        ("counters", "Counters", counters::counters(page)),
    ];
    let is_shown = |id: &str| !page.has_counters_only || ["run", "counters"].contains(&id);
    let exact = exact::exact(page).map(|exact| ("exact", "Exact counts", exact));
    let paths = paths::paths(page).map(|paths| ("paths", "Paths", paths));
    let sections: Vec<(&str, &str, Markup)> = sections
        .into_iter()
        .chain(exact)
        .chain(paths)
        .filter(|(id, _, _)| is_shown(id))
        .collect();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "measure " (page.tool) };
                title { (page.guest) " – Millimeter" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    button type="button" id="theme" hidden {}
                    h1 {
                        (name(&page.guest))
                        @if !page.has_counters_only { " " small { (grouped(page.samples)) " samples" } }
                    }
                    p class=(if page.is_success { "end well" } else { "end badly" }) { (breakable(&page.end)) "." }
                    (selection::compared(page))
                    (warnings(page))
                }
                div class="controls" {
                    nav aria-label="Parts of this page" {
                        @for (id, title, _) in &sections {
                            a href={ "#" (id) } { (title) }
                        }
                    }
                    @if let Absent::Present(time) = &page.time_line { (selection::bar(time)) }
                }
                main {
                    @for (id, title, body) in &sections {
                        section id=(id) aria-labelledby={ (id) "-title" } { h2 id={ (id) "-title" } { (title) } (body) }
                    }
                }
                footer {
                    p { "Made by measure " (page.tool) " from the raw files in " (name(&page.directory)) "." }
                    noscript { p { "Without its script the page shows the whole run without time line and flame graph; nothing can be selected, found or sorted." } }
                }
                script type="application/json" id="data" { (PreEscaped(data::data(page))) }
                script type="module" { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}

fn warnings(page: &Page) -> Markup {
    html! {
        ul id="warnings" class="warnings" {
            @for warning in &page.warnings {
                @let (class, word) = if warning.is_loss { ("loss", "Loss") } else { ("doubt", "Doubt") };
                li class=(class) { strong { (word) } " " (breakable(&warning.text)) }
            }
            @if page.warnings.is_empty() {
                li class="fine" { strong { "Whole" } " Nothing was lost, and nothing is in doubt." }
            }
        }
    }
}

fn run(page: &Page) -> Markup {
    html! {
        dl class="facts" {
            @for fact in &page.facts {
                div { dt { (fact.name) } dd { (breakable(&fact.value)) } }
            }
        }
    }
}

/// A paragraph that says why a part is not there.
fn absent(because: &str) -> Markup {
    html! { p class="quiet" { (breakable(because)) } }
}

/// Digits behind the point that tell two columns apart.
fn digits(time: &TimeLine) -> usize {
    let width = (time.span.1 - time.span.0) / time.columns.max(1) as f64;
    match width {
        width if width > 0.0 => (-width.log10()).ceil().clamp(0.0, 6.0) as usize,
        _ => 0,
    }
}

/// A share in percent.
fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 * 100.0 / whole as f64,
    }
}

/// A number with as many digits as say something.
fn figure(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "–".to_owned(),
        0.0 => "0".to_owned(),
        size if size >= 10_000.0 => grouped(value.round() as u64),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

#[cfg(test)]
mod tests;
