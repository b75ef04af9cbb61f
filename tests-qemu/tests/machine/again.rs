//! A run that is looked at again is the same run, whatever its guest does, and its finer samples are of the same thing.

use std::{fs, path::Path, time::Duration};

use anyhow::Result;
use measure::{
    computer::progress::Progress,
    folder::record::{Asked, RunRecord, WindowRecord},
    machine::run,
    numbers::quantities::Sampling,
    options::RunOptions,
    profile::Profile,
    views::trace::{self, Form},
    zoom::{self, Request, Zoomed, span::Moment},
};
use tempfile::TempDir;
use tests_qemu::{
    chance::{Distance, by_routine},
    ipl,
    suite::test,
};

/// A first run, in a folder that is gone afterwards.
struct First {
    place: TempDir,
    options: RunOptions,
}

impl First {
    fn new(options: &RunOptions) -> Self {
        let place = TempDir::new().unwrap();
        let options = RunOptions {
            out: Some(place.path().join("run")),
            asked: Some(Asked::default()),
            ..options.clone()
        };
        run::run(&options, &Progress::Silent).unwrap();
        Self { place, options }
    }

    fn of(guest: &str, interval: u64) -> Self {
        Self::new(&RunOptions {
            sampling: Sampling::Every(interval),
            ..ipl::options(guest)
        })
    }

    fn folder(&self) -> std::path::PathBuf {
        self.place.path().join("run")
    }

    fn request(&self, times: Option<(&str, &str)>) -> Request {
        let moment = |text: &str| text.parse::<Moment>().unwrap();
        Request {
            directory: self.folder(),
            times: times.map(|(from, to)| (moment(from), moment(to))),
            around: None,
            interval: zoom::SHORTEST,
            traces: Vec::new(),
            count: None,
            out: None,
        }
    }

    fn zoom(&self, request: &Request) -> Result<Zoomed> {
        self.zoom_with(request, &self.options)
    }

    fn zoom_with(&self, request: &Request, options: &RunOptions) -> Result<Zoomed> {
        zoom::zoom(request, &Progress::Silent, &mut |repetition| {
            let again = RunOptions {
                rtc: repetition.rtc,
                out: Some(repetition.out),
                again: Some(repetition.again),
                ..options.clone()
            };
            run::run(&again, &Progress::Silent).map(drop)
        })
    }

    fn refusal(&self, request: &Request) -> String {
        format!("{:#}", self.zoom(request).unwrap_err())
    }

    fn same(&self, times: Option<(&str, &str)>) -> (Profile, WindowRecord) {
        match self.zoom(&self.request(times)) {
            Ok(Zoomed::Same(folder, window)) => (Profile::open(&folder).unwrap(), window),
            Ok(Zoomed::Other(_, difference)) => panic!("{}: {difference}", self.options.guest),
            Err(error) => panic!("{}: {error:#}", self.options.guest),
        }
    }
}

#[test]
fn finer_samples_of_two_cpus_are_of_the_same_routines_as_the_coarse_ones() {
    let first = First::new(&RunOptions {
        cpus: Some(2),
        sampling: Sampling::Every(10_000),
        ..ipl::options("brief")
    });
    let (finer, window) = first.same(Some(("100ms", "120ms")));
    let coarse = Profile::open(&first.folder()).unwrap();
    let found = by_routine(&finer, 0, u64::MAX);
    let taken: u64 = found.values().sum();
    assert!((18_500..=20_000).contains(&taken), "{taken}");
    assert_eq!(window.missed, 0);
    assert!(window.checked_samples > 18_000);
    let then = by_routine(&coarse, window.from, window.to);
    let distance = Distance::between(&found, &then);
    assert!(distance.is_chance(), "{distance:?} {found:?} {then:?}");
    // What the guest did before is something else.
    let length = 4 * (window.to - window.from);
    let before = by_routine(&coarse, window.from - length, window.from);
    let distance = Distance::between(&found, &before);
    assert!(!distance.is_chance(), "{distance:?}");
}

