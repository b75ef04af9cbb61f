//! The kernel's messages while it boots: no complaint, and the same as on bare QEMU.

use std::collections::BTreeMap;

use crate::{
    guest::{Answers, Guest, section},
    native,
};

/// The first question: later ones may make the kernel print more.
pub const QUESTIONS: &str = "echo @boot; dmesg\n";

/// At the end.
pub const LAST_QUESTIONS: &str = "echo @messages; dmesg\n";

/// Messages that must not occur, from the first message to the last.
const COMPLAINTS: [&str; 12] = [
    "Oops",
    "WARNING:",
    "BUG:",
    "Call Trace",
    "soft lockup",
    "rcu_sched self-detected stall",
    "detected stalls",
    "Loading sampling controls failed",
    "Sample data was lost",
    "sampling buffer entry is incorrect",
    "Enabling the performance measuring unit failed",
    "Registering the cpum_",
];

/// What differs between a boot above the machine and one on bare QEMU: beginnings of lines, and why.
const DIFFERENCES: [(&str, &str); 3] = [
    (
        "setup: Linux is running ",
        "QEMU says that it is a virtual machine of KVM, the machine a logical partition",
    ),
    (
        "printk: console [ttyS0] enabled",
        "the machine offers a line-mode console as well",
    ),
    (
        "printk: legacy console [ttyS0] enabled",
        "the machine offers a line-mode console as well",
    ),
];

/// Lines that contain times, sizes, and places that depend on where the initrd lies.
const FIGURES: [&str; 5] = [
    "cma: Reserved ",
    "node 0 deferred pages initialised in ",
    "audit: type=2000 audit(",
    "Memory: ",
    "Freeing initrd memory: ",
];

/// The kernel complained of nothing, and its messages are those of a boot on bare QEMU.
pub fn check(guest: &Guest, answers: &Answers) {
    let last = answers.of("messages");
    for complaint in COMPLAINTS {
        assert!(!last.contains(complaint), "{complaint}:\n{last}");
    }
    let above = answers.of("boot");
    let natively = native::output(guest, storage(above), QUESTIONS);
    let (above, natively) = (lines(above), lines(section(&natively, "boot")));
    // Threads write some of them in an order that varies.
    let only = |these: &BTreeMap<String, i32>, those: &BTreeMap<String, i32>| -> Vec<String> {
        let mut only = Vec::new();
        for (line, number) in these {
            if those.get(line) != Some(number) && !is_known(line) {
                only.push(line.clone());
            }
        }
        only
    };
    let (more, fewer) = (only(&above, &natively), only(&natively, &above));
    assert!(
        more.is_empty() && fewer.is_empty(),
        "{guest:?}: only above the machine: {more:#?}, only on bare QEMU: {fewer:#?}"
    );
    for (begin, why) in &DIFFERENCES[..1] {
        assert!(
            above.keys().any(|line| line.starts_with(begin)),
            "{begin}: {why}"
        );
    }
}

fn is_known(line: &str) -> bool {
    DIFFERENCES.iter().any(|(begin, _)| line.starts_with(begin))
}

/// The storage that the kernel found, in MiB.
fn storage(messages: &str) -> u64 {
    let (_, rest) = messages
        .split_once("setup: The maximum memory size is ")
        .unwrap_or_else(|| panic!("no size:\n{messages}"));
    rest.split("MB").next().unwrap().parse().unwrap()
}

/// Every message without its time, and how often it occurred.
fn lines(messages: &str) -> BTreeMap<String, i32> {
    let mut lines = BTreeMap::new();
    for line in messages.lines() {
        let text = line
            .split_once("] ")
            .map_or(line, |(_, text)| text)
            .trim_end();
        let figures = FIGURES.iter().find(|begin| text.starts_with(**begin));
        let text = figures.map_or(text, |begin| *begin);
        *lines.entry(text.to_owned()).or_default() += 1;
    }
    lines
}
