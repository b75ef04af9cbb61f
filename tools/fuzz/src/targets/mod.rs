//! The readers.

use crate::Target;

mod check;
mod command;
mod disk;
mod folder;
mod link;
mod record;

/// Every reader.
#[must_use]
pub fn all() -> Vec<Target> {
    [
        record::ALL,
        folder::ALL,
        link::ALL,
        command::ALL,
        check::ALL,
        disk::ALL,
    ]
    .concat()
}

/// A text without its numbers: the rest is the same for inputs that took the same path.
///
/// Only the beginning counts: text of the input itself follows it, and does not make another path.
fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut number = false;
    for character in text.chars().take(90) {
        let is_digit = character.is_ascii_digit();
        match (is_digit, number) {
            (true, true) => {}
            (true, false) => shape.push('#'),
            _ => shape.push(character),
        }
        number = is_digit;
    }
    shape
}

/// A rough class of a number: its count of binary digits.
fn about(number: usize) -> u32 {
    usize::BITS - number.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_no_numbers() {
        assert_eq!(
            shape("offset 12 (C hexadecimal), is 9"),
            "offset # (C hexadecimal), is #"
        );
        assert_eq!((about(0), about(1), about(255), about(256)), (0, 1, 8, 9));
    }

    #[test]
    fn no_two_targets_have_the_same_name() {
        let mut names: Vec<&str> = all().iter().map(|target| target.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
