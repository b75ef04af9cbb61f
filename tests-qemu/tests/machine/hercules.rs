//! Guests below which is Hercules: another emulator, without instruction-execution protection, whose console has only lines.

use measure::{
    computer::progress::Progress,
    conformance::clause::Clause,
    options::{RunOptions, emulator::Emulator},
    report::Report,
};
use millimeter::link::state::Mode;
use tests_qemu::ipl;

/// Whether there is a Hercules. Where there is none and none can be installed, the test says so and passes.
pub fn is_there(test: &str) -> bool {
    let Err(error) = ipl::hercules() else {
        return true;
    };
    Progress::Plain.note(&format!("skipped {test}: {error:#}"));
    false
}

/// These options for a run below which is Hercules.
fn in_hercules(options: RunOptions) -> RunOptions {
    RunOptions {
        below: Emulator::Hercules,
        mode: Mode::RealTime,
        limit: Some(ipl::LIMIT),
        ..options
    }
}

/// Every frame has arrived.
fn is_whole(report: &Report) {
    let link = &report.record.link;
    assert_eq!(
        (link.bad_frames, link.bad_payloads, link.blocks_missing),
        (0, 0, 0)
    );
    assert_eq!(link.frames_sent.map(u64::from), Some(link.frames));
}

/// Behaviour guests that need neither a clock that counts instructions nor a sample in time: of the facilities, and of what
/// is done in another way there.
const GUESTS: [&str; 10] = [
    "b_access_register_mode",
    "b_cpu_timer",
    "b_dat",
    "b_epsw",
    "b_execute_modified",
    "b_key_protection",
    "b_keys",
    "b_own_page",
    "b_privileged_measurement",
    "b_qsi",
];

#[test]
fn behaviour_guests_end_in_hercules_as_they_declare() {
    if !is_there("behaviour_guests_end_in_hercules_as_they_declare") {
        return;
    }
    for guest in GUESTS {
        let clause = Clause::read(&ipl::guest_file(guest).unwrap()).unwrap();
        for run in clause.runs(guest).unwrap() {
            let outcome = ipl::above(&in_hercules(run.options)).unwrap();
            let story = ipl::story(&outcome);
            assert!(clause.end.is_met(&outcome.end), "{}: {story}", run.name);
            is_whole(&outcome.report);
        }
    }
}

/// The samples of the hash workload are where it works.
#[test]
fn a_workload_is_sampled_in_hercules() {
    if !is_there("a_workload_is_sampled_in_hercules") {
        return;
    }
    let outcome = ipl::above_with_success(&in_hercules(RunOptions::new("hash"))).unwrap();
    let report = &outcome.report;
    is_whole(report);
    let of = |part: &str| -> u64 {
        let routines = report.hot.iter().filter(|hot| hot.symbol.contains(part));
        routines.map(|hot| hot.samples).sum()
    };
    let all = report.taken();
    assert_eq!(of(""), all, "{:?}", report.hot);
    // The busier the host is, the more samples are elsewhere.
    let work = of("hash::work") + of("sha2::");
    assert!(work > 100, "{work} of {all}: {:?}", report.hot);
}

/// The machine says what a run in Hercules cannot have, and what to do.
#[test]
fn a_run_with_devices_is_refused_in_hercules() {
    let mut options = in_hercules(RunOptions::new("hash"));
    options.devices.more = vec!["-device virtio-rng-ccw".parse().unwrap()];
    let refusal = ipl::above(&options).unwrap_err().to_string();
    assert!(refusal.contains("leave --qemu-arg out"), "{refusal}");
}
