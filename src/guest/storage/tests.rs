//! Tests of claims: wrapping, prefixing, protection, the end of storage, and instruction text.

use super::*;
use crate::state::page_frames::PageState;
use crate::state::text::Text;
use crate::storage::scanner::{Entry, make_executable};
use crate::test_machine::Bench;
use ProgramInterruption as P;
use arch::extent::Extent;
use arch::psw::{ADDRESSING_64, BASIC_ADDRESSING, DAT};
use arch::table::{PTE_INVALID, PTE_PROTECTION};
use proptest::prelude::*;

/// Where the segment table and the page table of [`mapped`] are.
const SEGMENT_TABLE: u64 = 0x1_0000;
const PAGE_TABLE: u64 = 0x1_4000;

/// A bench with DAT on. Its primary space maps virtual pages of the first megabyte to the same real
/// ones.
fn mapped() -> Bench {
    let mut bench = Bench::with_storage(1 << 20);
    bench.set_doublewords(SEGMENT_TABLE, &[PAGE_TABLE]);
    for page in 0..256 {
        bench.set_doublewords(PAGE_TABLE + page * 8, &[page << 12]);
    }
    bench.cpu.control[1] = SEGMENT_TABLE;
    bench.cpu.psw.mask |= DAT;
    bench
}

/// Maps a virtual page of [`mapped`] elsewhere.
fn map(bench: &mut Bench, page: u64, entry: u64) {
    bench.set_doublewords(PAGE_TABLE + page * 8, &[entry]);
}

fn store(bench: &mut Bench, at: u64, bytes: &[u8]) -> Result<(), Fault> {
    put(
        &bench.cpu,
        &bench.configuration,
        &mut bench.hardware,
        Virtual(at),
        bytes,
    )
}

fn claim(bench: &Bench, at: u64, length: u64, access: Access) -> Result<Claim, Fault> {
    resolve(
        &bench.cpu,
        &bench.configuration,
        &bench.hardware,
        Virtual(at),
        length,
        access,
    )
}

fn instruction(bench: &Bench) -> Result<Text, Fault> {
    text(&bench.cpu, &bench.configuration, &bench.hardware)
}

const fn piece_of(at: u64, length: u64) -> Piece {
    Piece::new(Checked::in_test(Absolute(at)), length)
}

#[test]
fn an_operand_that_crosses_a_page_boundary_is_two_pieces_each_translated_for_itself() {
    let mut bench = mapped();
    map(&mut bench, 0x21, 0x8_8000);
    let found = claim(&bench, 0x2_0FFD, 8, Access::Fetch).unwrap();
    assert_eq!(
        found,
        Claim {
            first: piece_of(0x2_0FFD, 3),
            second: piece_of(0x8_8000, 5)
        }
    );
    store(&mut bench, 0x2_0FFD, b"abcdefgh").unwrap();
    assert_eq!(&bench.hardware.storage[0x2_0FFD..0x2_1000], b"abc");
    assert_eq!(&bench.hardware.storage[0x8_8000..0x8_8005], b"defgh");
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &bench;
    let value = fetch_u64(cpu, configuration, hardware, Virtual(0x2_0FFD)).unwrap();
    assert_eq!(value.to_be_bytes(), *b"abcdefgh");
    let word = fetch_u32(cpu, configuration, hardware, Virtual(0x2_0FFE)).unwrap();
    assert_eq!(word.to_be_bytes(), *b"bcde");
}

#[test]
fn an_operand_wraps_at_the_end_of_the_addressing_mode() {
    let mut bench = Bench::with_storage(16 << 20);
    bench.cpu.psw.mask = 0;
    let wrapped = Claim {
        first: piece_of(0xFF_FFFC, 4),
        second: piece_of(0, 4),
    };
    assert_eq!(claim(&bench, 0x12_34FF_FFFC, 8, Access::Fetch), Ok(wrapped));
    bench.cpu.psw.mask = ADDRESSING_64;
    assert_eq!(
        claim(&bench, 0xFF_FFFC, 8, Access::Fetch),
        Err(P::Addressing.into())
    );
    bench.cpu.psw.mask = BASIC_ADDRESSING;
    let low = Claim {
        first: piece_of(8, 4),
        second: Piece::NONE,
    };
    assert_eq!(
        claim(&bench, 0xFFFF_FFFF_8000_0008, 4, Access::Fetch),
        Ok(low)
    );
}

