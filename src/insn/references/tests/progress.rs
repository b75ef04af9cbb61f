//! How far the interruptible instructions advanced, by the registers before and after.

use super::{ADDRESSING_64, BASIC_ADDRESSING, Fetch, Knowledge, Store, Update, at, run};

#[test]
fn a_long_move_has_advanced_as_far_as_its_lengths_went_down() {
    // MVCL 2,4: 100 bytes from 60, padded; the leftmost byte of R2 + 1 is padding.
    let run = run().with(3, 0xAB00_0100).with(5, 0x4000_0060);
    let moved = [at(Fetch, 0x4_0000, 0x60, 4), at(Store, 0x2_0000, 0x100, 2)];
    run.then(3, 0xAB00_0000)
        .then(5, 0x4000_0000)
        .gives(0x0E24, &moved);
    // Interrupted after 20.
    let run = super::run().with(3, 0x100).with(5, 0x4000_0060);
    let moved = [at(Fetch, 0x4_0000, 0x20, 4), at(Store, 0x2_0000, 0x20, 2)];
    run.then(3, 0xE0).then(5, 0x4000_0040).gives(0x0E24, &moved);
    // Destructive overlap: nothing is moved.
    super::run()
        .with(3, 0x100)
        .with(5, 0x60)
        .code(3)
        .gives(0x0E24, &[]);
}

#[test]
fn extended_lengths_have_the_bits_of_the_addressing_mode() {
    // MVCLE 2,4,0 and MVCLU 2,4,0.
    for number in [0xA824_0000, 0xEB24_0000_008E] {
        let run = run().with(3, 0x2_0000_0000).with(5, 0).then(3, 0);
        run.gives(number, &[at(Store, 0x2_0000, 0x2_0000_0000, 2)]);
        let run = super::run()
            .mask(BASIC_ADDRESSING)
            .with(3, 0x2_0000_0010)
            .with(5, 0x3_0000_0008)
            .then(3, 0x2_0000_0000)
            .then(5, 0x3_0000_0000)
            .code(3);
        let moved = [at(Fetch, 0x4_0000, 8, 4), at(Store, 0x2_0000, 16, 2)];
        run.gives(number, &moved);
    }
}

#[test]
fn a_long_comparison_has_fetched_the_bytes_that_differ() {
    // CLCL and CLCLE 2,4: unequal at byte 5; CLCLU counts characters of two bytes.
    for (number, last) in [(0x0F24, 1), (0xA924_0000, 1), (0xEB24_0000_008F, 2)] {
        let run = run().with(3, 0x10).with(5, 0x10).then(3, 0xC).then(5, 0xC);
        let length = 4 + last;
        let compared = [
            at(Fetch, 0x2_0000, length, 2),
            at(Fetch, 0x4_0000, length, 4),
        ];
        run.code(1).gives(number, &compared);
        // Unequal in the padding of the second operand, and equal throughout.
        let run = super::run().with(3, 0x10).with(5, 8).then(3, 4).then(5, 0);
        let padded = [at(Fetch, 0x2_0000, 12 + last, 2), at(Fetch, 0x4_0000, 8, 4)];
        run.code(2).gives(number, &padded);
        let run = super::run().with(3, 0x10).with(5, 8).then(3, 0).then(5, 0);
        let equal = [at(Fetch, 0x2_0000, 16, 2), at(Fetch, 0x4_0000, 8, 4)];
        run.code(0).gives(number, &equal);
    }
}

