//! The licences of all that is in a command of a release: its own, and those of the libraries that are linked into it, the
//! image, the guests and the programs for Linux.
//!
//! Nearly every licence asks that its text and its authors' names go with the program. Cargo knows the libraries, and their
//! sources have the texts. Many have the same one, so each text is there once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::building::{repository::root, toolchain, version};

/// How the names of files begin that say whose a library is, in capital letters.
const NAMES: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// Endings of files that only have such a name.
const PROGRAMS: [&str; 4] = ["rs", "a", "toml", "html"];

/// What is in the command and has no package of Cargo's.
const WITHOUT_PACKAGES: [&str; 2] = [
    "core, alloc and std of Rust: MIT OR Apache-2.0, the Rust project's developers",
    "the C library, which is musl (MIT, Copyright © 2005-2020 Rich Felker, et al.) or, without musl where the command was built, \
     the GNU C library (LGPL-2.1-or-later, the Free Software Foundation)",
];

/// Packages of the workspace that a release is built from.
const COMMAND: [&str; 1] = ["measure"];
const BELOW: [&str; 3] = ["millimeter", "guests", "programs"];

/// What Cargo says about the packages, as far as it is used.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    authors: Vec<String>,
    /// None for a package of the workspace.
    source: Option<String>,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// None for a dependency that is linked, and not only a test's or a build script's.
    kind: Option<String>,
}

/// A library, by name and version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Library {
    name: String,
    /// Its licence and its authors.
    about: String,
    directory: PathBuf,
}

/// The file for a command that is built for this target.
pub fn text(target: &str) -> Result<String> {
    let mut libraries = linked(&metadata(target)?, &COMMAND);
    libraries.extend(linked(&metadata(toolchain::TARGET)?, &BELOW));
    write(root(), &libraries)
}

fn metadata(target: &str) -> Result<Metadata> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--all-features", "--filter-platform", target])
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .context("cannot start cargo; install Rust with rustup")?;
    if !output.status.success() {
        bail!(
            "cargo cannot say what a command for {target} is made of:\n{}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    serde_json::from_slice(&output.stdout).context("cannot understand what cargo metadata says")
}

/// The libraries of others that are linked into these packages of the workspace.
fn linked(metadata: &Metadata, roots: &[&str]) -> BTreeSet<Library> {
    let packages: BTreeMap<&str, &Package> = metadata
        .packages
        .iter()
        .map(|package| (&*package.id, package))
        .collect();
    let nodes: BTreeMap<&str, &Node> = metadata
        .resolve
        .nodes
        .iter()
        .map(|node| (&*node.id, node))
        .collect();
    let is_root = |package: &&&Package| package.source.is_none() && roots.contains(&&*package.name);
    let mut open: Vec<&Package> = packages.values().filter(is_root).copied().collect();
    let mut seen = BTreeSet::new();
    let mut found = BTreeSet::new();
    while let Some(package) = open.pop() {
        if !seen.insert(&package.id) || package.runs_in_the_compiler() {
            continue;
        }
        if package.source.is_some() {
            found.insert(package.library());
        }
        let dependencies = nodes.get(&*package.id).map_or(&[][..], |node| &node.deps);
        let linked = dependencies.iter().filter(|of| of.is_linked());
        open.extend(linked.filter_map(|of| packages.get(&*of.pkg).copied()));
    }
    found
}

impl Package {
    fn runs_in_the_compiler(&self) -> bool {
        let mut kinds = self.targets.iter().flat_map(|target| &target.kind);
        kinds.any(|kind| kind == "proc-macro")
    }

    fn library(&self) -> Library {
        let mut about = self.license.clone().unwrap_or_default();
        for author in &self.authors {
            about.push_str(", ");
            about.push_str(author);
        }
        Library {
            name: format!("{} {}", self.name, self.version),
            about,
            directory: self.manifest_path.parent().unwrap_or(Path::new("")).into(),
        }
    }
}

impl Dependency {
    fn is_linked(&self) -> bool {
        self.dep_kinds.iter().any(|of| of.kind.is_none())
    }
}

/// The text for these libraries and for ourselves, whose sources are in this directory.
fn write(ours: &Path, libraries: &BTreeSet<Library>) -> Result<String> {
    let own = format!("Millimeter {}", version::RELEASE);
    let mut out = format!(
        "{own} is given away under MIT or Apache-2.0, as you like. In the command measure, in the machine, the guests and the programs \
         that it carries are libraries of others. These are their licences and their authors; the texts follow.\n\n"
    );
    for library in libraries {
        out.push_str(&format!("{}: {}\n", library.name, library.about));
    }
    for about in WITHOUT_PACKAGES {
        out.push_str(&format!("{about}\n"));
    }
    // In the order in which they are found: ours come first.
    let mut texts: Vec<(String, Vec<&str>)> = Vec::new();
    let all = libraries.iter().map(|of| (&*of.name, &*of.directory));
    for (name, directory) in [(&*own, ours)].into_iter().chain(all) {
        let found: Vec<String> = files(directory)
            .and_then(|files| files.iter().map(|file| read(file)).collect())
            .with_context(|| format!("cannot read the licences in {}", directory.display()))?;
        for text in found {
            match texts.iter_mut().find(|(other, _)| *other == text) {
                Some((_, names)) if names.last() == Some(&name) => {}
                Some((_, names)) => names.push(name),
                None => texts.push((text, vec![name])),
            }
        }
    }
    for (text, names) in texts {
        out.push_str(&format!(
            "\n{}\n{}:\n\n{text}\n",
            "-".repeat(80),
            names.join(", ")
        ));
    }
    Ok(out)
}

fn read(file: &Path) -> std::io::Result<String> {
    let bytes = fs::read(file)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
    Ok(lines.join("\n"))
}

/// The files with licences in a directory and in those directly below it, where libraries keep the sources of others.
fn files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut add = |directory: &Path| -> std::io::Result<Vec<PathBuf>> {
        let mut below = Vec::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                below.push(path);
            } else if is_notice(&path) {
                found.push(path);
            }
        }
        Ok(below)
    };
    for below in add(directory)? {
        // Our own sources have none of others.
        if directory != root() {
            add(&below)?;
        }
    }
    found.sort();
    Ok(found)
}

