//! Exact counts as Callgrind and LCOV have them: the sums are those of the report, and callgrind_annotate reads them.

use std::{fs, process};

use link::counts::{CountEntry, DAT, PROBLEM};
use quick_xml::events::Event;

use super::*;
use crate::{
    counts::tests::{add, add_calls, calls, entry, payload},
    folder::{
        MAPPED, OBJECTS, SYMBOLS,
        record::{RunRecord, TotalsRecord},
    },
    report::Report,
    symbols::{SymbolTable, lines::tests::guest},
};

/// A run of a guest with source lines. `outer` is called twice, and its second half is a loop; `idle` is never executed.
/// Two instructions are in no routine.
fn folder() -> tempfile::TempDir {
    let directory = report::tests::directory();
    let path = directory.path().join("guest");
    fs::write(&path, guest()).unwrap();
    let bytes = guest();
    let elf = object::File::parse(&bytes[..]).unwrap();
    let mut record = RunRecord::read(directory.path()).unwrap();
    let symbols = SymbolTable::from_elf(&elf, &record.guest);
    fs::write(directory.path().join(SYMBOLS), symbols.to_text()).unwrap();
    record.guest_file = path;
    record.totals = vec![TotalsRecord {
        guest_instructions: 46,
        ..TotalsRecord::default()
    }];
    record.write(directory.path()).unwrap();
    let runs = [(0x1000, 4, 2), (0x1008, 3, 12), (0x9000, 2, 1)];
    add(directory.path(), 0, &[&runs]);
    let of_outer = [
        calls(0x1004, 0x1000, (1, 20)),
        calls(0x1004, 0x9000, (2, 2)),
        // By an interruption.
        calls(0, 0x1000, (1, 46)),
    ];
    add_calls(directory.path(), 0, 1, &of_outer);
    directory
}

#[test]
fn callgrind_has_the_instructions_of_each_routine_by_address_and_line() {
    let directory = folder();
    let text = text(directory.path(), To::Callgrind);
    let (head, body) = text.split_once("\n\n").unwrap();
    for line in [
        "version: 1",
        "cmd: loop",
        "positions: instr line",
        "events: Ir",
        "summary: 46",
    ] {
        assert!(head.lines().any(|other| other == line), "{line}: {head}");
    }
    let expected = "ob=(1) ???\nfl=(2) ???\nfn=(3) (unknown address)\n0x9000 0 1\n0x9002 0 1\n\n\
                    ob=(4) loop\nfl=(5) a.rs\nfn=(6) outer\n0x1000 10 2\n0x1002 10 2\n0x1004 10 2\n\
                    cob=(1)\ncfi=(2)\ncfn=(3)\ncalls=2 0x9000 0\n0x1004 10 2\n\
                    cob=(4)\ncfi=(5)\ncfn=(6)\ncalls=1 0x1000 10\n0x1004 10 20\n0x1006 10 2\n\
                    0x1008 30 12\n0x100a 30 12\n0x100c 31 12\n\ntotals: 46\n";
    assert_eq!(body, expected);
}

#[test]
fn callgrind_annotate_reads_the_file_with_the_sums_of_the_report() {
    let directory = folder();
    let file = directory.path().join("callgrind.out");
    export(directory.path(), To::Callgrind, None, Progress::Silent).unwrap();
    let run = process::Command::new("callgrind_annotate")
        .args(["--threshold=100", "--auto=no"])
        .arg(&file)
        .output();
    let Ok(run) = run else {
        // It is not installed.
        return;
    };
    let shown = String::from_utf8(run.stdout).unwrap();
    let complaints = String::from_utf8(run.stderr).unwrap();
    assert!(
        run.status.success() && complaints.is_empty(),
        "{complaints}"
    );
    let has = |words: [&str; 2]| {
        let mut lines = shown.lines();
        lines.any(|line| words.iter().all(|word| line.contains(word)))
    };
    let report = Report::read(directory.path()).unwrap();
    let exact = report.exact.unwrap();
    assert_eq!((exact.counted, exact.routines.len()), (46, 2));
    assert!(has(["46", "PROGRAM TOTALS"]), "{shown}");
    assert!(has(["44", "a.rs:outer [loop]"]), "{shown}");
    assert!(has(["2 ", "???:(unknown address)"]), "{shown}");
}

