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
            saved_link: 1000,
            program: 0,
            registers: 0,
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
    let end = Bench::new().configuration.storage.end();
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

#[test]
fn the_page_of_a_frame_is_translated_again_after_a_purge_only() {
    let mut bench = translated(&[true, true]);
    put(&mut bench, &STANDARD, &[0x10_0000]);
    bench.set_doublewords(0x10_0000, &[STACK + 0x200]);
    bench.set_doublewords(0x10_0200 + 112, &[5]);
    bench.set_doublewords(0x10_1000, &[STACK + 0x300]);
    bench.set_doublewords(0x10_1300 + 112, &[6]);
    assert_eq!(walk(&mut bench, false, 64).1, [5]);
    // The entry of the page now names another page frame.
    bench.set_doublewords(0xC000 + (STACK >> 12) * 8, &[0x10_1000]);
    assert_eq!(walk(&mut bench, false, 64).1, [5]);
    bench.cpu.forget_translations();
    assert_eq!(walk(&mut bench, false, 64).1, [6]);
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
        // A program's part is put there with its three places, or not at all.
        let unused = if is_packed { PROGRAM - 1 } else { 0 };
        prop_assert!(followed.end != End::Depth || returns.len() + unused >= depth);
    }
}

/// Puts what a kernel keeps of an interrupted program or routine behind a frame: PSW, and general registers 14 and 15.
fn interrupt(bench: &mut Bench, frame: u64, mask: u64, address: u64, [link, stack]: [u64; 2]) {
    bench.set_doublewords(frame + interrupted::MASK, &[mask, address]);
    bench.set_doublewords(frame + interrupted::LINK, &[link, stack]);
}

/// A kernel with a stack of two frames, whose page frames are its own, that was called by a program. In the program's
/// space, page `n` of its stack is at absolute 10 0000 + 1000 n.
fn called_by_a_program() -> Bench {
    let mut bench = translated(&[true, true]);
    // The kernel's own space: real addresses are virtual ones.
    const SEGMENTS: u64 = 0xA000;
    const PAGES: u64 = 0xE000;
    bench.set_doublewords(SEGMENTS, &[PAGES]);
    for page in 0..256 {
        bench.set_doublewords(PAGES + page * 8, &[page << 12]);
    }
    bench.cpu.control[7] = bench.cpu.control[1];
    let program = bench.cpu.control[7];
    for segment in 1..512 {
        bench.set_doublewords(program + segment * 8, &[arch::table::STE_INVALID]);
    }
    bench.cpu.control[1] = SEGMENTS;
    bench.cpu.control[13] = SEGMENTS;
    bench.cpu.psw.mask |= HOME;
    put(&mut bench, &PACKED, &[STACK, STACK + 0x200]);
    let mask = PROBLEM | DAT | ADDRESSING_64;
    let registers = [0x77, STACK + 0x100];
    interrupt(&mut bench, STACK + 0x200, mask, 0x4000, registers);
    bench
}

/// The home-space mode.
const HOME: u64 = 3 << (63 - 17);

#[test]
fn a_stack_of_the_kernel_goes_on_in_the_program_that_called_it() {
    let mut bench = called_by_a_program();
    // The program's frames, in its own space.
    put(&mut bench, &STANDARD, &[0x10_0100, 0x10_0200]);
    bench.set_doublewords(0x10_0100, &[STACK + 0x1200]);
    bench.set_doublewords(0x10_1200, &[STACK + 0x1300]);
    bench.set_doublewords(0x10_1200 + 112, &[2001]);
    bench.set_doublewords(0x10_1300 + 112, &[2002]);
    let (followed, returns) = walk(&mut bench, true, 64);
    assert_eq!(returns, [1001, 0x4000, 0x77, 1000, 2001, 2002]);
    assert_eq!((followed.end, followed.program), (End::Complete, 2));
    assert_eq!(followed.frame, STACK + 0x1300);
    assert_eq!(followed.registers, STACK + 0x200 + interrupted::GENERAL);
    // A kernel may have left the program's space in its place.
    bench.cpu.control[1] = bench.cpu.control[7];
    bench.cpu.control[7] = 0;
    assert_eq!(walk(&mut bench, true, 64).1, returns);
    // The program's part needs its three places.
    for depth in 1..4 {
        let (followed, returns) = walk(&mut bench, true, depth);
        assert_eq!((followed.end, followed.program), (End::Depth, 0));
        assert_eq!(returns, [1001]);
    }
    let (followed, returns) = walk(&mut bench, true, 4);
    assert_eq!((followed.end, returns.len()), (End::Depth, 4));
}

