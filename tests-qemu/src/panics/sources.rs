//! The source file that an instruction of the image belongs to.

use anyhow::Result;
use measure::{building::repository::root, symbols::debug::DebugInformation};

use super::LIBRARY;

/// The debugging information of the image.
pub struct Sources<'d>(DebugInformation<'d>);

impl<'d> Sources<'d> {
    /// Reads it.
    pub fn read(elf: &object::File<'d>) -> Result<Self> {
        Ok(Self(DebugInformation::read(elf, "the image")?))
    }

    /// The place and line of an instruction, and the innermost line of the repository if the place is outside it.
    pub fn of(&self, address: u64) -> (String, u32, Option<String>) {
        let mut own = None;
        let mut innermost = None;
        for (file, line) in self.0.frames(address).filter_map(|frame| frame.place()) {
            let place = place(file);
            if place == LIBRARY {
                innermost = innermost.or(Some((place, line)));
                continue;
            }
            if place.starts_with("src/") {
                let caller = own.is_some().then(|| format!("{place}:{line}"));
                let (place, line) = own.unwrap_or((place, line));
                return (place, line, caller);
            }
            own = own.or(Some((place, line)));
        }
        let (place, line) = own
            .or(innermost)
            .unwrap_or_else(|| ("(unknown)".to_owned(), 0));
        (place, line, None)
    }
}

/// What the table calls a source file.
fn place(file: &str) -> String {
    if file.contains("/library/") {
        return LIBRARY.to_owned();
    }
    // REGISTRY/src/INDEX/NAME-VERSION/...
    match file
        .split_once("/registry/src/")
        .and_then(|(_, rest)| rest.split('/').nth(1))
    {
        Some(folder) => {
            let name = folder.rsplit_once('-').map_or(folder, |(name, _)| name);
            format!("crate {name}")
        }
        // The image may have been built in another copy of the repository.
        None => file
            .match_indices("src/")
            .map(|(start, _)| &file[start..])
            .find(|path| root().join(path).exists())
            .unwrap_or(file)
            .to_owned(),
    }
}
