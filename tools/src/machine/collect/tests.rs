//! Which file gets what, and what happens when it cannot be written.

use super::*;
use crate::{
    folder::{directory, record::tests::record, sdb_cpus},
    views::trace::tests::payload,
};
use link::{
    counts::{CountEntry, CountsHead},
    data::SampleHead,
    files::{FileHead, Kind},
    state::{
        End as EndState, GuestEnded, Held, Looping, Payload, Progress, Started, Totals, Traced,
    },
};
use std::fs;
use zerocopy::IntoBytes;

fn collector(directory: &Path) -> Result<Collector<'static>, WriteError> {
    Collector::create(
        directory,
        record(),
        "",
        ImageSymbols::default(),
        LogReader::new(None),
    )
}

fn sample(cpu: u16, sequence: u32) -> Vec<u8> {
    let head = SampleHead {
        cpu: cpu.into(),
        level: 1.into(),
        sequence: sequence.into(),
    };
    let mut payload = head.as_bytes().to_vec();
    payload.extend([cpu as u8; 4096]);
    payload
}

fn frame(channel: Channel, payload: &[u8]) -> Frame<'_> {
    Frame { channel, payload }
}

#[test]
fn each_channel_has_its_file_and_each_cpu_its_blocks() {
    let directory = tempfile::tempdir().unwrap();
    let mut collector = collector(directory.path()).unwrap();
    collector.boot_text(b"IPL\n").unwrap();
    for (channel, payload) in [
        (Channel::Console, &b"hello "[..]),
        (Channel::Console, b"world"),
        (Channel::Operator, b"answer"),
    ] {
        collector.frame(frame(channel, payload)).unwrap();
    }
    for payload in [sample(1, 0), sample(0, 0), sample(1, 3)] {
        collector
            .frame(frame(Channel::SampleData, &payload))
            .unwrap();
    }
    let read = |name: &str| fs::read(directory.path().join(name)).unwrap();
    assert_eq!(read(BOOT), b"IPL\n");
    assert_eq!(read(CONSOLE), b"hello world");
    assert_eq!(read(OPERATOR), b"answer\n");
    assert_eq!(
        (read("sdb-cpu0.bin").len(), read("sdb-cpu1.bin").len()),
        (4096, 8192)
    );
    assert_eq!(sdb_cpus(directory.path()).unwrap(), [0, 1]);
    assert_eq!(collector.record.link.blocks_missing, 2);
    assert_eq!(RunRecord::read(directory.path()).unwrap().end, End::Running);
}

#[test]
fn what_is_beyond_a_limit_is_counted_and_named_and_the_rest_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut collector = collector(directory.path()).unwrap();
    collector.limit(Kept(8), Kept(3 * 4104));
    for text in [&b"hello"[..], b"world", b"again"] {
        let noted = collector.frame(frame(Channel::Console, text)).unwrap();
        assert_eq!(noted, Noted::Console(text.to_vec()));
    }
    for sequence in 0..5 {
        let payload = sample(sequence as u16 % 2, sequence / 2);
        collector
            .frame(frame(Channel::SampleData, &payload))
            .unwrap();
    }
    // Something short does not come behind what was left out.
    collector.frame(frame(Channel::Log, b"x")).unwrap();
    collector.finish().unwrap();
    let read = |name: &str| fs::read(directory.path().join(name)).unwrap();
    assert_eq!(read(CONSOLE), b"hellowor");
    assert_eq!(
        (read("sdb-cpu0.bin").len(), read("sdb-cpu1.bin").len()),
        (8192, 4096)
    );
    let not_kept = &collector.record.link.not_kept;
    assert_eq!(
        (not_kept.console_bytes, not_kept.frames, not_kept.bytes),
        (7, 3, 2 * 4104 + 1)
    );
    let said = String::from_utf8(read(OPERATOR)).unwrap();
    assert_eq!(said.matches("limit").count(), 2, "{said}");
    assert!(read(LOG).is_empty());
}

