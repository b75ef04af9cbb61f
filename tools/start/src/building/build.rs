//! Builds the image, the guests and the programs for Linux.
//!
//! Everything for the bare machine is built below `target/s390x`, apart from the host's own artifacts, and the image in a directory of its own there, by
//! the toolchain that [`crate::building::toolchain`] finds, with the flags of [`crate::building::product`]. Cargo decides what is stale, if anything has changed
//! ([`crate::building::stamp`]); a command that was installed keeps what it has built ([`crate::building::installed`]). Programs that are measured store the back chain, and the image does not, so `core` is
//! compiled once for each; the last step, which optimises and links a whole program, has flags of its own besides. A lock
//! keeps tests that run side by side from waiting for each other without a word.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::{Child, Output, Stdio},
    sync::{Mutex, OnceLock, PoisonError},
};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    building::{
        case,
        installed::{self, Products},
        paths,
        product::{CASES, GUESTS, IMAGE, PROGRAMS, Product},
        repository::{self, lock_in, root, target_directory},
        stamp::Sources,
        toolchain::{self, Toolchain},
        version,
    },
    computer::progress::Progress,
};

/// The guest of a run that names none.
pub const DEFAULT_GUEST: &str = "workload";

/// The program of the image.
const IMAGE_PROGRAM: &str = "millimeter";

/// The log keeps everything. Its reader leaves out what is too much.
const LOG_LEVEL: (&str, &str) = ("DEFMT_LOG", "trace");

/// Sources of the guests that are a program each.
pub const GUEST_SOURCES: &str = "tests-qemu/guests/src/bin";
/// Sources of the cases of the behaviour guests.
pub const CASE_SOURCES: &str = "tests-qemu/guests/src/behaviour";

/// Sources of the programs for Linux.
pub const PROGRAM_SOURCES: &str = "tests-qemu/programs/src/bin";

/// Builds the image and returns its path. Once per process.
pub fn build_image(progress: &Progress) -> Result<PathBuf> {
    static DONE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&DONE, || {
        let directory = build(&IMAGE, "the image", IMAGE_PROGRAM, progress)?;
        Ok(directory.join(IMAGE_PROGRAM))
    })
}

/// Whether the image is what its sources give, or what an installed command keeps.
pub fn is_current() -> bool {
    if installed::products().is_some_and(|kept| kept.have(IMAGE_PROGRAM)) {
        return true;
    }
    let image = IMAGE.release().join(IMAGE_PROGRAM);
    Sources::of_this_process().is_some_and(|sources| sources.gave(&image))
}

/// Builds a bundled guest and returns its file. Its program is built once per process.
pub fn build_guest(name: &str, progress: &Progress) -> Result<PathBuf> {
    static DONE: Mutex<BTreeMap<String, Result<PathBuf, String>>> = Mutex::new(BTreeMap::new());
    let is_case = is_case(name);
    let program = if is_case { case::PROGRAM } else { name };
    let file = {
        // A thread that did not wait here would wait for the lock of the build.
        let mut done = DONE
            .lock()
            .map_err(|_| anyhow!("another thread's build has panicked"))?;
        done.entry(program.to_owned())
            .or_insert_with(|| {
                let (product, what) = if is_case {
                    (&CASES, "the behaviour guests")
                } else {
                    (&GUESTS, name)
                };
                build(product, what, program, progress)
                    .map(|directory| directory.join(program))
                    .map_err(|error| format!("{error:#}"))
            })
            .clone()
            .map_err(|text| anyhow!(text))?
    };
    if is_case {
        case_file(&file, name)
    } else {
        Ok(file)
    }
}

/// Builds the programs that tests run in Linux and returns the directory that holds them. Once per
/// process.
pub fn build_programs(progress: &Progress) -> Result<PathBuf> {
    static DONE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&DONE, || {
        let mut directory = PathBuf::new();
        for name in sources(PROGRAM_SOURCES) {
            let what = format!("{name} for Linux");
            directory = build(&PROGRAMS, &what, &name, progress)?;
        }
        Ok(directory)
    })
}

/// Names of the bundled guests, in alphabetical order: the files of their source directories.
pub fn bundled_guests() -> Vec<String> {
    let mut names = sources(GUEST_SOURCES);
    names.extend(
        sources(CASE_SOURCES)
            .into_iter()
            .filter(|name| name != case::MAIN),
    );
    names.sort();
    names
}

