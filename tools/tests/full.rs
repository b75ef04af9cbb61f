//! Files that cannot grow, as on a full disk: they hold only whole blocks and records.
//!
//! A limit of the size of files stands for the disk: like a full disk it takes the first part of a block and refuses
//! the rest. The limit holds for a process, so each test runs again in a process that has it.

use std::{env, fs, path::Path, process::Command};

use measure::{
    computer::progress::Progress,
    folder::record::RunRecord,
    machine::{
        collect::Collector,
        failure::ImageSymbols,
        his_files::{HisFiles, Taken},
        log::LogReader,
    },
    symbols::SymbolTable,
    views::{
        dump::{self, Form},
        json,
    },
};
use zerocopy::{FromZeros, IntoBytes};
use {
    cpumf::sampling::block::{BASIC_FORMAT, SampleDataBlock},
    link::{
        data::SampleHead,
        files::{FileHead, Kind, parse},
        frame::{Channel, Frame},
    },
};

/// Tells a test that it has the limit.
const LIMITED: &str = "MEASURE_TEST_HAS_A_LIMIT";

/// Runs the test of this name in a process with a limit. The limit is not a multiple of a block, in any unit of the
/// shell. Returns false in the process with the limit.
fn limited(test: &str) -> bool {
    if env::var_os(LIMITED).is_some() {
        return false;
    }
    // Without the trap the signal would end the process before it gets the error.
    let script = "trap '' XFSZ; ulimit -f 41 && exec \"$0\" --exact \"$1\" --nocapture";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(env::current_exe().unwrap())
        .arg(test)
        .env(LIMITED, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaint}");
    assert!(said.contains("1 passed"), "{said}");
    true
}

/// The beginning of 2026.
const TOD: u64 = 46_021 * 86_400_000_000 * 4096;

fn block() -> Vec<u8> {
    let mut block = SampleDataBlock::new_zeroed();
    for entry in &mut block.entries {
        entry.head = (u64::from(BASIC_FORMAT) << 48).into();
    }
    block.trailer.flags = 0x80;
    block.trailer.bsdes = 32.into();
    block.trailer.timestamp[..8].copy_from_slice(&TOD.to_be_bytes());
    block.as_bytes().to_vec()
}

/// The number of records of this kind in a dump of the file.
fn dumped(file: &Path, kind: &str) -> usize {
    let mut out = Vec::new();
    dump::dump(file, Form::Json, Progress::Silent, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let kind = format!("{{\"kind\":\"{kind}\"");
    text.lines().filter(|line| line.starts_with(&kind)).count()
}

/// Appends the same bytes to a file of a collection run until they are refused. Returns how often they were written.
fn until_refused(directory: &Path, kind: Kind, bytes: &[u8], name: &str) -> usize {
    let mut his = HisFiles::new(directory, Some(SymbolTable::default().into()));
    his.commanded("F HIS,B");
    let payload = |kind: Kind, bytes: &[u8]| {
        let head = FileHead {
            kind: kind as u8,
            run: TOD.into(),
            ..FileHead::default()
        };
        [head.as_bytes(), bytes].concat()
    };
    assert!(matches!(
        his.take(&payload(Kind::Begin, b".")),
        Taken::Begun(_)
    ));
    let mut written = 0;
    loop {
        match his.take(&payload(kind, bytes)) {
            Taken::Written => written += 1,
            Taken::NotWritten { answer, why } => {
                assert_eq!(parse(&answer).unwrap().1, Kind::NotWritten);
                assert!(
                    why.contains(name) && why.contains("File too large"),
                    "{why}"
                );
                return written;
            }
            other => panic!("{other:?}"),
        }
        assert!(written < 1000, "there is no limit");
    }
}

#[test]
fn a_collection_run_ends_behind_the_last_whole_block_and_record() {
    if limited("a_collection_run_ends_behind_the_last_whole_block_and_record") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let name = "SYSHIS20260101.000000.000.SMP.00";
    let written = until_refused(directory.path(), Kind::Samples, &block(), name);
    assert!(written > 0);
    let file = directory.path().join(name);
    assert_eq!(fs::read(&file).unwrap(), block().repeat(written));
    assert_eq!(dumped(&file, "trailer entry"), written);
    assert_eq!(dumped(&file, "basic-sampling data entry"), 126 * written);
    // A record of type 30 of a thousand bytes.
    let mut record = vec![
        0x03, 0xE8, 0, 0, 0x5E, 30, 0, 0, 0, 1, 0x01, 0x26, 0x32, 0x5F,
    ];
    record.resize(1000, 0x40);
    let name = "SYSHIS20260101.000000.000.SMF";
    let written = until_refused(directory.path(), Kind::Smf, &record, name);
    let file = directory.path().join(name);
    assert_eq!(fs::read(&file).unwrap(), record.repeat(written));
    let kind = "SMF type 30, not described here";
    assert_eq!(dumped(&file, kind), written);
}

#[test]
fn a_report_that_finds_no_room_leaves_the_earlier_one() {
    if limited("a_report_that_finds_no_room_leaves_the_earlier_one") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.json");
    json::save("earlier", &file).unwrap();
    let error = json::save(&"x".repeat(1 << 16), &file).unwrap_err();
    let error = format!("{error:#}");
    for words in ["report.json", "--json", "File too large"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!(fs::read(&file).unwrap(), b"earlier");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn the_blocks_of_a_run_end_behind_the_last_whole_one_and_the_others_are_kept() {
    if limited("the_blocks_of_a_run_end_behind_the_last_whole_one_and_the_others_are_kept") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let record = serde_json::json!({
        "version": "0", "guest": "g", "guest_file": "/g", "mode": "exact", "cpus": 2, "storage": 0,
        "interval": 1000, "rtc": "now", "qemu": "", "arguments": [], "started": null,
        "end": {"how": "running"}, "totals": [],
        "link": {"frames": 0, "bad_frames": 0, "bad_payloads": 0, "blocks_missing": 0, "frames_sent": null},
    });
    let record: RunRecord = serde_json::from_value(record).unwrap();
    let (image, log) = (ImageSymbols::default(), LogReader::new(None));
    let mut collector = Collector::create(directory.path(), record, "", image, log).unwrap();
    let mut put = |cpu: u16, sequence: usize| {
        let head = SampleHead {
            cpu: cpu.into(),
            level: 1.into(),
            sequence: u32::try_from(sequence).unwrap().into(),
        };
        let payload = [head.as_bytes(), &block()].concat();
        let channel = Channel::SampleData;
        collector.frame(Frame {
            channel,
            payload: &payload,
        })
    };
    put(1, 0).unwrap();
    let mut written = 0;
    let error = loop {
        match put(0, written) {
            Ok(_) => written += 1,
            Err(error) => break error.to_string(),
        }
        assert!(written < 1000, "there is no limit");
    };
    for words in ["sdb-cpu0.bin", "File too large", "is kept"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    let read = |name: &str| fs::read(directory.path().join(name)).unwrap();
    assert!(written > 0);
    assert_eq!(read("sdb-cpu0.bin"), block().repeat(written));
    assert_eq!(read("sdb-cpu1.bin"), block());
    // The report has them all, without a doubt.
    let report = measure::report::Report::read(directory.path()).unwrap();
    assert_eq!(report.taken(), 126 * (written as u64 + 1));
    let doubts = report.doubts.join("\n");
    assert!(!doubts.contains("damaged"), "{doubts}");
}