#[test]
fn prefixing_parts_an_operand_that_leaves_the_prefix_area() {
    let mut bench = Bench::new();
    bench.cpu.prefix = 0x4_0000;
    let found = claim(&bench, 0x1FFC, 8, Access::Fetch).unwrap();
    assert_eq!(
        found,
        Claim {
            first: piece_of(0x4_1FFC, 4),
            second: piece_of(0x2000, 4)
        }
    );
    let found = claim(&bench, 0x4_0010, 8, Access::Fetch).unwrap();
    assert_eq!(found.first, piece_of(0x10, 8));
}

#[test]
fn storage_ends_where_the_hsa_begins() {
    let mut bench = Bench::new();
    let end = bench.configuration.storage.end();
    assert!(store(&mut bench, end - 8, &[1; 8]).is_ok());
    for at in [end - 7, end, end + 4096, u64::MAX - 8, u64::MAX] {
        assert_eq!(
            claim(&bench, at, 8, Access::Fetch).unwrap_err(),
            P::Addressing.into()
        );
    }
    assert!(store(&mut bench, end - 4, &[2; 8]).is_err());
    assert_eq!(bench.doubleword(end - 8), u64::from_be_bytes([1; 8]));
}

#[test]
fn a_hole_in_storage_is_beyond_storage_on_both_of_its_sides() {
    let (begin, end) = (2 << 20, 3 << 20);
    let mut bench = Bench::with_extent(Extent::with_hole(begin, end, 4 << 20));
    for at in [begin - 8, end, (4 << 20) - 8] {
        assert!(store(&mut bench, at, &[1; 8]).is_ok(), "{at:x}");
        assert_eq!(bench.doubleword(at), u64::from_be_bytes([1; 8]), "{at:x}");
    }
    for at in [begin - 7, begin, begin + 4096, end - 8, end - 1, 4 << 20] {
        let fault = claim(&bench, at, 8, Access::Store).unwrap_err();
        assert_eq!(fault, P::Addressing.into(), "{at:x}");
    }
    assert!(store(&mut bench, begin - 4, &[2; 8]).is_err());
    assert!(checked_piece(&bench.configuration, Absolute(begin - 4096), 8192).is_none());
    bench.cpu.prefix = begin - 8192;
    assert!(prefix_area(&bench.cpu, &bench.configuration, &bench.hardware).is_some());
    bench.cpu.prefix = begin;
    assert!(prefix_area(&bench.cpu, &bench.configuration, &bench.hardware).is_none());
}

#[test]
fn a_store_that_is_not_made_opens_no_executable_page_to_the_next_one() {
    let mut bench = Bench::new();
    let (text, data) = (0x2_0000, 0x3_0000);
    make_executable(
        &bench.configuration,
        &mut bench.hardware,
        Absolute(text),
        Entry::At(0),
    );
    // What the change of the page has asked for is done.
    bench.cpu.shadow.seen = bench.configuration.shadow.posted();
    for (at, is_kept) in [(text, false), (data, true)] {
        assert!(claim(&bench, at, 8, Access::Store).is_ok());
        let found = kept(
            &bench.cpu,
            &bench.configuration,
            &bench.hardware,
            Virtual(at),
            8,
            Access::Store,
        );
        assert_eq!(found.is_some(), is_kept, "{at:x}");
    }
}

#[test]
fn nothing_is_stored_when_the_second_page_refuses() {
    let mut bench = mapped();
    map(&mut bench, 0x21, 0x2_1000 | PTE_PROTECTION);
    let fault = store(&mut bench, 0x2_0FFC, &[7; 8]).unwrap_err();
    assert_eq!(
        (fault.interruption, fault.identification),
        (P::Protection, 0x2_1404)
    );
    assert_eq!(bench.word(0x2_0FFC), 0);
    assert!(store(&mut bench, 0x2_0FFC, &[7; 4]).is_ok());
}

