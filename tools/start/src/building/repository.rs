//! Where the repository is, where its artifacts go, and the locks that keep two processes from doing the same work.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context, Result};

use crate::computer::{cache_directory, progress::Progress};

/// Names the repository, wherever this command was built.
pub const VARIABLE: &str = "MILLIMETER_SOURCES";

/// This source, in the repository.
const THIS: &str = "tools/start/src/building/repository.rs";

/// The packages whose programs and tests use the repository.
const PACKAGES: [&str; 4] = ["tools/start", "tools", "tools/fuzz", "tests-qemu"];

/// The repository: [`origin`], unless [`VARIABLE`] names another one.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| match env::var_os(VARIABLE) {
        Some(named) => named.into(),
        None => origin().to_owned(),
    })
}

/// The repository that this command was built in.
///
/// It is found at run time. Cargo builds nothing again in a checkout that was copied or moved with its target directory, or
/// that shares one with another checkout, so the place that was compiled in can be another checkout's.
pub fn origin() -> &'static Path {
    static ORIGIN: OnceLock<PathBuf> = OnceLock::new();
    ORIGIN.get_or_init(|| {
        let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let program = env::current_exe().ok();
        find(package.as_deref(), program.as_deref()).unwrap_or_else(|| {
            let compiled_in = Path::new(env!("CARGO_MANIFEST_DIR"));
            let root = compiled_in.ancestors().nth(2);
            root.unwrap_or(compiled_in).to_owned()
        })
    })
}

/// The checkout that is meant, if Cargo runs a program of this package, and the program is this one. `None` for a program that
/// lies elsewhere, as an installed one does.
fn find(package: Option<&Path>, program: Option<&Path>) -> Option<PathBuf> {
    package.and_then(of_package).or_else(|| {
        let program = program?;
        of_dependencies(program).or_else(|| {
            let places = program.ancestors();
            places.map(Path::to_owned).find(|place| is_checkout(place))
        })
    })
}

/// The checkout of a package that Cargo runs.
fn of_package(package: &Path) -> Option<PathBuf> {
    PACKAGES.iter().find_map(|name| {
        let depth = Path::new(name).components().count();
        let root = package.ancestors().nth(depth)?;
        (package.ends_with(name) && is_checkout(root)).then(|| root.to_owned())
    })
}

/// The checkout that Cargo names in the list of sources beside a program. A list that came with the program from another
/// place says where that one's sources were.
fn of_dependencies(program: &Path) -> Option<PathBuf> {
    let list = fs::read_to_string(program.with_extension("d")).ok()?;
    let (built, sources) = list.lines().next()?.split_once(": ")?;
    let built = Path::new(&plain(built)).canonicalize().ok()?;
    if built != program.canonicalize().ok()? {
        return None;
    }
    // A space in a path is escaped.
    let sources = sources.replace("\\ ", "\0");
    let mut sources = sources.split(' ').map(|source| source.replace('\0', " "));
    let this = sources.find(|source| Path::new(source).ends_with(THIS))?;
    let depth = Path::new(THIS).components().count();
    let root = Path::new(&this).ancestors().nth(depth)?;
    is_checkout(root).then(|| root.to_owned())
}

/// A path without the escapes that it has in a list of sources.
fn plain(escaped: &str) -> String {
    escaped.replace("\\ ", " ")
}

fn is_checkout(root: &Path) -> bool {
    root.join(THIS).is_file()
}

/// Whether the repository is there. A command that was installed can outlive it.
pub fn is_there() -> bool {
    root().join("Cargo.toml").is_file()
}

/// The directory in which everything for the bare machine is built.
pub fn target_directory() -> PathBuf {
    root().join("target/s390x")
}

/// Locks a file of the target directory, or without one of the user's cache, until the result is dropped. `other` names the process that may hold it.
pub fn lock(name: &str, other: &str, progress: &Progress) -> Result<File> {
    let directory = match is_there() {
        true => target_directory(),
        false => cache_directory::of_user()?,
    };
    lock_in(&directory, name, other, progress)
}

