//! The parts of the page that come from samples.

use maud::{Markup, html};

use super::{
    absent,
    name::{breakable, name},
    percent,
};
use crate::{
    numbers::grouped,
    views::html::page::{Absent, Hot, HotLine, Instruction, Listing, ListingLine, Page, Share},
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
                        tr data-cpu=(share.cpu.map_or("all".to_owned(), |cpu| cpu.to_string())) {
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
    let columns = Columns {
        modules: lines.iter().any(|line| !line.module.is_empty()),
        inclusive: lines.iter().any(|line| line.inclusive.is_some()),
        before: page.before.as_ref().map(|before| before.samples),
        sources: lines.iter().any(|line| line.source.is_some()),
    };
    html! {
        div class="scroll" tabindex="0" role="region" aria-label="Symbols" {
            table id="hot" class="sortable" {
                (hot_head(&columns))
                tbody {
                    @for (place, line) in lines.iter().enumerate() {
                        (hot_line(page, place, line, &columns))
                    }
                }
            }
        }
        p class="quiet" id="hot-more" {
            @if *more > 0 {
                "And " (grouped(*more as u64)) " more with " (grouped(*more_samples)) " samples ("
                (format!("{:.2}", percent(*more_samples, page.samples))) " percent)."
            }
        }
        @if let Some(because) = without_source {
            p class="quiet" { "No source lines: " (breakable(because)) "." }
        }
    }
}

/// The columns of the table that not every page has.
struct Columns {
    modules: bool,
    inclusive: bool,
    /// Samples of the run before.
    before: Option<u64>,
    sources: bool,
}

fn hot_head(columns: &Columns) -> Markup {
    html! {
        thead {
            tr {
                th scope="col" class="n" { button type="button" { "#" } }
                th scope="col" { button type="button" { "symbol" } }
                @if columns.modules { th scope="col" { button type="button" { "module" } } }
                @if columns.inclusive {
                    th scope="col" class="n" { button type="button" { "inclusive" } }
                    th scope="col" class="n" { button type="button" { "percent" } }
                    th scope="col" class="n" aria-sort="descending" { button type="button" { "exclusive" } }
                } @else {
                    th scope="col" class="n" aria-sort="descending" { button type="button" { "samples" } }
                }
                th scope="col" class="n" { button type="button" { "percent" } }
                @if columns.before.is_some() {
                    th scope="col" class="n" { button type="button" { "before" } }
                    th scope="col" class="n" { button type="button" { "percent" } }
                    th scope="col" class="n" { button type="button" { "change" } }
                }
                @if columns.sources { th scope="col" { button type="button" { "hottest source line" } } }
            }
        }
    }
}

fn hot_line(page: &Page, place: usize, line: &HotLine, columns: &Columns) -> Markup {
    let share = percent(line.samples, page.samples);
    html! {
        tr {
            td class="n place" data-v=(place + 1) { (place + 1) }
            td class="symbol" {
                @match line.listing {
                    Some(listing) => a href={ "#code-" (listing) } { (name(&line.symbol)) },
                    None => (name(&line.symbol)),
                }
            }
            @if columns.modules { td class="module" { (name(&line.module)) } }
            @if columns.inclusive {
                @let inclusive = line.inclusive.unwrap_or(line.samples);
                @let share = percent(inclusive, page.samples);
                td class="n inclusive" data-v=(inclusive) { (grouped(inclusive)) }
                td class="n inclusive-share" data-v=(format!("{share:.6}")) { (format!("{share:.2}")) }
            }
            td class="n samples" data-v=(line.samples) { (grouped(line.samples)) }
            td class="n share" data-v=(format!("{share:.6}")) style={ "--p:" (format!("{share:.2}")) "%" } { (format!("{share:.2}")) }
            @if let Some(all) = columns.before {
                @let before = line.before.unwrap_or(0);
                @let was = percent(before, all);
                @let change = share - was;
                td class="n before" data-v=(before) { (grouped(before)) }
                td class="n before-share" data-v=(format!("{was:.6}")) { (format!("{was:.2}")) }
                td class={ "n change " (if change > 0.0 { "more" } else { "less" }) } data-v=(format!("{:.6}", change.abs())) { (format!("{change:+.2}")) }
            }
            @if columns.sources {
                td class="source" {
                    @if let Some((source, samples)) = &line.source {
                        (name(source))
                        span class="quiet" { " " (format!("{:.0} %", percent(*samples, line.samples))) }
                    }
                }
            }
        }
    }
}

/// The place of the time line, which the script draws.
pub fn time_line(page: &Page) -> Markup {
    match &page.time_line {
        Absent::Present(time) => html! {
            div id="timeline" {}
            @for note in &time.notes { p class="quiet" { (note) } }
        },
        Absent::Because(because) => absent(because),
    }
}

/// The place of the flame graph, which the script draws.
pub fn flame_graph(page: &Page) -> Markup {
    match &page.time_line {
        Absent::Present(time) => html! {
            div id="flames" {}
            @if !time.has_callers {
                p class="quiet" { "The run did not follow call stacks (" code { "--stacks" } "), so no routine has callers here." }
            }
        },
        Absent::Because(because) => absent(because),
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
        @for (place, listing) in listings.iter().enumerate() {
            (one_listing(page, place, listing, listings[..place].iter().map(Listing::numbers).sum()))
        }
    }
}

/// `first` is the number of its first line, counted through all listings.
fn one_listing(page: &Page, place: usize, listing: &Listing, first: usize) -> Markup {
    let share = percent(listing.samples, page.samples);
    let hottest = listing.lines.iter().filter_map(|line| match line {
        ListingLine::Instruction(instruction) => Some(instruction.samples),
        _ => None,
    });
    let hottest = hottest.max().unwrap_or(0);
    let in_gaps = listing.lines.iter().map(|line| match line {
        ListingLine::Gap { samples, .. } => *samples,
        _ => 0,
    });
    let elsewhere = listing.elsewhere.saturating_sub(in_gaps.sum());
    html! {
        details class="code" id={ "code-" (place) } data-module=(listing.module) open[place < OPEN_LISTINGS] {
            summary {
                (name(&listing.symbol))
                span class="n totals" { (grouped(listing.samples)) " samples, " (format!("{share:.2} %")) }
            }
            div {
                p class="quiet" {
                    @if !listing.module.is_empty() { (name(&listing.module)) ", " }
                    "address " code { (format!("{:x}", listing.start)) } ", " (grouped(listing.length)) " bytes"
                    @if elsewhere > 0 { "; " span data-i=(first + listing.lines.len()) { (grouped(elsewhere)) } " samples are at no line below" }
                    "."
                }
                @if !listing.sources.is_empty() {
                    table class="sources" {
                        thead { tr { th scope="col" { "hottest source lines" } th scope="col" class="n" { "samples" } th scope="col" class="n" { "percent" } } }
                        tbody {
                            @for (place, (source, samples)) in listing.sources.iter().enumerate() {
                                @let share = percent(*samples, listing.samples);
                                tr data-i=(first + listing.lines.len() + 1 + place) {
                                    td { (name(source)) }
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
                    div class="scroll" tabindex="0" role="region" aria-label={ "Instructions of " (listing.symbol) } {
                        table class="text" {
                            thead { tr { th scope="col" class="n" { "samples" } th scope="col" class="n" { "percent" } th scope="col" { "address" } th scope="col" { "bytes" } th scope="col" { "instruction" } th scope="col" { "target" } } }
                            tbody { @for (place, line) in listing.lines.iter().enumerate() { (listing_line(line, first + place, listing.samples, hottest)) } }
                        }
                    }
                }
            }
        }
    }
}

fn listing_line(line: &ListingLine, number: usize, all: u64, hottest: u64) -> Markup {
    match line {
        ListingLine::Source { place, text } => html! {
            tr class="line" {
                td {}
                td {}
                td colspan="4" {
                    (place)
                    @if let Some(text) = text { span class="source-text" { (text) } }
                }
            }
        },
        ListingLine::Gap {
            instructions,
            samples,
        } => html! {
            tr class="gap" data-i=(number) {
                td class="n" { @if *samples > 0 { (grouped(*samples)) } }
                td {}
                td colspan="4" { "⋮ " (grouped(*instructions as u64)) @if *instructions == 1 { " instruction" } @else { " instructions" } }
            }
        },
        ListingLine::Instruction(instruction) => {
            instruction_line(instruction, number, all, hottest)
        }
    }
}

fn instruction_line(instruction: &Instruction, number: usize, all: u64, hottest: u64) -> Markup {
    let share = percent(instruction.samples, all);
    html! {
        tr data-i=(number) class=[(instruction.samples > 0 && instruction.samples == hottest).then_some("hottest")] {
            @if instruction.samples > 0 {
                td class="n" { (grouped(instruction.samples)) }
                td class="n share" style={ "--p:" (format!("{share:.1}")) "%" } { (format!("{share:.2}")) }
            } @else {
                td class="n" {} td class="n share" {}
            }
            td { (format!("{:x}", instruction.address)) }
            td class="bytes" { (instruction.bytes) }
            td { (instruction.text) }
            td { @if let Some(target) = &instruction.target { "→ " (target) } }
        }
    }
}
