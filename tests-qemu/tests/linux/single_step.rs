//! The kernel has the machine record what a process does for the process that traces it, and perf samples both.

use measure::linux::Release;

use crate::{
    guest::{Guest, initrd},
    record::percentages,
    stat,
};

/// Every CPU is sampled, not only the processes: a sampling interval of theirs would begin anew with each stop.
const QUESTIONS: &str = "
echo @count; perf stat -x, -e cycles,cycles:u traced 2>&1
echo @record; perf record -q -a -F 4000 -e cycles -o data traced 2>&1
echo @report; perf report --stdio -n -i data --comms traced --percentage relative --sort sym 2>&1
";

/// Cycles between two samples.
const INTERVAL: u64 = 250_000;

/// Instructions of the process that it performs in one go.
const FREE: u64 = 50_000_000;

/// What the program says. A turn comes to 12 places, to 5 of them by a branch, and there are 100 turns.
const SAID: [&str; 6] = [
    "At first: Stopped(19)",
    "Step: 1200 stops, 0 astray, then Stopped(19)",
    "Block: 500 stops, 0 astray, then Stopped(19)",
    "Freely: Stopped(19)",
    "Store: Stopped(5), behind it: true",
    "At last: Ended(7), stored here: 0",
];

fn traces(release: Release) {
    let guest = Guest { release, cpus: 1 };
    let answers = guest.answers_with(QUESTIONS, &initrd(), &["--per"]);
    for section in ["count", "record"] {
        let said: Vec<&str> = answers.of(section).lines().take(SAID.len()).collect();
        assert_eq!(said, SAID, "{section}: {answers:?}");
    }

    let report = answers.of("report");
    assert!(report.contains("# Total Lost Samples: 0\n"), "{report}");
    let samples = |is_of: &dyn Fn(&[&str]) -> bool| -> u64 {
        percentages(report)
            .iter()
            .filter(|(_, words)| is_of(words))
            .map(|(_, words)| words[0].parse::<u64>().unwrap())
            .sum()
    };
    // A sample for each interval, wherever the first one began.
    let free = samples(&|words| words[1..] == ["[.]", "free"]);
    assert!(free.abs_diff(FREE / INTERVAL) <= 1, "{free}: {report}");
    // Stopping and going on is the kernel's work. Three standard deviations of what was counted.
    let [all, user] = ["cycles", "cycles:u"].map(|event| stat::counted(answers.of("count"), event));
    let expected = (all - user) as f64 / INTERVAL as f64;
    let kernel = samples(&|words| words[1] == "[k]") as f64;
    assert!(
        (kernel - expected).abs() < 3.0 * expected.sqrt(),
        "{kernel} samples of the kernel, not {expected}: {report}"
    );
}

#[test]
fn linux_6_1_traces_a_process_while_perf_samples_it() {
    traces(Release::V6_1);
}

#[test]
fn linux_6_12_traces_a_process_while_perf_samples_it() {
    traces(Release::V6_12);
}
