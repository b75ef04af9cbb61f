use std::{fs, path::Path};

use tempfile::TempDir;

use super::*;
use crate::{
    formats::samples::tests::block,
    profile::{Profile, tests::full_block},
    views::export::{self, To},
};

/// A collection of two CPUs whose frequency the service halves: first 6,000,000 samples a minute, one each 10,000
/// cycles, then 3,000,000. For each set and CPU: full blocks of 126 samples, samples behind them, and cycles.
const SETS: [[(u64, usize, u64); 2]; 2] = [
    [(4, 10, 5_140_700), (3, 60, 4_385_000)],
    [(2, 20, 5_441_000), (1, 100, 4_532_200)],
];

/// Writes it; without the cycles if `with_cycles` is false.
fn two_sets(with_cycles: bool) -> TempDir {
    let directory = TempDir::new().unwrap();
    let put = |name: String, bytes: &[u8]| {
        let name = format!("SYSHIS20260301.161406.{name}");
        fs::write(directory.path().join(name), bytes).unwrap();
    };
    for (set, (cpus, interval)) in SETS.iter().zip([10_000, 20_000]).enumerate() {
        let start = (1 + set as u64) << 40;
        let mut text = format!(
            "HIS019I EVENT COUNTERS INFORMATION VERSION 4\n\
             COMMAND: MODIFY HIS,B,SAMPFREQ=6000000\nSTATE CHANGE: YES\n\
             MODEL: 8561-T01   SEQCODE: 12\nCOUNTER SET= BASIC\nCOUNTER IDENTIFIERS:\n  0: CYCLE COUNT\n\
             START TIME: 2026/03/01 16:14:06 START TOD: {start:016X}\n\
             END TIME:   2026/03/01 16:14:07 END TOD:   {:016X}\n",
            start + (1 << 36)
        );
        for (cpu, (full, rest, cycles)) in cpus.iter().enumerate() {
            let mut blocks = Vec::new();
            for number in 1..=*full {
                // Interval after interval; the second CPU waits once in each block.
                let units = 126 * interval * 4096 / 1000 + (cpu as u64) * 1_000_000;
                blocks.extend(full_block(&[0x20_0000; 126], start + number * units));
            }
            blocks.extend(block(&vec![(0x20_0000, 0); *rest], 0));
            put(format!("{set:03}.SMP.{cpu:02}"), &blocks);
            if with_cycles {
                text.push_str(&format!(
                    "COUNTER VALUES (HEXADECIMAL) FOR CPU {cpu:02} (CPU SPEED = 1000 CYCLES/MIC):\n  \
                     0-  0 {cycles:016X}\n"
                ));
            } else {
                text.push_str(&format!(
                    "COUNTER VALUES (HEXADECIMAL) FOR CPU {cpu:02} (CPU SPEED = 1000 CYCLES/MIC):\n \
                     32- 32 0000000000000001\n"
                ));
            }
        }
        put(format!("{set:03}.CNT"), text.as_bytes());
    }
    directory
}

/// The interval of each set, and the doubts about them.
fn found(directory: &Path) -> (Vec<u64>, Vec<String>) {
    let profile = Profile::open(directory).unwrap();
    let mut files = profile.files.iter();
    assert!(files.all(|file| file.pace.speed == 1000 && file.pace.start > 0));
    let doubts = profile.doubts.iter();
    let own = doubts.filter(|doubt| doubt.contains("sampling interval"));
    (profile.intervals(), own.cloned().collect())
}

#[test]
fn cycles_and_samples_give_the_interval_of_each_set_of_files() {
    let directory = two_sets(true);
    let (intervals, doubts) = found(directory.path());
    assert_eq!(intervals, [10_000, 20_000]);
    let expected = "the files do not say the sampling interval of set 001: 20,000 cycles follow from its samples, \
                    which need more than 19,965 and less than 20,078";
    assert_eq!(doubts, [expected]);
}

#[test]
fn without_cycles_an_interval_is_at_most_the_time_of_the_fastest_block() {
    let directory = two_sets(false);
    // It is longer than the one before, perhaps because the CPUs waited.
    let (intervals, doubts) = found(directory.path());
    assert_eq!(intervals, [10_000]);
    let end = "it is taken to be 10,000 cycles, as before; its blocks allow less than 20,201";
    assert!(doubts[0].ends_with(end), "{doubts:?}");
    // First one each 40,000 cycles, then as before: these blocks are too fast for 40,000.
    let path = directory.path().join("SYSHIS20260301.161406.000.CNT");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("=6000000", "=1500000")).unwrap();
    let (intervals, doubts) = found(directory.path());
    assert_eq!(intervals, [40_000, 20_000]);
    let expected = "set 001: 20,000 cycles follow";
    assert!(doubts[0].contains(expected), "{doubts:?}");
}

