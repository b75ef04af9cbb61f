//! Whether the repeated run was the first one: everything that both have left must be equal.
//!
//! Samples come first, because they say where the runs parted: each sample of the first run must come again, at the same
//! instruction, and each block must become full at the same time. Then come what the CPUs did in all, the counters, and
//! what the guest wrote.

use std::{collections::BTreeSet, fmt, io::ErrorKind, path::Path};

use anyhow::{Context, Result};
use cpumf::sampling::block::{BasicEntry, ENTRIES, SampleDataBlock, Trailer};
use zerocopy::FromBytes;

use crate::folder::{
    self, CONSOLE, COUNTERS, EVENTS, copies_name,
    record::{RunRecord, TotalsRecord},
    sdb_cpus, sdb_name, stacks_name,
};

/// The first difference between two runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it is.
    pub place: String,
    /// What the first run has there.
    pub first: String,
    /// What the repeated one has there.
    pub repeated: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} in the first run, {} in the repeated one",
            self.place, self.first, self.repeated
        )
    }
}

impl Difference {
    fn between<T: PartialEq>(
        place: impl Into<String>,
        first: &T,
        repeated: &T,
        text: impl Fn(&T) -> String,
    ) -> Result<(), Self> {
        if first == repeated {
            return Ok(());
        }
        Err(Self {
            place: place.into(),
            first: text(first),
            repeated: text(repeated),
        })
    }
}

/// Compares what two runs left. Returns how many samples were compared, or the first difference. If the window
/// `is_traced`, events of the repeated run are those of the window.
///
/// # Errors
/// Something cannot be read.
pub fn compare(first: &Path, repeated: &Path, is_traced: bool) -> Result<Result<u64, Difference>> {
    let records = [RunRecord::read(first)?, RunRecord::read(repeated)?];
    let mut cpus = BTreeSet::new();
    for directory in [first, repeated] {
        let found =
            sdb_cpus(directory).with_context(|| format!("cannot read {}", directory.display()))?;
        cpus.extend(found);
    }
    let mut samples = 0;
    for cpu in cpus {
        let name = sdb_name(cpu);
        let files = [read(first, &name)?, read(repeated, &name)?];
        match blocks(cpu, &files[0], &files[1]) {
            Ok(compared) => samples += compared,
            Err(difference) => return Ok(Err(difference)),
        }
    }
    if let Err(difference) = totals(&records[0], &records[1]) {
        return Ok(Err(difference));
    }
    let cpus = records[0].totals.iter().map(|of| of.cpu);
    let stacks = cpus.flat_map(|cpu| [stacks_name(cpu), copies_name(cpu)]);
    let events = (!is_traced).then_some(EVENTS);
    let names = [COUNTERS, CONSOLE].into_iter().chain(events);
    for name in names.map(str::to_owned).chain(stacks) {
        let (one, other) = (read(first, &name)?, read(repeated, &name)?);
        if let Err(difference) = bytes(&name, &one, &other) {
            return Ok(Err(difference));
        }
    }
    Ok(Ok(samples))
}

