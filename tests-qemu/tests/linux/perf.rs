//! The kernel finds both facilities, and its perf counts and samples with them.

use std::fs;

use tempfile::TempDir;

use crate::guest::{boots, counted, section};

/// Instructions of the program [`LOOP`] in problem state: the loop, one before it and two after it.
const LOOP_INSTRUCTIONS: u64 = 10_000_000 + 3;

/// A program of one loop, written byte by byte: there is no compiler in the guest.
///
/// An ELF header, one program header, then LGFI 2,10000000; BRCT 2,0; LHI 2,0; SVC 1 (exit).
const LOOP: &str = r"printf '\177ELF\2\2\1\0\0\0\0\0\0\0\0\0\0\2\0\26\0\0\0\1\0\0\0\0\1\0\0\170' >loop
printf '\0\0\0\0\0\0\0\100\0\0\0\0\0\0\0\0\0\0\0\0\0\100\0\70\0\1\0\0\0\0\0\0' >>loop
printf '\0\0\0\1\0\0\0\5\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0' >>loop
printf '\0\0\0\0\0\0\0\210\0\0\0\0\0\0\0\210\0\0\0\0\0\0\20\0' >>loop
printf '\300\41\0\230\226\200\247\46\0\0\247\50\0\0\12\1' >>loop
chmod +x loop
";

/// What is asked in the guest. A line `@NAME` begins the section of that name.
const QUESTIONS: &str = r"
echo @levels; cat /proc/service_levels
echo @devices; ls /sys/bus/event_source/devices; cat /sys/bus/event_source/devices/cpum_sf/type
echo @lscpumf; lscpumf -i
echo @count; perf stat -x, -e cycles:u,instructions:u ./loop 2>&1
echo @both; perf stat -x, -e cycles,instructions ./loop 2>&1
perf record -q -o data -e cycles -c 20000 ./loop
echo @report; perf report --stdio -i data --sort comm,dso 2>&1
echo @stats; perf report --stats -i data 2>&1
echo @interrupts; grep CMS /proc/interrupts
echo @dmesg; dmesg
";

#[test]
fn perf_of_an_unchanged_kernel_counts_and_samples() {
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("questions");
    fs::write(&script, format!("{LOOP}{QUESTIONS}exit 7\n")).unwrap();
    let said = boots(directory.path(), &["--script", script.to_str().unwrap()]);
    assert_eq!(said.code, Some(7), "{said:?}");
    let of = |name| section(&said.output, name);
    // The output is the script's alone, and the record has the whole console.
    assert!(said.output.starts_with("@levels\n"), "{}", said.output);
    assert!(!said.output.contains('\r') && !said.output.contains('\x1E'));
    let console = fs::read_to_string(directory.path().join("run/console.txt")).unwrap();
    assert!(console.contains("Linux version 6.1.") && console.contains("millimeter: exit 7"));

    for line in [
        "CPU-MF: Counter facility: version=3.6 authorization=0006",
        "CPU-MF: Sampling facility: min_rate=1000 max_rate=4294967296 cpu_speed=1000",
        "CPU-MF: Sampling facility: mode=basic sample_size=32",
    ] {
        assert!(of("levels").contains(line), "{}", of("levels"));
    }
    let devices: Vec<&str> = of("devices").lines().collect();
    for device in ["cpum_cf", "cpum_cf_diag", "cpum_sf"] {
        assert!(devices.contains(&device), "{devices:?}");
    }
    assert_eq!(devices.last(), Some(&"4"));
    for line in [
        "Version: 3.6",
        "Basic counter Set",
        "Problem-State counter Set",
        "Yes (PMU: cpum_cf)",
        "basic:      (sample size:  32 bytes)",
        "Yes (PMU: cpum_sf)",
    ] {
        assert!(of("lscpumf").contains(line), "{}", of("lscpumf"));
    }

    let instructions = counted(of("count"), "instructions:u");
    assert_eq!(instructions, LOOP_INSTRUCTIONS);
    assert_eq!(counted(of("count"), "cycles:u"), instructions);
    let all = counted(of("both"), "instructions");
    assert!(
        all > LOOP_INSTRUCTIONS && all < 2 * LOOP_INSTRUCTIONS,
        "{all}"
    );

    let hottest = of("report")
        .lines()
        .find(|line| line.contains('%'))
        .unwrap_or_else(|| panic!("no samples:\n{}", of("report")));
    let percent: f64 = hottest.trim().split('%').next().unwrap().parse().unwrap();
    let words: Vec<&str> = hottest.split_whitespace().skip(1).collect();
    assert!(percent > 80.0 && words == ["loop", "loop"], "{hottest}");
    let samples: u64 = of("stats")
        .lines()
        .find_map(|line| line.trim().strip_prefix("SAMPLE events:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("no samples:\n{}", of("stats")));
    assert!(samples >= LOOP_INSTRUCTIONS / 20_000, "{samples}");
    assert!(
        !of("stats").contains("LOST") && !of("stats").contains("THROTTLE"),
        "{}",
        of("stats")
    );
    // Every block of 126 samples alerts once.
    let alerts: u64 = of("interrupts")
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    assert!(
        alerts.abs_diff(samples / 126) <= 2,
        "{alerts} for {samples}"
    );

    for complaint in [
        "Oops",
        "WARNING:",
        "BUG:",
        "Loading sampling controls failed",
        "Sample data was lost",
        "sampling buffer entry is incorrect",
        "Enabling the performance measuring unit failed",
    ] {
        assert!(
            !of("dmesg").contains(complaint),
            "{complaint}:\n{}",
            of("dmesg")
        );
    }
}
