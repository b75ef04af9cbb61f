//! Translation, purging, moves between spaces, and storage keys.

use super::*;
use crate::dispatch;
use crate::state::pending_work::PendingWork;
use Instruction as I;
use ProgramInterruption as P;
use arch::table::PTE_PROTECTION;

#[test]
fn lra_gives_the_real_address_or_the_invalid_entry_or_the_exception_code() {
    let mut bench = translating();
    invalidate(&mut bench, 5);
    bench.cpu.general[1] = 0xFFFF_FFFF_0000_0000;
    let mut lrag = |address| {
        let code = complete(
            &mut bench,
            I::Lrag {
                r1: 1,
                second: at(address),
            },
        );
        (code, bench.cpu.general[1])
    };
    assert_eq!(lrag(0x4321), (0, 0x4321));
    assert_eq!(lrag(0x5321), (2, PAGES + 5 * 8));
    assert_eq!(lrag(0x10_0000), (1, SEGMENTS + 8));
    // The table has 512 entries; this address needs the 513th.
    assert_eq!(lrag(0x2000_0000), (3, 0x8000_0010));
}

#[test]
fn lra_translates_with_dat_off_and_by_the_space_of_the_psw() {
    let mut bench = translating();
    bench.cpu.psw.mask &= !DAT;
    bench.cpu.psw.mask |= bit64(16);
    assert_eq!(
        complete(
            &mut bench,
            I::Lra {
                r1: 1,
                second: at(0x4321)
            }
        ),
        0
    );
    assert_eq!(bench.cpu.general[1], 0x10_4321);
}

#[test]
fn lra_below_the_64_bit_mode_leaves_the_left_half_of_the_register() {
    let mut bench = translating();
    bench.cpu.psw.mask &= !bit64(31);
    bench.cpu.general[1] = u64::MAX;
    assert_eq!(
        complete(
            &mut bench,
            I::Lra {
                r1: 1,
                second: at(0x4321)
            }
        ),
        0
    );
    assert_eq!(bench.cpu.general[1], 0xFFFF_FFFF_0000_4321);
    bench.set_doublewords(PAGES + 6 * 8, &[1 << 32]);
    assert_eq!(
        exception(
            &mut bench,
            I::Lra {
                r1: 1,
                second: at(0x6000)
            }
        ),
        P::SpecialOperation
    );
}

#[test]
fn storage_by_real_address_is_prefixed_and_requires_its_boundary() {
    let mut bench = translating();
    bench.cpu.prefix = 0x4000;
    bench.cpu.general[1] = 0x1122_3344_5566_7788;
    bench.cpu.general[2] = 0x300;
    complete(&mut bench, I::Sturg { r1: 1, r2: 2 });
    assert_eq!(bench.doubleword(0x4300), 0x1122_3344_5566_7788);
    complete(&mut bench, I::Lurag { r1: 3, r2: 2 });
    assert_eq!(bench.cpu.general[3], bench.cpu.general[1]);
    bench.cpu.general[2] = 0x304;
    bench.cpu.general[3] = u64::MAX;
    complete(&mut bench, I::Lura { r1: 3, r2: 2 });
    assert_eq!(bench.cpu.general[3], 0xFFFF_FFFF_5566_7788);
    assert_eq!(
        exception(&mut bench, I::Sturg { r1: 1, r2: 2 }),
        P::Specification
    );
    bench.cpu.control[0] |= bit64(35);
    bench.cpu.general[2] = 0x100;
    assert_eq!(
        exception(&mut bench, I::Stura { r1: 1, r2: 2 }),
        P::Protection
    );
}

