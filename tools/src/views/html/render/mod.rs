//! The page's form.
//!
//! The templates escape every text. The script's data stand in a block of JSON without a `<`, so nothing in it can end
//! the block. The policy of the page allows only its own script, by its hash, and nothing from elsewhere.

mod counters;
mod samples;

use base64::{Engine, prelude::BASE64_STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::page::{Absent, Page, TimeLine};
use crate::numbers::grouped;

const STYLE: &str = include_str!("../style.css");
const SCRIPT: &str = include_str!("../script.js");

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
        ("symbols", "Symbols", samples::hot(page)),
        ("time", "Time line", samples::time_line(page)),
        ("code", "Code", samples::listings(page)),
        ("counters", "Counters", counters::counters(page)),
    ];
    let is_shown = |id: &str| !page.has_counters_only || ["run", "counters"].contains(&id);
    let sections: Vec<(&str, &str, Markup)> = sections
        .into_iter()
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
                    h1 {
                        bdi { (page.guest) }
                        @if !page.has_counters_only { " " small { (grouped(page.samples)) " samples" } }
                    }
                    p class=(if page.is_success { "end well" } else { "end badly" }) { (page.end) "." }
                    (warnings(page))
                }
                nav aria-label="Parts of this page" {
                    @for (id, title, _) in &sections {
                        a href={ "#" (id) } { (title) }
                    }
                }
                main {
                    @for (id, title, body) in &sections {
                        section id=(id) { h2 { (title) } (body) }
                    }
                }
                footer {
                    p { "Made by measure " (page.tool) " from the raw files in " bdi { (page.directory) } "." }
                    noscript { p { "Without its script the page shows everything but the time line; tables cannot be sorted." } }
                }
                script type="application/json" id="data" { (PreEscaped(data(page))) }
                script { (PreEscaped(SCRIPT)) }
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
                li class=(class) { strong { (word) } " " (warning.text) }
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
                div { dt { (fact.name) } dd { (fact.value) } }
            }
        }
    }
}

/// A paragraph that says why a part is not there.
fn absent(because: &str) -> Markup {
    html! { p class="quiet" { (because) } }
}

/// What the script needs, as JSON without a `<`.
fn data(page: &Page) -> String {
    let time = match &page.time_line {
        Absent::Present(time) => time_data(time),
        Absent::Because(_) => Value::Null,
    };
    let text = json!({ "time": time }).to_string();
    text.replace('<', "\\u003c")
}

fn time_data(time: &TimeLine) -> Value {
    let columns = time.columns.max(1);
    let cpus = time.cpus.iter().map(|map| {
        let rows = map.cells.chunks(columns).enumerate();
        // Rows without samples are left out.
        let (places, cells): (Vec<usize>, Vec<&[u32]>) = rows
            .filter(|(_, row)| row.iter().any(|count| *count > 0))
            .unzip();
        json!({ "cpu": map.cpu, "rows": places, "cells": cells })
    });
    json!({
        "columns": columns,
        "rows": time.rows,
        "others": time.has_others,
        "begin": time.span.0,
        "end": time.span.1,
        "unit": time.unit,
        "digits": digits(time),
        "cpus": cpus.collect::<Vec<_>>(),
    })
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
