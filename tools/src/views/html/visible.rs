//! Makes names from files safe to read.
//!
//! Escaping keeps a name from becoming part of the page, but not from misleading the reader. So characters that
//! change the direction of writing, move the cursor or are invisible become numbers, and very long names are cut.

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
        if misleads(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
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
    fn an_endless_name_is_cut() {
        let shown = visible(&"n".repeat(5_000_000));
        assert_eq!(shown.chars().count(), LONGEST + 1);
        assert!(shown.ends_with('…'));
    }
}
