//! KM, KMC, KMF, KMO and KMCTR: FIPS 197, SP 800-38A, FIPS 81 and SP 800-67.

use super::*;

const KEYS: [(u8, &str); 3] = [
    (18, "2b7e151628aed2a6abf7158809cf4f3c"),
    (19, "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"),
    (
        20,
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
    ),
];
const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";
const CHAINING: &str = "000102030405060708090a0b0c0d0e0f";

/// FIPS 81 and SP 800-67: "Now is the time for all ", and the three keys' own message.
const NOW_IS_THE_TIME: &str = "4e6f77206973207468652074696d6520666f7220616c6c20";
const DEA_KEY: &str = "0123456789abcdef";
const DEA_CHAINING: &str = "1234567890abcdef";

fn block(chaining: &str, key: &str) -> Vec<u8> {
    hex(&format!("{chaining}{key}"))
}

#[test]
fn km_aes_gives_the_answers_of_fips_197() {
    let plain = "00112233445566778899aabbccddeeff";
    let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    for (code, length, cipher) in [
        (18, 32, "69c4e0d86a7b0430d8cdb78070b4c55a"),
        (19, 48, "dda97ca4864cdfe06eaf70a0ec0d7191"),
        (20, 64, "8ea2b7ca516745bfeafc49904b496089"),
    ] {
        both_ways(Instruction::Km, code, &hex(&key[..length]), plain, cipher);
    }
}

#[test]
fn km_aes_gives_the_ecb_answers_of_sp_800_38a() {
    let ciphers = [
        "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf
         43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4",
        "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef
         ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e",
        "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870
         b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7",
    ];
    for ((code, key), cipher) in KEYS.into_iter().zip(ciphers) {
        both_ways(Instruction::Km, code, &hex(key), PLAIN, cipher);
    }
}

#[test]
fn kmc_aes_gives_the_cbc_answers_of_sp_800_38a_and_chains_the_last_block() {
    let ciphers = [
        "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2
         73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
        "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a
         571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
        "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d
         39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
    ];
    for ((code, key), cipher) in KEYS.into_iter().zip(ciphers) {
        let after = both_ways(Instruction::Kmc, code, &block(CHAINING, key), PLAIN, cipher);
        assert_eq!(after[..16], hex(cipher)[48..]);
        assert_eq!(after[16..], hex(key));
    }
}

#[test]
fn kmf_aes_gives_the_cfb128_answers_of_sp_800_38a() {
    let ciphers = [
        "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b
         26751f67a3cbb140b1808cf187a4f4dfc04b05357c5d1c0eeac4c66f9ff7f2e6",
        "cdc80d6fddf18cab34c25909c99a417467ce7f7f81173621961a2b70171d3d7a
         2e1e8a1dd59b88b1c8e60fed1efac4c9c05f9f9ca9834fa042ae8fba584b09ff",
        "dc7e84bfda79164b7ecd8486985d386039ffed143b28b1c832113c6331e5407b
         df10132415e54b92a13ed0a8267ae2f975a385741ab9cef82031623d55b1e471",
    ];
    for ((code, key), cipher) in KEYS.into_iter().zip(ciphers) {
        let before = block(CHAINING, key);
        let plain = hex(PLAIN);
        for (modifier, input, output) in [
            (0, &plain, hex(cipher)),
            (0x80, &hex(cipher), plain.clone()),
        ] {
            let control = Control(16 << 24 | modifier | u64::from(code));
            let mut parameter = before.clone();
            assert_eq!(
                process(Instruction::Kmf, control, &mut parameter, input),
                output
            );
            assert_eq!(parameter[..16], hex(cipher)[48..]);
        }
    }
}

#[test]
fn kmf_aes_gives_the_cfb8_answers_of_sp_800_38a() {
    let plain = "6bc1bee22e409f96e93d7e117393172aae2d";
    let ciphers = [
        "3b79424c9c0dd436bace9e0ed4586a4f32b9",
        "cda2521ef0a905ca44cd057cbf0d47a0678a",
        "dc1f1a8520a64db55fcc8ac554844e889700",
    ];
    for ((code, key), cipher) in KEYS.into_iter().zip(ciphers) {
        for (modifier, input, output) in [(0, plain, cipher), (0x80, cipher, plain)] {
            let control = Control(1 << 24 | modifier | u64::from(code));
            let mut parameter = block(CHAINING, key);
            let output_is = process(Instruction::Kmf, control, &mut parameter, &hex(input));
            assert_eq!(output_is, hex(output));
            assert_eq!(
                parameter[..16],
                hex(cipher)[2..],
                "the last 16 bytes of ciphertext"
            );
        }
    }
}

#[test]
fn kmo_aes_gives_the_ofb_answers_of_sp_800_38a() {
    let ciphers = [
        "3b3fd92eb72dad20333449f8e83cfb4a7789508d16918f03f53c52dac54ed825
         9740051e9c5fecf64344f7a82260edcc304c6528f659c77866a510d9c1d6ae5e",
        "cdc80d6fddf18cab34c25909c99a4174fcc28b8d4c63837c09e81700c1100401
         8d9a9aeac0f6596f559c6d4daf59a5f26d9f200857ca6c3e9cac524bd9acc92a",
        "dc7e84bfda79164b7ecd8486985d38604febdc6740d20b3ac88f6ad82a4fb08d
         71ab47a086e86eedf39d1c5bba97c4080126141d67f37be8538f5a8be740e484",
    ];
    for ((code, key), cipher) in KEYS.into_iter().zip(ciphers) {
        both_ways(Instruction::Kmo, code, &block(CHAINING, key), PLAIN, cipher);
    }
}

