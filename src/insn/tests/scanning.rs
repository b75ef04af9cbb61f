//! The scanner, on code with and without what it looks for.

use proptest::prelude::*;

use crate::insn::length;
use crate::insn::sensitive::{Caught, PAGE, Sensitive, Site, UNASSIGNED_4, UNASSIGNED_6, scan};

/// STMG, LGR, AGHI; EPSW at 0E; RISBG; CLFI of B98D0012 at 18; JNE to 2E; LA of B2B0 at 22; STFLE at 26; IPM;
/// at 2E BRASL; TPROT at 34; BCR 15,0; PCKMO at 3C; LMG; BR 14 at 46; NOPR; then the constants B98D0012 at 4A
/// and zeros.
#[rustfmt::skip]
const FUNCTION: [u8; 0x56] = [
    0xEB, 0xCF, 0xF0, 0x60, 0x00, 0x24, 0xB9, 0x04, 0x00, 0xC2, 0xA7, 0xFB, 0xFF, 0x60, 0xB9, 0x8D, 0x00, 0x10,
    0xEC, 0x11, 0x00, 0x1F, 0x20, 0x55, 0xC2, 0x0F, 0xB9, 0x8D, 0x00, 0x12, 0xA7, 0x74, 0x00, 0x08, 0x41, 0x20,
    0xB2, 0xB0, 0xB2, 0xB0, 0xC0, 0x00, 0xB2, 0x22, 0x00, 0x20, 0xC0, 0xE5, 0x00, 0x00, 0x08, 0x00, 0xE5, 0x01,
    0xC0, 0x00, 0x20, 0x00, 0x07, 0xF0, 0xB9, 0x28, 0x00, 0x00, 0xEB, 0xCF, 0xF1, 0x00, 0x00, 0x04, 0x07, 0xFE,
    0x07, 0x07, 0xB9, 0x8D, 0x00, 0x12, 0, 0, 0, 0, 0, 0, 0, 0,
];

const EPSW: [u8; 4] = [0xB9, 0x8D, 0x00, 0x10];
const NOPR: [u8; 2] = [0x07, 0x00];
const LR: [u8; 2] = [0x18, 0x12];
const LA: [u8; 4] = [0x41, 0x20, 0xF0, 0xA0];
const LG: [u8; 6] = [0xE3, 0x10, 0xF0, 0xA0, 0x00, 0x04];
const BR_14: [u8; 2] = [0x07, 0xFE];

/// A page of zeros, which no instruction begins with, with `parts` at their offsets.
fn page(parts: &[(usize, &[u8])]) -> [u8; PAGE] {
    let mut page = [0; PAGE];
    for (offset, bytes) in parts {
        let end = PAGE.min(offset + bytes.len());
        page[*offset..end].copy_from_slice(&bytes[..end - offset]);
    }
    page
}

fn sites(page: &[u8; PAGE], entries: &[usize]) -> Vec<(usize, bool)> {
    scan(page, entries, 0, Caught::Always)
        .iter()
        .map(|site| (site.offset, site.proved))
        .collect()
}

