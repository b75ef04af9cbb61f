//! Finding a Rust toolchain that builds for the bare machine.
//!
//! Not every computer has the target `s390x-unknown-none-softfloat`, or can fetch it. The first of these that is
//! possible is used:
//!
//! 1. a toolchain in which the target is installed;
//! 2. the active toolchain with the source of `core`, which is then built too (an unstable
//!    option of Cargo that a stable toolchain accepts with `RUSTC_BOOTSTRAP=1`);
//! 3. Debian's own Rust with the source package, used the same way. It must be called by its full
//!    path, because rustup's proxies usually come first in `PATH`;
//! 4. another toolchain with the source, which was installed for something else.
//!
//! The linker is LLVM's, the default of the target, which rustup ships with every toolchain. GNU ld 2.40 fails with an
//! assertion on the image's relocations.
//!
//! [`look`] collects the facts, [`decide`] judges them without touching the computer, and
//! [`find`] does both and installs what is missing if it may.

use std::{
    env, fmt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, anyhow};

use crate::{
    building::install::{self, Lack},
    computer::progress::Progress,
};

/// The target of the image and of the guests.
pub const TARGET: &str = "s390x-unknown-none-softfloat";

/// The oldest Rust that builds the image: the workspace's `rust-version`.
pub const OLDEST_RUST: (u32, u32) = (1, 90);

/// Debian's packages for the third possibility.
const DEBIAN_RUST: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// Debian's package of the linker: the oldest LLVM that links for s390x, from Debian 12 itself.
/// `rust-web-llvm` has a `rust-lld` that is a link to a program of yet another package.
const DEBIAN_LINKER: &str = "lld-19";

/// Names of LLVM's linker in the `PATH`. Debian 12's plain `ld.lld` is too old for s390x.
const LINKERS: [&str; 3] = ["rust-lld", "ld.lld-22", "ld.lld-19"];

/// A place that holds a `rustc`, and what is there beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysroot {
    /// Its name in messages.
    pub name: String,
    /// The directory above `bin` and `lib`.
    pub path: PathBuf,
    /// Version of its `rustc`.
    pub version: (u32, u32),
    /// Whether the target's `core` is installed.
    pub has_target: bool,
    /// Whether the source of `core` is installed.
    pub has_source: bool,
}

/// The toolchains of this computer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Toolchains of rustup or of the `PATH`, the active one first.
    pub sysroots: Vec<Sysroot>,
    /// Debian's own Rust.
    pub debian: Option<Sysroot>,
    /// LLVM's linker as rustup ships it, or Debian.
    pub linker: Option<PathBuf>,
}

/// How a toolchain gets the target's `core`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// It is installed.
    Prebuilt,
    /// It is built from source, together with the programs.
    FromSource,
}

/// A toolchain that builds for the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// Where it is.
    pub sysroot: Sysroot,
    /// How it gets `core`.
    pub core: Core,
    /// LLVM's linker.
    pub linker: PathBuf,
}

/// Judges the facts: the toolchain to use, or what is missing for one.
pub fn decide(facts: &Facts) -> Result<Toolchain, Lack> {
    let recent = |sysroot: &&Sysroot| sysroot.version >= OLDEST_RUST;
    let candidates = || facts.sysroots.iter().filter(recent);
    let rust = candidates()
        .find(|sysroot| sysroot.has_target)
        .map(|sysroot| (sysroot, Core::Prebuilt))
        .or_else(|| {
            // The active toolchain is the user's choice. Another one was installed for something else, often
            // a nightly that changes from day to day, so Debian's comes before it.
            let active = facts.sysroots.iter().take(1);
            let others = facts.sysroots.iter().skip(1);
            (active.chain(&facts.debian).chain(others))
                .filter(recent)
                .find(|sysroot| sysroot.has_source)
                .map(|sysroot| (sysroot, Core::FromSource))
        });
    let (major, minor) = OLDEST_RUST;
    let compiler = format!("a Rust that builds for {TARGET} (Rust {major}.{minor} or later)");
    let linker = format!("LLVM's linker for {TARGET} (rust-lld, or LLVM 19's or later)");
    let (what, packages, otherwise) = match (rust, &facts.linker) {
        (Some((sysroot, core)), Some(linker)) => {
            return Ok(Toolchain {
                sysroot: sysroot.clone(),
                core,
                linker: linker.clone(),
            });
        }
        (None, Some(_)) => (compiler, DEBIAN_RUST.to_vec(), RUSTUP_TARGET.to_owned()),
        (Some(_), None) => (linker, vec![DEBIAN_LINKER], RUSTUP_WHOLE.to_owned()),
        (None, None) => (
            format!("{compiler}, and LLVM's linker for it"),
            DEBIAN_RUST.into_iter().chain([DEBIAN_LINKER]).collect(),
            format!("{RUSTUP_WHOLE}, and then {RUSTUP_TARGET}"),
        ),
    };
    Err(Lack {
        what,
        packages,
        otherwise,
    })
}

/// How to install the target with rustup.
const RUSTUP_TARGET: &str = "rustup target add s390x-unknown-none-softfloat";

/// How to get a compiler with its linker.
const RUSTUP_WHOLE: &str = "install Rust with rustup, whose toolchains have the linker in them";