/// A file of a run; empty if it has none.
fn read(directory: &Path, name: &str) -> Result<Vec<u8>> {
    let path = directory.join(name);
    match folder::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        read => read.with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The blocks of one CPU.
fn blocks(cpu: u16, first: &[u8], repeated: &[u8]) -> Result<u64, Difference> {
    let size = size_of::<SampleDataBlock>();
    let number = first.len().max(repeated.len()).div_ceil(size);
    let mut compared = 0;
    for block in 0..number {
        let found = [first, repeated].map(|file| {
            let bytes = file.get(block * size..(block + 1) * size)?;
            SampleDataBlock::ref_from_bytes(bytes).ok()
        });
        let place = |entry: usize| format!("sample {} of CPU {cpu}", block * ENTRIES + entry);
        let [Some(one), Some(other)] = found else {
            let text = |found: &Option<&SampleDataBlock>| match found {
                Some(_) => "a whole block".to_owned(),
                None => "none".to_owned(),
            };
            return Err(Difference {
                place: format!("block {block} of CPU {cpu}"),
                first: text(&found[0]),
                repeated: text(&found[1]),
            });
        };
        for (entry, (one, other)) in one.entries.iter().zip(&other.entries).enumerate() {
            Difference::between(place(entry), one, other, sample)?;
        }
        compared += one.samples().count() as u64;
        let time = |trailer: &Trailer| {
            let clock = u128::from_be_bytes(trailer.timestamp);
            format!("full at TOD clock {clock:032X}")
        };
        Difference::between(
            format!("the trailer of block {block} of CPU {cpu}"),
            &one.trailer,
            &other.trailer,
            time,
        )?;
    }
    Ok(compared)
}

fn sample(entry: &BasicEntry) -> String {
    if entry.format() == 0 {
        return "none".to_owned();
    }
    let state = if entry.problem_state() {
        "problem"
    } else {
        "supervisor"
    };
    format!(
        "address {:X} in {state} state, program parameter {:X}",
        entry.instruction_address, entry.guest_program_parameter
    )
}

fn totals(first: &RunRecord, repeated: &RunRecord) -> Result<(), Difference> {
    let numbers = |of: &TotalsRecord| {
        [
            ("cycles", of.guest_cycles),
            ("instructions", of.guest_instructions),
            ("traps", of.traps),
            ("instructions of the machine", of.firmware_instructions),
            ("samples", of.samples_taken),
            ("lost samples", of.samples_lost),
        ]
    };
    for (one, other) in first.totals.iter().zip(&repeated.totals) {
        for ((what, one_has), (_, other_has)) in numbers(one).into_iter().zip(numbers(other)) {
            let place = format!("{what} of CPU {}", one.cpu);
            Difference::between(place, &one_has, &other_has, u64::to_string)?;
        }
    }
    let count = |record: &RunRecord| record.totals.len();
    let cpus = (count(first), count(repeated));
    Difference::between("CPUs with totals", &cpus.0, &cpus.1, usize::to_string)?;
    let clock = |clock: &u64| format!("TOD clock {clock:016X}");
    Difference::between("the guest's end", &first.ended, &repeated.ended, clock)?;
    Difference::between("the guest's end", &first.end, &repeated.end, |end| {
        end.sentence()
    })
}

/// A file, byte by byte.
fn bytes(name: &str, first: &[u8], repeated: &[u8]) -> Result<(), Difference> {
    if first == repeated {
        return Ok(());
    }
    let at = first
        .iter()
        .zip(repeated)
        .position(|(one, other)| one != other)
        .unwrap_or(first.len().min(repeated.len()));
    let text = |bytes: &[u8]| match bytes.get(at) {
        Some(byte) => format!("{byte:02X}"),
        None => "the end".to_owned(),
    };
    Err(Difference {
        place: format!("byte {at} of {name}"),
        first: text(first),
        repeated: text(repeated),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use zerocopy::{FromZeros, IntoBytes};

    /// A block with these instruction addresses.
    fn block(addresses: &[u64]) -> SampleDataBlock {
        let mut block = SampleDataBlock::new_zeroed();
        for (entry, address) in block.entries.iter_mut().zip(addresses) {
            entry.head = (1 << 48).into();
            entry.instruction_address = (*address).into();
        }
        block
    }

    #[test]
    fn the_first_sample_that_differs_is_named_with_both_values() {
        let one = block(&[0x10, 0x20, 0x30]);
        let other = block(&[0x10, 0x22, 0x33]);
        assert_eq!(blocks(1, one.as_bytes(), one.as_bytes()), Ok(3));
        let difference = blocks(1, one.as_bytes(), other.as_bytes()).unwrap_err();
        let text = difference.to_string();
        assert!(text.starts_with("sample 1 of CPU 1: address 20"), "{text}");
        assert!(text.contains("address 22"), "{text}");
        let fewer = block(&[0x10, 0x20]);
        let text = blocks(0, one.as_bytes(), fewer.as_bytes()).unwrap_err();
        assert_eq!(text.repeated, "none");
    }

    #[test]
    fn a_block_that_became_full_at_another_time_or_is_cut_off_is_a_difference() {
        let one = block(&[0x10]);
        let mut other = one;
        other.trailer.timestamp[15] = 1;
        let text = blocks(0, one.as_bytes(), other.as_bytes())
            .unwrap_err()
            .to_string();
        assert!(
            text.starts_with("the trailer of block 0 of CPU 0"),
            "{text}"
        );
        let cut = &one.as_bytes()[..4000];
        let text = blocks(0, one.as_bytes(), cut).unwrap_err().to_string();
        assert!(
            text.contains("a whole block in the first run, none"),
            "{text}"
        );
    }

    #[test]
    fn all_that_a_run_left_is_compared() {
        let places = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [first, repeated] = places.each_ref().map(|place| place.path());
        let mut record = crate::folder::record::tests::record();
        record.totals = vec![(&link::state::Totals::new_zeroed()).into()];
        for directory in [first, repeated] {
            record.write(directory).unwrap();
        }
        assert_eq!(compare(first, repeated, false).unwrap(), Ok(0));
        for name in [CONSOLE, COUNTERS, EVENTS, &stacks_name(0), &copies_name(0)] {
            fs::write(repeated.join(name), "x").unwrap();
            let difference = compare(first, repeated, false).unwrap().unwrap_err();
            assert_eq!(difference.place, format!("byte 0 of {name}"));
            fs::remove_file(repeated.join(name)).unwrap();
        }
    }

    #[test]
    fn a_byte_that_differs_is_named() {
        assert_eq!(bytes("x", b"abc", b"abc"), Ok(()));
        let text = bytes("x", b"abc", b"ab").unwrap_err().to_string();
        assert_eq!(
            text,
            "byte 2 of x: 63 in the first run, the end in the repeated one"
        );
    }
}
