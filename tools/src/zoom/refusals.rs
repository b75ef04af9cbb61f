//! What cannot be looked at again, and what helps.

use std::path::Path;

use anyhow::{Result, bail};
use link::state::Mode;

use crate::folder::record::{Asked, End, RunRecord};

/// Words of a command line by which the outside takes part in a run. Nothing of it is recorded.
const OUTSIDE: [(&str, &str); 3] = [
    ("--disk", "a disk"),
    ("--net", "a network"),
    ("--qemu-arg", "a device of QEMU"),
];

/// The command line of a run that can be repeated.
///
/// # Errors
/// It cannot be.
pub fn check(record: &RunRecord, directory: &Path) -> Result<Asked> {
    let place = directory.display();
    if let Some(window) = &record.window {
        bail!(
            "{place} is a window of another run; look at that one again: {}",
            window.of.display()
        );
    }
    if record.mode == Mode::RealTime.name() {
        bail!(
            "the run in {place} was in real time and cannot be repeated; make it anew without --real-time"
        );
    }
    let words = record.asked.iter().flat_map(|asked| &asked.words);
    let options = words.take_while(|word| *word != "--");
    for word in options {
        let name = word.split('=').next().unwrap_or_default();
        if let Some((_, what)) = OUTSIDE.iter().find(|(option, _)| *option == name) {
            bail!(
                "the run in {place} had {what}, and what came from there is not recorded; make it anew without {name}"
            );
        }
    }
    if record.mode != Mode::Exact.name() {
        bail!(
            "the run in {place} was not exact: its input from outside is not recorded; make it anew with a command instead of \
             a person, and without devices of this computer"
        );
    }
    if !matches!(record.end, End::Guest(_) | End::Console { .. }) {
        bail!(
            "the run in {place} did not come to its end ({}), so nothing shows whether a repetition is the same; let it end",
            record.end.sentence()
        );
    }
    if record.link.not_kept.frames != 0 {
        bail!(
            "the run in {place} has not kept all its data, so nothing shows whether a repetition is the same; make it anew \
             with a larger --data-limit"
        );
    }
    if !record.traps.is_empty() {
        bail!(
            "the run in {place} counted its traps, which a window cannot; make it anew without that"
        );
    }
    if record.begin == 0 {
        bail!(
            "the run in {place} has no date: it went on from a kept system at the time of that day; make it anew with --rtc, as \
             --rtc 2026-01-01T00:00:00"
        );
    }
    match &record.asked {
        Some(asked) if !record.parts.is_empty() => Ok(asked.clone()),
        _ => bail!(
            "{place} does not say how its run was begun; make it anew with run, linux or exec of this version"
        ),
    }
}