#[test]
fn kmctr_aes_gives_the_ctr_answers_of_sp_800_38a() {
    let counters = hex(
        "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff f0f1f2f3f4f5f6f7f8f9fafbfcfdff00
        f0f1f2f3f4f5f6f7f8f9fafbfcfdff01 f0f1f2f3f4f5f6f7f8f9fafbfcfdff02",
    );
    let ciphers = [
        "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff
         5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
        "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94
         1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
        "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5
         2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
    ];
    for ((code, key), cipher) in KEYS.into_iter().zip(ciphers) {
        let kmctr = function(Instruction::Kmctr, code);
        let mut output = vec![0; 64];
        kmctr.process_counters(&hex(key), &counters, &hex(PLAIN), &mut output);
        assert_eq!(output, hex(cipher));
        kmctr.process_counters(&hex(key), &counters, &hex(cipher), &mut output);
        assert_eq!(output, hex(PLAIN));
    }
}

#[test]
fn the_dea_functions_give_the_answers_of_fips_81() {
    let key = hex(DEA_KEY);
    both_ways(
        Instruction::Km,
        1,
        &key,
        NOW_IS_THE_TIME,
        "3fa40e8a984d48156a271787ab8883f9893d51ec4b563b53",
    );
    let before = block(DEA_CHAINING, DEA_KEY);
    both_ways(
        Instruction::Kmc,
        1,
        &before,
        NOW_IS_THE_TIME,
        "e5c7cdde872bf27c43e934008c389c0f683788499a7c05f6",
    );
    both_ways(
        Instruction::Kmo,
        1,
        &before,
        NOW_IS_THE_TIME,
        "f3096249c7f46e5135f24a242eeb3d3f3d6d5be3255af8c3",
    );
    for (feedback, length, cipher) in [
        (8, 24, "f3096249c7f46e51a69e839b1a92f78403467133898ea622"),
        (1, 10, "f31fda07011462ee187f"),
    ] {
        let control = Control(feedback << 24 | 1);
        let input = &hex(NOW_IS_THE_TIME)[..length];
        let output = process(Instruction::Kmf, control, &mut before.clone(), input);
        assert_eq!(output, hex(cipher));
    }
}

#[test]
fn tdea_with_three_keys_gives_the_answer_of_sp_800_67() {
    both_ways(
        Instruction::Km,
        3,
        &hex("0123456789abcdef 23456789abcdef01 456789abcdef0123"),
        "54686520717566636b2062726f776e20666f78206a756d70",
        "a826fd8ce53b855fcce21c8112256fe668d5c05dd9b6b900",
    );
}

#[test]
fn tdea_with_equal_keys_is_dea_and_its_parity_bits_do_not_matter() {
    let cipher = "3fa40e8a984d48156a271787ab8883f9893d51ec4b563b53";
    for (code, copies) in [(2, 2), (3, 3)] {
        let key = DEA_KEY.repeat(copies);
        both_ways(Instruction::Km, code, &hex(&key), NOW_IS_THE_TIME, cipher);
        let other_parity: Vec<u8> = hex(&key).iter().map(|byte| byte ^ 1).collect();
        both_ways(
            Instruction::Km,
            code,
            &other_parity,
            NOW_IS_THE_TIME,
            cipher,
        );
    }
}

#[test]
fn tdea_with_two_keys_is_tdea_with_the_first_key_again_as_third() {
    let (first, second) = ("0123456789abcdef", "23456789abcdef01");
    for instruction in [Instruction::Kmc, Instruction::Kmo] {
        let two = block(DEA_CHAINING, &format!("{first}{second}"));
        let three = block(DEA_CHAINING, &format!("{first}{second}{first}"));
        let [control_of_two, control_of_three] = [Control(2), Control(3)];
        let text = hex(NOW_IS_THE_TIME);
        assert_eq!(
            process(instruction, control_of_two, &mut two.clone(), &text),
            process(instruction, control_of_three, &mut three.clone(), &text)
        );
    }
    // The same message as of SP 800-67, computed apart with another implementation.
    both_ways(
        Instruction::Km,
        2,
        &hex("0123456789abcdef 23456789abcdef01"),
        "54686520717566636b2062726f776e20666f78206a756d70",
        "c44862f70cf2fbdc9077d0909fa91b884cabd61fc58e0cbb",
    );
}

#[test]
fn kmctr_with_dea_is_the_enciphered_counters_exclusive_or_the_text() {
    let counters = hex("0000000000000000 ffffffffffffffff 0123456789abcdef");
    for (code, key) in [(1, 8), (2, 16), (3, 24)] {
        let key: Vec<u8> = (1..=key).map(|byte| byte * 7).collect();
        let mask = process(
            Instruction::Km,
            Control(code.into()),
            &mut key.clone(),
            &counters,
        );
        let mut output = vec![0; 24];
        let text = hex(NOW_IS_THE_TIME);
        function(Instruction::Kmctr, code).process_counters(&key, &counters, &text, &mut output);
        let by_hand: Vec<u8> = mask
            .iter()
            .zip(&text)
            .map(|(mask, text)| mask ^ text)
            .collect();
        assert_eq!(output, by_hand);
    }
}