#[test]
fn a_set_after_another_change_of_state_keeps_the_interval_without_a_doubt() {
    let directory = two_sets(true);
    let path = |name: &str| {
        directory
            .path()
            .join(format!("SYSHIS20260301.161406.{name}"))
    };
    let text = fs::read_to_string(path("001.CNT")).unwrap();
    // Half the cycles for as many samples.
    let halved = text
        .replace(
            &format!("{:016X}", 5_441_000),
            &format!("{:016X}", 2_720_500),
        )
        .replace(
            &format!("{:016X}", 4_532_200),
            &format!("{:016X}", 2_266_100),
        );
    assert_ne!(halved, text);
    fs::write(path("001.CNT"), halved).unwrap();
    assert_eq!(found(directory.path()), (vec![10_000], Vec::new()));
    // Nothing shows the interval, which is a doubt.
    fs::remove_file(path("001.CNT")).unwrap();
    let (intervals, doubts) = found(directory.path());
    assert_eq!(intervals, [10_000]);
    assert!(doubts[0].ends_with("it is taken to be 10,000 cycles, as before"));
}

#[test]
fn a_frequency_that_the_command_does_not_say_is_the_default_if_the_samples_allow_it() {
    let directory = two_sets(true);
    for set in ["000", "001"] {
        let path = directory
            .path()
            .join(format!("SYSHIS20260301.161406.{set}.CNT"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(",SAMPFREQ=6000000", "")).unwrap();
    }
    let (intervals, doubts) = found(directory.path());
    assert_eq!(intervals, [10_000, 20_000]);
    assert!(
        doubts[0].contains("of set 000: 10,000 cycles follow"),
        "{doubts:?}"
    );
    // 800,000 samples a minute are one each 75,000 cycles.
    let bounds = Bounds::of(75_000 * 100 + 5, 100);
    assert_eq!(derive(bounds, 75_000, 60_000_000_000), (75_000, None));
}

#[test]
fn a_sample_is_worth_the_interval_of_its_set_in_every_form() {
    let directory = two_sets(true);
    let profile = Profile::open(directory.path()).unwrap();
    let samples = |set: usize| -> u64 {
        let of_cpu = SETS[set].map(|(full, rest, _)| full * 126 + rest as u64);
        of_cpu.iter().sum()
    };
    // Nanoseconds: cycles at 1000 a microsecond.
    let worth = samples(0) * 10_000 + samples(1) * 20_000;
    let sum: u64 = profile
        .samples()
        .map(|sample| sample.unwrap().pace.nanoseconds())
        .sum();
    assert_eq!(sum, worth);
    let out = directory.path().join("out.json");
    let progress = crate::computer::progress::Progress::Silent;
    export::export(directory.path(), To::Speedscope, Some(&out), progress).unwrap();
    let file: serde_json::Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    let ends = file["profiles"].as_array().unwrap().iter();
    let ends: u64 = ends.map(|cpu| cpu["endValue"].as_u64().unwrap()).sum();
    assert_eq!(ends, worth);
}

#[test]
fn samples_of_the_next_set_do_not_begin_before_it() {
    let directory = two_sets(true);
    let profile = Profile::open(directory.path()).unwrap();
    let first = SETS[0][0].0 * 126 + SETS[0][0].1 as u64;
    let tods: Vec<u64> = profile
        .samples_of(0)
        .map(|sample| sample.unwrap().tod)
        .collect();
    let (one, other) = tods.split_at(usize::try_from(first).unwrap());
    assert!(one.iter().all(|tod| (1 << 40..2 << 40).contains(tod)));
    assert!(other.iter().all(|tod| *tod >= 2 << 40));
    assert!(tods.is_sorted());
}

#[test]
fn bounds_without_a_frequency_between_them_give_no_interval() {
    let minute = 60_000_000_000;
    let bounds = |above, below| Bounds { above, below };
    assert_eq!(bounds(9_999, 10_001).roundest(minute), Some(10_000));
    assert_eq!(bounds(10, 10).roundest(minute), None);
    assert_eq!(Bounds::NONE.roundest(minute), None);
    assert_eq!(bounds(0, 10_000).roundest(minute), None);
    assert_eq!(bounds(9_000, 10_999).roundest(0), None);
    // Four digits are rounder than more: 8,001,000 samples a minute are one each 7,499 cycles.
    let found = bounds(7_498, 7_500).roundest(minute).unwrap();
    assert_eq!(found, 7_499);
}
