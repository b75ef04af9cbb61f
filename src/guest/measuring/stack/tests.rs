//! Stacks of programs that mean well, and chains that lead anywhere.

use super::*;
use crate::test_machine::Bench;
use arch::psw::{DAT, PROBLEM};
use proptest::prelude::*;

/// Where the stack is, and the text that is sampled.
const STACK: u64 = 0x2_0000;
const TEXT: u64 = 0x1_0000;

fn bench(frame: u64) -> Bench {
    let mut bench = Bench::new();
    bench.cpu.general[15] = frame;
    bench.cpu.psw.address = TEXT;
    bench
}

/// Puts frames of this layout at these addresses, each the caller's of the one before; a routine that was called with
/// frame `n` returns to 1000 + n.
fn put(bench: &mut Bench, layout: &Layout, frames: &[u64]) {
    for (number, &frame) in frames.iter().enumerate() {
        let chain = frames.get(number + 1).copied().unwrap_or_default();
        bench.set_doublewords(frame + layout.chain, &[chain]);
        bench.set_doublewords(frame + layout.link, &[1000 + number as u64]);
    }
}

fn walk(bench: &mut Bench, is_packed: bool, depth: usize) -> (Followed, Vec<u64>) {
    let mut returns = vec![U64::ZERO; depth];
    let followed = follow(
        &mut bench.cpu,
        &bench.configuration,
        &bench.hardware,
        is_packed,
        &mut returns,
    );
    let found = &returns[..usize::from(followed.count)];
    (followed, found.iter().map(|found| found.get()).collect())
}

#[test]
fn a_stack_is_complete_where_the_back_chain_is_zero() {
    let mut bench = bench(STACK);
    put(&mut bench, &STANDARD, &[STACK, STACK + 160, STACK + 0x1F08]);
    let (followed, returns) = walk(&mut bench, false, 64);
    assert_eq!(returns, [1001, 1002]);
    assert_eq!(
        followed,
        Followed {
            count: 2,
            end: End::Complete,
            frame: STACK + 0x1F08,
            saved_link: 1000
        }
    );
}

#[test]
fn frames_are_packed_in_supervisor_state_only() {
    let mut bench = bench(STACK);
    put(&mut bench, &PACKED, &[STACK, STACK + 160]);
    put(
        &mut bench,
        &STANDARD,
        &[STACK, STACK + 0x400, STACK + 0x800],
    );
    assert_eq!(walk(&mut bench, true, 64).1, [1001]);
    bench.cpu.psw.mask |= PROBLEM;
    assert_eq!(walk(&mut bench, true, 64).1, [1001, 1002]);
    bench.cpu.psw.mask &= !PROBLEM;
    assert_eq!(walk(&mut bench, false, 64).1, [1001, 1002]);
}

#[test]
fn a_packed_stack_may_lead_to_a_lower_one_as_often_as_a_kernel_has_stacks() {
    let mut bench = bench(STACK);
    let frames = [STACK, STACK + 0x8000, STACK + 0x2000, STACK + 0x3000];
    put(&mut bench, &PACKED, &frames);
    assert_eq!(walk(&mut bench, true, 64).1, [1001, 1002, 1003]);
    // A loop goes down each time.
    bench.set_doublewords(STACK + 0x3000 + PACKED.chain, &[STACK]);
    let (followed, returns) = walk(&mut bench, true, 64);
    assert_eq!((followed.end, returns.len()), (End::Order, 7));
}

#[test]
fn a_deeper_stack_is_cut_off() {
    let mut bench = bench(STACK);
    let frames: Vec<u64> = (0..10).map(|number| STACK + number * 160).collect();
    put(&mut bench, &STANDARD, &frames);
    let (followed, returns) = walk(&mut bench, false, 4);
    assert_eq!(returns, [1001, 1002, 1003, 1004]);
    assert_eq!((followed.end, followed.frame), (End::Depth, frames[5]));
    assert_eq!(walk(&mut bench, false, 9).0.end, End::Complete);
    assert_eq!(walk(&mut bench, false, 0).0.end, End::Depth);
}

#[test]
fn a_chain_that_does_not_ascend_ends_the_stack() {
    for back in [STACK, STACK - 160, STACK + 160] {
        let mut bench = bench(STACK);
        put(&mut bench, &STANDARD, &[STACK, STACK + 160]);
        bench.set_doublewords(STACK + 160, &[back]);
        let (followed, returns) = walk(&mut bench, false, 64);
        assert_eq!(returns, [1001]);
        assert_eq!((followed.end, followed.frame), (End::Order, STACK + 160));
    }
}

#[test]
fn a_frame_off_its_boundary_ends_the_stack() {
    let mut bench = bench(STACK + 4);
    assert_eq!(walk(&mut bench, false, 64).0.end, End::Boundary);
    bench.cpu.general[15] = STACK;
    put(&mut bench, &STANDARD, &[STACK]);
    bench.set_doublewords(STACK, &[STACK + 161]);
    let (followed, returns) = walk(&mut bench, false, 64);
    assert_eq!((followed.end, followed.frame), (End::Boundary, STACK + 161));
    assert!(returns.is_empty());
}

