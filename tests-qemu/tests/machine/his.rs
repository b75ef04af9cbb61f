//! Collection runs of HIS on the machine: the answers to the operator, and the contents of the files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::sink,
    path::Path,
    process::Command,
};

use measure::{
    computer::{person::Input, progress::Progress},
    machine::run::RunOutcome,
    numbers::quantities::Sampling,
    options::{RunOptions, configuration::Configuration},
    profile::Profile,
    views::dump::{self, Form},
};
use millimeter::record::{
    SetType, cnt, monitor,
    smf::{self, Data},
    smp,
};
use tempfile::TempDir;
use tests_qemu::{
    command::{self, Finished},
    ipl,
    suite::test,
};

const BEGIN: &str =
    "F HIS,B,TT='Four phases',CTRSET=COMPLETE,SAMPTYPE=(BASIC,DIAG),SAMPFREQ=6000000,CNTINTVAL=1";

/// The operator's commands, one each time all CPUs wait: at the end of each of the guest's phases.
const PHASES: [&str; 8] = [
    "F HIS,SERVICE,SAMPFREQ=3000000",
    "INTERRUPT CPU 0",
    "D HIS",
    "INTERRUPT CPU 0",
    "F HIS,END",
    "INTERRUPT CPU 0",
    "D HIS",
    "INTERRUPT CPU 0",
];

/// CPU, set and number of a counter.
type Counter = (u16, u16, usize);

/// Sums or values by counter.
type Values = BTreeMap<Counter, u64>;

fn options(directory: &Path, begin: &str, later: &[&str]) -> RunOptions {
    RunOptions {
        sampling: Sampling::Off,
        out: Some(directory.to_owned()),
        operator: vec![begin.to_owned()],
        when_waiting: later.iter().map(|line| (*line).to_owned()).collect(),
        ..ipl::options("phases")
    }
}

fn collect(directory: &Path, begin: &str, later: &[&str]) -> RunOutcome {
    let options = options(directory, begin, later);
    let outcome = measure::machine::run::run(&options, &Progress::Silent).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    assert_eq!(outcome.report.doubts, Vec::<String>::new());
    outcome
}

/// The files of the only collection run in a directory, by the part of their names behind the prefix.
pub fn files(directory: &Path, outcome: &RunOutcome) -> BTreeMap<String, Vec<u8>> {
    let [prefix] = &outcome.report.record.collections[..] else {
        panic!("{:?}", outcome.report.record.collections);
    };
    let entries = fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let named = paths.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_prefix(prefix.as_str())?;
        Some((name.to_owned(), fs::read(&path).unwrap()))
    });
    named.collect()
}

/// Dumps every file of the collection runs in a directory: no field breaks a rule.
pub fn nothing_is_wrong(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if name.starts_with("SYSHIS") {
            let done = dump::dump(&path, Form::Text, Progress::Silent, &mut sink());
            assert!(done.is_ok(), "{:#}", done.unwrap_err());
        }
    }
}

/// Reads SMF records: the sums of the deltas, and the differences between the last and the first values.
fn smf(mut bytes: &[u8]) -> (Values, Values) {
    let (mut sums, mut first, mut last) = (Values::new(), Values::new(), Values::new());
    let mut again = vec![0; smf::LONGEST];
    while !bytes.is_empty() {
        let record = smf::decode(bytes).unwrap();
        let length = usize::from(record.header.length.get());
        let written = match &record.data {
            Data::Deltas(deltas) => {
                let sets: Vec<_> = deltas.sets().collect();
                for set in &sets {
                    for (number, value) in set.counters.iter().enumerate() {
                        *sums
                            .entry((deltas.data.cpu, set.set.0, number))
                            .or_default() += value;
                    }
                }
                let mut records = smf::Records::deltas(&record.envelope, &deltas.data, &sets);
                records.write(&mut again).unwrap()
            }
            Data::Absolutes(absolutes) => {
                let sets: Vec<_> = absolutes.sets().collect();
                for set in &sets {
                    for (number, value) in set.counters.iter().enumerate() {
                        let counter = (absolutes.data.cpu, set.set.0, number);
                        first.entry(counter).or_insert(value);
                        last.insert(counter, value);
                    }
                }
                let mut records = smf::Records::absolutes(&record.envelope, &absolutes.data, &sets);
                records.write(&mut again).unwrap()
            }
        };
        assert_eq!(written, Some(length));
        assert_eq!(
            again[..length],
            bytes[..length],
            "written again it is another"
        );
        bytes = &bytes[length..];
    }
    (sums, difference(&first, &last))
}

