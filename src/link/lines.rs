//! Lines: how frames cross a console that carries only lines of text.
//!
//! A line-mode console translates its text between code pages and shows it beside the messages of the machine
//! below. So the bytes of the link go in lines of their own, which begin with [`MARK`]. Each three bytes are four
//! characters that every code page has. The frames in these bytes are checked as always: a line that was damaged or
//! lost shows as a frame that does not check.
//!
//! The host types such lines too. A console takes only short ones, and one at a time: [`super::state::LineRead`].

/// The characters for the numbers from 0 to 63.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The beginning of a line that carries bytes of the link.
pub const MARK: &[u8; 3] = b"MM:";

/// The most bytes in one line. With its mark and the headings of an event, such a line fits into a service-call
/// control block.
pub const LONGEST: usize = 2_940;

/// The most bytes in one line that the host types. Hercules takes a command of 123 characters, and cuts a longer one.
pub const LONGEST_TYPED: usize = 90;

/// The characters of a line with so many bytes.
#[must_use]
pub const fn characters(bytes: usize) -> usize {
    MARK.len() + (bytes * 4).div_ceil(3)
}

/// The longest line.
pub const LONGEST_LINE: usize = characters(LONGEST);

/// The line that carries these bytes, at most [`LONGEST`], as its characters in order.
pub fn encode(bytes: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let groups = bytes.chunks(3).flat_map(|group| {
        let [first, second, third] = [0, 1, 2].map(|n| group.get(n).copied().unwrap_or(0));
        let bits = u32::from_be_bytes([0, first, second, third]);
        [18, 12, 6, 0]
            .into_iter()
            .take(group.len() + 1)
            .map(move |shift| DIGITS[(bits >> shift & 63) as usize])
    });
    MARK.iter().copied().chain(groups)
}

/// The number that a character stands for.
const fn number(digit: u8) -> Option<u32> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    } as u32)
}

/// The bytes that a line carries, up to its first character that stands for nothing; `None` if it carries none.
#[must_use]
pub fn decode(line: &[u8]) -> Option<impl Iterator<Item = u8> + '_> {
    let text = line.strip_prefix(MARK)?;
    let end = text
        .iter()
        .position(|&digit| number(digit).is_none())
        .unwrap_or(text.len());
    Some(text[..end].chunks(4).flat_map(|group| {
        let bits = group.iter().fold(0, |bits, &digit| {
            bits << 6 | number(digit).unwrap_or_default()
        });
        let bits = bits << (6 * (4 - group.len()));
        let [_, first, second, third] = bits.to_be_bytes();
        [first, second, third]
            .into_iter()
            .take(group.len().saturating_sub(1))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(bytes: &[u8]) -> Vec<u8> {
        encode(bytes).collect()
    }

    #[test]
    fn three_bytes_are_four_characters() {
        assert_eq!(line(b"Man"), b"MM:TWFu");
        assert_eq!(line(b"Ma"), b"MM:TWE");
        assert_eq!(line(&[]), MARK);
        assert_eq!(line(&[0; LONGEST]).len(), LONGEST_LINE);
        assert_eq!(line(&[0; LONGEST_TYPED]).len(), 123);
    }

    #[test]
    fn every_character_has_a_code_in_ebcdic() {
        for digit in DIGITS.iter().chain(MARK) {
            assert!(arch::ebcdic::code(*digit).is_some());
        }
    }

    #[test]
    fn a_line_without_the_mark_carries_nothing() {
        assert!(decode(b"HHCCP011I CPU0000: Disabled wait state").is_none());
    }

    #[test]
    fn a_line_ends_at_the_first_character_that_stands_for_nothing() {
        let carried: Vec<u8> = decode(b"MM:TWFu \r").unwrap().collect();
        assert_eq!(carried, b"Man");
    }

    proptest! {
        #[test]
        fn what_is_sent_arrives(bytes in prop::collection::vec(any::<u8>(), 0..=LONGEST)) {
            let sent = line(&bytes);
            prop_assert_eq!(sent.len(), characters(bytes.len()));
            let arrived: Vec<u8> = decode(&sent).unwrap().collect();
            prop_assert_eq!(arrived, bytes);
        }
    }
}