#[test]
fn low_address_protection_covers_512_bytes_of_each_of_the_first_two_pages() {
    let mut bench = Bench::new();
    assert!(store(&mut bench, 0, &[1]).is_ok());
    bench.cpu.control[0] |= CR0_LOW_ADDRESS_PROTECTION;
    for at in [0, 511, 4096, 4607] {
        let fault = store(&mut bench, at, &[1]).unwrap_err();
        assert_eq!(fault.interruption, P::Protection);
        assert_eq!(fault.identification, at & !0xFFF | 0x480);
        assert!(claim(&bench, at, 1, Access::Fetch).is_ok());
    }
    for at in [512, 4095, 4608, 8191, 8192, 8703] {
        assert!(store(&mut bench, at, &[1]).is_ok(), "{at}");
    }
    assert_eq!(
        store(&mut bench, 4095, &[1; 2]).unwrap_err().identification,
        0x1480
    );
}

#[test]
fn low_address_protection_goes_by_the_effective_address_and_spares_a_private_space() {
    let mut bench = mapped();
    bench.cpu.control[0] |= CR0_LOW_ADDRESS_PROTECTION;
    map(&mut bench, 0, 0x2_0000);
    map(&mut bench, 0x20, 0);
    assert_eq!(
        store(&mut bench, 0x10, &[1]).unwrap_err().identification,
        0x480
    );
    assert!(store(&mut bench, 0x2_0010, &[1]).is_ok());
    // Low-address protection comes before whatever the tables say.
    map(&mut bench, 0, PTE_INVALID);
    assert_eq!(
        store(&mut bench, 0x10, &[1]).unwrap_err().interruption,
        P::Protection
    );
    bench.cpu.control[1] |= asce::PRIVATE_SPACE;
    assert_eq!(
        store(&mut bench, 0x10, &[1]).unwrap_err().interruption,
        P::PageTranslation
    );
    map(&mut bench, 0, 0x2_0000);
    assert!(store(&mut bench, 0x10, &[1]).is_ok());
    // With DAT off there is no private space.
    bench.cpu.psw.mask &= !DAT;
    assert!(store(&mut bench, 0x10, &[1]).is_err());
}

#[test]
fn a_real_address_is_prefixed_but_not_translated_and_low_addresses_stay_protected() {
    let mut bench = mapped();
    bench.cpu.prefix = 0x4_0000;
    bench.cpu.control[1] = 0x7FFF_F000 | asce::PRIVATE_SPACE;
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    put_real_u64(
        cpu,
        configuration,
        hardware,
        AccessKey::ZERO,
        Real(0x208),
        0x0123,
    )
    .unwrap();
    assert_eq!(hardware.load_u64(Absolute(0x4_0208)), 0x0123);
    assert_eq!(
        real_u64(cpu, configuration, hardware, AccessKey::ZERO, Real(0x208)),
        Ok(0x0123)
    );
    assert_eq!(
        real_u32(cpu, configuration, hardware, AccessKey::ZERO, Real(0x20C)),
        Ok(0x0123)
    );
    cpu.control[0] |= CR0_LOW_ADDRESS_PROTECTION;
    let fault = put_real_u32(
        cpu,
        configuration,
        hardware,
        AccessKey::ZERO,
        Real(0x1004),
        1,
    )
    .unwrap_err();
    assert_eq!(
        (fault.interruption, fault.identification),
        (P::Protection, 0x1480)
    );
    let beyond = Real(configuration.storage.end());
    assert_eq!(
        real_u64(cpu, configuration, hardware, AccessKey::ZERO, beyond),
        Err(P::Addressing.into())
    );
    assert_eq!(
        put_real_u64(cpu, configuration, hardware, AccessKey::ZERO, beyond, 1),
        Err(P::Addressing.into())
    );
}

