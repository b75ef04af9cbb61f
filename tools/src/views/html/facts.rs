//! The facts of a run: how it ended, what it lost, and why its results may be in doubt.

use super::page::{Fact, Page, Warning};
use crate::{
    computer::visible::visible,
    folder::record::RunRecord,
    numbers::{grouped, quantities::Storage, sum},
    options::exact_caches,
    profile::{Pace, Profile, blocks::BlockCounts},
};

/// Most warnings of each kind; a file that is damaged everywhere could give any number of them.
const MOST_WARNINGS: usize = 50;

/// Adds all of that to the page.
pub fn describe(page: &mut Page, profile: &Profile, found: &BlockCounts) {
    let mut warnings = Warnings::default();
    if let Some(record) = &profile.record {
        page.end = visible(&capitalized(&record.end.sentence()));
        page.is_success = record.end.exit_code() == 0;
        add_run(&mut warnings, record, found);
        warnings.add_arrival(record, found);
        if record.totals.is_empty() {
            warnings.add_incomplete();
        }
    } else {
        page.end = "A collection (its files do not say how it ended)".to_owned();
        page.is_success = true;
        warnings.found_no_room(found.overflow);
    }
    warnings.add_blocks(found);
    for doubt in &profile.doubts {
        warnings.doubt(doubt);
    }
    page.warnings = warnings.list();
    page.facts = facts(profile, found);
}

/// What was lost, and why the results may be in doubt.
#[derive(Default)]
pub(crate) struct Warnings {
    losses: Vec<String>,
    doubts: Vec<String>,
}

impl Warnings {
    /// Adds a loss of `number` things, in the words for one and for several.
    fn loss(&mut self, number: u64, one: &str, several: &str) {
        match number {
            0 => {}
            1 => self.losses.push(format!("1 {one}.")),
            number => self.losses.push(format!("{} {several}.", grouped(number))),
        }
    }

    /// Adds samples that found no room.
    pub(crate) fn found_no_room(&mut self, number: u64) {
        self.loss(number, "sample found no room", "samples found no room");
    }

    /// Adds what is wrong in blocks.
    pub(crate) fn add_blocks(&mut self, found: &BlockCounts) {
        self.loss(
            found.malformed,
            "sample-data block is damaged or cut off",
            "sample-data blocks are damaged or cut off",
        );
        self.loss(
            found.invalid,
            "sample is marked invalid",
            "samples are marked invalid",
        );
    }

    /// Adds a doubt if not all samples arrived that the machine stored. All must have been read.
    pub(crate) fn add_arrival(&mut self, record: &RunRecord, found: &BlockCounts) {
        let stored = sum(record.totals.iter().map(|totals| totals.samples_taken));
        let arrived = found.samples + found.invalid;
        // The samples of a collection run are in its own files.
        let are_his = record.interval == 0 && !record.collections.is_empty();
        if !record.totals.is_empty() && stored != arrived && !are_his {
            self.doubt(&format!(
                "the machine stored {} samples, and {} arrived",
                grouped(stored),
                grouped(arrived)
            ));
        }
    }

    /// Adds a doubt for a run without the machine's counts from its end.
    pub(crate) fn add_incomplete(&mut self) {
        self.doubt("the run did not come to its end, so the machine's own counts are missing");
    }

    /// Adds a doubt, a sentence without its full stop.
    pub(crate) fn doubt(&mut self, text: &str) {
        self.doubts.push(format!("{}.", capitalized(text)));
    }

    /// Losses first.
    pub(crate) fn list(self) -> Vec<Warning> {
        let of_kind = |is_loss: bool, texts: Vec<String>| {
            let texts = texts.into_iter().take(MOST_WARNINGS);
            texts.map(move |text| Warning {
                is_loss,
                text: visible(&text),
            })
        };
        of_kind(true, self.losses)
            .chain(of_kind(false, self.doubts))
            .collect()
    }
}

