//! The guest's programs, taken out of an unpacked Debian together with the libraries that they need.
//!
//! A whole Debian would not fit, and the guest copies the archive of its initramfs. A program needs the libraries that
//! its dynamic section names, and those that these libraries name.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use object::{
    BigEndian,
    elf::{DT_NEEDED, FileHeader64},
    read::elf::{Dyn, FileHeader},
};

/// The loader by which the kernel starts a program that has libraries.
const LOADER: &str = "ld64.so.1";

/// How many links may lead to a library.
const MOST_LINKS: usize = 8;

/// Copies programs from the tree of an unpacked Debian, and all libraries into one directory.
pub fn collect(tree: &Path, programs: &[&str], into: &Path) -> Result<()> {
    let mut wanted = vec![LOADER.to_owned()];
    for program in programs {
        let data = copy(&tree.join(program), &into.join(program))?;
        // A program may come with data.
        if data.starts_with(b"\x7FELF") {
            wanted.extend(needed(&data).with_context(|| format!("{program} cannot be read"))?);
        }
    }
    let libraries = index(tree);
    while let Some(name) = wanted.pop() {
        let to = into.join("lib").join(&name);
        if to.exists() {
            continue;
        }
        let from = libraries
            .get(&name)
            .with_context(|| format!("none of Debian's packages has the library {name}"))?;
        let data = copy(&resolve(tree, from)?, &to)?;
        wanted.extend(needed(&data).with_context(|| format!("{name} cannot be read"))?);
    }
    Ok(())
}

/// Copies every library from the tree of an unpacked Debian into one directory, under each of its names.
pub fn collect_libraries(tree: &Path, into: &Path) -> Result<()> {
    for (name, path) in index(tree) {
        let from = resolve(tree, &path)?;
        let data = fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
        // A script of the linker has such a name, too.
        if name.contains(".so") && data.starts_with(b"\x7FELF") {
            copy(&from, &into.join("lib").join(&name))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<Vec<u8>> {
    let data = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    let directory = to.parent().unwrap_or(to);
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(to, &data))
        .with_context(|| format!("cannot write {}", to.display()))?;
    Ok(data)
}

/// Every library of a tree by its name.
fn index(tree: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut directories = vec![tree.join("usr/lib"), tree.join("lib")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(entry.path());
            } else if name.contains(".so") {
                found.insert(name, entry.path());
            }
        }
    }
    found
}

/// The file that a path leads to, with the tree as the root of absolute links.
fn resolve(tree: &Path, path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else {
            return Ok(path);
        };
        path = match target.strip_prefix("/") {
            Ok(inside) => tree.join(inside),
            Err(_) => path.parent().unwrap_or(tree).join(target),
        };
    }
    bail!("{} is a link that leads nowhere", path.display())
}

/// The libraries that an ELF file names.
pub fn needed(data: &[u8]) -> Result<Vec<String>> {
    let header = FileHeader64::<BigEndian>::parse(data)?;
    let sections = header.sections(BigEndian, data)?;
    let Some((entries, link)) = sections.dynamic(BigEndian, data)? else {
        return Ok(Vec::new());
    };
    let strings = sections.strings(BigEndian, data, link)?;
    let mut names = Vec::new();
    for entry in entries {
        if entry.tag32(BigEndian) == Some(DT_NEEDED) {
            let name = entry.string(BigEndian, strings)?;
            names.push(String::from_utf8_lossy(name).into_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_is_followed_within_the_tree() {
        let tree = tempfile::tempdir().unwrap();
        let lib = tree.path().join("lib/s390x");
        fs::create_dir_all(&lib).unwrap();
        fs::write(lib.join("libx.so.1.2"), "x").unwrap();
        symlink("libx.so.1.2", lib.join("libx.so.1")).unwrap();
        symlink("/lib/s390x/libx.so.1", tree.path().join("lib/libx.so.1")).unwrap();
        symlink("itself.so", lib.join("itself.so")).unwrap();
        let found = index(tree.path());
        assert_eq!(found.len(), 3);
        let file = resolve(tree.path(), &tree.path().join("lib/libx.so.1")).unwrap();
        assert_eq!(file, lib.join("libx.so.1.2"));
        assert!(resolve(tree.path(), &found["itself.so"]).is_err());
    }

    #[test]
    fn a_file_that_is_not_a_program_is_refused() {
        assert!(needed(b"#!/bin/sh\n").is_err());
    }
}
