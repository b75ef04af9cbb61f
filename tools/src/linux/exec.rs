//! One program in Linux: its output, its exit code, and how many instructions it took.
//!
//! The guest has the program under the name that it has here, in a directory of the same name as this process's, and with
//! chosen variables of its environment. So a program that Cargo has built for s390x finds what it expects, if the files that
//! it reads are given, too. Its C library is that of Debian's packages.
//!
//! Its numbers are to be the same whoever starts it and where. So its stack begins at the same place whatever its path, its
//! arguments and its variables are, and the variables are those of a list.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use object::{Architecture, BinaryFormat, Object, ObjectKind};

use crate::{
    building::build,
    computer::{input_file, progress::Progress},
    linux::{
        LinuxOptions,
        cache::Cache,
        initramfs::{GuestFile, quote},
        libraries::Libraries,
        packages, programs,
        screen::Instructions,
    },
};

/// The program that counts instructions.
const COUNTED: &str = "/millimeter/counted";

/// Where it leaves the counts.
const COUNTS: &str = "/millimeter/counts";

/// The variables that every program has.
const ALWAYS: [(&str, &str); 3] = [
    ("HOME", "/root"),
    ("PATH", "/bin:/sbin:/usr/bin:/usr/sbin"),
    ("TERM", "dumb"),
];

/// Variables that say which package Cargo tests or runs, and where it is. They are the same whoever starts Cargo, but for the
/// directory.
const OF_THE_PACKAGE: [&str; 4] = [
    "CARGO_BIN_EXE_",
    "CARGO_MANIFEST_",
    "CARGO_PKG_",
    "CARGO_TARGET_TMPDIR",
];

/// Variables that a person sets for a program of Rust, its tests and its benchmarks. How Cargo starts a program is in variables
/// with other names.
const OF_THE_PERSON: [&str; 6] = [
    "CRITERION_",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_LOG",
    "RUST_MIN_STACK",
    "RUST_TEST_",
];

/// Whether the program gets a variable without being asked for.
fn is_passed(name: &str) -> bool {
    let mut begins = OF_THE_PACKAGE.iter().chain(&OF_THE_PERSON);
    begins.any(|begin| name.starts_with(begin))
}

/// The variables of this environment that the program gets without being asked for. Only text is recorded.
fn passed(all: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_passed(name))
        .collect()
}

/// A program and what it needs.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its file.
    pub file: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables of its environment: a name, or a name and a value.
    pub environment: Vec<String>,
    /// Files and directories that it reads.
    pub with: Vec<PathBuf>,
    /// Libraries that are not looked for in Debian's packages.
    pub libraries: Vec<PathBuf>,
    /// Debian's packages that have libraries it needs.
    pub packages: Vec<String>,
}

impl Program {
    /// The options of a run of Linux that performs it.
    pub fn options(&self, base: LinuxOptions, progress: &Progress) -> Result<LinuxOptions> {
        let file = absolute(&self.file)?;
        let bytes = read(&file)?;
        let needed = needed(&file, &bytes)?;
        let mut files = BTreeMap::new();
        if !needed.is_empty() {
            let libraries = Libraries {
                given: &self.libraries,
                packages: &self.packages,
                tree: &packages::programs(&Cache::of_user()?, progress)?,
            };
            for (name, data) in libraries.missing(needed, progress)? {
                files.insert(format!("/lib/{name}"), GuestFile::File(data, true));
            }
        }
        for path in &self.with {
            add(&mut files, &absolute(path)?)?;
        }
        let directory = env::current_dir().context("this process has no directory")?;
        files.insert(text(&directory)?.to_owned(), GuestFile::Directory);
        let counted = build::build_programs(progress)?.join("counted");
        files.insert(COUNTED.to_owned(), GuestFile::File(read(&counted)?, true));
        files.insert(text(&file)?.to_owned(), GuestFile::File(bytes, true));
        Ok(LinuxOptions {
            command: vec![self.command(text(&file)?, text(&directory)?)?],
            files,
            ..base
        })
    }

    /// The line for the guest's shell.
    fn command(&self, file: &str, directory: &str) -> Result<String> {
        let variables = self.variables()?;
        let number = variables.len();
        let mut line = format!(
            "cd {} || exit 127\nexec {COUNTED} {COUNTS} {number}",
            quote(directory)
        );
        for (name, value) in variables {
            line.push_str(&format!(" {}", quote(&format!("{name}={value}"))));
        }
        line.push_str(&format!(" {}", quote(file)));
        for argument in &self.arguments {
            line.push_str(&format!(" {}", quote(argument)));
        }
        Ok(line)
    }

    /// The variables that decide the program's numbers, in words. Each one takes the C library some instructions, whatever its
    /// value is; the values of those that name the package say nothing but what and where it is.
    pub fn deciding_variables(&self) -> Result<String> {
        let is_of_the_package =
            |name: &str| OF_THE_PACKAGE.iter().any(|begin| name.starts_with(begin));
        let variables = self.variables()?.into_iter();
        let words = variables.map(|(name, value)| match is_of_the_package(&name) {
            true => name,
            false => format!("{name}={value}"),
        });
        Ok(words.collect::<Vec<_>>().join(" "))
    }

