//! Tests of the walk: one for each rule.

use super::*;
use crate::test_machine::Bench;
use ProgramInterruption as P;

/// Where the tables are: region first, second, third, segment; then the page table.
const TABLES: [u64; 4] = [0x1C000, 0x18000, 0x14000, 0x10000];
const PAGE_TABLE: u64 = 0x20000;
const FRAME: u64 = 0x3_5000;
/// An address with a different, nonzero index at every level.
const AT: Virtual = Virtual(0x0123_4567_89AB_CDEF);

/// The index of `AT` in the table of a level.
fn index(level: usize) -> u64 {
    AT.0 >> (20 + 11 * level) & 0x7FF
}

/// The absolute address of the entry for `AT` at a level.
fn entry(level: usize) -> u64 {
    TABLES[level] + index(level) * 8
}

/// The address of the page-table entry for `AT`.
fn page_entry() -> u64 {
    PAGE_TABLE + (AT.0 >> 12 & 0xFF) * 8
}

/// An address-space-control element with the table of `level`, of full length.
fn asce(level: usize) -> u64 {
    TABLES[level] | (level as u64) << 2 | 3
}

/// A bench whose tables map `AT` to `FRAME`.
fn bench() -> Bench {
    let mut bench = Bench::with_storage(1 << 20);
    for level in 1..4 {
        bench.set_doublewords(
            entry(level),
            &[asce(level - 1) & !0xC | (level as u64) << 2],
        );
    }
    bench.set_doublewords(entry(0), &[PAGE_TABLE]);
    bench.set_doublewords(page_entry(), &[FRAME]);
    bench
}

fn go(bench: &Bench, asce: u64, at: Virtual, access: Access) -> Result<Translation, Fault> {
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    translate(
        cpu,
        configuration,
        hardware,
        asce,
        Space::Primary,
        at,
        access,
    )
}

/// Changes bits of an entry by exclusive or.
fn flip(bench: &mut Bench, at: u64, bits: u64) {
    let value = bench.doubleword(at) ^ bits;
    bench.set_doublewords(at, &[value]);
}

fn refusal(bench: &Bench, asce: u64, access: Access) -> P {
    go(bench, asce, AT, access).unwrap_err().interruption
}

#[test]
fn five_levels_of_tables_lead_to_the_frame_and_keep_the_byte_index() {
    let found = go(&bench(), asce(3), AT, Access::Store).unwrap();
    let real = Real(FRAME | 0xDEF);
    assert_eq!(
        found,
        Translation {
            real,
            entry: found.entry,
            protected: false,
            execution_protected: false
        }
    );
}

#[test]
fn a_shorter_designation_begins_at_its_own_table() {
    let bench = bench();
    for level in 0..3 {
        let at = Virtual(AT.0 & ((1 << (31 + 11 * level)) - 1));
        assert_eq!(
            go(&bench, asce(level), at, Access::Fetch).unwrap().real,
            Real(FRAME | 0xDEF)
        );
    }
}

#[test]
fn an_address_too_wide_for_the_designation_is_an_asce_type_exception() {
    let bench = bench();
    for level in 0..3 {
        let first_too_wide = Virtual(1 << (31 + 11 * level));
        let fault = go(&bench, asce(level), first_too_wide, Access::Fetch).unwrap_err();
        assert_eq!(fault.interruption, P::AsceType);
        let last = Virtual(first_too_wide.0 - 1);
        let found = go(&bench, asce(level), last, Access::Fetch);
        assert_ne!(found.map_err(|fault| fault.interruption), Err(P::AsceType));
    }
}

#[test]
fn an_invalid_entry_is_the_translation_exception_of_its_own_table() {
    let kinds = [
        P::SegmentTranslation,
        P::RegionThirdTranslation,
        P::RegionSecondTranslation,
        P::RegionFirstTranslation,
    ];
    for (level, kind) in kinds.into_iter().enumerate() {
        let mut bench = bench();
        flip(&mut bench, entry(level), RTE_INVALID);
        assert_eq!(refusal(&bench, asce(3), Access::Fetch), kind);
    }
    let mut bench = bench();
    flip(&mut bench, page_entry(), PTE_INVALID);
    assert_eq!(refusal(&bench, asce(3), Access::Fetch), P::PageTranslation);
}

