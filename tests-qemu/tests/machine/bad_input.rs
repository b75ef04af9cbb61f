//! Mistakes of a person, and failures of the run: each gives a clear message with the remedy and exit code 2, leaves
//! no QEMU behind, and keeps everything collected so far.

use std::{
    fs,
    io::Read,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use measure::{
    computer::{person::Input, progress::Progress},
    machine::qemu::{Heard, Running},
};
use tempfile::TempDir;
use tests_qemu::{
    command::{self, Finished},
    ipl,
    suite::test,
};

fn run_measure(arguments: &[&str]) -> Finished {
    command::finish(command::measure(arguments).unwrap()).unwrap()
}

/// The command must refuse these arguments with these words.
#[track_caller]
fn refuses(arguments: &[&str], words: &[&str]) {
    let directory = TempDir::new().unwrap();
    let mut command = command::measure(arguments).unwrap();
    command.current_dir(directory.path());
    command::finish(command).unwrap().assert_fails(2, words);
}

#[test]
fn too_little_storage_is_refused_with_the_least_that_serves() {
    refuses(&["run", "hash", "--storage", "16M"], &["too little", "64M"]);
    refuses(&["run", "hash", "--storage", "512"], &["no unit", "512M"]);
}

#[test]
fn an_interval_out_of_range_is_refused_with_the_range() {
    for bad in ["999", "4294967297", "often"] {
        refuses(&["run", "hash", "--interval", bad], &["1000", "4294967296"]);
    }
    refuses(&["run", "hash", "--freq", "0"], &["out of range"]);
}

#[test]
fn a_number_of_cpus_out_of_range_is_refused() {
    refuses(&["run", "hash", "--cpus", "17"], &["17"]);
    refuses(&["run", "hash", "--cpus", "0"], &["0"]);
}

#[test]
fn a_guest_that_needs_more_cpus_is_refused_with_the_number() {
    refuses(
        &["run", "b_sigp", "--cpus", "1"],
        &["b_sigp needs 2 CPUs", "--cpus 2"],
    );
}

#[test]
fn a_guest_that_does_not_exist_is_refused_with_the_nearest_names() {
    let refused = [
        "no guest workloda",
        "neither a file nor bundled",
        "workload",
    ];
    refuses(&["run", "workloda"], &refused);
    // The list has all.
    refuses(&["run", "no-such-guest"], &["run --list"]);
}

#[test]
fn a_malformed_guest_is_refused_with_what_is_wrong_with_it() {
    let directory = TempDir::new().unwrap();
    let guest = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_string_lossy().into_owned()
    };
    refuses(&["run", &guest("empty", b"")], &["too short"]);
    refuses(&["run", &guest("text", b"hello, machine\n")], &["IPL PSW"]);
    refuses(
        &["run", &guest("cut", b"\x7FELF\x02\x02\x01")],
        &["ELF", "build it again"],
    );
    refuses(
        &["run", &guest("pc", b"\x7FELF\x02\x01\x01")],
        &["big-endian", "s390x"],
    );
}

#[test]
fn a_missing_qemu_is_named_with_the_way_to_get_one() {
    refuses(
        &["run", "hash", "--qemu", "/no/such/qemu"],
        &["/no/such/qemu", "--qemu"],
    );
    refuses(
        &["run", "hash", "--qemu", "/bin/true"],
        &["does not say that it is QEMU"],
    );
}

#[test]
fn an_unsupported_cpu_model_is_refused_with_the_remedy() {
    refuses(&["run", "hash", "--cpu-model", "z99"], &["--cpu-model"]);
}

#[test]
fn a_directory_without_a_run_cannot_be_reported() {
    let directory = TempDir::new().unwrap();
    refuses(
        &["report", &directory.path().to_string_lossy()],
        &["holds no run"],
    );
}

#[test]
fn a_directory_with_other_files_is_not_written_to() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("letter.txt"), "mine").unwrap();
    refuses(
        &["run", "hash", "--out", &directory.path().to_string_lossy()],
        &["--out"],
    );
}

#[test]
fn a_disk_that_is_full_for_the_report_is_named() {
    let directory = TempDir::new().unwrap();
    let out = directory.path().to_string_lossy().into_owned();
    refuses(
        &["run", "b_svc", "--out", &out, "--json", "/dev/full"],
        &["/dev/full", "--json"],
    );
}

#[test]
fn a_guest_that_fails_gives_exit_code_3_and_its_psw() {
    let directory = TempDir::new().unwrap();
    let out = directory.path().to_string_lossy().into_owned();
    let first = run_measure(&["run", "b_end_failure", "--out", &out]);
    assert_eq!(first.code, Some(3), "{first:?}");
    assert!(first.output.contains("0000000000123456"), "{first:?}");
    let again = run_measure(&["report", &out]);
    assert_eq!((again.code, &again.output), (Some(3), &first.output));
}

