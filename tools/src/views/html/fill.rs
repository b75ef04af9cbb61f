//! From the files of a run to what the page shows.
//!
//! The samples are read twice and never kept. The first reading finds the hot symbols and the range of times. The
//! second counts them by time and call stack, and those with a text by address. So the storage depends on the number
//! of symbols and stacks, not of samples. A run to compare with is read in the same way.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use anyhow::Result;

use super::{
    bins::{Columns, MOST_LANES},
    cells::{Gathering, Routine},
    code::Code,
    compare, counted, exact, facts,
    hottest::{self, Addresses, HOTTEST, LISTED, Ranked},
    names::Lines,
    page::{Absent, CountedPaths, Listing, Page, Share, State, TimeLine, Warning},
};
use crate::{
    computer::{progress::Step, visible::visible},
    costs::paths::Paths,
    formats::counters::in_supervisor_state,
    profile::{Profile, Sample, blocks::BlockCounts},
    symbols::names::{Frame, Line, Names},
};

/// Addresses of one symbol that are counted one by one.
const MOST_ADDRESSES: usize = 1 << 16;

/// Samples between two reports of progress.
const PACE: u64 = 1 << 18;

/// What the first reading of the samples found.
struct First<'n> {
    lines: Lines<'n>,
    shares: BTreeMap<u16, Share>,
    found: BlockCounts,
    /// Times of the first and the last sample.
    span: Option<(u64, u64)>,
}

impl First<'_> {
    fn samples(&self) -> u64 {
        self.shares.values().map(Share::samples).sum()
    }

    /// The time at which a time line of this run begins.
    fn origin(&self, profile: &Profile) -> u64 {
        let start = profile.pace.start;
        let begin = self.span.map_or(0, |(begin, _)| begin);
        if start != 0 && start <= begin {
            start
        } else {
            begin
        }
    }

    /// Times of the first and the last sample since the origin.
    fn since_origin(&self, profile: &Profile) -> Option<(u64, u64)> {
        let origin = self.origin(profile);
        self.span.map(|(begin, end)| (begin - origin, end - origin))
    }
}

/// The paths of the guest, if it is a machine and they were counted.
fn paths(profile: &Profile) -> Option<CountedPaths> {
    let paths = Paths::new(&profile.record.as_ref()?.paths);
    (!paths.is_empty()).then(|| CountedPaths {
        paths,
        executed: in_supervisor_state(&profile.counters),
    })
}

/// The page of the run or the collection in this directory, compared with the one before if there is one.
pub fn page(profile: &Profile, before: Option<&Profile>, step: &mut Step) -> Result<Page> {
    let mut first = first_reading(profile, step)?;
    let mut first_before = match before {
        Some(before) => Some((before, first_reading(before, step)?)),
        None => None,
    };
    let ranked = first.lines.ranked();
    // The guest's file, if it can be used.
    let file = hottest::guest_file(profile);
    let code = file
        .as_ref()
        .map_err(Clone::clone)
        .and_then(|(data, guest, table)| {
            let code = Code::parse(data, guest, table).map_err(|error| format!("{error:#}"))?;
            Ok(match &profile.record {
                Some(record) => code.with_sources(&record.guest_file),
                None => code,
            })
        });
    let spans = [
        first.since_origin(profile),
        first_before
            .as_ref()
            .and_then(|(before, first)| first.since_origin(before)),
    ];
    let span = spans
        .into_iter()
        .flatten()
        .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
    let mut addresses = vec![Addresses::new(); ranked.len().min(HOTTEST)];
    let mut second = Second::new(span, first.found.samples);
    if let Some((before, first)) = &mut first_before {
        second.read(before, first, true, None, step)?;
    }
    let kept = code
        .is_ok()
        .then(|| (ranks(&ranked, &first), &mut addresses));
    second.read(profile, &mut first, false, kept, step)?;
    let (mut hot, listings) = hottest::symbols(&ranked, &addresses, profile, &code);
    for line in &mut hot.lines {
        let routine = (line.symbol.clone(), line.module.clone());
        line.inclusive = second.inclusive.get(&routine).copied();
    }
    if let Some((_, first)) = &first_before {
        compare::add_before(&mut hot, first.lines.ranked());
    }
    let counted = counted::counted(profile)?;
    let mut page = Page {
        guest: visible(&profile.title),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        directory: visible(&profile.directory.display().to_string()),
        samples: first.samples(),
        before: first_before
            .as_ref()
            .map(|(before, first)| compare::before(before, first.samples())),
        without_samples: without_samples(profile),
        hot,
        time_line: match first.span {
            Some(_) => Absent::Present(second.time_line(profile, &first, &listings)),
            None => Absent::Because(without_samples(profile)),
        },
        listings,
        ..Page::default()
    };
    page.shares = shares(first.shares);
    page.figures = counted.figures;
    page.counters = counted.tables;
    page.paths = paths(profile);
    facts::describe(&mut page, profile, &first.found);
    let mut doubts = counted.doubts;
    match exact::exact(profile) {
        Ok(exact) => page.exact = exact,
        Err(doubt) => doubts.push(format!("{doubt}.")),
    }
    if let Some((before, first)) = &first_before {
        doubts.extend(compare::doubts(profile, before, &first.found));
    }
    let doubts = doubts.iter().map(|doubt| Warning {
        is_loss: false,
        text: visible(doubt),
    });
    page.warnings.extend(doubts);
    Ok(page)
}