/// Locks a file of this directory until the result is dropped.
pub fn lock_in(directory: &Path, name: &str, other: &str, progress: &Progress) -> Result<File> {
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let path = directory.join(name);
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    if file.try_lock().is_err() {
        progress.note(&format!("waiting for {other}"));
        file.lock()
            .with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two checkouts in a directory, each with the command in its target directory.
    fn checkouts() -> (tempfile::TempDir, [PathBuf; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let checkouts = ["first one", "second"].map(|name| {
            // Without symbolic links, as Cargo names it.
            let root = directory.path().canonicalize().unwrap().join(name);
            for file in [THIS, "target/debug/measure"] {
                fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
                fs::write(root.join(file), "").unwrap();
            }
            root
        });
        (directory, checkouts)
    }

    /// Writes the list of sources that Cargo leaves beside a program.
    fn list(program: &Path, built: &Path, root: &Path) {
        let escaped = |path: PathBuf| path.to_str().unwrap().replace(' ', "\\ ");
        let sources = ["src/arch/lib.rs", THIS, "tools/src/main.rs"];
        let sources = sources.map(|source| escaped(root.join(source))).join(" ");
        let text = format!("{}: {sources}\n", escaped(built.to_owned()));
        fs::write(program.with_extension("d"), text).unwrap();
    }

    #[test]
    fn a_program_belongs_to_the_checkout_that_it_lies_in() {
        let (directory, checkouts) = checkouts();
        for root in &checkouts {
            for place in ["target/debug/measure", "target/debug/deps/test-1"] {
                let found = find(None, Some(&root.join(place)));
                assert_eq!(found.as_ref(), Some(root), "{place}");
            }
        }
        assert_eq!(find(None, Some(&directory.path().join("measure"))), None);
        assert_eq!(find(None, None), None);
    }

    #[test]
    fn a_copied_or_moved_command_does_not_belong_to_where_it_was_built() {
        let (_directory, [first, second]) = checkouts();
        let [built, copy] = [&first, &second].map(|root| root.join("target/debug/measure"));
        for program in [&built, &copy] {
            list(program, &built, &first);
        }
        assert_eq!(find(None, Some(&built)), Some(first.clone()));
        assert_eq!(find(None, Some(&copy)), Some(second.clone()));
        fs::remove_dir_all(&first).unwrap();
        assert_eq!(find(None, Some(&copy)), Some(second));
    }

    #[test]
    fn a_target_directory_elsewhere_belongs_to_the_last_checkout_that_was_built_there() {
        let (directory, [first, second]) = checkouts();
        let apart = directory.path().join("debug/measure");
        let inside = first.join("target/debug/measure");
        fs::create_dir_all(apart.parent().unwrap()).unwrap();
        fs::write(&apart, "").unwrap();
        for program in [apart, inside] {
            for root in [&first, &second] {
                list(&program, &program, root);
                assert_eq!(find(None, Some(&program)).as_ref(), Some(root));
            }
        }
    }

    #[test]
    fn cargo_knows_the_checkout_of_what_it_runs() {
        let (_directory, [first, second]) = checkouts();
        let program = first.join("target/debug/start");
        list(&program, &program, &first);
        for name in PACKAGES {
            let found = find(Some(&second.join(name)), Some(&program));
            assert_eq!(found.as_ref(), Some(&second), "{name}");
        }
        // The command is a runner of another package's tests.
        for package in [second.join("tests-qemu/programs"), "/x/tools".into()] {
            assert_eq!(find(Some(&package), Some(&program)), Some(first.clone()));
        }
    }

    #[test]
    fn this_test_finds_its_own_repository() {
        assert!(is_checkout(origin()));
        assert!(PACKAGES.iter().all(|name| origin().join(name).is_dir()));
    }
}