#[test]
fn every_store_makes_the_pages_it_touches_data_again() {
    let mut bench = mapped();
    let text = |bench: &mut Bench| {
        for page in [0x2_0000, 0x2_1000] {
            let at = Absolute(page);
            make_executable(&bench.configuration, &mut bench.hardware, at, Entry::At(0));
            assert_eq!(bench.configuration.page_frames.state(at), PageState::Text);
        }
    };
    let states = |bench: &Bench| {
        [0x2_0000, 0x2_1000].map(|page| bench.configuration.page_frames.state(Absolute(page)))
    };
    text(&mut bench);
    store(&mut bench, 0x2_0FF8, &[1; 8]).unwrap();
    assert_eq!(states(&bench), [PageState::Data, PageState::Text]);
    text(&mut bench);
    store(&mut bench, 0x2_0FFF, &[1; 2]).unwrap();
    assert_eq!(states(&bench), [PageState::Data; 2]);
    text(&mut bench);
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    // The value of a store by real address is known, and no part of it is sensitive.
    put_real_u32(
        cpu,
        configuration,
        hardware,
        AccessKey::ZERO,
        Real(0x2_1000),
        1,
    )
    .unwrap();
    put_real_u64(
        cpu,
        configuration,
        hardware,
        AccessKey::ZERO,
        Real(0x2_1008),
        0xB903_B203,
    )
    .unwrap();
    assert_eq!(states(&bench), [PageState::Text; 2]);
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    put_real_u32(
        cpu,
        configuration,
        hardware,
        AccessKey::ZERO,
        Real(0x2_1000),
        0xB98D_0000,
    )
    .unwrap();
    assert_eq!(states(&bench), [PageState::Text, PageState::Data]);
    bench.set(0x2_1000, &[0; 4]);
    text(&mut bench);
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &mut bench;
    put_u64(cpu, configuration, hardware, Virtual(0x2_0FFC), 1).unwrap();
    assert_eq!(states(&bench), [PageState::Data; 2]);
    text(&mut bench);
    let Bench {
        configuration,
        hardware,
        ..
    } = &mut bench;
    put_absolute(configuration, hardware, Absolute(0x2_0FFF), &[1; 2]).unwrap();
    assert_eq!(states(&bench), [PageState::Data; 2]);
}

#[test]
fn instruction_text_has_the_length_that_its_first_two_bits_say() {
    let mut bench = mapped();
    bench.cpu.psw.address = 0x3_0000;
    let six = [0xEB, 0x11, 0x22, 0x33, 0x44, 0x55];
    for (operation, length) in [(0x07, 2), (0x47, 4), (0x80, 4), (0xC0, 6), (0xEB, 6)] {
        bench.set(0x3_0000, &six);
        bench.set(0x3_0000, &[operation]);
        let mut bytes = six;
        bytes[0] = operation;
        bytes[length..].fill(0);
        let found = instruction(&bench).unwrap();
        assert_eq!(
            (found.bytes, found.length, found.executed),
            (bytes, length as u8, false)
        );
    }
}

#[test]
fn instruction_text_needs_the_next_page_only_if_the_instruction_reaches_it() {
    let mut bench = mapped();
    map(&mut bench, 0x31, PTE_INVALID);
    bench.cpu.psw.address = 0x3_0FFE;
    bench.set(0x3_0FFE, &[0x07, 0xFE]);
    assert_eq!(instruction(&bench).unwrap().bytes, [0x07, 0xFE, 0, 0, 0, 0]);
    bench.set(0x3_0FFE, &[0xB2, 0x05]);
    let fault = instruction(&bench).unwrap_err();
    assert_eq!(
        (fault.interruption, fault.identification),
        (P::PageTranslation, 0x3_1800)
    );
    map(&mut bench, 0x31, 0x7_7000);
    bench.set(0x7_7000, &[0x12, 0x34, 0x56]);
    assert_eq!(
        instruction(&bench).unwrap().bytes,
        [0xB2, 0x05, 0x12, 0x34, 0, 0]
    );
    bench.cpu.psw.address = 0x3_0FFC;
    bench.set(0x3_0FFC, &[0xEB]);
    assert_eq!(
        instruction(&bench).unwrap().bytes,
        [0xEB, 0, 0xB2, 0x05, 0x12, 0x34]
    );
}