/// Collects the facts of this computer.
pub fn look() -> Facts {
    let mut sysroots: Vec<Sysroot> = Vec::new();
    for (name, path) in rustup_toolchains() {
        if sysroots.iter().all(|known| known.path != path) {
            sysroots.extend(examine(name, path));
        }
    }
    let linker = sysroots
        .iter()
        .find_map(|sysroot| rust_lld(&sysroot.path))
        .or_else(|| LINKERS.into_iter().find_map(install::in_path));
    Facts {
        debian: examine("Debian's Rust".to_owned(), PathBuf::from("/usr")),
        linker,
        sysroots,
    }
}

/// Finds a toolchain, and installs what is missing if this process may.
pub fn find(progress: &Progress) -> Result<Toolchain> {
    let lack = match decide(&look()) {
        Ok(toolchain) => return Ok(toolchain),
        Err(lack) => lack,
    };
    install::provide(|| decide(&look()).err().into_iter().collect(), progress)?;
    decide(&look()).map_err(|_| anyhow!("this computer lacks {}", lack.what))
}

impl Toolchain {
    /// A Cargo command of this toolchain for the target, with nothing inherited from a Cargo that
    /// may have started this process. Flags go to the compiler for the target only.
    pub fn cargo(&self, subcommand: &str, rustc_flags: &[String]) -> Command {
        let mut cargo = Command::new(self.sysroot.path.join("bin/cargo"));
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(is_inherited) {
                cargo.env_remove(name);
            }
        }
        if let Some(path) = env::var_os("LD_LIBRARY_PATH") {
            let kept = env::split_paths(&path)
                .filter(|part| !part.components().any(|c| c.as_os_str() == "toolchains"));
            if let Ok(kept) = env::join_paths(kept) {
                cargo.env("LD_LIBRARY_PATH", kept);
            }
        }
        let mut flags = vec![
            format!("-Clinker={}", self.linker.display()),
            "-Clinker-flavor=ld.lld".to_owned(),
        ];
        flags.extend_from_slice(rustc_flags);
        // Unit separators, so that a path with blanks stays one flag.
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1F}"));
        cargo.env("RUSTC", self.sysroot.path.join("bin/rustc"));
        cargo.arg(subcommand).args(["--target", TARGET]);
        if self.core == Core::FromSource {
            cargo.env("RUSTC_BOOTSTRAP", "1");
            cargo.args([
                "-Zbuild-std=core,alloc",
                "-Zbuild-std-features=compiler-builtins-mem",
            ]);
        }
        cargo
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.sysroot.version;
        write!(f, "{} (Rust {major}.{minor}", self.sysroot.name)?;
        match self.core {
            Core::Prebuilt => write!(f, ", the target installed)"),
            Core::FromSource => write!(f, ", core built from source)"),
        }
    }
}

/// Whether a variable comes from a Cargo or rustup that started this process. The inner build must not see it.
fn is_inherited(name: &str) -> bool {
    let about_the_network = [
        "CARGO_HOME",
        "CARGO_NET",
        "CARGO_HTTP",
        "CARGO_REGISTR",
        "CARGO_SOURCE",
    ];
    match name {
        "CARGO"
        | "RUSTC"
        | "RUSTFLAGS"
        | "RUSTDOCFLAGS"
        | "RUSTC_WRAPPER"
        | "RUSTC_WORKSPACE_WRAPPER"
        | "RUSTUP_TOOLCHAIN"
        | "RUSTC_BOOTSTRAP" => true,
        _ => {
            name.starts_with("CARGO_")
                && !about_the_network.iter().any(|kept| name.starts_with(kept))
        }
    }
}

/// Names and sysroots of every toolchain of rustup, and of a plain `rustc` in the `PATH`.
fn rustup_toolchains() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let active = Command::new("rustc").args(["--print", "sysroot"]).output();
    if let Ok(output) = active
        && output.status.success()
    {
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        // Debian's Rust has its own place in the order, the third.
        if path != Path::new("/usr") {
            found.push((toolchain_name(&path), path));
        }
    }
    let home = env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".rustup")));
    if let Some(entries) = home.and_then(|home| home.join("toolchains").read_dir().ok()) {
        let mut others: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        others.sort();
        found.extend(others.into_iter().map(|path| (toolchain_name(&path), path)));
    }
    found
}

fn toolchain_name(path: &Path) -> String {
    match path.file_name() {
        Some(name) => format!("toolchain {}", name.to_string_lossy()),
        None => format!("toolchain at {}", path.display()),
    }
}

fn examine(name: String, path: PathBuf) -> Option<Sysroot> {
    let rustc = path.join("bin/rustc");
    if !rustc.is_file() || !path.join("bin/cargo").is_file() {
        return None;
    }
    let output = Command::new(rustc)
        .arg("--version")
        .env_remove("RUSTUP_TOOLCHAIN")
        .output()
        .ok()?;
    let version = version(&String::from_utf8_lossy(&output.stdout))?;
    let rustlib = path.join("lib/rustlib");
    Some(Sysroot {
        name,
        version,
        has_target: rustlib.join(TARGET).join("lib").is_dir(),
        has_source: rustlib.join("src/rust/library/core/Cargo.toml").is_file(),
        path,
    })
}

/// `rustc 1.96.0 (…)` to (1, 96).
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_whitespace().nth(1)?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn rust_lld(sysroot: &Path) -> Option<PathBuf> {
    let hosts = sysroot.join("lib/rustlib").read_dir().ok()?;
    hosts
        .flatten()
        .map(|host| host.path().join("bin/rust-lld"))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests;
