//! The kernel has the machine record what a process does, for the process that traces it. Meanwhile perf samples the
//! process and the operator traces a routine of the kernel. Each of them sees its own data only. gdb does with a process
//! what a person asks for.

use std::collections::BTreeMap;

use measure::{
    computer::progress::Progress, events::file, linux::Release, machine::qemu::Qemu,
    options::execution_log::ExecutionLog,
};
use millimeter::link::trace;

use tests_qemu::suite::test;

use crate::{
    guest::{Answers, Guest, NO_CIPHER_TESTS, initrd, initrd_with_debugger, section},
    native,
    record::percentages,
};

const QUESTIONS: &str = "
echo @record; perf record -q -F 4000 -e cycles -o data traced 2>&1
echo @report; perf report --stdio -n -i data --sort sym 2>&1
";

/// The routine of the kernel that the operator traces: the system call with the requests of the process that traces.
/// It shares its pages with hardly anything that the kernel executes often.
const ROUTINE: &str = "FETCH RANGE __s390x_sys_ptrace";

/// Cycles between two samples.
const INTERVAL: u64 = 250_000;

/// Instructions that the process performs in one go. Its sampling interval begins anew at each stop, so no other part
/// of the process is sampled.
const FREE: u64 = 50_000_000;

/// Intervals that other tasks may cut short. A twentieth of a second is a dozen of the kernel's ticks.
const MOST_CUT: u64 = 20;

/// The output of the program. A turn comes to 12 places, to 5 of them by a branch, and there are 40 turns.
const OUTPUT: [&str; 6] = [
    "At first: Stopped(19)",
    "Step: 480 stops, 0 astray, then Stopped(19)",
    "Block: 200 stops, 0 astray, then Stopped(19)",
    "Freely: Stopped(19)",
    "Store: Stopped(5), behind it: true",
    "At last: Ended(7), stored here: 0",
];

/// The program prints this before the number of its requests.
const REQUESTS: &str = "Requests: ";

/// What gdb does with the program `steps`: single steps, and a watchpoint on the address to which its first routine returns,
/// by the hardware or by single steps. Each place is told by its symbol.
const SCRIPT: &str = r#"
set pagination off
set confirm off
set debuginfod enabled off
set language c
define one
stepi
info symbol $pc
end
starti
set $return = $r15 - 48
one
one
one
one
watch -l *(unsigned long *)$return
continue
info symbol $pc
info symbol *(unsigned long *)$return
delete
break *hot
continue
one
"#;

/// Then it steps a branch to itself.
const TO_ITSELF: &str = r#"one
one
printf "left: %d\n", (int)$r0
"#;

/// Where gdb finds the program. The watchpoint is hit behind the first instruction of the routine; the value there is the
/// return address.
const PLACES: [&str; 10] = [
    "_start + 4",
    "_start + 8",
    "_start + 12",
    "program_main",
    "program_main + 6",
    "_start + 18",
    "hot + 6",
    "hot + 6",
    "hot + 6",
    "left: 90088",
];

/// The kinds of watchpoints, and how many that the hardware watches gdb may use.
const WATCHPOINTS: [(&str, u32); 2] = [("hardware", 1), ("software", 0)];

/// The question what gdb does with a kind of watchpoint.
fn question((name, hardware): (&str, u32), script: &str) -> String {
    format!(
        "cat >script <<'END'\n{script}kill\nEND\n\
         echo @{name}; gdb -q -nx -batch -ex 'set can-use-hw-watchpoints {hardware}' -x script /usr/bin/steps 2>&1\n"
    )
}

/// Whether the QEMU of the tests records events by itself.
fn records_by_itself() -> bool {
    Qemu::locate(None).unwrap().version.0 >= 10
}

/// The options of each Linux here.
const OPTIONS: [&str; 2] = ["--append", NO_CIPHER_TESTS];

