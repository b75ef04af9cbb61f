//! A short pass of every target, and its limits.

use std::{
    env,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use fuzz::{
    runner::{Run, Watched},
    targets,
};

/// What is allocated is counted for the whole process, so targets run one after the other.
static ONE: Mutex<()> = Mutex::new(());

/// Names how many milliseconds each target runs: `cargo soak` gives them more.
const PASS: &str = "MILLIMETER_PASS";

/// How many they are otherwise.
const SHORT: u64 = 500;

/// The same inputs every time, as far as the time allows.
const SEED: u64 = 113;

fn pass(name: &str) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let target = targets::all()
        .into_iter()
        .find(|target| target.name == name)
        .unwrap();
    let pass = env::var(PASS).map_or(SHORT, |text| {
        text.parse().expect("milliseconds are a number")
    });
    let end = Instant::now() + Duration::from_millis(pass);
    let watched = Watched::default();
    let done = Run::new(target, SEED, watched).and_then(|mut run| {
        run.until(end)?;
        println!("{name}: {} inputs, {} answers", run.inputs, run.answers());
        Ok(())
    });
    if let Err(failure) = done {
        panic!(
            "{name} {}; the input is {:?}",
            failure.what,
            String::from_utf8_lossy(&failure.input)
        );
    }
}

/// A test for each target.
macro_rules! passes {
    ($($test:ident: $name:literal,)*) => {
        $(#[test]
        fn $test() {
            pass($name);
        })*

        #[test]
        fn every_target_has_a_pass() {
            let names: Vec<&str> = targets::all().iter().map(|target| target.name).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

passes! {
    blocks_of_4_kib_survive: "smp",
    blocks_of_1_mib_survive: "smp-large",
    counter_files_survive: "cnt",
    maps_survive: "map",
    smf_records_survive: "smf",
    smf_blocks_survive: "smf-blocks",
    monitor_records_survive: "monitor",
    counters_as_figures_survive: "figures",
    any_file_survives: "dump",
    run_json_survives: "run-json",
    counters_bin_survives: "counters-bin",
    counts_bin_survives: "counts-bin",
    places_survive: "places",
    symbols_survive: "symbols",
    frames_survive: "frames",
    payloads_survive: "payloads",
    the_loader_block_survives: "loader-block",
    operator_commands_survive: "operator-command",
    parameter_files_survive: "parameter-file",
    the_configuration_survives: "configuration",
    baselines_survive: "baseline",
    ipl_records_survive: "ipl-record",
    images_of_kernels_survive: "kernel",
}