#[test]
fn lcov_has_the_executions_of_each_line_and_routine_also_of_those_never_executed() {
    let directory = folder();
    let expected = "TN:\nSF:a.rs\nFN:10,outer\nFN:40,idle\nFNDA:2,outer\nFNDA:0,idle\nFNF:2\nFNH:1\n\
                    DA:10,2\nDA:30,12\nDA:40,0\nLF:3\nLH:2\nend_of_record\n";
    assert_eq!(text(directory.path(), To::Lcov), expected);
}

#[test]
fn cobertura_has_the_same_executions_as_lcov() {
    let directory = folder();
    let text = text(directory.path(), To::Cobertura);
    let mut reader = quick_xml::Reader::from_str(&text);
    let mut found = Vec::new();
    loop {
        let element = match reader.read_event().unwrap() {
            Event::Eof => break,
            Event::Start(element) | Event::Empty(element) => element,
            _ => continue,
        };
        let attribute = |name: &str| {
            let attribute = element.try_get_attribute(name).unwrap()?;
            Some(String::from_utf8(attribute.value.into_owned()).unwrap())
        };
        let wanted = match element.name().as_ref() {
            b"coverage" => ["lines-covered", "lines-valid", "line-rate"],
            b"class" => ["filename", "name", "line-rate"],
            b"method" => ["name", "signature", "line-rate"],
            b"line" => ["number", "hits", "branch"],
            _ => continue,
        };
        found.push(wanted.map(|name| attribute(name).unwrap()).join(" "));
    }
    let expected = [
        "2 3 0.6667",
        "a.rs a.rs 0.6667",
        "outer  1.0000",
        "10 2 false",
        "idle  0.0000",
        "40 0 false",
        "10 2 false",
        "30 12 false",
        "40 0 false",
    ];
    assert_eq!(found, expected, "{text}");
}

#[test]
fn programs_of_linux_have_their_lines_wherever_processes_map_them() {
    let directory = report::tests::directory();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path(OBJECTS)).unwrap();
    for object in ["0", "1"] {
        fs::write(path(OBJECTS).join(object), guest()).unwrap();
    }
    // The tool's own program has no lines.
    let mapped = "map 7 50000 51000 1000 /bin/prog\nmap 8 60000 61000 1000 /bin/prog\n\
                  map 9 50000 51000 1000 /millimeter/own\n";
    fs::write(path(MAPPED), mapped).unwrap();
    let of = |process: u64, start: u64, executions: u64| CountEntry {
        state: (DAT | PROBLEM).into(),
        parameter: (0x8000_0000 << 32 | process).into(),
        ..entry(start, 2, executions)
    };
    let entries = [of(7, 0x5_0000, 3), of(8, 0x6_0000, 4), of(9, 0x5_0000, 9)];
    fs::write(path("counts-cpu0.bin"), payload(0, 0, 32, &entries)).unwrap();
    let mut record = RunRecord::read(directory.path()).unwrap();
    record.is_linux = true;
    record.write(directory.path()).unwrap();
    let callgrind = text(directory.path(), To::Callgrind);
    for routine in [
        "ob=(1) own\nfl=(2) ???\nfn=(3) outer\n0x1000 0 9\n0x1002 0 9\n",
        "ob=(4) prog\nfl=(5) a.rs\nfn=(3)\n0x1000 10 7\n0x1002 10 7\n\ntotals: 32\n",
    ] {
        assert!(callgrind.contains(routine), "{callgrind}");
    }
    let lcov = text(directory.path(), To::Lcov);
    let lines = "FNDA:7,outer\nFNDA:0,idle\nFNF:2\nFNH:1\nDA:10,7\nDA:30,0\nDA:40,0\n";
    assert!(lcov.contains(lines), "{lcov}");
}

#[test]
fn a_folder_without_exact_counts_or_source_lines_is_refused_with_what_helps() {
    let refusal = |directory: &Path, to: To| {
        let refused = export(directory, to, None, Progress::Silent);
        assert!(!directory.join(to.file_name()).exists());
        format!("{:#}", refused.unwrap_err())
    };
    let without = report::tests::directory();
    for to in [To::Callgrind, To::Lcov, To::Cobertura] {
        let refusal = refusal(without.path(), to);
        assert!(refusal.contains("--count"), "{refusal}");
    }
    let directory = folder();
    fs::remove_file(directory.path().join("guest")).unwrap();
    let no_lines = refusal(directory.path(), To::Lcov);
    assert!(
        no_lines.contains("cannot read the guest's file"),
        "{no_lines}"
    );
    // Names need no file.
    let callgrind = text(directory.path(), To::Callgrind);
    assert!(callgrind.contains("outer") && callgrind.contains("0x1000 0 2"));
}