#[test]
fn an_index_beyond_the_table_length_is_the_translation_exception_of_that_table() {
    // The index of the region-third table is in its second quarter.
    assert_eq!(index(1) >> 9, 1);
    let mut bench = bench();
    let at = Virtual(AT.0 & ((1 << 42) - 1));
    for length in 0..4 {
        let short = asce(1) & !3 | length;
        let found = go(&bench, short, at, Access::Fetch);
        assert_eq!(found.is_ok(), length >= 1);
        if let Err(fault) = found {
            assert_eq!(fault.interruption, P::RegionThirdTranslation);
        }
    }
    flip(&mut bench, entry(2), 3);
    assert_eq!(
        refusal(&bench, asce(3), Access::Fetch),
        P::RegionThirdTranslation
    );
}

#[test]
fn an_index_before_the_table_offset_is_the_translation_exception_of_the_lower_table() {
    let mut bench = bench();
    flip(&mut bench, entry(2), 1 << 6);
    assert!(go(&bench, asce(3), AT, Access::Fetch).is_ok());
    flip(&mut bench, entry(2), 3 << 6);
    assert_eq!(
        refusal(&bench, asce(3), Access::Fetch),
        P::RegionThirdTranslation
    );
}

#[test]
fn an_entry_of_the_wrong_type_is_a_translation_specification_exception() {
    for level in 0..4 {
        for wrong in [4, 8, 12] {
            let mut bench = bench();
            flip(&mut bench, entry(level), wrong);
            let fault = go(&bench, asce(3), AT, Access::Fetch).unwrap_err();
            assert_eq!(fault, Fault::plain(P::TranslationSpecification));
        }
    }
}

#[test]
fn an_invalid_entry_is_not_looked_at_further() {
    let mut bench = bench();
    flip(&mut bench, page_entry(), PTE_INVALID | PTE_ZERO);
    assert_eq!(refusal(&bench, asce(3), Access::Fetch), P::PageTranslation);
    flip(&mut bench, page_entry(), PTE_INVALID);
    assert_eq!(
        refusal(&bench, asce(3), Access::Fetch),
        P::TranslationSpecification
    );
    flip(&mut bench, entry(0), STE_INVALID | 4);
    assert_eq!(
        refusal(&bench, asce(3), Access::Fetch),
        P::SegmentTranslation
    );
}

#[test]
fn a_common_segment_in_a_private_space_is_a_translation_specification_exception() {
    let mut bench = bench();
    flip(&mut bench, entry(0), STE_COMMON);
    assert!(go(&bench, asce(3), AT, Access::Fetch).is_ok());
    let private = asce(3) | control::PRIVATE_SPACE;
    assert_eq!(
        refusal(&bench, private, Access::Fetch),
        P::TranslationSpecification
    );
}

#[test]
fn segment_and_page_protect_and_a_region_does_not_without_enhanced_dat() {
    for (at, bit) in [(entry(0), STE_PROTECTION), (page_entry(), PTE_PROTECTION)] {
        let mut bench = bench();
        flip(&mut bench, at, bit);
        assert!(go(&bench, asce(3), AT, Access::Fetch).unwrap().protected);
        assert!(go(&bench, asce(3), AT, Access::Execute).is_ok());
        let fault = go(&bench, asce(3), AT, Access::Store).unwrap_err();
        assert_eq!(fault.interruption, P::Protection);
        assert_eq!(fault.identification, 0x0123_4567_89AB_C404);
    }
    let mut bench = bench();
    bench.cpu.control[0] |= arch::control::CR0_ENHANCED_DAT;
    for level in 1..4 {
        flip(&mut bench, entry(level), arch::table::RTE_PROTECTION);
    }
    // There are no large pages either: the format control of the segment-table entry is ignored.
    flip(&mut bench, entry(0), 0x400);
    assert!(!go(&bench, asce(3), AT, Access::Store).unwrap().protected);
}

