//! Monitor calls as the hardware presents them, against a second model of the facility.

use crate::dispatch::{self, Next};
use crate::recording::monitor::model::Seen;
use crate::state::page_frames::PageState;
use crate::state::software::SoftwareCounters;
use crate::storage::scanner::{Entry, make_executable};
use crate::storage::shadow;
use crate::test_machine::Bench;
use arch::address::{Absolute, Virtual};
use arch::bits::bit64;
use arch::control::CR0_LOW_ADDRESS_PROTECTION;
use arch::control::asce::{PRIVATE_SPACE, REAL_SPACE};
use arch::facility::ENHANCED_MONITOR;
use arch::psw::{ADDRESSING_64, BASIC_ADDRESSING, DAT, HOME_SPACE, PROBLEM, SECONDARY_SPACE};
use arch::table::{PTE_PROTECTION, STE_INVALID};
use core::sync::atomic::AtomicU64;

mod agreement;

/// Where the segment table of the home space is.
const SEGMENTS: u64 = 0x1_0000;
/// Where its page table is.
const PAGES: u64 = 0x1_4000;
/// Where the array is, unless a test puts it elsewhere.
const ARRAY: u64 = 0x5000;
/// Where the instruction is.
const TEXT: u64 = 0x8000;

/// Presents a monitor call of a class that the hardware has enabled, with this code; returns its effect on the program.
fn present(bench: &mut Bench, class: u8, code: u64) -> Seen {
    bench.cpu.interruption.cause = 4 << 16 | 0x40;
    bench.cpu.interruption.parameter = class.into();
    bench.cpu.interruption.identification = code;
    // The hardware has completed it.
    bench.cpu.psw.address = TEXT + 4;
    let (cpu, configuration) = (&mut bench.cpu, &bench.configuration);
    let next = dispatch::program(cpu, configuration, &mut bench.hardware);
    assert_eq!(next, Next::Run);
    let prefix = bench.cpu.prefix;
    if bench.cpu.psw.address == TEXT + 4 {
        return Seen::Nothing;
    }
    assert_eq!(bench.cpu.psw.address, 0x7000);
    assert_eq!(bench.word(prefix + 0x8C), 4 << 16 | 0x40);
    assert_eq!(bench.doubleword(prefix + 0x158), TEXT + 4);
    let class = (bench.doubleword(prefix + 0x90) >> 16 & 0xFFFF) as u8;
    Seen::Event(class, bench.doubleword(prefix + 0xB0))
}

/// Monitor mask and enhanced-monitor mask of a class.
const fn masks(class: u32) -> [u64; 2] {
    [bit64(48 + class), bit64(16 + class)]
}

/// A bench with the array of so many counters, all classes enabled and counted.
fn counting(origin: u64, size: u32) -> Bench {
    let mut bench = Bench::new();
    bench.cpu.control[8] = 0xFFFF_0000_FFFF;
    bench.configuration.facilities = bench.configuration.facilities.with(ENHANCED_MONITOR);
    bench.set_doublewords(0x1D0, &[ADDRESSING_64, 0x7000]);
    bench.set_doublewords(0x100, &[origin, u64::from(size) << 32]);
    bench
}

fn halfword(bench: &Bench, at: u64) -> u32 {
    bench.word(at) >> 16
}

fn exceptions(bench: &Bench) -> u32 {
    bench.word(bench.cpu.prefix + 0x10C)
}

/// Turns DAT on, with a home space whose first MiB is mapped to the same real addresses.
fn at_home(bench: &mut Bench) {
    bench.set_doublewords(SEGMENTS, &[STE_INVALID; 512]);
    bench.set_doublewords(SEGMENTS, &[PAGES]);
    let entries: Vec<u64> = (0..256).map(|page| page << 12).collect();
    bench.set_doublewords(PAGES, &entries);
    bench.cpu.control[13] = SEGMENTS;
    bench.cpu.psw.mask |= DAT;
}

