//! PRNO: the known answers for Hash_DRBG with SHA-512 (SP 800-90A), without prediction resistance.

use super::*;
use crate::condition;

fn seeded() -> (Function, Vec<u8>) {
    let drng = function(Instruction::Prno, 3);
    let mut parameter = vec![0; drng.parameter_length()];
    assert!(!drng.is_seeded(&parameter));
    drng.seed(&mut parameter, &hex(DRNG_SEED));
    assert!(drng.is_seeded(&parameter));
    (drng, parameter)
}

/// A request for `length` bytes in one piece.
fn request(drng: Function, parameter: &mut [u8], length: usize) -> Vec<u8> {
    let mut output = vec![0; length];
    drng.generate(parameter, 0, &mut output);
    output
}

#[test]
fn the_first_seed_makes_the_working_state_of_the_known_answer() {
    let (_, parameter) = seeded();
    assert_eq!(parameter[..16], hex("00000000 00000001 0000000000000000"));
    assert_eq!(
        parameter[16..128],
        hex(
            "00ade36f9a01c776613435f54e247422219a2989c7932e601ee814248dd503f1
             655d082272d5ad95e1231e8aa713d92b5ebcbb80ab8de579ab5b474eddee6b03
             8f0f5c5ea91a83ddd388b2754bce8336574bf15cca7e09c0d389c6e0dac4817e
             5bf9e101c19205eaf52fc6c6c78fbcf4"
        )
    );
    assert_eq!(
        parameter[128..],
        hex(
            "00f4a3e5a0726395c64f48d08b5b5f8e6b961f16edbc66944531d7477322a586
             cec04cac63b83950bfe6596c3858991f27a79d712ab37bf9fb1786aa9981aa43
             e437d31e6ee5e6eec2ed954f530e468acc45a5db690d81c93292bc8f33e6f609
             7c8e05190df1b6ccf302219025eced0e"
        )
    );
}

#[test]
fn the_second_request_of_256_bytes_gives_the_known_answer() {
    let (drng, mut parameter) = seeded();
    request(drng, &mut parameter, 256);
    assert_eq!(request(drng, &mut parameter, 256), hex(DRNG));
    assert_eq!(
        parameter[4..16],
        hex("00000003 0000000000000200"),
        "two requests and their bytes"
    );
}

#[test]
fn a_request_that_is_filled_in_pieces_from_its_end_gives_the_same_bytes_and_counts_them() {
    let (drng, mut whole) = seeded();
    let expected = request(drng, &mut whole, 300);
    for first in 1..5 {
        let (_, mut parameter) = seeded();
        let mut output = vec![0; 300];
        let (before, after) = output.split_at_mut(64 * first);
        let (v, end) = (parameter[16..128].to_vec(), after.len() as u64);
        drng.generate(&mut parameter, 64 * first as u64, after);
        assert_eq!(parameter[8..16], end.to_be_bytes(), "stream bytes");
        assert_eq!(parameter[4..8], [0, 0, 0, 1], "the request is not complete");
        assert_eq!(parameter[16..128], v, "nor does the generator step on");
        drng.generate(&mut parameter, 0, before);
        assert_eq!((&output, &parameter), (&expected, &whole));
    }
}

#[test]
fn a_later_seed_takes_the_state_into_account_and_begins_the_count_anew() {
    let (drng, mut parameter) = seeded();
    request(drng, &mut parameter, 64);
    let (mut same, mut other) = (parameter.clone(), parameter.clone());
    drng.seed(&mut parameter, b"fresh");
    drng.seed(&mut same, b"fresh");
    drng.seed(&mut other, b"stale");
    assert_eq!(parameter, same);
    assert_ne!(parameter[16..], other[16..]);
    assert_eq!(
        parameter[4..16],
        hex("00000001 0000000000000040"),
        "the requests are counted anew, the bytes go on"
    );
    let mut first = vec![0; 240];
    drng.seed(&mut first, b"fresh");
    assert_ne!(
        parameter[16..],
        first[16..],
        "not as if it were the first seed"
    );
}

#[test]
fn a_carry_propagates_through_the_whole_value() {
    let (drng, mut parameter) = seeded();
    parameter[17..128].fill(0xFF);
    let first = request(drng, &mut parameter.clone(), 128);
    parameter[17..128].fill(0);
    let next = request(drng, &mut parameter, 64);
    assert_eq!(
        first[64..],
        next,
        "the block after that of all ones is that of zero"
    );
}

#[test]
fn conditioned_entropy_is_a_digest_of_all_the_raw_entropy() {
    let raw: [u8; 256] = core::array::from_fn(|index| index as u8);
    let conditioned = condition(&raw);
    // SHA-512 of the bytes 0-255, computed apart.
    assert_eq!(
        conditioned[..],
        hex(
            "1e7b80bc8edc552c8feeb2780e111477e5bc70465fac1a77b29b35980c3f0ce4
             a036a6c9462036824bd56801e62af7e9feba5c22ed8a5af877bf7de117dcac6d"
        )
    );
    for index in 0..256 {
        let mut other = raw;
        other[index] ^= 1;
        assert_ne!(condition(&other), conditioned);
    }
}
