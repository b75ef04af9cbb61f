//! Which general registers instructions place values in.

use crate::branch::{Site, branch};
use crate::placed::{placed, sort, sort_of};
use crate::references::State;
use crate::{assigned, length, opcode};
use arch::psw::ADDRESSING_64;
use proptest::prelude::*;

/// The text of an instruction from its digits.
fn text(number: u64) -> [u8; 6] {
    let bytes = number.to_be_bytes();
    let first = bytes.iter().position(|&byte| byte != 0).unwrap_or(7);
    // No opcode of this table begins with a byte of zeros, and those of 01 have two bytes.
    let first = if number < 0x1000 { 6 } else { first };
    let mut text = [0; 6];
    text[..8 - first].copy_from_slice(&bytes[first..]);
    assert_eq!(length(text[0]), 8 - first, "{number:X}");
    text
}

/// The registers of an instruction under these condition codes before and after it.
fn with_codes(number: u64, before: u64, after: u64) -> u16 {
    let general = [0; 16];
    let state = |code| State {
        general: &general,
        mask: ADDRESSING_64 | code << 44,
    };
    placed(&text(number), &state(before), &state(after))
}

fn of(number: u64) -> u16 {
    with_codes(number, 0, 0)
}

#[test]
fn no_assigned_opcode_is_forgotten() {
    let mut count = 0;
    for first in 0..=255 {
        for second in 0..=255 {
            for text in [[first, second, 0, 0, 0, 0], [first, 0, 0, 0, 0, second]] {
                if assigned(&text) {
                    count += 1;
                    let opcode = opcode(&text);
                    let sort = sort(opcode);
                    assert!(sort.is_some(), "{opcode:04X} is in no row");
                    assert_eq!(sort, Some(sort_of(&text).0), "{opcode:04X}");
                }
            }
        }
    }
    assert!(count > 1200, "{count}");
}

#[test]
fn a_value_is_placed_where_the_format_has_the_first_operand() {
    #[rustfmt::skip]
    const FIRST: &[u64] = &[
        // LR, LTR, AR, XR, BALR, BCTR; LA, IC, L, AH, CVB; LHI, AHI, BRAS, LLILL, LARL, AFI, LRL, BRASL, AIH.
        0x183C, 0x123C, 0x1A3C, 0x173C, 0x053C, 0x0630, 0x4130_0000, 0x4330_0000, 0x5830_0000, 0x4A30_0000,
        0x4F30_0000, 0xA738_0001, 0xA73A_0001, 0xA735_0002, 0xA53F_0001, 0xC030_0000_0000, 0xC239_0000_0001,
        0xC43D_0000_0000, 0xC035_0000_0000, 0xCC38_0000_0001,
        // LGR, LTGR, AGR, LLGCR, POPCNT, AGRK, SELR, MSGRKC, MSR, IPM, EAR, LGDR, CFEBR, CGDTR.
        0xB904_003C, 0xB902_003C, 0xB908_003C, 0xB984_003C, 0xB9E1_003C, 0xB9E8_C03C, 0xB9F0_C03C, 0xB9ED_C03C,
        0xB252_003C, 0xB222_0030, 0xB24F_003C, 0xB3CD_003C, 0xB398_003C, 0xB3E1_003C,
        // LG, LB, LLH, LAY, MSC, LFH, BCTG; SLLG, RLL, LAA, LAALG, ECAG; RISBG, AHIK, VLGV, LCBB.
        0xE330_0000_0004, 0xE330_0000_0076, 0xE330_0000_0095, 0xE330_0000_0071, 0xE330_0000_0053,
        0xE330_0000_00CA, 0xE330_0000_0046, 0xEB3C_0000_000D, 0xEB3C_0000_001D, 0xEB3C_0000_00F8,
        0xEB3C_0000_00EA, 0xEB3C_0000_004C, 0xEC3C_0000_0055, 0xEC3C_0000_00D8, 0xE73C_0000_0021,
        0xE730_0000_0027,
    ];
    for &number in FIRST {
        assert_eq!(of(number), 0x1000, "{number:X}");
    }
}

