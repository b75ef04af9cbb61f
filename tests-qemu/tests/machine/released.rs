//! A command of a release works without Cargo, a compiler and the sources.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use measure::{building::version, computer::progress::Progress};
use tempfile::TempDir;
use tests_qemu::{
    command::{self, Finished, program},
    ipl,
    suite::test,
};

/// A computer that has QEMU and a command of a release, and nothing else that a program could start.
struct Computer {
    root: TempDir,
    command: PathBuf,
}

impl Computer {
    fn new(command: PathBuf) -> Self {
        let root = TempDir::new().unwrap();
        for directory in ["bin", "home", "work"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        let qemu = &ipl::qemus(&Progress::Silent).unwrap()[0];
        symlink(&qemu.path, root.path().join("bin/qemu-system-s390x")).unwrap();
        Self { root, command }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn measure(&self, line: &[&str]) -> Finished {
        let mut command = Command::new(&self.command);
        command
            .args(line)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("home"))
            // Where it was built there are sources.
            .env("MILLIMETER_SOURCES", self.path("gone"))
            .current_dir(self.path("work"))
            .stdin(Stdio::null());
        command::finish(command).unwrap()
    }

    /// Performs the main job with this guest, and returns what the run and the report wrote.
    #[track_caller]
    fn run(&self, guest: &str) -> String {
        let ran = self.measure(&["run", guest, "--out", "run"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let reported = self.measure(&["report", "run"]);
        assert_eq!(reported.code, Some(0), "{reported:?}");
        ran.output + &reported.output
    }
}

/// Makes a release in this directory and returns its command.
#[track_caller]
fn make(directory: &Path, more: &[&str]) -> Finished {
    let mut command = Command::new(program().unwrap());
    command
        .args(["package", "--out"])
        .arg(directory)
        .args(more)
        // How well a package is compressed shows nothing, and takes longer than all the rest.
        .env("DPKG_DEB_COMPRESSOR_LEVEL", "0")
        .stdin(Stdio::null());
    let finished = command::finish(command).unwrap();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished
}

#[test]
fn a_command_of_a_release_needs_only_qemu() {
    let out = TempDir::new().unwrap();
    let built = program().unwrap();
    make(out.path(), &["--command", built.to_str().unwrap()]);
    for file in ["man/measure-run.1", "completions/zsh/_measure"] {
        assert!(out.path().join(file).is_file(), "{file}");
    }
    // What the command, the image and a guest are made of, with a library in C.
    let licences = fs::read_to_string(out.path().join("licences.txt")).unwrap();
    for words in [
        "\nclap 4.",
        "\ndefmt 1.",
        "\nsha3 0.",
        "software license for Capstone",
        "Apache License",
    ] {
        assert!(licences.contains(words), "{words}:\n{licences}");
    }
    let computer = Computer::new(out.path().join("measure"));
    let said = computer.measure(&["--version"]);
    let build = version::of_sources().unwrap();
    assert_eq!(
        said.output,
        format!("measure {} (build {build})\n", version::RELEASE)
    );
    let list = computer.measure(&["run", "--list"]).output;
    assert!(
        list.contains("workload") && list.contains("`measure run NAME`"),
        "{list}"
    );
    let healthy = computer.measure(&["doctor"]);
    assert_eq!(healthy.code, Some(0), "{healthy:?}");
    assert!(
        healthy.output.contains("carries image and guests"),
        "{healthy:?}"
    );
    let report = computer.run("b_stfl");
    assert!(report.contains("The guest ended with success"), "{report}");
    let record = fs::read_to_string(computer.path("work/run/run.json")).unwrap();
    assert!(
        record.contains(&format!("\"build\": \"{build}\"")),
        "{record}"
    );
    // A name that no guest has, and what needs the sources.
    let wrong = computer.measure(&["run", "b_scv"]);
    wrong.assert_fails(2, &["no guest b_scv", "b_svc"]);
    let wrong = computer.measure(&["package"]);
    wrong.assert_fails(2, &["sources"]);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_debian_package_has_a_command_that_performs_the_main_job() {
    let out = TempDir::new().unwrap();
    // Without its symbols, as a release: most of the time would be spent on compressing them.
    let built = out.path().join("built");
    let stripped = Command::new("strip")
        .args([Path::new("-o"), &built, &program().unwrap()])
        .status();
    assert!(stripped.unwrap().success());
    let made = make(out.path(), &["--deb", "--command", built.to_str().unwrap()]);
    let package = made.output.lines().last().unwrap().to_owned();
    assert!(package.ends_with(".deb"), "{made:?}");
    let root = TempDir::new().unwrap();
    let unpacked = Command::new("dpkg-deb")
        .arg("--extract")
        .args([Path::new(&package), root.path()])
        .status();
    assert!(unpacked.unwrap().success());
    let report = Computer::new(root.path().join("usr/bin/measure")).run("brief");
    assert!(report.contains("brief::compresses"), "{report}");
    assert!(
        root.path()
            .join("usr/share/man/man1/measure.1.gz")
            .is_file()
    );
}

/// Not in `cargo soak`, because it builds all that the command is made of once more.
#[test]
#[ignore = "before a release: builds the command optimised and static"]
fn a_command_of_a_release_is_static_and_performs_the_main_job() {
    let out = TempDir::new().unwrap();
    make(out.path(), &[]);
    let command = out.path().join("measure");
    // No loader and no library of the system: no segment names an interpreter.
    let program = fs::read(&command).unwrap();
    let elf = object::File::parse(&program[..]).unwrap();
    assert!(object::Object::section_by_name(&elf, ".interp").is_none());
    let report = Computer::new(command).run("workload");
    assert!(report.contains("guests::workload::hash::work"), "{report}");
}
