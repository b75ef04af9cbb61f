//! Each form is read back by something that did not write it.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use libdd_profiling_protobuf::prost_impls as published;
use linux_perf_data::{PerfFileReader, PerfFileRecord, linux_perf_event_reader::EventRecord};
use object::{Object, ObjectSymbol};
use prost::Message;
use serde_json::Value;

use super::*;
use crate::{profile::tests::collection, report};

mod call_stacks;
mod exact;
mod readers;

fn text(directory: &Path, to: To) -> String {
    let profile = Profile::open(directory).unwrap();
    let mut out = Vec::new();
    write(&profile, to, &mut out, &mut Ticker::silent()).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn csv_has_a_line_for_each_sample() {
    let directory = report::tests::directory();
    let text = text(directory.path(), To::Csv);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 7);
    assert!(lines[0].ends_with("host program parameter,symbol,module"));
    let cells = |line: &str| line.split(',').count();
    assert!(lines.iter().all(|line| cells(line) == cells(lines[0])));
    assert!(lines[1].starts_with("0,0000000000001000,0001,0,0,0,0,0,0,"));
    assert!(lines[1].ends_with("0000000000200020,0000000000000000,0000000000000000,inner,g"));
    let waits = lines.iter().filter(|line| line.ends_with("(wait),"));
    assert!(
        waits.clone().count() == 1 && waits.clone().all(|line| line.contains(",0001,0,0,1,0,"))
    );
}

#[test]
fn folded_stacks_are_programs_with_routines() {
    let directory = report::tests::directory();
    assert_eq!(
        text(directory.path(), To::Folded),
        "(unknown address) 1\n(wait) 1\ng;inner 3\ng;start 2\n"
    );
}

#[test]
fn speedscope_has_a_sampled_profile_for_each_cpu() {
    let directory = collection();
    let value: Value = serde_json::from_str(&text(directory.path(), To::Speedscope)).unwrap();
    assert_eq!(
        value["$schema"],
        "https://www.speedscope.app/file-format-schema.json"
    );
    let frames = value["shared"]["frames"].as_array().unwrap();
    let profiles = value["profiles"].as_array().unwrap();
    let names: Vec<Vec<&str>> = profiles
        .iter()
        .flat_map(|profile| {
            assert_eq!(
                (&profile["type"], &profile["unit"]),
                (&"sampled".into(), &"nanoseconds".into())
            );
            let (samples, weights) = (&profile["samples"], profile["weights"].as_array().unwrap());
            let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
            assert_eq!(profile["endValue"], sum);
            assert_eq!(samples.as_array().unwrap().len(), weights.len());
            samples.as_array().unwrap()
        })
        .map(|stack| {
            let places = stack.as_array().unwrap().iter();
            let name = |place: &Value| {
                frames[place.as_u64().unwrap() as usize]["name"]
                    .as_str()
                    .unwrap()
            };
            places.map(name).collect()
        })
        .collect();
    assert_eq!(
        names,
        [
            vec!["g", "g"],
            vec!["g", "inner"],
            vec!["g", "inner"],
            vec!["(unknown address)"]
        ]
    );
    assert_eq!(profiles[1]["name"], "CPU 10");
    assert_eq!(profiles[1]["weights"][0], 1_000_000);
}

#[test]
fn the_firefox_profiler_gets_a_thread_for_each_cpu() {
    let directory = report::tests::directory();
    let value: Value = serde_json::from_str(&text(directory.path(), To::Firefox)).unwrap();
    assert_eq!(value["meta"]["product"], "loop");
    let threads = value["threads"].as_array().unwrap();
    let lengths: Vec<u64> = threads
        .iter()
        .map(|thread| thread["samples"]["length"].as_u64().unwrap())
        .collect();
    assert_eq!(lengths, [5, 2]);
    let names: Vec<&Value> = threads.iter().map(|thread| &thread["name"]).collect();
    assert_eq!(names, ["CPU 0", "CPU 1"]);
    let categories = value["meta"]["categories"].as_array().unwrap();
    assert!(categories.iter().any(|category| category["name"] == "g"));
    let strings = value.to_string();
    assert!(strings.contains("\"inner\"") && strings.contains("\"(wait)\""));
}

