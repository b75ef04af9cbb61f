//! Hours of Linux: nothing grows, nothing is lost without being counted.
//!
//! In exact mode the time in which the guest waits costs the host little, so an hour takes minutes. With devices of the host
//! it takes its time, so the guest waits less. A run must not need more of the machine's own room than half of it. Every
//! second of the guest's time the machine looks whether the hardware system area is whole.

use std::{
    env,
    fs::{self, File},
};

use tempfile::TempDir;

use tests_qemu::suite::test;

use crate::guest::{NO_CIPHER_TESTS, boot_within, section};

/// A moment in which the guest works, and some seconds in which it waits; a CPU goes and comes back now and then.
const WORK: &str = r#"
other=/sys/devices/system/cpu/cpu1/online
i=0
while [ $i -lt $1 ]; do
    i=$((i + 1))
    dd if=/dev/zero bs=64k count=4 2>/dev/null | sha256sum >sum.$((i % 7))
    (for j in 1 2 3 4 5; do /bin/busybox true; done) &
    find /proc/1 -name status >/dev/null 2>&1
    perf stat -e instructions:u -- /bin/busybox true 2>counted || echo "perf failed in round $i"
    if [ -b /dev/vda ]; then
        dd if=/bin/busybox of=/dev/vda bs=4k oflag=direct conv=notrunc 2>/dev/null
        dd if=/dev/vda bs=64k count=64 iflag=direct 2>/dev/null | sha256sum >sum.disk
        ping -q -c 2 -i 0.2 10.0.2.2 >/dev/null || echo "ping failed in round $i"
    fi
    if [ $((i % 4)) = 0 ]; then echo 0 >$other; sleep 1; echo 1 >$other; fi
    sleep $2
    wait
done
echo @uptime
cut -d. -f1 /proc/uptime
echo @online; cat /sys/devices/system/cpu/online
echo @trouble
dmesg | grep -i -e 'cut here' -e oops -e stall -e 'soft lockup' -e hung -e 'i/o error'
echo none
echo @end
"#;

/// What the machine says about itself at the end of a run.
#[derive(Debug)]
struct Marks {
    /// Units of shadow tables that each CPU had in use at most, summed.
    units: u64,
    /// Samples taken, and lost.
    samples: [u64; 2],
}

/// Runs so many rounds with a wait of so many seconds in each, and with these options.
fn rounds(count: u32, wait: u32, more: &[&str]) -> (Marks, u64) {
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("work");
    fs::write(&script, WORK).unwrap();
    let script = script.display().to_string();
    let count_text = count.to_string();
    let mut arguments = vec![
        "--cpus",
        "2",
        "--check-hsa",
        "--append",
        NO_CIPHER_TESTS,
        "--script",
        &script,
    ];
    arguments.extend(more);
    let wait = wait.to_string();
    arguments.extend(["--", &count_text, &wait]);
    let finished = boot_within(120 * (count + 5), directory.path(), &arguments);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let of = |name| section(&finished.output, name).trim().to_owned();
    assert_eq!(of("online"), "0-1");
    assert_eq!(of("trouble"), "none");
    assert!(
        !finished.output.contains("failed in round"),
        "{}",
        finished.output
    );
    let file = |name: &str| fs::read_to_string(directory.path().join("run").join(name)).unwrap();
    let log = file("log.txt");
    let number = |line: &str| -> u64 {
        let words: Vec<&str> = log.split_whitespace().collect();
        let at = words.windows(3).position(|three| three.join(" ") == line);
        let at = at.unwrap_or_else(|| panic!("the log does not say {line}:\n{log}"));
        words[at - 1].parse().unwrap()
    };
    let record: serde_json::Value = serde_json::from_str(&file("run.json")).unwrap();
    let sum = |field: &str| -> u64 {
        let totals = record["totals"].as_array().unwrap();
        totals.iter().map(|one| one[field].as_u64().unwrap()).sum()
    };
    let link = &record["link"];
    for field in [
        "bad_frames",
        "bad_payloads",
        "blocks_missing",
        "blocks_repeated",
    ] {
        assert_eq!(link[field], 0, "{record}");
    }
    assert_eq!(link["frames"], link["frames_sent"], "{record}");
    let marks = Marks {
        units: number("units at most"),
        samples: [sum("samples_taken"), sum("samples_lost")],
    };
    (marks, of("uptime").parse().unwrap())
}

/// Runs a number of rounds, and twice as many.
fn nothing_grows(count: u32, wait: u32, more: &[&str]) {
    let (half, _) = rounds(count / 2, wait, more);
    let (whole, seconds) = rounds(count, wait, more);
    eprintln!("{count} rounds, {seconds} s of the guest: {half:?}, {whole:?}");
    assert!(seconds >= u64::from(count * wait), "{seconds}");
    // What the second half needs in addition is noise: which spaces happened to be there at once. The most of four rounds is a
    // quarter more than the most of two with some images. What is not given back would be hundreds in each round.
    assert!(
        whole.units <= half.units + half.units / 4 + 8,
        "{half:?} {whole:?}"
    );
    assert_eq!(whole.samples[1], 0, "{whole:?}");
    assert!(whole.samples[0] >= half.samples[0]);
}

/// With what a round takes besides, a minute.
const WAIT: u32 = 58;

/// How many rounds: as many as `MILLIMETER_ROUNDS` says, or four.
fn rounds_of_soak() -> u32 {
    let rounds = env::var("MILLIMETER_ROUNDS").unwrap_or_else(|_| "4".to_owned());
    rounds.parse().expect("rounds are a whole number")
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn rounds_of_linux_with_sampling_need_no_more_room_than_half_of_them() {
    nothing_grows(rounds_of_soak(), WAIT, &["--freq", "100"]);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn rounds_of_linux_with_a_collection_run_need_no_more_room_than_half_of_them() {
    nothing_grows(
        rounds_of_soak(),
        WAIT,
        &["--his", "F HIS,B,CTRSET=ALL,PATH='.'"],
    );
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn rounds_of_linux_with_a_disk_and_a_network_card_need_no_more_room_than_half_of_them() {
    let directory = TempDir::new().unwrap();
    let disk = directory.path().join("disk");
    File::create(&disk).unwrap().set_len(16 << 20).unwrap();
    let disk = disk.display().to_string();
    let count = 3 * rounds_of_soak();
    nothing_grows(count, 1, &["--freq", "100", "--net", "--disk", &disk]);
}