#[test]
fn nothing_is_placed_by_a_store_a_comparison_a_test_or_a_branch_without_a_register() {
    #[rustfmt::skip]
    const NONE: &[u64] = &[
        // CR, CLR, BCR, SPM; ST, STC, C, CL, CH, BC, CVD, TM, CLI, MVI, STM, STCM, CLM; CHI, TMLL, BRC.
        0x193C, 0x153C, 0x07FC, 0x0430, 0x5030_0000, 0x4230_0000, 0x5930_0000, 0x5530_0000, 0x4930_0000,
        0x47F0_0000, 0x4E30_0000, 0x9101_0000, 0x9501_0000, 0x9201_0000, 0x903C_0000, 0xBE3F_0000, 0xBD3F_0000,
        0xA73E_0001, 0xA731_0001, 0xA7F4_0002,
        // CGR, CLGFR, CGRT, LDGR, CEFBR, CDGTR; CG, STG, STPQ, PFD; STMG, CLMH, MVIY, AGSI; CGRJ, CIJ, CIB, CLGIT.
        0xB920_003C, 0xB931_003C, 0xB960_003C, 0xB3C1_003C, 0xB394_003C, 0xB3F1_003C, 0xE330_0000_0020,
        0xE330_0000_0024, 0xE320_0000_008E, 0xE330_0000_0036, 0xEB3C_0000_0024, 0xEB3F_0000_0020,
        0xEB01_0000_0052, 0xEB01_0000_007A, 0xEC3C_0000_0064, 0xEC38_0000_007E, 0xEC38_0000_00FE,
        0xEC30_0000_8071,
        // MVC, CLC, TR, ZAP, CIH, STRL, CRL, BRCL, MVHI, VL, ADB, LD.
        0xD200_0000_0000, 0xD500_0000_0000, 0xDC00_0000_0000, 0xF800_0000_0000, 0xCC3D_0000_0001,
        0xC43F_0000_0000, 0xC63D_0000_0000, 0xC0F4_0000_0000, 0xE54C_0000_0000, 0xE730_0000_0006,
        0xED30_0000_001A, 0x6830_0000,
    ];
    for &number in NONE {
        for code in 0..4 {
            assert_eq!(with_codes(number, code, code), 0, "{number:X} {code}");
        }
    }
}

#[test]
fn a_pair_or_a_range_of_registers_wraps_behind_register_15() {
    // MR, D, SRDA, DLGR, MLG, LPQ, MGRK, FLOGR, LPDG, CUXTR.
    for pair in [
        0x1C4C,
        0x5D40_0000,
        0x8E40_0001,
        0xB987_004C,
        0xE340_0000_0086,
        0xE340_0000_008F,
        0xB9EC_C042,
        0xB983_004C,
        0xC845_0000_0000,
        0xB3EA_004C,
    ] {
        assert_eq!(of(pair), 0x0C00, "{pair:X}");
    }
    // LM 14,1; LMG 3,3; LMH 0,15; LMY 15,14; LMD 2,5.
    assert_eq!(of(0x98E1_0000), 0xC003);
    assert_eq!(of(0xEB33_0000_0004), 0x1000);
    assert_eq!(of(0xEB0F_0000_0096), 0xFFFF);
    assert_eq!(of(0xEBFE_0000_0098), 0xFFFF);
    assert_eq!(of(0xEF25_0000_0000), 0x3C00);
    // MVCL 4,8; CLCLE 4,8; CU14 4,8; TRE 4,8; CKSM 4,8.
    for pairs in [0x0E48, 0x0F48, 0xA948_0000, 0xB9B0_0048, 0xB2A6_0048] {
        assert_eq!(of(pairs), 0x0CC0, "{pairs:X}");
    }
    assert_eq!(of(0xB2A5_0048), 0x0C00);
    assert_eq!(of(0xB241_0048), 0x08C0);
}

