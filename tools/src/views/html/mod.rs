//! The report as one page of HTML: for the browser, for an archive, and for paper.
//!
//! The page is one file with style sheet, script and data, and a content-security policy forbids it to fetch anything.
//! Its content is first collected in a plain [`page::Page`], and then given its form, so each step has its own tests.
//!
//! Names in the page come from files that anybody may have made. Characters that change the text around them are
//! replaced ([`crate::computer::visible`]), HTML escapes them, and the script's data stand in a block that is parsed as
//! JSON and never run.
//!
//! Its size has a bound that does not depend on the length of the run. Time is divided into a fixed number of columns,
//! and every list ends after a fixed number of lines and says what it left out.

pub mod analysts;
pub mod bins;
pub mod code;
mod counted;
pub mod facts;
pub mod figures;
pub mod fill;
mod hottest;
pub mod listing;
pub mod names;
pub mod page;
pub mod readings;
pub mod render;

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::{computer::progress::Progress, folder::record::End, profile::Profile};

/// Writes the page of the run or the collection in this directory. Returns how the run ended; `None` for a collection.
pub fn write(directory: &Path, file: &Path, progress: &Progress) -> Result<Option<End>> {
    let profile = Profile::open(directory)?;
    let mut step = progress.step(&format!("making {}", file.display()));
    let page = fill::page(&profile, &mut step)?;
    let text = render::page(&page);
    fs::write(file, &text).with_context(|| {
        format!(
            "cannot write {}; choose another file with --html",
            file.display()
        )
    })?;
    step.done(&format!("{} written", file.display()));
    Ok(profile.record.map(|record| record.end))
}
