//! KDSA with ECDSA and the scalar multiplications of PCC on the same curves: RFC 6979.

use super::*;

fn fields(fields: [&str; 5]) -> Vec<u8> {
    fields.map(hex).concat()
}

impl Sample {
    fn to_verify(&self) -> Vec<u8> {
        let ([r, s], [x, y]) = (self.signature, self.public);
        fields([r, s, self.digest, x, y])
    }

    /// To sign with `random`: the signature's fields hold zeros.
    fn to_sign(&self, random: &str) -> Vec<u8> {
        let zeros = "0".repeat(2 * hex(self.digest).len());
        fields([&zeros, &zeros, self.digest, self.private, random])
    }
}

#[test]
fn kdsa_ecdsa_signs_with_the_nonce_as_rfc_6979_says() {
    for sample in &SAMPLES {
        let mut parameter = sample.to_sign(sample.nonce);
        let control = Control(0x80 | u64::from(sample.sign));
        assert_eq!(kdsa(control, &mut parameter, &[]), ConditionCode::Zero);
        let updated = function(Instruction::Kdsa, sample.sign).updated();
        assert_eq!(parameter[updated], sample.signature.map(hex).concat());
    }
}

#[test]
fn kdsa_ecdsa_verifies_that_signature_and_no_other() {
    for sample in &SAMPLES {
        let good = sample.to_verify();
        let control = Control(sample.verify.into());
        assert_eq!(kdsa(control, &mut good.clone(), &[]), ConditionCode::Zero);
        let length = good.len() / 5;
        for field in 0..5 {
            let mut bad = good.clone();
            bad[(field + 1) * length - 1] ^= 1;
            assert_eq!(
                kdsa(control, &mut bad.clone(), &[]),
                ConditionCode::Two,
                "field {field}"
            );
            bad[field * length..(field + 1) * length].fill(0);
            if field != 2 {
                assert_eq!(kdsa(control, &mut bad.clone(), &[]), ConditionCode::Two);
            }
            bad[field * length..(field + 1) * length].fill(0xFF);
            assert_eq!(kdsa(control, &mut bad, &[]), ConditionCode::Two);
        }
    }
}

#[test]
fn the_left_of_a_field_of_p_521_must_be_zeros() {
    let good = SAMPLES[2].to_verify();
    assert_eq!(
        kdsa(Control(3), &mut good.clone(), &[]),
        ConditionCode::Zero
    );
    for field in 0..5 {
        let mut bad = good.clone();
        bad[80 * field + 13] = 1;
        assert_eq!(kdsa(Control(3), &mut bad, &[]), ConditionCode::Two);
    }
}

#[test]
fn kdsa_ecdsa_makes_a_nonce_of_its_own_that_the_random_number_changes() {
    for sample in &SAMPLES {
        let control = Control(sample.sign.into());
        let mut signatures = Vec::new();
        for random in ["00", "01"] {
            let random = random.repeat(hex(sample.digest).len());
            let mut signed = sample.to_sign(&random);
            assert_eq!(kdsa(control, &mut signed, &[]), ConditionCode::Zero);
            let length = signed.len() / 5;
            let mut verified = sample.to_verify();
            verified[..2 * length].copy_from_slice(&signed[..2 * length]);
            let verify = Control(sample.verify.into());
            assert_eq!(kdsa(verify, &mut verified, &[]), ConditionCode::Zero);
            assert_eq!(signed[2 * length..], sample.to_sign(&random)[2 * length..]);
            signatures.push(signed[..2 * length].to_vec());
        }
        assert_ne!(signatures[0], signatures[1]);
    }
}

#[test]
fn kdsa_ecdsa_asks_for_another_nonce_but_refuses_a_private_key_out_of_range() {
    for sample in &SAMPLES {
        let length = hex(sample.digest).len();
        for bad in ["00", "ff"].map(|byte| byte.repeat(length)) {
            let mut parameter = sample.to_sign(&bad);
            let before = parameter.clone();
            let control = Control(0x80 | u64::from(sample.sign));
            assert_eq!(kdsa(control, &mut parameter, &[]), ConditionCode::Two);
            assert_eq!(parameter, before);
            let mut parameter = sample.to_sign(sample.nonce);
            parameter[3 * length..4 * length].copy_from_slice(&hex(&bad));
            let before = parameter.clone();
            let control = Control(sample.sign.into());
            assert_eq!(kdsa(control, &mut parameter, &[]), ConditionCode::One);
            assert_eq!(parameter, before);
        }
    }
}

#[test]
fn pcc_multiplies_the_generator_by_the_private_key_to_the_public_key() {
    for sample in &SAMPLES {
        let pcc = function(Instruction::Pcc, sample.multiply);
        let [x, y] = sample.generator;
        let zeros = "0".repeat(2 * hex(x).len());
        let mut parameter = fields([&zeros, &zeros, x, y, sample.private]);
        assert_eq!(pcc.parameter_length(), parameter.len());
        assert_eq!(pcc.compute(&mut parameter), ConditionCode::Zero);
        assert_eq!(parameter[pcc.updated()], sample.public.map(hex).concat());
        let mut off_the_curve = fields([&zeros, &zeros, x, x, sample.private]);
        assert_eq!(pcc.compute(&mut off_the_curve), ConditionCode::Two);
        let mut to_infinity = fields([&zeros, &zeros, x, y, &zeros]);
        assert_eq!(pcc.compute(&mut to_infinity), ConditionCode::Two);
    }
}