#[test]
fn execution_is_protected_by_the_page_when_control_register_0_says_so() {
    let mut bench = bench();
    flip(&mut bench, page_entry(), PTE_EXECUTION_PROTECTION);
    assert!(
        !go(&bench, asce(3), AT, Access::Execute)
            .unwrap()
            .execution_protected
    );
    bench.cpu.control[0] |= CR0_INSTRUCTION_EXECUTION_PROTECTION;
    assert!(
        go(&bench, asce(3), AT, Access::Store)
            .unwrap()
            .execution_protected
    );
    let fault = go(&bench, asce(3), AT, Access::Execute).unwrap_err();
    assert_eq!(fault.interruption, P::Protection);
    assert_eq!(fault.identification, 0x0123_4567_89AB_C884);
}

#[test]
fn the_identification_names_the_page_the_kind_of_access_and_the_space() {
    let mut bench = bench();
    flip(&mut bench, page_entry(), PTE_INVALID);
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &bench;
    for (space, space_bits) in [(Space::Primary, 0), (Space::Secondary, 2), (Space::Home, 3)] {
        for (access, bits) in [
            (Access::Fetch, 0x800),
            (Access::Execute, 0x800),
            (Access::Store, 0x400),
        ] {
            let fault = translate(cpu, configuration, hardware, asce(3), space, AT, access);
            let identification = fault.unwrap_err().identification;
            assert_eq!(identification, 0x0123_4567_89AB_C000 | bits | space_bits);
        }
    }
}

#[test]
fn a_table_entry_outside_storage_is_an_addressing_exception_without_identification() {
    let mut bench = bench();
    let end = bench.configuration.storage.end();
    bench.set_doublewords(entry(0), &[end]);
    assert_eq!(
        go(&bench, asce(3), AT, Access::Store),
        Err(Fault::plain(P::Addressing))
    );
    bench.set_doublewords(entry(0), &[STE_ORIGIN & !0xFFFF]);
    assert_eq!(
        go(&bench, asce(3), AT, Access::Store),
        Err(Fault::plain(P::Addressing))
    );

    let top = control::ORIGIN | 0xF;
    let entry = Real(control::ORIGIN + index(3) * 8);
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &bench;
    let stop = walk(cpu, configuration, hardware, top, AT).unwrap_err();
    assert_eq!(
        stop,
        Stop {
            interruption: P::Addressing,
            entry
        }
    );
}

#[test]
fn prefixing_applies_to_the_addresses_of_table_entries() {
    let mut bench = bench();
    bench.cpu.prefix = 0x4_0000;
    // The page table is at real 0, in the prefix area.
    bench.set_doublewords(entry(0), &[0]);
    bench.set_doublewords(0x4_0000 + (AT.0 >> 12 & 0xFF) * 8, &[FRAME]);
    bench.set_doublewords((AT.0 >> 12 & 0xFF) * 8, &[PTE_INVALID]);
    assert_eq!(
        go(&bench, asce(3), AT, Access::Fetch).unwrap().real,
        Real(FRAME | 0xDEF)
    );
}

#[test]
fn a_real_space_is_translated_by_no_table_and_protects_nothing() {
    let bench = bench();
    let real_space = control::REAL_SPACE | !0xFFF;
    let found = go(&bench, real_space, AT, Access::Store).unwrap();
    assert_eq!(found, Translation::untranslated(AT));
}

#[test]
fn instructions_come_from_the_primary_space_but_in_the_home_space_mode() {
    let mut bench = bench();
    let modes = [
        (0, Space::Primary, Space::Primary),
        (2, Space::Secondary, Space::Primary),
        (3, Space::Home, Space::Home),
    ];
    for (mode, operands, instructions) in modes {
        bench.cpu.psw.mask = mode << 46;
        assert_eq!(Space::of(&bench.cpu, Access::Fetch), operands);
        assert_eq!(Space::of(&bench.cpu, Access::Store), operands);
        assert_eq!(Space::of(&bench.cpu, Access::Execute), instructions);
    }
    bench.cpu.control[1] = 0x1000;
    bench.cpu.control[7] = 0x7000;
    bench.cpu.control[13] = 0xD000;
    let found = [Space::Primary, Space::Secondary, Space::Home].map(|space| space.asce(&bench.cpu));
    assert_eq!(found, [0x1000, 0x7000, 0xD000]);
}
