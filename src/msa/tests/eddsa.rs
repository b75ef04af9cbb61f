//! KDSA and PCC with Ed25519 and X25519: RFC 8032 and RFC 7748.

use super::*;
use crate::Signature;

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
fn kdsa_ed25519_takes_the_message_in_any_pieces_and_resumes_from_its_state() {
    let message: Vec<u8> = (0..300).map(|index| index as u8).collect();
    let private = hex(ED25519[0][0]);
    let mut at_once = [vec![0; 64], private.clone()].concat();
    kdsa(Control(40), &mut at_once, &message);
    let verify = [&at_once[..64], &reversed(ED25519[0][1])].concat();
    for (code, before, after, passes) in [
        (40, [vec![0; 64], private].concat(), &at_once, 2),
        (32, verify.clone(), &verify, 1),
    ] {
        let function = function(Instruction::Kdsa, code);
        for piece in [1, 7, 64, 128, 299] {
            let mut parameter = before.clone();
            let mut signature = function.signature(&parameter, None).unwrap();
            let mut taken = 0;
            let condition = loop {
                while let part @ [_, ..] = &message[signature.taken() as usize..] {
                    let part = &part[..part.len().min(piece)];
                    signature.take(part);
                    taken += part.len();
                    let state = signature.state();
                    assert_ne!(state[..2], [0, 0], "what is stopped shows it");
                    signature = function.signature(&parameter, Some(&state)).unwrap();
                }
                assert_eq!(parameter, before, "nothing is stored before the end");
                if let Some(condition) = function.end_pass(&mut signature, &mut parameter) {
                    break condition;
                }
            };
            assert_eq!(condition, ConditionCode::Zero);
            assert_eq!((taken, &parameter), (passes * message.len(), after));
        }
    }
}

#[test]
fn kdsa_ed25519_does_not_resume_from_a_state_that_it_never_left() {
    let parameter = [0; 96];
    let [verify, sign] = [32, 40].map(|code| function(Instruction::Kdsa, code));
    let [state, first_pass] = [verify, sign].map(|function| {
        let signature = function.signature(&parameter, None).unwrap();
        signature.state()
    });
    assert!(verify.signature(&parameter, Some(&state)).is_some());
    assert!(verify.signature(&parameter, Some(&first_pass)).is_none());
    for pass in [0, 3, 255] {
        let mut other = state;
        other[1] = pass;
        assert!(verify.signature(&parameter, Some(&other)).is_none());
        assert!(sign.signature(&parameter, Some(&other)).is_none());
    }
    // Any content of the buffer is harmless.
    let mut other = [0xFF; Signature::STATE];
    other[1] = 2;
    if let Some(mut signature) = sign.signature(&parameter, Some(&other)) {
        signature.take(&[1; 1000]);
        assert_eq!(signature.taken(), u64::MAX);
        sign.end_pass(&mut signature, &mut parameter.clone());
    }
}

#[test]
fn pcc_x25519_gives_the_answer_of_rfc_7748() {
    let pcc = function(Instruction::Pcc, 80);
    let mut scalar = hex(X25519_SCALAR);
    // What a program does to the scalar before.
    scalar[0] &= 248;
    scalar[31] = scalar[31] & 127 | 64;
    scalar.reverse();
    let mut parameter = [vec![0; 32], reversed(X25519_POINT), scalar].concat();
    assert_eq!(pcc.parameter_length(), parameter.len());
    assert_eq!(pcc.compute(&mut parameter), ConditionCode::Zero);
    assert_eq!(parameter[pcc.updated()], reversed(X25519_PRODUCT));
}

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
