//! XTS-AES in KM and PCC: the vectors of IEEE 1619.

use super::*;

/// The parameter block of PCC for `tweak`, with a block sequential number of zero.
fn prepared(code: u8, key: &[u8], tweak: &[u8], block: u128) -> [u8; 16] {
    let mut parameter = key.to_vec();
    parameter.extend_from_slice(tweak);
    parameter.extend_from_slice(&block.to_be_bytes());
    parameter.extend_from_slice(&[0; 32]);
    let pcc = function(Instruction::Pcc, code);
    assert_eq!(pcc.parameter_length(), parameter.len());
    assert_eq!(pcc.compute(&mut parameter), ConditionCode::Zero);
    assert_eq!(parameter[..key.len()], *key);
    parameter[pcc.updated()].try_into().unwrap()
}

fn tested(vector: &Xts, plain: &[u8]) -> Vec<u8> {
    let Xts {
        code, keys, tweak, ..
    } = *vector;
    let mut before = hex(keys[0]);
    before.extend(prepared(code, &hex(keys[1]), &hex(tweak), 0));
    let [encipher, decipher] = directions(code);
    let cipher = process(Instruction::Km, encipher, &mut before.clone(), plain);
    assert_eq!(
        process(Instruction::Km, decipher, &mut before.clone(), &cipher),
        plain
    );
    cipher
}

#[test]
fn km_xts_aes_128_gives_vector_2_of_ieee_1619() {
    let cipher = tested(&XTS_2, &[0x44; 32]);
    assert_eq!(cipher, hex(XTS_2.head));
}

#[test]
fn km_xts_aes_gives_vectors_4_and_10_of_ieee_1619() {
    let plain: Vec<u8> = (0..512).map(|index| index as u8).collect();
    let vector_4 = Xts {
        code: 50,
        keys: [
            "27182818284590452353602874713526",
            "31415926535897932384626433832795",
        ],
        tweak: "00000000000000000000000000000000",
        head: "27a7479befa1d476489f308cd4cfa6e2a96e4bbe3208ff25287dd3819616e89c",
    };
    let cipher = tested(&vector_4, &plain);
    let tail = "eb4a427d1923ce3ff262735779a418f20a282df920147beabe421ee5319d0568";
    assert_eq!(
        (&cipher[..32], &cipher[480..]),
        (&hex(vector_4.head)[..], &hex(tail)[..])
    );

    let cipher = tested(&XTS_10, &plain);
    let tail = "773dad38014bd2092fa755c824bb5e54c4f36ffda9fcea70b9c6e693e148c151";
    assert_eq!(
        (&cipher[..32], &cipher[480..]),
        (&hex(XTS_10.head)[..], &hex(tail)[..])
    );
}

#[test]
fn pcc_computes_the_xts_parameter_that_km_reaches_block_by_block() {
    let tweak = hex("00112233445566778899aabbccddeeff");
    for (code, key) in [(50, vec![0x22; 16]), (52, vec![0x33; 32])] {
        let mut parameter = key.clone();
        parameter.extend(prepared(code, &key, &tweak, 0));
        for block in 0..300 {
            let expected = prepared(code, &key, &tweak, block);
            assert_eq!(parameter[key.len()..], expected, "block {block}");
            process(
                Instruction::Km,
                Control(code.into()),
                &mut parameter,
                &[0; 16],
            );
        }
    }
}

#[test]
fn the_powers_of_the_primitive_element_repeat_after_2_to_the_128_less_1() {
    let (key, tweak) = ([7; 16], [9; 16]);
    assert_eq!(
        prepared(50, &key, &tweak, u128::MAX),
        prepared(50, &key, &tweak, 0)
    );
    let half = prepared(50, &key, &tweak, 1 << 127);
    assert_ne!(half, prepared(50, &key, &tweak, 0));
}