#[test]
fn states_become_the_record() {
    let directory = tempfile::tempdir().unwrap();
    let mut collector = collector(directory.path()).unwrap();
    let mut note = |payload: Vec<u8>| collector.frame(frame(Channel::RunState, &payload)).unwrap();
    let ended = GuestEnded {
        reason: 1,
        psw_address: 0xFFF.into(),
        ..GuestEnded::default()
    };
    assert_eq!(note(ended.pieces().concat()), Noted::GuestEnded);
    let totals = Totals {
        cpu: 1.into(),
        traps: 7.into(),
        ..Totals::default()
    };
    assert_eq!(note(totals.pieces().concat()), Noted::Data);
    assert_eq!(
        note(
            EndState {
                frames: 9.into(),
                ..EndState::default()
            }
            .pieces()
            .concat()
        ),
        Noted::End
    );
    assert_eq!(note(vec![99]), Noted::Data);
    let record = collector.record;
    assert_eq!(record.end.exit_code(), 0);
    assert_eq!(
        (
            record.totals[0].traps,
            record.link.frames_sent,
            record.link.bad_payloads
        ),
        (7, Some(9), 1)
    );
}

#[test]
fn traced_events_are_kept_and_counted_and_a_bad_payload_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let mut collector = collector(directory.path()).unwrap();
    let path = directory.path().join(EVENTS);
    assert!(!path.exists(), "nothing was traced yet");
    // Events 3 to 6 did not arrive.
    let payloads = [(0, 3), (7, 2), (9, 0)].map(|(first, count)| payload(0, first, count));
    for payload in &payloads {
        let noted = collector.frame(frame(Channel::Trace, payload)).unwrap();
        assert_eq!(noted, Noted::Traced(payload.clone()));
    }
    for bad in [&payloads[0][..20], b""] {
        assert_eq!(
            collector.frame(frame(Channel::Trace, bad)).unwrap(),
            Noted::Data
        );
    }
    let mut read = Vec::new();
    file::read(directory.path(), |payload| {
        read.push(payload.to_vec());
        Ok(true)
    })
    .unwrap();
    assert_eq!(read, payloads);
    let tracing = &collector.record.tracing;
    assert_eq!(
        (
            tracing.streamed,
            tracing.lost_in_machine,
            tracing.lost_on_link
        ),
        (5, 0, 4)
    );
    assert_eq!(collector.record.link.bad_payloads, 2);
    // A directory that is used again does not keep the events.
    collector.write_record().unwrap();
    crate::folder::directory(Some(directory.path()), "g").unwrap();
    assert!(!path.exists());
}

#[test]
fn exact_counts_are_kept_by_cpu_and_the_record_has_their_sums() {
    let directory = tempfile::tempdir().unwrap();
    let mut collector = collector(directory.path()).unwrap();
    let payload = |cpu: u16, sequence: u32, counted: u64| {
        let head = CountsHead {
            cpu: cpu.into(),
            sequence: sequence.into(),
            count: 1.into(),
            counted: counted.into(),
            unmatched: u64::from(sequence).into(),
            ..CountsHead::default()
        };
        [head.as_bytes(), CountEntry::default().as_bytes()].concat()
    };
    let mut note = |payload: &[u8]| collector.frame(frame(Channel::Counts, payload)).unwrap();
    // The payload 1 of CPU 1 does not arrive, and 0 comes again.
    let payloads = [(1, 0, 5), (0, 0, 7), (1, 2, 9), (1, 0, 5)];
    for (cpu, sequence, counted) in payloads {
        assert_eq!(note(&payload(cpu, sequence, counted)), Noted::Data);
    }
    let bad = payload(0, 1, 8);
    note(&bad[..bad.len() - 1]);
    let counts = |cpu, counted, unmatched, missing| CountsRecord {
        cpu,
        counted,
        unmatched,
        skipped: 0,
        missing,
    };
    let record = &collector.record;
    assert_eq!(record.counts, [counts(0, 7, 0, 0), counts(1, 9, 2, 1)]);
    assert_eq!(record.link.bad_payloads, 1);
    let read = |cpu| fs::read(directory.path().join(counts_name(cpu))).unwrap();
    assert_eq!(read(0), payload(0, 0, 7));
    assert_eq!(read(1), [payload(1, 0, 5), payload(1, 2, 9)].concat());
    // A directory that is used again does not keep them.
    collector.write_record().unwrap();
    crate::folder::directory(Some(directory.path()), "g").unwrap();
    assert!(!directory.path().join(counts_name(0)).exists());
}

