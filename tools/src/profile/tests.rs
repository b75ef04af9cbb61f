//! Tests over small folders of both kinds.

use std::fs;

use zerocopy::{FromZeros, IntoBytes};
use {
    cpumf::sampling::block::{BASIC_FORMAT, SampleDataBlock},
    link::data::Level,
};

use super::*;
use crate::{
    folder::{SYMBOLS, record::StartedRecord},
    formats::samples::tests::{INVALID, block},
    report::{self, Report},
};

/// A full block whose trailer says when it became full.
pub(crate) fn full_block(addresses: &[u64], tod: u64) -> Vec<u8> {
    let mut block = SampleDataBlock::new_zeroed();
    for (entry, address) in block.entries.iter_mut().zip(addresses) {
        entry.head = (u64::from(BASIC_FORMAT) << 48 | 1).into();
        entry.instruction_address = (*address).into();
        entry.guest_program_parameter = 0xABCD.into();
    }
    block.trailer.flags = 0x80;
    block.trailer.bsdes = 32.into();
    block.trailer.timestamp[..8].copy_from_slice(&tod.to_be_bytes());
    block.as_bytes().to_vec()
}

/// A folder as a collection leaves it.
pub(crate) fn collection() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        fs::write(
            directory
                .path()
                .join(format!("SYSHIS20260301.161406.{name}")),
            bytes,
        )
        .unwrap();
    };
    write("000.SMP.00", &full_block(&[0x20_0000, 0x20_0020], 8192));
    write("001.SMP.00", &full_block(&[0x20_0024], 12288));
    write("000.SMP.0A", &full_block(&[0x99_0000], 10000));
    write("001.SMP.0A", &[]);
    write(
        "001.MAP",
        b"I SYS GUEST\nMN    g       00000000002000000000000000200FFF\n\
          CN    inner   00000000002000200000000000200040\n",
    );
    let counters = |value: &str| {
        format!(
            "HIS019I EVENT COUNTERS INFORMATION VERSION 4\n\
             COMMAND: MODIFY HIS,B,CTR=ALL,SAMPFREQ=60000\nMODEL: 8561-701   SEQCODE: 12\n\
             COUNTER SET= BASIC\nCOUNTER IDENTIFIERS:\n  0: CYCLE COUNT\n  1: INSTRUCTION COUNT\n\
             START TIME: 2026/03/01 16:14:06 START TOD: 0000000000001000\n\
             END TIME:   2026/03/01 16:14:07 END TOD:   0000000000009000\n\
             COUNTER VALUES (HEXADECIMAL) FOR CPU 0A (CPU SPEED = 1000 CYCLES/MIC):\n  \
             0-  1 {value} 0000000000000002\n"
        )
    };
    write("000.CNT", counters("0000000000000010").as_bytes());
    write("001.CNT", counters("0000000000000005").as_bytes());
    directory
}

fn lines(profile: &Profile) -> Vec<(u16, u64, String)> {
    profile
        .samples()
        .map(|sample| {
            let sample = sample.unwrap();
            let line = profile.names.line(&sample.entry);
            (sample.cpu, sample.tod, line.symbol.into_owned())
        })
        .collect()
}

#[test]
fn a_run_streams_the_samples_that_its_report_counts() {
    let directory = report::tests::directory();
    let (profile, report) = (
        Profile::open(directory.path()).unwrap(),
        Report::read(directory.path()).unwrap(),
    );
    let mut samples = profile.samples();
    let entries: Vec<_> = samples
        .by_ref()
        .map(|sample| sample.unwrap().entry)
        .collect();
    let reported: Vec<_> = report
        .cpus
        .iter()
        .flat_map(|cpu| cpu.entries.clone())
        .collect();
    assert_eq!(entries, reported);
    let found = samples.found();
    assert_eq!((found.samples, found.blocks, found.overflow), (7, 2, 2));
    for hot in &report.hot {
        let count = lines(&profile)
            .iter()
            .filter(|line| line.2 == hot.symbol)
            .count();
        assert_eq!(count as u64, hot.samples, "{}", hot.symbol);
    }
    assert_eq!(profile.counters, report.counters);
    assert_eq!(profile.cpus(), [0, 1]);
    assert_eq!(profile.samples_of(1).count(), 2);
}

