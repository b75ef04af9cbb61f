//! The cost of the host's own tools: how fast they decode sample-data blocks and SMF records.
//!
//! A rate depends on the computer and on what else it does, so it is only shown. The budget is a ratio of times: to
//! decode a file, and to make its SHA-256, which a report makes of every file of samples anyway. Both read the file in
//! pieces, on one CPU, one after the other.

use std::{
    fs::File,
    hint::black_box,
    io::Write,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use zerocopy::{FromZeros, IntoBytes};
use {
    cpumf::sampling::block::{BASIC_FORMAT, ENTRIES, SampleDataBlock},
    record::{
        CounterValues, Ebcdic, Moment, SetType,
        smf::{Deltas, Envelope, LONGEST, Records},
        smp::SMALL_BLOCK,
    },
};

use super::{Ratio, right, table};
use crate::{
    computer::progress::Progress,
    figures::{
        group::Grouping,
        read::{self, Manner},
    },
    formats::samples::{self, Blocks},
};

/// Blocks of the file.
const BLOCKS: u64 = 1 << 16;

/// The most that decoding may cost, as a ratio to SHA-256 of the same bytes. On a busy computer it was 0.25: 1,250 MB/s, as
/// this package is built by default.
const BUDGET: f64 = 2.0;

/// CPUs of the file of records, and intervals of each.
const CPUS: u16 = 64;
const INTERVALS: u64 = 1 << 10;

/// The most that adding up records may cost, as a ratio to SHA-256 of the same bytes. Every record is of type 113 and has
/// all sets; records of other types take less. On a processor with instructions for SHA-256 it was 1.4: 320 MB/s on a
/// busy computer, as this package is built by default.
const BUDGET_OF_RECORDS: f64 = 2.0;

/// How fast a file is decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoding {
    /// What the file is.
    pub file: &'static str,
    /// Bytes of the file.
    pub bytes: u64,
    /// Samples or records in it.
    pub pieces: u64,
    /// The shortest time of decoding it.
    pub shortest: Duration,
    /// Its time as a ratio to that of SHA-256.
    pub ratio: Ratio,
}

impl Decoding {
    /// Megabytes (10^6 bytes) in a second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.shortest.as_secs_f64()
    }
}

/// Measures decoding of both files in this many pairs.
pub fn decoding(pairs: usize, progress: &Progress) -> Result<Vec<Decoding>> {
    if pairs == 0 {
        bail!("0 pairs measure nothing; choose 1 or more with --pairs");
    }
    let blocks = decode(pairs, progress, "sample-data blocks", blocks, |file| {
        let tally = samples::tally(file, SMALL_BLOCK)?;
        Ok(match tally.malformed {
            0 => tally.basic,
            _ => 0,
        })
    })?;
    let records = decode(pairs, progress, "SMF records", records, |file| {
        let by = Grouping {
            system: true,
            class: true,
            ..Grouping::default()
        };
        let manner = Manner { by, model: None };
        let collected = read::read_content(file, manner).map_err(std::io::Error::other)?;
        Ok(collected.records)
    })?;
    let budgets = [
        (".SMP", blocks, BUDGET),
        (".SMF", records, BUDGET_OF_RECORDS),
    ];
    let all = budgets.into_iter().map(|(file, timed, budget)| Decoding {
        file,
        bytes: timed.bytes,
        pieces: timed.pieces,
        shortest: timed.shortest,
        ratio: Ratio {
            what: format!("decoding {}, to SHA-256 of the same", timed.what),
            pairs: timed.ratios,
            budget,
        },
    });
    Ok(all.collect())
}

/// What was timed.
struct Timed {
    what: &'static str,
    bytes: u64,
    pieces: u64,
    shortest: Duration,
    ratios: Vec<f64>,
}

/// Times `read`, which says how many pieces it found, on the file that `write` makes.
fn decode(
    pairs: usize,
    progress: &Progress,
    what: &'static str,
    write: fn() -> std::io::Result<(File, u64)>,
    read: fn(&mut File) -> std::io::Result<u64>,
) -> Result<Timed> {
    let (mut file, expected) = {
        let step = progress.step(&format!("writing {what}"));
        let written = write()
            .with_context(|| format!("cannot write a file of {what}; free some space in TMPDIR"))?;
        step.done(&format!("wrote {what}"));
        written
    };
    let mut step = progress.step(&format!("timing the decoding of {what}"));
    let (mut ratios, mut shortest) = (Vec::new(), Duration::MAX);
    for pair in 0..pairs {
        let (found, decode) = timed(&mut file, read)?;
        if found != expected {
            bail!("{found} of {expected} {what} were decoded");
        }
        let (_, hash) = timed(&mut file, hash)?;
        shortest = shortest.min(decode);
        ratios.push(decode.as_secs_f64() / hash.as_secs_f64());
        let done = pair + 1;
        step.reach_of(
            done as u64,
            pairs as u64,
            &format!("{done} of {pairs} pairs"),
        );
    }
    step.done(&format!("timed the decoding of {what}"));
    Ok(Timed {
        what,
        bytes: file.metadata().map_or(0, |metadata| metadata.len()),
        pieces: expected,
        shortest,
        ratios,
    })
}

