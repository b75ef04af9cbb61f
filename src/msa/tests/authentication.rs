//! KMA, KMAC, GHASH and CMAC: SP 800-38D, FIPS 113 and SP 800-38B.

use super::*;

const KEY: &str = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
const TEXT: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
const ADDITIONAL: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";

/// A parameter block of KMA for the initial counter value `j0`.
fn gcm_block(key: &[u8], j0: &[u8], additional: usize, text: usize) -> Vec<u8> {
    let mut parameter = vec![0; 80];
    parameter[12..16].copy_from_slice(&j0[12..]);
    parameter[48..56].copy_from_slice(&(8 * additional as u64).to_be_bytes());
    parameter[56..64].copy_from_slice(&(8 * text as u64).to_be_bytes());
    parameter[64..].copy_from_slice(j0);
    parameter.extend_from_slice(key);
    parameter
}

/// The output and the tag of KMA with all flags one.
fn gcm(
    control: Control,
    key: &[u8],
    j0: &[u8],
    additional: &[u8],
    text: &[u8],
) -> (Vec<u8>, Vec<u8>) {
    let kma = function(Instruction::Kma, control.function_code());
    let mut parameter = gcm_block(key, j0, additional.len(), text.len());
    kma.supply_hash_subkey(&mut parameter);
    kma.authenticate(&mut parameter, additional);
    let output = process(Instruction::Kma, control, &mut parameter, text);
    kma.authentication_tag(&mut parameter);
    (output, parameter[16..32].to_vec())
}

#[test]
fn kma_gives_the_answers_of_the_gcm_specification() {
    let j0 = hex("cafebabefacedbaddecaf88800000001");
    for (code, key, cipher, tag) in [
        (
            18,
            16,
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
             21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
            "5bc94fbc3221a5db94fae95ae7121a47",
        ),
        (
            19,
            24,
            "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c
             7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710",
            "2519498e80f1478f37ba55bd6d27618c",
        ),
        (
            20,
            32,
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
             8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
            "76fc6ece0f4e1768cddf8853bb2d551b",
        ),
    ] {
        let key = &hex(KEY)[..key];
        let [encipher, decipher] = directions(code);
        let enciphered = gcm(encipher, key, &j0, &hex(ADDITIONAL), &hex(TEXT));
        assert_eq!(enciphered, (hex(cipher), hex(tag)));
        let deciphered = gcm(decipher, key, &j0, &hex(ADDITIONAL), &hex(cipher));
        assert_eq!(deciphered, (hex(TEXT), hex(tag)));
    }
}

#[test]
fn kma_of_nothing_gives_the_tags_of_the_gcm_specification() {
    for (code, key, tag) in [
        (18, 16, "58e2fccefa7e3061367f1d57a4e7455a"),
        (19, 24, "cd33b28ac773f74ba00ed1f312572435"),
        (20, 32, "530f8afbc74536b9a963b4f1c4cb738b"),
    ] {
        let j0 = hex("00000000000000000000000000000001");
        let (_, got) = gcm(Control(code), &vec![0; key], &j0, &[], &[]);
        assert_eq!(got, hex(tag));
    }
}

#[test]
fn the_initial_counter_of_a_long_vector_is_what_kimd_ghash_makes_of_it() {
    // Test case 6: an initialization vector of 60 bytes.
    let key = &hex(KEY)[..16];
    let mut vector = hex(
        "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728
        c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
    );
    vector.resize(64 + 8, 0);
    vector.extend_from_slice(&(60_u64 * 8).to_be_bytes());
    let mut parameter = vec![0; 16];
    parameter.extend(process(
        Instruction::Km,
        Control(18),
        &mut key.to_vec(),
        &[0; 16],
    ));
    let ghash = function(Instruction::Kimd, 65);
    assert_eq!(ghash.parameter_length(), parameter.len());
    ghash.digest(&mut parameter, &vector);
    let (cipher, tag) = gcm(
        Control(18),
        key,
        &parameter[..16],
        &hex(ADDITIONAL),
        &hex(TEXT),
    );
    assert_eq!(
        cipher,
        hex(
            "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca7
            01e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5"
        )
    );
    assert_eq!(tag, hex("619cc5aefffe0bfa462af43c1699d050"));
}

#[test]
fn the_counter_value_of_kma_wraps_in_32_bits() {
    let key = [3; 16];
    let mut j0 = [0xFF; 16];
    let (cipher, _) = gcm(Control(18), &key, &j0, &[], &[0; 16]);
    j0[12..].fill(0);
    assert_eq!(
        cipher,
        process(Instruction::Km, Control(18), &mut key.to_vec(), &j0)
    );
}

#[test]
fn kmac_dea_gives_the_answer_of_fips_113() {
    let kmac = function(Instruction::Kmac, 1);
    let mut parameter = hex("0000000000000000 0123456789abcdef");
    let mut message = b"7654321 Now is the time for ".to_vec();
    message.resize(32, 0);
    kmac.digest(&mut parameter, &message);
    assert_eq!(parameter[..8], hex("f1d30f6849312ca4"));
}

