//! The perf of this computer reports an exported profile with the same symbols and counts.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use cpumf::sampling::block::{BASIC_FORMAT, SampleDataBlock};
use measure::{
    building::install::{self, Lack},
    computer::progress::Progress,
    folder::record::RunRecord,
    profile::Profile,
    views::export::{self, To},
};
use zerocopy::{FromZeros, IntoBytes};

/// W and P of an entry.
const WAIT: u64 = 1 << (63 - 27);
const PROBLEM: u64 = 1 << (63 - 28);

/// The program parameter of a process of Linux.
const fn pid(number: u64) -> u64 {
    0x8000_0000 << 32 | number
}

/// A block with these samples: state and address-space number, address, program parameter, and their number.
fn block(samples: &[(u64, u64, u64, usize)]) -> Vec<u8> {
    let mut block = SampleDataBlock::new_zeroed();
    let each = samples
        .iter()
        .flat_map(|sample| std::iter::repeat_n(sample, sample.3));
    for (entry, (state, address, parameter, _)) in block.entries.iter_mut().zip(each) {
        entry.head = (u64::from(BASIC_FORMAT) << 48 | state).into();
        entry.instruction_address = (*address).into();
        entry.guest_program_parameter = (*parameter).into();
    }
    block.trailer.bsdes = 32.into();
    block.as_bytes().to_vec()
}

fn run(directory: &Path, is_linux: bool) {
    let record = serde_json::json!({
        "version": "0", "guest": "my guest", "guest_file": "/g", "is_linux": is_linux, "mode": "exact",
        "cpus": 2, "storage": 0, "interval": 1000, "rtc": "now", "qemu": "", "arguments": [],
        "started": null, "end": {"how": "running"}, "totals": [],
        "link": {"frames": 0, "bad_frames": 0, "bad_payloads": 0, "blocks_missing": 0, "frames_sent": null},
    });
    let record: RunRecord = serde_json::from_value(record).unwrap();
    record.write(directory).unwrap();
}

/// A guest of two programs that also waits. One program lies on both sides of the other.
fn bare(directory: &Path) {
    run(directory, false);
    let symbols = "0000000000200000\t0000000000200010\tboot\tstart\n\
                   0000000000200010\t0000000000200801\tworkload\t<alloc::vec::Vec<u32> as core::ops::Drop>::drop\n\
                   0000000000201000\t0000000000201100\tboot\tbehind it\n\
                   0000000000300000\t0000000000300002\tworkload\tlittle\n";
    fs::write(directory.join("symbols.txt"), symbols).unwrap();
    let first = [
        (0, 0x20_0000, 0, 7),
        (0, 0x20_0800, 0, 12),
        (PROBLEM, 0x20_0010, 0, 9),
        (WAIT, 0x20_0010, 0, 5),
    ];
    fs::write(directory.join("sdb-cpu0.bin"), block(&first)).unwrap();
    let second = [
        (0, 0x20_1050, 0, 3),
        (0, 0x30_0001, 0, 2),
        (0, 0x40_0000, 0, 1),
    ];
    fs::write(directory.join("sdb-cpu1.bin"), block(&second)).unwrap();
}

/// A Linux that was moved, with modules and processes.
fn linux(directory: &Path) {
    run(directory, true);
    let symbols = "0000000000010000\t0000000000010020\tboot stage\tstartup_normal\n\
                   0000000000100000\t0000000000100040\tkernel\tschedule\n\
                   0000000000100040\t0000000000100080\tkernel\tdo_it\n\
                   0000000000900000\t0000000000900080\tkernel\tinit_it\n";
    fs::write(directory.join("symbols.txt"), symbols).unwrap();
    let console = "\x1Emillimeter: kernel 3ffe0000000\n\x1Emillimeter: process 7 perf\n\
                   \x1Emillimeter: module ext4 8192 0x3ff80000000\n";
    fs::write(directory.join("console.txt"), console).unwrap();
    let samples = [
        (0, 0x3FF_E000_0000, pid(7), 7),
        (0, 0x3FF_E000_0041, pid(8), 12),
        (0, 0x3FF_E080_0004, 0, 3),
        (0, 0x3FF_8000_1FFF, pid(7), 5),
        (0, 0x1_0002, 0, 4),
        (PROBLEM, 0x1_0002, pid(7), 9),
        (PROBLEM, 0x3FF_E000_0000, pid(8), 2),
    ];
    fs::write(directory.join("sdb-cpu0.bin"), block(&samples)).unwrap();
}

