//! With random translation tables every access is as on bare QEMU.
//!
//! The same program with the same seed runs on bare QEMU and above the machine, and prints a digest of each of its
//! blocks of 512 steps (`guests/src/translations`). If a block differs, both run it again and print every step, and
//! the test fails with the first step that differs. `MILLIMETER_SEEDS` names the seeds of the long test, separated by
//! spaces.

use anyhow::{Context, Result, bail, ensure};
use measure::numbers::quantities::{Sampling, Storage};
use tempfile::NamedTempFile;
use tests_qemu::{ipl, suite::test};

const GUEST: &str = "random-translations";
/// Blocks of a run.
const BLOCKS: u64 = 60;
/// Blocks of the run of `cargo test`.
const SOME_BLOCKS: u64 = 24;
/// Blocks of a run above two machines, where each takes many times as long.
const FEW_BLOCKS: u64 = 12;

/// The guest with these parameters: the seed, the number of blocks, the block to trace, whether there are
/// instructions that the machine replaces, and whether it purges only what the architecture requires.
fn guest(parameters: [u64; 5]) -> Result<NamedTempFile> {
    ipl::with_parameters(GUEST, b"random translations from", &parameters)
}

/// The output of the guest on bare QEMU, and above the machine with `nested` machines above it.
fn both(nested: u32, seed: u64, blocks: u64, traced: u64) -> Result<[String; 2]> {
    let file = guest([seed, blocks, traced, 0, 0])?;
    let native = ipl::natively(file.path().to_str().context("no path")?, 1, None)?;
    ensure!(
        native.exit_code == Some(0),
        "on bare QEMU: {}",
        native.console
    );
    let file = guest([seed, blocks, traced, 0, 1])?;
    let mut options = ipl::options(file.path().to_str().context("no path")?);
    options.nested = nested;
    if nested == 0 {
        options.sampling = Sampling::Off;
    } else {
        // The guest sets the key of every block. Samples show that it is still at work.
        options.storage = Storage(128 << 20);
    }
    let outermost = ipl::above_with_success(&options)?;
    let above = outermost.of_guest();
    ensure!(above.end.exit_code() == 0, "{}", ipl::story(above));
    Ok([native.console, above.console.clone()])
}

/// The number of the first line that differs.
fn first_difference([native, above]: &[String; 2]) -> Option<usize> {
    let lines = native.lines().count().max(above.lines().count());
    (0..lines).find(|&n| native.lines().nth(n) != above.lines().nth(n))
}

fn compare(nested: u32, seed: u64, blocks: u64) -> Result<()> {
    let texts = both(nested, seed, blocks, 0)?;
    let Some(line) = first_difference(&texts) else {
        println!(
            "seed {seed}: {}",
            texts[0].lines().last().unwrap_or_default()
        );
        return Ok(());
    };
    // The first line is the header.
    let block = line as u64;
    let texts = both(nested, seed, block, block)?;
    let Some(line) = first_difference(&texts) else {
        bail!("seed {seed}: block {block} differs, but not when its steps are printed");
    };
    let [native, above] = &texts;
    let before: Vec<&str> = native.lines().take(line).collect();
    bail!(
        "seed {seed}, block {block}:\n{}\non bare QEMU:      {}\nabove the machine: {}",
        before[before.len().saturating_sub(4)..].join("\n"),
        native.lines().nth(line).unwrap_or_default(),
        above.lines().nth(line).unwrap_or_default()
    );
}

#[test]
fn every_access_by_random_tables_is_as_on_bare_qemu() {
    compare(0, 1, SOME_BLOCKS).unwrap();
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn every_access_by_more_random_tables_is_as_on_bare_qemu() {
    for seed in ipl::seeds("1 2 3 4") {
        compare(0, seed, BLOCKS).unwrap();
    }
}

/// The machine below finds the inner machine's tables as random as the inner one finds the guest's.
#[test]
#[ignore = "long: cargo soak runs it"]
fn every_access_by_random_tables_above_two_machines_is_as_on_bare_qemu() {
    for seed in ipl::seeds("5") {
        compare(1, seed, FEW_BLOCKS).unwrap();
    }
}