fn difference(first: &Values, last: &Values) -> Values {
    let pairs = last
        .iter()
        .map(|(counter, last)| (*counter, last - first[counter]));
    pairs.collect()
}

/// Reads monitor records: the differences between the last and the first values.
fn monitor(mut bytes: &[u8], counts: &BTreeMap<u16, usize>) -> Values {
    let (mut first, mut last) = (Values::new(), Values::new());
    while !bytes.is_empty() {
        let record = monitor::decode(bytes).unwrap();
        let counters = record.counters.unwrap();
        assert!(!counters.is_partial);
        let all: Vec<u64> = counters.counters.iter().collect();
        let mut rest = &all[..];
        let sets: Vec<SetType> = counters.sets().collect();
        let mut values = Vec::new();
        for set in sets {
            let (own, behind) = rest.split_at(counts[&set.0]);
            rest = behind;
            for (number, &value) in own.iter().enumerate() {
                let counter = (counters.data.cpu, set.0, number);
                first.entry(counter).or_insert(value);
                last.insert(counter, value);
            }
            values.push(millimeter::record::CounterValues::new(set, own));
        }
        assert!(rest.is_empty());
        let mut again = vec![0; monitor::LONGEST];
        let mut records = monitor::Records::new(&counters.data, &values);
        assert_eq!(records.write(&mut again).unwrap(), Some(record.length));
        assert_eq!(again[..record.length], bytes[..record.length]);
        bytes = &bytes[record.length..];
    }
    difference(&first, &last)
}

/// Reads .CNT files: the sums of their values.
fn counter_files<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Values {
    let mut sums = Values::new();
    for text in texts {
        let mut parser = cnt::Parser::new();
        let (mut cpu, mut is_software) = (None, false);
        for line in text.split(|&byte| byte == b'\n') {
            match parser.line(line).unwrap() {
                cnt::Line::Cpu {
                    cpu: number,
                    software,
                    ..
                } => (cpu, is_software) = (Some(number), software),
                cnt::Line::Values {
                    first,
                    count,
                    values,
                } => {
                    for (number, value) in (first..).zip(&values[..count]) {
                        let (set, start) = if is_software {
                            (SetType::ZOS, 0)
                        } else {
                            set_of(number)
                        };
                        let counter = (cpu.unwrap(), set.0, usize::from(number - start));
                        *sums.entry(counter).or_default() += value;
                    }
                }
                _ => {}
            }
        }
    }
    sums
}

/// The values of the counters that hardware counts.
fn of_hardware(values: &Values) -> Values {
    let hardware = values
        .iter()
        .filter(|((_, set, _), _)| *set != SetType::ZOS.0);
    hardware
        .map(|(counter, value)| (*counter, *value))
        .collect()
}

/// The set of a hardware counter, and the number of the first counter of the set.
fn set_of(number: u16) -> (SetType, u16) {
    let sets = SetType::ALL.into_iter().filter(|&set| set != SetType::ZOS);
    let begins = sets.filter_map(|set| Some((set, set.first_counter()?)));
    let of = begins.filter(|&(_, first)| first <= number);
    of.max_by_key(|&(_, first)| first).unwrap()
}

