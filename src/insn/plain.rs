//! Which instructions a decode simply passes over, found by a table.
//!
//! Nearly every instruction is assigned, and is followed by the next one only. The opcode alone says so, without the decode
//! of anything else: [`passed`] asks the tables of [`opcodes`](super::opcodes) and [`flow`](super::flow) in one step.

use super::flow;
use super::length;
use super::offsets::PAGE;
use super::opcodes::{self, MAPS};

/// For each first byte: which map has its opcodes, and which byte of the text is looked up in it.
static PLACES: [(u8, u8); 256] = places();

/// The maps without the opcodes that need another look. One bit for each value of the byte, the leftmost for zero.
static PLAIN: [[u8; 32]; MAPS] = plain();

const fn places() -> [(u8, u8); 256] {
    let mut places = [(0, 0); 256];
    let mut first = 0;
    while first < places.len() {
        let (map, at) = opcodes::place(first as u8);
        places[first] = (map as u8, at as u8);
        first += 1;
    }
    places
}

const fn plain() -> [[u8; 32]; MAPS] {
    let mut plain = [[0; 32]; MAPS];
    let mut first = 0;
    while first < 256 {
        let (map, at) = opcodes::place(first as u8);
        let mut code = 0;
        while code < 256 {
            let mut text = [0; 6];
            text[0] = first as u8;
            text[at] = code as u8;
            // The first bytes of other maps have their bit there.
            let is_of_map = at != 0 || code == first;
            if is_of_map && opcodes::assigned_in(map, code as u8) && !flow::is_special(&text) {
                plain[map][code / 8] |= 0x80 >> (code % 8);
            }
            code += 1;
        }
        first += 1;
    }
    plain
}

/// The length of the instruction at an offset, if all of it is in the page and a decode passes over it: if it is assigned,
/// only the next sequential one follows it, and it names no other instruction.
#[inline(always)]
pub fn passed(page: &[u8; PAGE], offset: usize) -> Option<usize> {
    let first = *page.get(offset)?;
    let length = length(first);
    if offset > PAGE - length {
        return None;
    }
    let (map, at) = PLACES[usize::from(first)];
    let code = *page.get(offset + usize::from(at))?;
    let row = PLAIN.get(usize::from(map))?;
    (row[usize::from(code / 8)] << (code % 8) & 0x80 != 0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Next, next};
    use crate::{assigned, opcode};
    use proptest::prelude::*;

    /// Whether a decode passes over a text, and whether it would by the decode of the whole text.
    fn both_ways(text: [u8; 6]) -> (Option<usize>, bool) {
        let mut page = [0xFF; PAGE];
        page[..6].copy_from_slice(&text);
        let is_execute = opcode(&text) == 0xC600;
        let is_sequential = next(&text) == Next::Sequential;
        (
            passed(&page, 0),
            assigned(&text) && is_sequential && !is_execute,
        )
    }

    #[test]
    fn each_opcode_is_passed_that_never_branches() {
        for first in 0..=u8::MAX {
            for code in 0..=u8::MAX {
                for text in [[first, code, 0, 8, 0, 0], [first, 0xF7, 0, 8, 0, code]] {
                    let (passed, is_plain) = both_ways(text);
                    assert!(passed.is_none() || is_plain, "{text:02X?}");
                    // Branches that are never taken, or return, get the other look.
                    let is_branch =
                        [0x07, 0x0B, 0x47, 0xA7, 0xC0].contains(&first) || opcode(&text) == 0xE347;
                    assert!(is_branch || passed.is_some() == is_plain, "{text:02X?}");
                }
            }
        }
    }

    #[test]
    fn an_instruction_that_ends_on_the_next_page_is_not_passed() {
        for (text, bytes) in [
            ([0x18, 0x12, 0, 0, 0, 0], 2),
            ([0xE3, 0x10, 0x20, 0, 0, 4], 6),
        ] {
            let mut page = [0; PAGE];
            page[PAGE - bytes..].copy_from_slice(&text[..bytes]);
            assert_eq!(passed(&page, PAGE - bytes), Some(bytes));
            let mut page = [0; PAGE];
            page[PAGE - 2..].copy_from_slice(&text[..2]);
            assert_eq!(passed(&page, PAGE - 2).is_some(), bytes == 2);
        }
        assert_eq!(passed(&[0; PAGE], PAGE), None);
    }

    proptest! {
        #[test]
        fn what_is_passed_is_assigned_and_never_branches(text: [u8; 6]) {
            let (passed, is_plain) = both_ways(text);
            prop_assert!(passed.is_none_or(|passed| is_plain && passed == length(text[0])));
        }
    }
}
