//! KMA, KMAC, GHASH and CMAC: SP 800-38D, FIPS 113 and SP 800-38B.

use super::*;

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
    let j0 = hex(GCM_COUNTER);
    for (code, key, cipher, tag) in GCM {
        let key = &hex(GCM_KEY)[..key];
        let [encipher, decipher] = directions(code);
        let enciphered = gcm(encipher, key, &j0, &hex(GCM_ADDITIONAL), &hex(GCM_TEXT));
        assert_eq!(enciphered, (hex(cipher), hex(tag)));
        let deciphered = gcm(decipher, key, &j0, &hex(GCM_ADDITIONAL), &hex(cipher));
        assert_eq!(deciphered, (hex(GCM_TEXT), hex(tag)));
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
fn kimd_ghash_computes_the_initial_counter_of_a_long_vector() {
    // Test case 6: an initialization vector of 60 bytes.
    let key = &hex(GCM_KEY)[..16];
    let mut vector = hex(GCM_VECTOR_6);
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
    assert_eq!(parameter[..16], hex(GCM_COUNTER_6));
    let (cipher, tag) = gcm(
        Control(18),
        key,
        &parameter[..16],
        &hex(GCM_ADDITIONAL),
        &hex(GCM_TEXT),
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
    let mut parameter = hex(&format!("0000000000000000{DEA_KEY}"));
    kmac.digest(&mut parameter, MAC_MESSAGE);
    assert_eq!(parameter[..8], hex(MAC));
}

#[test]
fn kmac_and_pcc_give_the_cmac_answers_of_sp_800_38b() {
    let message = hex(PLAIN);
    for (code, key, lengths, codes) in CMAC {
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
    let key = hex(DEA_KEY);
    for length in [0, 3, 8, 17] {
        let message = &hex(GCM_TEXT)[..length];
        assert_eq!(
            cmac(1, &key, message, 0),
            cmac(3, &key.repeat(3), message, 0)
        );
    }
}

#[test]
fn a_message_of_bits_is_padded_after_its_last_bit() {
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
