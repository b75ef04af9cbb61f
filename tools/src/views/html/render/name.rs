//! Names that a line breaks between their words only.

use maud::{Markup, PreEscaped, html};

/// A name of a symbol, a module or a file. `script/names.js` makes the same.
pub fn name(text: &str) -> Markup {
    html! { bdi { (breakable(text)) } }
}

/// A text that may hold such names.
pub fn breakable(text: &str) -> Markup {
    let breaks = PreEscaped("<wbr>");
    html! {
        @for (place, word) in words(text).into_iter().enumerate() {
            @if place > 0 { (breaks) }
            (word)
        }
    }
}

/// The parts between which a line may break: behind the signs that paths are made with, but not within a number or a
/// time.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut begin = 0;
    let mut before = ' ';
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let is_sign = match character {
            ':' => before == ':',
            other => matches!(other, '/' | '<' | '>' | ','),
        };
        let begins_word = |next: char| next.is_alphabetic() || "_<&{".contains(next);
        let behind = at + character.len_utf8();
        if is_sign
            && characters
                .peek()
                .is_some_and(|(_, next)| begins_word(*next))
        {
            words.push(&text[begin..behind]);
            begin = behind;
        }
        before = character;
    }
    words.push(&text[begin..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_breaks_behind_the_signs_of_a_path_and_not_within_a_word() {
        assert_eq!(words("a_b::c9::d"), ["a_b::", "c9::", "d"]);
        assert_eq!(words("/usr/lib/libc.so"), ["/", "usr/", "lib/", "libc.so"]);
        assert_eq!(words("<A<B>>::c"), ["<", "A<", "B>>::", "c"]);
        assert_eq!(words("src/core.rs:17"), ["src/", "core.rs:17"]);
        assert_eq!(words("10:02:00, 1,234.5"), ["10:02:00, 1,234.5"]);
        assert_eq!(words(""), [""]);
        let hostile = name("</script><wbr>").into_string();
        assert!(!hostile.contains("</script>"), "{hostile}");
    }
}