#[test]
fn a_trace_has_its_count_and_the_machines_words_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut collector = collector(directory.path()).unwrap();
    for answer in [
        "trace 1: FETCH RANGE 1000-1FFF TRACE\n",
        "trace 1: STORE COUNT\ntrace 1: 77 events\n",
        "trace x: FETCH",
    ] {
        collector
            .frame(frame(Channel::Operator, answer.as_bytes()))
            .unwrap();
    }
    let mut note = |payload: Vec<u8>| collector.frame(frame(Channel::RunState, &payload)).unwrap();
    for (trace, events) in [(2_u16, 9_u64), (1, 77)] {
        let traced = Traced {
            trace: trace.into(),
            events: events.into(),
            ..Traced::default()
        };
        assert_eq!(note(traced.pieces().concat()), Noted::Data);
    }
    let held = Held {
        trace: 5.into(),
        ..Held::default()
    };
    assert_eq!(note(held.pieces().concat()), Noted::Held { trace: 5 });
    let traced = |trace, what: &str, events| TracedRecord {
        trace,
        what: what.to_owned(),
        events,
    };
    assert_eq!(
        collector.record.tracing.traces,
        [traced(1, "STORE COUNT", 77), traced(2, "", 9)]
    );
}

#[test]
fn a_map_of_linux_is_written_at_the_end_if_the_guest_said_where_its_kernel_lies() {
    const SYMBOLS: &str = "0000000000100000\t0000000000100040\tkernel\tstartup_continue\n";
    for console in ["", "\x1Emillimeter: kernel 3ffe0000000\n"] {
        let directory = tempfile::tempdir().unwrap();
        let mut linux = record();
        linux.is_linux = true;
        let (image, log) = (ImageSymbols::default(), LogReader::new(None));
        let mut collector =
            Collector::create(directory.path(), linux, SYMBOLS, image, log).unwrap();
        collector.commanded("F HIS,B");
        for kind in [Kind::Begin, Kind::EndWithMap] {
            let head = FileHead {
                kind: kind as u8,
                ..FileHead::default()
            };
            let payload = [head.as_bytes(), b"."].concat();
            let taken = collector.frame(frame(Channel::Files, &payload));
            assert_eq!(taken.unwrap(), Noted::Data);
        }
        // What the guest says after the end of the collection run counts as well.
        let text = frame(Channel::Console, console.as_bytes());
        collector.frame(text).unwrap();
        let lines = collector.finish().unwrap();
        let name = format!("{}000.MAP", collector.record.collections[0]);
        let map = fs::read_to_string(directory.path().join(&name));
        if console.is_empty() {
            assert_eq!(lines.len(), 1);
            assert!(lines[0].starts_with(&name) && lines[0].contains("where its kernel lies"));
            assert!(map.is_err());
            let operator = fs::read_to_string(directory.path().join(OPERATOR)).unwrap();
            assert_eq!(operator, format!("// {}\n", lines[0]));
        } else {
            assert_eq!(lines, [""; 0]);
            assert!(map.unwrap().contains("000003FFE0000000000003FFE000003F"));
        }
    }
}

#[test]
fn while_a_run_goes_on_its_directory_says_what_it_is_and_how_far_it_has_come() {
    let directory = tempfile::tempdir().unwrap();
    let mut collector = collector(directory.path()).unwrap();
    let written = || RunRecord::read(directory.path()).unwrap();
    assert_eq!((written().interval, written().cpus), (1_000_000, 1));
    let started = Started {
        mode: 1,
        cpu_speed: 1000.into(),
        ..Started::default()
    };
    let payload = started.pieces().concat();
    collector.frame(frame(Channel::RunState, &payload)).unwrap();
    assert_eq!(
        written().started.map(|started| started.cpu_speed),
        Some(1000)
    );
    let mut come = |instructions: u64| {
        let progress = Progress {
            instructions: instructions.into(),
            tod: 4096.into(),
        };
        let payload = progress.pieces().concat();
        collector.recorded = collector.recorded.checked_sub(RECORD_PACE).unwrap();
        let noted = collector.frame(frame(Channel::RunState, &payload)).unwrap();
        assert_eq!(noted, Noted::Progress { instructions });
    };
    for instructions in [5, 9] {
        come(instructions);
        let expected = ProgressRecord {
            instructions,
            tod: 4096,
        };
        assert_eq!(written().progress, Some(expected));
    }
    assert_eq!(written().end, End::Running);
}

