//! The image IPLs in each of its forms, alone and with a guest, in QEMU and in Hercules.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use measure::{
    building::{
        forms::{self, Carried, Form},
        install,
    },
    computer::progress::Progress,
    machine::{
        guest::Guest,
        qemu::{Heard, Running},
        run::RunOutcome,
        stage,
    },
    numbers::quantities::Sampling,
    options::{RunOptions, emulator::Emulator},
};
use millimeter::link::state::Mode;
use tempfile::TempDir;
use tests_qemu::{ipl, suite::test};

use crate::hercules;

/// An IPL without a guest reaches the prompt within a second or two.
const PATIENCE: Duration = Duration::from_secs(60);

/// Listens until the machine has printed all of these words.
fn hear(machine: &mut Running, wanted: &[&str], heard: &mut String) {
    let began = Instant::now();
    while !wanted.iter().all(|text| heard.contains(text)) {
        assert!(
            began.elapsed() < PATIENCE,
            "the machine did not print all of {wanted:?}:\n{heard}"
        );
        match machine.hear(Duration::from_millis(100)) {
            Heard::Bytes(bytes) => heard.push_str(&String::from_utf8_lossy(&bytes)),
            Heard::Silence => {}
            Heard::End => panic!(
                "the machine ended too early:\n{heard}\n{}",
                machine.complaints()
            ),
        }
    }
}

/// A form of the image without a guest.
fn written(form: Form, directory: &Path) -> PathBuf {
    let nothing = Carried::nothing(256 << 20);
    forms::write(form, &ipl::image().unwrap(), &nothing, directory).unwrap()
}

fn reaches_the_prompt(form: Form, option: &str) {
    let directory = TempDir::new().unwrap();
    let file = written(form, directory.path());
    for qemu in ipl::qemus(&Progress::Silent).unwrap() {
        for storage in ["64M", "512M", "2G"] {
            let line = format!(
                "-nodefaults -nographic -M s390-ccw-virtio -cpu max -m {storage} -accel tcg \
                 -chardev stdio,id=c0,signal=off -device sclpconsole,chardev=c0 {option}"
            );
            let mut arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            arguments.push(file.to_string_lossy().into_owned());
            let mut machine = Running::start(&qemu.path, &arguments).unwrap();
            let mut heard = String::new();
            hear(
                &mut machine,
                &["Millimeter ", "No guest is loaded", "MM> "],
                &mut heard,
            );
            machine.send(b"help\n");
            hear(&mut machine, &["STATUS"], &mut heard);
        }
    }
}

#[test]
fn the_image_ipls_as_a_kernel_and_answers_the_operator() {
    reaches_the_prompt(Form::Elf, "-kernel");
}

#[test]
fn the_image_ipls_as_firmware_and_answers_the_operator() {
    reaches_the_prompt(Form::Bios, "-bios");
}

#[test]
fn hercules_ipls_the_list_and_reaches_the_prompt() {
    if !hercules::is_there("hercules_ipls_the_list_and_reaches_the_prompt") {
        return;
    }
    let program = ipl::hercules().unwrap();
    let directory = TempDir::new().unwrap();
    let list = written(Form::Ins, directory.path());
    let write = |name: &str, text: String| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let configuration = write(
        "x.cnf",
        "CPUSERIAL 000611\nCPUMODEL 2094\nMAINSIZE 256\nNUMCPU 1\nARCHMODE z/Arch\n0009 3215-C /\n"
            .to_owned(),
    );
    let script = write("x.rc", format!("ipl {}\n", list.display()));
    // Its own directory, because the names in the list are relative. `env` sets both the directory and the variable.
    let arguments = [
        "-C".to_owned(),
        directory.path().display().to_string(),
        format!("HERCULES_RC={}", script.display()),
        program.display().to_string(),
        "-d".to_owned(),
        "-f".to_owned(),
        configuration.display().to_string(),
    ];
    let env = install::in_path("env").unwrap();
    let mut machine = Running::start(&env, &arguments).unwrap();
    let mut heard = String::new();
    hear(
        &mut machine,
        &["Millimeter ", "No guest is loaded", "MM> "],
        &mut heard,
    );
}

/// What a run measured, to compare it with another.
fn measured(outcome: &RunOutcome) -> (u64, Vec<(String, u64)>, String) {
    let report = &outcome.report;
    let hot = report.hot.iter();
    let hot = hot.map(|hot| (hot.symbol.clone(), hot.samples)).collect();
    (report.taken(), hot, format!("{:?}", report.counters))
}

/// Measures a workload twice: from these forms, or as usual.
fn measures_alike(forms: [Option<Form>; 2]) {
    for qemu in ipl::qemus(&Progress::Silent).unwrap() {
        let [one, other] = forms.map(|form| {
            let options = RunOptions {
                qemu: Some(qemu.path.clone()),
                form,
                sampling: Sampling::Every(100_000),
                ..ipl::options("brief")
            };
            ipl::above_with_success(&options).unwrap()
        });
        assert!(one.report.taken() > 1000);
        assert_eq!(measured(&one), measured(&other));
    }
}

#[test]
fn a_guest_in_the_kernel_is_measured_as_one_beside_it() {
    measures_alike([Some(Form::Elf), None]);
}

#[test]
fn a_guest_in_the_firmware_is_measured_as_one_beside_the_image() {
    measures_alike([Some(Form::Bios), None]);
}

/// The disk is a device more than in a usual run, for which the machine keeps some storage.
#[test]
fn a_guest_on_a_disk_is_measured_alike_each_time() {
    measures_alike([Some(Form::Scsi); 2]);
}

