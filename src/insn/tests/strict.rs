//! What a strict machine replaces, on pages of chance.

use proptest::prelude::*;

use crate::offsets::PAGE;
use crate::sensitive::{Caught, is_caught_at};
use crate::{length, strict};

/// A page with many first halfwords of sensitive instructions and of EXECUTEs among others.
fn any_page() -> impl Strategy<Value = Box<[u8; PAGE]>> {
    let halfword = prop_oneof![
        4 => any::<u16>(),
        4 => any::<u8>().prop_map(u16::from),
        2 => prop::sample::select(vec![0xEC12, 0xEC80, 0x8057, 0x0054, 0xB956]),
        1 => prop::sample::select(vec![
            0xB98D, 0xB2B0, 0xE501, 0xB928, 0xB254, 0xB279, 0x4440, 0xC650, 0xC600, 0xB92E, 0x0002,
        ]),
    ];
    prop::collection::vec(halfword, PAGE / 2).prop_map(|halfwords| {
        let mut page = Box::new([0; PAGE]);
        for (place, halfword) in page.as_chunks_mut::<2>().0.iter_mut().zip(halfwords) {
            *place = halfword.to_be_bytes();
        }
        page
    })
}

/// The offsets of the other halfwords of an instruction that begins at an offset.
fn others(page: &[u8; PAGE], offset: usize) -> impl Iterator<Item = usize> + use<> {
    (offset + 2..offset + length(page[offset])).step_by(2)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn wherever_control_comes_what_is_executed_is_not_sensitive_and_encloses_nothing_replaced(
        page in any_page(),
        assist in any::<bool>(),
        tests in any::<bool>(),
        products in any::<bool>(),
        into_next in any::<bool>(),
    ) {
        let caught = if assist { Caught::MESSAGE_SECURITY } else { Caught::ALWAYS };
        let caught = if tests { caught.with_tests() } else { caught };
        let caught = if products { caught.with_products() } else { caught };
        let replaced = strict::scan(&page, caught, into_next).replaced;
        for offset in (0..PAGE).step_by(2) {
            let is_sensitive = is_caught_at(&page, offset, caught);
            let mut enclosed = others(&page, offset);
            let encloses = enclosed.any(|other| if other < PAGE {
                replaced.contains(other)
            } else {
                into_next
            });
            // Nor is anything replaced without a reason.
            prop_assert_eq!(replaced.contains(offset), is_sensitive || encloses, "{:x}", offset);
        }
        let begins = replaced.contains(0) || replaced.contains(2);
        prop_assert_eq!(strict::begins_replaced(&replaced), begins);
    }

    #[test]
    fn what_extends_into_the_next_page_ends_it_with_all_that_enclose_it(page in any_page()) {
        let ends = strict::ends(&page);
        for offset in (0..PAGE).step_by(2) {
            let is_end = others(&page, offset).any(|other| other >= PAGE || ends.contains(other));
            prop_assert_eq!(ends.contains(offset), is_end, "{:x}", offset);
        }
        let last = u64::from_be_bytes(page[PAGE - 8..].try_into().unwrap());
        prop_assert_eq!(strict::extends(last), !ends.is_empty());
    }
}

#[test]
fn an_instruction_that_encloses_a_sensitive_one_is_replaced_with_it() {
    let mut page = [0; PAGE];
    // LGFI 4,B98D0023 behind an LHI, whose immediate value has the length of a longer one, and behind an LR.
    page[0x100..0x10C].copy_from_slice(&[
        0x18, 0x45, 0xA7, 0x48, 0xC0, 0x01, 0xC0, 0x41, 0xB9, 0x8D, 0x00, 0x23,
    ]);
    let replaced = strict::scan(&page, Caught::ALWAYS, false).replaced;
    assert!(replaced.iter().eq([0x102, 0x104, 0x106, 0x108]));
}

#[test]
fn an_instruction_that_extends_into_the_next_page_is_replaced_if_that_begins_with_a_replacement() {
    let mut page = [0; PAGE];
    page[PAGE - 6..].copy_from_slice(&[0xA7, 0x48, 0xC0, 0x01, 0x41, 0x20]);
    let at = |into_next| strict::scan(&page, Caught::ALWAYS, into_next).replaced;
    assert!(at(true).iter().eq([PAGE - 6, PAGE - 4, PAGE - 2]));
    assert!(at(false).is_empty());
    assert_eq!(at(true), strict::ends(&page));
}