fn is_notice(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ending = file.extension().unwrap_or_default().to_string_lossy();
    let name = name.to_uppercase();
    NAMES.iter().any(|start| name.starts_with(start)) && !PROGRAMS.contains(&&*ending)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A workspace whose command links `a`, which links `b`; a test has `c`, and the compiler runs `d`, which has `e`.
    fn metadata_in(directory: &Path) -> Metadata {
        let package = |name: &str, source: Option<&str>, kind: &str| {
            json!({
                "id": name, "name": name, "version": "1.0.0", "license": "MIT", "authors": ["N. N."], "source": source,
                "manifest_path": directory.join(name).join("Cargo.toml"), "targets": [{"kind": [kind]}],
            })
        };
        let node = |name: &str, deps: &[(&str, Option<&str>)]| {
            let deps: Vec<_> = deps
                .iter()
                .map(|(of, kind)| json!({"pkg": of, "dep_kinds": [{"kind": kind}]}))
                .collect();
            json!({"id": name, "deps": deps})
        };
        let other = Some("registry");
        serde_json::from_value(json!({
            "packages": [
                package("measure", None, "bin"),
                package("a", other, "lib"),
                package("b", other, "lib"),
                package("c", other, "lib"),
                package("d", other, "proc-macro"),
                package("e", other, "lib"),
            ],
            "resolve": {"nodes": [
                node("measure", &[("a", None), ("c", Some("dev")), ("d", None)]),
                node("a", &[("b", None), ("c", Some("build"))]),
                node("b", &[]),
                node("c", &[]),
                node("d", &[("e", None)]),
                node("e", &[]),
            ]},
        }))
        .unwrap()
    }

    #[test]
    fn only_what_is_linked_is_named_and_each_text_is_there_once() {
        let directory = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let file = directory.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        put("ours/LICENSE-MIT", "our text");
        put("a/LICENSE", "the same text \r\n");
        put("a/src/license.rs", "a program");
        put("b/Licence.md", "the same text");
        put("b/c-library/COPYING", "the text of a library in C");
        let libraries = linked(&metadata_in(directory.path()), &COMMAND);
        let text = write(&directory.path().join("ours"), &libraries).unwrap();
        for words in [
            "\na 1.0.0: MIT, N. N.\nb 1.0.0: MIT, N. N.\ncore, ",
            &format!("\nMillimeter {}:\n\nour text\n", version::RELEASE),
            "\na 1.0.0, b 1.0.0:\n\nthe same text\n",
            "\nb 1.0.0:\n\nthe text of a library in C\n",
        ] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
        for words in ["c 1.0.0", "d 1.0.0", "e 1.0.0", "a program"] {
            assert!(!text.contains(words), "{words}:\n{text}");
        }
    }

    #[test]
    fn a_library_whose_sources_are_gone_is_an_error_that_names_their_place() {
        let directory = tempfile::tempdir().unwrap();
        let libraries = linked(&metadata_in(directory.path()), &COMMAND);
        let error = write(directory.path(), &libraries).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("cannot read the licences in"), "{text}");
    }
}
