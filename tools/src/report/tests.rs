use std::fs;

use super::*;
use crate::{
    calls::stacks,
    counts::tests::add,
    folder::{
        CONSOLE, SYMBOLS,
        record::{End, GuestEnd, TotalsRecord, tests::record},
        stacks_name,
    },
    formats::{
        counters::tests::payload,
        samples::tests::{INVALID, LIMITED as LIMITED_BIT, WAIT as WAIT_BIT, block},
    },
    symbols::{LIMITED, UNKNOWN, WAIT},
};
use link::{
    data::{COPROCESSOR_GROUP, Level},
    stack::{End as StackEnd, StackHead},
};

/// A directory as a run of two CPUs leaves it.
pub(crate) fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    let mut record = record();
    record.cpus = 2;
    record.end = End::Guest(GuestEnd {
        cpu: 0,
        reason: 1,
        psw_mask: 2 << 48,
        psw_address: 0xFFF,
        code: 0,
    });
    record.totals = vec![
        TotalsRecord {
            cpu: 0,
            samples_taken: 5,
            samples_lost: 2,
            guest_instructions: 1000,
            ..TotalsRecord::default()
        },
        TotalsRecord {
            cpu: 1,
            samples_taken: 2,
            ..TotalsRecord::default()
        },
    ];
    record.write(directory.path()).unwrap();
    write(
        SYMBOLS,
        b"0000000000200000\t0000000000200010\tg\tstart\n0000000000200020\t0000000000200040\tg\tinner\n",
    );
    write(
        "sdb-cpu0.bin",
        &block(
            &[
                (0x20_0020, 0),
                (0x20_0024, 0),
                (0x20_0000, 0),
                (0x99_0000, 0),
                (0x20_0000, WAIT_BIT),
            ],
            2,
        ),
    );
    write("sdb-cpu1.bin", &block(&[(0x20_003F, 0), (0x20_0000, 0)], 0));
    let mut counters = Vec::new();
    for cpu in 0..2 {
        counters.extend(payload(
            cpu,
            Level::Machine,
            1,
            0,
            &[1000 + u64::from(cpu), 500],
        ));
        counters.extend(payload(cpu, Level::Machine, 2, 32, &[10, 5]));
        counters.extend(payload(cpu, Level::Guest, 1, 0, &[77, 88]));
        let aes = [7 * u64::from(cpu), 9, 0, 0];
        counters.extend(payload(cpu, Level::Machine, 3, 76, &aes));
        counters.extend(payload(cpu, Level::Machine, 0, 128, &[0, 7, 70, 0]));
        counters.extend(payload(cpu, Level::Machine, 5, 448, &[300, 20, 0]));
        let group = [0, 0, 0, 0, 40 + u64::from(cpu), 9, 0, 0];
        let set = COPROCESSOR_GROUP;
        counters.extend(payload(cpu, Level::Machine, set, 0, &group));
    }
    write(COUNTERS, &counters);
    directory
}

/// The same, of a run that followed call stacks: two samples of `inner` were called by `start`, the other three of CPU 0
/// by nobody, and those of CPU 1 have no stacks.
pub(crate) fn with_stacks() -> tempfile::TempDir {
    let directory = directory();
    let stack = |sample: u64, address: u64, end: StackEnd, returns: &[u64]| {
        let head = StackHead {
            sample: sample.into(),
            address: address.into(),
            count: (returns.len() as u16).into(),
            end: end as u8,
            ..StackHead::default()
        };
        stacks::bytes(&head, returns)
    };
    let file = [
        stack(0, 0x20_0020, StackEnd::Complete, &[0x20_0006]),
        stack(1, 0x20_0024, StackEnd::Complete, &[0x20_000E]),
        stack(2, 0x20_0000, StackEnd::Complete, &[]),
        stack(3, 0x99_0000, StackEnd::Storage, &[]),
        stack(4, 0x20_0000, StackEnd::Order, &[]),
    ];
    fs::write(directory.path().join(stacks_name(0)), file.concat()).unwrap();
    directory
}