/// Without a host that reads frames, a person sees what the guest wrote, how it ended, and that it was measured.
#[test]
fn each_form_in_qemu_starts_by_the_command_that_the_tool_prints() {
    let qemu = &ipl::qemus(&Progress::Silent).unwrap()[0];
    let options = RunOptions::new("hash");
    let guest = Guest::load(&ipl::guest_file("hash").unwrap()).unwrap();
    let carried = stage::carried(&guest, &options).unwrap();
    for form in [Form::Elf, Form::Bios, Form::Scsi] {
        let directory = TempDir::new().unwrap();
        let image = ipl::image().unwrap();
        let file = forms::write(form, &image, &carried, directory.path()).unwrap();
        let command = form.start(&file, &carried);
        let arguments: Vec<String> = command.split(' ').skip(1).map(str::to_owned).collect();
        let mut machine = Running::start(&qemu.path, &arguments).unwrap();
        let mut heard = String::new();
        let words = [
            "The guest has ended on CPU 0",
            " cycles of the guest, ",
            " samples",
        ];
        hear(&mut machine, &words, &mut heard);
        let (_, number) = heard.split_once(words[1]).unwrap();
        let (number, _) = number.split_once(words[2]).unwrap();
        let samples: u64 = number.parse().unwrap();
        assert!(samples > 500, "{samples}");
    }
}

fn measures_in_hercules(form: Form, test: &str) {
    if !hercules::is_there(test) {
        return;
    }
    let options = RunOptions {
        below: Emulator::Hercules,
        form: Some(form),
        mode: Mode::RealTime,
        limit: Some(ipl::LIMIT),
        sampling: Sampling::Every(100_000),
        ..RunOptions::new("brief")
    };
    let outcome = ipl::above_with_success(&options).unwrap();
    let report = &outcome.report;
    let hot = report.hot.iter();
    let work: u64 = hot
        .filter(|hot| hot.symbol.contains("brief::") || hot.symbol.contains("sha2::"))
        .map(|hot| hot.samples)
        .sum();
    // The busier the host is, the more samples are elsewhere.
    assert!(work > 100, "{work} of {}", report.taken());
}

#[test]
fn a_guest_in_a_list_of_files_is_measured_in_hercules() {
    measures_in_hercules(
        Form::Ins,
        "a_guest_in_a_list_of_files_is_measured_in_hercules",
    );
}

#[test]
fn a_guest_on_cards_is_measured_in_hercules() {
    measures_in_hercules(Form::Card, "a_guest_on_cards_is_measured_in_hercules");
}

#[test]
fn a_guest_on_a_dasd_is_measured_in_hercules() {
    measures_in_hercules(Form::Dasd, "a_guest_on_a_dasd_is_measured_in_hercules");
}

/// A form that has lost its end says so in a wait state, and does not start a machine that is not whole.
#[test]
fn a_deck_without_its_last_cards_ends_in_a_wait_state() {
    let test = "a_deck_without_its_last_cards_ends_in_a_wait_state";
    if !hercules::is_there(test) {
        return;
    }
    let directory = TempDir::new().unwrap();
    let deck = written(Form::Card, directory.path());
    let bytes = fs::read(&deck).unwrap();
    fs::write(&deck, &bytes[..bytes.len() / 160 * 80]).unwrap();
    let arguments = [
        "-C".to_owned(),
        directory.path().display().to_string(),
        format!("HERCULES_RC={}", forms::HERCULES_SCRIPT),
        ipl::hercules().unwrap().display().to_string(),
        "-d".to_owned(),
        "-f".to_owned(),
        forms::HERCULES_CONFIGURATION.to_owned(),
    ];
    let env = install::in_path("env").unwrap();
    let mut machine = Running::start(&env, &arguments).unwrap();
    let mut heard = String::new();
    hear(&mut machine, &["000A0000 80000105"], &mut heard);
}

#[test]
fn a_form_of_the_other_emulator_is_refused_with_a_remedy() {
    for (below, form, remedy) in [
        (Emulator::Qemu, Form::Card, "--below hercules"),
        (Emulator::Hercules, Form::Scsi, "--ipl ins"),
    ] {
        let options = RunOptions {
            below,
            form: Some(form),
            mode: Mode::RealTime,
            ..RunOptions::new("hash")
        };
        let refusal = ipl::above(&options).unwrap_err().to_string();
        assert!(refusal.contains(form.name()), "{refusal}");
        assert!(refusal.contains(remedy), "{refusal}");
    }
}

/// The guest needs more than the storage has, in whatever form it comes.
#[test]
fn a_guest_that_does_not_fit_is_refused_in_each_form() {
    let test = "a_guest_that_does_not_fit_is_refused_in_each_form";
    let has_hercules = hercules::is_there(test);
    for form in Form::ALL {
        let is_for_qemu = form.is_for_qemu();
        if !is_for_qemu && !has_hercules {
            continue;
        }
        let options = RunOptions {
            form: Some(form),
            storage: "64M".parse().unwrap(),
            cpus: Some(16),
            below: match is_for_qemu {
                true => Emulator::Qemu,
                false => Emulator::Hercules,
            },
            mode: Mode::RealTime,
            ..RunOptions::new("workload")
        };
        let refusal = ipl::above(&options).unwrap_err().to_string();
        for word in ["workload", "does not fit", "--storage"] {
            assert!(refusal.contains(word), "{}: {refusal}", form.name());
        }
    }
}
