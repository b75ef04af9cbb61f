//! Makes text from guests and files safe to read.
//!
//! A name can mislead the reader of a page, and command a terminal. So characters that change the direction of writing,
//! move the cursor or are invisible become numbers, and very long names are cut.

use std::{
    cmp::Reverse,
    env,
    io::{self, Write},
    mem, str,
    sync::OnceLock,
};

/// Longest name that is not cut, in characters.
pub const LONGEST: usize = 300;

/// The name as it is shown.
pub fn visible(name: &str) -> String {
    let mut shown = String::with_capacity(name.len().min(LONGEST));
    for (place, letter) in name.chars().enumerate() {
        if place == LONGEST {
            shown.push('…');
            break;
        }
        show(letter, &mut shown);
    }
    shown
}

/// A message as it is shown. A name that the command line gave, or that of the current directory, stays on one line, whatever
/// is in it.
pub fn message(text: &str) -> String {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let words = env::args_os().map(|word| word.to_string_lossy().into_owned());
        let directory = env::current_dir().ok();
        broken(words.chain(directory.map(|path| path.display().to_string())))
    });
    lines(&whole(text, names))
}

/// The names with line breaks or tabs among these words, the longest first. The value of an option is also a name.
fn broken(words: impl Iterator<Item = String>) -> Vec<String> {
    let values = words.flat_map(|word| {
        let value = word
            .strip_prefix("--")
            .and_then(|option| option.split_once('='));
        let value = value.map(|(_, value)| value.to_owned());
        [Some(word), value].into_iter().flatten()
    });
    let mut names: Vec<String> = values.filter(|name| name.contains(['\n', '\t'])).collect();
    names.sort_by_key(|name| Reverse(name.len()));
    names
}

/// The text with these names as they are shown.
fn whole(text: &str, names: &[String]) -> String {
    names.iter().fold(text.to_owned(), |text, name| {
        text.replace(
            name,
            &name.chars().fold(String::new(), |mut shown, letter| {
                show(letter, &mut shown);
                shown
            }),
        )
    })
}

/// Several lines as they are shown.
pub fn lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            _ => show(letter, &mut shown),
        }
    }
    shown
}

/// Appends a character, or its number if it misleads.
fn show(letter: char, shown: &mut String) {
    if misleads(letter) {
        shown.extend(letter.escape_unicode());
    } else {
        shown.push(letter);
    }
}

/// Writes text as it is shown.
#[derive(Debug)]
pub struct Shown<W> {
    out: W,
    /// The beginning of a character.
    begun: Vec<u8>,
}

impl<W: Write> Shown<W> {
    /// Text for a terminal or a file that people read.
    pub const fn new(out: W) -> Self {
        Self {
            out,
            begun: Vec::new(),
        }
    }
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = mem::take(&mut self.begun);
        text.extend_from_slice(bytes);
        let mut chunks = text.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.out.write_all(lines(chunk.valid()).as_bytes())?;
            let rest = chunk.invalid();
            match str::from_utf8(rest) {
                Ok(_) => {}
                Err(error) if error.error_len().is_none() && chunks.peek().is_none() => {
                    self.begun = rest.to_vec();
                }
                Err(_) => self.out.write_all("\u{FFFD}".as_bytes())?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Control characters, marks and overrides of the direction of writing, and characters without a width.
fn misleads(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usual_name_stays_as_it_is() {
        for name in ["<alloc::vec::Vec<u32> as regex>::next", "größe", "日本", ""] {
            assert_eq!(visible(name), name);
        }
    }

    #[test]
    fn invisible_characters_are_shown_by_their_numbers() {
        assert_eq!(visible("a\u{202E}b\n\0c"), "a\\u{202e}b\\u{a}\\u{0}c");
        assert_eq!(visible("\u{FEFF}x"), "\\u{feff}x");
    }

    #[test]
    fn lines_stay_lines_and_command_no_terminal() {
        assert_eq!(
            lines("a\tb\n\x1B]0;title\x07"),
            "a\tb\n\\u{1b}]0;title\\u{7}"
        );
    }

    #[test]
    fn a_name_of_the_command_line_stays_on_one_line_of_a_message() {
        let words = ["measure", "a\nb", "--out=c\td", "--quiet"].map(str::to_owned);
        let names = broken(words.into_iter());
        let text = "cannot read x/a\nb/run.json\nor c\td: no\nsuch file";
        assert_eq!(
            whole(text, &names),
            "cannot read x/a\\u{a}b/run.json\nor c\\u{9}d: no\nsuch file"
        );
        assert_eq!(message("a\nb"), "a\nb", "it is no name here");
    }

    #[test]
    fn text_is_shown_the_same_however_it_is_cut() {
        let bytes = ["größe 日本\n\u{9B}2J".as_bytes(), b"\xFF\xE6x"].concat();
        let whole = "größe 日本\n\\u{9b}2J\u{FFFD}\u{FFFD}x";
        for length in 1..=bytes.len() {
            let mut shown = Shown::new(Vec::new());
            for piece in bytes.chunks(length) {
                shown.write_all(piece).unwrap();
            }
            assert_eq!(String::from_utf8(shown.out).unwrap(), whole, "{length}");
        }
    }

    #[test]
    fn an_endless_name_is_cut() {
        let shown = visible(&"n".repeat(5_000_000));
        assert_eq!(shown.chars().count(), LONGEST + 1);
        assert!(shown.ends_with('…'));
    }
}