/// Counts the samples of a .SMP file whose entries have this length, and the samples that were lost for want of room.
fn samples(bytes: &[u8], entry: u64) -> (u64, u64) {
    let (blocks, rest) = bytes.as_chunks::<4096>();
    assert!(rest.is_empty(), "a block is torn");
    let (mut taken, mut lost) = (0, 0);
    for block in blocks {
        // The trailer begins with the F bit. The overflow count is its second doubleword.
        let overflow = block[4040..4048].try_into().unwrap();
        lost += u64::from_be_bytes(overflow);
        taken += if block[4032] & 0x80 != 0 {
            4032 / entry
        } else {
            // Samples stand at the front of a block and are not zeros.
            let size = usize::try_from(entry).unwrap();
            let used = block[..4032].chunks_exact(size);
            used.take_while(|sample| sample[..2] != [0, 0]).count() as u64
        };
    }
    (taken, lost)
}

#[test]
fn all_files_of_a_run_agree_in_every_counter_and_no_sample_is_missing() {
    let directory = TempDir::new().unwrap();
    let outcome = collect(directory.path(), BEGIN, &PHASES);
    let files = files(directory.path(), &outcome);
    nothing_is_wrong(directory.path());
    let names: BTreeSet<&str> = files.keys().map(String::as_str).collect();
    let expected = [
        "000.CNT",
        "000.MON",
        "000.SMF",
        "000.SMP.00",
        "000.SMP.01",
        "001.CNT",
        "001.MAP",
        "001.SMP.00",
        "001.SMP.01",
    ];
    assert_eq!(names, BTreeSet::from(expected));

    let (sums, values) = smf(&files["000.SMF"]);
    let counted: u64 = [0, 1]
        .map(|cpu| sums[&(cpu, SetType::BASIC.0, 1)])
        .iter()
        .sum();
    let totals = &outcome.report.record.totals;
    let executed: u64 = totals.iter().map(|totals| totals.guest_instructions).sum();
    // The last of the four phases comes after the end of the collection run.
    assert!(
        counted > executed / 2 && counted < executed,
        "{counted} of {executed}"
    );
    let hardware = of_hardware(&sums);
    assert_eq!(hardware, values, "subtype 1 and subtype 2");
    assert_eq!(sums.len(), hardware.len() + 2 * 1500, "and ZOS");
    let texts = ["000.CNT", "001.CNT"].map(|name| &files[name][..]);
    assert_eq!(counter_files(texts.into_iter()), sums, ".CNT and subtype 1");
    let mut counts = BTreeMap::<u16, usize>::new();
    for (cpu, set, _) in hardware.keys() {
        *counts.entry(*set).or_default() += usize::from(*cpu == 0);
    }
    assert_eq!(
        monitor(&files["000.MON"], &counts),
        hardware,
        "MRPRCMFC and subtype 1"
    );

    // The first set of files has both functions, the second has one.
    let dsdes = u64::from(outcome.report.model().dsdes);
    for (set, entry) in [("000", 32 + dsdes), ("001", 32)] {
        for cpu in ["00", "01"] {
            let (taken, lost) = samples(&files[&format!("{set}.SMP.{cpu}")], entry);
            assert!(taken > 50 && lost == 0, "{set} {cpu}: {taken}, {lost} lost");
        }
    }
    let all = files.iter().filter_map(|(name, bytes)| {
        let entry = if name.starts_with("000") {
            32 + dsdes
        } else {
            32
        };
        name.contains("SMP").then(|| samples(bytes, entry).0)
    });
    let taken: u64 = totals.iter().map(|totals| totals.samples_taken).sum();
    assert_eq!(all.sum::<u64>(), taken);
    assert_eq!(outcome.report.taken(), taken);
    assert!(!outcome.report.hot.is_empty());

    // The service halved the frequency. No file says so; it follows from cycles and samples.
    let profile = Profile::open(directory.path()).unwrap();
    let a_minute = u64::from(profile.pace.speed) * 60_000_000;
    let intervals = [a_minute / 6_000_000, a_minute / 3_000_000];
    assert_eq!(profile.intervals(), intervals);
    let collected = outcome.report.collected.as_ref().unwrap();
    assert_eq!(collected.intervals, intervals);
}

