//! Operands that the text describes, and operands that a code in a register describes.

use super::{
    ADDRESSING_64, BASIC_ADDRESSING, Fetch, OperandSpace, Reference, Store, Update, at, run,
};

#[test]
fn base_index_and_displacement_make_the_address() {
    // L 1,100(2,3): index 2, base 3.
    run().gives(0x5812_3100, &[at(Fetch, 0x5_0100, 4, 3)]);
    run().gives(0x5812_0100, &[at(Fetch, 0x2_0100, 4, 0)]);
    run().gives(0x5800_3100, &[at(Fetch, 0x3_0100, 4, 3)]);
    // LG 1,-1(2,3) and STG 1,1000(2,3).
    run().gives(0xE312_3FFF_FF04, &[at(Fetch, 0x4_FFFF, 8, 3)]);
    run().gives(0xE312_3000_0124, &[at(Store, 0x5_1000, 8, 3)]);
    // L 1,0(1) reads its address before it loads the register.
    run()
        .then(1, 0x777)
        .gives(0x5810_1000, &[at(Fetch, 0x1_0000, 4, 1)]);
}

#[test]
fn relative_operands_are_relative_to_the_text() {
    // LRL, LGRL, STRL, STHRL, CGHRL: -8, 16, 16, 16, 16 bytes from 8000.
    run().gives(0xC41D_FFFF_FFFC, &[at(Fetch, 0x7FF8, 4, 0)]);
    run().gives(0xC418_0000_0008, &[at(Fetch, 0x8010, 8, 0)]);
    run().gives(0xC41F_0000_0008, &[at(Store, 0x8010, 4, 0)]);
    run().gives(0xC417_0000_0008, &[at(Store, 0x8010, 2, 0)]);
    run().gives(0xC614_0000_0008, &[at(Fetch, 0x8010, 2, 0)]);
}

#[test]
fn an_address_wraps_in_the_addressing_mode() {
    for (mode, address) in [
        (0, 0x00FF_FFF0),
        (BASIC_ADDRESSING, 0x7FFF_FFF0),
        (ADDRESSING_64, 0xFFFF_FFFF_FFFF_FFF0),
    ] {
        // LY 1,-16: the address is negative. MVC 0(32,3),0(4): the second operand wraps, too.
        run()
            .mask(mode)
            .gives(0xE310_0FF0_FF58, &[at(Fetch, address, 4, 0)]);
        let (second, first) = (at(Fetch, address, 32, 4), at(Store, 0x3_0000, 32, 3));
        run()
            .with(4, 0xFFFF_FFFF_FFFF_FFF0)
            .mask(mode)
            .gives(0xD21F_3000_4000, &[second, first]);
    }
    let back = at(Fetch, 0x00FF_FFFE, 4, 0);
    run().mask(0).gives(0xC41D_FFFF_BFFF, &[back]);
}

#[test]
fn lengths_are_one_more_than_the_text_says() {
    // MVC, NC, CLC with 1 and 256 bytes.
    for (l, length) in [(0_u64, 1), (0xFF, 256)] {
        let (first, second) = (0x3_0004, 0x4_0008);
        let source = at(Fetch, second, length, 4);
        run().gives(
            0xD200_3004_4008 | l << 32,
            &[source, at(Store, first, length, 3)],
        );
        run().gives(
            0xD400_3004_4008 | l << 32,
            &[source, at(Update, first, length, 3)],
        );
        run().gives(
            0xD500_3004_4008 | l << 32,
            &[at(Fetch, first, length, 3), source],
        );
    }
    // As the EXECUTE left it: MVC 0(0+1,3),0(4) ORed with 1F.
    let executed = crate::modified_target(super::text(0xD200_3000_4000), 15, &[0x1F; 16]);
    let executed = u64::from_be_bytes([
        0,
        0,
        executed[0],
        executed[1],
        executed[2],
        executed[3],
        executed[4],
        executed[5],
    ]);
    run().gives(
        executed,
        &[at(Fetch, 0x4_0000, 32, 4), at(Store, 0x3_0000, 32, 3)],
    );
}

