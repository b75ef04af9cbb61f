//! `perf stat`, and `/dev/hwctr`: counters of a program whose instructions are known.

use crate::guest::Answers;

/// Instructions of the program `loop` in problem state.
pub const LOOP: u64 = 10_000_003;

/// How many instructions the loops of the program `hwctr` differ by.
const LENGTH: u64 = 1_000_000;

/// At most this many instructions of a `loop` are the kernel's, which starts and ends the program and handles clock
/// interruptions meanwhile. Linux 6.1 needs 2 of 100 for that, 7.2 more than 5.
const KERNEL: u64 = LOOP / 10;

/// At most this many instructions in problem state are those of the shell that starts programs.
const SHELL: u64 = LOOP / 50;

pub const QUESTIONS: &str = r"
echo @user; perf stat -x, -e cycles:u,instructions:u loop 2>&1
echo @both; perf stat -x, -e instructions,instructions:u,cycles,cycles:u loop 2>&1
echo @table; perf stat -e cycles,instructions loop 2>&1
echo @intervals; perf stat -x, -I 100 -e instructions:u sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do loop; done' 2>&1
";

/// Counters by their own names. Linux 5.10 refuses those of the problem-state set.
pub const QUESTIONS_BY_NAME: &str = r"
echo @named; perf stat -x, -e cpum_cf/INSTRUCTIONS/,cpum_cf/PROBLEM_STATE_INSTRUCTIONS/,instructions:k,branches loop 2>&1
echo @groups; perf stat -x, -e '{cycles:u,instructions:u},{instructions,cycles},{cpum_cf/PROBLEM_STATE_INSTRUCTIONS/,cpum_cf/INSTRUCTIONS/},{cycles,instructions}' sh -c 'loop; loop; loop' 2>&1
";

/// Counters of every CPU, with one program on each.
pub const QUESTIONS_OF_ALL: &str = r"
echo @all; perf stat -x, -a -A -e instructions:u,instructions sh -c 'for i in 1 2 3 4; do loop & done; wait' 2>&1
echo @hwctr; hwctr
";

/// Counts are exact.
pub fn check(answers: &Answers) {
    let user = answers.of("user");
    assert_eq!(counted(user, "instructions:u"), LOOP);
    assert_eq!(counted(user, "cycles:u"), LOOP);

    let both = answers.of("both");
    assert_eq!(counted(both, "instructions:u"), LOOP);
    assert_eq!(counted(both, "cycles:u"), LOOP);
    for event in ["instructions", "cycles"] {
        let all = counted(both, event);
        assert!(LOOP < all && all < LOOP + KERNEL, "{event}: {all}");
    }

    // perf finds the model's own tables, and its output for a person is right.
    let table = answers.of("table");
    assert!(table.contains("#    1.00  insn per cycle"), "{table}");

    let intervals = answers.of("intervals");
    let counts: Vec<u64> = intervals
        .lines()
        .filter_map(|line| line.split(',').nth(1)?.parse().ok())
        .collect();
    assert!(counts.len() >= 2, "{intervals}");
    let sum: u64 = counts.iter().sum();
    assert!(
        (15 * LOOP..15 * LOOP + SHELL).contains(&sum),
        "{sum}: {intervals}"
    );
}

/// Counters by their names count the same.
pub fn check_by_name(answers: &Answers) {
    let named = answers.of("named");
    assert_eq!(counted(named, "cpum_cf/PROBLEM_STATE_INSTRUCTIONS/"), LOOP);
    assert!(counted(named, "cpum_cf/INSTRUCTIONS/") > LOOP, "{named}");
    // perf says so where it cannot count an event.
    for event in ["instructions:k", "branches"] {
        let line = format!("<not supported>,,{event},");
        assert!(named.contains(&line), "{line}:\n{named}");
    }

    // Many groups count all of the time, and count the same.
    let groups: Vec<(u64, &str)> = events(answers.of("groups")).collect();
    assert_eq!(groups.len(), 8, "{}", answers.of("groups"));
    let of_groups = |event: &str| -> Vec<u64> {
        let these = groups.iter().filter(|(_, name)| *name == event);
        these.map(|(value, _)| *value).collect()
    };
    let instructions = of_groups("instructions:u");
    assert_eq!(of_groups("cycles:u"), instructions);
    assert_eq!(
        of_groups("cpum_cf/PROBLEM_STATE_INSTRUCTIONS/"),
        instructions
    );
    assert!(
        (3 * LOOP..3 * LOOP + SHELL).contains(&instructions[0]),
        "{instructions:?}"
    );
    let mut all = of_groups("instructions");
    all.extend(of_groups("cycles"));
    all.extend(of_groups("cpum_cf/INSTRUCTIONS/"));
    assert_eq!(all.len(), 5);
    // The kernel reads the groups one after another when a task comes and goes.
    let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
    assert!(most - least < most / 1000, "{all:?}");
}

