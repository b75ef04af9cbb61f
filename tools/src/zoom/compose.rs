//! The folder of a window: its finer samples, in the form of a run's.
//!
//! So everything that shows samples shows these. Names and the guest's console are those of the repeated run, which
//! lies in a folder below. Its counters do not: they are those of the whole run.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use cpumf::sampling::block::{BasicEntry, ENTRIES, SampleDataBlock, Trailer};
use link::window::{self, ENTRY, WindowHead};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::folder::{
    self, CONSOLE, EVENTS, MAPPED, OBJECTS, SYMBOLS, counts_name,
    record::{RunRecord, WindowRecord},
    sdb_name, window_name,
};

/// F and T of a trailer: the block is full, and its timestamp has the format of STORE CLOCK EXTENDED.
const FULL_WITH_TIME: u8 = 0xA0;

/// Writes the folder; returns its record of the window.
///
/// # Errors
/// The repeated run is damaged, or something cannot be written.
pub fn compose(
    out: &Path,
    repeated: &Path,
    interval: u64,
    traces: &[String],
    mut shown: WindowRecord,
) -> Result<WindowRecord> {
    let mut record = RunRecord::read(repeated)?;
    for totals in &mut record.totals {
        let path = repeated.join(window_name(totals.cpu));
        let payloads = folder::read(&path).unwrap_or_default();
        let (blocks, taken, missed) = blocks(&payloads)
            .with_context(|| format!("{} is damaged; look at the run again", path.display()))?;
        write(out, &sdb_name(totals.cpu), blocks.as_bytes())?;
        totals.samples_taken = taken;
        totals.samples_lost = 0;
        shown.missed += missed;
    }
    let events = (!traces.is_empty()).then_some(EVENTS);
    // A run with exact counts has those of the window.
    let counts = record.counts.iter().map(|counts| counts_name(counts.cpu));
    let mapped = repeated.join(MAPPED).exists().then_some(MAPPED);
    let others = [SYMBOLS, CONSOLE].into_iter().chain(mapped).chain(events);
    for name in others.map(str::to_owned).chain(counts) {
        let name = &name[..];
        let path = repeated.join(name);
        if path.exists() {
            // Events can be many.
            fs::copy(&path, out.join(name))
                .map(drop)
                .with_context(|| not_written(&out.join(name)))?;
        } else {
            write(out, name, &[])?;
        }
    }
    copy_objects(repeated, out)?;
    for traced in &mut record.tracing.traces {
        if let Some(line) = traces.get(usize::from(traced.trace)) {
            traced.what = line.trim_start_matches("PER ").to_owned();
        }
    }
    record.interval = interval;
    record.asked = None;
    record.parts.clear();
    record.nonce = None;
    record.window = Some(shown.clone());
    record
        .write(out)
        .with_context(|| format!("cannot write into {}", out.display()))?;
    Ok(shown)
}

/// The files that the processes mapped, which the lines in [`MAPPED`] number.
fn copy_objects(repeated: &Path, out: &Path) -> Result<()> {
    let Ok(objects) = fs::read_dir(repeated.join(OBJECTS)) else {
        return Ok(());
    };
    let own = out.join(OBJECTS);
    fs::create_dir(&own).with_context(|| not_written(&own))?;
    for object in objects {
        let object = object.with_context(|| format!("cannot read {}", repeated.display()))?;
        let copy = own.join(object.file_name());
        fs::copy(object.path(), &copy).with_context(|| not_written(&copy))?;
    }
    Ok(())
}

fn write(out: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = out.join(name);
    fs::write(&path, bytes).with_context(|| not_written(&path))
}

fn not_written(path: &Path) -> String {
    format!(
        "cannot write {}; free some space or choose another folder with --out",
        path.display()
    )
}

/// The samples of a CPU as blocks, how many there are, and how many were missed.
fn blocks(mut payloads: &[u8]) -> Result<(Vec<SampleDataBlock>, u64, u64)> {
    let (mut blocks, mut taken, mut missed) = (Vec::new(), 0, 0);
    while !payloads.is_empty() {
        let length = WindowHead::ref_from_prefix(payloads)
            .map(|(head, _)| size_of::<WindowHead>() + usize::from(head.count.get()) * ENTRY);
        let Some((payload, rest)) = length.ok().and_then(|at| payloads.split_at_checked(at)) else {
            bail!("it ends in the middle of some samples");
        };
        let Some((head, entries)) = window::parse(payload) else {
            bail!("it has samples that cannot be");
        };
        payloads = rest;
        taken += entries.len() as u64;
        missed = head.missed.get();
        blocks.push(block(head, entries));
    }
    Ok((blocks, taken, missed))
}

fn block(head: &WindowHead, entries: &[[u8; ENTRY]]) -> SampleDataBlock {
    let mut block = SampleDataBlock::new_zeroed();
    for (place, entry) in block.entries.iter_mut().zip(entries) {
        place.as_mut_bytes().copy_from_slice(entry);
    }
    // The first byte counts epochs.
    let clock = u128::from(head.tod.get()) << 56;
    block.trailer = Trailer {
        flags: if entries.len() == ENTRIES {
            FULL_WITH_TIME
        } else {
            0
        },
        bsdes: (size_of::<BasicEntry>() as u16).into(),
        timestamp: clock.to_be_bytes(),
        ..Trailer::new_zeroed()
    };
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(count: u16, tod: u64) -> Vec<u8> {
        let head = WindowHead {
            count: count.into(),
            tod: tod.into(),
            missed: 3.into(),
            ..WindowHead::default()
        };
        let mut payload = head.as_bytes().to_vec();
        for number in 0..count {
            let mut entry = [0; ENTRY];
            entry[1] = 1;
            entry[15] = number as u8;
            payload.extend(entry);
        }
        payload
    }

    #[test]
    fn samples_of_a_window_are_in_blocks_with_their_times() {
        let file = [payload(126, 77), payload(5, 88)].concat();
        let (blocks, taken, missed) = blocks(&file).unwrap();
        assert_eq!((blocks.len(), taken, missed), (2, 131, 3));
        assert_eq!(blocks[0].samples().count(), 126);
        assert!(blocks[0].trailer.full() && blocks[0].trailer.timestamp_extended());
        assert_eq!(
            blocks[0].trailer.timestamp[..9],
            [0, 0, 0, 0, 0, 0, 0, 0, 77]
        );
        assert_eq!(blocks[1].samples().count(), 5);
        assert!(!blocks[1].trailer.full());
        assert_eq!(blocks[1].entries[4].instruction_address.get(), 4);
    }

    #[test]
    fn a_file_that_was_cut_off_is_refused() {
        let file = [payload(126, 77), payload(5, 88)].concat();
        for length in [1, 23, 25, file.len() - 1] {
            assert!(blocks(&file[..length]).is_err(), "{length}");
        }
    }
}
