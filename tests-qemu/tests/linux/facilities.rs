//! What the kernel reports about the facilities that it found.

use crate::guest::Answers;

pub const QUESTIONS: &str = r"
echo @levels; cat /proc/service_levels
echo @devices; ls /sys/bus/event_source/devices
echo @types; cat /sys/bus/event_source/devices/cpum_cf/type /sys/bus/event_source/devices/cpum_sf/type /sys/bus/event_source/devices/cpum_sf/events/*
echo @information; lscpumf -i
echo @counters; lscpumf -c
echo @sampling; lscpumf -s
";

/// The counters of the authorized sets, each behind the number that the kernel gave the driver.
const COUNTERS: [&str; 8] = [
    ":0\tCPU_CYCLES\n\n                Cycle Count\n                Counter 0 / Basic Counter Set.",
    ":1\tINSTRUCTIONS\n\n                Instruction Count\n                Counter 1 / Basic Counter Set.",
    ":2\tL1I_DIR_WRITES\n",
    ":3\tL1I_PENALTY_CYCLES\n",
    ":4\tL1D_DIR_WRITES\n",
    ":5\tL1D_PENALTY_CYCLES\n",
    ":32\tPROBLEM_STATE_CPU_CYCLES\n\n                Problem-State Cycle Count\n                Counter 32 / Problem-State Counter Set.",
    ":33\tPROBLEM_STATE_INSTRUCTIONS\n\n                Problem-State Instruction Count\n                Counter 33 / Problem-State Counter Set.",
];

/// What the kernel counts by itself, as it was built.
const OF_KERNEL: [&str; 5] = ["breakpoint", "kprobe", "software", "tracepoint", "uprobe"];

/// The kernel finds every facility that is there, and none that is not.
pub fn check(answers: &Answers) {
    let levels = [
        "CPU-MF: Counter facility: version=3.6 authorization=0006",
        "CPU-MF: Sampling facility: min_rate=1000 max_rate=4294967296 cpu_speed=1000",
        "CPU-MF: Sampling facility: mode=basic sample_size=32",
        "CPU-MF: Sampling facility: mode=diagnostic sample_size=112",
    ];
    assert_eq!(answers.of("levels").trim_end(), levels.join("\n"));
    let devices = answers.of("devices").split_whitespace();
    let of_machine: Vec<&str> = devices.filter(|name| !OF_KERNEL.contains(name)).collect();
    assert_eq!(of_machine, ["cpum_cf", "cpum_cf_diag", "cpum_sf"]);
    let (kind, rest) = answers.of("types").split_once('\n').unwrap();
    assert_eq!(rest.trim_end(), "4\nevent=0xb0000\nevent=0xbd000");
    for line in [
        "Version: 3.6",
        "    Basic counter Set\n    Problem-State counter Set\n\n",
        "Yes (PMU: cpum_cf)",
        "     Minimum:       1000 cycles (approx.   1000000 Hz)",
        "     Maximum: 4294967296 cycles (approx.         0 Hz)",
        "     basic:      (sample size:  32 bytes)",
        "     diagnostic: (sample size: 112 bytes)",
        "Yes (PMU: cpum_sf)",
    ] {
        let information = answers.of("information");
        assert!(information.contains(line), "{line}:\n{information}");
    }
    let counters = answers.of("counters");
    assert!(counters.starts_with("perf event counter list for IBM z15\n"));
    assert_eq!(
        counters.matches(&format!("\n{kind}:")).count(),
        COUNTERS.len(),
        "{counters}"
    );
    for counter in COUNTERS {
        let counter = format!("{kind}{counter}");
        assert!(counters.contains(&counter), "{counter}:\n{counters}");
    }
    let sampling = answers.of("sampling");
    for event in [
        "rb0000\tSF_CYCLES_BASIC\n",
        "rbd000\tSF_CYCLES_BASIC_DIAG\n",
    ] {
        assert!(sampling.contains(event), "{event}:\n{sampling}");
    }
}