#[test]
fn a_routine_has_the_samples_of_what_it_had_called() {
    let directory = with_stacks();
    let report = Report::read(directory.path()).unwrap();
    let calls = report.calls.as_ref().unwrap();
    let lines: Vec<(&str, u64, u64)> = calls
        .by_inclusive()
        .into_iter()
        .map(|(routine, shares)| (&routine.symbol[..], shares.inclusive, shares.exclusive))
        .collect();
    let expected = [
        ("start", 4, 2),
        ("inner", 3, 3),
        (UNKNOWN, 1, 1),
        (WAIT, 1, 1),
    ];
    assert_eq!(lines, expected);
    let routine = |name: &str| {
        let mut all = calls.routines.keys();
        all.find(|routine| routine.symbol == name).unwrap()
    };
    let (start, inner) = (routine("start"), routine("inner"));
    assert_eq!(calls.callers_of(inner), [(start, 2)]);
    assert_eq!(calls.callees_of(start), [(inner, 2)]);
    assert!(calls.callers_of(start).is_empty() && calls.callees_of(inner).is_empty());
    assert_eq!(calls.found.ends[&StackEnd::Complete], 3);
    assert_eq!(report.doubts, ["2 samples have no call stack"]);
}

#[test]
fn samples_are_counted_by_routine_with_lines_for_wait_and_unknown_addresses() {
    let directory = directory();
    let report = Report::read(directory.path()).unwrap();
    let lines: Vec<(&str, &str, u64)> = report
        .hot
        .iter()
        .map(|hot| (&hot.symbol[..], &hot.module[..], hot.samples))
        .collect();
    assert_eq!(
        lines,
        [
            ("inner", "g", 3),
            ("start", "g", 2),
            (UNKNOWN, "", 1),
            (WAIT, "", 1)
        ]
    );
    assert_eq!((report.taken(), report.lost(), report.blocks()), (7, 2, 2));
    assert_eq!(report.doubts, Vec::<String>::new());
    assert!((report.percent(7) - 100.0).abs() < 1e-9);
}

#[test]
fn samples_of_linux_are_counted_by_program_as_well() {
    const PROBLEM: u64 = 1 << (63 - 28);
    let directory = directory();
    assert_eq!(Report::read(directory.path()).unwrap().programs(), []);
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    let mut record = RunRecord::read(directory.path()).unwrap();
    record.is_linux = true;
    record.write(directory.path()).unwrap();
    write(
        SYMBOLS,
        "0000000000010000\t0000000000010020\tboot stage\tstartup\n\
         0000000000200000\t0000000000200010\tkernel\ta\n\
         0000000000200010\t0000000000200020\tkernel\tb\n",
    );
    let samples = block(
        &[
            (0x20_0002, 0),
            (0x20_0012, 0),
            (0x1_0000, 0),
            (0x1_0000, PROBLEM),
        ],
        0,
    );
    fs::write(directory.path().join("sdb-cpu0.bin"), samples).unwrap();
    fs::remove_file(directory.path().join("sdb-cpu1.bin")).unwrap();
    let report = Report::read(directory.path()).unwrap();
    assert!(report.doubts[0].contains("did not say where its kernel lies"));
    write(CONSOLE, "\x1Emillimeter: kernel 200000\n");
    let report = Report::read(directory.path()).unwrap();
    let lines: Vec<(String, u64)> = report
        .programs()
        .into_iter()
        .map(|hot| (hot.symbol, hot.samples))
        .collect();
    let line = |name: &str, samples| (name.to_owned(), samples);
    assert_eq!(
        lines,
        [
            line("kernel", 2),
            line("(user space)", 1),
            line("boot stage", 1)
        ]
    );
    assert!(!report.doubts.join("").contains("lies"));
}

