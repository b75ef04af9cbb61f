//! The image is the same wherever it is built.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use measure::building::{repository, toolchain, version};
use tempfile::TempDir;
use tests_qemu::{
    command::{self, program},
    ipl,
    suite::test,
};

/// What the repository and the sources of dependencies are called in the image.
const NAMES: [&str; 2] = ["/millimeter", "/cargo/registry"];

/// What of the repository is no source.
const OTHERS: [&str; 2] = ["target", ".git"];

/// Copies a directory without what is no source.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry
            .map(|entry| (entry.path(), entry.file_name()))
            .unwrap();
        let is_run = name.to_string_lossy().starts_with("millimeter-");
        if is_run || OTHERS.iter().any(|other| name == *other) {
            continue;
        }
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false => drop(fs::copy(&path, to.join(name)).unwrap()),
        }
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// Whether a path begins so.
fn contains_path(bytes: &[u8], place: &str) -> bool {
    let is_of_a_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    bytes
        .windows(place.len() + 1)
        .any(|window| &window[1..] == place.as_bytes() && !is_of_a_path(window[0]))
}

#[test]
fn the_image_has_its_build_and_no_path_of_this_computer() {
    let image = fs::read(ipl::image().unwrap()).unwrap();
    let build = version::of_sources().unwrap();
    assert!(contains(&image, &build), "{build}");
    let home = env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|home| home + "/.cargo"));
    let root = repository::root().to_str().unwrap();
    let facts = toolchain::look();
    let sysroots = facts.sysroots.iter().chain(&facts.debian);
    let sources = sysroots.map(|sysroot| sysroot.path.join("lib/rustlib/src"));
    let mut places: Vec<String> = sources
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    places.extend([root.to_owned(), home.unwrap() + "/registry"]);
    // A computer may have such a directory.
    for place in places
        .iter()
        .filter(|place| !NAMES.contains(&place.as_str()))
    {
        assert!(!contains_path(&image, place), "{place}");
    }
    // The debug information is there.
    for name in NAMES {
        assert!(contains(&image, name), "{name}");
    }
}

#[test]
#[ignore = "builds the image once more, with all that it is made of"]
fn two_directories_give_an_image_of_the_same_bytes() {
    let image = fs::read(ipl::image().unwrap()).unwrap();
    let other = TempDir::new().unwrap();
    let (sources, out) = (other.path().join("another/place"), other.path().join("out"));
    copy(repository::root(), &sources);
    let mut command = Command::new(program().unwrap());
    command
        .args(["image", "--form", "elf", "--out"])
        .arg(&out)
        .env(repository::VARIABLE, &sources)
        .stdin(Stdio::null());
    let finished = command::finish(command).unwrap();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let again = fs::read(out.join("millimeter.elf")).unwrap();
    let first = image.iter().zip(&again).position(|(a, b)| a != b);
    assert_eq!((first, image.len()), (None, again.len()));
}
