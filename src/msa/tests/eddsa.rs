//! KDSA and PCC with Ed25519 and X25519: RFC 8032 and RFC 7748.

use super::*;

/// RFC 8032, section 7.1: private key, public key, message, signature.
const ED25519: [[&str; 4]; 3] = [
    [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155
         5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da
         085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac
         18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
];

/// Each 32 bytes with the highest byte first.
fn reversed(digits: &str) -> Vec<u8> {
    hex(digits)
        .chunks(32)
        .flat_map(|field| field.iter().rev().copied())
        .collect()
}

#[test]
fn kdsa_ed25519_signs_as_rfc_8032_says() {
    for [private, _, message, signature] in ED25519 {
        let mut parameter = vec![0; 64];
        parameter.extend(hex(private));
        assert_eq!(
            kdsa(Control(40), &mut parameter, &hex(message)),
            ConditionCode::Zero
        );
        assert_eq!(parameter[..64], reversed(signature));
        assert_eq!(parameter[64..], hex(private));
    }
}

#[test]
fn kdsa_ed25519_verifies_that_signature_and_no_other() {
    for [_, public, message, signature] in ED25519 {
        let good = [reversed(signature), reversed(public)].concat();
        let message = hex(message);
        assert_eq!(
            kdsa(Control(32), &mut good.clone(), &message),
            ConditionCode::Zero
        );
        for byte in [0, 31, 32, 63, 64, 95] {
            let mut bad = good.clone();
            bad[byte] ^= 1;
            assert_eq!(
                kdsa(Control(32), &mut bad, &message),
                ConditionCode::Two,
                "byte {byte}"
            );
        }
        let longer = [&message[..], &[0]].concat();
        assert_eq!(
            kdsa(Control(32), &mut good.clone(), &longer),
            ConditionCode::Two
        );
    }
}

#[test]
fn kdsa_ed25519_takes_the_message_in_any_pieces_twice_to_sign_and_ends_at_its_exception() {
    let message: Vec<u8> = (0..300).map(|index| index as u8).collect();
    let private = hex(ED25519[0][0]);
    let sign = function(Instruction::Kdsa, 40);
    let mut at_once = [vec![0; 64], private.clone()].concat();
    kdsa(Control(40), &mut at_once, &message);
    for piece in [1, 7, 64, 128, 299] {
        let mut parameter = [vec![0; 64], private.clone()].concat();
        let mut times = 0;
        let Ok(condition) = sign.authenticate_signature(Control(40), &mut parameter, |take| {
            times += 1;
            message.chunks(piece).for_each(&mut *take);
            Ok::<(), Infallible>(())
        });
        assert_eq!((condition, times), (ConditionCode::Zero, 2));
        assert_eq!(parameter, at_once);
    }
    for passes in 0..2 {
        let mut parameter = [vec![0; 64], private.clone()].concat();
        let before = parameter.clone();
        let mut left = passes;
        let outcome = sign.authenticate_signature(Control(40), &mut parameter, |take| {
            take(&message);
            left -= 1;
            if left < 0 {
                Err("access exception")
            } else {
                Ok(())
            }
        });
        assert_eq!(outcome, Err("access exception"));
        assert_eq!(parameter, before);
    }
}

#[test]
fn pcc_x25519_gives_the_answer_of_rfc_7748() {
    let pcc = function(Instruction::Pcc, 80);
    let mut scalar = hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
    // What a program does to the scalar before.
    scalar[0] &= 248;
    scalar[31] = scalar[31] & 127 | 64;
    scalar.reverse();
    let source = "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c";
    let mut parameter = [vec![0; 32], reversed(source), scalar].concat();
    assert_eq!(pcc.parameter_length(), parameter.len());
    assert_eq!(pcc.compute(&mut parameter), ConditionCode::Zero);
    let expected = "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552";
    assert_eq!(parameter[pcc.updated()], reversed(expected));
}

const BASE_POINT: [&str; 2] = [
    "216936d3cd6e53fec0a4e231fdd6dc5c692cc7609525a7b2c9562d608f25d51a",
    "6666666666666666666666666666666666666666666666666666666666666658",
];

/// PCC-Scalar-Multiply-Ed25519: the condition code and the coordinates of the result.
fn multiply_on_ed25519(source: &[u8], scalar: &[u8]) -> (ConditionCode, Vec<u8>) {
    let pcc = function(Instruction::Pcc, 72);
    let mut parameter = [&[0; 64], source, scalar].concat();
    assert_eq!(pcc.parameter_length(), parameter.len());
    let condition = pcc.compute(&mut parameter);
    assert_eq!(parameter[64..], [source, scalar].concat());
    (condition, parameter[pcc.updated()].to_vec())
}

#[test]
fn pcc_ed25519_makes_the_public_keys_of_rfc_8032() {
    use sha2::{Digest, Sha512};

    for [private, public, ..] in ED25519 {
        // Steps 1 to 4 of key generation; only the multiplication is PCC's.
        let mut scalar = Sha512::digest(hex(private))[..32].to_vec();
        scalar[0] &= 248;
        scalar[31] = scalar[31] & 127 | 64;
        scalar.reverse();
        let (condition, result) = multiply_on_ed25519(&BASE_POINT.map(hex).concat(), &scalar);
        assert_eq!(condition, ConditionCode::Zero);
        let mut expected = reversed(public);
        assert_eq!(expected[0] >> 7, result[31] & 1, "the lowest bit of x");
        expected[0] &= 0x7F;
        assert_eq!(result[32..], expected);
    }
}

#[test]
fn pcc_ed25519_multiplies_by_one_and_by_the_order_and_adds_up() {
    let base = BASE_POINT.map(hex).concat();
    let number = |number: u8| [vec![0; 31], vec![number]].concat();
    assert_eq!(
        multiply_on_ed25519(&base, &number(1)),
        (ConditionCode::Zero, base.clone())
    );
    let order = hex("1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed");
    let neutral = [vec![0; 63], vec![1]].concat();
    assert_eq!(
        multiply_on_ed25519(&base, &order),
        (ConditionCode::Zero, neutral.clone())
    );
    assert_eq!(
        multiply_on_ed25519(&neutral, &order),
        (ConditionCode::Zero, neutral)
    );
    // Products of products are on the curve with both coordinates.
    let mut point = base.clone();
    for _ in 0..16 {
        point = multiply_on_ed25519(&point, &number(3)).1;
    }
    let three_to_the_16 = [vec![0; 28], 43_046_721_u32.to_be_bytes().to_vec()].concat();
    assert_eq!(multiply_on_ed25519(&base, &three_to_the_16).1, point);
}

#[test]
fn pcc_ed25519_refuses_a_source_that_is_not_on_the_curve() {
    for byte in [0, 31, 32, 63] {
        let mut source = BASE_POINT.map(hex).concat();
        source[byte] ^= 1;
        let (condition, result) = multiply_on_ed25519(&source, &[5; 32]);
        assert_eq!((condition, result), (ConditionCode::Two, vec![0; 64]));
    }
}
