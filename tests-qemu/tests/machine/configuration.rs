//! The configuration that the guest finds, and what the machine's own samples show of it.

use std::fs;

use measure::{
    computer::progress::Progress,
    numbers::quantities::{Sampling, Storage},
    options::{
        RunOptions,
        configuration::{Configuration, Level, Secure},
    },
    symbols::{LIMITED, WAIT},
};
use millimeter::cpumf::sampling::BasicEntry;
use tests_qemu::{command, ipl, suite::test};

/// The machine's own samples of a guest.
fn samples(guest: &str, configuration: Configuration) -> (Vec<BasicEntry>, Vec<(String, u64)>) {
    let options = RunOptions {
        sampling: Sampling::Every(10_000),
        configuration,
        ..ipl::options(guest)
    };
    let report = ipl::above_with_success(&options).unwrap().report;
    let entries = report.cpus.iter().flat_map(|cpu| cpu.entries.clone());
    let hot = report.hot.iter();
    let lines = hot.map(|hot| (hot.symbol.clone(), hot.samples)).collect();
    (entries.collect(), lines)
}

/// CL, H, LS and the host program parameter, which all samples share.
fn head(entries: &[BasicEntry]) -> (u8, bool, bool, u64) {
    let of = |entry: &BasicEntry| {
        (
            entry.configuration_level(),
            entry.host_indicator(),
            entry.limited(),
            entry.host_program_parameter.get(),
        )
    };
    assert!(entries.len() > 10, "only {} samples", entries.len());
    let first = of(&entries[0]);
    assert!(entries.iter().all(|entry| of(entry) == first));
    first
}

#[test]
fn samples_of_a_partition_are_at_level_1_without_a_host() {
    let (entries, _) = samples("b_sampling", Configuration::default());
    assert_eq!(head(&entries), (1, false, false, 0));
}

#[test]
fn samples_of_a_virtual_machine_have_the_host_parameter_that_the_run_chose() {
    let vm = Configuration {
        level: Some(Level::Vm),
        ..Configuration::default()
    };
    let (entries, _) = samples("b_level_vm", vm.clone());
    assert_eq!(head(&entries), (2, false, false, 0));
    let hosted = Configuration {
        host_parameter: Some(0xC0_FFEE),
        ..vm
    };
    let (entries, _) = samples("b_level_vm", hosted);
    assert_eq!(head(&entries), (2, true, false, 0xC0_FFEE));
    // The guest's own program parameter stands beside it.
    let named = entries
        .iter()
        .filter(|entry| entry.guest_program_parameter.get() == 0x8000_0000_0000_1234);
    assert!(named.count() > 10);
}

#[test]
fn limited_samples_of_a_secure_guest_tell_only_the_hosts_parameter() {
    let secure = Configuration {
        secure: Some(Secure::Limited),
        host_parameter: Some(7),
        ..Configuration::default()
    };
    let (entries, hot) = samples("b_limited_sample", secure);
    assert_eq!(head(&entries), (2, true, true, 7));
    let silent = |entry: &BasicEntry| {
        entry.instruction_address.get() == 0
            && entry.guest_program_parameter.get() == 0
            && entry.primary_asn() == 0
            && !entry.problem_state()
    };
    assert!(entries.iter().all(silent));
    assert_eq!(hot, [(LIMITED.to_owned(), entries.len() as u64)]);
}

#[test]
fn only_a_dedicated_cpu_is_sampled_while_it_waits() {
    for dedicated in [false, true] {
        let configuration = Configuration {
            dedicated,
            ..Configuration::default()
        };
        let (entries, hot) = samples("b_sampling_wait", configuration);
        let waiting = entries.iter().filter(|entry| entry.wait()).count();
        // The guest waits 1 ms, 100 intervals; dedicated twice more, for 126 × 20 µs each.
        let range = if dedicated { 590..=625 } else { 0..=0 };
        assert!(range.contains(&waiting), "{dedicated}: {waiting}");
        assert_eq!(hot.iter().any(|(symbol, _)| symbol == WAIT), dedicated);
    }
}

#[test]
fn contradictory_options_are_refused_with_the_remedy() {
    // (options, words of the refusal)
    let table: [(&[&str], &[&str]); 8] = [
        (
            &["--threads", "2", "--model", "zec12"],
            &["zec12", "z13 or later"],
        ),
        (
            &["--threads", "2", "--cpus", "3"],
            &["--cpus 3", "an even number of CPUs"],
        ),
        (&["--threads", "4"], &["1..=2"]),
        (
            &["--model", "z9"],
            &["z9", "z10, z196, zec12, z13, z14, z15, z16"],
        ),
        (&["--level", "host"], &["host", "lpar", "vm"]),
        (&["--secure", "--level", "lpar"], &["always at level vm"]),
        (&["--secure=maybe"], &["--secure=limited", "--secure=full"]),
        (&["--host-parameter", "7"], &["add --level vm"]),
    ];
    for (options, words) in table {
        let mut arguments = vec!["run", "hash"];
        arguments.extend(options);
        let finished = command::finish(command::measure(&arguments).unwrap()).unwrap();
        finished.assert_fails(2, words);
    }
}

#[test]
fn a_strict_machine_warns_of_a_machine_below_that_executes_at_odd_addresses() {
    for qemu in ipl::qemus(&Progress::Plain).unwrap() {
        let mut options = ipl::options("b_odd_address");
        options.qemu = Some(qemu.path.clone());
        // Bare, it is a specification exception or not.
        let native = ipl::natively("b_odd_address", 1, Some(&qemu.path)).unwrap();
        let executes = native.exit_code != Some(0);
        for strict in [true, false] {
            options.strict = strict;
            let log = ipl::above_with_success(&options).unwrap().log.join("\n");
            let warns = log.contains("executes at odd addresses");
            assert_eq!(warns, strict && executes, "{:?}: {log}", qemu.version);
        }
    }
}

#[test]
fn the_log_names_in_one_line_what_a_machine_below_performs_wrongly() {
    for qemu in ipl::qemus(&Progress::Plain).unwrap() {
        let mut options = ipl::options("b_multiply_to_long");
        options.qemu = Some(qemu.path.clone());
        let log = ipl::above_with_success(&options).unwrap().log;
        let lines = |words: &str| log.iter().filter(|line| line.contains(words)).count();
        let has_faults = qemu.faults().next().is_some();
        assert_eq!(
            lines("performs wrongly: "),
            usize::from(has_faults),
            "{log:?}"
        );
        // The tests of rotated bits are performed before 9.0, and products before 8.0.4.
        for (what, right) in [("RXSBG", (9, 0, 0)), ("MDEBR", (8, 0, 4))] {
            let is_performed = log.iter().any(|line| {
                line.contains("in the place of the machine below") && line.contains(what)
            });
            assert_eq!(is_performed, qemu.version < right, "{what}: {log:?}");
        }
    }
}

/// Bytes of memory and swap that this computer has: Linux lets no process have more in one piece.
fn memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kibibytes = line.and_then(|line| line.split_whitespace().next());
        kibibytes.map_or(0, |number| number.parse::<u64>().unwrap() << 10)
    };
    of("MemTotal:") + of("SwapTotal:")
}

#[test]
fn a_guest_has_16_gib_of_storage_where_the_host_has_room_for_it() {
    const STORAGE: u64 = 16 << 30;
    if memory() < STORAGE + (1 << 30) {
        Progress::Plain.note("skipped 16 GiB: no room here");
        return;
    }
    ipl::above_with_success(&RunOptions {
        storage: Storage(STORAGE),
        cpus: Some(2),
        ..ipl::options("b_storage_above")
    })
    .unwrap();
}
