//! Sensitive instructions whose opcode is in the first byte and the last one. QEMU is what makes them sensitive: the firmware
//! performs those that the QEMU below does not perform as it should.
//!
//! - **Tests of rotated bits**: ROTATE THEN AND, OR or EXCLUSIVE OR SELECTED BITS with the T bit, by which the result is not
//!   stored and the condition code is all that it sets. QEMU before 8.0 ends while it translates one.
//! - **MDEB**, MULTIPLY of a short BFP operand in storage to a long product. QEMU before 8.0.4 takes the operand in the register
//!   for a long one. It does so for MDEBR, too, whose first halfword tells it. The byte before the last one is not part of the
//!   opcode, but it should be zero, and no assembler makes another. Only such a text is taken for one: by two bytes alone, one
//!   page in twelve of any text would have what looks like it.
//!
//! The T bit is that of the third byte, and so all three halfwords may say what a text is. EXECUTE changes none of these bits. If
//! the second part is on the next page, neither page says it. So
//! no page with the first part of one at its end is mapped in front of a page that begins with the rest; what extends from
//! it is replaced instead (`crosses`). Both are rare, and [`is_edge`] says at once that a page has neither. Where a part is all
//! that is known, it does not matter which of them the QEMU below lacks.

use super::caught::Caught;
use super::operand::Operand;

/// The number of halfwords of the text.
const HALFWORDS: usize = 3;

/// Whether the text of one may begin with this halfword.
#[must_use]
#[inline]
pub const fn may_begin(halfword: u16) -> bool {
    may_begin_test(halfword) || may_begin_product(halfword)
}

/// Whether the text of a test may begin with this halfword.
pub(super) const fn may_begin_test(halfword: u16) -> bool {
    halfword >> 8 == 0xEC
}

/// Whether the text of MDEB may begin with this halfword.
pub(super) const fn may_begin_product(halfword: u16) -> bool {
    halfword >> 8 == 0xED
}

/// Whether a second halfword has the T bit.
const fn has_t(halfword: u16) -> bool {
    halfword & 0x8000 != 0
}

/// Whether the text of a test may end with this halfword. ROTATE THEN INSERT SELECTED BITS, 55, has another bit in the place of
/// the T bit.
pub(super) const fn may_end_test(halfword: u16) -> bool {
    matches!(halfword as u8, 0x54 | 0x56 | 0x57)
}

/// Whether the text of MDEB may end with this halfword.
pub(super) const fn may_end_product(halfword: u16) -> bool {
    halfword == 0x0C
}

/// Whether a text is that of a test.
#[must_use]
#[inline]
pub const fn is_test(text: [u16; HALFWORDS]) -> bool {
    may_begin_test(text[0]) && has_t(text[1]) && may_end_test(text[2])
}

/// Whether a text is that of MDEB.
#[must_use]
#[inline]
pub const fn is_product(text: [u16; HALFWORDS]) -> bool {
    may_begin_product(text[0]) && may_end_product(text[2])
}

/// The operand in storage of MDEB. The format is RXE: as far as that goes, as RX.
#[must_use]
pub const fn second(text: &[u8; 6]) -> Operand {
    super::format::rx::second(text)
}

/// Whether a text is that of one that is caught.
#[must_use]
#[inline]
pub const fn is_caught(text: [u16; HALFWORDS], caught: Caught) -> bool {
    caught.tests() && is_test(text) || caught.products() && is_product(text)
}

/// Whether a text is that of any.
const fn is_any(text: [u16; HALFWORDS]) -> bool {
    is_test(text) || is_product(text)
}

/// The halfwords of a text.
#[must_use]
pub const fn halfwords(text: &[u8; 6]) -> [u16; HALFWORDS] {
    let [a, b, c, d, e, f] = *text;
    [
        u16::from_be_bytes([a, b]),
        u16::from_be_bytes([c, d]),
        u16::from_be_bytes([e, f]),
    ]
}

/// A one in each halfword of a doubleword.
const EACH: u64 = 0x0001_0001_0001_0001;

/// Whether one may begin in some doublewords, behind which `next` stands. Never misses one, and seldom takes something else
/// for one.
#[must_use]
#[inline(always)]
pub fn may_begin_in<const N: usize>(text: [u64; N], next: u64) -> bool {
    for (at, &one) in text.iter().enumerate() {
        // A halfword is zero where the first byte of one stands, EC or ED. Most doublewords have none.
        let begins = (one ^ (EACH * 0xEC00)) & (EACH * 0xFE00);
        let is_zero = |differs: u64| differs.wrapping_sub(EACH) & !differs & (EACH << 15);
        if is_zero(begins) == 0 {
            continue;
        }
        let rest = text.get(at + 1).copied().unwrap_or(next);
        let second = one << 16 | rest >> 48;
        let third = one << 32 | rest >> 32;
        // Nearly the last byte of a test, or the last halfword of MDEB, is in its place.
        let test = begins | (third ^ (EACH * 0x50)) & (EACH * 0xF8);
        let product = begins | third ^ (EACH * 0x0C);
        if is_zero(test) & second != 0 || is_zero(product) != 0 {
            return true;
        }
    }
    false
}

/// Whether one has any of its halfwords in `between`, where these doublewords are around it.
#[must_use]
pub const fn is_any_in(before: u64, between: u64, after: u64) -> bool {
    // The first one that reaches into it begins two halfwords before, and the last one in its last halfword.
    let mut text = before << 32 | between >> 32;
    let mut rest = between << 32 | after >> 32;
    let mut begins = 0;
    while begins < 6 {
        if is_any([
            (text >> 48) as u16,
            (text >> 32) as u16,
            (text >> 16) as u16,
        ]) {
            return true;
        }
        text = text << 16 | rest >> 48;
        rest <<= 16;
        begins += 1;
    }
    false
}

