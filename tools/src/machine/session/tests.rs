//! A run against a shell script that plays the machine: it sends prepared bytes and ends, or does not.

use super::*;
use crate::{
    computer::progress::Progress,
    folder::{
        CONSOLE, OPERATOR,
        record::{RunRecord, tests::record},
    },
    machine::{failure::ImageSymbols, log::LogReader},
};
use crate::{machine::profiler::Profilers, symbols::kallsyms::Name};
use link::{
    data::SampleHead,
    frame::Frame,
    state::{
        End as EndState, FailureHead, GuestEnded, Held, Payload, Progress as ProgressState, Waiting,
    },
};
use std::{fs, path::Path};
use tempfile::TempDir;
use zerocopy::IntoBytes;

/// A guest without names.
static NO_NAMES: PlaceNames = PlaceNames::NONE;

/// What a machine sends.
#[derive(Default)]
struct Script(Vec<u8>);

impl Script {
    fn open() -> Self {
        Self(b"IPL\r\n\0".to_vec())
    }

    fn frame(mut self, channel: Channel, pieces: &[&[u8]]) -> Self {
        let mut out = vec![0; LARGEST_ENCODED];
        let length = encode(channel, pieces, &mut out).unwrap();
        self.0.extend(&out[..length]);
        self
    }