#[test]
fn the_two_masks_of_a_class_say_what_becomes_of_its_monitor_calls() {
    for class in 0..16 {
        for enabled in 0..4 {
            let mut bench = counting(ARRAY, 8);
            let [monitor, enhanced] = masks(class);
            // All other classes are the opposite.
            let others = 0xFFFF_0000_FFFF & !(monitor | enhanced);
            bench.cpu.control[8] = match enabled {
                0 => others,
                1 => monitor | others,
                2 => enhanced | others,
                _ => monitor | enhanced,
            };
            let seen = present(&mut bench, class as u8, 5);
            let event = enabled == 1;
            let expected = match event {
                true => Seen::Event(class as u8, 5),
                false => Seen::Nothing,
            };
            assert_eq!(seen, expected);
            let counted = u32::from(enabled == 3);
            assert_eq!(halfword(&bench, ARRAY + 10), counted);
            assert_eq!(exceptions(&bench), 0);
        }
    }
}

#[test]
fn a_monitor_call_is_one_instruction_whatever_becomes_of_it() {
    for control in [0, 0xFFFF, 0xFFFF_0000_FFFF] {
        for mask in [0, PROBLEM] {
            let mut bench = counting(ARRAY, 8);
            bench.cpu.control[8] = control;
            bench.cpu.psw.mask |= mask;
            for code in [5, 8] {
                bench.cpu.psw.mask = bench.cpu.psw.mask & !PROBLEM | mask;
                present(&mut bench, 0, code);
            }
            let problem = usize::from(mask != 0);
            assert_eq!(bench.cpu.account.cycles[problem], 2);
            assert_eq!(bench.cpu.account.total(), 2);
        }
    }
}

#[test]
fn the_rightmost_bits_of_the_origin_are_ignored_and_the_words_stand_behind_the_halfwords() {
    let mut bench = counting(ARRAY + 7, 5);
    bench.set(ARRAY + 6, &[0xFF, 0xFF]);
    bench.set(ARRAY + 10 + 12, &[0, 0, 0xFF, 0xFF]);
    present(&mut bench, 0, 3);
    present(&mut bench, 0, 4);
    assert_eq!(halfword(&bench, ARRAY + 6), 0);
    assert_eq!(halfword(&bench, ARRAY + 8), 1);
    assert_eq!(bench.word(ARRAY + 10 + 12), 0x1_0000);
    assert_eq!(exceptions(&bench), 0);
}

#[test]
fn a_counter_carries_when_its_halfword_wraps_and_wraps_itself_when_both_are_full() {
    let mut bench = counting(ARRAY, 8);
    for _ in 0..0x1_0005 {
        present(&mut bench, 9, 2);
    }
    assert_eq!(halfword(&bench, ARRAY + 4), 5);
    assert_eq!(bench.word(ARRAY + 16 + 8), 1);
    bench.set(ARRAY + 4, &[0xFF; 2]);
    bench.set(ARRAY + 16 + 8, &[0xFF; 4]);
    present(&mut bench, 9, 2);
    assert_eq!(halfword(&bench, ARRAY + 4), 0);
    assert_eq!(bench.word(ARRAY + 16 + 8), 0);
    // Its neighbours are unchanged.
    let neighbours = [0, 2, 6].map(|offset| halfword(&bench, ARRAY + offset));
    assert_eq!((neighbours, exceptions(&bench)), ([0; 3], 0));
}

#[test]
fn a_code_that_is_no_counters_number_is_an_exception_and_the_exception_count_wraps() {
    let mut bench = counting(ARRAY, 8);
    for (n, code) in [8, 9, u64::MAX, 1 << 63, 1 << 32].into_iter().enumerate() {
        assert_eq!(present(&mut bench, 0, code), Seen::Nothing);
        assert_eq!(exceptions(&bench), n as u32 + 1);
    }
    bench.set(0x108, &[0; 4]);
    present(&mut bench, 0, 0);
    assert_eq!(exceptions(&bench), 6, "there is no counter at all");
    bench.set(0x10C, &[0xFF; 4]);
    present(&mut bench, 0, 0);
    assert_eq!(exceptions(&bench), 0);
    assert_eq!(bench.doubleword(ARRAY), 0);
}