#[test]
fn kmac_and_pcc_give_the_cmac_answers_of_sp_800_38b() {
    let message = hex(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51
        30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710",
    );
    let aes = [0, 16, 40, 64];
    let tdea = [0, 8, 20, 32];
    let cases = [
        (
            18,
            "2b7e151628aed2a6abf7158809cf4f3c",
            aes,
            [
                "bb1d6929e95937287fa37d129b756746",
                "070a16b46b4d4144f79bdd9dd04a287c",
                "dfa66747de9ae63030ca32611497c827",
                "51f0bebf7e3b9d92fc49741779363cfe",
            ],
        ),
        (
            19,
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            aes,
            [
                "d17ddf46adaacde531cac483de7a9367",
                "9e99a7bf31e710900662f65e617c5184",
                "8a1de5be2eb31aad089a82e6ee908b0e",
                "a1d5df0eed790f794d77589659f39a11",
            ],
        ),
        (
            20,
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            aes,
            [
                "028962f61b7bf89efc6b551f4667d983",
                "28a7023f452e8f82bd4bf28d8c37c35c",
                "aaf3d8f1de5640c232f5b169b9c911e6",
                "e1992190549f6ed5696a2c056c315410",
            ],
        ),
        (
            2,
            "4cf15134a2850dd58a3d10ba80570d38",
            tdea,
            [
                "bd2ebf9a3ba00361",
                "4ff2ab813c53ce83",
                "62dd1b471902bd4e",
                "31b1e431dabc4eb8",
            ],
        ),
        (
            3,
            "8aa83bf8cbda10620bc1bf19fbb6cd58bc313d4a371ca8b5",
            tdea,
            [
                "b7a688e122ffaf95",
                "8e8f293136283797",
                "743ddbe0ce2dc2ed",
                "33e6b1092400eae5",
            ],
        ),
    ];
    for (code, key, lengths, codes) in cases {
        for (length, expected) in lengths.into_iter().zip(codes) {
            // What is beyond the message's length in the last block does not matter.
            assert_eq!(
                cmac(code, &hex(key), &message[..length], 0xA5),
                hex(expected)
            );
        }
    }
}

#[test]
fn cmac_with_dea_is_cmac_with_equal_keys_of_tdea() {
    let key = hex("0123456789abcdef");
    for length in [0, 3, 8, 17] {
        let message = &hex(TEXT)[..length];
        assert_eq!(
            cmac(1, &key, message, 0),
            cmac(3, &key.repeat(3), message, 0)
        );
    }
}

#[test]
fn a_message_of_bits_is_padded_behind_its_last_bit() {
    // 4 bits that are ones, then the padding's one and zeros: as 8 bits F8 without padding of a
    // whole block would be, but with the other subkey.
    let pcc = function(Instruction::Pcc, 18);
    let parameter = |bits: u8, last: [u8; 16]| {
        let mut parameter = vec![bits, 0, 0, 0, 0, 0, 0, 0];
        parameter.extend_from_slice(&last);
        parameter.extend_from_slice(&[0; 16]);
        parameter.extend_from_slice(&[1; 16]);
        assert_eq!(pcc.compute(&mut parameter), ConditionCode::Zero);
        parameter[pcc.updated()].to_vec()
    };
    let filled = |first: u8, rest: u8| {
        let mut last = [rest; 16];
        last[0] = first;
        last
    };
    assert_eq!(
        parameter(4, filled(0xF0, 0)),
        parameter(4, filled(0xFF, 0xFF))
    );
    assert_ne!(parameter(4, filled(0xF0, 0)), parameter(5, filled(0xF0, 0)));
    assert_ne!(
        parameter(4, filled(0xF0, 0)),
        parameter(128, filled(0xF8, 0))
    );
}

/// CMAC as a program computes it: KMAC for all blocks but the last, PCC for that.
fn cmac(code: u8, key: &[u8], message: &[u8], filler: u8) -> Vec<u8> {
    let kmac = function(Instruction::Kmac, code);
    let block = kmac.data_block(Control::default());
    let before_last = message.len().saturating_sub(1) / block * block;
    let mut chaining = vec![0; block];
    chaining.extend_from_slice(key);
    kmac.digest(&mut chaining, &message[..before_last]);
    let mut last = message[before_last..].to_vec();
    let mut parameter = vec![8 * last.len() as u8, 0, 0, 0, 0, 0, 0, 0];
    last.resize(block, filler);
    parameter.extend_from_slice(&last);
    parameter.extend_from_slice(&chaining);
    let pcc = function(Instruction::Pcc, code);
    assert_eq!(pcc.parameter_length(), parameter.len());
    assert_eq!(pcc.compute(&mut parameter), ConditionCode::Zero);
    parameter[pcc.updated()].to_vec()
}
