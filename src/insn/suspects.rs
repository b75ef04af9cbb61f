//! Which halfwords can be the first one of a sensitive instruction, found by a table.
//!
//! Every page that is ever executed is searched for them, and most have none. So the table is indexed by the leftmost 13
//! bits of a halfword, and says at once that all eight halfwords which have those are harmless: 8 KiB have room in the image,
//! and an exact table has none. It never misses a sensitive halfword, and sometimes takes a neighbour for one. The leftmost
//! 13 bits of the common opcodes, such as LGR (B904), are those of none.

use super::caught::{Caught, Sensitive};
use super::executed;

/// How many bits of a halfword the table leaves out.
const LEFT_OUT: u32 = 3;

/// The number of entries.
const ENTRIES: usize = 0x1_0000 >> LEFT_OUT;

/// What is loaded with an entry: it is the leftmost byte of a word.
const WORD: usize = size_of::<u32>();

/// The bit of what is sensitive always, and of EXECUTE.
const ALWAYS: u8 = 1;

/// The bit of what is sensitive only with the message-security assist.
const MESSAGE_SECURITY: u8 = 2;

static TABLE: [u8; ENTRIES + WORD - 1] = table();

const fn table() -> [u8; ENTRIES + WORD - 1] {
    let mut table = [0; ENTRIES + WORD - 1];
    let mut halfword = 0;
    loop {
        let entry = &mut table[halfword as usize >> LEFT_OUT];
        if executed::is_execute(halfword) {
            *entry |= ALWAYS;
        }
        match Sensitive::from_halfword(halfword) {
            Some(sensitive) if sensitive.is_caught(Caught::Always) => *entry |= ALWAYS,
            Some(_) => *entry |= MESSAGE_SECURITY,
            None => {}
        }
        if halfword == u16::MAX {
            return table;
        }
        halfword += 1;
    }
}

/// Whether any halfword of some doublewords may be the first one of a sensitive instruction, or of an EXECUTE. Never misses
/// one.
#[inline(always)]
#[must_use]
pub fn has_suspects<const N: usize>(text: [u64; N], caught: Caught) -> bool {
    let of_one = |doubleword: u64| [48, 32, 16, 0].map(|shift| word((doubleword >> shift) as u16));
    let found = text.iter().flat_map(|&doubleword| of_one(doubleword));
    is_suspect(found.fold(0, |found, word| found | word), caught)
}

/// The offsets in a text of the halfwords that may be the first one of a sensitive instruction, or of an EXECUTE.
pub fn suspects(text: &[u8], caught: Caught) -> impl Iterator<Item = usize> {
    let halfwords = (0..).step_by(2).zip(text.as_chunks::<2>().0);
    halfwords.filter_map(move |(at, &halfword)| {
        is_suspect(word(u16::from_be_bytes(halfword)), caught).then_some(at)
    })
}

/// The word that begins with the entry of a halfword. A word is ORed without being loaded first.
#[inline(always)]
fn word(halfword: u16) -> u32 {
    let index = usize::from(halfword) >> LEFT_OUT;
    match TABLE.get(index..index + WORD) {
        Some(&[a, b, c, d]) => u32::from_be_bytes([a, b, c, d]),
        _ => 0,
    }
}

/// Whether an entry, the leftmost byte, names something that is caught.
#[inline(always)]
const fn is_suspect(word: u32, caught: Caught) -> bool {
    let wanted = match caught {
        Caught::Always => ALWAYS,
        Caught::MessageSecurity => ALWAYS | MESSAGE_SECURITY,
    };
    word & u32::from_be_bytes([wanted, 0, 0, 0]) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caught::is_caught;

    #[test]
    fn no_halfword_is_missed_and_a_suspect_shares_its_leftmost_bits_with_one_that_is_caught() {
        for caught in [Caught::Always, Caught::MessageSecurity] {
            for halfword in 0..=u16::MAX {
                let group = halfword & !7..=halfword | 7;
                let expected = group
                    .into_iter()
                    .any(|one| is_caught(one, caught) || executed::is_execute(one));
                let [a, b] = halfword.to_be_bytes();
                let text = [0x18, 0x12, a, b, 0xB9, 0x04, 0x00, 0x12];
                assert_eq!(
                    has_suspects([0x1812 << 48, u64::from_be_bytes(text)], caught),
                    expected,
                    "{halfword:04X}"
                );
                let at: Vec<usize> = suspects(&text, caught).collect();
                assert_eq!(
                    at,
                    if expected { vec![2] } else { vec![] },
                    "{halfword:04X}"
                );
            }
        }
    }
}
