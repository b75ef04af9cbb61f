//! What the forms of exact counts have in common: a run, its counts and its source lines.

use anyhow::{Context, Result};

use crate::{
    counts::{Counts, sources::Sources},
    profile::Profile,
    symbols::names::Names,
};

/// A run that counted executions.
pub struct Run<'p> {
    /// What was measured.
    pub title: &'p str,
    /// The counts.
    pub counts: Counts,
    /// Where names come from.
    pub names: &'p Names,
    /// The source lines.
    pub sources: Sources,
}

impl<'p> Run<'p> {
    /// Reads the counts of a profile's folder.
    ///
    /// # Errors
    /// There are none, or they are not whole.
    pub fn of(profile: &'p Profile) -> Result<Self> {
        let directory = profile.directory.display();
        let without =
            || format!("{directory} has no exact counts; make the run again with --count");
        let record = profile.record.as_ref().with_context(without)?;
        let counts = Counts::read(&profile.directory, record)?.with_context(without)?;
        Ok(Self {
            title: &profile.title,
            counts,
            names: &profile.names,
            sources: Sources::of(&profile.names, record),
        })
    }
}
