//! The parts of the page that come from samples.

use maud::{Markup, html};

use super::{absent, digits, percent};
use crate::{
    numbers::grouped,
    views::html::page::{
        Absent, Hot, HotLine, Instruction, Listing, ListingLine, Page, Share, TimeLine,
    },
};

/// Listings that are open from the beginning.
const OPEN_LISTINGS: usize = 2;

/// States, their class, and the pattern that tells them apart without colours.
const STATES: [(&str, &str, &str); 4] = [
    ("supervisor", "supervisor state", "url(#supervisor)"),
    ("problem", "problem state", "url(#problem)"),
    ("wait", "wait state", "url(#wait)"),
    ("limited", "secure guest", "url(#limited)"),
];

const fn by_state(share: &Share) -> [u64; 4] {
    [share.supervisor, share.problem, share.wait, share.limited]
}

/// Shares of supervisor, problem and wait state by CPU.
pub fn states(page: &Page) -> Markup {
    if page.shares.is_empty() {
        return absent(&page.without_samples);
    }
    let is_limited = page.shares.iter().any(|share| share.limited > 0);
    let shown = if is_limited { 4 } else { 3 };
    html! {
        (patterns())
        div class="scroll" {
            table class="states" {
                thead {
                    tr {
                        th scope="col" { "CPU" }
                        th scope="col" class="n" { "samples" }
                        @for (_, title, fill) in &STATES[..shown] {
                            th scope="col" class="n" {
                                svg class="key" viewBox="0 0 10 10" aria-hidden="true" { rect width="10" height="10" fill=(fill) {} }
                                (title)
                            }
                        }
                        th scope="col" class="n" { "lost" }
                        th scope="col" class="bar" { "share" }
                    }
                }
                tbody {
                    @for share in &page.shares {
                        @let counts = by_state(share);
                        tr {
                            th scope="row" { @match share.cpu { Some(cpu) => (cpu), None => "all" } }
                            td class="n" { (grouped(share.samples())) }
                            @for count in &counts[..shown] {
                                td class="n" title={ (grouped(*count)) " samples" } { (format!("{:.2} %", percent(*count, share.samples()))) }
                            }
                            td class="n" { (grouped(share.lost)) }
                            td class="bar" { (bar(&counts)) }
                        }
                    }
                }
            }
        }
    }
}

fn patterns() -> Markup {
    html! {
        svg width="0" height="0" style="position:absolute" aria-hidden="true" {
            defs {
                pattern id="supervisor" width="8" height="8" patternUnits="userSpaceOnUse" {
                    rect width="8" height="8" fill="var(--supervisor)" {}
                }
                pattern id="problem" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect width="7" height="7" fill="var(--problem)" {}
                    rect width="2" height="7" fill="var(--back)" fill-opacity=".55" {}
                }
                pattern id="wait" width="5" height="5" patternUnits="userSpaceOnUse" {
                    rect width="5" height="5" fill="var(--back)" {}
                    circle cx="2.5" cy="2.5" r="1.2" fill="var(--wait)" {}
                }
                pattern id="limited" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)" {
                    rect width="7" height="7" fill="var(--limited)" {}
                    rect width="4" height="7" fill="var(--back)" fill-opacity=".6" {}
                }
            }
        }
    }
}

fn bar(counts: &[u64; 4]) -> Markup {
    let all: u64 = counts.iter().sum();
    let mut from = 0.0;
    let parts = counts.iter().zip(STATES).map(|(count, (_, title, fill))| {
        let width = percent(*count, all);
        let part = (from, width, title, fill);
        from += width;
        part
    });
    let parts: Vec<_> = parts.filter(|part| part.1 > 0.0).collect();
    html! {
        svg role="img" aria-label="shares of the states" {
            @for (from, width, title, fill) in parts {
                rect x=(format!("{from:.3}%")) width=(format!("{width:.3}%")) height="100%" fill=(fill) {
                    title { (title) ": " (format!("{width:.2} %")) }
                }
            }
        }
    }
}