    fn state(self, state: &impl Payload) -> Self {
        self.frame(Channel::RunState, &state.pieces())
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn whole_run(self) -> Self {
        let ended = GuestEnded {
            reason: 1,
            psw_address: 0xFFF.into(),
            ..GuestEnded::default()
        };
        self.state(&ProgressState {
            instructions: 5_000_000.into(),
            ..ProgressState::default()
        })
        .frame(Channel::Console, &[b"hello\n"])
        .state(&ended)
        .state(&EndState::default())
    }
}

/// Plays a machine that sends this, waits until `then` is done, and returns the record.
fn play(
    script: &Script,
    then: &str,
    change: impl FnOnce(&mut Host<'_, '_>),
) -> (RunRecord, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("machine");
    fs::write(&file, &script.0).unwrap();
    let shell = format!("cat '{}'; {then}", file.display());
    let mut machine = Running::start(Path::new("/bin/sh"), &["-c".to_owned(), shell]).unwrap();
    let process = format!("/proc/{}", machine.id());
    let mut collector = Collector::create(
        directory.path(),
        record(),
        "",
        ImageSymbols::default(),
        LogReader::new(None),
    )
    .unwrap();
    let mut host = Host {
        script: VecDeque::new(),
        pause: Duration::ZERO,
        live: None,
        has_operator: true,
        echo: None,
        names: &NO_NAMES,
        profilers: Profilers::default(),
        monitor: None,
        silence: Duration::from_secs(30),
        limit: Some(Duration::from_secs(60)),
        keeps_files: true,
    };
    change(&mut host);
    drive(
        &mut machine,
        &mut collector,
        host,
        &[],
        &mut Progress::Silent.step("playing"),
    );
    drop(machine);
    assert!(!Path::new(&process).exists(), "the machine stayed behind");
    (RunRecord::read(directory.path()).unwrap(), directory)
}

fn console(directory: &TempDir) -> String {
    fs::read_to_string(directory.path().join(CONSOLE)).unwrap()
}

fn tool_text(record: &RunRecord) -> &str {
    match &record.end {
        End::Tool { text } => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_whole_run_ends_with_the_guests_end() {
    let (record, directory) = play(&Script::open().whole_run(), "true", |_| {});
    assert_eq!(record.end.exit_code(), 0);
    assert_eq!(console(&directory), "hello\n");
    assert_eq!((record.link.frames, record.link.bad_frames), (4, 0));
}

#[test]
fn garbage_between_frames_is_counted_and_the_run_goes_on() {
    let script = Script::open().bytes(b"\x05garbage\0\xFF\xFF\0").whole_run();
    let (record, _directory) = play(&script, "true", |_| {});
    assert_eq!(record.end.exit_code(), 0);
    assert_eq!(record.link.bad_frames, 2);
}

#[test]
fn a_link_that_falls_silent_ends_the_run_and_what_came_is_kept() {
    let script = Script::open().frame(Channel::Console, &[b"so far"]);
    let (record, directory) = play(&script, "exec sleep 600", |host| {
        host.silence = Duration::from_secs(3)
    });
    assert!(
        tool_text(&record).contains("silent"),
        "{}",
        tool_text(&record)
    );
    assert_eq!(console(&directory), "so far");
}

#[test]
fn a_link_that_was_never_opened_shows_what_the_machine_said() {
    let script = Script(b"MM0042 no storage for the HSA\r\n".to_vec());
    let (record, _directory) = play(&script, "exec sleep 600", |host| {
        host.silence = Duration::from_secs(3)
    });
    let text = tool_text(&record);
    assert!(
        text.contains("not opened the link") && text.contains("no storage for the HSA"),
        "{text}"
    );
}

#[test]
fn a_link_that_carries_only_garbage_is_reported_as_such() {
    let shell = "while :; do printf 'garbage\\0'; sleep 0.02; done";
    let (record, _directory) = play(&Script::open(), shell, |host| {
        host.silence = Duration::from_secs(3)
    });
    assert!(
        tool_text(&record).contains("garbage"),
        "{}",
        tool_text(&record)
    );
    assert!(record.link.bad_frames > 1);
}

#[test]
fn qemu_that_dies_is_an_error_with_its_words_and_a_remedy() {
    let script = Script::open().frame(Channel::Console, &[b"so far"]);
    let shell = "echo 'unable to find CPU model' >&2; exit 1";
    let (record, directory) = play(&script, shell, |_| {});
    let text = tool_text(&record);
    for expected in ["exit status: 1", "unable to find CPU model", "--cpu-model"] {
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(console(&directory), "so far");
}

#[test]
fn a_guest_that_waits_for_ever_is_told_to_end_and_has_failed() {
    let waiting = Script::open().state(&Waiting::default());
    let end = Script::default()
        .state(&GuestEnded {
            reason: 3,
            ..GuestEnded::default()
        })
        .state(&EndState::default());
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &end.0).unwrap();
    // The machine answers only after it has been spoken to.
    let shell = format!("head -c 1 >/dev/null; cat '{}'", file.path().display());
    let (record, directory) = play(&waiting, &shell, |_| {});
    assert_eq!(record.end, End::Waiting);
    assert_eq!(
        fs::read_to_string(directory.path().join(OPERATOR)).unwrap(),
        "// end\n"
    );
}

#[test]
fn a_machine_that_closes_when_the_operator_ends_it_is_no_failure_of_the_tool() {
    let (record, _directory) = play(&Script::open(), "head -c 1 >/dev/null", |host| {
        let (sender, typed) = std::sync::mpsc::sync_channel(1);
        sender.send(Input::Operator("END".to_owned())).unwrap();
        host.live = Some(typed);
    });
    assert_eq!(record.end, End::Interrupted);
    let (record, _directory) = play(&Script::open(), "true", |_| {});
    assert!(matches!(record.end, End::Tool { .. }));
}

#[test]
fn each_wait_takes_the_next_input_of_the_script() {
    let script = Script::open()
        .state(&Waiting::default())
        .state(&Waiting::default())
        .whole_run();
    let (record, directory) = play(&script, "true", |host| {
        host.script = [
            Input::Operator("display".to_owned()),
            Input::Console(b"ls\n".to_vec()),
        ]
        .into();
    });
    assert_eq!(record.end.exit_code(), 0);
    assert_eq!(
        fs::read_to_string(directory.path().join(OPERATOR)).unwrap(),
        "// display\n"
    );
}

fn held(trace: u16) -> Held {
    Held {
        trace: trace.into(),
        ..Held::default()
    }
}

fn operator(directory: &TempDir) -> String {
    fs::read_to_string(directory.path().join(OPERATOR)).unwrap()
}

#[test]
fn a_guest_that_a_trace_has_stopped_takes_the_script_and_then_goes_on() {
    let script = Script::open()
        .state(&held(3))
        .state(&held(3))
        .state(&held(3))
        .whole_run();
    let (record, directory) = play(&script, "true", |host| {
        host.script = [Input::Operator("SHOW PSW".to_owned())].into();
    });
    assert_eq!(record.end.exit_code(), 0);
    assert_eq!(operator(&directory), "// SHOW PSW\n// go\n// go\n");
}

#[test]
fn a_guest_that_waits_for_a_person_to_say_go_is_not_silent() {
    // The machine says nothing until it has heard something, for longer than a link may be silent.
    let script = Script::open().state(&held(0));
    let rest = Script::default().whole_run();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &rest.0).unwrap();
    let shell = format!("head -c 1 >/dev/null; cat '{}'", file.path().display());
    let (sender, typed) = std::sync::mpsc::sync_channel(1);
    let person = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(3));
        sender.send(Input::Operator("GO".to_owned())).unwrap();
        sender
    });
    let (record, directory) = play(&script, &shell, |host| {
        host.silence = Duration::from_secs(1);
        host.live = Some(typed);
    });
    person.join().unwrap();
    assert_eq!(record.end.exit_code(), 0, "{:?}", record.end);
    assert_eq!(operator(&directory), "// GO\n");
}

