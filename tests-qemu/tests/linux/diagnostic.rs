//! perf's event of basic and diagnostic samples together, which stores into perf's own pages.

use measure::linux::Release;
use tests_qemu::suite::test;

use crate::guest::{Answers, Guest};

/// perf with the event, for at most some seconds, and what it was doing then.
const RECORD: &str = r#"
cd /tmp
# Who waits for the output of the script does not wait for perf.
perf record -q -c 100000 -e rBD000 -o samples true >perf.log 2>&1 & perf=$!
i=0
while [ -d /proc/$perf ] && [ $i -lt 5 ]; do i=$((i + 1)); sleep 1; done
echo @state
grep State /proc/$perf/status 2>/dev/null || echo ended
echo @stack
cat /proc/$perf/stack 2>/dev/null
echo @samples
perf report -D -i samples 2>/dev/null | grep -c PERF_RECORD_AUX
echo @end
"#;

fn record(release: Release) -> Answers {
    Guest { release, cpus: 1 }.answers(RECORD)
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn linux_6_1_records_diagnostic_samples_and_comes_to_the_end() {
    let answers = record(Release::V6_1);
    assert_eq!(answers.of("state").trim(), "ended", "{}", answers.output);
    assert_ne!(answers.of("samples").trim(), "0", "{}", answers.output);
}

/// Opening the event returns with the mutex that the closing takes. If Debian's kernel has become right, the book's table of
/// kernels is to say so, and this test to be as that of 6.1.
#[test]
#[ignore = "long: cargo soak runs it"]
fn linux_6_12_waits_for_its_own_mutex_when_it_closes_the_event_of_diagnostic_samples() {
    let answers = record(Release::V6_12);
    let stack = answers.of("stack");
    assert!(
        answers.of("state").contains("D (disk sleep)")
            && stack.contains("refcount_dec_and_mutex_lock")
            && stack.contains("hw_perf_event_destroy"),
        "Debian's kernel 6.12 no longer has the fault; take it out of tools/book/src/linux.md:\n{}",
        answers.output
    );
}
