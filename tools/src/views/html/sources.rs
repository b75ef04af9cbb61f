//! The text of source lines.
//!
//! Debug information names the files that a guest was compiled from. A file that has been written since may have other
//! lines, so its text is not shown. The names come from the guest's file, which anybody may have made, and the page may
//! be sent to others: only files that are sources by their names are read.

use std::{
    cell::RefCell,
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::computer::{input_file, visible::visible};

/// The ends of the names of source files.
const ENDINGS: [&str; 10] = ["rs", "c", "h", "s", "S", "cc", "cpp", "cxx", "hpp", "inc"];

/// A longer file is not read.
const LONGEST_FILE: u64 = 4 << 20;

/// Characters of a line that are shown.
const LONGEST_LINE: usize = 160;

/// Files by name, with their lines if they can be shown.
type Files = HashMap<PathBuf, Option<Vec<String>>>;

/// The source files of a guest.
#[derive(Debug)]
pub struct Sources {
    /// When the guest's file was written.
    written: SystemTime,
    files: RefCell<Files>,
}

impl Sources {
    /// Files that are not newer than this.
    pub fn before(written: SystemTime) -> Self {
        Self {
            written,
            files: RefCell::default(),
        }
    }

    /// A line of a file, counted from 1.
    pub fn line(&self, file: &Path, line: u32) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let lines = files
            .entry(file.to_owned())
            .or_insert_with(|| self.read(file));
        let place = usize::try_from(line).ok()?.checked_sub(1)?;
        let text = lines.as_ref()?.get(place)?;
        Some(text.clone()).filter(|text| !text.is_empty())
    }

    fn read(&self, file: &Path) -> Option<Vec<String>> {
        let ending = file.extension()?.to_str()?;
        let data = fs::metadata(file).ok()?;
        let can_be_shown = ENDINGS.contains(&ending)
            && file.is_absolute()
            && data.is_file()
            && data.len() <= LONGEST_FILE
            && data.modified().ok()? <= self.written;
        let text =
            can_be_shown.then(|| input_file::read(file).and_then(input_file::text).ok())??;
        let shown = |line: &str| {
            let begin: String = line.trim().chars().take(LONGEST_LINE).collect();
            visible(&begin)
        };
        Some(text.lines().map(shown).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_is_shown_if_its_file_is_a_source_that_is_not_newer_than_the_guest() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("main.rs");
        fs::write(&file, "fn main() {\n    start(\u{202E});\n\n}\n").unwrap();
        let written = fs::metadata(&file).unwrap().modified().unwrap();
        let sources = Sources::before(written);
        assert_eq!(sources.line(&file, 1).as_deref(), Some("fn main() {"));
        assert_eq!(sources.line(&file, 2).as_deref(), Some("start(\\u{202e});"));
        for none in [0, 3, 5, u32::MAX] {
            assert_eq!(sources.line(&file, none), None);
        }
        let older = Sources::before(written - Duration::from_secs(1));
        assert_eq!(older.line(&file, 1), None);
        let secret = directory.path().join("secret");
        fs::write(&secret, "a password\n").unwrap();
        let later = Sources::before(SystemTime::now() + Duration::from_secs(9));
        assert_eq!(later.line(&secret, 1), None);
        assert_eq!(later.line(directory.path(), 1), None);
    }
}
