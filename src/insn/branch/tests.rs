//! Branches in given states, with the results that the Principles of Operation gives.

use super::{Branch, Site, Target, branch};
use crate::{assigned, opcode};
use arch::psw::{ADDRESSING_64, BASIC_ADDRESSING, CONDITION_CODE};

const SITE: Site = Site {
    at: 0x2000,
    next: 0x2004,
    length_code: 2,
};

/// An instruction's text from its number: two, four or six bytes.
fn text(number: u64) -> [u8; 6] {
    let bytes = number.to_be_bytes();
    let first = bytes.iter().position(|&byte| byte != 0).unwrap_or(7);
    let mut text = [0; 6];
    text[..8 - first].copy_from_slice(&bytes[first..]);
    text
}

/// Registers that are zero but for those listed.
fn registers(list: &[(usize, u64)]) -> [u64; 16] {
    let mut general = [0; 16];
    for &(number, content) in list {
        general[number] = content;
    }
    general
}

fn perform_at(site: Site, number: u64, list: &[(usize, u64)], mask: u64) -> Branch {
    branch(&text(number), &site, &registers(list), mask).expect("it is a branch")
}

/// In the 64-bit mode.
fn perform(number: u64, list: &[(usize, u64)]) -> Branch {
    perform_at(SITE, number, list, ADDRESSING_64)
}

fn to(target: u64) -> Option<Target> {
    Some(Target::Address(target))
}

#[test]
fn a_mask_selects_condition_codes_from_left_to_right() {
    for mask in 0..16_u64 {
        for code in 0..4_u64 {
            let psw = ADDRESSING_64 | code << 44;
            let taken = mask >> (3 - code) & 1 == 1;
            let expected = |target| if taken { to(target) } else { None };
            let registers = [(3, 0x5000)];
            // BCR, BC, BRC, BRCL with register 3 or a distance of 8 bytes.
            for (number, target) in [
                (0x0703 | mask << 4, 0x5000),
                (0x4700_3008 | mask << 20, 0x5008),
                (0xA704_0004 | mask << 20, 0x2008),
                (0xC004_0000_0004 | mask << 36, 0x2008),
            ] {
                let done = perform_at(SITE, number, &registers, psw);
                assert_eq!(done.target, expected(target), "{number:X}, code {code}");
                assert_eq!((done.changed, done.addressing), (None, ADDRESSING_64));
            }
            let indirect = perform_at(SITE, 0xE300_3010_0047 | mask << 36, &registers, psw);
            assert_eq!(indirect.target, taken.then_some(Target::Stored(0x5010)));
        }
    }
}

#[test]
fn a_zero_in_the_r2_field_means_no_branch_and_the_rest_is_done() {
    let zero = [(0, 0x7000), (1, 5)];
    assert_eq!(perform(0x07F0, &zero).target, None);
    for number in [0x0510, 0x0D10, 0x0C10] {
        let done = perform(number, &zero);
        assert_eq!(done.target, None, "{number:X}");
        assert_eq!(
            done.changed,
            Some((1, 0x2004 | u64::from(number == 0x0C10)))
        );
        assert_eq!(done.addressing, ADDRESSING_64);
    }
    for number in [0x0610, 0xB946_0010] {
        let done = perform(number, &zero);
        assert_eq!(
            (done.target, done.changed),
            (None, Some((1, 4))),
            "{number:X}"
        );
    }
    let done = perform(0x0B10, &zero);
    assert_eq!((done.target, done.changed), (None, Some((1, 5))));
    assert_eq!(perform(0x0B00, &zero).changed, None);
}

#[test]
fn a_link_replaces_bits_32_to_63_below_the_64_bit_mode() {
    const OLD: u64 = 0x1234_5678_9ABC_DEF0;
    let list = [(14, OLD), (5, 0x8000_4000)];
    // BASR, BAS, BRAS, BRASL.
    for number in [0x0DE5, 0x4DE0_5000, 0xA7E5_0010, 0xC0E5_0000_0010] {
        let link = |mask| perform_at(SITE, number, &list, mask).changed;
        assert_eq!(link(ADDRESSING_64), Some((14, 0x2004)), "{number:X}");
        assert_eq!(link(BASIC_ADDRESSING), Some((14, 0x1234_5678_8000_2004)));
        assert_eq!(link(CONDITION_CODE), Some((14, 0x1234_5678_0000_2004)));
    }
}

