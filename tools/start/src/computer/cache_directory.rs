//! The directory below which this tool keeps for a user what takes long to get or to make.

use std::{env, ffi::OsString, path::PathBuf};

use anyhow::{Context, Result};

/// Our part of the user's cache, by the rules of the XDG base directories.
pub fn of_user() -> Result<PathBuf> {
    let base = base(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"));
    let base =
        base.context("no directory is set for a cache; set XDG_CACHE_HOME or HOME to one")?;
    Ok(base.join("millimeter"))
}

/// `XDG_CACHE_HOME` if it is absolute, else `.cache` in the home directory.
fn base(chosen: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let chosen = chosen.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = home.map(PathBuf::from).filter(|path| path.is_absolute());
    chosen.or_else(|| Some(home?.join(".cache")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_user_wants_it_or_in_the_home_directory() {
        let path = |text: &str| Some(OsString::from(text));
        assert_eq!(base(path("/c"), path("/h")), Some("/c".into()));
        assert_eq!(base(None, path("/h")), Some("/h/.cache".into()));
        assert_eq!(base(path("c"), path("/h")), Some("/h/.cache".into()));
        assert_eq!(base(path(""), None), None);
    }
}