/// Runs `hash` with samples of HIS in a directory. The script ends with `"$@"`, the command to run.
fn sampled(script: &str, out: &Path) -> Finished {
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh"])
        .arg(command::program().unwrap())
        .args(["run", "hash", "--no-sampling", "--rtc", ipl::DATE])
        .args(["--his", "F HIS,B,CNT=NO,SAMPFREQ=6000000", "--out"])
        .arg(out);
    let finished = command::finish(command).unwrap();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished
}

#[test]
fn a_file_that_can_grow_no_further_ends_the_collection_run_behind_a_whole_block() {
    let directory = TempDir::new().unwrap();
    let file = |out: &Path| {
        let entries = fs::read_dir(out).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        let found = paths.find(|path| path.to_string_lossy().ends_with(".000.SMP.00"));
        fs::read(found.unwrap()).unwrap()
    };
    let (all, cut) = (directory.path().join("all"), directory.path().join("cut"));
    let finished = sampled("exec \"$@\"", &all);
    assert!(
        finished.output.contains("by HIS in SYSHIS"),
        "{}",
        finished.output
    );
    let whole = file(&all);
    assert!(whole.len() > 2_000_000, "{}", whole.len());
    // The limit is not a multiple of a block. Files that are built or staged exist already, or are shorter.
    let finished = sampled("trap '' XFSZ; ulimit -f 2001 && exec \"$@\"", &cut);
    let blocks = file(&cut);
    assert!(!blocks.is_empty() && blocks.len().is_multiple_of(4096));
    assert!(blocks.len() < whole.len() && whole.starts_with(&blocks));
    assert_eq!(samples(&blocks, 32).0, blocks.len() as u64 / 4096 * 126);
    let operator = fs::read_to_string(cut.join("operator.txt")).unwrap();
    for words in [
        "cannot write ",
        ".000.SMP.00: ",
        "what was written before is kept",
    ] {
        assert!(operator.contains(words), "{words}: {operator}");
    }
    // The report shows the samples that are there, and says that some are missing.
    assert!(
        finished.output.contains("by HIS in SYSHIS"),
        "{}",
        finished.output
    );
    assert!(
        finished.output.contains("note: the machine stored "),
        "{}",
        finished.output
    );
}

#[test]
fn two_collection_runs_write_the_same_bytes() {
    let bytes = || {
        let directory = TempDir::new().unwrap();
        let outcome = collect(directory.path(), BEGIN, &PHASES);
        (files(directory.path(), &outcome), outcome.operator)
    };
    let (one, answers) = bytes();
    assert!(one == bytes().0, "the files differ");
    assert!(
        answers.contains("MMH113I") && answers.contains("HIS015I"),
        "{answers}"
    );
}

#[test]
fn with_one_buffer_samples_are_lost_while_it_is_full_and_each_is_counted() {
    let directory = TempDir::new().unwrap();
    let begin = "F HIS,B,CNT=NO,SAMPFREQ=6000000,BUFCNT=1";
    let outcome = collect(directory.path(), begin, &["INTERRUPT CPU 0"; 4]);
    let files = files(directory.path(), &outcome);
    let of = |name: &str| samples(&files[name], 32);
    let (taken, lost) = ["000.SMP.00", "000.SMP.01"]
        .map(of)
        .iter()
        .fold((0, 0), |(taken, lost), more| {
            (taken + more.0, lost + more.1)
        });
    let totals = &outcome.report.record.totals;
    let sum = |field: fn(&measure::folder::record::TotalsRecord) -> u64| {
        totals.iter().map(field).sum::<u64>()
    };
    assert_eq!(
        (taken, lost),
        (
            sum(|totals| totals.samples_taken),
            sum(|totals| totals.samples_lost)
        )
    );
    assert!(lost > 0);
    let text =
        format!("MMH111I the collection run has ended with the guest, {lost} samples were lost");
    assert!(outcome.operator.contains(&text), "{}", outcome.operator);
}

