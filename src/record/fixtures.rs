//! Records as hexadecimal text, for tests.

/// The bytes of a text of hexadecimal digits. `40*13` is 40 thirteen times, and text after a bar is a
/// remark.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in text.lines() {
        let digits = line.split('|').next().unwrap();
        for word in digits.split_whitespace() {
            let (digits, times) = word.split_once('*').unwrap_or((word, "1"));
            let one: Vec<u8> = (0..digits.len())
                .step_by(2)
                .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
                .collect();
            for _ in 0..times.parse().unwrap() {
                bytes.extend(&one);
            }
        }
    }
    bytes
}

#[test]
fn hexadecimal_text_is_read_with_repetitions_and_without_remarks() {
    assert_eq!(bytes("0A ff*2 | 99\n1234"), [0x0A, 0xFF, 0xFF, 0x12, 0x34]);
}
