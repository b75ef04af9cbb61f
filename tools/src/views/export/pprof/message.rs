//! The bytes of a message of protobuf: fields with their numbers, in ascending order. A number that is 0 is left out.

/// The kinds of fields: one number, or a length and so many bytes.
const NUMBER: u64 = 0;
const BYTES: u64 = 2;

/// A message, field by field.
#[derive(Clone, Debug, Default)]
pub struct Bytes(Vec<u8>);

impl Bytes {
    /// The whole message.
    pub fn end(self) -> Vec<u8> {
        self.0
    }

    /// A text.
    pub fn text(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }

    /// A number. One with a sign has the bits of its 64-bit form.
    #[must_use]
    pub fn number(mut self, field: u64, number: u64) -> Self {
        if number != 0 {
            put(&mut self.0, field << 3 | NUMBER);
            put(&mut self.0, number);
        }
        self
    }

    /// A number with a sign.
    #[must_use]
    pub fn signed(self, field: u64, number: i64) -> Self {
        self.number(field, number as u64)
    }

    /// Numbers, packed.
    #[must_use]
    pub fn numbers(self, field: u64, numbers: impl IntoIterator<Item = u64>) -> Self {
        let mut packed = Vec::new();
        for number in numbers {
            put(&mut packed, number);
        }
        match packed.is_empty() {
            true => self,
            false => self.bytes(field, &packed),
        }
    }

    /// Numbers with signs, packed.
    #[must_use]
    pub fn signed_numbers(self, field: u64, numbers: &[i64]) -> Self {
        self.numbers(field, numbers.iter().map(|number| *number as u64))
    }

    /// A text or a message, also an empty one.
    #[must_use]
    pub fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        put(&mut self.0, field << 3 | BYTES);
        put(&mut self.0, bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// A field for each of these messages.
    #[must_use]
    pub fn messages<T>(self, field: u64, messages: &[T], of: impl Fn(&T) -> Self) -> Self {
        let messages = messages.iter();
        messages.fold(self, |all, message| all.bytes(field, &of(message).0))
    }
}

/// Seven bits in a byte, the lowest first.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}