#[test]
fn a_condition_code_or_a_mask_decides_of_some() {
    let by_code = |number| [0, 1, 2, 3].map(|code| with_codes(number, 0, code));
    // CS, CSY, CSG, CSP, CSST; CDS, CDSG.
    for swap in [
        0xBA35_0000,
        0xEB35_0000_0014,
        0xEB35_0000_0030,
        0xB250_0034,
        0xC832_0000_0000,
    ] {
        assert_eq!(by_code(swap), [0, 0x1000, 0, 0], "{swap:X}");
    }
    for swap in [0xBB46_0000, 0xEB46_0000_003E] {
        assert_eq!(by_code(swap), [0, 0x0C00, 0, 0], "{swap:X}");
    }
    // TRT, TRTR; SRST; MVST; CLST; TRTE; SIGP; ECCTR.
    assert_eq!(by_code(0xDD00_0000_0000), [0, 0x6000, 0x6000, 0]);
    assert_eq!(by_code(0xD000_0000_0000), [0, 0x6000, 0x6000, 0]);
    assert_eq!(by_code(0xB25E_0035), [0, 0x1000, 0, 0x0400]);
    assert_eq!(by_code(0xB255_0035), [0, 0x1000, 0, 0x1400]);
    assert_eq!(by_code(0xB25D_0035), [0, 0x1400, 0x1400, 0x1400]);
    assert_eq!(by_code(0xB9BF_0048), [0x0C80, 0x0C80, 0x0C80, 0x0C00]);
    assert_eq!(by_code(0xAE35_0000), [0, 0x1000, 0, 0]);
    assert_eq!(by_code(0xB2E4_0035), [0x1000, 0x1000, 0x1000, 0]);
    // ICM and ICMH with masks; LOCR, LOC and LOCHI with the condition of a low result.
    assert_eq!([of(0xBF30_0000), of(0xBF31_0000)], [0, 0x1000]);
    assert_eq!([of(0xEB30_0000_0080), of(0xEB38_0000_0080)], [0, 0x1000]);
    for load in [0xB9F2_4035, 0xEB34_0000_00F2, 0xEC34_0005_0042] {
        let found = [0, 1, 2, 3].map(|code| with_codes(load, code, 0));
        assert_eq!(found, [0, 0x1000, 0, 0], "{load:X}");
    }
    // RXSBG, and the same that only tests; BSM 3,5 and BSM 0,5; EPSW 3,5 and 3,0.
    assert_eq!([of(0xEC35_0000_0057), of(0xEC35_8000_0057)], [0x1000, 0]);
    assert_eq!([of(0x0B35), of(0x0B05)], [0x1000, 0]);
    assert_eq!([of(0xB98D_0035), of(0xB98D_0030)], [0x1400, 0x1000]);
}

#[test]
fn some_registers_are_not_in_the_text() {
    // STFLE; IPK; ECTG with R3 = 3.
    assert_eq!(of(0xB2B0_0000), 0x8000);
    assert_eq!(of(0xB20B_0000), 0x2000);
    assert_eq!(of(0xC831_0000_0000), 0xD000);
    // STSI of the current level, and of 1.1.1.
    let of_function = |zero: u64| {
        let mut general = [0; 16];
        general[0] = zero;
        let state = State {
            general: &general,
            mask: 0,
        };
        placed(&text(0xB27D_0000), &state, &state)
    };
    assert_eq!([of_function(0), of_function(0x1000_0001)], [0x8000, 0]);
}

proptest! {
    #[test]
    fn a_branch_places_the_register_that_it_changes(
        text: [u8; 6],
        which in 0_usize..16,
        general: [u64; 16],
        code in 0_u64..4,
    ) {
        /// The branches by their first bytes.
        const BRANCHES: [u8; 16] = [
            0x05, 0x06, 0x07, 0x0B, 0x0C, 0x0D, 0x45, 0x46, 0x4D, 0x84, 0x85, 0x86, 0x87, 0xA7, 0xC0, 0xCC,
        ];
        let mut text = text;
        text[0] = BRANCHES[which];
        let mask = ADDRESSING_64 | code << 44;
        let site = Site { at: 0x1000, next: 0x1006, length_code: 3 };
        if let Some(found) = branch(&text, &site, &general, mask) {
            let state = State { general: &general, mask };
            let placed = placed(&text, &state, &state);
            let changed = found.changed.map_or(0, |(register, _)| 0x8000 >> register);
            prop_assert_eq!(placed, changed, "{:02X?}", text);
        }
    }
}