#[test]
fn a_path_that_cannot_be_written_ends_the_run_with_a_message() {
    let directory = TempDir::new().unwrap();
    let key = Input::Operator("INTERRUPT CPU 0".to_owned());
    let options = RunOptions {
        // What the host reports of the files ends a wait as well.
        script: vec![key; 6],
        ..options(
            directory.path(),
            "F HIS,B,SMP=NO,PATH='console.txt/below'",
            &[],
        )
    };
    let outcome = measure::machine::run::run(&options, &Progress::Silent).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    for message in [
        "cannot write",
        "console.txt/below",
        "MMH112I the collection run ends early: the output could not be written",
    ] {
        assert!(
            outcome.operator.contains(message),
            "{message}: {}",
            outcome.operator
        );
    }
}

#[test]
fn a_parameter_file_says_what_the_command_does_not() {
    let directory = TempDir::new().unwrap();
    let mut options = options(
        directory.path(),
        "DD PARMS CTRSET=BASIC,SMP=NO",
        &["INTERRUPT CPU 0"; 4],
    );
    options.operator.push("DD PARMS MAP=NO".to_owned());
    options.operator.push("F HIS,B,DDNAME=PARMS".to_owned());
    let outcome = measure::machine::run::run(&options, &Progress::Silent).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    let files = files(directory.path(), &outcome);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["000.CNT", "000.MON", "000.SMF"]);
    let (sums, _) = smf(&files["000.SMF"]);
    assert!(sums.keys().all(|(_, set, _)| *set == SetType::BASIC.0));
}

#[test]
fn monitor_calls_of_the_guest_are_in_the_zos_set_of_their_cpus_and_of_the_classes_that_were_chosen()
{
    // The collection covers the first three of the four phases.
    let calls = [(0, 40, 6 * 1000), (1, 1499, 6 * 500)];
    let later = [
        "INTERRUPT CPU 0",
        "INTERRUPT CPU 0",
        "F HIS,END",
        "INTERRUPT CPU 0",
        "INTERRUPT CPU 0",
    ];
    for (classes, begin, counted) in [
        ("", "F HIS,B,SMP=NO,MAP=NO,CTRSET=ZOS", &calls[..]),
        (
            "CLASSES 2,3",
            "F HIS,B,SMP=NO,MAP=NO,CTRSET=SOFTWARE",
            &calls[..1],
        ),
        ("CLASSES 1", "F HIS,B,SMP=NO,MAP=NO,CTRSET=ZOS", &[]),
    ] {
        let directory = TempDir::new().unwrap();
        let mut options = options(directory.path(), classes, &later);
        options.operator.push(begin.to_owned());
        let outcome = measure::machine::run::run(&options, &Progress::Silent).unwrap();
        assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
        let files = files(directory.path(), &outcome);
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(names, ["000.CNT", "000.SMF"], "{}", outcome.operator);
        let (sums, values) = smf(&files["000.SMF"]);
        assert_eq!(values, Values::new(), "subtype 2 has no such set");
        assert_eq!(sums.len(), 2 * 1500);
        let nonzero = sums.iter().filter(|(_, value)| **value != 0);
        let found: Vec<_> = nonzero
            .map(|((cpu, _, number), value)| (*cpu, *number, *value))
            .collect();
        assert_eq!(found, counted, "{classes}");
        let text = &files["000.CNT"];
        assert_eq!(
            counter_files([&text[..]].into_iter()),
            sums,
            ".CNT and subtype 1"
        );
        let text = String::from_utf8_lossy(text);
        assert!(
            text.contains("SOFTWARE COUNTER INFORMATION NOT AVAILABLE"),
            "{text}"
        );
    }
}

#[test]
fn his_refuses_in_one_line_what_it_does_not_support() {
    for (begin, answer) in [
        ("F HIS,END", "MMH102E"),
        ("F HIS,B,CTRSET=MTDIAG", "MMH104E"),
        ("F HIS,B,DDNAME=PARMS", "MMH103E"),
        ("F HIS,B,BUFCNT=99", "BUFCNT"),
        ("F HIS,B,NOSUCH=1", "NOSUCH"),
    ] {
        let directory = TempDir::new().unwrap();
        let outcome = collect(directory.path(), begin, &["INTERRUPT CPU 0"; 4]);
        assert!(outcome.operator.contains(answer), "{}", outcome.operator);
        assert_eq!(outcome.report.record.collections, Vec::<String>::new());
    }
}

