//! The stretches that are watched, on code made by hand and on random pages.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::insn::flow::next;
use crate::insn::sensitive::{Caught, PAGE, Sensitive, Stretch, scan};
use crate::insn::{assigned, length};

fn page(parts: &[(usize, &[u8])]) -> [u8; PAGE] {
    let mut page = [0; PAGE];
    for (offset, bytes) in parts {
        page[*offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    page
}

fn stretches(page: &[u8; PAGE], entries: &[usize]) -> Vec<(usize, usize)> {
    scan(page, entries, 0, Caught::Always)
        .stretches(|_| false)
        .map(|Stretch { start, end }| (start, end))
        .collect()
}

/// EPSW, COMPARE of a register with itself, a conditional branch, and what no instruction begins with.
const UNKNOWN: [u8; 10] = [0xB9, 0x8D, 0, 0x23, 0x19, 0, 0x07, 0x8E, 0, 0];
const NOPR: [u8; 2] = [0x07, 0x00];
const BR_14: [u8; 2] = [0x07, 0xFE];
/// LLILF whose immediate value has the bits of EPSW.
const IMMEDIATE: [u8; 6] = [0xC0, 0x2F, 0xB9, 0x8D, 0, 0x23];

#[test]
fn a_stretch_goes_as_far_to_both_sides_as_nothing_is_known_to_be_executed() {
    let page = page(&[
        (0x100, &NOPR),
        (0x102, &BR_14),
        (0x200, &UNKNOWN),
        (0x300, &NOPR),
        (0x302, &BR_14),
    ]);
    assert_eq!(stretches(&page, &[0x100]), [(0x104, PAGE)]);
    assert_eq!(stretches(&page, &[0x100, 0x300]), [(0x104, 0x300)]);
    assert_eq!(stretches(&page, &[0x300]), [(0, 0x300)]);
    // Control comes there: it is proved, and nothing is left.
    assert_eq!(stretches(&page, &[0x100, 0x200]), []);
}

#[test]
fn two_candidates_with_code_between_them_are_two_stretches_and_without_it_one() {
    let page = page(&[
        (0x100, &UNKNOWN),
        (0x180, &UNKNOWN),
        (0x200, &BR_14),
        (0x300, &UNKNOWN),
    ]);
    assert_eq!(stretches(&page, &[0x200]), [(0, 0x200), (0x202, PAGE)]);
    assert_eq!(stretches(&page, &[]), [(0, PAGE)]);
}

#[test]
fn the_operand_of_an_instruction_that_control_reaches_is_in_no_stretch() {
    let page = page(&[(0x100, &IMMEDIATE), (0x106, &BR_14)]);
    assert_eq!(stretches(&page, &[0x100]), []);
    assert_eq!(scan(&page, &[0x100], 0, Caught::Always).iter().count(), 1);
}

#[test]
fn a_settled_candidate_is_in_no_stretch() {
    let page = page(&[(0x100, &UNKNOWN), (0x200, &BR_14)]);
    let sites = scan(&page, &[0x200], 0, Caught::Always);
    assert_eq!(sites.stretches(|offset| offset == 0x100).count(), 0);
    assert_eq!(sites.stretches(|offset| offset == 0x102).count(), 1);
}

/// First halfwords of what control reaches from the entries, and all halfwords of it: followed one
/// instruction after the other, without regard to overlaps.
fn reached(page: &[u8; PAGE], entries: &[usize]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (mut begins, mut all) = (BTreeSet::new(), BTreeSet::new());
    let mut pending = entries.to_vec();
    while let Some(at) = pending.pop() {
        let Some(text) = page.get(at..).filter(|rest| !rest.is_empty()) else {
            continue;
        };
        let length = length(text[0]);
        let mut padded = [0; 6];
        let whole = text.len() >= length;
        let kept = text.len().min(length);
        padded[..kept].copy_from_slice(&text[..kept]);
        // What crosses the end of the page is known by its first halfword; where it leads is not.
        let known = if whole { &padded[..] } else { &padded[..2] };
        if !assigned(known) || !begins.insert(at) {
            continue;
        }
        all.extend((at..(at + length).min(PAGE)).step_by(2));
        if !whole {
            continue;
        }
        let next = next(&padded);
        if next.is_sequential() {
            pending.push(at + length);
        }
        let target = next.distance().map(|distance| at as i64 + distance);
        pending.extend(target.and_then(|target| usize::try_from(target).ok()));
    }
    (begins, all)
}

/// Pages dense with branches, sensitive instructions and what looks like them.
fn pages() -> impl Strategy<Value = [u8; PAGE]> {
    let halfword = prop_oneof![
        Just(0xB98D_u16),
        Just(0xB2B0),
        Just(0xE501),
        Just(0xB928),
        Just(0x07FE),
        Just(0x0700),
        Just(0xA7F4),
        Just(0xA714),
        Just(0xC02F),
        Just(0),
        (0_u16..200).prop_map(|distance| distance),
        any::<u16>(),
    ];
    proptest::collection::vec(halfword, PAGE / 2).prop_map(|halfwords| {
        let mut page = [0; PAGE];
        for (bytes, halfword) in page.chunks_exact_mut(2).zip(halfwords) {
            bytes.copy_from_slice(&halfword.to_be_bytes());
        }
        page
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

    #[test]
    fn every_candidate_is_proved_or_reached_as_an_operand_or_in_a_stretch_that_nothing_runs_into(
        page in pages(),
        entries in proptest::collection::vec((0..PAGE / 2).prop_map(|n| 2 * n), 0..5),
    ) {
        let sites = scan(&page, &entries, 0, Caught::Always);
        let stretches: Vec<Stretch> = sites.stretches(|_| false).collect();
        let (begins, all) = reached(&page, &entries);
        for pair in stretches.windows(2) {
            prop_assert!(pair[0].end < pair[1].start, "{pair:?}");
        }
        for stretch in &stretches {
            prop_assert!(stretch.start < stretch.end && stretch.end <= PAGE);
            prop_assert!(all.range(stretch.start..stretch.end).next().is_none(), "{stretch:?}");
            // As long as can be.
            prop_assert!(stretch.start == 0 || all.contains(&(stretch.start - 2)));
            prop_assert!(stretch.end == PAGE || all.contains(&stretch.end));
        }
        for site in sites.iter() {
            let watched = stretches.iter().any(|s| (s.start..s.end).contains(&site.offset));
            prop_assert!(site.proved || all.contains(&site.offset) || watched, "{site:?}");
            prop_assert!(Sensitive::from_halfword(
                u16::from_be_bytes([page[site.offset], page[site.offset + 1]])
            ).is_some());
        }
        // What is executed next stands in no stretch, however it is come to.
        for &at in &begins {
            let mut text = [0; 6];
            let length = length(page[at]);
            let Some(bytes) = page.get(at..at + length) else {
                continue;
            };
            text[..length].copy_from_slice(bytes);
            let next = next(&text);
            let mut successors = Vec::new();
            if next.is_sequential() {
                successors.push(at + length);
            }
            let target = next.distance().map(|distance| at as i64 + distance);
            successors.extend(target.and_then(|target| usize::try_from(target).ok()));
            for successor in successors {
                let inside = stretches.iter().find(|s| (s.start..s.end).contains(&successor));
                // Unless no instruction can begin there.
                let unassigned = page.get(successor..successor + 6).is_some_and(|text| {
                    let length = crate::insn::length(text[0]);
                    let mut padded = [0; 6];
                    padded[..length].copy_from_slice(&text[..length]);
                    !assigned(&padded)
                });
                prop_assert!(
                    inside.is_none() || unassigned || successor + 6 > PAGE,
                    "{at:x} to {successor:x} in {inside:?}"
                );
            }
        }
    }
}
