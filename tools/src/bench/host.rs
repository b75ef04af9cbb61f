//! The cost of the host's own tools: how fast they decode sample-data blocks.
//!
//! A rate depends on the computer and on what else it does, so it is only shown. The budget is a ratio of times: to
//! decode a file, and to make its SHA-256, which a report makes of every file anyway. Both read the file in the same
//! way, on one CPU, one after the other.

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
    record::smp::SMALL_BLOCK,
};

use super::{Ratio, right, table};
use crate::{
    computer::progress::Progress,
    formats::samples::{BlockTally, Blocks},
};

/// Blocks of the file.
const BLOCKS: u64 = 1 << 16;

/// The most that decoding may cost, as a ratio to SHA-256 of the same bytes. On a processor with instructions for
/// SHA-256, at a gigabyte in a second, it was 1.2: 810 MB/s, as this package is built by default. There a budget of
/// twice the time of SHA-256 keeps it at 500 MB/s.
const BUDGET: f64 = 2.0;

/// How fast blocks are decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoding {
    /// Bytes of the file.
    pub bytes: u64,
    /// Samples in it.
    pub samples: u64,
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

/// Measures decoding in this many pairs.
pub fn decoding(pairs: usize, progress: &Progress) -> Result<Decoding> {
    if pairs == 0 {
        bail!("0 pairs measure nothing; choose 1 or more with --pairs");
    }
    let (mut file, expected) = {
        let step = progress.step("writing sample-data blocks");
        let written =
            blocks().context("cannot write a file of samples; free some space in TMPDIR")?;
        step.done("wrote sample-data blocks");
        written
    };
    let mut step = progress.step("timing the decoding of sample-data blocks");
    let (mut measured, mut shortest) = (Vec::new(), Duration::MAX);
    for pair in 0..pairs {
        let (tally, decode) = timed(&mut file, |file| BlockTally::of(file, SMALL_BLOCK))?;
        if tally.basic != expected || tally.malformed != 0 {
            bail!("{} of {expected} samples were decoded", tally.basic);
        }
        let (_, hash) = timed(&mut file, hash)?;
        shortest = shortest.min(decode);
        measured.push(decode.as_secs_f64() / hash.as_secs_f64());
        step.update(&format!("{} of {pairs} pairs", pair + 1));
    }
    step.done("timed the decoding of sample-data blocks");
    Ok(Decoding {
        bytes: BLOCKS * SMALL_BLOCK as u64,
        samples: expected,
        shortest,
        ratio: Ratio {
            what: "decoding sample-data blocks, to SHA-256 of the same".to_owned(),
            pairs: measured,
            budget: BUDGET,
        },
    })
}

/// The result of `work` on the file from its beginning, and its time.
fn timed<T>(
    file: &mut File,
    work: impl FnOnce(&mut File) -> std::io::Result<T>,
) -> Result<(T, Duration)> {
    use std::io::Seek;
    file.rewind().context("cannot read the samples again")?;
    let began = Instant::now();
    let made = work(file).context("cannot read the samples")?;
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

/// The rate, and the ratio beside its budget.
pub fn text(decoding: &Decoding) -> String {
    let mut rates = table(["file", "MB", "samples", "seconds", "MB/s"]);
    rates.add_row(vec![
        comfy_table::Cell::new(".SMP"),
        right(decoding.bytes / 1_000_000),
        right(decoding.samples),
        right(format!("{:.3}", decoding.shortest.as_secs_f64())),
        right(format!("{:.0}", decoding.rate())),
    ]);
    let ratios = super::ratios_text(std::slice::from_ref(&decoding.ratio));
    format!("{rates}\n\n{ratios}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_megabytes_in_a_second_and_no_pairs_measure_nothing() {
        let decoding = Decoding {
            bytes: 3_000_000_000,
            samples: 1,
            shortest: Duration::from_secs(2),
            ratio: Ratio {
                what: "decoding".to_owned(),
                pairs: vec![0.5],
                budget: BUDGET,
            },
        };
        assert!((decoding.rate() - 1500.0).abs() < 1e-6);
        let text = text(&decoding);
        assert!(text.contains("1500") && text.contains("within"), "{text}");
        let refusal = super::decoding(0, &Progress::Silent).unwrap_err();
        assert!(refusal.to_string().contains("--pairs"));
    }
}
