//! PRNO: requests, seeds and true random numbers.

use super::*;

#[test]
fn prno_generates_only_from_what_was_seeded_and_the_same_from_the_same_seed() {
    let seeded = || {
        let mut bench = bench(3 | DECIPHER);
        message(&mut bench, &text(64));
        assert_eq!(complete(&mut bench, PRNO), 0);
        assert_eq!(bench.cpu.general[4..6], [SECOND, 64]);
        bench.cpu.general[0] = 3;
        bench
    };
    let mut never = bench(3);
    never.cpu.general[3] = 8;
    assert_eq!(exception(&mut never, PRNO).interruption, P::Specification);
    // From the end of the operand to its beginning: the address stays and the length decreases.
    let mut once = seeded();
    once.cpu.general[3] = PIECE + 100;
    assert_eq!(complete(&mut once, PRNO), 3);
    assert_eq!(once.cpu.general[2..4], [FIRST, 128]);
    assert_eq!(bytes(&once, FIRST, 128), [0; 128]);
    assert_ne!(bytes(&once, FIRST + 128, 64), [0; 64]);
    assert_eq!(complete(&mut once, PRNO), 0);
    assert_eq!(once.cpu.general[2..4], [FIRST, 0]);
    assert_eq!(bytes(&once, PARAMETERS + 4, 4), [0, 0, 0, 2]);
    assert_eq!(once.doubleword(PARAMETERS + 8), PIECE + 100);
    // Without a stop the bytes are the same.
    let mut whole = seeded();
    let drng = Function::of(msa::Instruction::Prno, 3).expect("offered");
    let mut made = vec![0; PIECE as usize + 100];
    let mut parameters = bytes(&whole, PARAMETERS, 240);
    drng.generate(&mut parameters, 0, &mut made);
    assert!(made == bytes(&once, FIRST, PIECE + 100));
    assert_eq!(parameters, bytes(&once, PARAMETERS, 240));
    // With a page missing in the last piece, nothing is filled.
    whole.cpu.general[2] = FIRST;
    whole.cpu.general[3] = PIECE + 64;
    translate(&mut whole);
    change_page(&mut whole, FIRST, PTE_INVALID);
    let found = exception(&mut whole, PRNO).interruption;
    assert_eq!(found, P::PageTranslation);
    let mut long = bench(3 | DECIPHER);
    long.cpu.general[5] = 513;
    assert_eq!(exception(&mut long, PRNO).interruption, P::Specification);
}

#[test]
fn true_random_numbers_are_the_hardwares() {
    let mut bench = bench(114);
    bench.cpu.general[3] = 4;
    bench.cpu.general[5] = 64;
    assert_eq!(complete(&mut bench, PRNO), 3);
    assert_eq!(bytes(&bench, FIRST, 4), [1, 2, 3, 4]);
    assert_eq!(complete(&mut bench, PRNO), 0);
    assert_ne!(bytes(&bench, SECOND, 64), [0; 64]);
    assert_eq!(bench.cpu.general[2..6], [FIRST + 4, 0, SECOND + 64, 0]);
}
