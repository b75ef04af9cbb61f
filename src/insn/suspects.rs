//! Which halfwords can be the first one of a sensitive instruction, found by a table.
//!
//! Every page that is ever executed is searched for them, and most have none. So the table is indexed by the leftmost 13
//! bits of a halfword, and says at once that all eight halfwords which have those are harmless: 8 KiB have room in the image,
//! and an exact table has none. It never misses a sensitive halfword, and sometimes takes a neighbour for one. The leftmost
//! 13 bits of the common opcodes, such as LGR (B904), are those of none.

use super::caught::{
    ALWAYS, BEGINS_PRODUCT, BEGINS_TEST, Caught, MESSAGE_SECURITY, PRODUCT, Sensitive,
};
use super::executed;
use super::split;

/// How many bits of a halfword the table leaves out.
const LEFT_OUT: u32 = 3;

/// The number of entries.
const ENTRIES: usize = 0x1_0000 >> LEFT_OUT;

/// What is loaded with an entry: it is the leftmost byte of a word.
const WORD: usize = size_of::<u32>();

/// The bit of what a test of rotated bits may end with.
const ENDS_TEST: u8 = BEGINS_TEST << 1;

/// The bit of what MDEB may end with.
const ENDS_PRODUCT: u8 = BEGINS_PRODUCT << 1;

/// What an instruction may begin with of which the first halfword tells too little. The bit of its end is the next one.
const BEGINS: u8 = BEGINS_TEST | BEGINS_PRODUCT;

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
            Some(Sensitive::Mdebr) => *entry |= PRODUCT,
            Some(sensitive) if sensitive.is_caught(Caught::ALWAYS) => *entry |= ALWAYS,
            Some(_) => *entry |= MESSAGE_SECURITY,
            None => {}
        }
        if split::may_begin_test(halfword) {
            *entry |= BEGINS_TEST;
        }
        if split::may_end_test(halfword) {
            *entry |= ENDS_TEST;
        }
        if split::may_begin_product(halfword) {
            *entry |= BEGINS_PRODUCT;
        }
        if split::may_end_product(halfword) {
            *entry |= ENDS_PRODUCT;
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
/// `has_split` says whether an instruction of [`split`] may begin in them.
#[inline(always)]
#[must_use]
pub fn has_suspects<const N: usize>(
    text: [u64; N],
    next: impl FnOnce() -> u64,
    caught: Caught,
    has_split: impl FnOnce() -> bool,
) -> bool {
    let found = found_in(text);
    let Caught(wanted) = caught;
    if is_suspect(found, wanted & !BEGINS) {
        return true;
    }
    let begins = found & in_entry(wanted & BEGINS);
    let has_end = |found: u32| found & begins << 1 != 0;
    begins != 0 && (has_end(found) || has_end(found_in([next()]))) && has_split()
}

/// Whether any halfword of a doubleword may be the first one of a sensitive instruction, or of an EXECUTE, or the last one
/// of one of [`split`] that is caught. Never misses one.
#[inline(always)]
#[must_use]
pub fn has_suspect_part(doubleword: u64, caught: Caught) -> bool {
    let Caught(wanted) = caught;
    is_suspect(found_in([doubleword]), wanted | (wanted & BEGINS) << 1)
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
    let Caught(wanted) = caught;
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

/// Whether an entry, the leftmost byte, has any of these bits.
#[inline(always)]
const fn is_suspect(word: u32, wanted: u8) -> bool {
    word & in_entry(wanted) != 0
}

/// Bits of an entry where they are in a word that begins with it.
#[inline(always)]
const fn in_entry(bits: u8) -> u32 {
    u32::from_be_bytes([bits, 0, 0, 0])
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
            Caught::ALWAYS.with_products(),
            Caught::MESSAGE_SECURITY.with_tests().with_products(),
        ] {
            for halfword in 0..=u16::MAX {
                let group = halfword & !7..=halfword | 7;
                let expected = group.clone().into_iter().any(|one| {
                    is_caught(one, caught)
                        || executed::is_execute(one)
                        || caught.tests() && split::may_begin_test(one)
                        || caught.products() && split::may_begin_product(one)
                });
                let is_part = expected
                    || group.into_iter().any(|one| {
                        caught.tests() && split::may_end_test(one)
                            || caught.products() && split::may_end_product(one)
                    });
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
                        has_suspects(text, || next, caught, || split::may_begin_in(text, next))
                    })
                };
                // As a test or a product, and as something else with the same beginning.
                let last = if split::may_begin_product(halfword) {
                    0x0C
                } else {
                    0x54
                };
                assert_eq!(is_suspected(0x8000, last), expected, "{halfword:04X}");
                let is_other = expected && !split::may_begin(halfword);
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