#[test]
fn branch_and_link_in_the_24_bit_mode_saves_length_code_condition_code_and_program_mask() {
    let list = [(14, 0xFFFF_FFFF_0000_0000), (5, 0x0400_4000)];
    let mask = 2 << 44 | 0b0110 << 40;
    for number in [0x05E5, 0x45E0_5000] {
        let done = perform_at(SITE, number, &list, mask);
        assert_eq!(done.changed, Some((14, 0xFFFF_FFFF_A600_2004)));
        assert_eq!(done.target, to(0x4000), "address bits 40-63 only");
    }
    let short = Site {
        length_code: 1,
        ..SITE
    };
    let done = perform_at(short, 0x05E5, &list, mask);
    assert_eq!(done.changed, Some((14, 0xFFFF_FFFF_6600_2004)));
    let done = perform_at(SITE, 0x05E5, &list, mask | BASIC_ADDRESSING);
    assert_eq!(done.changed, Some((14, 0xFFFF_FFFF_8000_2004)));
    assert_eq!(perform(0x05E5, &list).changed, Some((14, 0x2004)));
}

#[test]
fn set_mode_takes_the_mode_from_the_rightmost_bit_and_then_from_bit_32() {
    for (content, mode, target) in [
        (0x1_8000_4001, ADDRESSING_64, 0x1_8000_4000),
        (0x1_8000_4000, BASIC_ADDRESSING, 0x4000),
        (0x1_7F00_4000, 0, 0x4000),
    ] {
        for before in [0, BASIC_ADDRESSING, ADDRESSING_64] {
            for number in [0x0B12, 0x0C12] {
                let done = perform_at(SITE, number, &[(2, content)], before);
                assert_eq!((done.target, done.addressing), (to(target), mode));
            }
        }
    }
}

#[test]
fn what_set_mode_saves_tells_the_mode_it_came_from() {
    let list = [(1, 0xAAAA_AAAA_FFFF_FFF0), (2, 0x4000)];
    let changed = |number, mask| perform_at(SITE, number, &list, mask).changed;
    assert_eq!(
        changed(0x0B12, ADDRESSING_64),
        Some((1, 0xAAAA_AAAA_FFFF_FFF1))
    );
    assert_eq!(
        changed(0x0B12, BASIC_ADDRESSING),
        Some((1, 0xAAAA_AAAA_FFFF_FFF0))
    );
    assert_eq!(changed(0x0B12, 0), Some((1, 0xAAAA_AAAA_7FFF_FFF0)));
    assert_eq!(changed(0x0B02, 0), None);
    assert_eq!(changed(0x0C12, ADDRESSING_64), Some((1, 0x2005)));
    assert_eq!(
        changed(0x0C12, BASIC_ADDRESSING),
        Some((1, 0xAAAA_AAAA_8000_2004))
    );
    assert_eq!(
        changed(0x0C12, CONDITION_CODE),
        Some((1, 0xAAAA_AAAA_0000_2004))
    );
}

#[test]
fn a_register_that_is_branch_address_and_result_is_read_first() {
    let done = perform(0x0D55, &[(5, 0x9000)]);
    assert_eq!((done.target, done.changed), (to(0x9000), Some((5, 0x2004))));
    let done = perform(0x0655, &[(5, 0x9000)]);
    assert_eq!((done.target, done.changed), (to(0x9000), Some((5, 0x8FFF))));
    let done = perform(0x0C55, &[(5, 0x9001)]);
    assert_eq!((done.target, done.changed), (to(0x9000), Some((5, 0x2005))));
    let done = perform(0x4655_5000, &[(5, 0x9000)]);
    assert_eq!(
        (done.target, done.changed),
        (to(0x1_2000), Some((5, 0x8FFF)))
    );
}