#[test]
fn every_command_that_is_given_in_advance_is_carried_out() {
    let directory = TempDir::new().unwrap();
    let frequencies: Vec<u32> = (1..=18).map(|number| 60_000 * number).collect();
    let of_his = frequencies
        .iter()
        .map(|frequency| format!("F HIS,SERVICE,SAMPFREQ={frequency}"));
    // Each of these waits for the CPU, which is not executing yet.
    let of_cpu = std::iter::repeat_n("ALERT CPU 0 SAMPLES".to_owned(), 18);
    let options = RunOptions {
        operator: of_his.chain(of_cpu).collect(),
        ..options(directory.path(), "", &["INTERRUPT CPU 0"; 4])
    };
    let outcome = measure::machine::run::run(&options, &Progress::Silent).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    let answers = &outcome.operator;
    assert!(!answers.contains("earlier requests"), "{answers}");
    let answered: Vec<&str> = answers
        .lines()
        .filter(|line| line.contains("MMH114I"))
        .collect();
    let expected = frequencies
        .iter()
        .map(|frequency| format!("SAMPFREQ={frequency} "));
    assert_eq!(answered.len(), frequencies.len(), "{answers}");
    for (answer, frequency) in answered.iter().zip(expected) {
        assert!(answer.contains(&frequency), "{answer}");
    }
}

#[test]
fn a_model_without_the_enhanced_monitor_facility_has_no_zos_set() {
    let directory = TempDir::new().unwrap();
    let options = RunOptions {
        configuration: Configuration {
            model: "z10".parse().unwrap(),
            ..Configuration::default()
        },
        ..options(
            directory.path(),
            "F HIS,B,CTRONLY,CTRSET=(BASIC,ZOS)",
            &["INTERRUPT CPU 0"; 4],
        )
    };
    let outcome = measure::machine::run::run(&options, &Progress::Silent).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    let answer =
        "MMH104E CTRSET=ZOS is not authorized; allowed: BASIC,PROBLEM-STATE,CRYPTO,EXTENDED\n";
    assert!(outcome.operator.contains(answer), "{}", outcome.operator);
}

/// Runs with these commands. The report holds the answers to the operator.
fn answered(begin: &str, later: &[&str]) -> (RunOutcome, BTreeMap<String, Vec<u8>>) {
    let directory = TempDir::new().unwrap();
    let outcome = collect(directory.path(), begin, later);
    let files = files(directory.path(), &outcome);
    (outcome, files)
}

#[test]
fn a_counter_set_that_is_taken_away_ends_the_run_and_is_used_again_after_a_refresh() {
    let directory = TempDir::new().unwrap();
    let begin = "F HIS,B,SMP=NO,MAP=NO,CTRSET=(BASIC,PROBLEM)";
    let later = [
        "AUTH MACHINE COUNTERS PROBLEM OFF",
        begin,
        "F HIS,B,CTRSET=BASIC",
        "INTERRUPT CPU 0",
        "AUTH MACHINE COUNTERS PROBLEM ON",
        "F HIS,SERVICE,REFRESH",
        begin,
        "INTERRUPT CPU 0",
        "INTERRUPT CPU 0",
        "INTERRUPT CPU 0",
    ];
    let outcome = collect(directory.path(), begin, &later);
    let answers = &outcome.operator;
    let place = |text: &str| {
        answers
            .find(text)
            .unwrap_or_else(|| panic!("{text} in {answers}"))
    };
    let ended = place("a counter set is no longer authorized");
    let refused = place("MMH104E CTRSET=PROBLEM-STATE is not authorized");
    let same_second = place("MMH109E");
    assert!(ended < refused && refused < same_second && same_second < place("REFRESH"));
    assert_eq!(outcome.report.record.collections.len(), 2, "{answers}");
}

