//! `perf record`: samples of a program whose shares are known.

use crate::{guest::Answers, stat};

/// Samples that fill a block of 4 KiB. Each full block raises an alert.
const SAMPLES_OF_A_BLOCK: u64 = 126;

/// The event, its frequency in hertz, the name of the record, and whether perf reports it.
const RECORDS: [(&str, u64, &str, bool); 6] = [
    ("cycles", 100, "record100", false),
    ("cycles", 1_000, "record1000", true),
    ("cycles", 4_000, "record4000", true),
    ("cpum_sf/SF_CYCLES_BASIC/", 100, "named100", false),
    ("cpum_sf/SF_CYCLES_BASIC/", 1_000, "named1000", false),
    ("cpum_sf/SF_CYCLES_BASIC/", 4_000, "named4000", true),
];

/// Cycles in a second.
const SPEED: u64 = 1_000_000_000;

/// One CPU makes each of these records.
pub fn questions() -> String {
    let mut questions =
        "echo @steps; perf stat -x, -e cycles,cycles:u,context-switches steps 2>&1\n".to_owned();
    for (event, hertz, name, is_reported) in RECORDS {
        questions.push_str(&format!(
            "echo @{name}; grep CMS /proc/interrupts\n\
             perf record -q -F {hertz} -e {event} -o data steps 2>&1\n\
             grep CMS /proc/interrupts; perf report --stats -i data 2>&1\n"
        ));
        if is_reported {
            questions.push_str(&format!(
                "echo @{name}-report; perf report --stdio -i data --sort dso,sym 2>&1\n"
            ));
        }
    }
    questions
}

/// Every CPU has a program.
pub const QUESTIONS_OF_ALL: &str = r"
echo @record-all; grep CMS /proc/interrupts
perf record -q -a -F 4000 -e cycles -o data sh -c 'for i in 1 2 3 4; do steps & done; wait' 2>&1
grep CMS /proc/interrupts; perf report --stats -i data 2>&1
echo @record-all-report; perf report --stdio -i data --sort cpu,sym 2>&1
echo @diagnostic; perf record -q -R -a -e cpum_cf_diag/CF_DIAG/ -o data loop 2>&1; perf report -D -i data 2>&1 | grep -A 12 Counterset:0
";

/// Samples are where the program is, their number is right, and none is lost.
pub fn check(answers: &Answers) {
    let of_steps = |event| stat::counted(answers.of("steps"), event);
    let (cycles, switches) = (of_steps("cycles"), of_steps("context-switches"));
    let of_kernel = 1.0 - of_steps("cycles:u") as f64 / cycles as f64;
    // Every other task that had the CPU may have cut one interval short. There are more such tasks while perf writes.
    let cut = 2 * switches + 2;
    for (event, hertz, name, is_reported) in RECORDS {
        let samples = check_stats(answers.of(name), cut);
        let expected = cycles / (SPEED / hertz);
        // While it records, the kernel also reads a full block in the program's time: 126 samples, in less than an
        // interval of the highest frequency.
        let read = samples / SAMPLES_OF_A_BLOCK;
        println!("{event} at {hertz} Hz: {samples} samples, {expected} expected");
        assert!(
            samples > 0 && samples <= expected + 1 + read && samples + cut >= expected,
            "{event} at {hertz} Hz: {samples} samples, not {expected}"
        );
        if is_reported {
            check_report(
                answers.of(&format!("{name}-report")),
                samples,
                SPEED / hertz,
                of_kernel,
            );
        }
    }
}

/// Of every 100 instructions of the program 90 are in `hot`, and the kernel's share is the counted one.
fn check_report(report: &str, samples: u64, interval: u64, kernel: f64) {
    let lines = percentages(report);
    let (hottest, words) = &lines[0];
    assert!(words[..] == ["steps", "[.]", "hot"], "{report}");
    let of_kernel: f64 = lines
        .iter()
        .filter(|(_, words)| words[1] == "[k]")
        .map(|(percent, _)| percent)
        .sum();
    // Three standard deviations for this number of samples.
    let doubt = |share: f64| 3.0 * (share * (1.0 - share) / samples as f64).sqrt();
    let share = of_kernel / 100.0;
    assert!((share - kernel).abs() < doubt(kernel), "{kernel}: {report}");
    let share = hottest / (100.0 - of_kernel);
    assert!((share - 0.9).abs() < doubt(0.9), "{share}: {report}");
    assert!(
        lines
            .iter()
            .any(|(_, words)| words[..] == ["steps", "[.]", "warm"]),
        "{report}"
    );
    let count = format!("# Event count (approx.): {}\n", samples * interval);
    for line in ["# Total Lost Samples: 0\n", &count] {
        assert!(report.contains(line), "{line}{report}");
    }
}