#[test]
fn decimal_operands_have_their_own_lengths() {
    let (three, sixteen) = (at(Fetch, 0x4_0000, 16, 4), 0x3_0000);
    // ZAP, AP, CP, UNPK, MVO with L1 of 2 and L2 of 15.
    run().gives(0xF82F_3000_4000, &[three, at(Store, sixteen, 3, 3)]);
    run().gives(0xFA2F_3000_4000, &[three, at(Update, sixteen, 3, 3)]);
    run().gives(0xF92F_3000_4000, &[at(Fetch, sixteen, 3, 3), three]);
    run().gives(0xF32F_3000_4000, &[three, at(Store, sixteen, 3, 3)]);
    run().gives(0xF12F_3000_4000, &[three, at(Update, sixteen, 3, 3)]);
    // SRP's second address is a number of digits; TP.
    run().gives(0xF025_3000_4000, &[at(Update, sixteen, 3, 3)]);
    run().gives(0xEB20_3000_00C0, &[at(Fetch, sixteen, 3, 3)]);
    // PKA, PKU; UNPKA, UNPKU: 16 packed bytes, and L of the other operand.
    for number in [0xE913_3000_4000, 0xE113_3000_4000] {
        run().gives(
            number,
            &[at(Fetch, 0x4_0000, 20, 4), at(Store, sixteen, 16, 3)],
        );
    }
    for number in [0xEA13_3000_4000, 0xE213_3000_4000] {
        run().gives(
            number,
            &[at(Fetch, 0x4_0000, 16, 4), at(Store, sixteen, 20, 3)],
        );
    }
    // CZDT stores, CDZT fetches: 20 bytes.
    run().gives(0xED13_3000_00A8, &[at(Store, sixteen, 20, 3)]);
    run().gives(0xED13_3000_00AA, &[at(Fetch, sixteen, 20, 3)]);
}

#[test]
fn register_ranges_wrap_from_15_to_0() {
    run().gives(0x9823_4000, &[at(Fetch, 0x4_0000, 8, 4)]);
    run().gives(0x98E1_4000, &[at(Fetch, 0x4_0000, 16, 4)]);
    run().gives(0x9010_4000, &[at(Store, 0x4_0000, 64, 4)]);
    run().gives(0xEB6F_4018_0024, &[at(Store, 0x4_0018, 80, 4)]);
    run().gives(0xEBFE_4000_0004, &[at(Fetch, 0x4_0000, 128, 4)]);
    run().gives(0xEB01_4000_0026, &[at(Store, 0x4_0000, 8, 4)]);
    // LMD: high halves at the one place, low halves at the other.
    let halves = [at(Fetch, 0x3_0000, 12, 3), at(Fetch, 0x4_0000, 12, 4)];
    run().gives(0xEF68_3000_4000, &halves);
}

#[test]
fn a_mask_has_a_byte_for_each_one() {
    run().gives(0xBE17_4001, &[at(Store, 0x4_0001, 3, 4)]);
    run().gives(0xBF18_4001, &[at(Fetch, 0x4_0001, 1, 4)]);
    run().gives(0xEB1F_4001_002C, &[at(Store, 0x4_0001, 4, 4)]);
    for number in [0xBE10_4001, 0xBF10_4001, 0xBD10_4001] {
        run().gives(number, &[]);
    }
}

#[test]
fn an_operand_that_is_fetched_and_stored_is_an_update() {
    // OI, TS, ASI, AGSI, ALGSI, LAA, LAXG.
    for (number, length) in [
        (0x9601_4000, 1),
        (0x9300_4000, 1),
        (0xEBFF_4000_006A, 4),
        (0xEBFF_4000_007A, 8),
        (0xEBFF_4000_007E, 8),
        (0xEB12_4000_00F8, 4),
        (0xEB12_4000_00E7, 8),
    ] {
        run().gives(number, &[at(Update, 0x4_0000, length, 4)]);
    }
}

#[test]
fn a_swap_stores_only_when_the_operands_were_equal() {
    // CS, CDS, CSY, CSG, CDSY, CDSG.
    for (number, length) in [
        (0xBA12_4000, 4),
        (0xBB24_4000, 8),
        (0xEB12_4000_0014, 4),
        (0xEB12_4000_0030, 8),
        (0xEB24_4000_0031, 8),
        (0xEB24_4000_003E, 16),
    ] {
        run()
            .code(0)
            .gives(number, &[at(Update, 0x4_0000, length, 4)]);
        run()
            .code(1)
            .gives(number, &[at(Fetch, 0x4_0000, length, 4)]);
    }
}