/// Adds the losses of a record, and what in it contradicts what arrived.
pub(crate) fn add_run(warnings: &mut Warnings, record: &RunRecord, found: &BlockCounts) {
    // A run that was cut off has no totals, but its blocks have trailers. Neither counts more than was lost.
    let lost = sum(record.totals.iter().map(|totals| totals.samples_lost));
    warnings.found_no_room(lost.max(found.overflow));
    let link = &record.link;
    warnings.loss(
        link.blocks_missing,
        "sample-data block did not arrive",
        "sample-data blocks did not arrive",
    );
    warnings.loss(
        link.blocks_repeated,
        "sample-data block arrived again and was dropped",
        "sample-data blocks arrived again and were dropped",
    );
    warnings.loss(
        link.not_kept.frames,
        "frame of data was not kept, because the limit was reached",
        "frames of data were not kept, because the limit was reached",
    );
    warnings.loss(
        link.not_kept.console_bytes,
        "byte of the guest's console was not kept, because the limit was reached",
        "bytes of the guest's console were not kept, because the limit was reached",
    );
    warnings.loss(
        record.tracing.lost_in_machine,
        "traced event found no room in the machine",
        "traced events found no room in the machine",
    );
    warnings.loss(
        record.tracing.lost_on_link,
        "traced event was lost on the link",
        "traced events were lost on the link",
    );
    warnings.loss(
        link.bad_frames,
        "frame of the link did not check and was dropped",
        "frames of the link did not check and were dropped",
    );
    warnings.loss(
        link.bad_payloads,
        "frame of the link means nothing to this tool",
        "frames of the link mean nothing to this tool",
    );
    for sentence in record.loops() {
        warnings.doubt(&sentence);
    }
    if record.mode_found() != record.mode {
        warnings.doubt(&format!(
            "the run was to be in {} mode, and the machine found its clock to be {}",
            record.mode,
            record.mode_found()
        ));
    }
}

fn facts(profile: &Profile, found: &BlockCounts) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut fact = |name: &'static str, value: String| {
        if !value.is_empty() {
            let value = visible(&value);
            facts.push(Fact { name, value });
        }
    };
    let model = profile.model();
    fact("guest", profile.title.clone());
    fact(
        "machine type",
        match &profile.machine_type[..] {
            "" => String::new(),
            machine => format!("{machine} ({})", model.name),
        },
    );
    fact(
        "sampling interval",
        match &profile.intervals()[..] {
            [] if profile.record.is_some() => "no sampling".to_owned(),
            intervals => {
                let each = intervals.iter().map(|interval| {
                    let pace = Pace {
                        interval: *interval,
                        ..profile.pace
                    };
                    match pace.nanoseconds() {
                        0 => format!("{} cycles", grouped(*interval)),
                        time => format!(
                            "{} cycles ({} µs)",
                            grouped(*interval),
                            time as f64 / 1000.0
                        ),
                    }
                });
                each.collect::<Vec<_>>().join(", then ")
            }
        },
    );
    fact(
        "CPU speed",
        match profile.pace.speed {
            0 => String::new(),
            speed => format!("{speed} cycles/µs"),
        },
    );
    fact(
        "samples",
        format!(
            "{} in {} blocks",
            grouped(found.samples),
            grouped(found.blocks)
        ),
    );
    let Some(record) = &profile.record else {
        fact("CPUs", profile.cpus().len().to_string());
        return facts;
    };
    fact("mode", record.mode_found().to_owned());
    fact("CPUs", record.cpus.to_string());
    fact("storage", Storage(record.storage).to_string());
    fact("what it found", record.configuration.join(", "));
    if let Some(geometry) = &record.exact_caches {
        fact("cache counters", exact_caches::sentence(geometry));
    }
    fact("guest's file", record.guest_file.display().to_string());
    if let Some(started) = &record.started {
        fact(
            "versions",
            format!("CFVN {}, CSVN {}", started.cfvn, started.csvn),
        );
    }
    fact("collections of HIS", record.collections.join(", "));
    fact("clock from", record.rtc.clone());
    fact(
        "loaded",
        if record.loads > 1 {
            format!("{} times", record.loads)
        } else {
            String::new()
        },
    );
    let totals = || record.totals.iter();
    if record
        .totals
        .iter()
        .any(|totals| totals.guest_instructions > 0)
    {
        let guest = sum(totals().map(|totals| totals.guest_instructions));
        let machine = sum(totals().map(|totals| totals.firmware_instructions));
        fact("guest's instructions", grouped(guest));
        fact(
            "machine's own",
            format!(
                "{} instructions, {} interruptions",
                grouped(machine),
                grouped(sum(totals().map(|totals| totals.traps)))
            ),
        );
    }
    fact("QEMU", record.qemu.clone());
    fact("written by", format!("measure {}", record.version));
    facts
}

fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