/// The questions: what `traced` does, and what gdb does with each kind of watchpoint.
fn debug(release: Release, cpus: u32) {
    let guest = Guest { release, cpus };
    let script = format!("{SCRIPT}{TO_ITSELF}");
    let questions = WATCHPOINTS.map(|kind| question(kind, &script)).concat();
    let questions = format!("echo @traced; traced\n{questions}");
    let answers = guest.answers_with(&questions, &initrd_with_debugger(), &OPTIONS);
    let of_process: Vec<&str> = answers.of("traced").lines().take(OUTPUT.len()).collect();
    assert_eq!(of_process, OUTPUT, "{answers:?}");
    for name in ["hardware", "software"] {
        let places = answers.of(name).lines().filter_map(|line| {
            let place = line.split_once(" in section ").map(|(place, _)| place);
            place.or_else(|| line.starts_with("left").then_some(line))
        });
        assert_eq!(places.collect::<Vec<_>>(), PLACES, "{answers:?}");
    }
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn gdb_steps_and_watches_in_linux_6_12_on_one_cpu() {
    debug(Release::V6_12, 1);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn gdb_steps_and_watches_in_linux_6_1_on_two_cpus() {
    debug(Release::V6_1, 2);
}

/// A bare QEMU 10 identifies what gdb needs here, if it translates one instruction at a time. It is late with a storage
/// alteration, and indicates no fetch of a branch to itself, so gdb watches by single steps and does not come to such a
/// branch. The machine test `recording` has the whole list of what it gets wrong.
#[test]
fn gdb_prints_in_linux_6_1_what_it_prints_on_a_bare_qemu_that_records_events() {
    if !records_by_itself() {
        Progress::Plain.note(
            "no comparison with bare QEMU: MILLIMETER_QEMU names none of version 10 or later",
        );
        return;
    }
    let guest = Guest {
        release: Release::V6_1,
        cpus: 1,
    };
    let [_, software] = WATCHPOINTS;
    let (name, question) = (software.0, question(software, SCRIPT));
    let initrd = initrd_with_debugger();
    let answers = guest.answers_with(&question, &initrd, &OPTIONS);
    // For a log, of which nothing is wanted, it translates one instruction at a time.
    let log = ExecutionLog {
        file: "/dev/null".into(),
        addresses: 0..2,
    };
    let natively = native::output_with(&guest, native::STORAGE, &question, &initrd, Some(log));
    let above = transcript(answers.of(name));
    assert_eq!(above, transcript(section(&natively, name)));
    let begins = |line: &&str| line.starts_with("hot + 6 in section .text");
    assert!(above.iter().any(begins), "{above:?}");
}

/// What gdb prints, without the line that has the number of a process.
fn transcript(text: &str) -> Vec<&str> {
    let lines = text.lines().filter(|line| !line.contains("(process "));
    lines.collect()
}

/// The operator's trace takes as long as all of the rest, so it can be left out.
fn traces(release: Release, with_operator: bool) {
    let guest = Guest { release, cpus: 1 };
    let mut options = OPTIONS.to_vec();
    if with_operator {
        options.extend(["-e", ROUTINE]);
    }
    let answers = guest.answers_with(QUESTIONS, &initrd(), &options);
    let record = || answers.of("record").lines();
    let of_process: Vec<&str> = record().take(OUTPUT.len()).collect();
    assert_eq!(of_process, OUTPUT, "{answers:?}");

    let report = answers.of("report");
    assert!(report.contains("# Total Lost Samples: 0\n"), "{report}");
    let samples: u64 = percentages(report)
        .iter()
        .filter(|(_, words)| words[1..] == ["[.]", "free"])
        .map(|(_, words)| words[0].parse::<u64>().unwrap())
        .sum();
    // One sample for each interval, wherever the first interval began. Every task that had the CPU in between cut one
    // interval short.
    let expected = FREE / INTERVAL;
    let all = expected - MOST_CUT..=expected + 1;
    assert!(all.contains(&samples), "{samples}: {report}");

    if !with_operator {
        return;
    }
    let requests = record().find_map(|line| line.strip_prefix(REQUESTS));
    check_trace(&answers, requests.unwrap().parse().unwrap());
}

/// The trace has the routine as often as the kernel called it, from its first instruction on.
fn check_trace(answers: &Answers, calls: u64) {
    let mut executed = BTreeMap::<u64, u64>::new();
    let mut events = 0;
    let mut problem_state = 0;
    file::read(&answers.file(""), |payload| {
        let head = trace::parse(payload, |event| {
            *executed.entry(event.head.at.get()).or_default() += 1;
            problem_state += event.head.mask.get() >> 48 & 1;
        })?;
        assert_eq!(head.lost.get(), 0);
        assert_eq!(head.first.get(), events);
        events += u64::from(head.count.get());
        Ok(true)
    })
    .unwrap();
    let (first, times) = executed.first_key_value().unwrap();
    assert_eq!(*times, calls, "at {first:x}");
    assert!(
        executed.values().all(|&times| times <= calls),
        "{executed:x?}"
    );
    assert_eq!(executed.values().sum::<u64>(), events);
    assert_eq!(problem_state, 0, "it is a routine of the kernel");
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn linux_6_12_traces_a_process_while_perf_samples_it() {
    traces(Release::V6_12, false);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn linux_6_1_traces_a_process_while_perf_samples_it_and_the_operator_traces_the_kernel() {
    traces(Release::V6_1, true);
}

#[test]
#[ignore = "before a release: the newest kernel changes"]
fn the_newest_linux_traces_a_process_while_perf_samples_it_and_the_operator_traces_the_kernel() {
    traces(Release::Newest, true);
}
