//! What goes wrong around a run: the link, QEMU itself, the storage. Each fault has a stated end: the same result as
//! without it, or an error that names it, with everything collected before.

use std::{
    fs::{self, File, Permissions},
    io::{self, BufRead, BufReader, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use measure::{
    computer::progress::Progress,
    machine::{
        qemu::Qemu,
        run::{RunOutcome, run},
    },
    numbers::quantities::{Sampling, Storage},
    options::RunOptions,
};
use tempfile::{NamedTempFile, TempDir};
use tests_qemu::{ipl, suite::test};

/// A run that sends many frames: sample data, counters, states.
fn options() -> RunOptions {
    let mut options = ipl::options("brief");
    options.sampling = Sampling::Every(2_000);
    options
}

/// Runs with a QEMU whose command line is this shell command, in which `"$@"` are QEMU's own arguments and `$QEMU` is
/// its program.
fn with_shell(options: &RunOptions, shell: &str) -> (TempDir, anyhow::Result<RunOutcome>) {
    with_prepared_shell(options, shell, |_| {})
}

/// The same in a directory that was prepared.
fn with_prepared_shell(
    options: &RunOptions,
    shell: &str,
    prepare: impl FnOnce(&Path),
) -> (TempDir, anyhow::Result<RunOutcome>) {
    let directory = TempDir::new().unwrap();
    prepare(directory.path());
    let qemu = Qemu::locate(None).unwrap().path;
    let wrapper = directory.path().join("qemu");
    let script = format!(
        "#!/bin/sh\nQEMU='{}'\ncd '{}'\ncase \"$*\" in *-version*|*help*) exec \"$QEMU\" \"$@\" ;; esac\n{shell}\n",
        qemu.display(),
        directory.path().display()
    );
    let mut file = File::create(&wrapper).unwrap();
    file.write_all(script.as_bytes()).unwrap();
    file.set_permissions(Permissions::from_mode(0o755)).unwrap();
    drop(file);
    let mut options = options.clone();
    options.qemu = Some(wrapper);
    options.out = Some(directory.path().join("run"));
    let outcome = run(&options, &Progress::Silent);
    (directory, outcome)
}

/// The same while something else works in the directory beside it; returns what that found, too.
fn with_company<T: Send + 'static>(
    options: &RunOptions,
    shell: &str,
    prepare: impl FnOnce(&Path),
    company: impl FnOnce(&Path) -> T + Send + 'static,
) -> (RunOutcome, T) {
    let (sender, receiver) = mpsc::channel::<PathBuf>();
    let helper = thread::spawn(move || company(&receiver.recv().unwrap()));
    let (_directory, outcome) = with_prepared_shell(options, shell, |directory| {
        prepare(directory);
        sender.send(directory.to_owned()).unwrap();
    });
    let found = helper.join().unwrap();
    (outcome.unwrap(), found)
}

/// What a run measured: nothing of it may depend on a fault that passes.
fn measured(outcome: &RunOutcome) -> impl PartialEq + std::fmt::Debug + use<> {
    let report = &outcome.report;
    (
        report.sdb_sha256.clone(),
        report.record.totals.clone(),
        outcome.console.clone(),
    )
}

/// A filter of what QEMU writes, in Perl, which each Debian has: `piece` is what is read at a time, and `at` the number
/// of bytes that came before.
fn filtered(change: &str) -> String {
    format!(
        r#""$QEMU" "$@" | perl -e '$| = 1; $at = 0; while (sysread(STDIN, $piece, 512)) {{ $next = $at + length $piece; {change} print $piece; $at = $next; }}'"#
    )
}

/// Whether the piece has the byte with this number.
fn has(byte: u32) -> String {
    format!("$at <= {byte} && {byte} < $next")
}

#[test]
fn a_guest_runs_in_the_least_storage_in_odd_sizes_and_in_more_than_the_machine_can_use() {
    for size in ["64M", "65M", "3G", "16G"] {
        let mut options = ipl::options("b_dat");
        options.storage = size.parse::<Storage>().unwrap();
        ipl::above_with_success(&options).unwrap_or_else(|error| panic!("{size}: {error:#}"));
    }
}

#[test]
fn a_guest_with_more_address_spaces_than_the_smallest_pool_has_room_for_finds_its_own() {
    let mut options = ipl::options("b_many_spaces");
    options.storage = "64M".parse::<Storage>().unwrap();
    let outcome = ipl::above_with_success(&options).unwrap();
    // "… 601 spaces dropped, 7 times emptied, …"
    let log = outcome.log.join(" ");
    let words: Vec<&str> = log.split_whitespace().collect();
    let before = |text: [&str; 2]| -> u64 {
        let at = words.windows(2).position(|two| two == text).unwrap();
        words[at - 1].parse().unwrap()
    };
    assert!(before(["spaces", "dropped,"]) > 100, "{log}");
    assert!(before(["times", "emptied,"]) > 0, "{log}");
}

/// A shell that stops QEMU for some seconds and lets it continue.
fn stopped_for(seconds: u32) -> String {
    format!(
        "exec 3<&0; \"$QEMU\" \"$@\" <&3 & qemu=$!; \
         sleep 0.7; kill -STOP $qemu; sleep {seconds}; kill -CONT $qemu; wait $qemu"
    )
}

#[test]
fn a_machine_that_is_stopped_and_continued_or_has_a_stalled_link_measures_the_same() {
    let undisturbed = ipl::above_with_success(&options()).unwrap();
    let stalled = filtered(&format!("sleep 4 if {};", has(40_000)));
    for shell in [stopped_for(4), stalled] {
        let (_directory, outcome) = with_shell(&options(), &shell);
        let outcome = outcome.unwrap();
        assert_eq!(measured(&outcome), measured(&undisturbed), "{shell}");
        assert_eq!(outcome.report.doubts, Vec::<String>::new(), "{shell}");
    }
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_machine_that_is_stopped_for_longer_than_a_minute_measures_the_same_if_the_host_waits_for_it() {
    let undisturbed = ipl::above_with_success(&options()).unwrap();
    let mut patient = options();
    patient.silence = Duration::from_secs(150);
    patient.limit = None;
    let (_directory, outcome) = with_shell(&patient, &stopped_for(75));
    assert_eq!(measured(&outcome.unwrap()), measured(&undisturbed));
}

/// Sets the clock that QEMU sees an hour forward and two hours back, again and again. Returns what was seen of it.
fn step_clock(directory: &Path) -> String {
    let seen = || fs::read_to_string(directory.join("seen")).unwrap_or_default();
    for step in ["+1h", "-1h"].into_iter().cycle().take(6) {
        // Renamed, so that nobody finds half of it.
        fs::write(directory.join("next"), step).unwrap();
        fs::rename(directory.join("next"), directory.join("clock")).unwrap();
        // The look that the step meets half way may have been before it. The next one is not.
        let looks = seen().lines().count() + 2;
        let mut patience = 10_000;
        while seen().lines().count() < looks {
            thread::sleep(Duration::from_millis(10));
            patience -= 1;
            assert!(patience > 0, "nobody looks at the clock: {}", seen());
        }
    }
    fs::write(directory.join("enough"), "").unwrap();
    seen()
}

#[test]
fn a_machine_on_a_host_whose_clock_is_stepped_measures_the_same() {
    let undisturbed = ipl::above_with_success(&options()).unwrap();
    let shell = format!(
        "export LD_PRELOAD='{}' FAKETIME_TIMESTAMP_FILE=$PWD/clock FAKETIME_NO_CACHE=1 \
           DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_FAKE_MONOTONIC=1\n\
         (for n in $(seq 1000); do [ -e enough ] && break; date +%s; sleep 0.1; done) >seen 2>&1 </dev/null &\n\
         exec \"$QEMU\" \"$@\"",
        ipl::faketime().unwrap().display()
    );
    let prepare = |directory: &Path| fs::write(directory.join("clock"), "+0").unwrap();
    let (outcome, seen) = with_company(&options(), &shell, prepare, step_clock);
    let times = seen.lines().map(|line| line.parse::<i64>().unwrap());
    let (first, last) = (times.clone().min().unwrap(), times.max().unwrap());
    assert!(last - first > 3600, "the clock was not stepped: {seen}");
    assert_eq!(measured(&outcome), measured(&undisturbed));
    assert_eq!(outcome.report.doubts, Vec::<String>::new());
}

#[test]
fn frames_that_are_spoiled_or_lost_are_counted_and_the_rest_is_kept() {
    let undisturbed = ipl::above_with_success(&options()).unwrap();
    let spoiled = filtered(&format!(
        "substr($piece, {0} - $at, 1) ^= chr(0x10) if {1};",
        50_000,
        has(50_000)
    ));
    let lost = filtered(&format!("$piece = \"\" if {};", has(50_000)));
    for shell in [spoiled, lost] {
        let (_directory, outcome) = with_shell(&options(), &shell);
        let outcome = outcome.unwrap();
        let link = &outcome.report.record.link;
        let all = &undisturbed.report.record.link;
        assert!(
            link.frames < all.frames && link.frames + 4 > all.frames,
            "{link:?}"
        );
        assert!(link.bad_frames + link.blocks_missing > 0, "{link:?}");
        assert_eq!(link.frames_sent, all.frames_sent);
        assert_ne!(outcome.report.doubts, Vec::<String>::new(), "{shell}");
        assert_eq!(outcome.end.exit_code(), 0);
        assert_eq!(
            outcome.report.record.totals,
            undisturbed.report.record.totals
        );
    }
}

#[test]
fn a_link_that_breaks_off_is_an_error_and_what_came_is_kept() {
    let cut = filtered(&format!("exit if {};", has(60_000)));
    let (directory, outcome) = with_shell(&options(), &cut);
    let outcome = outcome.unwrap();
    let end = outcome.end.sentence();
    assert_eq!(outcome.end.exit_code(), 2, "{end}");
    assert!(end.contains("QEMU"), "{end}");
    let kept = fs::metadata(directory.path().join("run/sdb-cpu0.bin")).unwrap();
    assert!(kept.len() >= 8192, "{}", kept.len());
}

/// An empty disk in QEMU's own format, in which it can save the state of a machine: a header, a table of reference counts
/// with one block of them, and an empty table of clusters.
fn empty_disk() -> Vec<u8> {
    const CLUSTER: usize = 1 << 16;
    let mut disk = vec![0; 4 * CLUSTER];
    let mut put = |at: usize, bytes: &[u8]| disk[at..][..bytes.len()].copy_from_slice(bytes);
    put(0, b"QFI\xFB");
    for (at, word) in [(4, 2_u32), (20, 16), (36, 4), (56, 1)] {
        put(at, &word.to_be_bytes());
    }
    for (at, doubleword) in [
        (24, 2 << 30),
        (40, 3 * CLUSTER as u64),
        (48, CLUSTER as u64),
    ] {
        put(at, &doubleword.to_be_bytes());
    }
    put(CLUSTER, &(2 * CLUSTER as u64).to_be_bytes());
    for cluster in 0..4 {
        put(2 * CLUSTER + 2 * cluster, &[0, 1]);
    }
    disk
}

/// QEMU's arguments that give it a monitor in its directory.
const MONITOR: &str = "-qmp unix:monitor,server=on,wait=off";

/// A connection with QEMU's monitor in a run's directory, as soon as there is one. QEMU may leave a command unanswered
/// if one connects while it begins: then one connects again.
fn connect(directory: &Path) -> Option<BufReader<UnixStream>> {
    // On a busy host QEMU may begin late.
    for _ in 0..3000 {
        thread::sleep(Duration::from_millis(20));
        let Ok(link) = UnixStream::connect(directory.join("monitor")) else {
            continue;
        };
        link.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut link = BufReader::new(link);
        if answer(&mut link).is_ok() && execute(&mut link, r#""qmp_capabilities""#).is_ok() {
            link.get_ref().set_read_timeout(None).unwrap();
            return Some(link);
        }
    }
    None
}

/// Has QEMU execute a command; returns its answer.
fn execute(link: &mut BufReader<UnixStream>, command: &str) -> io::Result<String> {
    writeln!(link.get_mut(), r#"{{"execute":{command}}}"#)?;
    answer(link)
}

/// What QEMU says next, except for events, which may come even before its greeting.
fn answer(link: &mut BufReader<UnixStream>) -> io::Result<String> {
    loop {
        let mut answer = String::new();
        if link.read_line(&mut answer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !answer.contains("\"event\"") {
            return Ok(answer);
        }
    }
}

/// Has QEMU execute a command of its monitor for people; returns its answer.
fn monitor(link: &mut BufReader<UnixStream>, command: &str) -> String {
    let command = format!(r#""human-monitor-command","arguments":{{"command-line":"{command}"}}"#);
    execute(link, &command).unwrap()
}

/// Saves the machine once it has sent some samples, and sets it back when it has sent some more since.
fn set_back(directory: &Path) {
    const SOME: u64 = 100_000;
    let sent = || {
        let file = fs::metadata(directory.join("run/sdb-cpu0.bin"));
        file.map_or(0, |file| file.len())
    };
    let wait_for = |bytes| {
        while sent() < bytes {
            thread::sleep(Duration::from_millis(5));
        }
    };
    wait_for(SOME);
    let mut link = connect(directory).unwrap();
    let done = "{\"return\": \"\"}";
    assert_eq!(monitor(&mut link, "savevm one").trim(), done);
    // On a busy host it may have sent much before it was saved.
    wait_for(sent() + SOME);
    assert_eq!(monitor(&mut link, "loadvm one").trim(), done);
}

#[test]
fn a_machine_that_is_set_back_sends_the_same_again_and_measures_the_same() {
    // QEMU saves neither the condition code, as long as it is that of its last operation, nor all of a pending EXECUTE. So
    // the guest is one that needs neither when QEMU stops it, and it is rarely interrupted.
    let options = RunOptions {
        sampling: Sampling::Every(100_000),
        ..ipl::options("spin")
    };
    let undisturbed = ipl::above_with_success(&options).unwrap();
    let shell = format!("exec \"$QEMU\" \"$@\" -drive if=none,format=qcow2,file=disk {MONITOR}");
    let prepare = |directory: &Path| fs::write(directory.join("disk"), empty_disk()).unwrap();
    let (outcome, ()) = with_company(&options, &shell, prepare, set_back);
    let report = &outcome.report;
    // On a busy host a clock in the samples may differ: QEMU stops the virtual clock to save and to set back.
    let counted = |outcome: &RunOutcome| {
        let totals = outcome.report.record.totals.iter();
        let counts = totals.map(|cpu| (cpu.guest_cycles, cpu.samples_taken));
        (counts.collect::<Vec<_>>(), outcome.console.clone())
    };
    assert_eq!(counted(&outcome), counted(&undisturbed));
    assert!(
        report.record.link.blocks_repeated > 5,
        "{:?}",
        report.record.link
    );
    let says = |doubt: &String| doubt.contains("the machine was set back");
    assert!(report.doubts.iter().any(says), "{:?}", report.doubts);
}

/// Stops and continues QEMU until it has ended; returns how often.
fn disturb(directory: &Path) -> u64 {
    let mut times = 0;
    if let Some(mut link) = connect(directory) {
        while execute(&mut link, r#""stop""#).is_ok() && execute(&mut link, r#""cont""#).is_ok() {
            times += 1;
        }
    }
    times
}

#[test]
fn cpus_that_pass_the_turn_begin_it_at_the_same_clock_wherever_the_host_stops_them() {
    let mut options = ipl::options("turns");
    options.cpus = Some(3);
    let undisturbed = ipl::above_with_success(&options).unwrap();
    // QEMU waits for the first command to continue. On a busy host, few may come in one run.
    let shell = format!("exec \"$QEMU\" \"$@\" -S {MONITOR}");
    let mut stops = Vec::new();
    while stops.iter().sum::<u64>() <= 100 {
        assert!(stops.len() < 20, "{stops:?}");
        let (outcome, times) = with_company(&options, &shell, |_| {}, disturb);
        // The guest prints its clock. Where the monitor has never answered, QEMU still waits for it.
        if times != 0 {
            assert_eq!(measured(&outcome), measured(&undisturbed));
        }
        stops.push(times);
    }
}

/// A filter that swallows what QEMU writes after its first bytes.
fn muted() -> String {
    filtered("if ($at > 300) { $at = $next; next; }")
}

/// Whether a process has this directory as its own.
fn works_in(directory: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut directories =
        processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok());
    directories.any(|of_process| of_process == directory)
}

#[test]
fn a_machine_that_falls_silent_shows_by_qemus_monitor_what_its_cpus_do() {
    // A program that loops at 200.
    let mut image = vec![0; 0x1000];
    image[..8].copy_from_slice(&0x0008_0000_8000_0200_u64.to_be_bytes());
    image[0x200..0x204].copy_from_slice(&[0xA7, 0xF4, 0, 0]);
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&image).unwrap();
    let mut options = ipl::options(&file.path().display().to_string());
    options.silence = Duration::from_secs(4);
    options.sampling = Sampling::Off;
    let never_started = "\"$QEMU\" \"$@\" -S".to_owned();
    for (shell, has_begun) in [(muted(), true), (never_started, false)] {
        let (directory, outcome) = with_shell(&options, &shell);
        let error = match outcome {
            Ok(outcome) => outcome.end.sentence(),
            Err(error) => format!("{error:#}"),
        };
        assert!(error.contains("real CPU 0: PSW"), "{error}");
        let text = fs::read_to_string(directory.path().join("run/hang.txt")).unwrap();
        if has_begun {
            assert!(error.contains("has been silent"), "{error}");
            assert!(text.contains("0000000000000200 (the guest)"), "{text}");
            assert!(text.contains(" the guest's CPU at the last trap"), "{text}");
            assert!(text.contains(" last External: "), "{text}");
        } else {
            assert!(error.contains("has not opened the link"), "{error}");
            assert!(text.contains("(the machine, 0  _start + 0)"), "{text}");
        }
        let mut patience = 1000;
        while works_in(directory.path()) {
            thread::sleep(Duration::from_millis(10));
            patience -= 1;
            assert!(patience > 0, "QEMU is left behind");
        }
    }
}

/// Why the machine refuses the mode. A QEMU that fails this test has it.
#[test]
fn bare_qemu_ends_when_a_program_accesses_an_operand_in_the_access_register_mode() {
    let native = ipl::natively("b_access_register_mode", 1, None).unwrap();
    // LOAD PSW EXTENDED leads to an operation exception there, STORE THEN OR SYSTEM MASK to the next operand.
    let reached = |what| native.console.contains(what);
    assert!(reached("  STPX = 0"), "{}", native.console);
    assert!(!reached("STOSM"), "{}", native.console);
    assert_eq!(native.exit_code, None, "{}", native.complaints);
}
