//! Building the image and the guests.
//!
//! Everything for the bare machine is built below `target/s390x`, apart from the host's own
//! artifacts, by whatever toolchain [`crate::building::toolchain`] finds. Cargo decides what is stale; a file
//! lock keeps tests that run beside one another from waiting for each other in the dark.

use std::{fs, path::PathBuf, process::Stdio, sync::OnceLock};

use anyhow::{Context, Result, anyhow, bail};

use crate::{
    building::{
        repository::{lock, root, target_directory},
        toolchain,
    },
    computer::progress::Progress,
};

/// What is built for the bare machine.
struct Product {
    what: &'static str,
    package: &'static str,
    arguments: &'static [&'static str],
    /// Flags for the compiler; `{root}` is the repository.
    flags: &'static [&'static str],
}

const IMAGE: Product = Product {
    what: "the image",
    package: "millimeter",
    arguments: &["--features", "image", "--bin", "millimeter"],
    flags: &[
        // It moves itself: position-independent, with its relocations in it, and nobody to apply them.
        "-Crelocation-model=pic",
        "-Clink-arg=-pie",
        "-Clink-arg=--no-dynamic-linker",
        "-Cforce-unwind-tables=no",
        "-Clink-arg=-T{root}/linker.ld",
        "-Clink-arg=-Tdefmt.x",
    ],
};

const GUESTS: Product = Product {
    what: "the guests",
    package: "guests",
    arguments: &["--features", "guest", "--bins"],
    flags: &[
        "-Crelocation-model=static",
        "-Clink-arg=-T{root}/tests-qemu/guests/guest.ld",
    ],
};

const PROGRAMS: Product = Product {
    what: "the programs for Linux",
    package: "programs",
    arguments: &["--features", "linux", "--bins"],
    flags: &["-Crelocation-model=static"],
};

/// The log keeps everything: what is too much is left out when it is read.
const LOG_LEVEL: (&str, &str) = ("DEFMT_LOG", "trace");

fn products() -> PathBuf {
    target_directory().join(toolchain::TARGET).join("release")
}

/// Builds the image and returns its path. Once per process.
pub fn build_image(progress: &Progress) -> Result<PathBuf> {
    static DONE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&DONE, || {
        build(&IMAGE, progress)?;
        Ok(products().join("millimeter"))
    })
}

/// Builds the bundled guests and returns the directory that holds them. Once per process.
pub fn build_guests(progress: &Progress) -> Result<PathBuf> {
    static DONE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&DONE, || {
        build(&GUESTS, progress)?;
        Ok(products())
    })
}

/// Builds the programs that tests run in Linux and returns the directory that holds them. Once per
/// process.
pub fn build_programs(progress: &Progress) -> Result<PathBuf> {
    static DONE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&DONE, || {
        build(&PROGRAMS, progress)?;
        Ok(products())
    })
}

/// Names of the bundled guests, in alphabetical order: the files of their source directory.
pub fn bundled_guests() -> Vec<String> {
    let directory = root().join("tests-qemu/guests/src/bin");
    let mut names: Vec<String> = fs::read_dir(directory)
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
        .collect();
    names.sort();
    names
}

/// The error of a build is kept as text, because every caller of this process is to hear it.
fn once(
    place: &OnceLock<Result<PathBuf, String>>,
    work: impl FnOnce() -> Result<PathBuf>,
) -> Result<PathBuf> {
    place
        .get_or_init(|| work().map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(|text| anyhow!(text))
}

fn build(product: &Product, progress: &Progress) -> Result<()> {
    let toolchain = toolchain::find(progress)?;
    let _lock = lock("measure.lock", "another build of this repository", progress)?;
    let step = progress.step(&format!("building {} with {toolchain}", product.what));
    let root = root()
        .to_str()
        .context("the repository's path is not UTF-8; move it to one that is")?;
    let flags: Vec<String> = product
        .flags
        .iter()
        .map(|flag| flag.replace("{root}", root))
        .collect();
    let output = toolchain
        .cargo("build", &flags)
        .args(["--release", "--package", product.package])
        .args(product.arguments)
        .arg("--target-dir")
        .arg(target_directory())
        .env(LOG_LEVEL.0, LOG_LEVEL.1)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
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
            "building {} failed ({}) with {toolchain}{kept}\n{}",
            product.what,
            output.status,
            last_lines(&String::from_utf8_lossy(&output.stderr), TOLD_LINES)
        );
    }
    step.done(&format!("built {}", product.what));
    Ok(())
}

/// How much of a failed build's output goes into the error.
const TOLD_LINES: usize = 60;

fn last_lines(text: &str, number: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(number)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_output_is_told() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\n", 2), "a");
        assert_eq!(last_lines("", 2), "");
    }

    #[test]
    fn the_repository_holds_this_package_and_its_guests() {
        assert!(root().join("tools/Cargo.toml").is_file());
        assert!(
            bundled_guests()
                .iter()
                .any(|name| name == crate::options::DEFAULT_GUEST)
        );
    }
}