/// perf sampled all CPUs and read the counter sets of all.
pub fn check_all(answers: &Answers, cpus: usize) {
    check_stats(answers.of("record-all"), MANY);
    let report = answers.of("record-all-report");
    for cpu in 0..cpus {
        let cpu = format!("{cpu:03}");
        let of_cpu = percentages(report)
            .into_iter()
            .find(|(_, words)| words[0] == cpu);
        assert!(of_cpu.is_some(), "nothing of CPU {cpu}:\n{report}");
    }
    let of = |symbol: &str| -> f64 {
        let these = percentages(report).into_iter();
        let these = these.filter(|(_, words)| words.last() == Some(&symbol));
        these.map(|(percent, _)| percent).sum()
    };
    assert!(of("hot") > 5.0 * of("warm") && of("hot") > 30.0, "{report}");

    let diagnostic = answers.of("diagnostic");
    assert!(
        diagnostic.matches("Counterset:0 Counters:6").count() >= cpus,
        "{diagnostic}"
    );
    for line in [
        "Counter:000 cpu_cycles Value:0x",
        "Counter:001 instructions Value:0x",
        "Counterset:1 Counters:2",
        "Counter:001 problem_state_instructions Value:0x",
        "Cfvn:3 Csvn:6 Speed:1000",
        "Type:8561",
    ] {
        assert!(diagnostic.contains(line), "{line}:\n{diagnostic}");
    }
    // While perf recorded the program the CPUs counted more than the program alone, which ran on one of them.
    let counted: u64 = diagnostic
        .lines()
        .filter_map(|line| line.split_once("problem_state_instructions Value:0x"))
        .map(|(_, value)| u64::from_str_radix(value.trim(), 16).unwrap())
        .sum();
    assert!(counted >= stat::LOOP, "{counted}: {diagnostic}");
}

/// The most pieces that a record of all CPUs may have. Their exact number is unknown.
pub const MANY: u64 = 4;

/// The number of samples of a record that lost none and has an alert for every full block.
///
/// A record is in pieces when perf stopped sampling for a while, as it does for other tasks. perf reads the last
/// block of a piece, which need not be full, without an alert.
pub fn check_stats(section: &str, pieces: u64) -> u64 {
    let samples: u64 = section
        .lines()
        .find_map(|line| line.trim().strip_prefix("SAMPLE events:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("no samples:\n{section}"));
    for bad in ["LOST", "THROTTLE"] {
        assert!(!section.contains(bad), "{section}");
    }
    let alerts: Vec<Vec<u64>> = section
        .lines()
        .filter_map(|line| line.trim().strip_prefix("CMS:"))
        .map(|rest| {
            rest.split_whitespace()
                .map_while(|word| word.parse().ok())
                .collect()
        })
        .collect();
    let [before, after] = &alerts[..] else {
        panic!("no alerts:\n{section}");
    };
    let alerts = after.iter().sum::<u64>() - before.iter().sum::<u64>();
    let full = samples / SAMPLES_OF_A_BLOCK;
    let cpus = after.len() as u64;
    assert!(
        alerts <= full && alerts + pieces * cpus >= full,
        "{alerts} alerts for {samples} samples:\n{section}"
    );
    samples
}

/// The lines of a report, hottest first: the share, and the words behind it.
pub fn percentages(report: &str) -> Vec<(f64, Vec<&str>)> {
    let lines: Vec<_> = report
        .lines()
        .filter_map(|line| {
            let (percent, words) = line.trim().split_once('%')?;
            Some((percent.parse().ok()?, words.split_whitespace().collect()))
        })
        .collect();
    assert!(!lines.is_empty(), "no samples:\n{report}");
    lines
}