/// Builds everything, and returns the directories that hold it.
pub fn build_all(progress: &Progress) -> Result<Vec<PathBuf>> {
    let mut directories: Vec<PathBuf> = build_files(progress)?
        .iter()
        .filter_map(|file| file.parent().map(Path::to_owned))
        .collect();
    directories.sort();
    directories.dedup();
    Ok(directories)
}

/// Builds everything, and returns the files: the image, the program of the cases, the guests and the programs for Linux.
pub fn build_files(progress: &Progress) -> Result<Vec<PathBuf>> {
    let mut files = vec![build_image(progress)?];
    let cases = sources(CASE_SOURCES);
    if let Some(case) = cases.iter().find(|name| is_case(name)) {
        let file = build_guest(case, progress)?;
        let directory = file.ancestors().nth(2).unwrap_or(&file);
        files.push(directory.join(case::PROGRAM));
    }
    for guest in sources(GUEST_SOURCES) {
        files.push(build_guest(&guest, progress)?);
    }
    let directory = build_programs(progress)?;
    let programs = sources(PROGRAM_SOURCES);
    files.extend(programs.iter().map(|program| directory.join(program)));
    Ok(files)
}

/// The names of the sources in this directory. An installed command keeps them.
pub fn sources(directory: &str) -> Vec<String> {
    let kept = installed::products();
    if let Some(names) = kept.and_then(|kept| kept.names(directory)) {
        return names;
    }
    let names = present_sources(directory);
    if let Some(kept) = kept.filter(|_| !names.is_empty()) {
        // They are looked for again the next time.
        let _ = kept.add_names(directory, &names);
    }
    names
}

fn present_sources(directory: &str) -> Vec<String> {
    fs::read_dir(root().join(directory))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            is_source
                .then(|| path.file_stem()?.to_str().map(str::to_owned))
                .flatten()
        })
        .collect()
}

/// The source of a bundled guest.
pub fn guest_source(name: &str) -> PathBuf {
    let directory = match is_case(name) {
        true => CASE_SOURCES,
        false => GUEST_SOURCES,
    };
    root().join(format!("{directory}/{name}.rs"))
}

/// Whether this is the name of a bundled guest.
pub fn is_bundled(name: &str) -> bool {
    bundled_guests().iter().any(|bundled| bundled == name)
}

fn is_case(name: &str) -> bool {
    name != case::MAIN && sources(CASE_SOURCES).iter().any(|source| source == name)
}

/// The file of one case. It is made anew if the program is newer.
fn case_file(program: &Path, name: &str) -> Result<PathBuf> {
    let directory = program.with_file_name("cases");
    let file = directory.join(name);
    let made = |file: &Path| file.metadata().and_then(|data| data.modified()).ok();
    if made(&file) > made(program) {
        return Ok(file);
    }
    let bytes = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let bytes = case::cut(&bytes, name)?;
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    // Tests that run at the same time may make the same file. The rename lets each find a complete one.
    let mut new = tempfile::NamedTempFile::new_in(&directory)?;
    std::io::Write::write_all(&mut new, &bytes)?;
    new.persist(&file)
        .with_context(|| format!("cannot create {}", file.display()))?;
    Ok(file)
}