#[test]
fn pprof_gets_samples_by_address_and_cpu() {
    let directory = collection();
    let profile = Profile::open(directory.path()).unwrap();
    let mut out = Vec::new();
    write(&profile, To::Pprof, &mut out, &mut Ticker::silent()).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(&out[..]).read_to_end(&mut bytes).unwrap();
    let whole = published::Profile::decode(&bytes[..]).unwrap();
    let string = |place: i64| &whole.string_table[place as usize][..];
    assert_eq!(string(0), "");
    let types: Vec<_> = whole
        .sample_types
        .iter()
        .map(|t| (string(t.r#type), string(t.unit)))
        .collect();
    assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
    let samples: Vec<_> = whole
        .samples
        .iter()
        .map(|sample| {
            let location = &whole.locations[sample.location_ids[0] as usize - 1];
            let function = &whole.functions[location.lines[0].function_id as usize - 1];
            let [label] = &sample.labels[..] else {
                panic!()
            };
            assert_eq!(string(label.key), "cpu");
            (
                location.address,
                string(function.name),
                label.num,
                sample.values.clone(),
            )
        })
        .collect();
    let one = vec![1, 1_000_000];
    assert_eq!(
        samples,
        [
            (0x20_0000, "g", 0, one.clone()),
            (0x20_0020, "inner", 0, one.clone()),
            (0x20_0024, "inner", 0, one.clone()),
            (0x99_0000, "(unknown address)", 10, one)
        ]
    );
    let [mapping] = &whole.mappings[..] else {
        panic!()
    };
    assert_eq!(
        (mapping.memory_start, mapping.memory_limit),
        (0x20_0000, 0x20_0026)
    );
}

/// What a perf.data has: names of processes, mappings and samples as process, address, time and CPU.
type Records = (
    Vec<(i32, String)>,
    Vec<(i32, u64, u64, String)>,
    Vec<(i32, u64, u64, u32)>,
);

fn records(file: &Path) -> Records {
    let reader = std::io::BufReader::new(File::open(file).unwrap());
    let PerfFileReader {
        mut perf_file,
        mut record_iter,
    } = PerfFileReader::parse_file(reader).unwrap();
    assert_eq!(perf_file.arch().unwrap(), Some("s390x"));
    let names: Vec<_> = perf_file
        .event_attributes()
        .iter()
        .map(|event| event.name())
        .collect();
    assert_eq!(names, [Some("cycles")]);
    let mut records: Records = Default::default();
    while let Some(record) = record_iter.next_record(&mut perf_file).unwrap() {
        let PerfFileRecord::EventRecord { record, .. } = record else {
            panic!("a record of perf's own");
        };
        match record.parse().unwrap() {
            EventRecord::Comm(comm) => {
                let name = String::from_utf8(comm.name.as_slice().to_vec()).unwrap();
                records.0.push((comm.pid, name));
            }
            EventRecord::Mmap(map) => {
                let path = String::from_utf8(map.path.as_slice().to_vec()).unwrap();
                assert_eq!(map.page_offset, 0);
                records.1.push((map.pid, map.address, map.length, path));
            }
            EventRecord::Sample(sample) => records.2.push((
                sample.pid.unwrap(),
                sample.ip.unwrap(),
                sample.timestamp.unwrap(),
                sample.cpu.unwrap(),
            )),
            other => panic!("{other:?}"),
        }
    }
    records
}

fn exported(directory: &Path) -> (PathBuf, Records) {
    let file = directory.join("perf.data");
    let exported = export(directory, To::Perf, None, Progress::Silent).unwrap();
    assert_eq!(exported.file.as_ref(), Some(&file));
    assert!(exported.notes[0].starts_with("perf report -i "));
    let records = records(&file);
    (file, records)
}

#[test]
fn perf_data_has_samples_by_time_and_files_with_names_for_them() {
    let directory = report::tests::directory();
    let (_, (processes, maps, samples)) = exported(directory.path());
    let wait = 4_194_305;
    assert_eq!(
        processes,
        [(1, "loop".to_owned()), (wait, "(wait)".to_owned())]
    );
    assert_eq!(samples.len(), 7);
    assert!(samples.is_sorted_by_key(|sample| sample.2));
    assert_eq!(samples[0], (1, 0x20_0020, 1, 0));
    assert_eq!(samples.iter().filter(|sample| sample.3 == 1).count(), 2);
    assert_eq!(samples.iter().filter(|sample| sample.0 == wait).count(), 1);
    let (pid, start, length, path) = &maps[0];
    assert_eq!((*pid, *start, *length), (1, 0x20_0000, 0x40));
    assert!(path.ends_with("perf.data.symbols/g") && path.starts_with('/'));
    let elf = fs::read(path).unwrap();
    let elf = object::File::parse(&elf[..]).unwrap();
    let names: Vec<&str> = elf
        .symbols()
        .filter_map(|symbol| symbol.name().ok())
        .collect();
    assert_eq!(names, ["start", "inner"]);
}

#[test]
fn an_export_of_perf_may_be_made_again() {
    let directory = collection();
    let (_, first) = exported(directory.path());
    let (_, again) = exported(directory.path());
    assert_eq!(first, again);
    assert_eq!(first.0, [(1, "SYSHIS20260301.".to_owned())]);
    assert_eq!(first.2.len(), 4);
}

#[test]
fn an_export_that_cannot_be_written_is_an_error_and_leaves_no_file() {
    let directory = report::tests::directory();
    let out = directory.path().join("no/such/file");
    let error = export(directory.path(), To::Csv, Some(&out), Progress::Silent).unwrap_err();
    assert!(format!("{error:#}").contains("--out"), "{error:#}");
    let error = export(
        directory.path(),
        To::Perf,
        Some(Path::new("-")),
        Progress::Silent,
    );
    assert!(error.unwrap_err().to_string().contains("standard output"));
    let blocked = directory.path().join("sdb-cpu0.bin");
    fs::remove_file(&blocked).unwrap();
    fs::create_dir(&blocked).unwrap();
    for to in To::ALL {
        assert!(export(directory.path(), to, None, Progress::Silent).is_err());
        assert!(!directory.path().join(to.file_name()).exists());
    }
}

#[test]
fn only_a_regular_file_is_replaced_by_samples() {
    let directory = report::tests::directory();
    let path = |name: &str| directory.path().join(name);
    let csv = text(directory.path(), To::Csv);
    let to =
        |name: &str, form: To| export(directory.path(), form, Some(&path(name)), Progress::Silent);
    // A link names the new content.
    fs::write(path("file"), "before").unwrap();
    std::os::unix::fs::symlink("file", path("link")).unwrap();
    to("link", To::Csv).unwrap();
    assert!(path("link").is_symlink());
    assert_eq!(fs::read_to_string(path("file")).unwrap(), csv);
    // A FIFO is written.
    let fifo = path("fifo");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, 0o600.into(), 0).unwrap();
    let read = std::thread::spawn({
        let fifo = fifo.clone();
        move || fs::read_to_string(fifo).unwrap()
    });
    to("fifo", To::Csv).unwrap();
    assert_eq!(read.join().unwrap(), csv);
    assert!(!fs::symlink_metadata(&fifo).unwrap().is_file());
    // So is a device behind a link.
    std::os::unix::fs::symlink("/dev/full", path("full")).unwrap();
    let error = format!("{:#}", to("full", To::Csv).unwrap_err());
    for words in [path("full").to_str().unwrap(), "--out", "No space"] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(path("full").is_symlink());
    let error = to("full", To::Perf).unwrap_err().to_string();
    assert!(error.contains("name a file with --out"), "{error}");
}
