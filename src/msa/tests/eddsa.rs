//! KDSA and PCC with Ed25519 and X25519: RFC 8032 and RFC 7748.

use super::*;

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
