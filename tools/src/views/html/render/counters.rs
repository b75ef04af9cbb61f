//! The parts of the page that come from counters.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::{absent, figure};
use crate::{
    numbers::grouped,
    views::html::page::{Absent, CounterTable, Figure, Figures, Page},
};

/// Figures and tables.
pub fn counters(page: &Page) -> Markup {
    let tables = match &page.counters {
        Absent::Present(tables) => tables,
        Absent::Because(because) => return absent(because),
    };
    html! {
        @for figures in &page.figures { (figures_part(figures)) }
        @for table in tables { (table_part(table)) }
    }
}

fn figures_part(figures: &Figures) -> Markup {
    html! {
        h3 { (figures.title) ": what follows from counters" }
        div class="scroll" {
            table {
                thead {
                    tr {
                        th scope="col" { "figure" }
                        @for owner in &figures.owners { th scope="col" class="n" { (owner) } }
                        th scope="col" { "from" }
                    }
                }
                tbody {
                    @for line in &figures.lines {
                        tr {
                            th scope="row" { (line.name) }
                            @for value in &line.values { td class="n" { (with_unit(*value, line.unit)) } }
                            td class="quiet" { (line.formula) }
                        }
                    }
                }
            }
        }
        @for note in &figures.notes { p class="quiet" { (note) } }
        @let charts: Vec<&Figure> = figures.lines.iter().filter(|line| line.chart.len() > 1).collect();
        @if !charts.is_empty() {
            div class="charts" { @for line in charts { (chart(line)) } }
        }
    }
}

fn with_unit(value: Option<f64>, unit: &str) -> String {
    match (value, unit) {
        (None, _) => "–".to_owned(),
        (Some(value), "") => figure(value),
        (Some(value), "%") => format!("{value:.2} %"),
        (Some(value), unit) => format!("{} {unit}", figure(value)),
    }
}

fn chart(line: &Figure) -> Markup {
    let known: Vec<f64> = line.chart.iter().flatten().copied().collect();
    let most = known.iter().copied().fold(0.0, f64::max);
    let least = known.iter().copied().fold(f64::INFINITY, f64::min);
    html! {
        figure {
            figcaption {
                (line.name) " by interval"
                span class="quiet" {
                    " · from " (with_unit(known.first().map(|_| least), line.unit)) " to " (with_unit(known.first().map(|_| most), line.unit))
                }
            }
            (plot("chart", &line.chart, most, line.unit))
            div class="ends" { span { "interval 1" } span { "scale 0 to " (with_unit(Some(most), line.unit)) } span { (line.chart.len()) } }
        }
    }
}

/// Steps from zero to the largest value; an interval without a value is a gap.
fn plot(class: &str, values: &[Option<f64>], most: f64, unit: &str) -> Markup {
    let mut path = String::new();
    let mut is_down = false;
    for (place, value) in values.iter().enumerate() {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            is_down = false;
            continue;
        };
        let height = if most > 0.0 {
            39.0 - 38.0 * value / most
        } else {
            39.0
        };
        // Writing to a string does not fail.
        let _ = match is_down {
            true => write!(path, "V{height:.1}H{}", place + 1),
            false => write!(path, "M{place} {height:.1}H{}", place + 1),
        };
        is_down = true;
    }
    let list = values
        .iter()
        .map(|value| value.map_or("–".to_owned(), figure));
    let list = list.collect::<Vec<_>>().join(" ");
    let unit = match unit {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    html! {
        svg class=(class) viewBox={ "0 0 " (values.len()) " 40" } preserveAspectRatio="none" role="img"
            aria-label={ "by interval, up to " (figure(most)) } data-values=(list) data-unit=(unit) {
            path d=(path) {}
        }
    }
}

fn table_part(table: &CounterTable) -> Markup {
    let has_rates = table.rows.iter().any(|row| row.per_thousand.is_some());
    html! {
        h3 { (table.title) ": counters" }
        div class="scroll" {
            table class="sortable" {
                thead {
                    tr {
                        th scope="col" { button type="button" { "set" } }
                        th scope="col" class="n" { button type="button" { "no." } }
                        th scope="col" { button type="button" { "counter" } }
                        @for owner in &table.owners { th scope="col" class="n" { button type="button" { (owner) } } }
                        @if table.is_summed { th scope="col" class="n" { button type="button" { "sum" } } }
                        @if has_rates { th scope="col" class="n" { button type="button" { "for 1,000 instructions" } } }
                        @if table.intervals > 0 { th scope="col" { "by interval (" (table.intervals) ")" } }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            td { (row.set) }
                            td class="n" data-v=(row.number) { (row.number) }
                            td { (row.name) }
                            @for value in &row.values { (count(*value)) }
                            @if table.is_summed { (count(row.sum)) }
                            @if has_rates {
                                @match row.per_thousand {
                                    Some(rate) => td class="n" data-v=(rate) { (figure(rate)) },
                                    None => td class="n" {},
                                }
                            }
                            @if table.intervals > 0 { td { (spark(&row.chart)) } }
                        }
                    }
                }
            }
        }
        @if table.silent > 0 {
            p class="quiet" { "And " (grouped(table.silent as u64)) " more that count nothing here: zero by definition, or reserved." }
        }
        @for note in &table.notes { p class="quiet" { (note) } }
    }
}

fn count(value: Option<u64>) -> Markup {
    html! {
        @match value {
            Some(value) => td class="n" data-v=(value) { (grouped(value)) },
            None => td class="n" { "–" },
        }
    }
}

fn spark(values: &[f64]) -> Markup {
    let most = values.iter().copied().fold(0.0, f64::max);
    if most == 0.0 {
        return html! {};
    }
    let values: Vec<Option<f64>> = values.iter().copied().map(Some).collect();
    plot("spark", &values, most, "")
}