#[test]
fn a_run_goes_on_when_its_record_cannot_be_written_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut collector = collector(directory.path()).unwrap();
    // A folder has the name of the next record.
    fs::create_dir(directory.path().join("run.json.new")).unwrap();
    let payload = Started {
        mode: 1,
        ..Started::default()
    };
    let payload = payload.pieces().concat();
    let noted = collector.frame(frame(Channel::RunState, &payload));
    assert_eq!(noted.unwrap(), Noted::Data);
    assert_eq!(RunRecord::read(directory.path()).unwrap().started, None);
    assert!(collector.record.started.is_some());
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file_and_keeps_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    crate::folder::append::tests::fill(COUNTERS);
    let mut collector = collector(directory.path()).unwrap();
    collector.frame(frame(Channel::Console, b"kept")).unwrap();
    let payload =
        crate::formats::counters::tests::payload(0, link::data::Level::Machine, 1, 0, &[1]);
    let error = collector
        .frame(frame(Channel::Counters, &payload))
        .unwrap_err();
    let error = format!("{:#}", anyhow::Error::new(error));
    assert!(
        error.contains("counters.bin")
            && error.matches("No space left").count() == 1
            && error.contains("--out"),
        "{error}"
    );
    assert_eq!(fs::read(directory.path().join(CONSOLE)).unwrap(), b"kept");
}

#[test]
fn a_chosen_directory_may_hold_an_earlier_run_and_nothing_else() {
    let parent = tempfile::tempdir().unwrap();
    let chosen = parent.path().join("a/b");
    assert_eq!(directory(Some(&chosen), "g").unwrap().path, chosen);
    collector(&chosen).unwrap();
    fs::write(chosen.join(sdb_name(3)), [0; 9]).unwrap();
    assert_eq!(directory(Some(&chosen), "g").unwrap().path, chosen);
    assert!(
        !chosen.join(sdb_name(3)).exists(),
        "the earlier run's blocks are gone"
    );
    let foreign = parent.path().join("c");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("thesis.txt"), "").unwrap();
    let error = directory(Some(&foreign), "g").unwrap_err().to_string();
    assert!(
        error.contains("not a run's") && error.contains("--out"),
        "{error}"
    );
}

#[test]
fn a_file_of_the_folder_is_never_written_through_a_link() {
    let outer = tempfile::tempdir().unwrap();
    let (other, chosen) = (outer.path().join("other"), outer.path().join("run"));
    fs::write(&other, "other").unwrap();
    fs::create_dir(&chosen).unwrap();
    for name in [CONSOLE, "run.json.new"] {
        std::os::unix::fs::symlink(&other, chosen.join(name)).unwrap();
        let Err(error) = collector(&chosen) else {
            panic!("the link {name} is followed");
        };
        let error = format!("{:#}", anyhow::Error::from(error));
        assert!(error.contains("symbolic link"), "{error}");
        fs::remove_file(chosen.join(name)).unwrap();
    }
    collector(&chosen).unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"other");
}

#[test]
fn a_guest_cannot_make_the_record_grow_by_interruptions_without_end() {
    let directory = tempfile::tempdir().unwrap();
    let mut collector = collector(directory.path()).unwrap();
    let looping = Looping {
        class: 1,
        code: 0x1004.into(),
        ..Looping::default()
    };
    for _ in 0..5000 {
        let payload = looping.pieces().concat();
        collector.frame(frame(Channel::RunState, &payload)).unwrap();
    }
    collector.write_record().unwrap();
    let record = RunRecord::read(directory.path()).unwrap();
    assert!(record.loops.len() < 100, "{}", record.loops.len());
    let sentences: Vec<String> = record.loops().collect();
    assert!(sentences[0].contains("external interruptions 1004 without end"));
    let rest = 5000 - record.loops.len();
    let last = sentences.last().unwrap();
    assert!(last.contains(&format!(" {rest} more times")), "{last}");
}