/// The rank of each place.
fn ranks(ranked: &[Ranked], first: &First<'_>) -> Vec<usize> {
    let mut ranks = vec![usize::MAX; first.lines.count_of_places()];
    for (rank, (place, ..)) in ranked.iter().enumerate() {
        ranks[place.0] = rank;
    }
    ranks
}

fn first_reading<'p>(profile: &'p Profile, step: &mut Step) -> Result<First<'p>> {
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
            *share.of_mut(State::of(entry)) += 1;
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
        // A run that was cut off has no totals, but its blocks have trailers. Neither counts more than was lost.
        let totals = profile.record.iter().flat_map(|record| &record.totals);
        let lost = totals
            .filter(|totals| totals.cpu == cpu)
            .map(|totals| totals.samples_lost)
            .next();
        share.lost = lost.unwrap_or(0).max(found.overflow);
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
    gathering: Gathering,
    columns: Columns,
    span: (u64, u64),
    /// Samples in a routine or in what it had called, by symbol and module; only with call stacks.
    inclusive: HashMap<Routine, u64>,
    has_callers: bool,
    /// CPUs without a row of their own.
    left_out: usize,
}

impl Second {
    fn new(span: Option<(u64, u64)>, samples: u64) -> Self {
        let span = span.unwrap_or_default();
        Self {
            gathering: Gathering::default(),
            columns: Columns::of(span.0, span.1, samples),
            span,
            inclusive: HashMap::new(),
            has_callers: false,
            left_out: 0,
        }
    }

    /// Counts the samples of a run. `kept` are the ranks of places, and the addresses to count by rank.
    fn read(
        &mut self,
        profile: &Profile,
        first: &mut First<'_>,
        is_before: bool,
        mut kept: Option<(Vec<usize>, &mut Vec<Addresses>)>,
        step: &mut Step,
    ) -> Result<()> {
        let origin = first.origin(profile);
        let busiest = busiest(&first.shares);
        let all = first.shares.values().filter(|share| share.samples() > 0);
        self.left_out += all.count() - busiest.len();
        let mut callers = profile.callers()?;
        self.has_callers |= callers.are_known();
        // Most samples have a stack that was there before.
        let mut known: HashMap<(usize, Vec<Frame>, u64), usize> = HashMap::new();
        // The routines of each stack, each once.
        let mut routines: HashMap<usize, (Vec<Routine>, u64)> = HashMap::new();
        let mut read = 0;
        for sample in profile.samples() {
            let sample = sample?;
            let entry = &sample.entry;
            let place = first.lines.place(entry);
            let returns = callers.of(&sample)?;
            let owner = match &profile.names {
                Names::Linux(_) => entry.guest_program_parameter.get(),
                Names::Routines(_) | Names::Map(_) => 0,
            };
            let key = (place.0, returns, owner);
            let stack = match known.get(&key) {
                Some(stack) => *stack,
                None => {
                    let lines = profile.names.stack(entry, &key.1);
                    let program = self.gathering.program(&program(profile, &sample, &lines));
                    let path = lines.iter().rev();
                    let path = path
                        .map(|line| self.gathering.routine(&line.symbol, &line.module))
                        .collect();
                    let stack = self.gathering.stack(program, path);
                    if callers.are_known() && !is_before {
                        routines
                            .entry(stack)
                            .or_insert_with(|| (distinct(&lines), 0));
                    }
                    if known.len() < MOST_KNOWN {
                        known.insert(key, stack);
                    }
                    stack
                }
            };
            if let Some((_, samples)) = routines.get_mut(&stack) {
                *samples += 1;
            }
            let cpu = busiest.contains(&sample.cpu).then_some(sample.cpu);
            let lane = self.gathering.lane((is_before, cpu));
            let column = self.columns.column(sample.tod - origin);
            self.gathering
                .count(lane, stack, State::of(entry) as usize, column);
            if let Some((ranks, addresses)) = &mut kept {
                let rank = ranks.get(place.0).copied().unwrap_or(usize::MAX);
                if let Some(addresses) = addresses.get_mut(rank) {
                    let address = entry.instruction_address.get();
                    if addresses.len() < MOST_ADDRESSES || addresses.contains_key(&address) {
                        *addresses.entry(address).or_default() += 1;
                        // A waiting CPU is at no instruction.
                        if rank < LISTED && !entry.wait() && !entry.limited() {
                            self.gathering.count_instruction(lane, address, column);
                        }
                    }
                }
            }
            read += 1;
            if read % PACE == 0 {
                step.update(&format!("{read} samples placed"));
            }
        }
        for (routines, samples) in routines.into_values() {
            for routine in routines {
                *self.inclusive.entry(routine).or_default() += samples;
            }
        }
        Ok(())
    }

