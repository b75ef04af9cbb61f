//! How large an installation is, before it begins.

use std::{fmt, path::Path};

use anyhow::Result;

use super::AptGet;
use crate::numbers::sum;

/// What apt-get would install.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Packages, with those that the named ones need.
    packages: u64,
    /// Bytes that are not here yet.
    fetched: u64,
    /// Space on the disk, in the words of apt-get.
    kept: Option<String>,
}

impl Size {
    /// What apt-get says of these packages; `None` if it does not know all of them. It changes nothing.
    pub(super) fn of(packages: &[&str]) -> Result<Option<Self>> {
        let mut arguments = vec![
            "install",
            "--yes",
            "--print-uris",
            "--no-install-recommends",
        ];
        arguments.extend_from_slice(packages);
        let mut lines = Vec::new();
        let said = AptGet::run(&arguments, Path::new("."), &mut |line| {
            lines.push(line.to_owned());
        })?;
        Ok(said.succeeded.then(|| Self::parse(&lines)).flatten())
    }

    /// The lines of `apt-get install --print-uris`: a line for each file that it would fetch, with its length in bytes.
    pub(super) fn parse(lines: &[String]) -> Option<Self> {
        let length = |line: &str| {
            let words = line.starts_with('\'').then(|| line.split(' '))?;
            words.rev().nth(1)?.parse::<u64>().ok()
        };
        let packages = lines.iter().find_map(|line| {
            let (before, _) = line.split_once(" newly installed")?;
            before.rsplit(' ').next()?.parse().ok()
        })?;
        let kept = lines.iter().find_map(|line| {
            let after = line.strip_prefix("After this operation, ")?;
            let (size, _) = after.split_once(" of additional disk space")?;
            Some(size.to_owned())
        });
        let lengths = lines.iter().filter_map(|line| length(line));
        Some(Self {
            packages,
            fetched: sum(lengths),
            kept,
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.fetched as f64 / 1e6;
        let plural = if self.packages == 1 { "" } else { "s" };
        write!(
            f,
            "{} package{plural}, {megabytes:.1} MB to fetch",
            self.packages
        )?;
        match &self.kept {
            Some(kept) => write!(f, ", {kept} on the disk"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_a_number_of_packages_are_no_size() {
        for line in ["E: Unable to locate package qemu", "'", "'x'", ""] {
            assert_eq!(Size::parse(&[line.to_owned()]), None, "{line}");
        }
    }

    #[test]
    fn files_that_are_here_already_are_not_fetched() {
        let lines = [
            "0 upgraded, 1 newly installed, 0 to remove",
            "' ",
            "'x y",
            "'a' b c d",
        ];
        let size = Size::parse(&lines.map(str::to_owned)).unwrap();
        assert_eq!(size.to_string(), "1 package, 0.0 MB to fetch");
    }
}