#[test]
fn an_array_that_is_not_there_is_an_exception_and_nothing_is_stored() {
    let end = Bench::new().configuration.storage.end();
    // Beyond storage, where the machine's own begins; at the end of storage; and at the end of the address space.
    for (origin, code, counted) in [
        (end, 0, 0),
        (end - 8, 4, 0),
        (end - 8, 3, 1),
        (1 << 40, 0, 0),
        (u64::MAX, 3, 0),
    ] {
        let mut bench = counting(origin, 100);
        let machine = bench.hardware.hsa.clone();
        assert_eq!(present(&mut bench, 0, code), Seen::Nothing);
        assert_eq!(exceptions(&bench), 1 - counted, "{origin:X} {code}");
        assert!(bench.hardware.hsa == machine);
    }
}

#[test]
fn an_array_that_wraps_goes_on_at_address_zero() {
    let mut bench = counting(u64::MAX, 0x400);
    // Real 2F8: the array begins 8 bytes before the end of the address space.
    present(&mut bench, 0, 4 + 0x2F8 / 2);
    assert_eq!((halfword(&bench, 0x2F8), exceptions(&bench)), (1, 0));
}

#[test]
fn when_the_word_cannot_be_accessed_the_halfword_stays() {
    for size in [8, 0x1000, 0x1001] {
        let mut bench = counting(ARRAY, size);
        at_home(&mut bench);
        let words = ARRAY + 2 * u64::from(size);
        // Of 1001 words, the one at the page's end is on no boundary, and its right half is in the next page.
        let number = (0xFFE - (words & 0xFFF)) / 4;
        let number = if size == 8 { 7 } else { number };
        let word = words + 4 * number;
        let page = (word + 3) >> 12;
        bench.set(ARRAY + 2 * number, &[0xFF, 0xFF]);
        let entry = bench.doubleword(PAGES + 8 * page);
        if size != 8 {
            bench.set_doublewords(PAGES + 8 * page, &[entry | PTE_PROTECTION]);
            assert_eq!(present(&mut bench, 0, number), Seen::Nothing);
            assert_eq!(halfword(&bench, ARRAY + 2 * number), 0xFFFF);
            assert_eq!((bench.word(word), exceptions(&bench)), (0, 1));
            bench.set_doublewords(PAGES + 8 * page, &[entry]);
        }
        present(&mut bench, 0, number);
        assert_eq!(halfword(&bench, ARRAY + 2 * number), 0);
        assert_eq!(bench.word(word), 1, "{size}");
    }
}

#[test]
fn the_array_is_in_the_home_space_whatever_the_mode_of_the_program() {
    for mode in [0, SECONDARY_SPACE, HOME_SPACE] {
        for addressing in [ADDRESSING_64, BASIC_ADDRESSING, 0] {
            // Above 2 GiB: page 1 of segment 1 of another region.
            let far = 0x8000_0000 + 0x10_1000;
            let mut bench = counting(far, 8);
            at_home(&mut bench);
            // A region-third table: entry 1 leads to a segment table whose entry 1 leads to the page table.
            bench.set_doublewords(0x2_0000, &[0x20 | 4; 2048]);
            bench.set_doublewords(0x2_0008, &[0x2_4000 | 4 | 3]);
            bench.set_doublewords(0x2_4000, &[STE_INVALID; 2048]);
            bench.set_doublewords(0x2_4008, &[PAGES]);
            bench.cpu.control[13] = 0x2_0000 | 4 | 3;
            // The other spaces are empty.
            for register in [1, 7] {
                bench.cpu.control[register] = 0x3_0000;
            }
            bench.cpu.psw.mask = DAT | mode | addressing;
            present(&mut bench, 0, 2);
            present(&mut bench, 0, 2);
            assert_eq!((halfword(&bench, 0x1004), exceptions(&bench)), (2, 0));
        }
    }
}

