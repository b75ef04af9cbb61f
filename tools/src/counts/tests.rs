//! Folders with exact counts, and what is read from them.

use std::fs;

use super::*;
use crate::{
    folder::{
        CONSOLE, SYMBOLS,
        record::{CountsRecord, RunRecord, tests::record},
    },
    symbols::names::Names,
};
use link::counts::Unmatched;
use zerocopy::IntoBytes;

/// Runs of instructions: where the first one is, how many of two bytes follow each other, and the executions.
pub(crate) type Runs<'r> = &'r [(u64, u32, u64)];

/// An entry for instructions of two bytes.
pub(crate) fn entry(start: u64, instructions: u32, executions: u64) -> CountEntry {
    CountEntry {
        start: start.into(),
        begins: (u64::MAX << (64 - instructions)).into(),
        executions: executions.into(),
        ..CountEntry::default()
    }
}

/// A payload of a CPU that has counted so many instructions up to its end.
pub(crate) fn payload(cpu: u16, sequence: u32, counted: u64, entries: &[CountEntry]) -> Vec<u8> {
    let head = CountsHead {
        cpu: cpu.into(),
        count: (entries.len() as u16).into(),
        sequence: sequence.into(),
        counted: counted.into(),
        unmatched: (u64::from(cpu) * 3).into(),
        ..CountsHead::default()
    };
    [head.as_bytes(), entries.as_bytes()].concat()
}

/// Adds the counts of a CPU to a folder: a payload with each of these groups of runs.
pub(crate) fn add(directory: &Path, cpu: u16, groups: &[Runs<'_>]) {
    let (mut counted, mut file) = (0, Vec::new());
    for (sequence, runs) in groups.iter().enumerate() {
        counted += runs.iter().map(|run| u64::from(run.1) * run.2).sum::<u64>();
        let entries: Vec<CountEntry> = runs.iter().map(|run| entry(run.0, run.1, run.2)).collect();
        file.extend(payload(cpu, sequence as u32, counted, &entries));
    }
    fs::write(directory.join(counts_name(cpu)), file).unwrap();
    let mut record = RunRecord::read(directory).unwrap();
    record.count_executions = true;
    record.note_counts(CountsRecord {
        cpu,
        counted,
        unmatched: u64::from(cpu) * 3,
        skipped: 0,
        missing: 0,
    });
    record.write(directory).unwrap();
}

/// An entry for calls of the routine at an address from a place: how many, and what they executed.
pub(crate) fn calls(site: u64, routine: u64, (times, inclusive): (u64, u64)) -> CountEntry {
    link::counts::Calls {
        site,
        routine,
        times,
        inclusive,
        ..link::counts::Calls::default()
    }
    .into()
}

/// Adds a payload to the counts of a CPU in a folder, which has counted so many instructions up to there.
pub(crate) fn add_calls(directory: &Path, cpu: u16, sequence: u32, entries: &[CountEntry]) {
    let record = RunRecord::read(directory).unwrap();
    let of_cpu = record.counts.iter().find(|counts| counts.cpu == cpu);
    let path = directory.join(counts_name(cpu));
    let mut file = fs::read(&path).unwrap();
    file.extend(payload(cpu, sequence, of_cpu.unwrap().counted, entries));
    fs::write(path, file).unwrap();
}

/// A folder of two CPUs: `start` at 200000 is executed once, and `inner` at 200020 ten times.
fn folder() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    record().write(directory.path()).unwrap();
    let symbols = "0000000000200000\t0000000000200010\tg\tstart\n0000000000200020\t0000000000200040\tg\tinner\n";
    fs::write(directory.path().join(SYMBOLS), symbols).unwrap();
    let first: Runs<'_> = &[(0x20_0000, 4, 1), (0x20_0020, 2, 3)];
    // The same run again, and a run that begins in the middle of it.
    let second: Runs<'_> = &[(0x20_0020, 2, 5), (0x20_0022, 1, 40), (0x99_0000, 1, 2)];
    add(directory.path(), 0, &[first, second]);
    add(directory.path(), 1, &[&[(0x20_0020, 2, 2)]]);
    directory
}