#[test]
fn a_count_wraps_in_its_own_bits_and_branches_unless_it_reaches_zero() {
    const HIGH: u64 = 0x7_0000_0000;
    // BCTR, BCT, BRCT count in bits 32-63.
    for number in [0x0612, 0x4610_2000, 0xA716_0004] {
        assert_eq!(perform(number, &[(1, HIGH | 1), (2, 0x4000)]).target, None);
        let done = perform(number, &[(1, HIGH), (2, 0x4000)]);
        assert_eq!(done.changed, Some((1, HIGH | 0xFFFF_FFFF)), "{number:X}");
        assert!(done.target.is_some());
    }
    // BCTGR, BCTG, BRCTG in all 64.
    for number in [0xB946_0012, 0xE310_2000_0046, 0xA717_0004] {
        assert_eq!(perform(number, &[(1, 1), (2, 0x4000)]).target, None);
        let done = perform(number, &[(1, HIGH), (2, 0x4000)]);
        assert_eq!(done.changed, Some((1, 0x6_FFFF_FFFF)), "{number:X}");
        assert!(done.target.is_some());
    }
    // BRCTH in bits 0-31.
    let done = perform(0xCC16_0000_0004, &[(1, 0x1_0000_0009)]);
    assert_eq!((done.target, done.changed), (None, Some((1, 9))));
    let done = perform(0xCC16_0000_0004, &[(1, 9)]);
    assert_eq!(done.changed, Some((1, 0xFFFF_FFFF_0000_0009)));
    assert_eq!(done.target, to(0x2008));
}

#[test]
fn an_index_is_compared_with_the_odd_register_of_the_pair() {
    // (increment and comparand in registers 4 and 5) index 7 + 3 against 9 and 10.
    for (limit, is_high) in [(9, true), (10, false), (u32::MAX.into(), true)] {
        let list = [(1, 7), (4, 3), (5, limit), (6, 0x4000)];
        // BXH, BRXH; BXLE, BRXLE.
        for (high, low) in [(0x8614_6000, 0x8714_6000), (0x8414_0004, 0x8514_0004)] {
            assert_eq!(perform(high, &list).target.is_some(), is_high, "{high:X}");
            assert_eq!(perform(low, &list).target.is_some(), !is_high, "{low:X}");
            assert_eq!(perform(high, &list).changed, Some((1, 10)));
        }
        let is_high = limit == 9;
        for (high, low) in [
            (0xEB14_6000_0044, 0xEB14_6000_0045),
            (0xEC14_0004_0044, 0xEC14_0004_0045),
        ] {
            assert_eq!(perform(high, &list).target.is_some(), is_high, "{high:X}");
            assert_eq!(perform(low, &list).target.is_some(), !is_high, "{low:X}");
        }
    }
    // With an odd R3 one register is both; as the first operand it is compared as it was.
    let done = perform(0x8655_6000, &[(5, 4), (6, 0x4000)]);
    assert_eq!((done.target, done.changed), (to(0x4000), Some((5, 8))));
    // An overflow is ignored, and the rest of the register with it.
    let done = perform(0x8614_6000, &[(1, 0x9_7FFF_FFFF), (4, 1), (6, 0x4000)]);
    assert_eq!(
        (done.target, done.changed),
        (None, Some((1, 0x9_8000_0000)))
    );
}

#[test]
fn compare_and_branch_compares_signed_or_logical_32_or_64_bits() {
    const FIRST: u64 = 0x1_FFFF_FFFF;
    const SECOND: u64 = 0x0_0000_0001;
    // Which of the mask bits selects the outcome (4: low, 2: high), by opcode: relative, then to storage.
    for (relative, absolute, selects) in [
        (0x64, 0xE4, 2_u64),
        (0x65, 0xE5, 2),
        (0x76, 0xF6, 4),
        (0x77, 0xF7, 2),
    ] {
        for m3 in 0..16_u64 {
            let list = [(1, FIRST), (2, SECOND), (3, 0x4000)];
            let expected = m3 & selects != 0;
            let number = 0xEC12_0004_0000 | m3 << 12 | relative;
            let done = perform(number, &list);
            assert_eq!(done.target, if expected { to(0x2008) } else { None });
            let number = 0xEC12_3004_0000 | m3 << 12 | absolute;
            let done = perform(number, &list);
            assert_eq!(done.target, if expected { to(0x4004) } else { None });
            assert_eq!(done.changed, None);
        }
    }
    // With the immediate value FF: -1, or 255.
    for (relative, absolute, selects) in [
        (0x7C, 0xFC, 2_u64),
        (0x7D, 0xFD, 2),
        (0x7E, 0xFE, 8),
        (0x7F, 0xFF, 2),
    ] {
        for m3 in 0..16_u64 {
            let list = [(1, FIRST), (3, 0x4000)];
            let expected = m3 & selects != 0;
            let done = perform(0xEC10_0004_FF00 | m3 << 32 | relative, &list);
            assert_eq!(done.target, if expected { to(0x2008) } else { None });
            let done = perform(0xEC10_3004_FF00 | m3 << 32 | absolute, &list);
            assert_eq!(done.target, if expected { to(0x4004) } else { None });
        }
    }
}

