//! What the project is made of may be given away under its own licence, and comes from crates.io.

use std::{
    collections::BTreeSet,
    env, fs,
    process::{Command, Stdio},
};

use measure::building::{repository::root, toolchain};
use serde::Deserialize;
use serde_json::Value;
use tests_qemu::suite::test;

/// The list of `cargo deny`, which holds more than this test where it is installed.
const LIST: &str = ".cargo/deny.toml";

/// Where a registry's crates come from, as the lock file says.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The list, as far as this test holds it.
#[derive(Deserialize)]
struct List {
    graph: Graph,
    licenses: Licences,
}

/// What is built.
#[derive(Deserialize)]
struct Graph {
    targets: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Licences {
    allow: BTreeSet<String>,
    exceptions: Vec<Exception>,
}

/// A licence that only one crate may have.
#[derive(Deserialize)]
struct Exception {
    #[serde(rename = "crate")]
    name: String,
    allow: BTreeSet<String>,
}

impl List {
    fn read() -> Self {
        let text = fs::read_to_string(root().join(LIST)).unwrap();
        toml::from_str(&text).unwrap()
    }
}

impl Licences {
    /// Those that this crate may have.
    fn of(&self, name: &str) -> BTreeSet<String> {
        let more = self.exceptions.iter().filter(|of| of.name == name);
        let more = more.flat_map(|of| &of.allow);
        self.allow.iter().chain(more).cloned().collect()
    }
}

/// Whether an expression of SPDX can be fulfilled with these licences. AND binds more than OR; an old form of OR is a slash.
fn is_fulfilled(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let is_fulfilled = any_of(&mut rest, allowed);
    is_fulfilled && rest.is_empty()
}

fn any_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut is_fulfilled = all_of(words, allowed);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        is_fulfilled |= all_of(words, allowed);
    }
    is_fulfilled
}

fn all_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut is_fulfilled = one(words, allowed);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        is_fulfilled &= one(words, allowed);
    }
    is_fulfilled
}

fn one(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    match **words {
        ["(", ref rest @ ..] => {
            *words = rest;
            let is_fulfilled = any_of(words, allowed);
            match **words {
                [")", ref rest @ ..] => *words = rest,
                _ => return false,
            }
            is_fulfilled
        }
        [licence, "WITH", exception, ref rest @ ..] => {
            *words = rest;
            allowed.contains(&format!("{licence} WITH {exception}"))
        }
        [licence, ref rest @ ..] => {
            *words = rest;
            allowed.contains(licence)
        }
        [] => false,
    }
}

#[test]
fn an_expression_is_fulfilled_as_spdx_defines_it() {
    let allowed: BTreeSet<String> = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"]
        .map(str::to_owned)
        .into();
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only/MIT", true),
        ("GPL-3.0-only AND MIT", false),
        ("MIT AND Zlib OR GPL-3.0-only", true),
        ("(GPL-3.0-only OR MIT) AND Zlib", true),
        ("GPL-3.0-only AND (MIT OR Zlib)", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
        ("MIT Zlib", false),
        ("", false),
        ("(MIT", false),
    ] {
        assert_eq!(is_fulfilled(expression, &allowed), expected, "{expression}");
    }
}

/// The packages that this target is built from, with all features: those of the guests have crates that nothing else has.
fn packages_of(target: &str) -> Vec<Value> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        // What is not built for it is not downloaded. The rest is there once everything is built.
        .args(["--all-features", "--filter-platform", target])
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{target}: {}", packages.len());
    packages.clone()
}

#[test]
fn every_dependency_on_every_target_has_an_allowed_licence_and_comes_from_the_registry() {
    let list = List::read();
    let targets = &list.graph.targets;
    assert!(targets.contains(toolchain::TARGET), "{targets:?}");
    let mut names = BTreeSet::new();
    for target in targets {
        for package in packages_of(target) {
            let name = package["name"].as_str().unwrap();
            let licence = package["license"].as_str();
            assert!(
                is_fulfilled(licence.unwrap_or_default(), &list.licenses.of(name)),
                "{name} for {target} has the licence {licence:?}, which is not in {LIST}"
            );
            let source = &package["source"];
            assert!(
                source.is_null() || source == REGISTRY,
                "{name} for {target} comes from {source}"
            );
            names.insert(name.to_owned());
        }
    }
    // One of the command, one that only a guest has, and one that only tests have.
    for name in ["clap", "sha3", "inferno"] {
        assert!(names.contains(name), "{name} was not looked at");
    }
}

#[test]
fn every_package_says_what_it_is_and_only_libraries_may_be_published() {
    let output = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let workspace: toml::Table = toml::from_str(&output).unwrap();
    let members = workspace["workspace"]["members"].as_array().unwrap();
    for member in members {
        let file = root().join(member.as_str().unwrap()).join("Cargo.toml");
        let manifest: toml::Table = toml::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        let package = manifest["package"].as_table().unwrap();
        let name = package["name"].as_str().unwrap();
        for field in ["description", "license", "version", "rust-version"] {
            assert!(
                package.contains_key(field),
                "{} lacks {field}",
                file.display()
            );
        }
        let may_be = package
            .get("publish")
            .is_none_or(|publish| publish.as_bool() == Some(true));
        let is_library = name.starts_with("millimeter-");
        assert_eq!(may_be, is_library, "{name}");
    }
}
