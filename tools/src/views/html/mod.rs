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
//!
//! Without its script the page shows the whole run. With it a reader selects a span of time, CPUs and programs, and
//! everything made of samples shows these only. All of it is counted from the same cells ([`cells`]), which stand in the
//! page as short texts ([`packed`]). The files of the script are in `script/`, one idea each; together they are one module.

pub mod analysts;
pub mod bins;
pub mod cells;
pub mod code;
mod compare;
mod counted;
mod exact;
pub mod facts;
pub mod figures;
pub mod fill;
mod hottest;
pub mod listing;
pub mod names;
pub mod packed;
pub mod page;
pub mod readings;
pub mod render;
mod sources;

use std::path::Path;

use anyhow::Result;

use crate::{
    computer::{progress::Progress, whole_file},
    folder::record::End,
    profile::Profile,
};

/// Writes the page of the run or the collection in this directory, compared with another one if there is one. Returns how
/// the run ended; `None` for a collection.
pub fn write(
    directory: &Path,
    before: Option<&Path>,
    file: &Path,
    progress: &Progress,
) -> Result<Option<End>> {
    let profile = Profile::open(directory)?;
    let before = before.map(Profile::open).transpose()?;
    let mut step = progress.step(&format!("making {}", file.display()));
    let page = fill::page(&profile, before.as_ref(), &mut step)?;
    let text = render::page(&page);
    whole_file::write(file, text, "--html")?;
    step.done(&format!("{} written", file.display()));
    Ok(profile.record.map(|record| record.end))
}