/// The table of the hottest symbols.
pub fn hot(page: &Page) -> Markup {
    let Hot {
        lines,
        more,
        more_samples,
        without_source,
    } = &page.hot;
    if lines.is_empty() {
        return absent(&page.without_samples);
    }
    let has_modules = lines.iter().any(|line| !line.module.is_empty());
    let has_sources = lines.iter().any(|line| line.source.is_some());
    html! {
        p class="filter" hidden { label { "Show only " input id="filter" type="search" placeholder="a part of a name"; } }
        div class="scroll" {
            table id="hot" class="sortable" {
                thead {
                    tr {
                        th scope="col" class="n" { button type="button" { "#" } }
                        th scope="col" { button type="button" { "symbol" } }
                        @if has_modules { th scope="col" { button type="button" { "module" } } }
                        th scope="col" class="n" aria-sort="descending" { button type="button" { "samples" } }
                        th scope="col" class="n" { button type="button" { "percent" } }
                        @if has_sources { th scope="col" { button type="button" { "hottest source line" } } }
                    }
                }
                tbody {
                    @for (place, line) in lines.iter().enumerate() {
                        (hot_line(page, place, line, has_modules, has_sources))
                    }
                }
            }
        }
        @if *more > 0 {
            p class="quiet" {
                "And " (grouped(*more as u64)) " more with " (grouped(*more_samples)) " samples ("
                (format!("{:.2}", percent(*more_samples, page.samples))) " percent)."
            }
        }
        @if let Some(because) = without_source {
            p class="quiet" { "No source lines: " (because) "." }
        }
    }
}

fn hot_line(
    page: &Page,
    place: usize,
    line: &HotLine,
    has_modules: bool,
    has_sources: bool,
) -> Markup {
    let share = percent(line.samples, page.samples);
    html! {
        tr {
            td class="n" data-v=(place + 1) { (place + 1) }
            td {
                @match line.listing {
                    Some(listing) => a href={ "#code-" (listing) } { bdi { (line.symbol) } },
                    None => bdi { (line.symbol) },
                }
            }
            @if has_modules { td { bdi { (line.module) } } }
            td class="n" data-v=(line.samples) { (grouped(line.samples)) }
            td class="n share" data-v=(format!("{share:.6}")) style={ "--p:" (format!("{share:.2}")) "%" } { (format!("{share:.2}")) }
            @if has_sources {
                td {
                    @if let Some((source, samples)) = &line.source {
                        bdi { (source) }
                        span class="quiet" { " " (format!("{:.0} %", percent(*samples, line.samples))) }
                    }
                }
            }
        }
    }
}

/// The heat maps.
pub fn time_line(page: &Page) -> Markup {
    let time = match &page.time_line {
        Absent::Present(time) => time,
        Absent::Because(because) => return absent(because),
    };
    html! {
        @for note in &time.notes { p class="quiet" { (note) } }
        p class="legend" id="legend" {}
        div class="maps" { @for map in &time.cpus { (heat_map(time, map.cpu, &map.cells)) } }
    }
}

/// Ticks of the axis of time.
const TICKS: usize = 5;

fn heat_map(time: &TimeLine, cpu: u16, cells: &[u32]) -> Markup {
    let rows = cells
        .chunks(time.columns.max(1))
        .map(|row| row.iter().map(|count| u64::from(*count)).sum());
    let rows: Vec<u64> = rows.collect();
    let all: u64 = rows.iter().sum();
    let shown = || time.rows.iter().zip(&rows).filter(|(_, count)| **count > 0);
    let (begin, end) = time.span;
    let tick = |place: usize| begin + (end - begin) * place as f64 / TICKS as f64;
    html! {
        figure class="map" {
            figcaption { "CPU " (cpu) span class="quiet" { " · " (grouped(all)) " samples" } }
            div class="grid" {
                ol class="names" {
                    li class="all" { "all symbols" }
                    @for (name, _) in shown() { li title=(name) { bdi { (name) } } }
                }
                canvas id={ "map-" (cpu) } tabindex="0" role="img"
                    aria-label={ "Samples of CPU " (cpu) " by time and symbol; the arrow keys go from cell to cell" } {}
                ol class="counts" {
                    li class="all" { (grouped(all)) }
                    @for (_, count) in shown() { li { (grouped(*count)) } }
                }
                div class="axis" {
                    @for place in 0..=TICKS { span { (format!("{:.*} {}", digits(time).min(3), tick(place), time.unit)) } }
                }
            }
        }
    }
}

