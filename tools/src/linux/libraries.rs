//! The shared libraries of a program of Linux, and of those libraries: what the guest does not have comes from Debian's
//! packages.
//!
//! Debian names the package of a library after it: `libssl.so.3` is in `libssl3`, and `libpcre2-8.so.0`, whose name ends with a
//! digit, in `libpcre2-8-0`. A few packages have other names.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::{
    computer::{input_file, progress::Progress},
    linux::{cache::Cache, packages, programs},
};

/// Packages with other names than their libraries.
const OTHERS: [(&str, &str); 2] = [("libz.so.1", "zlib1g"), ("libcrypto.so.3", "libssl3")];

/// Finds libraries by their names.
pub struct Libraries<'a> {
    /// Those that the person gives.
    pub given: &'a [PathBuf],
    /// Packages that the person names.
    pub packages: &'a [String],
    /// The tree of the guest's programs, which has some libraries.
    pub tree: &'a Path,
}

impl Libraries<'_> {
    /// The libraries that the guest does not have, of these and of all that they need, by their names.
    pub fn missing(
        &self,
        needed: BTreeSet<String>,
        progress: &Progress,
    ) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut wanted: Vec<String> = Vec::new();
        for path in self.given {
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.with_context(|| format!("{} is not a library", path.display()))?;
            let data = input_file::read_once(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let needs = programs::needed(&data);
            let needs = needs.with_context(|| format!("{} is not a library", path.display()))?;
            wanted.extend(needs);
            found.insert(name.to_owned(), data);
        }
        wanted.extend(needed);
        let mut trees = Vec::new();
        let cache = Cache::of_user()?;
        for package in self.packages {
            trees.push(packages::libraries(&cache, package, progress)?);
        }
        while let Some(name) = wanted.pop() {
            if found.contains_key(&name) || self.is_in_guest(&name) {
                continue;
            }
            let in_trees = |trees: &[PathBuf]| {
                let mut files = trees.iter().map(|tree| tree.join("lib").join(&name));
                files.find(|file| file.is_file())
            };
            let mut file = in_trees(&trees);
            if file.is_none() {
                let package = package_of(&name)?;
                let tree = packages::libraries(&cache, &package, progress).with_context(|| {
                    format!(
                        "the program needs {name}, and Debian's package {package} was expected to have it; name the right one with --package, give the file with --library, or link the program statically"
                    )
                })?;
                trees.push(tree);
                file = in_trees(&trees);
            }
            let Some(file) = file else {
                bail!(
                    "the program needs {name}, which the package of that name does not have; name another one with --package, give the file with --library, or link the program statically"
                );
            };
            let data =
                fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            wanted
                .extend(programs::needed(&data).with_context(|| format!("{name} cannot be read"))?);
            found.insert(name, data);
        }
        Ok(found)
    }

    fn is_in_guest(&self, name: &str) -> bool {
        let places = ["lib", "usr/lib"];
        places
            .iter()
            .any(|lib| self.tree.join(lib).join(name).exists())
    }
}

/// The package that should have this library.
fn package_of(name: &str) -> Result<String> {
    if let Some((_, package)) = OTHERS.iter().find(|(library, _)| *library == name) {
        return Ok((*package).to_owned());
    }
    let is_plain = |text: &str| {
        let mut bytes = text.bytes();
        bytes
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric())
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
    };
    let (stem, version) = name.split_once(".so.").unwrap_or((name, ""));
    if !is_plain(stem) || !is_plain(version) {
        bail!(
            "the program needs {name}, whose name does not say which package has it; name one with --package, or give the file with --library"
        );
    }
    let dash = if stem.ends_with(|c: char| c.is_ascii_digit()) {
        "-"
    } else {
        ""
    };
    Ok(format!("{stem}{dash}{version}")
        .to_ascii_lowercase()
        .replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_in_the_package_of_its_name() {
        for (library, package) in [
            ("libssl.so.3", "libssl3"),
            ("libcrypto.so.3", "libssl3"),
            ("libz.so.1", "zlib1g"),
            ("libpcre2-8.so.0", "libpcre2-8-0"),
            ("libsqlite3.so.0", "libsqlite3-0"),
            ("libstdc++.so.6", "libstdc++6"),
            ("libXau.so.6", "libxau6"),
            ("libpython3.11.so.1.0", "libpython3.11-1.0"),
        ] {
            assert_eq!(package_of(library).unwrap(), package);
        }
    }

    #[test]
    fn a_name_that_is_no_package_is_never_given_to_apt() {
        for name in [
            "libfoo.so",
            "-o.so.1",
            "lib$(x).so.1",
            "lib foo.so.1",
            "a/b.so.1",
            "",
        ] {
            let refusal = package_of(name).unwrap_err().to_string();
            assert!(refusal.contains("--package"), "{name}: {refusal}");
        }
    }
}