#[test]
fn a_load_or_store_on_condition_has_an_operand_if_the_condition_is_met() {
    for code in 0..4_u64 {
        let run = run().mask(ADDRESSING_64 | code << 44).code(code);
        for m3 in 0..16_u64 {
            for (low, access, length) in [
                (0xF2, Fetch, 4),
                (0xE2, Fetch, 8),
                (0xE0, Fetch, 4),
                (0xF3, Store, 4),
                (0xE3, Store, 8),
                (0xE1, Store, 4),
            ] {
                let met = m3 >> (3 - code) & 1 == 1;
                let operand = [at(access, 0x4_0000, length, 4)];
                let expected = if met { &operand[..] } else { &[] };
                run.gives(0xEB10_4000_0000 | m3 << 32 | low, expected);
            }
            // BIC loads its target.
            let met = m3 >> (3 - code) & 1 == 1;
            let target = [at(Fetch, 0x4_0000, 8, 4)];
            run.gives(0xE300_4000_0047 | m3 << 36, if met { &target } else { &[] });
        }
    }
}

#[test]
fn vectors_have_the_length_of_their_elements_registers_or_blocks() {
    // VL, VST; VLEG, VSTEB; VLREPH, VLLEZF, VLLEZLF.
    run().gives(0xE710_4000_0006, &[at(Fetch, 0x4_0000, 16, 4)]);
    run().gives(0xE710_4000_000E, &[at(Store, 0x4_0000, 16, 4)]);
    run().gives(0xE710_4000_1002, &[at(Fetch, 0x4_0000, 8, 4)]);
    run().gives(0xE710_4000_1008, &[at(Store, 0x4_0000, 1, 4)]);
    run().gives(0xE710_4000_1005, &[at(Fetch, 0x4_0000, 2, 4)]);
    run().gives(0xE710_4000_2004, &[at(Fetch, 0x4_0000, 4, 4)]);
    run().gives(0xE710_4000_6004, &[at(Fetch, 0x4_0000, 4, 4)]);
    // VLM 14,17 and VSTM 0,3: RXB extends the register numbers.
    run().gives(0xE7E1_4000_0436, &[at(Fetch, 0x4_0000, 64, 4)]);
    run().gives(0xE703_4000_003E, &[at(Store, 0x4_0000, 64, 4)]);
    run().gives(0xE703_4000_0C3E, &[at(Store, 0x4_0000, 64, 4)]);
    // VLBB up to a boundary of 64 bytes, and of 4096.
    run().gives(0xE710_4038_0007, &[at(Fetch, 0x4_0038, 8, 4)]);
    run().gives(0xE710_4038_6007, &[at(Fetch, 0x4_0038, 16, 4)]);
    // VLL, VSTL, VLRLR with the highest index in register 2; VLRL, VSTRL with 5 in the text.
    for (index, length) in [
        (0, 1),
        (7, 8),
        (15, 16),
        (0xFFFF_FFFF, 16),
        (0x1_0000_0002, 3),
    ] {
        let run = run().with(2, index);
        run.gives(0xE712_4000_0037, &[at(Fetch, 0x4_0000, length, 4)]);
        run.gives(0xE712_4000_003F, &[at(Store, 0x4_0000, length, 4)]);
        run.gives(0xE602_4000_1037, &[at(Fetch, 0x4_0000, length, 4)]);
    }
    run().gives(0xE605_4000_1035, &[at(Fetch, 0x4_0000, 6, 4)]);
    run().gives(0xE605_4000_103D, &[at(Store, 0x4_0000, 6, 4)]);
    // VLEBRG, VSTBRF, VLBRREPF.
    run().gives(0xE610_4000_1002, &[at(Fetch, 0x4_0000, 8, 4)]);
    run().gives(0xE610_4000_200E, &[at(Store, 0x4_0000, 16, 4)]);
    run().gives(0xE610_4000_2005, &[at(Fetch, 0x4_0000, 4, 4)]);
}