#[test]
fn an_odd_instruction_address_is_a_specification_exception() {
    let mut bench = mapped();
    bench.cpu.psw.address = 0x3_0001;
    assert_eq!(instruction(&bench).unwrap_err(), P::Specification.into());
}

#[test]
fn in_the_secondary_space_mode_operands_are_secondary_and_instructions_primary() {
    let mut bench = mapped();
    bench.cpu.psw.mask |= 2 << 46;
    bench.cpu.control[7] = 0x5_0000;
    bench.set_doublewords(0x5_0000, &[0x20]);
    assert_eq!(
        claim(&bench, 0x3_0000, 1, Access::Fetch)
            .unwrap_err()
            .identification,
        0x3_0802
    );
    bench.cpu.psw.address = 0x3_0000;
    assert!(instruction(&bench).is_ok());
    let Bench {
        cpu,
        configuration,
        hardware,
    } = &bench;
    let at = Virtual(0x3_0000);
    let found = resolve_in(
        cpu,
        configuration,
        hardware,
        Manner::without_key(Some(Space::Primary), Access::Store),
        at,
        4096,
    );
    assert_eq!(found.unwrap().first, piece_of(0x3_0000, 4096));
}

#[test]
fn no_operand_is_longer_than_a_page() {
    let bench = mapped();
    assert_eq!(
        claim(&bench, 0x3_0001, 4096, Access::Fetch)
            .unwrap()
            .second
            .length(),
        1
    );
    assert_eq!(
        claim(&bench, 0x3_0000, 4097, Access::Fetch),
        Err(P::Specification.into())
    );
    assert_eq!(
        claim(&bench, u64::MAX, 0, Access::Store),
        Ok(Claim::within_a_page(Piece::NONE))
    );
}

proptest! {
    #[test]
    fn every_claim_is_in_storage_and_has_the_requested_length(
        at in prop_oneof![any::<u64>(), 0_u64..0x20_0000],
        length in 0_u64..=4200,
        mask in any::<u64>(),
        controls in any::<[u64; 3]>(),
        tables in prop::collection::vec(prop_oneof![any::<u64>(), 0_u64..0x14_0000], 512),
        prefix in 0_u64..128,
        kind in 0_usize..3,
    ) {
        let mut bench = Bench::with_storage(1 << 20);
        for at in (0..0x10_0000_u64).step_by(0x1000) {
            bench.set_doublewords(at, &tables);
        }
        bench.cpu.prefix = prefix * 8192;
        bench.cpu.psw.mask = mask;
        bench.cpu.psw.address = at;
        for (register, value) in [1, 7, 13].into_iter().zip(controls) {
            bench.cpu.control[register] = value & 0xF_FFFF;
        }
        let access = [Access::Fetch, Access::Store, Access::Execute][kind];
        if let Ok(claim) = claim(&bench, at, length, access) {
            prop_assert_eq!(claim.first.length() + claim.second.length(), length);
            for piece in [claim.first, claim.second] {
                let (at, length) = (piece.start().absolute().0, piece.length());
                let last = at + length.saturating_sub(1);
                prop_assert!(length == 0 || last < bench.configuration.storage.end());
                prop_assert!(length == 0 || last / PAGE == at / PAGE);
            }
        }
        if let Ok(text) = instruction(&bench) {
            prop_assert!(matches!(text.length, 2 | 4 | 6) && at & 1 == 0);
        }
        let bytes = vec![0xA5; length.min(4096) as usize];
        if store(&mut bench, at, &bytes).is_ok() {
            let mut back = vec![0; bytes.len()];
            let Bench { cpu, configuration, hardware } = &bench;
            // The store may have changed the tables by which it was translated.
            if fetch(cpu, configuration, hardware, Virtual(at), &mut back).is_ok() && !cpu.psw.dat() {
                prop_assert_eq!(back, bytes);
            }
        }
    }
}