#[test]
fn tprot_tells_what_the_guests_own_tables_permit() {
    let mut bench = translating();
    change_entry(&mut bench, 5, PTE_PROTECTION);
    invalidate(&mut bench, 6);
    change_entry(&mut bench, 7, bit64(52));
    let tprot = |address| I::Tprot {
        first: at(address),
        second: at(0),
    };
    assert_eq!(complete(&mut bench, tprot(0x4000)), 0);
    assert_eq!(complete(&mut bench, tprot(0x5000)), 1);
    assert_eq!(complete(&mut bench, tprot(0x6000)), 3);
    assert_eq!(complete(&mut bench, tprot(0x10_0000)), 3);
    assert_eq!(
        exception(&mut bench, tprot(0x7000)),
        P::TranslationSpecification
    );
    bench.cpu.psw.mask &= !DAT;
    assert_eq!(exception(&mut bench, tprot(0x7000_0000)), P::Addressing);
    bench.cpu.control[0] |= bit64(35);
    assert_eq!(complete(&mut bench, tprot(0x10)), 1);
}

#[test]
fn ipte_makes_one_entry_invalid_and_purges_it_everywhere() {
    let mut bench = translating();
    let posted = bench.configuration.shadow.posted();
    bench.cpu.general[1] = PAGES | 0x7FF;
    bench.cpu.general[2] = 0x8_9ABC;
    complete(
        &mut bench,
        I::Ipte {
            r1: 1,
            r2: 2,
            r3: 0,
            m4: 0,
        },
    );
    assert_eq!(bench.doubleword(PAGES + 0x89 * 8), 0x8_9000 | PTE_INVALID);
    assert_eq!(bench.doubleword(PAGES + 0x88 * 8), 0x8_8000);
    assert_ne!(bench.configuration.shadow.posted(), posted);
}

#[test]
fn idte_makes_a_run_of_entries_invalid_unless_only_clearing_is_asked_for() {
    let mut bench = translating();
    bench.set_doublewords(SEGMENTS, &[PAGES, PAGES, PAGES, PAGES]);
    let posted = bench.configuration.shadow.posted();
    let idte = I::Idte {
        r1: 1,
        r3: 3,
        r2: 2,
        m4: 0,
    };
    bench.cpu.general[1] = SEGMENTS;
    bench.cpu.general[2] = 0x800;
    complete(&mut bench, idte);
    assert_eq!(bench.doubleword(SEGMENTS), PAGES);
    bench.cpu.general[2] = 0x10_0001;
    complete(&mut bench, idte);
    let entries = [0, 8, 16, 24].map(|entry| bench.doubleword(SEGMENTS + entry) & STE_INVALID != 0);
    assert_eq!(entries, [false, true, true, false]);
    assert_eq!(bench.configuration.shadow.posted(), posted + 2);
    bench.cpu.general[2] = 0x1000;
    assert_eq!(exception(&mut bench, idte), P::Specification);
}

#[test]
fn cspg_swaps_if_equal_and_purges_only_then_and_only_if_asked() {
    let mut bench = Bench::new();
    bench.set_doublewords(0x2000, &[5]);
    (
        bench.cpu.general[4],
        bench.cpu.general[5],
        bench.cpu.general[2],
    ) = (5, 6, 0x2006);
    let posted = bench.configuration.shadow.posted();
    assert_eq!(complete(&mut bench, I::Cspg { r1: 4, r2: 2 }), 0);
    assert_eq!((bench.doubleword(0x2000), bench.cpu.general[4]), (6, 5));
    bench.cpu.general[2] = 0x2007;
    assert_eq!(complete(&mut bench, I::Cspg { r1: 4, r2: 2 }), 1);
    assert_eq!((bench.doubleword(0x2000), bench.cpu.general[4]), (6, 6));
    assert_eq!(bench.configuration.shadow.posted(), posted);
    assert_eq!(complete(&mut bench, I::Cspg { r1: 4, r2: 2 }), 0);
    assert_eq!(bench.configuration.shadow.posted(), posted + 1);
    assert_eq!(
        exception(&mut bench, I::Cspg { r1: 5, r2: 2 }),
        P::Specification
    );
}

