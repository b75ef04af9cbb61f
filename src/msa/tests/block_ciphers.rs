//! KM, KMC, KMF, KMO and KMCTR: FIPS 197, SP 800-38A, FIPS 81 and SP 800-67.

use super::*;

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
    for ((code, key), cipher) in AES_KEYS.into_iter().zip(ECB) {
        both_ways(Instruction::Km, code, &hex(key), PLAIN, cipher);
    }
}

#[test]
fn kmc_aes_gives_the_cbc_answers_of_sp_800_38a_and_chains_the_last_block() {
    for ((code, key), cipher) in AES_KEYS.into_iter().zip(CBC) {
        let after = both_ways(Instruction::Kmc, code, &block(CHAINING, key), PLAIN, cipher);
        assert_eq!(after[..16], hex(cipher)[48..]);
        assert_eq!(after[16..], hex(key));
    }
}

#[test]
fn kmf_aes_gives_the_cfb128_answers_of_sp_800_38a() {
    for ((code, key), cipher) in AES_KEYS.into_iter().zip(CFB) {
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
    for ((code, key), cipher) in AES_KEYS.into_iter().zip(ciphers) {
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
    for ((code, key), cipher) in AES_KEYS.into_iter().zip(OFB) {
        both_ways(Instruction::Kmo, code, &block(CHAINING, key), PLAIN, cipher);
    }
}

#[test]
fn kmctr_aes_gives_the_ctr_answers_of_sp_800_38a() {
    let counters = hex(COUNTERS);
    for ((code, key), cipher) in AES_KEYS.into_iter().zip(CTR) {
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
    both_ways(Instruction::Km, 1, &key, TIME, DEA_ECB);
    let before = block(DEA_CHAINING, DEA_KEY);
    both_ways(Instruction::Kmc, 1, &before, TIME, DEA_CBC);
    both_ways(Instruction::Kmo, 1, &before, TIME, DEA_OFB);
    for (feedback, length, cipher) in [(8, 24, DEA_CFB), (1, 10, DEA_CFB_8)] {
        let control = Control(feedback << 24 | 1);
        let input = &hex(TIME)[..length];
        let output = process(Instruction::Kmf, control, &mut before.clone(), input);
        assert_eq!(output, hex(cipher));
    }
}

#[test]
fn tdea_with_three_keys_gives_the_answer_of_sp_800_67() {
    both_ways(Instruction::Km, 3, &hex(TDEA_KEYS), FOX, TDEA_ECB);
}

#[test]
fn tdea_with_equal_keys_is_dea_and_its_parity_bits_do_not_matter() {
    let cipher = DEA_ECB;
    for (code, copies) in [(2, 2), (3, 3)] {
        let key = DEA_KEY.repeat(copies);
        both_ways(Instruction::Km, code, &hex(&key), TIME, cipher);
        let other_parity: Vec<u8> = hex(&key).iter().map(|byte| byte ^ 1).collect();
        both_ways(Instruction::Km, code, &other_parity, TIME, cipher);
    }
}

#[test]
fn tdea_with_two_keys_is_tdea_with_the_first_key_again_as_third() {
    let (first, second) = ("0123456789abcdef", "23456789abcdef01");
    for instruction in [Instruction::Kmc, Instruction::Kmo] {
        let two = block(DEA_CHAINING, &format!("{first}{second}"));
        let three = block(DEA_CHAINING, &format!("{first}{second}{first}"));
        let [control_of_two, control_of_three] = [Control(2), Control(3)];
        let text = hex(TIME);
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
        FOX,
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
        let text = hex(TIME);
        function(Instruction::Kmctr, code).process_counters(&key, &counters, &text, &mut output);
        let by_hand: Vec<u8> = mask
            .iter()
            .zip(&text)
            .map(|(mask, text)| mask ^ text)
            .collect();
        assert_eq!(output, by_hand);
    }
}