#[test]
fn samples_lie_evenly_between_the_times_of_their_blocks() {
    let directory = report::tests::directory();
    let path = directory.path().join("sdb-cpu0.bin");
    let mut record = RunRecord::read(directory.path()).unwrap();
    record.interval = 1000;
    record.started = Some(StartedRecord {
        mode: "exact".to_owned(),
        cpus: 2,
        cpu_speed: 1000,
        tod: 4096,
        guest_storage_end: 0,
        hsa_end: 0,
        machine_type: "8561".to_owned(),
        cfvn: 3,
        csvn: 6,
        below: None,
    });
    record.write(directory.path()).unwrap();
    let mut blocks = full_block(&[1, 2], 4096 * 10);
    blocks.extend(full_block(&[3, 4, 5, 6], 4096 * 12));
    blocks.extend(block(&[(7, 0), (8, INVALID), (9, 0)], 0));
    fs::write(path, blocks).unwrap();
    let profile = Profile::open(directory.path()).unwrap();
    let times = |samples: Samples<'_>| -> Vec<u64> {
        samples
            .map(|sample| sample.unwrap().tod * 2 / 4096)
            .collect()
    };
    // In half microseconds: samples are a microsecond apart unless the trailers say otherwise.
    assert_eq!(
        times(profile.samples_of(0)),
        [18, 20, 21, 22, 23, 24, 26, 30]
    );
    let all = profile.samples_of(0).with_invalid();
    assert_eq!(times(all), [18, 20, 21, 22, 23, 24, 26, 28, 30]);
    // Blocks without a time begin with the run.
    assert_eq!(times(profile.samples_of(1)), [4, 6]);
    let order: Vec<u16> = profile
        .by_time()
        .map(|sample| sample.unwrap().cpu)
        .collect();
    assert_eq!(order, [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(profile.by_time().found().samples, 0);
}

#[test]
fn a_collection_streams_its_sets_of_files_one_behind_the_other() {
    let directory = collection();
    let profile = Profile::open(directory.path()).unwrap();
    assert_eq!(profile.title, "SYSHIS20260301.161406");
    // No CPU that was sampled in the second set has cycles.
    let doubt = "the files do not say the sampling interval of set 001: it is taken to be 1,000,000 cycles, as before";
    assert_eq!(profile.doubts, [doubt]);
    // 60,000 samples a minute are one every 1,000 microseconds.
    assert_eq!(
        (profile.pace.interval, profile.pace.speed),
        (1_000_000, 1000)
    );
    assert_eq!(profile.machine_type, "8561");
    let line = |cpu, tod, name: &str| (cpu, tod, name.to_owned());
    assert_eq!(
        lines(&profile),
        [
            line(0, 6144, "g"),
            line(0, 8192, "inner"),
            line(0, 12288, "inner"),
            line(10, 10000, "(unknown address)")
        ]
    );
    let [counters] = &profile.counters[..] else {
        panic!("{:?}", profile.counters);
    };
    assert_eq!(
        (counters.cpu, counters.set, counters.level),
        (10, 1, Level::Machine)
    );
    assert_eq!(counters.values, [0x15, 4]);
}

#[test]
fn one_of_several_collections_is_named() {
    let directory = collection();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("SYSHIS20260302.000000.000.SMP.1"), full_block(&[1], 5)).unwrap();
    let error = format!("{:#}", Profile::open(directory.path()).unwrap_err());
    assert!(
        error.contains("2 collections") && error.contains("SYSHIS20260301.161406"),
        "{error}"
    );
    for name in ["SYSHIS20260302.000000", "SYSHIS20260302.000000.000.SMP.1"] {
        let profile = Profile::open(&path(name)).unwrap();
        assert_eq!(profile.cpus(), [1], "{name}");
        assert!(profile.doubts[0].contains("MAP is missing"));
    }
}

#[test]
fn a_folder_without_a_profile_is_refused_with_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let error = format!("{:#}", Profile::open(directory.path()).unwrap_err());
    assert!(
        error.contains("run.json") && error.contains("SMP.cpu"),
        "{error}"
    );
    let directory = collection();
    let path = directory.path().join("SYSHIS20260301.161406.001.MAP");
    fs::write(&path, b"no map").unwrap();
    let error = format!("{:#}", Profile::open(directory.path()).unwrap_err());
    assert!(error.contains("001.MAP"), "{error}");
}

#[test]
fn a_damaged_file_of_samples_is_counted_and_the_others_are_read() {
    let directory = collection();
    let path = directory.path().join("SYSHIS20260301.161406.000.SMP.00");
    let read = || {
        let profile = Profile::open(directory.path()).unwrap();
        let mut samples = profile.samples();
        (samples.by_ref().count(), samples.found().malformed)
    };
    let whole = read().0;
    fs::remove_file(&path).unwrap();
    let (others, malformed) = read();
    assert!(others > 0 && others < whole);
    fs::write(&path, b"no blocks").unwrap();
    assert_eq!(read(), (others, malformed + 1));
}

#[test]
fn a_run_without_symbols_has_samples_without_names() {
    let directory = report::tests::directory();
    fs::remove_file(directory.path().join(SYMBOLS)).unwrap();
    let profile = Profile::open(directory.path()).unwrap();
    assert!(profile.doubts[0].contains("symbols.txt is missing"));
    assert_eq!(lines(&profile)[0].2, "(unknown address)");
}
