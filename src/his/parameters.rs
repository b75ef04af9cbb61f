//! Parameter files: the texts that DDNAME names.
//!
//! A machine has no files, so the operator enters them line by line: `DD NAME TEXT` adds a line to the file of
//! this name, and `DD NAME` alone empties it. The command is the project's own; the host enters whole files
//! by it.

use super::command::{Name, name};
use super::machine::{File, LONGEST_FILE};
use core::fmt;
use heapless::Vec;

/// The most parameter files: the project's own bound.
pub const MOST_FILES: usize = 4;

/// The first word of the command.
const VERB: &str = "DD";

/// Why a DD command is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// No name of a DD statement follows DD.
    Name,
    /// The most files exist already.
    TooMany,
    /// The file would be too long.
    TooLong,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name => f.write_str(
                "DD names a parameter file with 1 to 8 letters, digits, @, # or $, no digit first",
            ),
            Self::TooMany => write!(
                f,
                "there are {MOST_FILES} parameter files, the most that can be"
            ),
            Self::TooLong => write!(f, "a parameter file has {LONGEST_FILE} bytes at the most"),
        }
    }
}

/// The parameter files.
#[derive(Clone, Debug, Default)]
pub struct ParameterFiles(Vec<(Name, File), MOST_FILES>);

/// Whether a line of the operator is a DD command.
#[must_use]
pub fn is_definition(line: &str) -> bool {
    let verb = line.split_ascii_whitespace().next();
    verb.is_some_and(|verb| verb.eq_ignore_ascii_case(VERB))
}

impl ParameterFiles {
    /// No parameter files.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Carries out a line that [`is_definition`] accepts.
    ///
    /// # Errors
    /// [`Wrong`]; nothing has changed then.
    pub fn define(&mut self, line: &str) -> Result<(), Wrong> {
        let after = |text: &'_ str| text.find(|c: char| c.is_ascii_whitespace());
        let line = line.trim();
        let rest = after(line).map_or("", |end| line[end..].trim_start());
        let (named, text) = rest.split_at(after(rest).unwrap_or(rest.len()));
        let named = name(named, false).ok_or(Wrong::Name)?;
        let place = self.0.iter().position(|(known, _)| *known == named);
        let mut file = match place {
            Some(place) => self.0[place].1.clone(),
            None => File::new(),
        };
        match text.trim_start() {
            "" => file.clear(),
            text => {
                let added = file.push_str(text).and_then(|()| file.push('\n'));
                added.map_err(|_| Wrong::TooLong)?;
            }
        }
        match place {
            Some(place) => self.0[place].1 = file,
            None => self.0.push((named, file)).map_err(|_| Wrong::TooMany)?,
        }
        Ok(())
    }

    /// The file of this name.
    #[must_use]
    pub fn get(&self, name: &Name) -> Option<&File> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, file)| file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<'a>(files: &'a ParameterFiles, of: &str) -> Option<&'a str> {
        files
            .get(&name(of, false).unwrap())
            .map(|file| file.as_str())
    }

    #[test]
    fn a_file_is_entered_line_by_line_and_its_name_alone_empties_it() {
        let mut files = ParameterFiles::new();
        for line in [
            "DD parms",
            "dd PARMS  CTRSET=BASIC,",
            "DD PARMS SMP=NO ",
            "DD OTHER",
        ] {
            assert!(is_definition(line));
            assert_eq!(files.define(line), Ok(()), "{line}");
        }
        assert_eq!(text(&files, "PARMS"), Some("CTRSET=BASIC,\nSMP=NO\n"));
        assert_eq!(text(&files, "OTHER"), Some(""));
        assert_eq!(text(&files, "NONE"), None);
        files.define("DD PARMS").unwrap();
        assert_eq!(text(&files, "PARMS"), Some(""));
        assert!(!is_definition("D HIS") && !is_definition(""));
    }

    #[test]
    fn a_line_that_does_not_fit_changes_nothing() {
        let mut files = ParameterFiles::new();
        for line in ["DD", "DD 1ST", "DD TOOLONGNAME", "DD \u{e4}"] {
            assert_eq!(files.define(line), Err(Wrong::Name), "{line}");
        }
        for named in ["A", "B", "C", "D"] {
            files.define(&std::format!("DD {named} X")).unwrap();
        }
        assert_eq!(files.define("DD E"), Err(Wrong::TooMany));
        let line = std::format!("DD A {}", "y".repeat(LONGEST_FILE - 2));
        assert_eq!(files.define(&line), Err(Wrong::TooLong));
        assert_eq!(text(&files, "A"), Some("X\n"));
        files.define(&line[..line.len() - 1]).unwrap();
    }
}