/// The result of `work` on the file from its beginning, and its time.
fn timed<T>(
    file: &mut File,
    work: impl FnOnce(&mut File) -> std::io::Result<T>,
) -> Result<(T, Duration)> {
    use std::io::Seek;
    file.rewind().context("cannot read the file again")?;
    let began = Instant::now();
    let made = work(file).context("cannot read the file")?;
    Ok((black_box(made), began.elapsed()))
}

/// SHA-256 of a file, read as the decoder reads it.
fn hash(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut blocks = Blocks::new(file, SMALL_BLOCK);
    let mut hash = Sha256::new();
    while let Some((_, block)) = blocks.next_block()? {
        hash.update(block);
    }
    Ok(hash.finalize().to_vec())
}

/// A file of full blocks whose samples are in all states, and how many there are.
fn blocks() -> std::io::Result<(File, u64)> {
    let mut file = tempfile::tempfile()?;
    let mut block = SampleDataBlock::new_zeroed();
    block.trailer.flags = 0x80;
    block.trailer.bsdes = 32.into();
    // A linear congruential generator: a processor cannot learn the order of the states.
    let mut random = 1_u64;
    for _ in 0..BLOCKS {
        for entry in &mut block.entries {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // U, T, W, P, AS, but not I; CL and ASN.
            let state = random >> 16 & 0x0000_013E_6000_FFFF;
            entry.head = (u64::from(BASIC_FORMAT) << 48 | state).into();
            entry.instruction_address = (random >> 20).into();
            entry.guest_program_parameter = (random >> 40).into();
        }
        file.write_all(block.as_bytes())?;
    }
    Ok((file, BLOCKS * ENTRIES as u64))
}

/// A file of records with all counter sets, and how many there are. The CPUs follow each other as in a dump.
fn records() -> std::io::Result<(File, u64)> {
    let mut file = tempfile::tempfile()?;
    let moment = Moment {
        year: 2026,
        day: 325,
        hundredths: 360_000,
    };
    let envelope = Envelope::new(Ebcdic::new("SYSA"), moment);
    // Some counters need eight bytes.
    let extended: Vec<u64> = (0..160).map(|number| number << 28).collect();
    let sets = [
        CounterValues::new(SetType::BASIC, &[1 << 40, 1 << 39, 1, 2, 3, 4]),
        CounterValues::new(SetType::PROBLEM_STATE, &[1 << 39, 1 << 38]),
        CounterValues::new(SetType::CRYPTO_ACTIVITY, &[1; 20]),
        CounterValues::new(SetType::EXTENDED, &extended),
        CounterValues::new(SetType::MT_DIAGNOSTIC, &[1; 48]),
    ];
    let mut interval = Vec::new();
    let mut out = vec![0; LONGEST];
    for cpu in 0..CPUS {
        let data = Deltas {
            run_start: 0xDF00_0000_0000_0000,
            written: 0xDF00_0000_0000_0001,
            cpu,
            class: if cpu % 4 == 0 { 4 } else { 0 },
            zcbp: false,
            speed: 5200,
            machine_type: Ebcdic::new("8561"),
            model: Ebcdic::new("T01"),
            versions: [0, 3, 6],
            lost: false,
            lost_mt: false,
            sequence_code: Ebcdic::new("0000000000035DC7"),
            core: cpu,
        };
        let mut records = Records::deltas(&envelope, &data, &sets);
        while let Some(length) = records.write(&mut out).map_err(std::io::Error::other)? {
            interval.extend_from_slice(&out[..length]);
        }
    }
    for _ in 0..INTERVALS {
        file.write_all(&interval)?;
    }
    Ok((file, u64::from(CPUS) * INTERVALS))
}

/// The rates, and the ratios beside their budgets.
pub fn text(all: &[Decoding]) -> String {
    let mut rates = table(["file", "MB", "samples or records", "seconds", "MB/s"]);
    for decoding in all {
        rates.add_row(vec![
            comfy_table::Cell::new(decoding.file),
            right(decoding.bytes / 1_000_000),
            right(decoding.pieces),
            right(format!("{:.3}", decoding.shortest.as_secs_f64())),
            right(format!("{:.0}", decoding.rate())),
        ]);
    }
    let ratios: Vec<Ratio> = all.iter().map(|decoding| decoding.ratio.clone()).collect();
    let ratios = super::ratios_text(&ratios);
    format!("{rates}\n\n{ratios}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_megabytes_in_a_second_and_no_pairs_measure_nothing() {
        let decoding = Decoding {
            file: ".SMP",
            bytes: 3_000_000_000,
            pieces: 1,
            shortest: Duration::from_secs(2),
            ratio: Ratio {
                what: "decoding".to_owned(),
                pairs: vec![0.5],
                budget: BUDGET,
            },
        };
        assert!((decoding.rate() - 1500.0).abs() < 1e-6);
        let text = text(&[decoding]);
        assert!(text.contains("1500") && text.contains("within"), "{text}");
        let refusal = super::decoding(0, &Progress::Silent).unwrap_err();
        assert!(refusal.to_string().contains("--pairs"));
    }
}
