//! The image IPLs in each of its forms: QEMU's -kernel and -bios, and Hercules.

use std::{
    fs,
    time::{Duration, Instant},
};

use measure::{
    building::{
        image::{self, Form},
        install,
    },
    computer::progress::Progress,
    machine::qemu::{Heard, Running},
};
use tempfile::TempDir;
use tests_qemu::ipl;

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

fn reaches_the_prompt(form: Form, option: &str) {
    let directory = TempDir::new().unwrap();
    let file = image::write(form, &ipl::image().unwrap(), directory.path()).unwrap();
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
    let program = ipl::hercules().unwrap();
    let directory = TempDir::new().unwrap();
    let list = image::write(Form::Ins, &ipl::image().unwrap(), directory.path()).unwrap();
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
