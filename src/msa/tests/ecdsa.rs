//! KDSA with ECDSA and the scalar multiplications of PCC on the same curves: RFC 6979.

use super::*;

/// One curve's numbers: RFC 6979, appendix A.2, the message "sample".
struct Sample {
    verify: u8,
    sign: u8,
    multiply: u8,
    generator: [&'static str; 2],
    digest: &'static str,
    private: &'static str,
    public: [&'static str; 2],
    nonce: &'static str,
    signature: [&'static str; 2],
}

const SAMPLES: [Sample; 3] = [
    Sample {
        verify: 1,
        sign: 9,
        multiply: 64,
        generator: [
            "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
            "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
        ],
        digest: "af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf",
        private: "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
        public: [
            "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6",
            "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
        ],
        nonce: "a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60",
        signature: [
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
            "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        ],
    },
    Sample {
        verify: 2,
        sign: 10,
        multiply: 65,
        generator: [
            "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b98
             59f741e082542a385502f25dbf55296c3a545e3872760ab7",
            "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147c
             e9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
        ],
        digest: "9a9083505bc92276aec4be312696ef7bf3bf603f4bbd3811
            96a029f340585312313bca4a9b5b890efee42c77b1ee25fe",
        private: "6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba
            9aa47740787137d896d5724e4c70a825f872c9ea60d2edf5",
        public: [
            "ec3a4e415b4e19a4568618029f427fa5da9a8bc4ae92e02e
             06aae5286b300c64def8f0ea9055866064a254515480bc13",
            "8015d9b72d7d57244ea8ef9ac0c621896708a59367f9dfb9
             f54ca84b3f1c9db1288b231c3ae0d4fe7344fd2533264720",
        ],
        nonce: "94ed910d1a099dad3254e9242ae85abde4ba15168eaf0ca8
            7a555fd56d10fbca2907e3e83ba95368623b8c4686915cf9",
        signature: [
            "94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa7
             3d64c4ea95ad133c81a648152e44acf96e36dd1e80fabe46",
            "99ef4aeb15f178cea1fe40db2603138f130e740a19624526
             203b6351d0a3a94fa329c145786e679e7b82c71a38628ac8",
        ],
    },
    Sample {
        verify: 3,
        sign: 11,
        multiply: 66,
        generator: [
            "000000000000000000000000000000c6858e06b70404e9cd9e3ecb66
             2395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe7
             5928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66",
            "0000000000000000000000000000011839296a789a3bc0045c8a5fb4
             2c7d1bd998f54449579b446817afbd17273e662c97ee72995ef4
             2640c550b9013fad0761353c7086a272c24088be94769fd16650",
        ],
        digest: "0000000000000000000000000000000039a5e04aaff7455d9850c605
             364f514c11324ce64016960d23d5dc57d3ffd8f49a739468ab80
             49bf18eef820cdb1ad6c9015f838556bc7fad4138b23fdf986c7",
        private: "000000000000000000000000000000fad06daa62ba3b25d2fb40133d
             a757205de67f5bb0018fee8c86e1b68c7e75caa896eb32f1f47c
             70855836a6d16fcc1466f6d8fbec67db89ec0c08b0e996b83538",
        public: [
            "000000000000000000000000000001894550d0785932e00eaa23b694
             f213f8c3121f86dc97a04e5a7167db4e5bcd371123d46e45db6b
             5d5370a7f20fb633155d38ffa16d2bd761dcac474b9a2f5023a4",
            "000000000000000000000000000000493101c962cd4d2fddf782285e
             64584139c2f91b47f87ff82354d6630f746a28a0db25741b5b34
             a828008b22acc23f924faafbd4d33f81ea66956dfeaa2bfdfcf5",
        ],
        nonce: "000000000000000000000000000001dae2ea071f8110dc26882d4d5e
             ae0621a3256fc8847fb9022e2b7d28e6f10198b1574fdd03a905
             3c08a1854a168aa5a57470ec97dd5ce090124ef52a2f7ecbffd3",
        signature: [
            "000000000000000000000000000000c328fafcbd79dd77850370c463
             25d987cb525569fb63c5d3bc53950e6d4c5f174e25a1ee9017b5
             d450606add152b534931d7d4e8455cc91f9b15bf05ec36e377fa",
            "000000000000000000000000000000617cce7cf5064806c467f678d3
             b4080d6f1cc50af26ca209417308281b68af282623eaa63e5b5c
             0723d8b8c37ff0777b1a20f8ccb1dccc43997f1ee0e44da4a67a",
        ],
    },
];

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
fn kdsa_ecdsa_refuses_a_nonce_or_a_private_key_out_of_range() {
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
            let control = Control(sample.sign.into());
            assert_eq!(kdsa(control, &mut parameter, &[]), ConditionCode::Two);
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