#[test]
fn csp_compares_and_swaps_the_right_halves() {
    let mut bench = Bench::new();
    bench.set(0x2004, &[0, 0, 0, 9]);
    (bench.cpu.general[4], bench.cpu.general[5]) = (0xFFFF_FFFF_0000_0008, 0xFFFF_FFFF_0000_0007);
    bench.cpu.general[2] = 0x2004;
    assert_eq!(complete(&mut bench, I::Csp { r1: 4, r2: 2 }), 1);
    assert_eq!(bench.cpu.general[4], 0xFFFF_FFFF_0000_0009);
    assert_eq!(complete(&mut bench, I::Csp { r1: 4, r2: 2 }), 0);
    assert_eq!(bench.doubleword(0x2000), 7);
}

#[test]
fn sac_selects_the_space_and_has_no_access_register_mode() {
    let mut bench = translating();
    for (code, space) in [(0x100, 2), (0x300, 3), (0x000, 0)] {
        bench.cpu.pending_work.clear(PendingWork::CONTROLS);
        complete(&mut bench, I::Sac { second: at(code) });
        assert_eq!(bench.cpu.psw.fields().address_space(), space);
        assert!(bench.cpu.pending_work.any(PendingWork::CONTROLS));
        let code = code as u64 >> 8;
        assert_eq!(u64::from(complete(&mut bench, I::Iac { r1: 1 })), code);
        assert_eq!(bench.cpu.general[1] >> 8 & 0xFF, code);
    }
    assert_eq!(
        exception(&mut bench, I::Sacf { second: at(0x200) }),
        P::Specification
    );
    bench.cpu.psw.mask |= PROBLEM;
    assert_eq!(
        exception(&mut bench, I::Sacf { second: at(0x300) }),
        P::PrivilegedOperation
    );
    bench.cpu.control[0] &= !bit64(37);
    assert_eq!(
        exception(&mut bench, I::Sacf { second: at(0x300) }),
        P::SpecialOperation
    );
    bench.cpu.psw.mask &= !DAT;
    bench.cpu.control[0] |= bit64(37);
    assert_eq!(
        exception(&mut bench, I::Sacf { second: at(0x000) }),
        P::SpecialOperation
    );
}

#[test]
fn an_instruction_that_extracts_tests_dat_before_the_authority_and_this_in_the_problem_state_only()
{
    let instructions = [
        I::Epar { r1: 1 },
        I::Esar { r1: 1 },
        I::Iac { r1: 1 },
        I::Ivsk { r1: 1, r2: 2 },
    ];
    for instruction in instructions {
        let mut bench = translating();
        complete(&mut bench, instruction);
        bench.cpu.psw.mask |= PROBLEM;
        assert_eq!(
            exception(&mut bench, instruction),
            P::PrivilegedOperation,
            "{instruction}"
        );
        bench.cpu.control[0] |= bit64(36);
        complete(&mut bench, instruction);
        for authority in [0, bit64(36)] {
            bench.cpu.psw.mask &= !DAT;
            bench.cpu.control[0] = authority;
            assert_eq!(
                exception(&mut bench, instruction),
                P::SpecialOperation,
                "{instruction}"
            );
        }
    }
}

#[test]
fn mvcos_moves_between_the_spaces_that_general_register_0_names() {
    let mut bench = translating();
    let bytes: Vec<u8> = (0..600).map(|n| n as u8).collect();
    bench.set(0x10_3F80, &bytes);
    // Second operand: secondary space.
    bench.cpu.general[0] = 0x81;
    bench.cpu.general[3] = 600;
    let mvcos = I::Mvcos {
        first: at(0x5FC0),
        second: at(0x3F80),
        r3: 3,
    };
    assert_eq!(complete(&mut bench, mvcos), 0);
    assert_eq!(bench.hardware.storage[0x5FC0..][..600], bytes);
    // First operand: secondary space.
    bench.cpu.general[0] = 0x81_0000;
    bench.cpu.general[3] = 5000;
    let back = I::Mvcos {
        first: at(0x8000),
        second: at(0x5FC0),
        r3: 3,
    };
    assert_eq!(complete(&mut bench, back), 3);
    let (from, to) = (0x5FC0, 0x10_8000);
    assert_eq!(
        bench.hardware.storage[from..][..4096],
        bench.hardware.storage[to..][..4096]
    );
    assert_eq!(bench.hardware.storage[to + 4096], 0);
}

