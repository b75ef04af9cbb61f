//! The source file that an instruction of the image belongs to.

use addr2line::Context;
use anyhow::{Context as _, Result, anyhow};
use measure::building::repository::root;
use object::{Object, ObjectSection};

use super::LIBRARY;

type Slice<'d> = gimli::EndianSlice<'d, gimli::BigEndian>;

/// The debugging information of the image.
pub struct Sources<'d>(Context<Slice<'d>>);

impl<'d> Sources<'d> {
    /// Reads it.
    pub fn read(elf: &object::File<'d>) -> Result<Self> {
        let load = |id: gimli::SectionId| -> Result<Slice<'d>, gimli::Error> {
            let section = elf.section_by_name(id.name());
            let data = section.and_then(|section| section.data().ok());
            Ok(Slice::new(data.unwrap_or_default(), gimli::BigEndian))
        };
        let dwarf = gimli::Dwarf::load(load)?;
        Ok(Self(Context::from_dwarf(dwarf)?))
    }

    /// The place and line of an instruction, and the innermost line of the repository if the place is outside it.
    pub fn of(&self, address: u64) -> Result<(String, u32, Option<String>)> {
        let mut frames = self
            .0
            .find_frames(address)
            .skip_all_loads()
            .with_context(|| format!("no source line for {address:X}"))?;
        let mut own = None;
        let mut innermost = None;
        while let Some(frame) = frames.next().map_err(|error| anyhow!(error))? {
            let Some(location) = frame.location else {
                continue;
            };
            let place = place(location.file.unwrap_or_default());
            let line = location.line.unwrap_or(0);
            if place == LIBRARY {
                innermost = innermost.or(Some((place, line)));
                continue;
            }
            if place.starts_with("src/") {
                let caller = own.is_some().then(|| format!("{place}:{line}"));
                let (place, line) = own.unwrap_or((place, line));
                return Ok((place, line, caller));
            }
            own = own.or(Some((place, line)));
        }
        let (place, line) = own
            .or(innermost)
            .unwrap_or_else(|| ("(unknown)".to_owned(), 0));
        Ok((place, line, None))
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