    /// The whole environment, in the order of the names.
    pub fn variables(&self) -> Result<BTreeMap<String, String>> {
        let mut variables: BTreeMap<String, String> = ALWAYS
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        variables.extend(passed(env::vars_os()));
        for given in &self.environment {
            let (name, value) = match given.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => match env::var(given) {
                    Ok(value) => (given.as_str(), value),
                    Err(_) => {
                        bail!("the environment has no variable {given}; write --env {given}=VALUE")
                    }
                },
            };
            variables.insert(name.to_owned(), value);
        }
        let is_name = |name: &str| {
            let mut bytes = name.bytes();
            bytes
                .next()
                .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        for given in self
            .environment
            .iter()
            .filter_map(|given| given.split('=').next())
        {
            ensure!(is_name(given), "{given:?} is not the name of a variable");
        }
        variables.retain(|name, _| is_name(name));
        Ok(variables)
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    input_file::read_once(path).with_context(|| format!("cannot read {}", path.display()))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot find {}", path.display()))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("the name {} is not UTF-8", path.display()))
}

/// Adds a file, or a directory with all that it holds.
fn add(files: &mut BTreeMap<String, GuestFile>, path: &Path) -> Result<()> {
    let data = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    let file = if data.is_dir() {
        let entries =
            fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
        for entry in entries {
            add(files, &entry?.path())?;
        }
        GuestFile::Directory
    } else {
        GuestFile::File(read(path)?, data.permissions().mode() & 0o111 != 0)
    };
    files.insert(text(path)?.to_owned(), file);
    Ok(())
}

/// Adds a line about a program that has been performed to a file.
pub fn append(program: &Program, code: u8, counted: Instructions, file: &Path) -> Result<()> {
    let line = serde_json::json!({
        "program": program.file,
        "arguments": program.arguments,
        "environment": program.variables()?,
        "exit_code": code,
        "user_instructions": counted.user,
        "kernel_instructions": counted.kernel,
    });
    let mut lines = fs::File::options()
        .create(true)
        .append(true)
        .open(file)
        .with_context(|| format!("cannot write {}", file.display()))?;
    writeln!(lines, "{line}").with_context(|| format!("cannot write {}", file.display()))
}

/// The libraries that a program for Linux on s390x needs.
fn needed(file: &Path, bytes: &[u8]) -> Result<BTreeSet<String>> {
    let name = file.display();
    let kind = object::File::parse(bytes)
        .ok()
        .map(|elf| (elf.format(), elf.architecture(), elf.kind()));
    match kind {
        Some((
            BinaryFormat::Elf,
            Architecture::S390x,
            ObjectKind::Executable | ObjectKind::Dynamic,
        )) => {}
        Some((_, Architecture::S390x, _)) => {
            bail!("{name} is for s390x, but it is no program; link it")
        }
        Some((_, other, _)) => bail!(
            "{name} is a program for {other:?}, not for s390x; build it for s390x-unknown-linux-gnu"
        ),
        None => bail!(
            "{name} is not an ELF file; give a program that is built for s390x-unknown-linux-gnu"
        ),
    }
    let names = programs::needed(bytes).with_context(|| format!("{name} cannot be read"))?;
    Ok(names.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_no_text_are_not_the_programs() {
        use std::os::unix::ffi::OsStringExt;
        let bytes = |text: &[u8]| OsString::from_vec(text.to_vec());
        let all = [
            (&b"CARGO_PKG_NAME"[..], &b"sum"[..]),
            (b"CARGO_PKG_AUTHORS", b"J\xFCrgen"),
            (b"\xFF", b""),
            (b"HOME", b"/root"),
        ];
        let all = all.map(|(name, value)| (bytes(name), bytes(value)));
        let expected = [("CARGO_PKG_NAME".to_owned(), "sum".to_owned())];
        assert_eq!(passed(all.into_iter()), expected.into());
    }

    #[test]
    fn how_the_program_is_started_is_not_in_its_environment() {
        for name in [
            "CARGO_PKG_VERSION",
            "CARGO_MANIFEST_DIR",
            "RUST_BACKTRACE",
            "CRITERION_HOME",
        ] {
            assert!(is_passed(name), "{name}");
        }
        for name in [
            "CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER",
            "CARGO_MAKEFLAGS",
            "CARGO",
            "CARGO_HOME",
            "CARGO_TARGET_DIR",
            "CARGO_TERM_COLOR",
            "RUSTFLAGS",
            "RUSTUP_HOME",
            "RUSTUP_TOOLCHAIN",
            "RUST_RECURSION_COUNT",
            "HOME",
            "MYCARGO",
        ] {
            assert!(!is_passed(name), "{name}");
        }
    }

    #[test]
    fn the_variables_that_decide_are_recorded_without_the_packages_directory() {
        let program = Program {
            environment: vec!["RUST_LOG=debug".to_owned(), "HOME=/x".to_owned()],
            ..Program::default()
        };
        // Cargo sets some for this test.
        let variables = program.variables().unwrap();
        assert!(variables.contains_key("CARGO_MANIFEST_DIR") && variables["TERM"] == "dumb");
        let words = program.deciding_variables().unwrap();
        let words: Vec<&str> = words.split(' ').collect();
        for word in [
            "CARGO_MANIFEST_DIR",
            "HOME=/x",
            "RUST_LOG=debug",
            "TERM=dumb",
        ] {
            assert!(words.contains(&word), "{word}: {words:?}");
        }
    }
}