    fn time_line(
        self,
        profile: &Profile,
        first: &First<'_>,
        listings: &Absent<Vec<Listing>>,
    ) -> TimeLine {
        let is_since_run = first.origin(profile) == profile.pace.start;
        let listings = match listings {
            Absent::Present(listings) => &listings[..],
            Absent::Because(_) => &[],
        };
        let cells = self
            .gathering
            .cells(|address| Listing::numbers_of(listings, address));
        let (begin, end) = self.span;
        let (unit, size) = match (end - begin) as f64 / UNITS {
            span if span >= 2_000_000.0 => ("s", 1_000_000.0),
            span if span >= 2_000.0 => ("ms", 1_000.0),
            _ => ("µs", 1.0),
        };
        let columns = self.columns.count().div_ceil(cells.merged);
        let width =
            ((end - begin) as f64 + 1.0) / self.columns.count() as f64 * cells.merged as f64;
        let scaled = |units: f64| units / UNITS / size;
        let mut notes = vec![
            format!(
                "Time of the guest's clock since {}. A sample has no time of its own: those of a block are spread evenly between the time of the block before it and its own.",
                if is_since_run {
                    "the run began"
                } else {
                    "the first sample"
                }
            ),
            format!(
                "Each of the {columns} columns is {:.3} {unit} wide.",
                scaled(width)
            ),
        ];
        if self.left_out > 0 {
            notes.push(format!(
                "{} more CPUs have samples; they share one row below the {MOST_LANES} with the most.",
                self.left_out
            ));
        }
        if cells.shortened > 0 {
            notes.push(format!(
                "{} samples have call stacks that are too rare to be shown: of these only the innermost routine is known.",
                cells.shortened
            ));
        }
        TimeLine {
            columns,
            span: (
                scaled(begin as f64),
                scaled(begin as f64 + width * columns as f64),
            ),
            unit: unit.to_owned(),
            notes,
            has_callers: self.has_callers,
            programs: cells.programs,
            routines: cells.routines,
            stacks: cells.stacks,
            lanes: cells.lanes,
        }
    }
}

/// Most data entries whose stack is kept.
const MOST_KNOWN: usize = 1 << 18;

/// TOD units in a microsecond.
const UNITS: f64 = 4096.0;

/// The program of a sample: in Linux the process, and elsewhere the module of the routine.
fn program(profile: &Profile, sample: &Sample, lines: &[Line<'_>]) -> String {
    let Some(line) = lines.first() else {
        return String::new();
    };
    // Wait state, and samples that may not say more.
    if line.module.is_empty() {
        return line.symbol.to_string();
    }
    match &profile.names {
        Names::Linux(names) => {
            let parameter = sample.entry.guest_program_parameter.get();
            names.owner(parameter).1.into_owned()
        }
        Names::Routines(_) | Names::Map(_) => line.module.to_string(),
    }
}

/// The routines of a stack, each once, as the page names them.
fn distinct(lines: &[Line<'_>]) -> Vec<Routine> {
    let mut routines: Vec<Routine> = lines
        .iter()
        .map(|line| (visible(&line.symbol), visible(&line.module)))
        .collect();
    routines.sort_unstable();
    routines.dedup();
    routines
}

/// The CPUs that have a row of their own.
fn busiest(shares: &BTreeMap<u16, Share>) -> Vec<u16> {
    let mut busiest: Vec<&Share> = shares
        .values()
        .filter(|share| share.samples() > 0)
        .collect();
    busiest.sort_by_key(|share| Reverse(share.samples()));
    busiest.truncate(MOST_LANES);
    busiest.iter().filter_map(|share| share.cpu).collect()
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