/// What the CPUs counted while each of them had a program.
pub fn check_all(answers: &Answers, cpus: u64) {
    let all = answers.of("all");
    let mut of_user = 0;
    for cpu in 0..cpus {
        let count = |event: &str| {
            let begin = format!("CPU{cpu},");
            let line = all
                .lines()
                .filter_map(|line| line.strip_prefix(&begin))
                .find(|line| line.split(',').nth(2) == Some(event));
            let value: Option<u64> = line.and_then(|line| line.split(',').next()?.parse().ok());
            value.unwrap_or_else(|| panic!("{event} of CPU {cpu}:\n{all}"))
        };
        assert!(count("instructions") > count("instructions:u"), "{all}");
        of_user += count("instructions:u");
    }
    // Four programs, and the shell that starts them.
    assert!((4 * LOOP..4 * LOOP + 2 * SHELL).contains(&of_user), "{all}");
    check_device(answers.of("hwctr"), cpus);
}

/// What the program `hwctr` read.
fn check_device(hwctr: &str, cpus: u64) {
    let counters: Vec<Vec<u64>> = hwctr
        .lines()
        .filter(|line| line.starts_with("cpu "))
        .map(|line| {
            let (_, counters) = line.split_once(": ").unwrap();
            let numbers = counters.split(' ').map(|number| number.parse().unwrap());
            numbers.collect()
        })
        .collect();
    // Four READs of every CPU, of two sets each.
    assert_eq!(counters.len() as u64, 4 * cpus * 2, "{hwctr}");
    assert!(
        counters.iter().step_by(2).all(|basic| basic.len() == 6),
        "{hwctr}"
    );
    // The program stays on one CPU: its instructions grow by those of the loops, and all other numbers stay the same.
    let of_program = (0..cpus as usize)
        .map(|cpu| {
            let reads = counters.iter().skip(2 * cpu + 1).step_by(2 * cpus as usize);
            let reads: Vec<u64> = reads.map(|problem| problem[1]).collect();
            [
                reads[1] - reads[0],
                reads[2] - reads[1],
                reads[3] - reads[2],
            ]
        })
        .max_by_key(|steps| steps[2])
        .unwrap();
    let [least, more, most] = of_program;
    assert_eq!(
        [more - least, most - least],
        [LENGTH, 2 * LENGTH],
        "{hwctr}"
    );
    // Nobody else may start the device, READ gives nothing after STOP, and an unauthorized set is an error.
    for line in [
        "second START: Err(Refused(16))",
        "READ after STOP: Err(Refused(61))",
        "unauthorized START: Err(Refused(5))",
    ] {
        assert!(hwctr.contains(line), "{line}:\n{hwctr}");
    }
}

/// The values and names that `perf stat -x,` prints.
fn events(output: &str) -> impl Iterator<Item = (u64, &str)> {
    output.lines().filter_map(move |line| {
        let fields: Vec<&str> = line.split(',').collect();
        // It counted all of the time.
        assert!(fields.len() < 5 || fields[4] == "100.00", "{output}");
        Some((fields.first()?.parse().ok()?, *fields.get(2)?))
    })
}

/// The value of an event as `perf stat -x,` prints it.
pub fn counted(output: &str, event: &str) -> u64 {
    let found = events(output).find(|(_, name)| *name == event);
    let (value, _) = found.unwrap_or_else(|| panic!("{event} was not counted:\n{output}"));
    value
}