#[test]
fn a_person_who_types_for_the_guest_only_cannot_let_it_go_on_and_the_host_does() {
    let script = Script::open().state(&held(0)).whole_run();
    let (_sender, typed) = std::sync::mpsc::sync_channel(1);
    let (record, directory) = play(&script, "true", |host| {
        host.has_operator = false;
        host.live = Some(typed);
    });
    assert_eq!(record.end.exit_code(), 0);
    assert_eq!(operator(&directory), "// go\n");
}

#[test]
fn a_person_who_leaves_a_stopped_guest_lets_it_go_on() {
    let script = Script::open().state(&held(0)).whole_run();
    let (record, directory) = play(&script, "true", |host| {
        let (sender, typed) = std::sync::mpsc::sync_channel(1);
        sender.send(Input::Operator("SHOW PSW".to_owned())).unwrap();
        host.live = Some(typed);
    });
    assert_eq!(record.end.exit_code(), 0);
    assert_eq!(operator(&directory), "// SHOW PSW\n// go\n");
}

#[test]
fn a_typed_name_becomes_addresses_and_the_host_answers_an_unknown_one() {
    let names = PlaceNames::of_kernel(&[(0x1000, "main"), (0x1100, "end")].map(
        |(address, name)| Name {
            address,
            kind: b'T',
            name: name.to_owned(),
        },
    ));
    // The run does not end before it has heard a command.
    let script = Script::open().state(&Waiting::default());
    let rest = Script::default().whole_run();
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &rest.0).unwrap();
    let shell = format!("head -c 1 >/dev/null; cat '{}'", file.path().display());
    let (sender, typed) = std::sync::mpsc::sync_channel(4);
    let (record, directory) = play(&script, &shell, |host| {
        for line in ["PER FETCH RANGE mian", "PER FETCH RANGE main", "PER FROB"] {
            sender.send(Input::Operator(line.to_owned())).unwrap();
        }
        host.names = Box::leak(Box::new(names));
        host.live = Some(typed);
    });
    drop(sender);
    assert_eq!(record.end.exit_code(), 0);
    let text = operator(&directory);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "// PER FETCH RANGE mian");
    assert!(
        lines[1].contains("mian is neither") && lines[1].contains("main"),
        "{text}"
    );
    // The machine itself answers what it does not understand.
    assert_eq!(lines[2..4], ["// PER FETCH RANGE 1000-10FF", "// PER FROB"]);
}