#[test]
fn mvcos_finds_a_page_where_it_was_moved_to_before_the_purge_of_its_entry() {
    for leaves in [false, true] {
        let mut bench = translating();
        // From the secondary space; its page 3 is at 103000.
        bench.cpu.general[0] = 0x81;
        bench.cpu.general[3] = 8;
        let mvcos = I::Mvcos {
            first: at(0x5000),
            second: at(0x3008),
            r3: 3,
        };
        bench.set_doublewords(0x10_3008, &[1]);
        bench.set_doublewords(0x10_4008, &[2]);
        complete(&mut bench, mvcos);
        assert_eq!(bench.doubleword(0x5000), 1);
        (bench.cpu.general[1], bench.cpu.general[2]) = (PAGES + 0x800, 0x3000);
        let ipte = I::Ipte {
            r1: 1,
            r2: 2,
            r3: 0,
            m4: 0,
        };
        complete(&mut bench, ipte);
        if leaves {
            dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        }
        assert_eq!(exception(&mut bench, mvcos), P::PageTranslation);
        bench.set_doublewords(PAGES + 0x800 + 3 * 8, &[0x10_4000]);
        complete(&mut bench, mvcos);
        assert_eq!(bench.doubleword(0x5000), 2);
    }
}

#[test]
fn mvcos_does_not_take_the_page_of_one_space_for_that_of_another() {
    let mut bench = translating();
    bench.set_doublewords(0x3000, &[1]);
    bench.set_doublewords(0x10_3000, &[2]);
    bench.cpu.general[3] = 8;
    let mvcos = I::Mvcos {
        first: at(0x5000),
        second: at(0x3000),
        r3: 3,
    };
    let spaces = [SEGMENTS, SEGMENTS + 0x1000];
    // The second operand is in the secondary space, which is one and the other in turn.
    bench.cpu.general[0] = 0x81;
    for (space, value) in [(1, 2), (0, 1), (1, 2), (0, 1)] {
        bench.cpu.control[7] = spaces[space];
        complete(&mut bench, mvcos);
        assert_eq!(bench.doubleword(0x5000), value);
    }
}

#[test]
fn mvcos_moves_overlapping_operands_in_pieces_of_256_bytes_and_others_at_once() {
    for (distance, length) in [(1, 256), (100, 700), (255, 256), (256, 600), (0, 64)] {
        let mut bench = translating();
        let bytes: Vec<u8> = (0..=255).cycle().take(2048).collect();
        bench.set(0x5100, &bytes);
        bench.cpu.general[3] = length;
        let mvcos = I::Mvcos {
            first: at(0x5100 + distance),
            second: at(0x5100),
            r3: 3,
        };
        complete(&mut bench, mvcos);
        let (mut expected, length, distance) = (bytes, length as usize, distance as usize);
        for piece in (0..length).step_by(256) {
            let end = (piece + 256).min(length);
            expected.copy_within(piece..end, piece + distance);
        }
        assert!(bench.hardware.storage[0x5100..][..2048] == expected);
    }
}