/// A process with this text in its command line.
fn is_running(text: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let mut line = Vec::new();
        fs::File::open(entry.path().join("cmdline"))
            .and_then(|mut file| file.read_to_end(&mut line))
            .is_ok()
            && entry
                .file_name()
                .to_string_lossy()
                .parse::<u32>()
                .is_ok_and(|id| id != std::process::id())
            && String::from_utf8_lossy(&line).contains(text)
    })
}

fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(120), "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn has_samples(directory: &Path) -> bool {
    fs::metadata(directory.join("sdb-cpu0.bin")).is_ok_and(|file| file.len() >= 8192)
}

/// Waits for the first samples of a run into `directory`. Returns an argument of its QEMU that identifies it among
/// the processes.
fn staged_once_samples_arrive(directory: &Path) -> String {
    wait_for("no samples arrive", || has_samples(directory));
    let record = fs::read_to_string(directory.join("run.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let arguments = record["arguments"].as_array().unwrap();
    let mut arguments = arguments.iter().filter_map(|argument| argument.as_str());
    // Each run has a directory of its own for what is staged.
    let loader = arguments.find(|argument| argument.starts_with("loader,file="));
    loader.unwrap().to_owned()
}

#[test]
fn ctrl_c_ends_qemu_and_keeps_what_was_collected() {
    let directory = TempDir::new().unwrap();
    let out = directory.path().to_string_lossy().into_owned();
    let child = command::measure(&["run", "workload", "--interval", "10000", "--out", &out])
        .unwrap()
        .spawn()
        .unwrap();
    let staged = staged_once_samples_arrive(directory.path());
    assert!(is_running(&staged), "QEMU is not there while it runs");
    // `kill` is the shell's own: a minimal Debian has no program of that name.
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("interrupted"), "{error}");
    wait_for("QEMU stays behind", || !is_running(&staged));
    reports_the_beginning(&out);
}

/// The report shows what there is of a run, and its exit code says that the run did not come to its end.
#[track_caller]
fn reports_the_beginning(out: &str) {
    let report = run_measure(&["report", out]);
    assert_eq!(report.code, Some(2), "{report:?}");
    assert!(report.output.contains("guests::workload"), "{report:?}");
}

#[test]
fn a_tool_that_is_killed_outright_leaves_no_qemu_and_a_readable_directory() {
    let directory = TempDir::new().unwrap();
    let out = directory.path().to_string_lossy().into_owned();
    let mut child = command::measure(&["run", "workload", "--interval", "10000", "--out", &out])
        .unwrap()
        .spawn()
        .unwrap();
    let staged = staged_once_samples_arrive(directory.path());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("QEMU stays behind", || !is_running(&staged));
    reports_the_beginning(&out);
}

#[test]
fn a_message_names_no_folder_that_is_removed() {
    let place = TempDir::new().unwrap();
    let exec = |more: &[&str]| {
        let line = [&["exec", "--bare", "--limit", "2"], more, &["workload"]].concat();
        let mut command = command::measure(&line).unwrap();
        command
            .current_dir(place.path())
            .env("TMPDIR", place.path());
        command::finish(command).unwrap()
    };
    let removed = exec(&[]);
    removed.assert_fails(2, &["lasted too long"]);
    assert!(
        !removed.error.contains(place.path().to_str().unwrap()),
        "{removed:?}"
    );
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    exec(&["--out", "kept"]).assert_fails(2, &["lasted too long"]);
    assert!(place.path().join("kept/run.json").exists());
}

/// Wrong commands, each with words of the answer: the commands there are, or what may stand where the line went
/// wrong.
fn mistyped() -> Vec<(String, &'static str)> {
    let commands = "HELP, STATUS, CLOCK, END, AUTH, ALERT, INTERRUPT, CLASSES";
    let cpu = "the address of a CPU, ALL";
    let on_every_line = |lines: &[(&str, &'static str)]| -> Vec<(String, &'static str)> {
        lines
            .iter()
            .map(|&(line, answer)| (line.to_owned(), answer))
            .collect()
    };
    let mut lines = on_every_line(&[
        ("FROB", commands),
        ("end of the story", "the command ends before it"),
        ("AUTH", "CPU"),
        ("AUTH CPU 0 COUNTERS CACHE ON", "BASIC, PROBLEM, CRYPTO"),
        ("AUTH CPU 0 SAMPLING BASIC MAYBE", "ON, OFF"),
        ("ALERT CPU 0 COUNTERS GROUP", "BASIC, PROBLEM, CRYPTO"),
        ("INTERRUPT CPU -1", cpu),
        ("INTERRUPT CPU 65536", cpu),
        ("INTERRUPT CPU 99999999999999999999", cpu),
        ("INTERRUPT CPU 0x0", cpu),
        ("INTERRUPT CPU 1", "its CPUs are 0 to 0"),
        ("\0\u{1}\u{1B}[2J\u{FF}\u{10FFFF}", commands),
    ]);
    for length in [256, 257, 300, 2000] {
        let answer = if length > 256 {
            "AUTH CPU n|ALL SAMPLING BASIC|DIAGNOSTIC ON|OFF"
        } else {
            commands
        };
        lines.push(("x".repeat(length), answer));
    }
    lines
}

#[test]
fn a_mistyped_command_is_answered_with_the_valid_ones_and_the_run_goes_on() {
    // What is meant: this guest waits for each of these, and fails if anything else has happened.
    let counters = "ALERT CPU 0 COUNTERS BASIC";
    let meant = [
        "ALERT CPU 0 SAMPLES",
        "ALERT CPU 0 SAMPLES",
        counters,
        counters,
    ];
    let wrong = mistyped();
    let mut typed: Vec<&str> = vec!["", " \t "];
    typed.extend(wrong.iter().map(|(line, _)| &line[..]));
    for line in meant {
        typed.extend(["CLOCK now", line, "", "INTERRUPT CPU 0"]);
    }
    let mut options = ipl::options("b_losses");
    options.script = typed
        .iter()
        .map(|&line| Input::Operator(line.to_owned()))
        .collect();
    let outcome = ipl::above_with_success(&options).unwrap();
    let mut rest = &outcome.operator[..];
    for line in &typed {
        let asked = format!("// {line}\n");
        let at = rest.find(&asked);
        let at = at.unwrap_or_else(|| panic!("{line:?} does not arrive:\n{rest}"));
        rest = &rest[at + asked.len()..];
        let answer = rest.split("// ").next().unwrap_or("");
        let wanted = wrong.iter().find(|(wrong, _)| wrong == line);
        let wanted = match wanted {
            Some((_, wanted)) => wanted,
            None if *line == "CLOCK now" => "the command ends before it",
            // An empty line does nothing, and a right command gets no answer.
            None => {
                assert_eq!(answer, "", "{line:?}");
                continue;
            }
        };
        assert!(answer.contains(wanted), "{line:?} was answered: {answer}");
        assert!(
            !answer.contains(|c: char| c.is_control() && c != '\n'),
            "{answer:?}"
        );
    }
}

#[test]
fn bytes_that_are_not_text_get_an_answer_at_the_prompt_of_a_plain_console() {
    let image = ipl::image().unwrap();
    let line = "-nodefaults -nographic -M s390-ccw-virtio -cpu max -m 512M -accel tcg \
                -chardev stdio,id=c0,signal=off -device sclpconsole,chardev=c0 -kernel";
    let mut arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    arguments.push(image.to_string_lossy().into_owned());
    let qemu = ipl::qemus(&Progress::Silent).unwrap().swap_remove(0);
    let mut machine = Running::start(&qemu.path, &arguments).unwrap();
    let mut heard = String::new();
    let mut answer = |machine: &mut Running, wanted: &str| {
        let began = Instant::now();
        while !heard.contains(wanted) || !heard.ends_with("MM> ") {
            assert!(began.elapsed() < Duration::from_secs(60), "{heard:?}");
            match machine.hear(Duration::from_millis(100)) {
                Heard::Bytes(bytes) => heard.push_str(&String::from_utf8_lossy(&bytes)),
                Heard::Silence => {}
                Heard::End => panic!("{heard}\n{}", machine.complaints()),
            }
        }
        heard.clear();
    };
    answer(&mut machine, "MM> ");
    let binary: Vec<u8> = (0x80..=0xFF).chain(0..8).chain([b'\r']).collect();
    let long = format!("{}\r", "CLOCK ".repeat(50));
    // The machine does not cut trailing blanks off a line that is too long to make it a valid one.
    let blanks = format!("CLOCK{}\r", " ".repeat(295));
    let commands = "HELP, STATUS, CLOCK, END, AUTH, ALERT, INTERRUPT, CLASSES";
    let too_long = "no line of at most 256 bytes";
    let lines: [(&[u8], &str); 6] = [
        (&binary, commands),
        (b"\xC3(\r", commands),
        (long.as_bytes(), too_long),
        (blanks.as_bytes(), too_long),
        (b"INTERRUPT CPU 70000\r", "the address of a CPU, ALL"),
        (b"status\r", "no guest is running"),
    ];
    for (line, wanted) in lines {
        machine.send(line);
        answer(&mut machine, wanted);
    }
}