/// The hottest functions, instruction by instruction.
pub fn listings(page: &Page) -> Markup {
    let listings = match &page.listings {
        Absent::Present(listings) if listings.is_empty() => {
            return absent("None of the hottest symbols is a function of the guest's file.");
        }
        Absent::Present(listings) => listings,
        Absent::Because(because) => return absent(because),
    };
    html! {
        p class="quiet" {
            "Samples by the instruction address that they hold. "
            "Percentages are of the function's samples."
        }
        @for (place, listing) in listings.iter().enumerate() { (one_listing(page, place, listing)) }
    }
}

fn one_listing(page: &Page, place: usize, listing: &Listing) -> Markup {
    let share = percent(listing.samples, page.samples);
    let hottest = listing.lines.iter().filter_map(|line| match line {
        ListingLine::Instruction(instruction) => Some(instruction.samples),
        _ => None,
    });
    let hottest = hottest.max().unwrap_or(0);
    html! {
        details class="code" id={ "code-" (place) } open[place < OPEN_LISTINGS] {
            summary {
                bdi { (listing.symbol) }
                span class="n" { (grouped(listing.samples)) " samples, " (format!("{share:.2} %")) }
            }
            div {
                p class="quiet" {
                    @if !listing.module.is_empty() { bdi { (listing.module) } ", " }
                    "address " code { (format!("{:x}", listing.start)) } ", " (grouped(listing.length)) " bytes"
                    @if listing.elsewhere > 0 { "; " (grouped(listing.elsewhere)) " samples are not in the lines below" }
                    "."
                }
                @if !listing.sources.is_empty() {
                    table {
                        thead { tr { th scope="col" { "hottest source lines" } th scope="col" class="n" { "samples" } th scope="col" class="n" { "percent" } } }
                        tbody {
                            @for (source, samples) in &listing.sources {
                                @let share = percent(*samples, listing.samples);
                                tr {
                                    td { bdi { (source) } }
                                    td class="n" { (grouped(*samples)) }
                                    td class="n share" style={ "--p:" (format!("{share:.1}")) "%" } { (format!("{share:.1}")) }
                                }
                            }
                        }
                    }
                }
                @if listing.lines.is_empty() {
                    (absent("The guest's file has no bytes for this address."))
                } @else {
                    div class="scroll" {
                        table class="text" {
                            thead { tr { th scope="col" class="n" { "samples" } th scope="col" class="n" { "percent" } th scope="col" { "address" } th scope="col" { "bytes" } th scope="col" { "instruction" } th scope="col" { "target" } } }
                            tbody { @for line in &listing.lines { (listing_line(line, listing.samples, hottest)) } }
                        }
                    }
                }
            }
        }
    }
}

fn listing_line(line: &ListingLine, all: u64, hottest: u64) -> Markup {
    match line {
        ListingLine::Source(source) => html! {
            tr class="line" { td {} td {} td colspan="4" { (source) } }
        },
        ListingLine::Gap {
            instructions,
            samples,
        } => html! {
            tr class="gap" {
                td class="n" { @if *samples > 0 { (grouped(*samples)) } }
                td {}
                td colspan="4" { "⋮ " (grouped(*instructions as u64)) @if *instructions == 1 { " instruction" } @else { " instructions" } }
            }
        },
        ListingLine::Instruction(instruction) => instruction_line(instruction, all, hottest),
    }
}

fn instruction_line(instruction: &Instruction, all: u64, hottest: u64) -> Markup {
    let share = percent(instruction.samples, all);
    html! {
        tr class=[(instruction.samples > 0 && instruction.samples == hottest).then_some("hottest")] {
            @if instruction.samples > 0 {
                td class="n" { (grouped(instruction.samples)) }
                td class="n share" style={ "--p:" (format!("{share:.1}")) "%" } { (format!("{share:.2}")) }
            } @else {
                td {} td {}
            }
            td { (format!("{:x}", instruction.address)) }
            td class="bytes" { (instruction.bytes) }
            td { (instruction.text) }
            td { @if let Some(target) = &instruction.target { "→ " (target) } }
        }
    }
}