#[test]
fn mvcos_that_cannot_reach_its_last_page_moves_nothing() {
    let mut bench = translating();
    bench.set(0x3000, &[7; 4096]);
    invalidate(&mut bench, 6);
    bench.cpu.general[3] = 4096;
    let mvcos = I::Mvcos {
        first: at(0x5800),
        second: at(0x3000),
        r3: 3,
    };
    let Err(fault) = issue(&mut bench, mvcos) else {
        panic!("no fault")
    };
    assert_eq!(fault.interruption, P::PageTranslation);
    assert_eq!(fault.identification & !0xFFF, 0x6000);
    assert!(
        bench.hardware.storage[0x5800..0x6000]
            .iter()
            .all(|&byte| byte == 0)
    );
}

#[test]
fn mvcos_in_the_problem_state_may_not_use_the_home_space_or_a_key_that_is_not_its_own() {
    let mut bench = translating();
    bench.cpu.psw.mask |= PROBLEM;
    let mvcos = I::Mvcos {
        first: at(0x4000),
        second: at(0x3000),
        r3: 3,
    };
    bench.cpu.general[0] = 0x00C1_0000;
    assert_eq!(exception(&mut bench, mvcos), P::SpecialOperation);
    bench.cpu.general[0] = 0x3002;
    assert_eq!(exception(&mut bench, mvcos), P::PrivilegedOperation);
    // The key of the other operand is the PSW's.
    bench.cpu.control[3] = bit64(32 + 3);
    assert_eq!(exception(&mut bench, mvcos), P::PrivilegedOperation);
    bench.cpu.control[3] |= bit64(32);
    assert_eq!(complete(&mut bench, mvcos), 0);
    bench.cpu.general[0] = 0;
    bench.cpu.psw.mask &= !DAT;
    assert_eq!(exception(&mut bench, mvcos), P::SpecialOperation);
}

#[test]
fn mvcos_of_a_program_without_a_key_reaches_no_space_at_all() {
    let mut bench = translating();
    bench.cpu.psw.mask |= PROBLEM;
    bench.cpu.control[13] = bench.cpu.control[7];
    bench.set(0x10_3000, &[9; 8]);
    bench.cpu.general[3] = 8;
    let mvcos = I::Mvcos {
        first: at(0x4000),
        second: at(0x3000),
        r3: 3,
    };
    // The second operand in the current, in the secondary, and in the home space.
    for controls in [0, 0x81, 0xC1] {
        bench.cpu.general[0] = controls;
        assert_eq!(exception(&mut bench, mvcos), P::PrivilegedOperation);
    }
    assert_eq!(bench.hardware.storage[0x4000..][..8], [0; 8]);
    // With authority for the key, nothing prevents fetching from the home space.
    bench.cpu.control[3] = bit64(32);
    assert_eq!(complete(&mut bench, mvcos), 0);
    assert_eq!(bench.hardware.storage[0x4000..][..8], [9; 8]);
}

#[test]
fn mvcp_and_mvcs_move_at_most_256_bytes() {
    let mut bench = translating();
    bench.set(0x10_3000, &[9; 300]);
    bench.cpu.general[1] = 300;
    let (r1, r3) = (1, 3);
    let mvcp = I::Mvcp {
        r1,
        first: at(0x4000),
        second: at(0x3000),
        r3,
    };
    assert_eq!(complete(&mut bench, mvcp), 3);
    assert_eq!(bench.hardware.storage[0x4000..0x4100], [9; 256]);
    assert_eq!(bench.hardware.storage[0x4100], 0);
    bench.cpu.general[1] = 2;
    let mvcs = I::Mvcs {
        r1,
        first: at(0x5000),
        second: at(0x4000),
        r3,
    };
    assert_eq!(complete(&mut bench, mvcs), 0);
    assert_eq!(bench.hardware.storage[0x10_5000..0x10_5003], [9, 9, 0]);
    bench.cpu.psw.mask |= bit64(16) | bit64(17);
    assert_eq!(exception(&mut bench, mvcp), P::SpecialOperation);
}

