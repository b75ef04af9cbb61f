//! One guest, one QEMU, one directory that is gone afterwards.

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use measure::{
    building::{build, emulators, install, lacks},
    computer::progress::Progress,
    machine::{
        hercules::Hercules,
        qemu::Qemu,
        run::{NativeOptions, NativeOutcome, RunOutcome, run, run_native},
    },
    numbers::quantities::Rtc,
    options::RunOptions,
};
use tempfile::{NamedTempFile, TempDir};

use crate::suite;

/// No run of a test lasts longer; most take a second.
pub const LIMIT: Duration = Duration::from_secs(300);

/// The date of every run. The tests do not depend on it.
pub const DATE: &str = "2026-01-01T00:00:00";

/// The QEMUs to test on: the one in the `PATH`, and the one that `MILLIMETER_QEMU` names if it is
/// another.
pub fn qemus(progress: &Progress) -> Result<Vec<Qemu>> {
    provide(progress)?;
    let mut found = Vec::new();
    if let Some(path) = install::in_path("qemu-system-s390x") {
        found.push(Qemu::locate(Some(&path))?);
    }
    let named = Qemu::locate(None).with_context(|| {
        format!(
            "no QEMU to test on ({} may name one)",
            emulators::QEMU.variable
        )
    })?;
    let same = |a: &Path, b: &Path| fs::canonicalize(a).ok() == fs::canonicalize(b).ok();
    let is_wanted = env::var_os(emulators::QEMU.variable).is_some() || found.is_empty();
    if is_wanted && !found.iter().any(|qemu| same(&qemu.path, &named.path)) {
        found.push(named);
    }
    Ok(found)
}

/// The seeds of a random test: its own, or those that `MILLIMETER_SEEDS` names, separated by spaces.
pub fn seeds(own: &str) -> Vec<u64> {
    let seeds = env::var("MILLIMETER_SEEDS").unwrap_or_else(|_| own.to_owned());
    let seeds = seeds.split_whitespace();
    seeds
        .map(|seed| seed.parse().expect("a seed is a number"))
        .collect()
}

/// Installs what the tests need, or fails with one message that lists it. Installs Hercules along with the rest, but
/// only its own test needs it: [`hercules`].
fn provide(progress: &Progress) -> Result<()> {
    let look = || {
        let mut lacks = lacks::in_qemu(None);
        if !lacks.is_empty() {
            lacks.extend(emulators::hercules_lack(None));
        }
        lacks
    };
    install::provide(look, progress)
}

/// Hercules.
pub fn hercules() -> Result<PathBuf> {
    install::provide(
        || emulators::hercules_lack(None).into_iter().collect(),
        &Progress::Plain,
    )?;
    Ok(Hercules::locate(None)?.path)
}

/// The library that shows a program another clock of the host, which one test needs. Used without the command of that
/// name, which wants semaphores: not every host that runs tests has them.
pub fn faketime() -> Result<PathBuf> {
    let find = || {
        let architectures = fs::read_dir("/usr/lib").ok()?;
        let library = |folder: fs::DirEntry| folder.path().join("faketime/libfaketimeMT.so.1");
        architectures
            .filter_map(|folder| Some(library(folder.ok()?)))
            .find(|library| library.exists())
    };
    let lack = || {
        let lack = install::Lack {
            what: "libfaketime, for the test of the host's clock".to_owned(),
            packages: vec!["libfaketime"],
            otherwise: "do without it; one test fails".to_owned(),
        };
        let is_absent = find().is_none();
        is_absent.then_some(lack).into_iter().collect()
    };
    install::provide(lack, &Progress::Plain)?;
    find().context("libfaketime is not below /usr/lib")
}

/// A bundled guest's file.
pub fn guest_file(name: &str) -> Result<PathBuf> {
    provide(&Progress::Plain)?;
    build::build_guest(name, &Progress::Plain)
}

/// Copies a bundled guest whose file has doublewords of parameters behind a mark, and puts these parameters there.
pub fn with_parameters(name: &str, mark: &[u8], parameters: &[u64]) -> Result<NamedTempFile> {
    let mut bytes = fs::read(guest_file(name)?)?;
    let at = bytes
        .windows(mark.len())
        .position(|window| window == mark)
        .context("the guest's file has no mark")?
        + mark.len();
    for (place, value) in bytes[at..].chunks_exact_mut(8).zip(parameters) {
        place.copy_from_slice(&value.to_be_bytes());
    }
    let mut file = NamedTempFile::new()?;
    file.write_all(&bytes)?;
    Ok(file)
}

/// The image, and the behaviour guests: most of them are cases of one program, and some are programs of their own.
pub fn behaviour() -> Result<()> {
    image()?;
    behaviour_guests()
        .iter()
        .try_for_each(|guest| guest_file(guest).map(drop))
}

/// The image.
pub fn image() -> Result<PathBuf> {
    provide(&Progress::Plain)?;
    build::build_image(&Progress::Plain)
}

/// The names of the behaviour guests.
pub fn behaviour_guests() -> Vec<String> {
    let mut names = build::bundled_guests();
    names.retain(|name| name.starts_with("b_"));
    names
}

/// Options for a run of this guest from the date that all tests share.
pub fn options(guest: &str) -> RunOptions {
    RunOptions {
        rtc: DATE.parse().unwrap_or(Rtc::Now),
        limit: Some(LIMIT),
        ..RunOptions::new(guest)
    }
}

/// Runs a guest above the machine.
pub fn above(options: &RunOptions) -> Result<RunOutcome> {
    let directory = TempDir::new().context("cannot create a directory for the run")?;
    let mut options = options.clone();
    options.out = Some(directory.path().to_owned());
    suite::step(&options.guest, || run(&options, &Progress::Silent))
}

/// Like [`above`]; the guest must end with success.
pub fn above_with_success(options: &RunOptions) -> Result<RunOutcome> {
    let outcome = above(options)?;
    if outcome.end.exit_code() != 0 {
        bail!(story(&outcome));
    }
    Ok(outcome)
}

/// Runs a guest on bare QEMU.
pub fn natively(guest: &str, cpus: u32, qemu: Option<&Path>) -> Result<NativeOutcome> {
    let options = NativeOptions {
        cpus,
        qemu: qemu.map(Path::to_owned),
        limit: LIMIT,
        ..NativeOptions::new(guest)
    };
    run_native(&options, &Progress::Silent)
}

/// Describes a run that went wrong: how it ended, and the last lines of its output.
pub fn story(outcome: &RunOutcome) -> String {
    let mut text = outcome.end.sentence();
    if let measure::folder::record::End::Machine { text: reason, .. } = &outcome.end {
        text.push_str(&format!("\n{reason}"));
    }
    let mut part = |name: &str, body: &str, lines: usize| {
        let all: Vec<&str> = body.lines().collect();
        if !all.is_empty() {
            let tail = &all[all.len().saturating_sub(lines)..];
            text.push_str(&format!("\n--- {name}\n{}", tail.join("\n")));
        }
    };
    let failed: Vec<&str> = outcome
        .console
        .lines()
        .filter(|line| line.starts_with("FAILED") || line.starts_with("failed "))
        .collect();
    part("what the guest says has failed", &failed.join("\n"), 20);
    part("console", &outcome.console, 8);
    part("log", &outcome.log.join("\n"), 8);
    part("before the link was open", &outcome.boot, 8);
    text
}