#[test]
fn with_dat_off_the_array_is_designated_by_real_addresses() {
    let mut bench = counting(ARRAY, 8);
    at_home(&mut bench);
    bench.set_doublewords(PAGES + 8 * (ARRAY >> 12), &[0x6000]);
    for (dat, place) in [(true, 0x6000), (false, ARRAY), (true, 0x6000)] {
        bench.cpu.psw.mask = ADDRESSING_64 | if dat { DAT } else { 0 };
        let before = halfword(&bench, place);
        present(&mut bench, 0, 0);
        assert_eq!(halfword(&bench, place), before + 1);
    }
    // The real locations are prefixed.
    let mut bench = counting(0x300, 8);
    bench.cpu.prefix = 0x6000;
    bench.set_doublewords(0x6100, &[0x300, 8 << 32]);
    present(&mut bench, 0, 0);
    assert_eq!(halfword(&bench, 0x6300), 1);
    assert_eq!(halfword(&bench, 0x300), 0);
}

#[test]
fn a_real_space_is_a_home_space_as_well() {
    let mut bench = counting(ARRAY, 8);
    bench.cpu.psw.mask |= DAT;
    bench.cpu.control[13] = REAL_SPACE;
    present(&mut bench, 0, 1);
    assert_eq!((halfword(&bench, ARRAY + 2), exceptions(&bench)), (1, 0));
}

#[test]
fn low_address_protection_covers_the_array_but_not_the_exception_count() {
    for (asce, counted) in [(SEGMENTS, 0), (SEGMENTS | PRIVATE_SPACE, 1)] {
        for origin in [0x1F8, 0x11F8] {
            let mut bench = counting(origin, 8);
            at_home(&mut bench);
            bench.cpu.control[0] |= CR0_LOW_ADDRESS_PROTECTION;
            bench.cpu.control[13] = asce;
            present(&mut bench, 0, 0);
            present(&mut bench, 0, 4);
            assert_eq!(halfword(&bench, origin), counted);
            assert_eq!(halfword(&bench, origin + 8), 1, "behind what is covered");
            assert_eq!(exceptions(&bench), 1 - counted);
        }
    }
}

#[test]
fn an_array_in_the_locations_that_designate_it_counts_there() {
    let mut bench = counting(0x100, 16);
    // Counter 5 is the right half of the size, and counter 6 the left half of the exception count.
    present(&mut bench, 0, 5);
    present(&mut bench, 0, 6);
    assert_eq!(bench.doubleword(0x108), 0x11_0001_0000);
}

#[test]
fn a_kept_translation_is_dropped_when_anything_it_depends_on_changes() {
    let mut bench = counting(ARRAY, 8);
    at_home(&mut bench);
    let count = |bench: &mut Bench, place: u64| {
        let before = halfword(bench, place);
        present(bench, 0, 0);
        present(bench, 0, 0);
        assert_eq!(halfword(bench, place), before + 2, "{place:X}");
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    };
    count(&mut bench, ARRAY);
    // The page-table entry changes, and the guest purges.
    bench.set_doublewords(PAGES + 8 * (ARRAY >> 12), &[0x6000]);
    shadow::purge(
        &bench.configuration,
        &bench.hardware,
        crate::state::shadow::Request::All,
    );
    count(&mut bench, 0x6000);
    // The home space changes.
    bench.cpu.control[13] = REAL_SPACE;
    bench.cpu.pending_work |= crate::state::pending_work::PendingWork::CONTROLS;
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    count(&mut bench, ARRAY);
    // The prefix changes.
    bench.set(ARRAY + 0x1000, &[0; 0x2000]);
    let area = bench.hardware.storage[..0x2000].to_vec();
    bench.set(0xA000, &area);
    bench.cpu.prefix = 0xA000;
    bench.set_doublewords(0xA100, &[0xA000, 8 << 32]);
    bench.cpu.pending_work |= crate::state::pending_work::PendingWork::CONTROLS;
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    let before = halfword(&bench, 0);
    present(&mut bench, 0, 0);
    assert_eq!(halfword(&bench, 0), before + 1, "real A000 is absolute 0");
}