#[test]
fn the_registers_show_where_a_string_ends() {
    // CLST 2,4: unequal at the fifth byte; after 100 bytes without an end; equal.
    let run = run().then(2, 0x2_0004).then(4, 0x4_0004).code(1);
    run.gives(
        0xB25D_0024,
        &[at(Fetch, 0x2_0000, 5, 2), at(Fetch, 0x4_0000, 5, 4)],
    );
    let run = super::run().then(2, 0x2_0100).then(4, 0x4_0100).code(3);
    run.gives(
        0xB25D_0024,
        &[at(Fetch, 0x2_0000, 0x100, 2), at(Fetch, 0x4_0000, 0x100, 4)],
    );
    super::run().gives_stores(0xB25D_0024, &[]);
    // MVST 2,4: ended with the fifth byte; not ended.
    let run = super::run().then(2, 0x2_0004).code(1);
    run.gives(
        0xB255_0024,
        &[at(Fetch, 0x4_0000, 5, 4), at(Store, 0x2_0000, 5, 2)],
    );
    let run = super::run().then(2, 0x2_0100).then(4, 0x4_0100).code(3);
    let moved = [at(Fetch, 0x4_0000, 0x100, 4), at(Store, 0x2_0000, 0x100, 2)];
    run.gives(0xB255_0024, &moved);
}

#[test]
fn a_search_ends_at_the_character_or_at_the_end() {
    // SRST 2,4 and SRSTU 2,4 from 40000 to 40010.
    for (number, size) in [(0xB25E_0024, 1), (0xB9BE_0024, 2)] {
        let run = || run().with(2, 0x4_0010);
        let found = run().then(2, 0x4_0006).code(1);
        found.gives(number, &[at(Fetch, 0x4_0000, 6 + size, 4)]);
        run().code(2).gives(number, &[at(Fetch, 0x4_0000, 16, 4)]);
        let ended = run().then(4, 0x4_0008).code(3);
        ended.gives(number, &[at(Fetch, 0x4_0000, 8, 4)]);
    }
    // Across the end of storage in the 24-bit mode; the leftmost byte of the register stays.
    let run = run().mask(0).with(4, 0x55FF_FFF8).with(2, 8).code(2);
    run.gives(0xB25E_0024, &[at(Fetch, 0x00FF_FFF8, 16, 4)]);
}

#[test]
fn a_checksum_has_advanced_as_far_as_its_length_went_down() {
    let run = run().with(5, 0x100).then(4, 0x4_0100).then(5, 0);
    run.gives(0xB241_0024, &[at(Fetch, 0x4_0000, 0x100, 4)]);
}

#[test]
fn translate_and_test_ends_at_the_byte_in_register_1() {
    // TRT and TRTR 0(16,3),0(4).
    let run = || run().with(1, 0xAAAA_0000_0000_0000);
    let found = |address: u64| run().then(1, 0xAAAA_0000_0000_0000 | address).code(1);
    let all = [at(Fetch, 0x3_0000, 16, 3)];
    run()
        .mask(BASIC_ADDRESSING)
        .gives_stores(0xDD0F_3000_4000, &all);
    let found_here = found(0x3_0003).mask(BASIC_ADDRESSING);
    found_here.gives_stores(0xDD0F_3000_4000, &[at(Fetch, 0x3_0000, 4, 3)]);
    let all = [at(Fetch, 0x2_FFF1, 16, 3)];
    run().gives_stores(0xD00F_3000_4000, &all);
    let found_here = found(0x2_FFFD).mask(BASIC_ADDRESSING).code(2);
    found_here.gives_stores(0xD00F_3000_4000, &[at(Fetch, 0x2_FFFD, 4, 3)]);
}

#[test]
fn extended_translation_and_its_test_have_fetched_the_character_that_ended_them() {
    // TRE 2,4: 16 bytes; ended by a test byte after the fourth.
    let run = run().with(3, 16).then(3, 0).then(2, 0x2_0010);
    run.gives_stores(0xB2A5_0024, &[at(Update, 0x2_0000, 16, 2)]);
    let run = super::run()
        .with(3, 16)
        .then(3, 12)
        .then(2, 0x2_0004)
        .code(1);
    let ended = [at(Update, 0x2_0000, 4, 2), at(Fetch, 0x2_0004, 1, 2)];
    run.gives_stores(0xB2A5_0024, &ended);
    // TRTE 2,4 with arguments of one and of two bytes; TRTRE goes to the left.
    for (m3, size) in [(0, 1), (0x8000, 2)] {
        let run = || super::run().with(3, 16).then(3, 12).code(1);
        let length = 4 + size;
        let right = [at(Fetch, 0x2_0000, length, 2)];
        run().gives_stores(0xB9BF_0024 | m3, &right);
        let left = [at(Fetch, 0x2_0000 - 4, length, 2)];
        run().gives_stores(0xB9BD_0024 | m3, &left);
        run()
            .then(3, 0)
            .code(0)
            .gives_stores(0xB9BD_0024 | m3, &[at(Fetch, 0x2_0000 - 16 + size, 16, 2)]);
    }
}

