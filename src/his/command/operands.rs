//! The operands of a command: keywords with or without values, separated by commas.
//!
//! A comma inside apostrophes or parentheses does not separate operands. Two apostrophes inside apostrophes
//! are one. Blanks around an operand, a keyword or a value are ignored.

use super::refused::Refused;

/// One operand as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand<'a> {
    /// The text before the equals sign.
    pub keyword: &'a str,
    /// The text after the equals sign, if there is one.
    pub value: Option<&'a str>,
}

/// The parts of a text between commas.
#[derive(Clone, Debug)]
pub struct Parts<'a> {
    rest: Option<&'a str>,
}

impl<'a> Parts<'a> {
    /// The parts of this text; none if the text is empty.
    pub fn of(text: &'a str) -> Self {
        let text = text.trim();
        Self {
            rest: (!text.is_empty()).then_some(text),
        }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Result<&'a str, Refused<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.rest.take()?;
        Some(comma(text).map(|at| match at {
            Some(at) => {
                self.rest = Some(&text[at + 1..]);
                text[..at].trim()
            }
            None => text.trim(),
        }))
    }
}

/// The offset of the first comma that separates operands.
fn comma(text: &str) -> Result<Option<usize>, Refused<'_>> {
    let mut depth = 0u32;
    let mut quoted = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\'' => quoted = !quoted,
            _ if quoted => {}
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1).ok_or(Refused::Unbalanced("("))?,
            b',' if depth == 0 => return Ok(Some(at)),
            _ => {}
        }
    }
    match (quoted, depth) {
        (true, _) => Err(Refused::Unbalanced("'")),
        (false, 0) => Ok(None),
        (false, _) => Err(Refused::Unbalanced(")")),
    }
}

/// The operands of a text, one after the other.
pub fn operands(text: &str) -> impl Iterator<Item = Result<Operand<'_>, Refused<'_>>> {
    Parts::of(text).map(|part| {
        part.map(|part| match part.split_once('=') {
            Some((keyword, value)) => Operand {
                keyword: keyword.trim_end(),
                value: Some(value.trim_start()),
            },
            None => Operand {
                keyword: part,
                value: None,
            },
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        Parts::of(text).map(Result::unwrap).collect()
    }

    #[test]
    fn a_comma_inside_apostrophes_or_parentheses_does_not_separate_operands() {
        assert_eq!(
            parts("B,TT='a,b''(c',CTR=(X,Y) , Z"),
            ["B", "TT='a,b''(c'", "CTR=(X,Y)", "Z"]
        );
        assert_eq!(parts("A,"), ["A", ""]);
        assert!(parts("  ").is_empty());
    }

    #[test]
    fn apostrophes_and_parentheses_must_be_closed() {
        for (text, what) in [("A='x", "'"), ("A=(x", ")"), ("A=x)", "(")] {
            let refused = Parts::of(text).find_map(Result::err);
            assert_eq!(refused, Some(Refused::Unbalanced(what)), "{text}");
        }
    }

    #[test]
    fn an_operand_is_a_keyword_with_or_without_a_value() {
        let found: Vec<_> = operands("CTRONLY, A = 1=2").map(Result::unwrap).collect();
        let expected = [("CTRONLY", None), ("A", Some("1=2"))];
        let expected = expected.map(|(keyword, value)| Operand { keyword, value });
        assert_eq!(found, expected);
    }
}