/// Builds once in this process. The error is kept as text, because every caller gets it.
fn once(
    place: &OnceLock<Result<PathBuf, String>>,
    work: impl FnOnce() -> Result<PathBuf>,
) -> Result<PathBuf> {
    place
        .get_or_init(|| work().map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(|text| anyhow!(text))
}

fn find_toolchain(progress: &Progress) -> Result<Toolchain> {
    static FOUND: Mutex<Option<Toolchain>> = Mutex::new(None);
    let mut found = FOUND
        .lock()
        .map_err(|_| anyhow!("another thread's search has panicked"))?;
    if let Some(toolchain) = &*found {
        return Ok(toolchain.clone());
    }
    let toolchain = toolchain::find(progress)?;
    *found = Some(toolchain.clone());
    Ok(toolchain)
}

/// Builds a program of this product, and returns the directory that holds it.
fn build(product: &Product, what: &str, program: &str, progress: &Progress) -> Result<PathBuf> {
    match installed::products() {
        Some(kept) => build_kept(kept, product, what, program, progress),
        None => build_here(product, what, program, progress),
    }
}

/// The same for an installed command, which needs it to be built only once.
fn build_kept(
    kept: &Products,
    product: &Product,
    what: &str,
    program: &str,
    progress: &Progress,
) -> Result<PathBuf> {
    kept.ready()?;
    if kept.have(program) {
        return Ok(kept.directory().to_owned());
    }
    if !repository::is_there() {
        return Err(without_sources(what));
    }
    let release = build_here(product, what, program, progress)?;
    let add = || {
        if program == IMAGE_PROGRAM {
            version::keep(kept)?;
        }
        kept.add(&release.join(program))
    };
    match add() {
        Ok(()) => Ok(kept.directory().to_owned()),
        Err(error) => {
            progress.note(&format!("{what} is not kept for later runs: {error:#}"));
            Ok(release)
        }
    }
}

/// Why something cannot be built any longer, and what helps.
pub fn without_sources(what: &str) -> anyhow::Error {
    anyhow!(
        "{what} is not built yet, and the sources are no longer in {}; get them again and name their directory with the variable {}, or install the command from them anew",
        root().display(),
        repository::VARIABLE
    )
}

/// The same from the sources.
fn build_here(
    product: &Product,
    what: &str,
    program: &str,
    progress: &Progress,
) -> Result<PathBuf> {
    let release = product.release();
    let sources = Sources::of_this_process();
    if sources.is_some_and(|sources| sources.gave(&release.join(program))) {
        return Ok(release);
    }
    let toolchain = find_toolchain(progress)?;
    let directory = product.target_directory();
    let _lock = lock_in(&directory, "build.lock", "another build", progress)?;
    let step = progress.step(&format!("building {what} with {toolchain}"));
    let mut flags: Vec<String> = product.flags.iter().map(|&flag| flag.into()).collect();
    if product.is_reproducible {
        flags.extend(paths::replacements(&toolchain)?);
    }
    let output = toolchain
        .cargo("rustc", &flags)
        .args(["--release", "--package", product.package])
        .args(["--features", product.feature])
        .args(["--bin", program])
        .arg("--target-dir")
        .arg(&directory)
        .arg("--")
        .args(product.program_flags)
        .env(LOG_LEVEL.0, LOG_LEVEL.1)
        .env(version::VARIABLE, version::of_sources()?)
        .current_dir(root())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .and_then(finish)
        .with_context(|| {
            format!(
                "cannot start {}",
                toolchain.sysroot.path.join("bin/cargo").display()
            )
        })?;
    if !output.status.success() {
        let whole = target_directory().join(format!("{}.log", product.package));
        let kept = match fs::write(&whole, &output.stderr) {
            Ok(()) => format!("; all of it is in {}", whole.display()),
            Err(_) => String::new(),
        };
        bail!(
            "building {what} failed ({}) with {toolchain}{kept}\n{}",
            output.status,
            last_lines(&String::from_utf8_lossy(&output.stderr), QUOTED_LINES)
        );
    }
    step.done(&format!("built {what}"));
    if let Some(sources) = sources {
        sources.note(&release.join(program));
    }
    Ok(release)
}

/// The Cargos that build now, and whether no other may begin.
static RUNNING: Mutex<(Vec<Pid>, bool)> = Mutex::new((Vec::new(), false));

/// Waits for a build, which [`stop`] ends.
fn finish(mut cargo: Child) -> io::Result<Output> {
    let pid = Pid::from_child(&cargo);
    let is_stopped = {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.0.push(pid);
        running.1
    };
    if is_stopped {
        let _ = cargo.kill();
    }
    let output = cargo.wait_with_output();
    // Its number may be another process's from now on.
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.0.retain(|&other| other != pid);
    output
}

/// Ends the builds of other threads, and all that would follow.
pub fn stop() {
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running.1 = true;
    for &cargo in &running.0 {
        // It may have ended by itself.
        let _ = kill_process(cargo, Signal::TERM);
    }
}

/// How many lines of a failed build's output go into the error.
const QUOTED_LINES: usize = 60;

fn last_lines(text: &str, number: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(number)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_quotes_the_end_of_a_long_output() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\n", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }

    #[test]
    fn the_repository_holds_this_package_and_its_guests() {
        assert!(root().join("tools/Cargo.toml").is_file());
        assert!(bundled_guests().iter().any(|name| name == DEFAULT_GUEST));
    }

    #[test]
    fn no_program_of_linux_has_the_name_of_a_guest() {
        // All of them are built into one directory.
        let guests = [bundled_guests(), vec!["behaviour".to_owned()]].concat();
        for program in sources(PROGRAM_SOURCES) {
            assert!(!guests.contains(&program), "{program}");
        }
    }
}