#[test]
fn mvpg_with_the_condition_code_option_tells_which_page_is_invalid() {
    let mut bench = translating();
    invalidate(&mut bench, 5);
    bench.set(0x4000, &[3; 4096]);
    (bench.cpu.general[1], bench.cpu.general[2]) = (0x6123, 0x4456);
    assert_eq!(complete(&mut bench, I::Mvpg { r1: 1, r2: 2 }), 0);
    assert_eq!(bench.hardware.storage[0x6000..0x7000], [3; 4096]);
    bench.cpu.general[1] = 0x5000;
    assert_eq!(
        exception(&mut bench, I::Mvpg { r1: 1, r2: 2 }),
        P::PageTranslation
    );
    bench.cpu.general[0] = 0x100;
    assert_eq!(complete(&mut bench, I::Mvpg { r1: 1, r2: 2 }), 1);
    assert_eq!(complete(&mut bench, I::Mvpg { r1: 2, r2: 1 }), 2);
    bench.cpu.general[0] = 0x0C00;
    assert_eq!(
        exception(&mut bench, I::Mvpg { r1: 1, r2: 2 }),
        P::Specification
    );
}

#[test]
fn mvpg_gives_its_register_fields_with_a_page_translation_exception_and_with_no_other() {
    let mut bench = translating();
    invalidate(&mut bench, 5);
    let mut fault = |r1, r2, to, from| {
        (
            bench.cpu.general[usize::from(r1)],
            bench.cpu.general[usize::from(r2)],
        ) = (to, from);
        let found = issue(&mut bench, I::Mvpg { r1, r2 }).unwrap_err();
        (found.interruption, found.operand_access)
    };
    let page = P::PageTranslation;
    assert_eq!(fault(1, 15, 0x5000, 0x4000), (page, Some(0x1F)));
    assert_eq!(fault(14, 3, 0x4000, 0x5000), (page, Some(0xE3)));
    let segment = P::SegmentTranslation;
    assert_eq!(fault(1, 2, 0x10_0000, 0x4000), (segment, None));
}

#[test]
fn storage_keys_belong_to_absolute_blocks() {
    let mut bench = translating();
    bench.cpu.prefix = 0x4000;
    (bench.cpu.general[1], bench.cpu.general[2]) = (0xFF, 0x0123);
    complete(
        &mut bench,
        I::Sske {
            r1: 1,
            r2: 2,
            m3: 0,
        },
    );
    assert_eq!(bench.hardware.keys[4], 0xFE);
    bench.cpu.general[1] = u64::MAX;
    complete(&mut bench, I::Iske { r1: 1, r2: 2 });
    assert_eq!(bench.cpu.general[1], 0xFFFF_FFFF_FFFF_FFFE);
    assert_eq!(complete(&mut bench, I::Rrbe { r1: 0, r2: 2 }), 3);
    complete(&mut bench, I::Ivsk { r1: 1, r2: 2 });
    assert_eq!(bench.cpu.general[1], 0xFFFF_FFFF_FFFF_FFF8);
    bench.cpu.general[2] = bench.configuration.storage.end();
    assert_eq!(
        exception(&mut bench, I::Iske { r1: 1, r2: 2 }),
        P::Addressing
    );
}

#[test]
fn tb_clears_the_block_unless_low_addresses_are_protected() {
    let mut bench = Bench::new();
    bench.set(0x4FF0, &[1; 32]);
    (bench.cpu.general[0], bench.cpu.general[2]) = (7, 0x4123);
    assert_eq!(complete(&mut bench, I::Tb { r1: 0, r2: 2 }), 0);
    assert_eq!(
        (
            bench.hardware.storage[0x4FFF],
            bench.hardware.storage[0x5000]
        ),
        (0, 1)
    );
    assert_eq!(bench.cpu.general[0], 0);
    bench.cpu.control[0] |= bit64(35);
    bench.cpu.general[2] = 0x1000;
    assert_eq!(exception(&mut bench, I::Tb { r1: 0, r2: 2 }), P::Protection);
}
