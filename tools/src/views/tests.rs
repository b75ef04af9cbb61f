//! What holds for all views of a folder.

use std::{fs, path::Path};

use cpumf::sampling::block::{SampleDataBlock, Trailer};
use link::data::Level;
use serde_json::{Value, json};
use zerocopy::{FromBytes, IntoBytes};

use super::*;
use crate::{
    computer::progress::Progress,
    folder::{
        COUNTERS, EVENTS, PLACES, RECORD, SYMBOLS,
        record::{LoopRecord, ProgressRecord, RunRecord, StartedRecord, TracedRecord, TrapsRecord},
        sdb_name, stacks_name,
    },
    formats::{counters::tests::payload, samples::tests::block},
    report::{
        Report,
        tests::{directory, with_stacks},
    },
};

/// Every view of a run, with what it is.
fn all(directory: &Path) -> Vec<(&'static str, String)> {
    let report = Report::read(directory).unwrap();
    let page = directory.join("page.html");
    html::write(directory, Some(directory), &page, &Progress::Silent).unwrap();
    let (look, _) = top::top(Some(directory), true, std::time::Duration::ZERO).unwrap();
    let difference = diff::compare(directory, directory, Progress::Silent).unwrap();
    let mut views = vec![
        ("table", table::text(&report)),
        ("JSON", json::text(&report).unwrap()),
        ("page", fs::read_to_string(&page).unwrap()),
        ("top", look.unwrap()),
        ("diff", diff::text::text(&difference)),
        ("diff in JSON", diff::json::text(&difference).unwrap()),
    ];
    for to in export::To::ALL {
        let file = directory.join(to.file_name());
        export::export(directory, to, Some(&file), Progress::Silent).unwrap();
        let bytes = fs::read(&file).unwrap();
        views.push((to.file_name(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    views
}

/// Sets each number to the largest that its field can have.
fn set_to_most(record: &mut Value, place: &str) {
    let places: Vec<String> = match record.pointer(place) {
        Some(Value::Array(values)) => (0..values.len()).map(|at| at.to_string()).collect(),
        Some(Value::Object(fields)) => fields.keys().cloned().collect(),
        Some(Value::Number(_)) => {
            for most in [u64::MAX, u32::MAX.into(), u16::MAX.into(), u8::MAX.into()] {
                *record.pointer_mut(place).unwrap() = json!(most);
                if serde_json::from_value::<RunRecord>(record.clone()).is_ok() {
                    return;
                }
            }
            panic!("{place} takes no number");
        }
        _ => return,
    };
    for below in places {
        set_to_most(record, &format!("{place}/{below}"));
    }
}

#[test]
fn a_run_whose_numbers_are_as_large_as_can_be_has_every_view() {
    let directory = directory();
    let path = directory.path();
    let mut record = RunRecord::read(path).unwrap();
    let started = json!({"mode": "exact", "cpus": 2, "cpu_speed": 1000, "tod": 1, "guest_storage_end": 1, "hsa_end": 2,
        "machine_type": "8561", "cfvn": 3, "csvn": 6});
    record.started = Some(serde_json::from_value::<StartedRecord>(started).unwrap());
    record.progress = Some(ProgressRecord::default());
    record.traps = vec![TrapsRecord::default(); 2];
    // Two of one cause, and others.
    record.paths = (0..4_u8)
        .map(|number| TrapsRecord {
            cause: 1 + number / 2,
            ..TrapsRecord::default()
        })
        .collect();
    record.loops = vec![LoopRecord {
        cpu: 0,
        class: 1,
        code: 0,
        psw_mask: 0,
        psw_address: 0,
    }];
    record.tracing.traces = vec![TracedRecord::default(); 2];
    let mut value = serde_json::to_value(&record).unwrap();
    set_to_most(&mut value, "");
    let record: RunRecord = serde_json::from_value(value).unwrap();
    assert_eq!(record.totals[1].samples_lost, u64::MAX);
    record.write(path).unwrap();
    // Counters with the highest number, and sums beyond 64 bits.
    let mut counters = Vec::new();
    for cpu in [0, 1, u16::MAX] {
        for (set, first) in [(1, 0), (2, 32), (0, u16::MAX)] {
            let values = [u64::MAX, u64::MAX];
            counters.extend(payload(cpu, Level::Machine, set, first, &values));
        }
    }
    fs::write(path.join(COUNTERS), counters).unwrap();
    // Blocks from the first to the last moment of the clock.
    let mut blocks = Vec::new();
    for time in [1, u64::MAX] {
        let bytes = block(&[(0, 0), (u64::MAX, 0)], u64::MAX);
        let mut block = SampleDataBlock::read_from_bytes(&bytes).unwrap();
        block.trailer = Trailer {
            flags: 0xA0,
            timestamp: (u128::from(time) << 56).to_be_bytes(),
            ..block.trailer
        };
        blocks.extend(block.as_bytes());
    }
    fs::write(path.join(sdb_name(0)), &blocks).unwrap();
    fs::write(path.join(sdb_name(u16::MAX)), &blocks).unwrap();
    for (what, view) in all(path) {
        assert!(!view.is_empty(), "{what}");
    }
}

#[test]
fn what_is_not_a_regular_file_is_named_and_not_read() {
    for name in [
        RECORD,
        SYMBOLS,
        COUNTERS,
        PLACES,
        EVENTS,
        &sdb_name(0),
        &stacks_name(0),
    ] {
        let directory = with_stacks();
        let path = directory.path().join(name);
        let _ = fs::remove_file(&path);
        // Reading it would give no bytes; reading a FIFO or /dev/zero would not end.
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        let made = match name {
            EVENTS => trace::show(directory.path(), trace::Form::Text, &mut Vec::new()),
            _ => Report::read(directory.path()).map(drop),
        };
        let mut out = Vec::new();
        let dumped = dump::dump(&path, dump::Form::Text, Progress::Silent, &mut out);
        for done in [made, dumped] {
            let error = format!("{:#}", done.unwrap_err());
            assert!(error.contains("not a regular file"), "{error}");
            assert!(error.contains(name), "{error}");
        }
    }
}

#[test]
fn every_view_says_what_was_lost_and_why_it_is_in_doubt() {
    let directory = directory();
    let mut record = RunRecord::read(directory.path()).unwrap();
    // The trailers of CPU 0 count two samples, and nothing else does.
    record.totals.iter_mut().for_each(|of| of.samples_lost = 0);
    record.link.not_kept.console_bytes = 17;
    record.tracing.lost_in_machine = 18;
    record.tracing.lost_on_link = 19;
    record.loops = vec![LoopRecord {
        cpu: 1,
        class: 1,
        code: 0x1004,
        psw_mask: 0,
        psw_address: 0x2000,
    }];
    record.write(directory.path()).unwrap();
    let views = all(directory.path());
    for (what, view) in views
        .iter()
        .filter(|(what, _)| ["table", "page", "top"].contains(what))
    {
        let lines = view.replace('\n', " ");
        for said in [
            "17 bytes of the guest's console",
            "18 traced events",
            "19 traced events",
            "CPU 1 takes external interruptions 1004 without end",
        ] {
            assert!(lines.contains(said), "{said} in {what}:\n{view}");
        }
        let lost = match *what {
            "table" => "2 lost",
            _ => "2 samples found no room",
        };
        assert!(lines.contains(lost), "{lost} in {what}:\n{view}");
    }
}