#[test]
fn the_message_security_assist_is_seen_only_while_it_is_caught() {
    const ASSIST: [u8; 12] = [
        0x1E, 0x29, 0x2A, 0x2B, 0x2C, 0x2D, 0x2E, 0x2F, 0x3A, 0x3C, 0x3E, 0x3F,
    ];
    let mut page = page(&[(ASSIST.len() * 4, &BR_14)]);
    for (at, code) in (0..).step_by(4).zip(ASSIST) {
        page[at..at + 4].copy_from_slice(&[0xB9, code, 0x40, 0x24]);
    }
    assert!(scan(&page, &[0], 0, Caught::Always).is_empty());
    let found: Vec<Site> = scan(&page, &[0], 0, Caught::MessageSecurity)
        .iter()
        .collect();
    let expected = (0..).step_by(4).zip(ASSIST).map(|(offset, code)| Site {
        offset,
        instruction: Sensitive::MessageSecurity(code),
        proved: true,
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn a_page_without_the_bits_of_a_sensitive_instruction_has_no_sites() {
    let page = page(&[(0, &LG), (6, &LA), (10, &BR_14)]);
    let sites = scan(&page, &[0], 0, Caught::Always);
    assert!(sites.is_empty() && sites.all_proved());
    assert_eq!(sites.iter().count(), 0);
}

#[test]
fn an_instruction_is_proved_and_the_same_bits_in_an_operand_or_a_constant_are_not() {
    let page = page(&[(0x100, &FUNCTION)]);
    let site = |offset, instruction, proved| Site {
        offset,
        instruction,
        proved,
    };
    let found: Vec<Site> = scan(&page, &[0x100], 0, Caught::Always).iter().collect();
    let expected = [
        site(0x10E, Sensitive::Epsw, true),
        site(0x11A, Sensitive::Epsw, false),
        site(0x124, Sensitive::Stfle, false),
        site(0x126, Sensitive::Stfle, true),
        site(0x134, Sensitive::Tprot, true),
        site(0x13C, Sensitive::Pckmo, true),
        site(0x14A, Sensitive::Epsw, false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn only_proved_sites_are_replaced_and_operands_are_kept() {
    let original = page(&[(0x100, &FUNCTION)]);
    let mut copy = original;
    scan(&original, &[0x100], 0, Caught::Always).replace_in(&mut copy);
    let mut expected = original;
    for (offset, halfword) in [
        (0x10E, UNASSIGNED_4),
        (0x126, UNASSIGNED_4),
        (0x134, UNASSIGNED_6),
        (0x13C, UNASSIGNED_4),
    ] {
        expected[offset..offset + 2].copy_from_slice(&halfword.to_be_bytes());
    }
    assert_eq!(copy, expected);
}

#[test]
fn an_entry_that_is_odd_or_outside_the_page_proves_and_refutes_nothing() {
    let page = page(&[(0x100, &FUNCTION)]);
    let none: Vec<_> = scan(&page, &[], 0, Caught::Always).iter().collect();
    let odd: Vec<_> = scan(&page, &[1, 0x101, PAGE, usize::MAX], 0, Caught::Always)
        .iter()
        .collect();
    assert_eq!(none, odd);
}

#[test]
fn a_candidate_is_refuted_when_more_decodes_pass_over_it_than_end_at_it() {
    // LLILF with EPSW's bits as its immediate value, again and again; control is somewhere else.
    let immediate = [0xC0, 0x0F, 0xB9, 0x8D, 0x00, 0x23];
    let parts: Vec<(usize, &[u8])> = (0..40).map(|n| (0x200 + 6 * n, &immediate[..])).collect();
    let page = page(&parts);
    let last = sites(&page, &[]).last().copied();
    assert_eq!(last, Some((0x200 + 6 * 39 + 2, false)));
}

#[test]
fn a_branch_backward_proves_what_stands_before_the_entry() {
    // EPSW, BR 14 at 100; entry at 200: JNE -100, BR 14.
    let jne = [0xA7, 0x74, 0xFF, 0x80];
    let page = page(&[
        (0x100, &EPSW),
        (0x104, &BR_14),
        (0x200, &jne),
        (0x204, &BR_14),
    ]);
    assert_eq!(sites(&page, &[0x200]), [(0x100, true)]);
    // JNOP, the same with a mask of zero, leads nowhere.
    let mut never = page;
    never[0x201] = 0x04;
    // Nothing speaks against it then, and the decode goes on behind it.
    assert_eq!(sites(&never, &[0x200]), [(0x100, true)]);
    // It does not where no return follows.
    never[0x104..0x106].fill(0);
    assert_eq!(sites(&never, &[0x200]), [(0x100, false)]);
}

#[test]
fn constants_that_bras_steps_over_are_not_instructions() {
    // BRAS 13,*+8; B98D0010; LG; EPSW; BR 14: the constant goes on as code does, and yet is none.
    let bras = [0xA7, 0xD5, 0x00, 0x04];
    let code: [&[u8]; 5] = [&bras, &EPSW, &LG, &EPSW, &BR_14];
    let stepped_over = page(&[(0, &code.concat())]);
    assert_eq!(sites(&stepped_over, &[0]), [(4, false), (14, true)]);
    // Unless something else branches there: JNE *-4 in the place of the first four bytes of LG.
    let mut reached = stepped_over;
    reached[8..14].copy_from_slice(&[0xA7, 0x74, 0xFF, 0xFE, 0x18, 0x12]);
    assert_eq!(sites(&reached, &[0]), [(4, true), (14, true)]);
}

#[test]
fn two_entries_that_disagree_leave_a_candidate_unproved() {
    // CLFI 0,B98D0012 entered at its beginning, and two bytes further by a jump into it.
    let clfi = [0xC2, 0x0F, 0xB9, 0x8D, 0x00, 0x12];
    let page = page(&[(0x10, &clfi), (0x16, &BR_14)]);
    assert_eq!(sites(&page, &[0x10]), [(0x12, false)]);
    assert_eq!(sites(&page, &[0x12]), [(0x12, true)]);
    assert_eq!(sites(&page, &[0x10, 0x12]), [(0x12, false)]);
    assert_eq!(sites(&page, &[0x12, 0x10]), [(0x12, false)]);
}

#[test]
fn the_next_function_is_proved_when_its_code_goes_on_and_a_constant_is_not() {
    let function = page(&[(0, &BR_14), (2, &NOPR), (4, &EPSW), (8, &LG), (14, &BR_14)]);
    assert_eq!(sites(&function, &[0]), [(4, true)]);
    let constant = page(&[(0, &BR_14), (2, &NOPR), (4, &EPSW), (8, &[0; 8])]);
    assert_eq!(sites(&constant, &[0]), [(4, false)]);
}

#[test]
fn an_unassigned_opcode_ends_what_an_entry_proves() {
    let page = page(&[
        (0, &LG),
        (6, &[0xB9, 0xF3, 0, 0]),
        (10, &EPSW),
        (14, &[0; 8]),
    ]);
    assert_eq!(sites(&page, &[0]), [(10, false)]);
}

#[test]
fn code_that_no_entry_reaches_is_proved_by_decodes_that_fall_into_step() {
    // A function of 140 bytes before EPSW; the entry is far behind it and leads nowhere near.
    let mut code = Vec::new();
    while code.len() < 140 {
        for instruction in [
            &LG[..],
            &LR,
            &LA,
            &[0xB9, 0x04, 0x00, 0x23],
            &LG,
            &[0xA7, 0x19, 0x00, 0x01],
        ] {
            code.extend_from_slice(instruction);
        }
    }
    let site = 0x200 + code.len();
    let whole = page(&[
        (0x200, &code),
        (site, &EPSW),
        (site + 4, &LG),
        (site + 10, &BR_14),
        (0x800, &BR_14),
    ]);
    assert_eq!(sites(&whole, &[0x800]), [(site, true)]);
    // Less code than the rule asks for.
    let less = 0x200 + 40;
    let short = page(&[
        (0x200, &code[..40]),
        (less, &EPSW),
        (less + 4, &BR_14),
        (0x800, &BR_14),
    ]);
    assert_eq!(sites(&short, &[0x800]), [(less, false)]);
    // The same bits as the immediate value of CLFI: every decode passes over them.
    let clfi = page(&[
        (0x200, &code),
        (site, &[0xC2, 0x0F]),
        (site + 2, &EPSW),
        (site + 6, &BR_14),
    ]);
    assert_eq!(sites(&clfi, &[0x800]), [(site + 2, false)]);
}

#[test]
fn a_site_whose_operands_are_on_the_next_page_needs_only_its_first_halfword() {
    let page = page(&[(4088, &LG), (4094, &[0xE5, 0x01])]);
    let found: Vec<Site> = scan(&page, &[4088], 0, Caught::Always).iter().collect();
    assert_eq!(
        found,
        [Site {
            offset: 4094,
            instruction: Sensitive::Tprot,
            proved: true
        }]
    );
}

#[test]
fn bytes_of_an_instruction_that_began_on_the_page_before_are_no_site() {
    let page = page(&[(0, &EPSW[..2]), (2, &EPSW), (6, &BR_14)]);
    let found: Vec<_> = scan(&page, &[], 2, Caught::Always)
        .iter()
        .map(|site| (site.offset, site.proved))
        .collect();
    assert_eq!(found, [(0, false), (2, true)]);
}

#[test]
fn a_page_full_of_candidates_is_classed_without_losing_one() {
    let mut page = [0; PAGE];
    for pair in page.as_chunks_mut::<2>().0 {
        *pair = [0xB9, 0x28];
    }
    // PCKMO with the same bits as its operand: every second halfword is an instruction.
    let found = sites(&page, &[0]);
    assert_eq!(found.len(), PAGE / 2);
    assert!(
        found
            .iter()
            .all(|&(offset, proved)| proved == (offset % 4 == 0))
    );
}

/// A run of instructions with their lengths as the architecture gives them, drawn from a few opcodes.
fn instructions() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let register = 0_u8..16;
    let one = (0_usize..5, register, any::<u16>()).prop_map(|(kind, register, operand)| {
        let [high, low] = operand.to_be_bytes();
        match kind {
            0 => vec![0x18, register],
            1 => vec![0x41, register, high, low],
            2 => vec![0xC2, 0x0F, high, low, low, high],
            3 => vec![0xE3, register, high, low, 0x00, 0x04],
            _ => vec![0xB9, 0x8D, 0x00, register],
        }
    });
    proptest::collection::vec(one, 1..1200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_random_page_is_classed_and_only_candidates_are_replaced(
        seed in proptest::collection::vec(any::<u16>(), PAGE / 2),
        planted in proptest::collection::vec((0_usize..PAGE / 2, 0_usize..6), 0..60),
        entries in proptest::collection::vec(0_usize..PAGE + 10, 0..8),
        carried in 0_usize..3,
    ) {
        let mut page = [0; PAGE];
        for (pair, halfword) in page.as_chunks_mut::<2>().0.iter_mut().zip(seed) {
            *pair = halfword.to_be_bytes();
        }
        for (index, which) in planted {
            let halfword = [0xB98D_u16, 0xB2B0, 0xE501, 0xB928, 0xB92E, 0xB93F][which];
            page[index * 2..index * 2 + 2].copy_from_slice(&halfword.to_be_bytes());
        }
        let scanned = scan(&page, &entries, carried * 2, Caught::MessageSecurity);
        let always = scan(&page, &entries, carried * 2, Caught::Always);
        let expected = scanned
            .iter()
            .filter(|site| !matches!(site.instruction, Sensitive::MessageSecurity(_)))
            .map(|site| site.offset);
        prop_assert!(always.iter().map(|site| site.offset).eq(expected));
        let mut copy = page;
        scanned.replace_in(&mut copy);
        let sites: Vec<Site> = scanned.iter().collect();
        for offset in (0..PAGE).step_by(2) {
            let halfword = u16::from_be_bytes([page[offset], page[offset + 1]]);
            let site = sites.iter().find(|site| site.offset == offset);
            prop_assert_eq!(site.map(|site| site.instruction), Sensitive::from_halfword(halfword));
            let changed = copy[offset..offset + 2] != page[offset..offset + 2];
            prop_assert_eq!(changed, site.is_some_and(|site| site.proved));
        }
    }

    #[test]
    fn straight_code_is_told_apart_from_its_operands_without_an_error(code in instructions()) {
        let mut page = [0; PAGE];
        let mut begins = Vec::new();
        let mut offset = 0;
        for instruction in code {
            assert_eq!(length(instruction[0]), instruction.len());
            let end = PAGE.min(offset + instruction.len());
            if offset < end {
                page[offset..end].copy_from_slice(&instruction[..end - offset]);
                begins.push(offset);
            }
            offset += instruction.len();
        }
        for (offset, proved) in sites(&page, &[0]) {
            prop_assert_eq!(proved, begins.contains(&offset), "at {:04X}", offset);
        }
    }
}
