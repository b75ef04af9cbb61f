//! Files for the tests of dumps.

use std::{fs, path::PathBuf};

use record::{
    CounterValues, Ebcdic, Moment, SetType,
    monitor::{ProcessorCounters, Records as MonitorRecords},
    smf::{Deltas, Envelope, Records},
};
use tempfile::TempDir;

use super::Form;
use crate::computer::progress::Progress;

/// What a dump of these bytes prints, and the error that ends it, if one does.
pub(super) fn dump(bytes: &[u8], form: Form) -> (String, Option<String>) {
    dump_named("file", bytes, form)
}

/// The same for a file with a name.
pub(super) fn dump_named(name: &str, bytes: &[u8], form: Form) -> (String, Option<String>) {
    let directory = TempDir::new().unwrap();
    let file: PathBuf = directory.path().join(name);
    fs::write(&file, bytes).unwrap();
    let mut out = Vec::new();
    let error = super::dump(&file, form, Progress::Silent, &mut out).err();
    let text = String::from_utf8(out).unwrap();
    // Without the file's name, which varies.
    let message = error.map(|error| {
        let message = format!("{error:#}");
        message.replace(&format!("{}: ", file.display()), "")
    });
    (text, message)
}

/// Whether a line of a text dump has these words in this order.
pub(super) fn has(text: &str, words: &str) -> bool {
    let wanted: Vec<&str> = words.split_whitespace().collect();
    text.lines().any(|line| {
        let found: Vec<&str> = line.split_whitespace().collect();
        found == wanted
    })
}

pub(super) fn smf_record(cpu: u16) -> Vec<u8> {
    let moment = Moment {
        year: 2026,
        day: 325,
        hundredths: 360_000,
    };
    let envelope = Envelope::new(Ebcdic::new("MILL"), moment);
    let deltas = Deltas {
        run_start: 0xDF00_0000_0000_0000,
        written: 0xDF00_0000_0000_0001,
        cpu,
        class: 0,
        zcbp: false,
        speed: 1000,
        machine_type: Ebcdic::new("8561"),
        model: Ebcdic::new("T01"),
        versions: [0, 3, 6],
        lost: false,
        lost_mt: false,
        sequence_code: Ebcdic::new("0000000000035DC7"),
        core: cpu,
    };
    let sets = [
        CounterValues::new(SetType::BASIC, &[1000, 2000]),
        CounterValues::new(SetType::EXTENDED, &[1 << 40]),
    ];
    let mut out = vec![0; 1000];
    let mut records = Records::deltas(&envelope, &deltas, &sets);
    let length = records.write(&mut out).unwrap().unwrap();
    out.truncate(length);
    out
}

/// A record of type 30: only its header is known.
pub(super) fn other_record() -> Vec<u8> {
    let mut record = vec![0, 24, 0, 0, 0x5E, 30, 0, 0, 0, 1, 0x01, 0x26, 0x32, 0x5F];
    record.resize(24, 0x40);
    record
}

pub(super) fn in_block(records: &[Vec<u8>]) -> Vec<u8> {
    let length = 4 + records.iter().map(Vec::len).sum::<usize>();
    let mut block = (length as u16).to_be_bytes().to_vec();
    block.extend([0, 0]);
    block.extend(records.concat());
    block
}

pub(super) fn monitor_records(cpu: u16) -> Vec<u8> {
    let data = ProcessorCounters {
        written: 0xDF00_0000_0000_0000,
        cpu,
        coprocessor_group: false,
        lost: 1,
        lifetime: 2,
        speed: 1000,
        versions: [3, 6],
        hardware_versions: [1, 1],
        harvested: 0xDF00_0000_0000_0000,
        thread: 0,
        core: cpu,
    };
    let sets = [
        CounterValues::new(SetType::BASIC, &[1, 2, 3, 4, 5, 6]),
        CounterValues::new(SetType::PROBLEM_STATE, &[7, 8]),
        CounterValues::new(SetType::CRYPTO_ACTIVITY, &[9; 20]),
    ];
    let mut records = MonitorRecords::new(&data, &sets);
    let (mut all, mut out) = (Vec::new(), vec![0; 64 + 20 * 8]);
    while let Some(length) = records.write(&mut out).unwrap() {
        all.extend(&out[..length]);
    }
    all
}

pub(super) const COUNTERS: &str = "\
HIS019I EVENT COUNTERS INFORMATION VERSION 4
FILE NAME: SYSHIS20261121.100000.000.CNT
COMMAND: MODIFY HIS,B,CTRONLY
LOSS OF COUNTER DATA ALERT: NO
STATE CHANGE: NO
MODEL: 8561-T01  SEQCODE: 0000000000035DC7
COUNTER VERSION NUMBER 1: 3   COUNTER VERSION NUMBER 2: 6
COUNTER SET= BASIC
COUNTER IDENTIFIERS:
  0: CYCLE COUNT
  1: INSTRUCTION COUNT
START TIME: 2026/11/21 10:00:00 START TOD: DF00000000000000
END TIME:   2026/11/21 10:00:01 END TOD:   DF00000000000001
COUNTER VALUES (HEXADECIMAL) FOR CPU 00 (CPU SPEED = 1000 CYCLES/MIC):
  0-  1 00000000000003E8 0000000000000002
";

pub(super) const MAP: &str = "\
I SYS GUEST
MN    workload000000000020000000000000002FFFFF
";