#[test]
fn translated_characters_have_the_sizes_of_the_instruction() {
    // TROO, TROT, TRTO, TRTT 2,4: four characters, then the test character.
    for (number, from, to) in [
        (0xB993_0024, 1, 1),
        (0xB992_0024, 1, 2),
        (0xB991_0024, 2, 1),
        (0xB990_0024, 2, 2),
    ] {
        let run = || {
            run()
                .then(2, 0x2_0000 + 4 * to)
                .then(4, 0x4_0000 + 4 * from)
        };
        let store = at(Store, 0x2_0000, 4 * to, 2);
        run().gives_stores(number, &[at(Fetch, 0x4_0000, 4 * from, 4), store]);
        let ended = run().code(1);
        ended.gives_stores(number, &[at(Fetch, 0x4_0000, 5 * from, 4), store]);
    }
}

#[test]
fn converted_characters_are_counted_on_both_sides() {
    // CU12, CU21, CU14, CU24, CU41, CU42.
    for number in [
        0xB2A7_0024,
        0xB2A6_0024,
        0xB9B0_0024,
        0xB9B1_0024,
        0xB9B2_0024,
        0xB9B3_0024,
    ] {
        let run = || run().with(3, 0x100).with(5, 0x20).then(3, 0xD0).then(5, 8);
        let moved = [at(Fetch, 0x4_0000, 0x18, 4), at(Store, 0x2_0000, 0x30, 2)];
        run().gives(number, &moved);
        run().code(3).gives(number, &moved);
        run().code(1).gives_stores(number, &moved);
    }
}

#[test]
fn a_page_is_moved_or_not() {
    let run = || run().with(2, 0x2_0ABC).with(4, 0x4_0DEF);
    let moved = [
        at(Fetch, 0x4_0000, 0x1000, 4),
        at(Store, 0x2_0000, 0x1000, 2),
    ];
    run().gives(0xB254_0024, &moved);
    run().code(1).gives(0xB254_0024, &[]);
}

#[test]
fn a_cryptographic_query_stores_sixteen_bytes_and_other_functions_report_their_messages() {
    // KM, KMC, KMAC, KIMD, KMCTR, PCC, PRNO.
    for number in [
        0xB92E_0024,
        0xB92F_0024,
        0xB91E_0024,
        0xB93E_0024,
        0xB92D_6024,
        0xB92C_0000,
        0xB93C_0024,
    ] {
        let run = run().with(0, 0x80);
        run.gives(number, &[at(Store, 0x1_0000, 16, 1)]);
    }
    let run = |function| run().with(0, function).with(5, 0x40).then(5, 0x10);
    let (source, stored) = (at(Fetch, 0x4_0000, 0x30, 4), at(Store, 0x2_0000, 0x30, 2));
    let unknown = Knowledge::Unknown;
    assert_eq!(run(18).of(0xB92E_0024), (vec![source, stored], unknown));
    assert_eq!(run(2).of(0xB93E_0024), (vec![source], unknown));
    let counter = at(Fetch, 0x6_0000, 0x30, 6);
    let expected = vec![source, counter, stored];
    assert_eq!(run(18).of(0xB92D_6024), (expected, unknown));
    // PRNO's true random numbers go to both operands.
    let run = run(114).with(3, 8).then(3, 0).mask(ADDRESSING_64);
    let numbers = [at(Store, 0x2_0000, 8, 2), at(Store, 0x4_0000, 0x30, 4)];
    run.gives(0xB93C_0024, &numbers);
}