#[test]
fn input_of_the_host_is_framed_and_opens_the_link() {
    // An empty line is a frame as well.
    for line in ["help", ""] {
        let sent = Script::default().frame(Channel::Operator, &[line.as_bytes()]);
        let length = sent.0.len() + 1;
        let script = Script::open().state(&Waiting::default());
        let heard = tempfile::NamedTempFile::new().unwrap();
        let shell = format!("exec head -c {length} >'{}'", heard.path().display());
        play(&script, &shell, |host| {
            host.script = [Input::Operator(line.to_owned())].into()
        });
        let mut decoder: Decoder = Decoder::new();
        let bytes = fs::read(heard.path()).unwrap();
        let mut commands = Vec::new();
        for byte in bytes {
            if let Received::Frame(Frame {
                channel: Channel::Operator,
                payload,
            }) = decoder.push(byte)
            {
                commands.push(payload.to_vec());
            }
        }
        assert_eq!(commands, [line.as_bytes()]);
    }
}

#[test]
fn a_machine_that_fails_says_why_and_is_no_defect_of_the_guest() {
    let head = FailureHead {
        wait_state: 0xE02.into(),
        ..FailureHead::default()
    };
    let [kind, body] = head.pieces();
    let script = Script::open().frame(Channel::RunState, &[kind, body, b"panicked at trap.rs"]);
    let (record, _directory) = play(&script, "true", |_| {});
    let End::Machine { wait_state, text } = &record.end else {
        panic!("{:?}", record.end)
    };
    assert_eq!((*wait_state, record.end.exit_code()), (0xE02, 2));
    assert!(text.contains("panicked at trap.rs"));
}

#[test]
fn a_run_that_lasts_too_long_is_ended_and_keeps_what_came() {
    let script = Script::open().frame(Channel::Console, &[b"so far"]);
    let (record, directory) = play(&script, "exec sleep 600", |host| {
        host.limit = Some(Duration::from_millis(300))
    });
    assert_eq!(record.end, End::TimeLimit);
    assert_eq!(console(&directory), "so far");
}

#[test]
fn a_full_disk_ends_the_run_with_the_files_name() {
    let directory = tempfile::tempdir().unwrap();
    crate::folder::append::tests::fill("sdb-cpu0.bin");
    let head = SampleHead {
        cpu: 0.into(),
        level: 1.into(),
        sequence: 0.into(),
    };
    let script = Script::open()
        .frame(Channel::Console, &[b"so far"])
        .frame(Channel::SampleData, &[head.as_bytes(), &[0; 4096]]);
    let file = directory.path().join("machine");
    fs::write(&file, &script.0).unwrap();
    let shell = format!("cat '{}'; exec sleep 600", file.display());
    let mut machine = Running::start(Path::new("/bin/sh"), &["-c".to_owned(), shell]).unwrap();
    let mut collector = Collector::create(
        directory.path(),
        record(),
        "",
        ImageSymbols::default(),
        LogReader::new(None),
    )
    .unwrap();
    let host = Host {
        script: VecDeque::new(),
        pause: Duration::ZERO,
        live: None,
        has_operator: true,
        echo: None,
        names: &NO_NAMES,
        profilers: Profilers::default(),
        monitor: None,
        silence: Duration::from_secs(30),
        limit: None,
        keeps_files: true,
    };
    drive(
        &mut machine,
        &mut collector,
        host,
        &[],
        &mut Progress::Silent.step("playing"),
    );
    let record = RunRecord::read(directory.path()).unwrap();
    let text = tool_text(&record);
    assert!(
        text.contains("sdb-cpu0.bin") && text.contains("No space left"),
        "{text}"
    );
    assert_eq!(
        fs::read_to_string(directory.path().join(CONSOLE)).unwrap(),
        "so far"
    );
}

#[test]
fn a_machine_that_goes_on_sending_after_the_guests_end_is_ended() {
    let ended = GuestEnded {
        reason: 1,
        ..GuestEnded::default()
    };
    let script = Script::open().state(&ended);
    let more = Script::default().frame(Channel::Console, &[b"more"]);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &more.0).unwrap();
    let shell = format!(
        "while :; do cat '{}'; sleep 0.02; done",
        file.path().display()
    );
    let (record, _directory) = play(&script, &shell, |host| {
        host.silence = Duration::from_secs(3);
    });
    assert!(tool_text(&record).contains("has not finished"));
}
