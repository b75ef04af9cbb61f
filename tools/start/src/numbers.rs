//! Numbers as a person reads them.

/// A number with its digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The sum of numbers that anybody may have written: it ends at the largest number.
pub fn sum(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}

/// Bytes in hexadecimal digits, as digests are named.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1000), "1,000");
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn a_sum_ends_at_the_largest_number() {
        assert_eq!(sum([]), 0);
        assert_eq!(sum([1, 2, 3]), 6);
        assert_eq!(sum([u64::MAX, 1, u64::MAX]), u64::MAX);
    }

    #[test]
    fn each_byte_has_two_hexadecimal_digits() {
        assert_eq!(hexadecimal(&[0, 0x0F, 0xA1]), "000fa1");
        assert_eq!(hexadecimal(&[]), "");
    }
}
