//! Which halfwords can be the first one of a sensitive instruction, found by a table.
//!
//! Every page that is ever executed is searched for them, and most have none. So the table is indexed by the leftmost 13
//! bits of a halfword, and says at once that all eight halfwords which have those are harmless: 8 KiB have room in the image,
//! and an exact table has none. It never misses a sensitive halfword, and sometimes takes a neighbour for one. The leftmost
//! 13 bits of the common opcodes, such as LGR (B904), are those of none.

use super::caught::{Caught, Sensitive};
use super::executed;
use super::rotated;

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

/// The bit of what a test of rotated bits may begin with.
const BEGINS_TEST: u8 = 4;

/// The bit of what a test of rotated bits may end with.
const ENDS_TEST: u8 = 8;

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
            Some(sensitive) if sensitive.is_caught(Caught::ALWAYS) => *entry |= ALWAYS,
            Some(_) => *entry |= MESSAGE_SECURITY,
            None => {}
        }
        if rotated::may_begin(halfword) {
            *entry |= BEGINS_TEST;
        }
        if rotated::may_end(halfword) {
            *entry |= ENDS_TEST;
        }
        if halfword == u16::MAX {
            return table;
        }
        halfword += 1;
    }
}

/// Whether any halfword of some doublewords may be the first one of a sensitive instruction, or of an EXECUTE. Never misses
/// one.
///
/// What a test of rotated bits begins with is common, so the rest decides, too: `next` is the doubleword behind these, and
/// `has_test` says whether a test may begin in them.
#[inline(always)]
#[must_use]
pub fn has_suspects<const N: usize>(
    text: [u64; N],
    next: impl FnOnce() -> u64,
    caught: Caught,
    has_test: impl FnOnce() -> bool,
) -> bool {
    let found = found_in(text);
    let wanted = wanted(caught);
    is_suspect(found, wanted & !BEGINS_TEST)
        || is_suspect(found, wanted)
            && (is_suspect(found, ENDS_TEST) || is_suspect(found_in([next()]), ENDS_TEST))
            && has_test()
}

/// Whether any halfword of a doubleword may be the first one of a sensitive instruction, or of an EXECUTE, or the first one or
/// the last one of a test of rotated bits, if those are caught. Never misses one.
#[inline(always)]
#[must_use]
pub fn has_suspect_part(doubleword: u64, caught: Caught) -> bool {
    let ends = if caught.tests { ENDS_TEST } else { 0 };
    is_suspect(found_in([doubleword]), wanted(caught) | ends)
}

/// The entries of all halfwords.
#[inline(always)]
fn found_in<const N: usize>(text: [u64; N]) -> u32 {
    let of_one = |doubleword: u64| [48, 32, 16, 0].map(|shift| word((doubleword >> shift) as u16));
    let found = text.iter().flat_map(|&doubleword| of_one(doubleword));
    found.fold(0, |found, word| found | word)
}

/// The offsets in a text of the halfwords that may be the first one of a sensitive instruction, or of an EXECUTE.
pub fn suspects(text: &[u8], caught: Caught) -> impl Iterator<Item = usize> {
    let wanted = wanted(caught);
    let halfwords = (0..).step_by(2).zip(text.as_chunks::<2>().0);
    halfwords.filter_map(move |(at, &halfword)| {
        is_suspect(word(u16::from_be_bytes(halfword)), wanted).then_some(at)
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

/// The bits of what is caught.
#[inline(always)]
const fn wanted(caught: Caught) -> u8 {
    let assist = if caught.message_security {
        MESSAGE_SECURITY
    } else {
        0
    };
    ALWAYS | assist | if caught.tests { BEGINS_TEST } else { 0 }
}

/// Whether an entry, the leftmost byte, has any of these bits.
#[inline(always)]
const fn is_suspect(word: u32, wanted: u8) -> bool {
    word & u32::from_be_bytes([wanted, 0, 0, 0]) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caught::is_caught;

    #[test]
    fn no_halfword_is_missed_and_a_suspect_shares_its_leftmost_bits_with_one_that_is_caught() {
        for caught in [
            Caught::ALWAYS,
            Caught::MESSAGE_SECURITY,
            Caught::ALWAYS.with_tests(),
        ] {
            for halfword in 0..=u16::MAX {
                let group = halfword & !7..=halfword | 7;
                let expected = group.clone().into_iter().any(|one| {
                    is_caught(one, caught)
                        || executed::is_execute(one)
                        || caught.tests && rotated::may_begin(one)
                });
                let is_part = expected || caught.tests && group.into_iter().any(rotated::may_end);
                let [a, b] = halfword.to_be_bytes();
                let text = [0x18, 0x12, a, b, 0xB9, 0x04, 0x00, 0x12];
                let is_suspected = |second: u64, third: u64| {
                    let text = u64::from(halfword) << 32 | second << 16 | third;
                    [
                        ([0x1812 << 48, text], 0),
                        ([text << 16, 0], 0),
                        ([0, text >> 32], text << 32),
                    ]
                    .iter()
                    .any(|&(text, next)| {
                        has_suspects(text, || next, caught, || rotated::may_begin_in(text, next))
                    })
                };
                // As a test, and as something else with the same beginning.
                assert_eq!(is_suspected(0x8000, 0x54), expected, "{halfword:04X}");
                let is_other = expected && !rotated::may_begin(halfword);
                assert_eq!(is_suspected(0x0912, 0x54), is_other, "{halfword:04X}");
                assert_eq!(is_suspected(0x8912, 0x64), is_other, "{halfword:04X}");
                let text_of = u64::from_be_bytes(text);
                assert_eq!(has_suspect_part(text_of, caught), is_part, "{halfword:04X}");
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