fn read(directory: &Path) -> Result<Option<Counts>> {
    Counts::read(directory, &RunRecord::read(directory).unwrap())
}

/// Takes the counts of a CPU from a folder.
fn forget(directory: &Path, cpu: u16) {
    let _ = fs::remove_file(directory.join(counts_name(cpu)));
    let mut record = RunRecord::read(directory).unwrap();
    record.counts.retain(|counts| counts.cpu != cpu);
    record.write(directory).unwrap();
}

fn names(directory: &Path) -> Names {
    let record = RunRecord::read(directory).unwrap();
    Names::of_run(directory, &record).unwrap().0
}

#[test]
fn equal_runs_of_all_payloads_and_cpus_are_added_up_by_instruction() {
    let directory = folder();
    let counts = read(directory.path()).unwrap().unwrap();
    assert_eq!((counts.counted(), counts.unmatched()), (66, 3));
    let found: Vec<(u64, u64)> = counts
        .executed
        .iter()
        .map(|(instruction, executed)| (instruction.address, executed.times))
        .collect();
    let expected = [
        (0x20_0000, 1),
        (0x20_0002, 1),
        (0x20_0004, 1),
        (0x20_0006, 1),
        (0x20_0020, 10),
        (0x20_0022, 50),
        (0x99_0000, 2),
    ];
    assert_eq!(found, expected);
    let sum: u64 = counts
        .executed
        .values()
        .map(|executed| executed.instructions)
        .sum();
    assert_eq!(sum, counts.counted());
}

#[test]
fn a_routine_has_its_instructions_and_the_executions_of_its_first_one() {
    let directory = folder();
    let counts = read(directory.path()).unwrap().unwrap();
    let names = names(directory.path());
    let routines = counts.routines(&names);
    let found: Vec<_> = routines
        .iter()
        .map(|routine| (&routine.symbol[..], routine.instructions, routine.entries))
        .collect();
    let expected = [
        ("inner", 60, Some(10)),
        ("start", 4, Some(1)),
        (crate::symbols::UNKNOWN, 2, None),
    ];
    assert_eq!(found, expected);
}