/// Guests that set the clock, wait for timers, pass signals, record events, or look at the clock all the time.
const GUESTS: [&str; 16] = [
    "b_clock",
    "b_clock_comparator",
    "b_clock_set",
    "b_comparator_unsigned",
    "b_cpu_timer",
    "b_cpu_timer_negative",
    "b_external_order",
    "b_low_address_protection",
    "b_per_fetch",
    "b_sampling",
    "b_sampling_in_wait",
    "b_signals_of_many",
    "b_storm",
    "b_tod_clock",
    "b_tod_clock_of_all",
    "b_unproved",
];

#[test]
fn a_guest_that_looks_at_clocks_and_timers_all_the_time_does_not_notice_the_window() {
    let mut samples = 0;
    for guest in GUESTS {
        let (_, window) = First::of(guest, 100_000).same(None);
        samples += window.checked_samples;
    }
    assert!(samples > 100, "{samples}");
}

/// All events there are.
const EVENTS: [&str; 4] = ["PER FETCH", "PER BRANCH", "PER STORE", "PER REG ALL"];

/// Events of a run as lines, without their numbers.
fn lines(folder: &Path) -> Vec<String> {
    let mut text = Vec::new();
    trace::show(folder, Form::Text, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines = text.lines().map(|line| {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        words.remove(2);
        words.join(" ")
    });
    lines.collect()
}

/// Guests whose instructions meet exceptions, are executed by others, change pages, spaces, keys and the PSW, or
/// are performed by the machine. Where they go does not depend on the time. `cargo test` has the first one.
const TRACED: [&str; 12] = [
    "b_execute",
    "b_execute_modified",
    "b_page_end",
    "b_svc",
    "b_dat",
    "b_keys",
    "b_lpsw",
    "b_msa_interruptible",
    "b_program_endings",
    "b_self_modified",
    "b_stfl",
    "b_wraparound",
];

#[test]
fn a_window_traces_what_a_traced_run_does_and_costs_the_guest_no_time() {
    traces_alike(&TRACED[..1]);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_window_traces_what_a_traced_run_does_whatever_the_guest_changes() {
    traces_alike(&TRACED[1..]);
}

fn traces_alike(guests: &[&str]) {
    for guest in guests {
        let first = First::of(guest, 100_000);
        let mut request = first.request(None);
        request.traces = EVENTS.map(str::to_owned).to_vec();
        let folder = match first.zoom(&request) {
            Ok(Zoomed::Same(folder, _)) => folder,
            other => panic!("{guest}: {other:?}"),
        };
        let traced = First::new(&RunOptions {
            operator: request.traces.clone(),
            ..ipl::options(guest)
        });
        let (found, expected) = (lines(&folder), lines(&traced.folder()));
        assert!(expected.len() > 1000, "{guest}: {}", expected.len());
        let mut found = found.iter().peekable();
        let seen = |line: &&String| found.next_if_eq(line).is_none();
        let unseen: Vec<&String> = expected.iter().filter(seen).collect();
        assert_eq!(found.next(), None, "{guest}: {unseen:?}");
        let said = RunRecord::read(&folder).unwrap().tracing.unseen;
        assert_eq!(unseen.len() as u64, said, "{guest}: {unseen:?}");
    }
}

/// A window with all events is of the same run.
fn stays(first: &First, times: Option<(&str, &str)>) {
    let mut request = first.request(times);
    request.traces = EVENTS.map(str::to_owned).to_vec();
    match first.zoom(&request) {
        Ok(Zoomed::Same(folder, _)) => assert!(lines(&folder).len() > 1000),
        other => panic!("{}: {other:?}", first.options.guest),
    }
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_window_with_traces_stays_the_first_run_beside_timers_signals_and_events_of_the_guest() {
    // An EXECUTE of the next instruction is one event with that.
    for guest in [
        "b_clock",
        "b_comparator_at_page",
        "b_execute_next",
        "b_signals",
    ] {
        stays(&First::of(guest, 10_000), None);
    }
    // It is stopped for its own events only.
    let first = First::new(&ipl::options("b_per_fetch"));
    let mut request = first.request(None);
    request.traces = vec!["PER FETCH COUNT".to_owned()];
    assert!(matches!(first.zoom(&request), Ok(Zoomed::Same(..))));
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_window_with_traces_stays_the_first_run_beside_samples_and_many_cpus_of_the_guest() {
    for guest in [
        "b_low_address_protection",
        "b_sampling_in_wait",
        "b_signals_of_many",
    ] {
        stays(&First::of(guest, 10_000), None);
    }
    // Its CPUs do the same all the time, so the middle of it will do.
    let storm = First::of("b_storm", 10_000);
    let record = RunRecord::read(&storm.folder()).unwrap();
    let fifth = (record.ended - record.begin) / 4096 / 5;
    let times = [2, 3].map(|fifths| format!("{}us", fifths * fifth));
    stays(&storm, Some((&times[0], &times[1])));
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_trace_in_a_window_has_the_instructions_of_the_window_and_of_its_range() {
    let first = First::of("calls", 10_000);
    let mut request = first.request(Some(("3ms", "3050us")));
    request.traces = vec!["PER FETCH".to_owned(), "PER BRANCH COUNT".to_owned()];
    let Ok(Zoomed::Same(folder, _)) = first.zoom(&request) else {
        panic!("it is another run");
    };
    let record = RunRecord::read(&folder).unwrap();
    let counts: Vec<u64> = record.tracing.traces.iter().map(|of| of.events).collect();
    // 50 microseconds have 50,000 instructions, less those of the machine for five samples.
    assert!((48_000..=49_500).contains(&counts[0]), "{counts:?}");
    assert!(counts[1] > 0 && counts[1] < counts[0] / 2, "{counts:?}");
    assert_eq!(lines(&folder).len() as u64, counts[0]);

    // A routine by its name: the guest runs on outside of it.
    let mut request = first.request(Some(("3ms", "4ms")));
    request.traces = vec!["PER FETCH RANGE calls::nested".to_owned()];
    let Ok(Zoomed::Same(folder, _)) = first.zoom(&request) else {
        panic!("it is another run");
    };
    let inside = lines(&folder);
    assert!(inside.len() > 1000);
    assert!(inside.iter().all(|line| line.contains("calls::nested+")));
    request.traces = vec!["PER FETCH RANGE calls::nestd".to_owned()];
    assert!(first.refusal(&request).contains("calls::nested"));
    request.traces = vec!["PER FETCH STOP".to_owned()];
    assert!(first.refusal(&request).contains("cannot stop"));
}

#[test]
fn a_run_with_stacks_a_trace_or_his_is_the_same_when_it_is_looked_at_again() {
    let stacks = RunOptions {
        stacks: Some(16),
        sampling: Sampling::Every(100_000),
        ..ipl::options("hash")
    };
    let collected = RunOptions {
        operator: vec!["F HIS,B,TT=,PATH='.',CTRONLY".to_owned()],
        sampling: Sampling::Off,
        stacks: None,
        ..stacks.clone()
    };
    // Program events make a long run much longer.
    let traced = First::new(&RunOptions {
        operator: vec!["PER BRANCH".to_owned()],
        sampling: Sampling::Every(5_000),
        ..ipl::options("b_clock")
    });
    assert!(fs::read(traced.folder().join("trace.bin")).unwrap().len() > 1000);
    let (_, window) = traced.same(None);
    assert!(window.checked_samples > 0);
    for options in [stacks, collected] {
        let first = First::new(&options);
        let (finer, _) = first.same(Some(("100ms", "103ms")));
        let taken: u64 = by_routine(&finer, 0, u64::MAX).values().sum();
        assert!((2_900..=3_000).contains(&taken), "{taken} {options:?}");
    }
}

#[test]
fn a_window_around_a_routine_has_samples_in_it() {
    let first = First::of("brief", 50_000);
    let mut request = first.request(None);
    request.around = Some("brief::comprseses".to_owned());
    let refusal = first.refusal(&request);
    assert!(refusal.contains("brief::compresses"), "{refusal}");
    request.around = Some("brief::compresses".to_owned());
    let Ok(Zoomed::Same(folder, window)) = first.zoom(&request) else {
        panic!("it is another run");
    };
    let coarse = Profile::open(&first.folder()).unwrap();
    let routine = "brief::compresses";
    let [all, inside] = [(0, u64::MAX), (window.from, window.to + 1)]
        .map(|(from, to)| by_routine(&coarse, from, to)[routine]);
    assert_eq!(all, inside);
    let finer = by_routine(&Profile::open(&folder).unwrap(), 0, u64::MAX)[routine];
    assert!((all * 45..all * 55).contains(&finer), "{all} {finer}");
}

#[test]
fn what_is_not_the_first_run_is_refused_or_said() {
    let first = First::of("hash", 100_000);
    let refuses = |times, words: &[&str]| {
        let refusal = first.refusal(&first.request(Some(times)));
        assert!(words.iter().all(|word| refusal.contains(word)), "{refusal}");
    };
    refuses(("2ms", "1ms"), &["--from before --to"]);
    refuses(("1ms", "1ms"), &["--from before --to"]);
    refuses(("1ms", "5000s"), &["not in the run"]);
    refuses(("4000s", "5000s"), &["not in the run"]);
    let mut short = first.request(Some(("1ms", "2ms")));
    short.interval = 999;
    assert!(first.refusal(&short).contains("1,000 or more"));

    // Another guest in its place.
    let request = first.request(Some(("1ms", "2ms")));
    let other = RunOptions {
        guest: "compress".to_owned(),
        ..first.options.clone()
    };
    let refusal = format!("{:#}", first.zoom_with(&request, &other).unwrap_err());
    assert!(
        refusal.contains("is not that of the first run"),
        "{refusal}"
    );
    // The same guest, with other options.
    let other = RunOptions {
        sampling: Sampling::Every(100_001),
        ..first.options.clone()
    };
    let Ok(Zoomed::Other(_, difference)) = first.zoom_with(&request, &other) else {
        panic!("a run with another interval is not the same");
    };
    assert!(difference.place.starts_with("sample "), "{difference}");

    // A repeated run that is ended before it is through is not said to be another one.
    let mut long = first.request(None);
    long.traces = vec!["PER FETCH".to_owned()];
    let hasty = RunOptions {
        limit: Some(Duration::from_secs(3)),
        ..first.options.clone()
    };
    let refusal = format!("{:#}", first.zoom_with(&long, &hasty).unwrap_err());
    assert!(
        refusal.contains("lasted too long") && refusal.contains("shorter window"),
        "{refusal}"
    );

    // Records that were cut off or changed.
    let blocks = first.folder().join("sdb-cpu0.bin");
    let whole = fs::read(&blocks).unwrap();
    fs::write(&blocks, &whole[..whole.len() - 100]).unwrap();
    let Ok(Zoomed::Other(_, difference)) = first.zoom(&request) else {
        panic!("a file that was cut off is not the same");
    };
    assert!(difference.place.starts_with("block "), "{difference}");
    fs::write(&blocks, &whole).unwrap();
    let mut record = RunRecord::read(&first.folder()).unwrap();
    record.parts.insert("QEMU".to_owned(), "QEMU 1".to_owned());
    record.write(&first.folder()).unwrap();
    let refusal = first.refusal(&request);
    assert!(refusal.contains("QEMU is not that"), "{refusal}");
    let text = fs::read(first.folder().join("run.json")).unwrap();
    fs::write(first.folder().join("run.json"), &text[..text.len() / 2]).unwrap();
    assert!(first.refusal(&request).contains("run.json"));
    fs::remove_file(first.folder().join("run.json")).unwrap();
    assert!(first.refusal(&request).contains("run.json"));
    let names = |path: &Path| fs::read_dir(path).unwrap().count();
    // The folder of the first run, and those of the repeated runs that were another one or were ended.
    assert_eq!(names(first.place.path()), 4);
}
