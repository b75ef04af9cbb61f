//! What a command of a release carries: everything that is built, and what the sources say about it.

use std::fs;

use anyhow::{Context, Result};

use super::{
    build::{self, CASE_SOURCES, GUEST_SOURCES, PROGRAM_SOURCES},
    bundle::Carried,
    guests, installed, repository, version,
};
use crate::computer::progress::Progress;

/// Builds everything, and returns the lists of names, and then the files.
pub fn build(progress: &Progress) -> Result<Vec<Carried>> {
    if !repository::is_there() {
        return Err(build::without_sources(
            "what a command of a release carries",
        ));
    }
    let files = build::build_files(progress)?;
    let mut carried = Vec::new();
    for directory in [GUEST_SOURCES, CASE_SOURCES, PROGRAM_SOURCES] {
        let mut names = build::sources(directory);
        names.sort();
        carried.push(installed::carried_list(directory, &names));
    }
    let lines = guests::text(&guests::kinds()?);
    let lines: Vec<String> = lines.lines().map(str::to_owned).collect();
    carried.push(installed::carried_list(guests::KEPT, &lines));
    let build = [version::of_sources()?];
    carried.push(installed::carried_list(version::KEPT, &build));
    for file in files {
        let name = file.file_name().unwrap_or_default();
        carried.push(Carried {
            name: name.to_string_lossy().into_owned(),
            bytes: fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?,
        });
    }
    Ok(carried)
}