#[test]
fn calls_of_all_cpus_add_up_and_a_routine_has_what_it_called_once() {
    let directory = folder();
    let again = link::counts::Calls {
        is_again: true,
        ..calls(0x20_0022, 0x20_0020, (3, 9)).calls().unwrap()
    };
    let unmatched = Unmatched {
        returns: 1,
        abandoned: 2,
        not_followed: 3,
    };
    let of_first = [
        calls(0, 0x20_0000, (1, 66)),
        calls(0x20_0004, 0x20_0020, (4, 40)),
        again.into(),
        // Into the middle of a routine, and to where none is.
        calls(0x20_0006, 0x20_0022, (5, 50)),
        calls(0x20_0006, 0x99_0000, (6, 60)),
        unmatched.into(),
    ];
    add_calls(directory.path(), 0, 2, &of_first);
    let of_second = [calls(0x20_0004, 0x20_0020, (2, 20)), unmatched.into()];
    add_calls(directory.path(), 1, 1, &of_second);
    let counts = read(directory.path()).unwrap().unwrap();
    assert_eq!((counts.counted(), counts.executed.len()), (66, 7));
    let twice = calls::UnmatchedCalls {
        returns: 2,
        abandoned: 4,
        not_followed: 6,
    };
    assert_eq!(counts.calls.unmatched, twice);
    let names = names(directory.path());
    let routines = counts.routines(&names);
    let found: Vec<_> = routines
        .iter()
        .map(|routine| (&routine.symbol[..], routine.calls, routine.inclusive))
        .collect();
    let expected = [
        ("inner", Some(9), Some(60)),
        ("start", Some(1), Some(66)),
        (crate::symbols::UNKNOWN, None, None),
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_execute_counts_two_and_is_executed_once() {
    let directory = folder();
    let execute = CountEntry {
        twice: (1 << 63).into(),
        ..entry(0x20_0000, 3, 7)
    };
    let file = payload(0, 0, 28, &[execute]);
    forget(directory.path(), 0);
    fs::write(directory.path().join(counts_name(0)), file).unwrap();
    forget(directory.path(), 1);
    let counts = read(directory.path()).unwrap().unwrap();
    let found: Vec<(u64, u64)> = counts
        .executed
        .values()
        .map(|executed| (executed.times, executed.instructions))
        .collect();
    assert_eq!(found, [(7, 14), (7, 7), (7, 7)]);
}

#[test]
fn instructions_of_linux_have_the_names_of_samples_by_state_and_program_parameter() {
    let directory = folder();
    let path = |name: &str| directory.path().join(name);
    let mut record = RunRecord::read(directory.path()).unwrap();
    record.is_linux = true;
    record.interval = 0;
    record.write(directory.path()).unwrap();
    let symbols = "0000000000100000\t0000000000100040\tkernel\tdo_it\n";
    fs::write(path(SYMBOLS), symbols).unwrap();
    let console = "\x1Emillimeter: kernel 3ffe0000000\n\x1Emillimeter: process 7 sh\n";
    fs::write(path(CONSOLE), console).unwrap();
    let of = |state: u16, parameter: u64| CountEntry {
        state: state.into(),
        parameter: parameter.into(),
        ..entry(0x3FF_E000_0000, 1, 5)
    };
    let mut record = RunRecord::read(directory.path()).unwrap();
    record.counts[0].counted = 10;
    record.write(directory.path()).unwrap();
    let entries = [of(DAT, 7), of(DAT | PROBLEM, 0x8000_0000 << 32 | 7)];
    fs::write(path(&counts_name(0)), payload(0, 0, 10, &entries)).unwrap();
    forget(directory.path(), 1);
    let counts = read(directory.path()).unwrap().unwrap();
    let names = names(directory.path());
    let routines = counts.routines(&names);
    let found: Vec<_> = routines
        .iter()
        .map(|routine| (&routine.symbol[..], &routine.module[..], routine.entries))
        .collect();
    assert_eq!(found, [("do_it", "kernel", Some(5)), ("sh", "pid 7", None)]);
}

#[test]
fn counts_that_are_not_whole_are_an_error_with_the_file_and_what_is_wrong() {
    let directory = folder();
    let path = directory.path().join(counts_name(0));
    let whole = fs::read(&path).unwrap();
    let first = size_of::<CountsHead>() + 2 * size_of::<CountEntry>();
    let refusal = |file: &[u8]| {
        fs::write(&path, file).unwrap();
        format!("{:#}", read(directory.path()).unwrap_err())
    };
    for (file, words) in [
        (&whole[..whole.len() - 1], "payload 1 is cut off"),
        (&whole[..9], "payload 0 is cut off"),
        (&whole[first..], "payload 0 is missing"),
    ] {
        let refusal = refusal(file);
        for words in [words, "counts-cpu0.bin", "run it again"] {
            assert!(refusal.contains(words), "{words}: {refusal}");
        }
    }
    let mut other = whole.clone();
    // An execution more than the heading says.
    other[size_of::<CountsHead>() + 31] += 1;
    let refusal_of_sum = refusal(&other);
    assert!(
        refusal_of_sum.contains("counted 10 instructions"),
        "{refusal_of_sum}"
    );
    other.clone_from(&whole);
    other[1] = 9;
    assert!(refusal(&other).contains("of CPU 9"));
    let second = whole.len() - size_of::<CountsHead>() - 3 * size_of::<CountEntry>();
    assert!(refusal(&whole[..second]).contains("run counted 62 instructions, and the file has 10"));
    // Nothing was counted.
    for cpu in 0..2 {
        forget(directory.path(), cpu);
    }
    assert_eq!(read(directory.path()).unwrap(), None);
}
