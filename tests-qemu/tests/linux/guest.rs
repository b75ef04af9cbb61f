//! The Linux guest: what it boots, how it is started, and what it prints.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use measure::{
    building::build,
    computer::progress::Progress,
    linux::{Release, cache::Cache, initramfs, modules, packages},
    options::{devices::Devices, disk::Disk},
};
use tempfile::TempDir;
use tests_qemu::{
    command::{self, Finished},
    ipl, suite,
};

/// For the kernel: no tests of its ciphers, which would take a third of a boot behind its boot stage.
pub const NO_CIPHER_TESTS: &str = "cryptomgr.notests";

/// This project's programs, in the guest's `/usr/bin`.
const PROGRAMS: [&str; 5] = ["hwctr", "intruder", "loop", "steps", "traced"];

/// Runs the command `linux` with these arguments.
pub fn run_linux(directory: &Path, arguments: &[&str]) -> Finished {
    let mut line = vec!["linux"];
    line.extend_from_slice(arguments);
    let mut command = command::measure(&line).unwrap();
    command.current_dir(directory);
    command::finish(command).unwrap()
}

/// Seconds that a test of Linux may last.
const LIMIT: u32 = 1500;

/// Like [`run_linux`], with everything that the guest boots.
pub fn boot(directory: &Path, arguments: &[&str]) -> Finished {
    boot_within(LIMIT, directory, arguments)
}

/// The same, for so many seconds.
pub fn boot_within(seconds: u32, directory: &Path, arguments: &[&str]) -> Finished {
    let limit = seconds.to_string();
    let mut line = vec!["--rtc", ipl::DATE, "--out", "run", "--limit", &limit];
    line.extend_from_slice(arguments);
    suite::step("boot", || run_linux(directory, &line))
}

/// The archive that the command makes, with this project's programs added.
pub fn initrd() -> Vec<u8> {
    initrd_with("usr", &[])
}

/// Like [`initrd`], with more files in a directory of the guest.
pub fn initrd_with(place: &str, more: &[(String, PathBuf)]) -> Vec<u8> {
    let cache = Cache::of_user().unwrap();
    let debian = packages::programs(&cache, &Progress::Plain).unwrap();
    let built = build::build_programs(&Progress::Plain).unwrap();
    let tree = TempDir::new().unwrap();
    let programs = tree.path().join("usr/bin");
    fs::create_dir_all(&programs).unwrap();
    for name in PROGRAMS {
        fs::copy(built.join(name), programs.join(name)).unwrap();
    }
    let place = tree.path().join(place);
    fs::create_dir_all(&place).unwrap();
    for (name, file) in more {
        fs::copy(file, place.join(name)).unwrap();
    }
    let [debian, ours] = [&debian, tree.path()].map(|tree| initramfs::of_tree(tree).unwrap());
    initramfs::followed(debian, &ours)
}

/// A file of a tree, which can be executed.
pub fn put(tree: &Path, name: &str, bytes: &[u8]) {
    let file = tree.join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, bytes).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// An archive with nothing but busybox, Linux 6.1's drivers of a disk in `/modules`, and this first process.
pub fn initrd_of_disk(init: &str, disk: &Disk) -> Vec<u8> {
    let cache = Cache::of_user().unwrap();
    let kernel = packages::kernel(&cache, Release::V6_1, &Progress::Plain).unwrap();
    let programs = packages::programs(&cache, &Progress::Plain).unwrap();
    let tree = TempDir::new().unwrap();
    let busybox = fs::read(programs.join("bin/busybox")).unwrap();
    put(tree.path(), "bin/busybox", &busybox);
    put(tree.path(), "init", init.as_bytes());
    let devices = Devices {
        disks: vec![disk.clone()],
        ..Devices::default()
    };
    for (name, file) in modules::of(&kernel.modules, &devices) {
        let module = fs::read(file).unwrap();
        put(tree.path(), &format!("modules/{name}"), &module);
    }
    initramfs::of_tree(tree.path()).unwrap()
}

/// Like [`initrd`], with gdb.
pub fn initrd_with_debugger() -> Vec<u8> {
    let cache = Cache::of_user().unwrap();
    let debugger = packages::debugger(&cache, &Progress::Plain).unwrap();
    initramfs::followed(initrd(), &initramfs::of_tree(&debugger).unwrap())
}

/// A guest that has not started yet.
#[derive(Clone, Copy, Debug)]
pub struct Guest {
    pub release: Release,
    pub cpus: u32,
}

/// What a guest answered.
#[derive(Debug)]
pub struct Answers {
    /// Its whole output, in sections.
    pub output: String,
    /// The report of the run.
    pub report: String,
    directory: TempDir,
}

impl Guest {
    /// Boots above the machine, without [tests of ciphers](NO_CIPHER_TESTS), and runs this script. The guest must come to
    /// its end.
    pub fn answers(&self, script: &str) -> Answers {
        self.answers_with(script, &initrd(), &["--append", NO_CIPHER_TESTS])
    }

    /// Like [`Guest::answers`], with an archive of its own and more options of the command.
    pub fn answers_with(&self, script: &str, initrd: &[u8], more: &[&str]) -> Answers {
        let (release, cpus) = (self.release.to_string(), self.cpus.to_string());
        let kernel = ["--release", &release, "--cpus", &cpus];
        answers(&[&kernel, more].concat(), script, initrd)
    }
}

/// Like [`Guest::answers`], with one CPU and a kernel of one's own.
pub fn answers_of_kernel(kernel: &Path, script: &str) -> Answers {
    let kernel = kernel.to_str().unwrap();
    let options = ["--kernel", kernel, "--append", NO_CIPHER_TESTS];
    answers(&options, script, &initrd())
}

/// Boots with these options of the command, and runs this script. The guest must come to its end.
fn answers(options: &[&str], script: &str, initrd: &[u8]) -> Answers {
    let directory = TempDir::new().unwrap();
    let file = |name: &str, data: &[u8]| {
        fs::write(directory.path().join(name), data).unwrap();
    };
    file("questions", format!("{script}exit 7\n").as_bytes());
    file("initrd", initrd);
    let mut arguments = vec!["--initrd", "initrd", "--script", "questions"];
    arguments.extend(["--json", "report"]);
    arguments.extend(options);
    let finished = boot(directory.path(), &arguments);
    assert_eq!(finished.code, Some(7), "{options:?}: {finished:?}");
    Answers {
        output: finished.output,
        report: fs::read_to_string(directory.path().join("report")).unwrap(),
        directory,
    }
}

impl Answers {
    /// The section of this name.
    pub fn of(&self, name: &str) -> &str {
        section(&self.output, name)
    }

    /// The files of the run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join("run").join(name)
    }
}

/// The section of this name: what follows a line `@NAME`.
pub fn section<'a>(output: &'a str, name: &str) -> &'a str {
    let begin = format!("@{name}\n");
    let (_, rest) = output
        .split_once(&begin)
        .unwrap_or_else(|| panic!("there is no section {name}:\n{output}"));
    rest.split("\n@").next().unwrap_or(rest)
}

/// Two runs that must be the same have printed the same; otherwise shows the first line that differs.
pub fn assert_same_console(first: &[u8], second: &[u8]) {
    let texts = [first, second].map(String::from_utf8_lossy);
    let [first, second] = [&texts[0], &texts[1]].map(|text| text.lines().enumerate());
    for (line, again) in first.zip(second) {
        assert_eq!(line, again, "the consoles differ");
    }
    assert_eq!(texts[0].len(), texts[1].len(), "one console is longer");
}
