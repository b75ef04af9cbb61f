//! The kernel finds both facilities, and its perf counts and samples with them.
//!
//! Every boot of a release that is complete is compared with a boot on bare QEMU, whatever else the test asks. The newest
//! kernel is another one from time to time, and its messages are compared only where somebody looks.

use std::{env, fs, path::Path};

use measure::{computer::progress::Progress, linux::Release};

use tests_qemu::suite::test;

use crate::{
    changes, facilities,
    guest::{Answers, Guest, answers_of_kernel, assert_same_console},
    messages, record, stat,
};

/// Boots, and asks the questions.
fn asked_alone(release: Release, cpus: u32, questions: &[&str]) -> Answers {
    Guest { release, cpus }.answers(&questions.concat())
}

/// Boots, asks the questions, and checks the kernel's messages.
fn asked(release: Release, cpus: u32, questions: &[&str]) -> Answers {
    let guest = Guest { release, cpus };
    let answers = guest.answers(&script(questions));
    messages::check(&guest, &answers);
    answers
}

/// These questions between those about the kernel's messages.
fn script(questions: &[&str]) -> String {
    let (first, last) = (messages::QUESTIONS, messages::LAST_QUESTIONS);
    [first, &questions.concat(), last].concat()
}

/// How a guest is asked.
type Ask = fn(Release, u32, &[&str]) -> Answers;

fn one_cpu(release: Release, ask: Ask) -> Answers {
    let record = record::questions();
    let by_name = stat::QUESTIONS_BY_NAME;
    let questions = [facilities::QUESTIONS, stat::QUESTIONS, by_name, &record];
    let answers = ask(release, 1, &questions);
    check_one_cpu(&answers);
    stat::check_by_name(&answers);
    answers
}

fn check_one_cpu(answers: &Answers) {
    facilities::check(answers);
    stat::check(answers);
    record::check(answers);
}

fn four_cpus(release: Release, ask: Ask) {
    // The later questions concern CPUs that have come back.
    let questions = [
        changes::QUESTIONS,
        stat::QUESTIONS_OF_ALL,
        record::QUESTIONS_OF_ALL,
    ];
    let answers = ask(release, 4, &questions);
    stat::check_all(&answers, 4);
    record::check_all(&answers, 4);
    changes::check(&answers, 4);
}

#[test]
fn perf_of_linux_6_1_counts_exactly_and_samples_what_is_hot() {
    let answers = one_cpu(Release::V6_1, asked);
    // The output is only the script's; the record has the whole console.
    let output = &answers.output;
    assert!(output.starts_with("@boot\n"), "{output}");
    assert!(!output.contains('\r') && !output.contains('\x1E'));
    let console = fs::read_to_string(answers.file("console.txt")).unwrap();
    assert!(console.contains("Linux version 6.1.") && console.contains("millimeter: exit 7"));
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn perf_of_linux_6_12_counts_exactly_and_samples_what_is_hot() {
    one_cpu(Release::V6_12, asked);
}

/// The newest kernel changes when Debian's does, so that nothing that must always pass depends on it.
#[test]
#[ignore = "before a release: the newest kernel changes"]
fn perf_of_the_newest_linux_counts_exactly_and_samples_what_is_hot() {
    one_cpu(Release::Newest, asked_alone);
}

#[test]
#[ignore = "before a release: the newest kernel changes"]
fn the_newest_linux_boots_with_one_cpu_as_on_bare_qemu() {
    asked(Release::Newest, 1, &[]);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn perf_of_linux_6_1_measures_four_cpus_that_come_and_go() {
    four_cpus(Release::V6_1, asked);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn perf_of_linux_6_12_measures_four_cpus_that_come_and_go() {
    four_cpus(Release::V6_12, asked);
}

#[test]
#[ignore = "before a release: the newest kernel changes"]
fn perf_of_the_newest_linux_measures_four_cpus_that_come_and_go() {
    four_cpus(Release::Newest, asked_alone);
}

#[test]
#[ignore = "needs a kernel: MILLIMETER_KERNEL names its image"]
fn perf_of_a_kernel_of_ones_own_counts_exactly_and_samples_what_is_hot() {
    let Some(kernel) = env::var_os("MILLIMETER_KERNEL") else {
        Progress::Plain.note("no kernel of one's own: MILLIMETER_KERNEL names none");
        return;
    };
    let record = record::questions();
    let script = [facilities::QUESTIONS, stat::QUESTIONS, &record].concat();
    check_one_cpu(&answers_of_kernel(Path::new(&kernel), &script));
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn the_same_boot_with_two_cpus_gives_the_same_bytes() {
    let questions = [stat::QUESTIONS_OF_ALL];
    let first = asked(Release::V6_1, 2, &questions);
    stat::check_all(&first, 2);
    let guest = Guest {
        release: Release::V6_1,
        cpus: 2,
    };
    let again = guest.answers(&script(&questions));
    let console = |answers: &Answers| fs::read(answers.file("console.txt")).unwrap();
    assert_same_console(&console(&first), &console(&again));
    assert_eq!(first.report, again.report);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn sixteen_cpus_count_exactly_and_the_same_boot_gives_the_same_bytes() {
    let guest = Guest {
        release: Release::V6_1,
        cpus: 16,
    };
    let cpus = "echo @cpus; nproc; grep -c ^processor /proc/cpuinfo\n";
    let questions = script(&[cpus, stat::QUESTIONS_OF_ALL]);
    let first = guest.answers(&questions);
    let found: Vec<_> = first.of("cpus").split_whitespace().collect();
    assert_eq!(found, ["16", "16"]);
    stat::check_all(&first, 16);
    let again = guest.answers(&questions);
    let console = |answers: &Answers| fs::read(answers.file("console.txt")).unwrap();
    assert_same_console(&console(&first), &console(&again));
    assert_eq!(first.report, again.report);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn linux_6_12_boots_with_two_cpus_as_on_bare_qemu() {
    asked(Release::V6_12, 2, &[]);
}