#[test]
fn a_chain_into_the_system_area_or_beyond_all_storage_ends_the_stack() {
    let end = Bench::new().configuration.storage_end;
    for beyond in [end, end + 0x5000, end - 8, 1 << 40, !0xFF, u64::MAX - 7] {
        let mut bench = bench(STACK);
        put(&mut bench, &STANDARD, &[STACK]);
        bench.set_doublewords(STACK, &[beyond]);
        let (followed, returns) = walk(&mut bench, false, 64);
        assert_eq!((followed.end, followed.frame), (End::Storage, beyond));
        assert!(returns.is_empty());
        bench.cpu.general[15] = beyond;
        assert_eq!(walk(&mut bench, false, 64).0.end, End::Storage);
    }
}

#[test]
fn a_routine_that_is_about_to_store_the_chain_has_it_in_a_register() {
    for (layout, store) in [
        (STANDARD, [0xE3, 0x10, 0xF0, 0, 0, 0x24]),
        (PACKED, [0xE3, 0x10, 0xF0, 0x98, 0, 0x24]),
    ] {
        let is_packed = layout.chain != 0;
        // Another routine has left its chain there.
        for at in [TEXT, TEXT + PAGE - 2] {
            let mut bench = bench(STACK);
            put(&mut bench, &layout, &[STACK, STACK + 0x500]);
            put(&mut bench, &layout, &[STACK + 0x1000, STACK + 0x2000]);
            bench.cpu.psw.address = at;
            bench.cpu.general[1] = STACK + 0x1000;
            bench.set(at, &[0xB9, 0x04, 0x00, 0x1F]);
            assert_eq!(walk(&mut bench, is_packed, 64).0.frame, STACK + 0x500);
            bench.set(at, &store);
            assert_eq!(walk(&mut bench, is_packed, 64).0.frame, STACK + 0x2000);
        }
    }
}

#[test]
fn frames_are_defined_in_the_64_bit_mode_only() {
    let mut bench = bench(STACK);
    put(&mut bench, &STANDARD, &[STACK, STACK + 160]);
    bench.cpu.psw.mask &= !ADDRESSING_64 | arch::psw::BASIC_ADDRESSING;
    let (followed, returns) = walk(&mut bench, false, 64);
    assert_eq!(followed.end, End::AddressingMode);
    assert!(returns.is_empty());
}

/// One segment of 4 KiB pages: virtual page `n` of the stack is at absolute 10 0000 + 1000 n, or nowhere.
fn translated(mapped: &[bool]) -> Bench {
    use arch::table::PTE_INVALID;
    const SEGMENTS: u64 = 0x8000;
    const PAGES: u64 = 0xC000;
    let mut bench = bench(STACK);
    bench.set_doublewords(SEGMENTS, &[PAGES]);
    for page in 0..256 {
        bench.set_doublewords(PAGES + page * 8, &[page << 12]);
    }
    for (number, &is_mapped) in mapped.iter().enumerate() {
        let entry = (0x10_0000 + number as u64 * PAGE) | if is_mapped { 0 } else { PTE_INVALID };
        let page = (STACK >> 12) + number as u64;
        bench.set_doublewords(PAGES + page * 8, &[entry]);
    }
    bench.cpu.control[1] = SEGMENTS;
    bench.cpu.psw.mask |= DAT;
    bench
}

#[test]
fn the_guests_own_tables_lead_to_its_frames() {
    let mut bench = translated(&[true, true]);
    bench.set_doublewords(0x10_0000, &[STACK + 0x1100]);
    bench.set_doublewords(0x10_1100, &[0]);
    bench.set_doublewords(0x10_1100 + 112, &[77]);
    let (followed, returns) = walk(&mut bench, false, 64);
    assert_eq!((followed.end, &returns[..]), (End::Complete, &[77][..]));
    let mut bench = translated(&[true, false]);
    bench.set_doublewords(0x10_0000, &[STACK + 0x1100]);
    let (followed, returns) = walk(&mut bench, false, 64);
    assert_eq!(
        (followed.end, followed.frame),
        (End::Storage, STACK + 0x1100)
    );
    assert!(returns.is_empty());
    // The place of the return address is in the page behind the frame.
    bench.set_doublewords(0x10_0000, &[STACK + 0xFA0]);
    assert_eq!(walk(&mut bench, false, 64).0.frame, STACK + 0xFA0);
}

proptest! {
    #[test]
    fn whatever_the_frames_hold_a_walk_ends_in_the_guests_storage(
        words in prop::collection::vec(prop_oneof![
            (0_u64..0x40).prop_map(|frame| STACK + frame * 80),
            any::<u64>(),
            Just(0),
        ], 640),
        first: u64,
        is_packed: bool,
        is_near: bool,
        depth in 0_usize..70,
    ) {
        let frame = if is_near { STACK + first % 64 * 80 } else { first };
        let mut bench = bench(frame);
        bench.set_doublewords(STACK, &words);
        // An access elsewhere ends the test.
        let (followed, returns) = walk(&mut bench, is_packed, depth);
        prop_assert!(returns.len() <= depth);
        prop_assert!(followed.end != End::Depth || returns.len() == depth);
    }
}
