//! Lists of numbers as text: a digit of 64 for each five bits of a number, the lowest first.
//!
//! Most numbers of the page are differences below 32, and so one character each. `script/data.js` reads them.

/// The digits: the alphabet of base64 for addresses, which needs no escape in JSON.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// In a digit: more digits of the number follow.
const MORE: usize = 32;

/// The numbers as text.
pub fn packed(numbers: impl IntoIterator<Item = usize>) -> String {
    let mut text = String::new();
    for mut number in numbers {
        while number >= MORE {
            text.push(char::from(DIGITS[MORE + number % MORE]));
            number /= MORE;
        }
        text.push(char::from(DIGITS[number]));
    }
    text
}

/// Reads what [`packed`] wrote; `None` for another text.
#[cfg(test)]
pub fn unpacked(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    let (mut number, mut shift) = (0_usize, 0);
    for digit in text.bytes() {
        let digit = DIGITS.iter().position(|known| *known == digit)?;
        number |= (digit % MORE).checked_shl(shift)?;
        shift += 5;
        if digit < MORE {
            numbers.push(number);
            (number, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_below_32_is_one_digit() {
        assert_eq!(packed([0, 1, 31, 32, 1024]), "ABfgBggB");
        assert_eq!(packed([]), "");
    }

    proptest! {
        #[test]
        fn packed_numbers_are_read_back(numbers: Vec<usize>) {
            let text = packed(numbers.iter().copied());
            prop_assert!(text.bytes().all(|digit| DIGITS.contains(&digit)));
            prop_assert_eq!(unpacked(&text), Some(numbers));
        }
    }
}