#[test]
fn fixed_lengths_are_those_of_the_operation() {
    for (number, access, length) in [
        (0xE320_4000_008F, Fetch, 16), // LPQ
        (0xE320_4000_008E, Store, 16), // STPQ
        (0xE310_4000_002E, Store, 16), // CVDG
        (0xE310_4000_000E, Fetch, 16), // CVBG
        (0xE310_4000_003F, Store, 2),  // STRVH
        (0xE310_4000_00C3, Store, 1),  // STCH
        (0xE310_4000_00CB, Store, 4),  // STFH
        (0xE310_4000_0076, Fetch, 1),  // LB
        (0xE310_4000_0090, Fetch, 1),  // LLGC
        (0xB205_4000, Store, 8),       // STCK
        (0xB278_4000, Store, 16),      // STCKE
        (0xB29C_4000, Store, 4),       // STFPC
        (0xB29D_4000, Fetch, 4),       // LFPC
        (0xE544_4000_1234, Store, 2),  // MVHHI
        (0xE548_4000_1234, Store, 8),  // MVGHI
        (0xE54C_4000_1234, Store, 4),  // MVHI
        (0xE554_4000_1234, Fetch, 2),  // CHHSI
        (0xE559_4000_1234, Fetch, 8),  // CLGHSI
        (0xE55D_4000_1234, Fetch, 4),  // CLFHSI
        (0x7800_4000, Fetch, 4),       // LE
        (0x6700_4000, Fetch, 8),       // MXD
        (0xED00_4000_000A, Fetch, 4),  // AEB
        (0xED00_4000_001E, Fetch, 8),  // MADB
        (0xED00_4000_0024, Fetch, 4),  // LDE
        (0xEB10_4000_0023, Fetch, 4),  // CLT
    ] {
        run().gives(number, &[at(access, 0x4_0000, length, 4)]);
    }
    let pair = [at(Fetch, 0x3_0000, 8, 3), at(Fetch, 0x4_0000, 8, 4)];
    run().gives(0xC825_3000_4000, &pair);
}

#[test]
fn addresses_and_registers_are_not_operands() {
    // LA, LAY, LARL, SLL, SLLG, PFD, EX, EXRL, BC, ADBR, LGR, VN, BRCL, CRJ, TCDB, SVC.
    for number in [
        0x4110_4000,
        0xE310_4000_0071,
        0xC010_0000_0008,
        0x8910_4000,
        0xEB12_4000_000D,
        0xE310_4000_0036,
        0x4410_4000,
        0xC610_0000_0008,
        0x47F0_4000,
        0xB31A_0012,
        0xB904_0012,
        0xE712_3000_0068,
        0xC0F4_0000_0008,
        0xEC12_0004_8076,
        0xED10_4000_0011,
        0x0A12,
    ] {
        run().gives(number, &[]);
    }
}

#[test]
fn translate_and_edit_update_their_first_operand_and_fetch_by_its_contents() {
    for number in [0xDC07_3000_4000, 0xDE07_3000_4000, 0xDF07_3000_4000] {
        run().gives_stores(number, &[at(Update, 0x3_0000, 8, 3)]);
    }
}

#[test]
fn moves_from_the_right_end_at_their_leftmost_byte() {
    // MVCIN's second address is of the rightmost byte; MVCRL has its length in register 0.
    let moved = [at(Fetch, 0x3_FFF9, 8, 4), at(Store, 0x3_0000, 8, 3)];
    run().gives(0xE807_3000_4000, &moved);
    let moved = [at(Fetch, 0x4_0000, 16, 4), at(Store, 0x3_0000, 16, 3)];
    run().with(0, 0xABCD_000F).gives(0xE50A_3000_4000, &moved);
}