#[test]
fn the_scanner_learns_that_counters_are_stored_into() {
    let mut bench = counting(ARRAY, 8);
    for _ in 0..3 {
        present(&mut bench, 0, 0);
        let configuration = &bench.configuration;
        make_executable(
            configuration,
            &mut bench.hardware,
            Absolute(ARRAY),
            Entry::At(0),
        );
        assert_ne!(
            configuration.page_frames.state(Absolute(ARRAY)),
            PageState::Data
        );
        present(&mut bench, 0, 0);
        let state = bench.configuration.page_frames.state(Absolute(ARRAY));
        assert_eq!(state, PageState::Data);
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    }
    assert_eq!(halfword(&bench, ARRAY), 6);
    let is_kept = |bench: &Bench| {
        let page = bench.cpu.kept.counter(Virtual(ARRAY)).get();
        page.translated().is_some()
    };
    assert!(!is_kept(&bench), "its page has changed");
    present(&mut bench, 0, 0);
    assert!(is_kept(&bench));
}

#[test]
fn the_hardware_has_the_monitor_masks_of_program_and_machine_and_no_enhanced_ones() {
    let mut bench = Bench::new();
    bench.cpu.control[8] = 0x0123_4567_89AB_8421;
    assert_eq!(bench.cpu.real_monitor_control(), 0x0123_0000_89AB_8421);
    bench.cpu.software.classes = 0x1002;
    assert_eq!(bench.cpu.real_monitor_control(), 0x0123_0000_89AB_9423);
    bench.cpu.pending_work |= crate::state::pending_work::PendingWork::CONTROLS;
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    assert_eq!(bench.hardware.controls[8], 0x0123_0000_89AB_9423);
}

#[test]
fn without_the_facility_a_monitor_call_with_both_masks_is_a_monitor_event() {
    let mut bench = counting(ARRAY, 8);
    assert_eq!(present(&mut bench, 3, 5), Seen::Nothing);
    bench.configuration.facilities = bench.configuration.facilities.without(ENHANCED_MONITOR);
    assert_eq!(present(&mut bench, 3, 5), Seen::Event(3, 5));
    assert_eq!(halfword(&bench, ARRAY + 10), 1, "counted once");
}

#[test]
fn the_machine_counts_besides_the_program_and_the_program_does_not_notice() {
    let counters: Vec<AtomicU64> = (0..6).map(|_| AtomicU64::new(0)).collect();
    let mut other = counting(ARRAY, 8);
    let mut bench = counting(ARRAY, 8);
    bench.cpu.software = SoftwareCounters::new(counters.leak());
    // Classes 2 and 3.
    bench.cpu.software.classes = 0x3000;
    let calls = [(2, 5), (3, 5), (2, 0), (4, 1), (3, 6), (2, u64::MAX)];
    let expected = [1, 0, 0, 0, 0, 2];
    for control in [0, 0xFFFF, 0xFFFF_0000_FFFF] {
        for (class, code) in calls {
            for bench in [&mut bench, &mut other] {
                bench.cpu.control[8] = control;
            }
            assert_eq!(
                present(&mut bench, class, code),
                present(&mut other, class, code)
            );
        }
        assert!(bench.hardware.storage == other.hardware.storage);
        assert_eq!(bench.cpu.account.total(), other.cpu.account.total());
        let counted: [u64; 6] = core::array::from_fn(|n| bench.cpu.software.read(n as u16));
        assert_eq!(counted, expected);
        // The codes 6 and the highest one have no counter.
        assert_eq!(bench.cpu.software.dropped, 2);
        bench.cpu.software.clear();
        assert_eq!(bench.cpu.software.dropped, 0);
    }
    assert_eq!(bench.cpu.software.read(6), 0);
}
