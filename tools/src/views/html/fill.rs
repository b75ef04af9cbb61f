//! From the files of a run to what the page shows.
//!
//! The samples are read twice and never kept. The first reading finds the hot symbols and the range of times. The
//! second counts these symbols by time, and those with a text by address. So the storage depends on the number of
//! symbols, not of samples.

use std::{cmp::Reverse, collections::BTreeMap};

use anyhow::Result;

use super::{
    bins::{Cells, Columns, MOST_MAPS, MOST_ROWS},
    code::Code,
    counted, facts,
    hottest::{self, Addresses, HOTTEST, Ranked},
    names::Lines,
    page::{Absent, Map, Page, Share, TimeLine, Warning},
};
use crate::{
    computer::{progress::Step, visible::visible},
    profile::{Profile, blocks::BlockCounts},
};

/// Addresses of one symbol that are counted one by one.
const MOST_ADDRESSES: usize = 1 << 16;

/// Samples between two reports of progress.
const PACE: u64 = 1 << 18;

/// The row for all symbols without a row of their own.
const OTHERS: &str = "(all other symbols)";

/// What the first reading of the samples found.
struct First<'n> {
    lines: Lines<'n>,
    shares: BTreeMap<u16, Share>,
    found: BlockCounts,
    /// Times of the first and the last sample.
    span: Option<(u64, u64)>,
}

/// The page of the run or the collection in this directory.
pub fn page(profile: &Profile, step: &mut Step) -> Result<Page> {
    let first = first(profile, step)?;
    let ranked = first.lines.ranked();
    let samples: u64 = first.shares.values().map(Share::samples).sum();
    // The guest's file, if it can be used.
    let file = hottest::guest_file(profile);
    let code = file
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|(data, guest, table)| {
            Code::parse(data, guest, table).map_err(|error| format!("{error:#}"))
        });
    let (time_line, addresses) = second(profile, first, &ranked, code.is_ok(), step)?;
    let (hot, listings) = hottest::symbols(&ranked, &addresses, profile, &code);
    let counted = counted::counted(profile)?;
    let mut page = Page {
        guest: visible(&profile.title),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        directory: visible(&profile.directory.display().to_string()),
        samples,
        without_samples: without_samples(profile),
        hot,
        time_line: time_line.time,
        listings,
        ..Page::default()
    };
    page.shares = shares(time_line.shares);
    page.figures = counted.figures;
    page.counters = counted.tables;
    facts::describe(&mut page, profile, &time_line.found);
    let doubts = counted.doubts.iter().map(|doubt| Warning {
        is_loss: false,
        text: visible(doubt),
    });
    page.warnings.extend(doubts);
    Ok(page)
}

fn first<'p>(profile: &'p Profile, step: &mut Step) -> Result<First<'p>> {
    let mut first = First {
        lines: Lines::new(&profile.names),
        shares: BTreeMap::new(),
        found: BlockCounts::default(),
        span: None,
    };
    let mut read = 0;
    for cpu in profile.cpus() {
        let mut samples = profile.samples_of(cpu);
        let mut share = Share {
            cpu: Some(cpu),
            ..Share::default()
        };
        for sample in &mut samples {
            let sample = sample?;
            let entry = &sample.entry;
            let state = match () {
                () if entry.limited() => &mut share.limited,
                () if entry.wait() => &mut share.wait,
                () if entry.problem_state() => &mut share.problem,
                () => &mut share.supervisor,
            };
            *state += 1;
            let place = first.lines.place(entry);
            first.lines.count(place);
            let (begin, end) = first.span.unwrap_or((sample.tod, sample.tod));
            first.span = Some((begin.min(sample.tod), end.max(sample.tod)));
            read += 1;
            if read % PACE == 0 {
                step.update(&format!("{read} samples counted"));
            }
        }
        let found = samples.found();
        // A run that was cut off has no totals, but its blocks have trailers.
        let totals = profile.record.iter().flat_map(|record| &record.totals);
        let lost = totals
            .filter(|totals| totals.cpu == cpu)
            .map(|totals| totals.samples_lost)
            .next();
        share.lost = lost.unwrap_or(found.overflow);
        first.found.blocks += found.blocks;
        first.found.malformed += found.malformed;
        first.found.overflow = first.found.overflow.saturating_add(found.overflow);
        first.found.invalid += found.invalid;
        first.found.samples += found.samples;
        first.shares.insert(cpu, share);
    }
    Ok(first)
}

/// What the second reading adds to the first.
struct Second {
    time: Absent<TimeLine>,
    shares: BTreeMap<u16, Share>,
    found: BlockCounts,
}