#[test]
fn moves_between_spaces_report_both_spaces() {
    let reference = |access, address, length, space| Reference {
        address,
        length,
        access,
        space,
    };
    let (from, to) = (0x4_0000, 0x3_0000);
    // MVCP and MVCS with R1 of 5: 256 bytes at most.
    for (length, moved) in [(100, 100), (5000, 256), (0, 0)] {
        let (primary, secondary) = (OperandSpace::Primary, OperandSpace::Secondary);
        let run = run().with(5, length);
        let mut expected = vec![
            reference(Fetch, from, moved, secondary),
            reference(Store, to, moved, primary),
        ];
        expected.retain(|reference| reference.length != 0);
        run.gives(0xDA56_3000_4000, &expected);
        let mut expected = vec![
            reference(Fetch, from, moved, primary),
            reference(Store, to, moved, secondary),
        ];
        expected.retain(|reference| reference.length != 0);
        run.gives(0xDB56_3000_4000, &expected);
    }
    // MVCOS with R3 of 5: 4096 bytes at most; home space for the first, that of the PSW for the second.
    let run = run().with(5, 9999).with(0, 0x00C1_0080);
    let expected = [
        reference(Fetch, from, 4096, OperandSpace::Current(4)),
        reference(Store, to, 4096, OperandSpace::Home),
    ];
    run.gives(0xC850_3000_4000, &expected);
    // MVCDK: its length is in register 1.
    let moved = [at(Fetch, from, 8, 4), at(Store, to, 8, 3)];
    super::run().with(1, 0xFF07).gives(0xE50F_3000_4000, &moved);
}

#[test]
fn store_facility_list_extended_stores_the_doublewords_that_fit() {
    // Room for four doublewords, and for none but the first; the machine has three.
    let run = run().with(0, 3).then(0, 2);
    run.gives(0xB2B0_4000, &[at(Store, 0x4_0000, 24, 4)]);
    let run = super::run().with(0, 0).then(0, 2).code(3);
    run.gives(0xB2B0_4000, &[at(Store, 0x4_0000, 8, 4)]);
}

#[test]
fn compare_and_swap_and_store_has_its_values_at_register_1() {
    // Function code 1 (64 bits), store characteristic 2 (four bytes).
    let run = run().with(0, 0x0201);
    let equal = [
        at(Fetch, 0x1_0000, 8, 1),
        at(Fetch, 0x1_0010, 4, 1),
        at(Update, 0x3_0000, 8, 3),
        at(Store, 0x4_0000, 4, 4),
    ];
    run.gives(0xC852_3000_4000, &equal);
    let unequal = [at(Fetch, 0x1_0000, 8, 1), at(Fetch, 0x3_0000, 8, 3)];
    run.code(1).gives(0xC852_3000_4000, &unequal);
}

#[test]
fn extract_cpu_time_fetches_three_doublewords() {
    let expected = [
        at(Fetch, 0x3_0000, 8, 3),
        at(Fetch, 0x4_0000, 8, 4),
        at(Fetch, 0x5_0000, 8, 5),
    ];
    run().gives(0xC851_3000_4000, &expected);
}

#[test]
fn the_function_code_determines_the_operands_of_a_locked_operation() {
    const PLO: u64 = 0xEE56_3000_4000;
    let (second, fourth) = (0x3_0000, 0x4_0000);
    let of = |function, code| run().with(0, function).code(code);
    // Compare and load, compare and swap, double compare and swap, compare and swap and store.
    of(0, 0).gives(PLO, &[at(Fetch, second, 4, 3), at(Fetch, fourth, 4, 4)]);
    of(0, 1).gives(PLO, &[at(Fetch, second, 4, 3)]);
    of(4, 0).gives(PLO, &[at(Update, second, 4, 3)]);
    of(4, 1).gives(PLO, &[at(Fetch, second, 4, 3)]);
    of(10, 0).gives(PLO, &[at(Update, second, 8, 3), at(Update, fourth, 8, 4)]);
    of(10, 1).gives(PLO, &[at(Fetch, second, 8, 3)]);
    of(10, 2).gives(PLO, &[at(Fetch, second, 8, 3), at(Fetch, fourth, 8, 4)]);
    of(14, 0).gives(PLO, &[at(Update, second, 8, 3), at(Store, fourth, 8, 4)]);
    // The test of a function code touches nothing; a parameter list is not looked into.
    of(0x104, 0).gives(PLO, &[]);
    let (found, knowledge) = of(21, 0).of(PLO);
    assert_eq!(found, [at(Update, second, 8, 3)]);
    assert_eq!(knowledge, super::Knowledge::Unknown);
}