#[test]
fn an_executed_branch_is_relative_to_itself_and_links_behind_the_execute() {
    let site = Site {
        at: 0x9000,
        next: 0x2006,
        length_code: 3,
    };
    let done = perform_at(site, 0xA7E5_FFFC, &[], ADDRESSING_64);
    assert_eq!(
        (done.target, done.changed),
        (to(0x8FF8), Some((14, 0x2006)))
    );
    let done = perform_at(site, 0x45E0_0100, &[], 0);
    assert_eq!(done.changed, Some((14, 0xC000_2006)));
}

#[test]
fn addresses_wrap_in_the_addressing_mode() {
    let low = Site {
        at: 0,
        next: 0x0100_0000,
        length_code: 2,
    };
    let back = 0xA7E5_FFFF;
    for (mask, target) in [
        (0, 0x00FF_FFFE),
        (BASIC_ADDRESSING, 0x7FFF_FFFE),
        (ADDRESSING_64, u64::MAX - 1),
    ] {
        assert_eq!(perform_at(low, back, &[], mask).target, to(target));
    }
    assert_eq!(perform_at(low, back, &[], 0).changed, Some((14, 0)));
    let done = perform_at(
        SITE,
        0x47F1_2010,
        &[(1, 0x7FFF_FFF0), (2, 0x20)],
        BASIC_ADDRESSING,
    );
    assert_eq!(done.target, to(0x20), "index, base and displacement");
}

#[test]
fn a_branch_to_the_next_instruction_and_one_to_itself_are_taken() {
    assert_eq!(perform(0xA7F4_0002, &[]).target, to(SITE.next));
    assert_eq!(perform(0xA7F4_0000, &[]).target, to(SITE.at));
    let done = perform(0xA716_0000, &[(1, 7)]);
    assert_eq!((done.target, done.changed), (to(SITE.at), Some((1, 6))));
}

/// The assigned opcodes that are branches, for the field values that the text has.
fn branches() -> Vec<u16> {
    let mut found = Vec::new();
    for first in 0..=255 {
        for second in 0..=255 {
            for text in [[first, second, 0, 0, 0, 0], [first, 0, 0, 0, 0, second]] {
                if assigned(&text) && branch(&text, &SITE, &[0; 16], 0).is_some() {
                    found.push(opcode(&text));
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn the_branches_are_these_and_no_others() {
    #[rustfmt::skip]
    const BRANCHES: &[u16] = &[
        0x0500, 0x0600, 0x0700, 0x0B00, 0x0C00, 0x0D00, 0x4500, 0x4600, 0x4700, 0x4D00, 0x8400, 0x8500,
        0x8600, 0x8700, 0xA704, 0xA705, 0xA706, 0xA707, 0xB946, 0xC004, 0xC005, 0xCC06, 0xE346, 0xE347,
        0xEB44, 0xEB45, 0xEC44, 0xEC45, 0xEC64, 0xEC65, 0xEC76, 0xEC77, 0xEC7C, 0xEC7D, 0xEC7E, 0xEC7F,
        0xECE4, 0xECE5, 0xECF6, 0xECF7, 0xECFC, 0xECFD, 0xECFE, 0xECFF,
    ];
    assert_eq!(branches(), BRANCHES);
}