#[test]
fn an_interruption_of_the_kernel_leads_on_to_the_instruction_that_it_came_to() {
    let mut bench = called_by_a_program();
    put(&mut bench, &STANDARD, &[0x10_0100]);
    let mask = DAT | ADDRESSING_64 | HOME;
    let handler = STACK + 0x1000;
    put(&mut bench, &PACKED, &[handler, handler + 0x200]);
    interrupt(&mut bench, handler + 0x200, mask, 0x5000, [0x88, STACK]);
    bench.cpu.general[15] = handler;
    let (followed, returns) = walk(&mut bench, true, 64);
    assert_eq!(returns, [1001, 0x5001, 1001, 0x4000, 0x77, 1000]);
    assert_eq!((followed.end, followed.program), (End::Complete, 4));
}

#[test]
fn a_thread_of_the_kernel_ends_where_nothing_was_interrupted() {
    for (mask, address, stack) in [
        (0, 0, 0),
        (DAT | ADDRESSING_64, 0x5000, 0),
        (DAT | ADDRESSING_64, 0, STACK),
        (DAT, 0x5000, STACK),
    ] {
        let mut bench = called_by_a_program();
        interrupt(&mut bench, STACK + 0x200, mask, address, [9, stack]);
        let (followed, returns) = walk(&mut bench, true, 64);
        assert_eq!((followed.end, &returns[..]), (End::Complete, &[1001][..]));
        assert_eq!((followed.program, followed.registers), (0, 0));
    }
}

#[test]
fn interruptions_that_lead_to_each_other_come_to_an_end() {
    let mut bench = called_by_a_program();
    let mask = DAT | ADDRESSING_64 | HOME;
    interrupt(&mut bench, STACK + 0x200, mask, 0x5000, [9, STACK]);
    let (followed, returns) = walk(&mut bench, true, 64);
    assert_eq!(followed.end, End::Order);
    assert_eq!(returns.len(), 8);
}

#[test]
fn a_stack_pointer_of_a_program_that_lies_ends_the_stack() {
    let end = Bench::new().configuration.storage.end();
    for (stack, found) in [
        (STACK + 4, End::Boundary),
        (0, End::Storage),
        (STACK + 0x2000, End::Storage),
        (end, End::Storage),
        (u64::MAX - 7, End::Storage),
        (1 << 40, End::Storage),
    ] {
        let mut bench = called_by_a_program();
        // Page 0 and what is behind the stack is not the program's.
        bench.set_doublewords(0xC000, &[arch::table::PTE_INVALID]);
        bench.set_doublewords(0xC000 + 0x22 * 8, &[arch::table::PTE_INVALID]);
        let mask = PROBLEM | DAT | ADDRESSING_64;
        interrupt(&mut bench, STACK + 0x200, mask, 0x4000, [0x77, stack]);
        let (followed, returns) = walk(&mut bench, true, 64);
        assert_eq!(followed.end, found, "{stack:X}");
        assert_eq!((followed.frame, followed.program), (stack, 2));
        assert_eq!(returns, [1001, 0x4000, 0x77, 0]);
    }
    let mut bench = called_by_a_program();
    interrupt(&mut bench, STACK + 0x200, PROBLEM | DAT, 0x4000, [0, STACK]);
    assert_eq!(walk(&mut bench, true, 64).0.end, End::AddressingMode);
}