/// Whether one extends from a page that ends with the doubleword `last` into one that begins with `first`.
#[must_use]
pub const fn crosses(last: u64, first: u64) -> bool {
    let [one, two] = [(last >> 16) as u16, last as u16];
    let [three, four] = [(first >> 48) as u16, (first >> 32) as u16];
    is_any([one, two, three]) || is_any([two, three, four])
}

/// Whether a page that begins with the doubleword `first`, and ends with `last`, may have a part of one that crosses its
/// boundary.
#[must_use]
pub const fn is_edge(first: u64, last: u64) -> bool {
    has_rest(first) || has_first_part(last)
}

/// Whether the rest of one may be at the beginning of a page.
#[must_use]
pub const fn has_rest(first: u64) -> bool {
    let [three, four] = [(first >> 48) as u16, (first >> 32) as u16];
    may_end_test(three)
        || has_t(three) && may_end_test(four)
        || may_end_product(three)
        || may_end_product(four)
}

/// Whether the first part of one may be at the end of a page.
#[must_use]
pub const fn has_first_part(last: u64) -> bool {
    let [one, two] = [(last >> 16) as u16, last as u16];
    may_begin(two) || may_begin_test(one) && has_t(two) || may_begin_product(one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensitive::{Caught, is_caught_at};
    use proptest::prelude::*;

    /// Halfwords of a text, of which many are parts of the instructions.
    fn halfword() -> impl Strategy<Value = u16> {
        prop_oneof![
            any::<u16>(),
            (any::<u8>(), 0xEC..0xEE_u16).prop_map(|(low, high)| high << 8 | u16::from(low)),
            any::<u16>().prop_map(|any| any | 0x8000),
            prop_oneof![Just(0x0C), any::<u16>().prop_map(|any| any & 0xFF00 | 0x0C)],
            (any::<u8>(), 0x54..0x58_u16).prop_map(|(high, low)| u16::from(high) << 8 | low),
        ]
    }

    fn doubleword(halfwords: &[u16]) -> u64 {
        halfwords
            .iter()
            .fold(0, |left, &halfword| left << 16 | u64::from(halfword))
    }

    #[test]
    fn the_t_bit_of_three_opcodes_makes_a_test() {
        for (text, expected) in [
            ([0xEC12, 0x803F, 0x0054], true),
            ([0xEC12, 0x803F, 0x0056], true),
            ([0xECFF, 0xBF00, 0x3F57], true),
            // Bits that are ignored.
            ([0xEC12, 0xFFFF, 0xFF57], true),
            ([0xEC12, 0x803F, 0x0055], false),
            ([0xEC12, 0x7F3F, 0x0057], false),
            ([0xEB12, 0x803F, 0x0057], false),
            ([0xEC12, 0x803F, 0x0059], false),
        ] {
            assert_eq!(is_test(text), expected, "{text:04X?}");
        }
    }

    #[test]
    fn the_first_byte_and_the_last_one_make_a_product() {
        for (text, expected) in [
            ([0xED12, 0x803F, 0x000C], true),
            ([0xEDFF, 0x7FFF, 0x000C], true),
            ([0xEDFF, 0x7FFF, 0xFF0C], false),
            ([0xED12, 0x803F, 0x0C0D], false),
            ([0xEC12, 0x803F, 0x000C], false),
        ] {
            assert_eq!(is_product(text), expected, "{text:04X?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn one_is_found_wherever_it_is_around_a_doubleword_or_the_end_of_a_page(
            text in prop::collection::vec(halfword(), 12),
        ) {
            let any = |from: usize, to: usize| {
                (from..to).any(|at| is_any([text[at], text[at + 1], text[at + 2]]))
            };
            let [before, between, after] = [0, 4, 8].map(|at| doubleword(&text[at..at + 4]));
            prop_assert_eq!(is_any_in(before, between, after), any(2, 8));
            // The first doubleword is the end of a page.
            prop_assert_eq!(crosses(before, between), any(2, 4));
            if crosses(before, between) {
                prop_assert!(is_edge(between, 0) && is_edge(0, before));
            }
        }

        #[test]
        fn the_scanner_catches_one_that_is_whole_in_its_page_and_only_where_it_is_to(
            text in prop::collection::vec(halfword(), 8),
            end in any::<bool>(),
        ) {
            let from = if end { 4096 - 16 } else { 0x100 };
            let mut page = [0; 4096];
            for (at, halfword) in (from..).step_by(2).zip(&text) {
                page[at..at + 2].copy_from_slice(&halfword.to_be_bytes());
            }
            for n in 0..6 {
                let halfwords = [text[n], text[n + 1], text[n + 2]];
                let at = from + 2 * n;
                let is_mdebr = text[n] == 0xB30C && (at + 4 > 4096 || text[n + 1] < 0x100);
                let others = is_caught_at(&page, at, Caught::ALWAYS);
                for (caught, is_one) in [
                    (Caught::ALWAYS.with_tests(), is_test(halfwords)),
                    (Caught::ALWAYS.with_products(), is_product(halfwords) || is_mdebr),
                ] {
                    prop_assert_eq!(is_caught_at(&page, at, caught), others || is_one);
                    prop_assert!(!(others && is_one));
                }
            }
        }
    }
}
