//! A program that drives virtio devices by itself reaches what it may reach, and nothing else.
//!
//! The guest works as a driver does, and then has the devices find addresses of the hardware system area in every
//! place. Every second of its time and when it has ended, the machine looks whether that area is whole (wait state 205). Here the disk is
//! examined: each doubleword of it says who wrote it. There is one device of each kind that a guest sees.

use std::{fs, path::Path};

use measure::{
    computer::progress::Progress,
    machine::{qemu::Qemu, run::RunOutcome},
    options::RunOptions,
};
use millimeter::link::state::Mode;
use tempfile::TempDir;
use tests_qemu::{ipl, suite::test};

/// Bytes of the disk.
const LENGTH: u64 = 4 << 20;
/// Doublewords of a sector.
const SECTOR: u64 = 64;
/// The leftmost bytes of what is on the disk at first, and of what the guest writes.
const MARKS: [u64; 2] = [0x4D4D, 0x4747];

/// Makes a disk of which every doubleword is known.
fn make_disk(path: &Path) {
    let words = (0..LENGTH / 8).map(|at| (MARKS[0] << 48) + ((at / SECTOR) << 16) + at % SECTOR);
    let bytes: Vec<u8> = words.flat_map(u64::to_be_bytes).collect();
    fs::write(path, bytes).unwrap();
}

/// What is on a disk that neither the harness nor the guest has put there.
fn foreign(path: &Path) -> Vec<String> {
    let bytes = fs::read(path).unwrap();
    let words = bytes.as_chunks::<8>().0.iter().enumerate();
    words
        .filter_map(|(at, word)| {
            let (at, word) = (at as u64, u64::from_be_bytes(*word));
            // The guest may write a sector's content to another sector.
            let is_known = MARKS.contains(&(word >> 48)) && word & 0xFFFF == at % SECTOR;
            (!is_known).then(|| format!("sector {}: {word:016X}", at / SECTOR))
        })
        .collect()
}

/// Runs a guest with a disk, a network card, a console and a source of entropy. Returns how it ended, and what is on the disk that nobody put there.
fn with_devices(qemu: &Qemu, guest: &str, mode: Mode, cpus: u32) -> (RunOutcome, Vec<String>) {
    with_more_devices(qemu, guest, mode, cpus, false)
}

fn with_more_devices(
    qemu: &Qemu,
    guest: &str,
    mode: Mode,
    cpus: u32,
    strict: bool,
) -> (RunOutcome, Vec<String>) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("disk");
    make_disk(&path);
    let mut options = RunOptions {
        mode,
        cpus: Some(cpus),
        strict,
        check_hsa: true,
        qemu: Some(qemu.path.clone()),
        ..ipl::options(guest)
    };
    options.devices.disks = vec![path.display().to_string().parse().unwrap()];
    options.devices.network = true;
    options.devices.more = ["-device virtio-serial-ccw", "-device virtio-rng-ccw"]
        .map(|words| words.parse().unwrap())
        .into();
    (ipl::above(&options).unwrap(), foreign(&path))
}

/// Runs the guest on each QEMU. With two CPUs it also has one change what the other one offers.
fn leaves_the_machine_whole(mode: Mode, cpus: u32) {
    for qemu in ipl::qemus(&Progress::Plain).unwrap() {
        let (outcome, foreign) = with_devices(&qemu, "virtio", mode, cpus);
        assert!(
            foreign.is_empty(),
            "{qemu}: {} doublewords, the first {:?}\n{}",
            foreign.len(),
            foreign.first(),
            ipl::story(&outcome)
        );
        assert_eq!(
            outcome.end.exit_code(),
            0,
            "{qemu}: {}",
            ipl::story(&outcome)
        );
        let last = if cpus > 1 { "races" } else { "the older form" };
        let is_complete = outcome.console.contains(&format!("\n{last}: "));
        assert!(is_complete, "{qemu}: {}", ipl::story(&outcome));
    }
}

#[test]
fn a_program_that_drives_devices_by_itself_reaches_its_own_storage_only() {
    leaves_the_machine_whole(Mode::Exact, 1);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn two_cpus_that_change_the_rings_of_a_device_in_turns_reach_their_own_storage_only() {
    leaves_the_machine_whole(Mode::Exact, 2);
}

#[test]
fn two_cpus_that_change_the_rings_of_a_device_at_once_reach_their_own_storage_only() {
    leaves_the_machine_whole(Mode::RealTime, 2);
}

/// Runs the guest with sizes and numbers of its own on each QEMU.
fn sizes_are_those_of_the_device(mode: Mode, is_strict: bool) {
    for qemu in ipl::qemus(&Progress::Plain).unwrap() {
        let (outcome, foreign) = with_more_devices(&qemu, "virtio-sizes", mode, 1, is_strict);
        assert!(foreign.is_empty(), "{qemu}: {:?}", foreign.first());
        let story = || format!("{qemu}: {}", ipl::story(&outcome));
        assert_eq!(outcome.end.exit_code(), 0, "{}", story());
        assert!(
            outcome.console.contains("\nsizes and numbers: done"),
            "{}",
            story()
        );
    }
}

#[test]
fn a_program_cannot_have_a_queue_of_another_size_than_its_device() {
    sizes_are_those_of_the_device(Mode::Exact, false);
}

#[test]
fn a_queue_has_the_size_of_its_device_in_real_time_and_on_a_strict_machine() {
    sizes_are_those_of_the_device(Mode::RealTime, false);
    sizes_are_those_of_the_device(Mode::Exact, true);
}

/// Random channel programs, with this mode and so many CPUs.
fn random_programs_leave_the_machine_whole(mode: Mode, cpus: u32, rounds: u64) {
    for seed in ipl::seeds("1") {
        let parameters = [seed, rounds];
        let file = ipl::with_parameters("random-channel", b"random channel programs:", &parameters)
            .unwrap();
        let guest = file.path().to_str().unwrap();
        for qemu in ipl::qemus(&Progress::Plain).unwrap() {
            // What the guest writes on the disk is anything.
            let (outcome, _) = with_devices(&qemu, guest, mode, cpus);
            let story = || format!("{qemu}, seed {seed}: {}", ipl::story(&outcome));
            println!("{qemu}, seed {seed}: {}", outcome.console);
            assert_eq!(outcome.end.exit_code(), 0, "{}", story());
            assert!(outcome.console.contains("others: "), "{}", story());
        }
    }
}

#[test]
fn random_channel_programs_leave_the_machine_whole() {
    random_programs_leave_the_machine_whole(Mode::Exact, 1, 2_500);
}

#[test]
fn random_channel_programs_of_two_cpus_leave_the_machine_whole() {
    random_programs_leave_the_machine_whole(Mode::Exact, 2, 2_500);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn ten_thousand_random_channel_programs_leave_the_machine_whole() {
    for cpus in [1, 2] {
        random_programs_leave_the_machine_whole(Mode::Exact, cpus, 10_000);
    }
}