#[test]
fn the_chain_leads_from_a_stack_with_real_addresses_to_one_of_the_kernels_space() {
    let mut bench = called_by_a_program();
    // No real address is so high. The page there is that of the frame which the kernel has otherwise.
    let far = 0x1FF0_0000;
    bench.set_doublewords(0xA000 + 511 * 8, &[0xE800]);
    bench.set_doublewords(0xE800, &[STACK]);
    bench.set_doublewords(STACK + PACKED.chain, &[far + 0x200]);
    bench.cpu.psw.mask &= !DAT;
    let (followed, returns) = walk(&mut bench, true, 64);
    assert_eq!((followed.program, &returns[..2]), (2, &[1001, 0x4000][..]));
    assert_eq!(followed.registers, far + 0x200 + interrupted::GENERAL);
}

mod copies {
    use super::*;
    use crate::measuring::stack_copy::copy;

    fn taken(bench: &mut Bench, length: usize) -> Option<(link::copies::CopyHead, Vec<u8>)> {
        let (followed, _) = walk(bench, true, 64);
        let mut bytes = vec![0xEE; length];
        let (cpu, configuration) = (&bench.cpu, &bench.configuration);
        let hardware = &mut bench.hardware;
        let head = copy(
            cpu,
            configuration,
            hardware,
            followed.registers,
            5,
            &mut bytes,
        )?;
        bytes.truncate(head.length.get() as usize);
        Some((head, bytes))
    }

    #[test]
    fn a_program_that_called_the_kernel_has_its_registers_and_stack_copied() {
        let mut bench = called_by_a_program();
        bench.set_doublewords(STACK + 0x200 + interrupted::GENERAL + 6 * 8, &[0x66]);
        let text: Vec<u8> = (0..0x1F00).map(|at| at as u8 | 1).collect();
        bench.set(0x10_0100, &text);
        let (head, bytes) = taken(&mut bench, 0x200).unwrap();
        assert_eq!((head.sample.get(), head.address.get()), (5, 0x4000));
        assert_eq!(head.has_floating_point.get(), 0);
        let general = [6, 14, 15].map(|number| head.general[number].get());
        assert_eq!(general, [0x66, 0x77, STACK + 0x100]);
        assert_eq!(bytes, text[..0x200]);
        // It goes on in the next page, and ends where the storage does.
        let invalid = arch::table::PTE_INVALID;
        bench.set_doublewords(0xC000 + 0x22 * 8, &[invalid]);
        let (_, bytes) = taken(&mut bench, 0x2000).unwrap();
        assert_eq!(bytes, text);
    }

    #[test]
    fn a_sampled_program_is_copied_from_its_own_registers() {
        let mut bench = translated(&[true, false]);
        bench.cpu.psw.mask |= PROBLEM;
        bench.cpu.general[15] = STACK + 0xFF0;
        bench.hardware.vectors[4] = 0x44 << 64;
        bench.set_doublewords(0x10_0FF0, &[1, 2]);
        let (head, bytes) = taken(&mut bench, 0x100).unwrap();
        assert_eq!(head.address.get(), TEXT);
        assert_eq!(head.general[15].get(), STACK + 0xFF0);
        let floating_point = (head.has_floating_point.get(), head.floating_point[4].get());
        assert_eq!(floating_point, (1, 0x44));
        assert_eq!(bytes, [1_u64, 2].map(u64::to_be_bytes).concat());
    }

    #[test]
    fn a_stack_pointer_that_lies_has_no_bytes_and_a_thread_of_the_kernel_no_copy() {
        let end = Bench::new().configuration.storage.end();
        for stack in [STACK + 4, end, u64::MAX - 7, 1 << 40] {
            let mut bench = called_by_a_program();
            let mask = PROBLEM | DAT | ADDRESSING_64;
            interrupt(&mut bench, STACK + 0x200, mask, 0x4000, [0x77, stack]);
            let (head, bytes) = taken(&mut bench, 0x100).unwrap();
            assert_eq!((head.length.get(), bytes.len()), (0, 0), "{stack:X}");
        }
        let mut bench = called_by_a_program();
        interrupt(&mut bench, STACK + 0x200, 0, 0, [0, 0]);
        assert!(taken(&mut bench, 0x100).is_none());
    }
}