#[test]
fn a_sample_type_that_is_taken_away_ends_the_run_that_collects_it() {
    let (outcome, files) = answered(
        "F HIS,B,CNT=NO,SAMPTYPE=(BASIC,DIAG),SAMPFREQ=6000000",
        &[
            "AUTH MACHINE SAMPLING DIAGNOSTIC OFF",
            "INTERRUPT CPU 0",
            "INTERRUPT CPU 0",
            "INTERRUPT CPU 0",
            "INTERRUPT CPU 0",
        ],
    );
    let text = "HIS025I DATA COLLECTION IS PREMATURELY ENDING. SAMPLE FUNCTIONS";
    assert!(outcome.operator.contains(text), "{}", outcome.operator);
    // The samples taken until then are there.
    let entry = 32 + u64::from(outcome.report.model().dsdes);
    assert!(samples(&files["000.SMP.00"], entry).0 > 50);
}

#[test]
fn a_basic_entry_precedes_each_diagnostic_one_when_diagnostic_samples_are_requested() {
    let begin = "F HIS,B,CNT=NO,SAMPTYPE=DIAG,SAMPFREQ=6000000";
    let (outcome, files) = answered(begin, &["INTERRUPT CPU 0"; 4]);
    let mut sizes = smp::Sizes::default();
    let mut entries = Vec::new();
    let blocks: Vec<&[u8]> = files["000.SMP.00"].chunks(4096).collect();
    let is_full = |block: &&[u8]| block[4032] & 0x80 != 0;
    assert!(blocks.len() > 1 && !is_full(blocks.last().unwrap()));
    for block in blocks {
        let block = sizes.block(block).unwrap();
        // The last block of a run did not become full, and has the sizes as well.
        let found = (block.trailer.bsdes.get(), block.trailer.dsdes.get());
        assert_eq!(found, (32, outcome.report.model().dsdes));
        entries.extend(block.entries().map(|entry| match entry.unwrap().1 {
            smp::Entry::Basic(_) => "basic",
            smp::Entry::Diagnostic { .. } => "diagnostic",
        }));
    }
    let pairs = entries.chunks(2);
    assert!(pairs.len() > 50, "{} samples", pairs.len());
    assert!(
        pairs
            .into_iter()
            .all(|pair| *pair == ["basic", "diagnostic"])
    );
    // The report shows where they were taken.
    assert!(outcome.report.taken() > 0 && !outcome.report.hot.is_empty());
}

#[test]
fn every_block_of_the_machines_own_sampling_has_the_sizes_of_entries() {
    let directory = TempDir::new().unwrap();
    let options = RunOptions {
        sampling: Sampling::Every(100_000),
        out: Some(directory.path().to_owned()),
        ..ipl::options("hash")
    };
    measure::machine::run::run(&options, &Progress::Silent).unwrap();
    let blocks = fs::read(directory.path().join("sdb-cpu0.bin")).unwrap();
    let (blocks, rest) = blocks.as_chunks::<4096>();
    assert!(blocks.len() > 1 && rest.is_empty());
    // F, and the sizes.
    let trailers = blocks
        .iter()
        .map(|block| (block[4032] >> 7, &block[4036..4040]));
    let trailers: Vec<_> = trailers.collect();
    assert_eq!(trailers.last().unwrap().0, 0, "the last one is not full");
    assert!(trailers.iter().all(|(_, sizes)| **sizes == [0, 32, 0, 112]));
}

#[test]
fn a_collection_begins_at_the_date_that_was_given() {
    // QEMU's own clock is behind a date by a time that depends on the date, and by none at 00:00:25.
    for (rtc, prefix) in [
        ("2026-01-01T00:00:00", "SYSHIS20260101.000000."),
        ("2026-01-01T00:00:25", "SYSHIS20260101.000025."),
    ] {
        let directory = TempDir::new().unwrap();
        let options = RunOptions {
            rtc: rtc.parse().unwrap(),
            ..options(
                directory.path(),
                "F HIS,B,CTRONLY,CTRSET=BASIC",
                &["INTERRUPT CPU 0"; 4],
            )
        };
        let outcome = measure::machine::run::run(&options, &Progress::Silent).unwrap();
        assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
        assert_eq!(outcome.report.record.collections, [prefix]);
        let files = files(directory.path(), &outcome);
        let Data::Absolutes(first) = smf::decode(&files["000.SMF"]).unwrap().data else {
            panic!("the first record has values");
        };
        let second = 1_000_000 * 4096;
        let after = first.data.run_start % second;
        assert!(after < second / 1000, "{after} units after the date");
    }
}