#[test]
fn a_run_without_samples_of_its_own_shows_those_of_its_collection_run() {
    let directory = directory();
    let mut record = RunRecord::read(directory.path()).unwrap();
    record.interval = 0;
    record.collections = vec!["SYSHIS20260301.161406.".to_owned()];
    record.write(directory.path()).unwrap();
    for cpu in 0..2 {
        let own = directory.path().join(sdb_name(cpu));
        // The second half is in another set of files.
        let bytes = fs::read(&own).unwrap();
        let name = format!("SYSHIS20260301.161406.00{cpu}.SMP.00");
        fs::write(directory.path().join(name), bytes).unwrap();
        fs::remove_file(own).unwrap();
    }
    let report = Report::read(directory.path()).unwrap();
    let [cpu] = &report.cpus[..] else {
        panic!("{:?}", report.cpus);
    };
    assert_eq!((cpu.cpu, cpu.blocks, report.taken()), (0, 2, 7));
    assert_eq!(
        (&report.hot[0].symbol[..], report.hot[0].samples),
        ("inner", 3)
    );
    assert_eq!(report.doubts, Vec::<String>::new());
    let text = crate::views::table::text(&report);
    for expected in [
        "512M of storage, samples of HIS",
        "inner              g             3    42.86",
        "samples: 7 taken, 2 lost, in 2 blocks, by HIS in SYSHIS20260301.161406",
    ] {
        assert!(text.contains(expected), "{expected}\nin\n{text}");
    }
    // The newest of two collections is shown.
    let name = "SYSHIS20260302.161406.000.SMP.00";
    fs::write(directory.path().join(name), block(&[(0, 0)], 0)).unwrap();
    record.collections.push("SYSHIS20260302.161406.".to_owned());
    record.write(directory.path()).unwrap();
    let report = Report::read(directory.path()).unwrap();
    assert_eq!((report.taken(), report.hot.len()), (1, 1));
    assert_eq!(report.doubts, Vec::<String>::new());
}

#[test]
fn exact_counts_of_linux_without_samples_say_what_names_them() {
    let directory = directory();
    add(directory.path(), 0, &[&[(0x20_0000, 2, 5)]]);
    let doubts = || {
        let report = Report::read(directory.path()).unwrap();
        report.doubts.join("\n")
    };
    let mut record = RunRecord::read(directory.path()).unwrap();
    record.is_linux = true;
    record.write(directory.path()).unwrap();
    assert!(!doubts().contains("--profile"));
    record.interval = 0;
    record.write(directory.path()).unwrap();
    assert!(doubts().contains("--profile --stacks"), "{}", doubts());
}

#[test]
fn limited_samples_have_a_line_of_their_own() {
    let directory = directory();
    let samples = block(&[(0, LIMITED_BIT), (0x20_0020, 0), (0, LIMITED_BIT)], 0);
    fs::write(directory.path().join("sdb-cpu1.bin"), samples).unwrap();
    let report = Report::read(directory.path()).unwrap();
    let limited = report.hot.iter().find(|hot| hot.symbol == LIMITED);
    assert_eq!(limited.map(|hot| hot.samples), Some(2));
}

#[test]
fn a_report_of_damaged_files_says_what_it_doubts() {
    let directory = directory();
    let path = |name: &str| directory.path().join(name);
    fs::remove_file(path(SYMBOLS)).unwrap();
    let mut sdb = fs::read(path("sdb-cpu1.bin")).unwrap();
    sdb[2 * 32 + 1] = 1;
    sdb[2 * 32..2 * 32 + 8].copy_from_slice(&(1u64 << 48 | INVALID).to_be_bytes());
    sdb.push(0);
    fs::write(path("sdb-cpu1.bin"), sdb).unwrap();
    fs::write(path(COUNTERS), [0; 5]).unwrap();
    let report = Report::read(directory.path()).unwrap();
    let doubts = report.doubts.join("\n");
    for expected in [
        "symbols.txt is missing",
        "counters.bin ends",
        "1 sample-data blocks",
        "1 samples are marked",
        "stored 7 samples, and 8 arrived",
    ] {
        assert!(doubts.contains(expected), "{expected} in {doubts}");
    }
    assert_eq!(report.hot[0].symbol, UNKNOWN);
}
