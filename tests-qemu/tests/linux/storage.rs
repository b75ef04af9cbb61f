//! Storage above 2 GiB, and the hole below it.

use measure::linux::Release;

use tests_qemu::suite::test;

use crate::guest::{Guest, initrd};

/// Fills storage above 2 GiB with copies of a file, and goes on below.
const QUESTIONS: &str = r"
echo @storage; grep 'System RAM' /proc/iomem
zones() { grep nr_free_pages /proc/zoneinfo | head -2; }
echo @before; zones
dd if=/dev/urandom of=/piece bs=1M count=4 2>/dev/null
n=0; while [ $n -lt 50 ]; do cat /piece >/part$n; n=$((n + 1)); done
echo @after; zones
echo @same; n=0; while [ $n -lt 50 ]; do cmp /piece /part$n && echo same; n=$((n + 7)); done
";

#[test]
fn linux_uses_storage_on_both_sides_of_the_hole() {
    let guest = Guest {
        release: Release::V6_1,
        cpus: 1,
    };
    let answers = guest.answers_with(QUESTIONS, &initrd(), &["--storage", "2304M"]);
    let storage: Vec<_> = answers.of("storage").lines().collect();
    assert_eq!(storage.len(), 2, "{storage:?}");
    assert!(storage[0].starts_with("00000000-7"), "{storage:?}");
    assert!(storage[1].starts_with("80000000-"), "{storage:?}");
    // Pages below 2 GiB, and above.
    let free = |name: &str| -> Vec<u64> {
        let lines = answers.of(name).lines();
        let numbers = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse().ok());
        numbers.collect()
    };
    let (before, after) = (free("before"), free("after"));
    assert_eq!((before.len(), after.len()), (2, 2), "{before:?} {after:?}");
    for (before, after) in before.iter().zip(&after) {
        assert!(after + 10_000 < *before, "{before} {after}");
    }
    assert_eq!(answers.of("same").matches("same").count(), 8);
}
