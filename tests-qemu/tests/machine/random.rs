//! No stream of instructions stops the machine.
//!
//! The guests perform ten thousand random streams each. At the end of every run the machine compares its text,
//! constants, guard pages and unused storage with their former contents, and enters wait state 205 if they differ. A
//! run that ends well has therefore left the HSA alone.

use anyhow::{Context, Result, bail, ensure};
use measure::{
    computer::progress::Progress, machine::qemu::Qemu, numbers::quantities::Sampling,
    options::RunOptions,
};
use tests_qemu::{ipl, suite::test};

fn survives(guest: &str, sampling: Sampling) {
    let options = RunOptions {
        sampling,
        ..ipl::options(guest)
    };
    let outcome = ipl::above_with_success(&options).unwrap();
    assert!(
        outcome
            .console
            .contains("random streams that ended: 10000 of 10000"),
        "{}",
        ipl::story(&outcome)
    );
}

#[test]
fn ten_thousand_random_streams_in_problem_state_leave_the_machine_whole() {
    survives("random", Sampling::Off);
}

#[test]
fn ten_thousand_random_streams_in_problem_state_can_be_sampled() {
    survives("random", Sampling::Every(1_000));
}

#[test]
fn ten_thousand_random_streams_in_supervisor_state_leave_the_machine_whole() {
    survives("random-supervisor", Sampling::Off);
}

#[test]
fn ten_thousand_random_streams_in_supervisor_state_can_be_sampled() {
    survives("random-supervisor", Sampling::Every(1_000));
}

/// The output of the guest `random-executed` on bare QEMU and above the machine, without the number of its counts.
fn executed(qemu: &Qemu, seed: u64, traced: Option<u64>, apart: u64) -> Result<[Vec<String>; 2]> {
    let parameters = [seed, traced.unwrap_or(256), apart];
    let file = ipl::with_parameters("random-executed", b"random executions from..", &parameters)?;
    let guest = file.path().to_str().context("no path")?;
    let native = ipl::natively(guest, 1, Some(&qemu.path))?;
    ensure!(
        native.exit_code == Some(0),
        "on bare QEMU: {:?} {:?} {}",
        native.exit_code,
        native.complaints,
        native.console
    );
    let above = ipl::above_with_success(&RunOptions {
        sampling: Sampling::Off,
        qemu: Some(qemu.path.clone()),
        ..ipl::options(guest)
    })?;
    let is_count = |line: &&str| line.starts_with("counted");
    if let Some(counts) = above.console.lines().find(is_count) {
        println!("{qemu}, seed {seed}: {counts}");
    }
    Ok([native.console, above.console].map(|console| {
        let lines = console.lines().filter(|line| !is_count(line));
        lines.map(str::to_owned).collect()
    }))
}

/// The first lines that differ.
fn first_difference([native, above]: &[Vec<String>; 2]) -> Option<(&str, &str)> {
    let mut pairs = native.iter().zip(above);
    let (one, other) = pairs.find(|(one, other)| one != other)?;
    Some((one, other))
}

fn executes_as_on_bare_qemu(seed: u64, apart: u64) -> Result<()> {
    for qemu in ipl::qemus(&Progress::Plain)? {
        let texts = executed(&qemu, seed, None, apart)?;
        let Some((line, _)) = first_difference(&texts) else {
            ensure!(texts[0].len() as u64 >= 256 / apart && texts[0].len() == texts[1].len());
            continue;
        };
        let block = line.split_once(": ").context("no block")?.0;
        let texts = executed(&qemu, seed, Some(u64::from_str_radix(block, 16)?), apart)?;
        let (native, above) = first_difference(&texts).unwrap_or(("the same", "the same"));
        bail!(
            "{qemu}, seed {seed}, block {block}\non bare QEMU:      {native}\nabove the machine: {above}"
        );
    }
    Ok(())
}

#[test]
fn execute_of_pairs_of_bytes_is_as_on_bare_qemu_and_counted_exactly() {
    for seed in ipl::seeds("1") {
        executes_as_on_bare_qemu(seed, 8).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
    }
}