#[test]
fn records_name_the_machine_as_stsi_does() {
    let begin = "F HIS,B,SMP=NO,MAP=NO,CTRSET=BASIC";
    let (_, files) = answered(begin, &["INTERRUPT CPU 0"; 4]);
    let record = smf::decode(&files["000.SMF"]).unwrap();
    let Data::Absolutes(absolutes) = record.data else {
        panic!("the first record has values");
    };
    let data = absolutes.data;
    // The guest has two CPUs, and finds the sequence code of QEMU.
    let found = [
        data.machine_type.to_string(),
        data.model.to_string(),
        data.sequence_code.to_string(),
    ];
    assert_eq!(found, ["8561", "702", "QEMU"]);
    let text = String::from_utf8_lossy(&files["000.CNT"]);
    assert!(text.contains("MODEL: 8561-702  SEQCODE: QEMU\n"), "{text}");
}

#[test]
fn the_first_thread_of_a_core_has_the_counters_of_the_core() {
    let directory = TempDir::new().unwrap();
    let begin = "F HIS,B,SMP=NO,MAP=NO,CTRSET=(BASIC,MTDIAG)";
    let options = RunOptions {
        configuration: Configuration {
            threads: 2,
            ..Configuration::default()
        },
        sampling: Sampling::Off,
        out: Some(directory.path().to_owned()),
        operator: vec![begin.to_owned()],
        ..ipl::options("b_multithreading")
    };
    let outcome = measure::machine::run::run(&options, &Progress::Silent).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    let files = files(directory.path(), &outcome);
    let (sums, _) = smf(&files["000.SMF"]);
    let sum = |set: SetType, number| {
        let counters = sums
            .iter()
            .filter(|((_, of, at), _)| (*of, *at) == (set.0, number));
        counters
            .map(|((cpu, ..), value)| (*cpu, *value))
            .collect::<Vec<_>>()
    };
    let cycles = sum(SetType::BASIC, 0);
    let (one, two) = (
        sum(SetType::MT_DIAGNOSTIC, 0),
        sum(SetType::MT_DIAGNOSTIC, 1),
    );
    let of = |counters: &[(u16, u64)]| counters.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>();
    assert_eq!(of(&cycles), [0, 1, 2, 3]);
    assert_eq!((of(&one), of(&two)), (vec![0, 2], vec![0, 2]));
    let all = |counters: &[(u16, u64)]| counters.iter().map(|(_, value)| value).sum::<u64>();
    assert!(all(&two) > 0 && all(&one) + all(&two) <= all(&cycles));
}

#[test]
fn a_loss_is_in_the_files_and_ends_a_run_that_stops_at_it() {
    let later = [
        "ALERT MACHINE COUNTERS BASIC",
        "ALERT MACHINE SAMPLES",
        "INTERRUPT CPU 0",
        "INTERRUPT CPU 0",
        "INTERRUPT CPU 0",
        "INTERRUPT CPU 0",
    ];
    let (_, files) = answered("F HIS,B,CTRSET=BASIC,SAMPFREQ=6000000", &later);
    let text = String::from_utf8_lossy(&files["000.CNT"]);
    for alert in ["LOSS OF SAMPLE DATA ALERT", "LOSS OF COUNTER DATA ALERT"] {
        let line = text.lines().find(|line| line.contains(alert)).unwrap();
        assert!(line.contains("YES"), "{line}");
    }
    let (outcome, _) = answered("F HIS,B,CTRSET=BASIC,SMP=NO,DATALOSS=STOP", &later);
    let text = "MMH112I the collection run ends early: counter data was lost";
    assert!(outcome.operator.contains(text), "{}", outcome.operator);
}
