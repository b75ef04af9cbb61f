//! `reboot` in the guest: the guest begins anew, and the machine goes on.

use std::{fs, thread};

use tempfile::TempDir;

use tests_qemu::suite::test;

use crate::guest::{NO_CIPHER_TESTS, assert_same_console, boot, section};

/// Every boot finds the same first file system, and clear storage. Only the clock, which a load leaves alone, tells
/// the second boot from the first: the first one lets a minute pass, which takes the host no time.
const SCRIPT: &str = r#"
if [ "$(date +%s)" -lt 1767225660 ]; then
    echo the first boot
    perf record -q -a -e cycles -F 1000 -o data sleep 60
    reboot -f
    sleep 1000
fi
echo @boot; echo the second boot
echo @cpus; nproc
echo @reipl; cat /sys/firmware/reipl/reipl_type
echo @stat; perf stat -x, -e instructions:u true 2>&1
echo @dmesg; dmesg
exit 9
"#;

/// What a run leaves: its console, counters and samples, and the record.
struct Left {
    console: Vec<u8>,
    counters: Vec<u8>,
    samples: Vec<u8>,
    record: serde_json::Value,
}

fn run() -> Left {
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("script");
    fs::write(&script, SCRIPT).unwrap();
    let script = script.to_str().unwrap();
    let finished = boot(
        directory.path(),
        &[
            "--cpus",
            "2",
            "--interval",
            "1000000",
            "--append",
            NO_CIPHER_TESTS,
            "--script",
            script,
        ],
    );
    // The exit code is that of the last boot. Its output follows that of the first.
    assert_eq!(finished.code, Some(9), "{finished:?}");
    assert!(
        finished.output.starts_with("the first boot\n"),
        "{}",
        finished.output
    );
    assert!(!finished.output.contains("KASLR"), "{}", finished.output);
    assert!(finished.error.contains("loaded anew"), "{}", finished.error);
    let of = |name| section(&finished.output, name);
    assert_eq!(of("cpus").trim(), "2");
    // The guest knows no device that it could load from.
    assert_eq!(of("reipl").trim(), "unknown");
    assert!(!of("stat").contains("not"), "{}", of("stat"));
    for complaint in ["Oops", "WARNING:", "BUG:"] {
        assert!(!of("dmesg").contains(complaint), "{}", of("dmesg"));
    }
    let read = |name: &str| fs::read(directory.path().join(name)).unwrap();
    let console = read("run/console.txt");
    let text = String::from_utf8_lossy(&console).into_owned();
    assert_eq!(text.matches("millimeter: command").count(), 2, "{text}");
    let record: serde_json::Value = serde_json::from_slice(&read("run/run.json")).unwrap();
    Left {
        console,
        counters: read("run/counters.bin"),
        samples: read("run/sdb-cpu0.bin"),
        record,
    }
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_reboot_begins_the_guest_anew_and_the_machine_goes_on() {
    measures_both_boots(&run());
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_run_with_a_reboot_is_repeatable() {
    let (first, second) = thread::scope(|scope| {
        let other = scope.spawn(run);
        (run(), other.join().unwrap())
    });
    assert_same_console(&first.console, &second.console);
    assert!(first.counters == second.counters, "the counters differ");
    assert!(first.samples == second.samples, "the samples differ");
    assert_eq!(first.record["totals"], second.record["totals"]);
    measures_both_boots(&first);
}

/// Measurement from below goes on through the load: a sample for each million cycles of both boots.
fn measures_both_boots(left: &Left) {
    let record = &left.record;
    assert_eq!(record["loads"], 2);
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let cycles: u64 = record["totals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cpu| number(&cpu["guest_cycles"]))
        .sum();
    let samples: u64 = record["totals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cpu| number(&cpu["samples_taken"]))
        .sum();
    assert!(cycles > 4_000_000_000, "{cycles}");
    assert!(
        samples.abs_diff(cycles / 1_000_000) <= 2,
        "{samples} for {cycles}"
    );
}
