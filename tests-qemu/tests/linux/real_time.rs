//! Linux by the host's clock: CPUs side by side, and cycles without instructions.

use tempfile::TempDir;

use tests_qemu::suite::test;

use crate::guest::{boot, section};

/// The script that the guest runs.
const QUESTIONS: &str = r"
echo @cpus; nproc; grep -c ^processor /proc/cpuinfo
echo @levels; cat /proc/service_levels
echo @stat; perf stat -x, -e cycles,instructions true 2>&1
echo 'n=0; while [ $n -lt 3000 ]; do n=$((n + 1)); done' >busy
perf record -q -a -e cycles -F 200 -o data sh -c 'for cpu in 0 1 2 3; do taskset -c $cpu sh busy & done; wait' 2>&1
echo @stats; perf report --stats -i data 2>&1
echo @where; perf report --stdio -i data --sort cpu 2>&1
echo @dmesg; dmesg
";

#[test]
fn four_cpus_run_side_by_side_and_count_cycles_by_samples_only() {
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("questions");
    std::fs::write(&script, format!("{QUESTIONS}exit 6\n")).unwrap();
    let finished = boot(
        directory.path(),
        &[
            "--real-time",
            "--cpus",
            "4",
            "--script",
            script.to_str().unwrap(),
        ],
    );
    assert_eq!(finished.code, Some(6), "{finished:?}");
    let of = |name| section(&finished.output, name);
    assert_eq!(
        of("cpus").split_whitespace().collect::<Vec<_>>(),
        ["4", "4"]
    );
    // The sets that count cycles also count instructions, which are unknown by the host's clock.
    assert!(
        of("levels").contains("authorization=0000"),
        "{}",
        of("levels")
    );
    for event in ["cycles", "instructions"] {
        let line = format!("<not supported>,,{event},");
        assert!(of("stat").contains(&line), "{}", of("stat"));
    }
    let samples: u64 = of("stats")
        .lines()
        .find_map(|line| line.trim().strip_prefix("SAMPLE events:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("no samples:\n{}", of("stats")));
    assert!(samples > 100, "{samples}");
    for cpu in ["000", "001", "002", "003"] {
        let line = of("where").lines().find(|line| line.trim().ends_with(cpu));
        assert!(line.is_some(), "no samples of CPU {cpu}:\n{}", of("where"));
    }
    for complaint in ["Oops", "WARNING:", "BUG:", "rcu: INFO", "soft lockup"] {
        assert!(
            !of("dmesg").contains(complaint),
            "{complaint}:\n{}",
            of("dmesg")
        );
    }
}