fn second(
    profile: &Profile,
    mut first: First<'_>,
    ranked: &[Ranked],
    has_code: bool,
    step: &mut Step,
) -> Result<(Second, Vec<Addresses>)> {
    let mut addresses = vec![Addresses::new(); ranked.len().min(HOTTEST)];
    let Some((begin, end)) = first.span else {
        let second = Second {
            time: Absent::Because(without_samples(profile)),
            shares: first.shares,
            found: first.found,
        };
        return Ok((second, addresses));
    };
    let has_others = ranked.len() > MOST_ROWS;
    let own = if has_others {
        MOST_ROWS - 1
    } else {
        ranked.len()
    };
    let mut ranks = vec![usize::MAX; first.lines.count_of_places()];
    for (rank, (place, ..)) in ranked.iter().enumerate() {
        ranks[place.0] = rank;
    }
    let mut busiest: Vec<&Share> = first
        .shares
        .values()
        .filter(|share| share.samples() > 0)
        .collect();
    busiest.sort_by_key(|share| Reverse(share.samples()));
    let left_out = busiest.len().saturating_sub(MOST_MAPS);
    busiest.truncate(MOST_MAPS);
    let mut cpus: Vec<u16> = busiest.iter().filter_map(|share| share.cpu).collect();
    cpus.sort_unstable();
    let columns = Columns::of(begin, end, first.found.samples);
    let rows = own + usize::from(has_others);
    let mut maps = Vec::new();
    let mut read = 0;
    for cpu in profile.cpus() {
        let mut cells = cpus
            .contains(&cpu)
            .then(|| Cells::new(rows, columns.count()));
        for sample in profile.samples_of(cpu) {
            let sample = sample?;
            let place = first.lines.place(&sample.entry);
            let rank = ranks.get(place.0).copied().unwrap_or(usize::MAX);
            if let Some(cells) = &mut cells {
                cells.count(rank.min(rows - 1), columns.column(sample.tod));
            }
            if has_code && let Some(addresses) = addresses.get_mut(rank) {
                let address = sample.entry.instruction_address.get();
                if addresses.len() < MOST_ADDRESSES || addresses.contains_key(&address) {
                    *addresses.entry(address).or_default() += 1;
                }
            }
            read += 1;
            if read % PACE == 0 {
                step.update(&format!("{read} samples placed"));
            }
        }
        maps.extend(cells.map(|cells| Map {
            cpu,
            cells: cells.into_cells(),
        }));
    }
    let mut names: Vec<String> = ranked[..own]
        .iter()
        .map(|(_, symbol, ..)| symbol.clone())
        .collect();
    if has_others {
        names.push(OTHERS.to_owned());
    }
    let time = time_line(profile, (begin, end), columns, names, maps, left_out);
    let second = Second {
        time: Absent::Present(time),
        shares: first.shares,
        found: first.found,
    };
    Ok((second, addresses))
}

/// The sentence in the place of samples.
fn without_samples(profile: &Profile) -> String {
    let collections = profile.record.iter().flat_map(|record| &record.collections);
    match collections.last() {
        Some(last) => format!(
            "No samples of the run itself. Those of HIS's collection runs have pages of their own: name one as {}.",
            visible(
                &profile
                    .directory
                    .join(last.trim_end_matches('.'))
                    .display()
                    .to_string()
            )
        ),
        None => "No samples were taken.".to_owned(),
    }
}

/// TOD units in a microsecond.
const UNITS: f64 = 4096.0;

fn time_line(
    profile: &Profile,
    (begin, end): (u64, u64),
    columns: Columns,
    rows: Vec<String>,
    cpus: Vec<Map>,
    left_out: usize,
) -> TimeLine {
    let start = profile.pace.start;
    let is_since_run = start != 0 && start <= begin;
    let origin = if is_since_run { start } else { begin };
    let microseconds = |tod: u64| (tod - origin) as f64 / UNITS;
    let (unit, size) = match (end - begin) as f64 / UNITS {
        span if span >= 2_000_000.0 => ("s", 1_000_000.0),
        span if span >= 2_000.0 => ("ms", 1_000.0),
        _ => ("µs", 1.0),
    };
    let mut notes = vec![format!(
        "Time of the guest's clock since {}. A sample has no time of its own: those of a block are spread evenly between the time of the block before it and its own.",
        if is_since_run {
            "the run began"
        } else {
            "the first sample"
        }
    )];
    notes.push(format!(
        "Each of the {} columns is {:.3} {unit} wide.",
        columns.count(),
        (end - begin) as f64 / UNITS / size / columns.count() as f64
    ));
    if left_out > 0 {
        notes.push(format!(
            "{left_out} more CPUs have samples; shown are the {MOST_MAPS} with the most."
        ));
    }
    TimeLine {
        columns: columns.count(),
        has_others: rows.last().is_some_and(|row| row == OTHERS),
        rows,
        cpus,
        span: (microseconds(begin) / size, microseconds(end) / size),
        unit: unit.to_owned(),
        notes,
    }
}

/// CPUs in ascending order, behind the sum of all if there are several.
fn shares(shares: BTreeMap<u16, Share>) -> Vec<Share> {
    let mut all = Share::default();
    shares.values().for_each(|share| all.add(share));
    let sum = (shares.len() > 1).then_some(all);
    // The page has a bounded number of rows; the sum includes all CPUs.
    sum.into_iter()
        .chain(shares.into_values().take(MOST_SHARES))
        .collect()
}

/// Most CPUs in the table of states.
const MOST_SHARES: usize = 256;

#[cfg(test)]
mod tests;
