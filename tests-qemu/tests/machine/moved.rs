//! A checkout that was copied with what was built in it is a checkout of its own.

use std::{fs, path::Path, process::Command};

use measure::building::{repository, version};
use tempfile::TempDir;
use tests_qemu::{command, suite::test};

use crate::reproducible::copy;

/// The build that this command names: that of the sources it would build from.
fn build(program: &Path) -> String {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .env_remove(repository::VARIABLE)
        .env_remove("CARGO_MANIFEST_DIR");
    let finished = command::finish(command).unwrap();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    finished.output
}

#[test]
fn a_command_in_a_copied_checkout_builds_from_the_copy() {
    let built = command::program().unwrap();
    let directory = TempDir::new().unwrap();
    let sources = directory.path().join("copy");
    copy(repository::root(), &sources);
    let [inside, outside] = [sources.join("target/debug"), directory.path().join("bin")];
    for place in [&inside, &outside] {
        fs::create_dir_all(place).unwrap();
        fs::copy(&built, place.join("measure")).unwrap();
        fs::copy(built.with_extension("d"), place.join("measure.d")).unwrap();
    }
    let here = build(&built);
    assert!(here.contains(&version::of_sources().unwrap()), "{here}");
    let library = sources.join("src/lib.rs");
    let text = fs::read_to_string(&library).unwrap();
    fs::write(library, text + "\n// Only the copy has this line.\n").unwrap();
    assert_ne!(build(&inside.join("measure")), here);
    // What lies in no checkout belongs to the one that it was built in.
    assert_eq!(build(&outside.join("measure")), here);
}