/// A collection of two address spaces with private areas at the same addresses.
fn collection(directory: &Path) {
    let put = |name: &str, bytes: &[u8]| {
        fs::write(
            directory.join(format!("SYSHIS20260301.161406.{name}")),
            bytes,
        )
        .unwrap();
    };
    let map = "A 0001ONE\nA 0002TWO\n\
               MN    nucleus 00000000002000000000000000200FFF\n\
               CN    section 00000000002000200000000000200040\n\
               MX0001first   00000000000010000000000000001FFF\n\
               MX0002second  00000000000010000000000000001FFF\n";
    put("000.MAP", map.as_bytes());
    let samples = [
        (1, 0x1004, 0, 8),
        (2, 0x1004, 0, 6),
        (2, 0x20_0020, 0, 3),
        (1, 0x20_0040, 0, 2),
        (1, 0x20_0041, 0, 1),
    ];
    put("000.SMP.00", &block(&samples));
}

/// Samples by symbol, as the profile names them; those without a name by address.
fn expected(directory: &Path) -> BTreeMap<String, u64> {
    let profile = Profile::open(directory).unwrap();
    let mut counts = BTreeMap::new();
    for sample in profile.samples() {
        let entry = sample.unwrap().entry;
        let line = profile.names.line(&entry);
        let name = match (&line.symbol[..], entry.problem_state()) {
            ("(unknown address)", _) => format!("{:#018x}", entry.instruction_address.get()),
            // User space has no routines; perf tells its processes apart as the report does.
            (_, true) if profile.is_linux => "(user space)".to_owned(),
            (symbol, _) => symbol.to_owned(),
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}

/// Samples by symbol, as perf reports them.
fn reported(file: &Path, home: &Path) -> BTreeMap<String, u64> {
    let output = Command::new("perf")
        .args([
            "report",
            "--stdio",
            "--fields",
            "sample,sym",
            "-t",
            "|",
            "-i",
        ])
        .arg(file)
        // perf keeps files in the home directory.
        .env("HOME", home)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut counts = BTreeMap::new();
    for line in lines.filter_map(|line| line.split_once('|')) {
        // [k] or [.] in front of a symbol means kernel or user.
        let symbol = line.1.trim();
        let symbol = symbol.get(4..).unwrap_or(symbol).to_owned();
        *counts.entry(symbol).or_default() += line.0.trim().parse::<u64>().unwrap();
    }
    counts
}

#[test]
fn perf_reports_the_symbols_of_an_exported_profile_with_the_same_counts() {
    let look = || {
        let lack = Lack {
            what: "perf".to_owned(),
            packages: vec!["linux-perf"],
            otherwise: "a perf in the PATH".to_owned(),
        };
        let is_there = install::in_path("perf").is_some();
        if is_there { Vec::new() } else { vec![lack] }
    };
    if let Err(error) = install::provide(look, &Progress::Silent) {
        eprintln!("not tested, because perf is missing: {error:#}");
        return;
    }
    for make in [bare, linux, collection] {
        let directory = tempfile::tempdir().unwrap();
        make(directory.path());
        export::export(directory.path(), To::Perf, None, Progress::Silent).unwrap();
        let file = directory.path().join("perf.data");
        let counts = expected(directory.path());
        assert!(counts.len() >= 4, "{counts:?}");
        assert_eq!(reported(&file, directory.path()), counts);
    }
}
