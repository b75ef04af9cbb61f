//! Instructions that extend into the next page, or end there.

use crate::offsets::PAGE;
use crate::sensitive::{Caught, scan, scan_again};
use crate::{Offsets, assigned, length};

/// First halfwords of sensitive instructions and of EXECUTEs.
const SENSITIVE: [u16; 9] = [
    0xB98D, 0xB2B0, 0xB279, 0xE501, 0xB928, 0xB254, 0xB93C, 0x4490, 0xC650,
];

/// The text of an instruction of each first byte and each second part of an opcode, of which as much is assigned as not.
fn texts() -> impl Iterator<Item = [u8; 6]> {
    let all = (0..=u8::MAX).flat_map(|first| (0..=u8::MAX).map(move |code| (first, code)));
    all.filter_map(|(first, code)| match first {
        0xE3 | 0xE6 | 0xE7 | 0xEB | 0xEC | 0xED => Some([first, 0x23, 0x00, 0x08, 0x00, code]),
        0x01 | 0xB2 | 0xB3 | 0xB9 | 0xE5 | 0xA5 | 0xA7 | 0xAA | 0xC0 | 0xC2 | 0xC4 | 0xC8
        | 0xCC => Some([first, code, 0x00, 0x08, 0x00, 0x08]),
        // EXECUTE is sensitive itself, and so is what begins with B2, B9 or E5 in some cases.
        0x44 | 0xC6 => None,
        _ => (code == 0x23).then_some([first, code, 0x00, 0x08, 0x00, 0x08]),
    })
    .filter(|text| !SENSITIVE.contains(&u16::from_be_bytes([text[0], text[1]])))
}

/// Every text with a sensitive halfword in each of its later halfwords, at every offset at the end of a page: the page, the
/// offset and the text. One text has the first of the sensitive halfwords, the next one the second.
fn each(mut test: impl FnMut(&[u8; PAGE], usize, [u8; 6])) {
    const LA: [u8; 4] = [0x41, 0x20, 0x00, 0xA0];
    let mut page = [0; PAGE];
    page[0x100..0x102].copy_from_slice(&[0x07, 0xFE]);
    for (n, text) in texts().enumerate() {
        let length = length(text[0]);
        for at in (2..length).step_by(2) {
            let halfword = SENSITIVE[(n + at) % SENSITIVE.len()];
            let mut text = text;
            text[at..at + 2].copy_from_slice(&halfword.to_be_bytes());
            for offset in (PAGE - 8..PAGE).step_by(2) {
                page[PAGE - 64..].fill(0);
                // What leads there: six instructions, or none.
                for lead in [0, 6] {
                    for n in 1..=lead {
                        page[offset - 4 * n..][..4].copy_from_slice(&LA);
                    }
                    let end = PAGE.min(offset + length);
                    page[offset..end].copy_from_slice(&text[..end - offset]);
                    test(&page, offset, text);
                }
            }
        }
    }
}

/// Whether the hardware executes the instruction at an offset as it is.
fn is_whole(replaced: &Offsets, offset: usize, length: usize) -> bool {
    let end = PAGE.min(offset + length);
    !(offset..end).step_by(2).any(|at| replaced.contains(at))
}

#[test]
fn an_instruction_at_the_end_of_a_page_is_executed_as_it_is_however_control_comes_to_it() {
    each(|page, offset, text| {
        let is_assigned = assigned(&text);
        for entry in [0x100, offset - 24, offset] {
            let before = scan(page, Some(entry), 0, Caught::ALWAYS).replaced;
            if before.contains(offset) {
                let again = (offset, is_assigned);
                let after = scan_again(page, &before, again, Caught::ALWAYS);
                assert_eq!(
                    is_whole(&after, offset, length(text[0])),
                    is_assigned,
                    "{text:02x?} at {offset:x}, entered at {entry:x}"
                );
            } else {
                assert!(
                    is_whole(&before, offset, length(text[0])),
                    "{text:02x?} at {offset:x}, entered at {entry:x}"
                );
            }
        }
    });
}
