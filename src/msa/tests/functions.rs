//! The supplied functions, their parameter blocks and their operands.

use super::*;
use crate::{Engine, Signature, query};

fn supplied(instruction: Instruction) -> Vec<u8> {
    let status = query(instruction);
    (0..128)
        .filter(|code| status[usize::from(code / 8)] & 0x80 >> (code % 8) != 0)
        .collect()
}

#[test]
fn query_shows_the_query_function_and_each_function_that_is_supplied() {
    let ciphers = [0, 1, 2, 3, 18, 19, 20];
    for instruction in [
        Instruction::Kmc,
        Instruction::Kmf,
        Instruction::Kmo,
        Instruction::Kmctr,
        Instruction::Kmac,
    ] {
        assert_eq!(supplied(instruction), ciphers, "{instruction:?}");
    }
    assert_eq!(
        supplied(Instruction::Km),
        [&ciphers[..], &[50, 52]].concat()
    );
    assert_eq!(supplied(Instruction::Kma), [0, 18, 19, 20]);
    let hashes = [0, 1, 2, 3, 32, 33, 34, 35, 36, 37];
    assert_eq!(supplied(Instruction::Klmd), hashes);
    assert_eq!(supplied(Instruction::Kimd), [&hashes[..], &[65]].concat());
    assert_eq!(supplied(Instruction::Prno), [0, 3, 112, 114]);
    let computations = [&ciphers[..], &[50, 52, 64, 65, 66, 72, 80]].concat();
    assert_eq!(supplied(Instruction::Pcc), computations);
    assert_eq!(supplied(Instruction::Kdsa), [0, 1, 2, 3, 9, 10, 11, 32, 40]);
    assert_eq!(supplied(Instruction::Pckmo), [0]);
}

#[test]
fn the_parameter_blocks_are_as_long_as_their_fields() {
    for (instruction, code, length) in [
        (Instruction::Km, 1, 8),
        (Instruction::Km, 20, 32),
        (Instruction::Km, 50, 32),
        (Instruction::Km, 52, 48),
        (Instruction::Kmc, 3, 32),
        (Instruction::Kmf, 18, 32),
        (Instruction::Kmo, 2, 24),
        (Instruction::Kmctr, 19, 24),
        (Instruction::Kma, 18, 96),
        (Instruction::Kma, 20, 112),
        (Instruction::Kmac, 20, 48),
        (Instruction::Kimd, 1, 20),
        (Instruction::Kimd, 65, 32),
        (Instruction::Klmd, 1, 28),
        (Instruction::Klmd, 2, 40),
        (Instruction::Klmd, 3, 80),
        (Instruction::Klmd, 36, 200),
        (Instruction::Prno, 3, 240),
        (Instruction::Prno, 112, 8),
        (Instruction::Prno, 114, 0),
        (Instruction::Pcc, 1, 32),
        (Instruction::Pcc, 20, 72),
        (Instruction::Pcc, 50, 80),
        (Instruction::Pcc, 52, 96),
        (Instruction::Pcc, 65, 240),
        (Instruction::Pcc, 66, 400),
        (Instruction::Pcc, 72, 160),
        (Instruction::Pcc, 80, 96),
        (Instruction::Kdsa, 1, 160),
        (Instruction::Kdsa, 11, 400),
        (Instruction::Kdsa, 32, 96),
    ] {
        let function = function(instruction, code);
        assert_eq!(
            function.parameter_length(),
            length,
            "{instruction:?} {code}"
        );
    }
}

#[test]
fn no_parameter_block_is_longer_than_the_longest() {
    let lengths = Instruction::ALL.into_iter().flat_map(|instruction| {
        let functions = (1..128).filter_map(move |code| Function::of(instruction, code));
        functions.map(Function::parameter_length)
    });
    assert_eq!(lengths.max(), Some(Function::LONGEST_PARAMETER_BLOCK));
}

#[test]
fn a_function_stores_within_its_parameter_block_and_never_the_key() {
    for instruction in Instruction::ALL {
        for function in (1..128).filter_map(|code| Function::of(instruction, code)) {
            let (updated, key) = (function.updated(), function.key());
            assert!(updated.end <= function.parameter_length(), "{function:?}");
            assert!(key.end <= function.parameter_length() || key.is_empty());
            assert!(
                key.is_empty()
                    || key.end <= updated.start
                    || updated.end <= key.start
                    || updated.is_empty()
            );
        }
    }
}

#[test]
fn the_modifier_bit_has_a_meaning_only_where_there_are_two_directions() {
    for instruction in Instruction::ALL {
        for function in (1..128).filter_map(|code| Function::of(instruction, code)) {
            let code = 8 << 24 | u64::from(function.code());
            assert!(function.accepts(Control(code)), "{function:?}");
            let expected = match instruction {
                Instruction::Km
                | Instruction::Kmc
                | Instruction::Kmf
                | Instruction::Kmo
                | Instruction::Kmctr
                | Instruction::Kma => true,
                Instruction::Prno => function.code() == 3,
                Instruction::Kdsa => [9, 10, 11].contains(&function.code()),
                _ => false,
            };
            assert_eq!(
                function.accepts(Control(code | 0x80)),
                expected,
                "{function:?}"
            );
        }
    }
}

#[test]
fn the_cipher_feedback_is_one_byte_up_to_the_block() {
    for (code, block) in [(1, 8), (3, 8), (18, 16), (20, 16)] {
        let kmf = function(Instruction::Kmf, code);
        for feedback in 0..=255 {
            let control = Control(feedback << 24 | u64::from(code));
            assert_eq!(kmf.accepts(control), (1..=block).contains(&feedback));
            assert_eq!(kmf.data_block(control) as u64, feedback);
        }
    }
}

#[test]
fn the_coprocessor_is_that_of_the_algorithm_except_for_random_numbers() {
    for (instruction, code, engine) in [
        (Instruction::Km, 3, Engine::Dea),
        (Instruction::Kma, 18, Engine::Aes),
        (Instruction::Kimd, 65, Engine::Aes),
        (Instruction::Klmd, 37, Engine::Sha),
        (Instruction::Prno, 3, Engine::Prng),
        (Instruction::Pcc, 52, Engine::Aes),
        (Instruction::Pcc, 80, Engine::Ecc),
        (Instruction::Kdsa, 40, Engine::Ecc),
    ] {
        assert_eq!(function(instruction, code).engine(), engine);
    }
}

#[test]
fn slices_that_are_too_short_do_no_harm() {
    for instruction in Instruction::ALL {
        for function in (1..128).filter_map(|code| Function::of(instruction, code)) {
            for length in [0, 1, function.parameter_length().saturating_sub(1)] {
                let control = Control(8 << 24);
                let mut short = vec![0; length];
                let mut output = [0; 33];
                function.process(control, &mut short, &[0; 35], &mut output);
                function.process_counters(&short, &[0; 19], &[0; 35], &mut output);
                function.supply_hash_subkey(&mut short);
                function.authenticate(&mut short, &[0; 35]);
                function.authentication_tag(&mut short);
                function.digest(&mut short, &[0; 300]);
                function.digest_last(&mut short, &[0; 300]);
                function.extend(&mut short, true, &mut output);
                assert!(!function.is_seeded(&short));
                function.seed(&mut short, &[0; 1000]);
                function.generate(&mut short, 64, &mut output);
                function.generate(&mut short, 0, &mut output);
                function.compute(&mut short);
                function.sign_or_verify(control, &mut short);
                assert!(function.signature(&short, None).is_none());
            }
            // And with the whole parameter block, operands of odd lengths.
            let mut parameter = vec![0; function.parameter_length()];
            let mut output = [0; 33];
            function.process(Control(0), &mut parameter, &[0; 35], &mut output);
            function.process(Control(255 << 24), &mut parameter, &[0; 35], &mut output);
            function.digest(&mut parameter, &[0; 35]);
            function.digest_last(&mut parameter, &[0; 300]);
            function.process_counters(&parameter, &[0; 19], &[0; 35], &mut output);
            if let Some(mut signature) = function.signature(&parameter, None) {
                let ended = function.end_pass(&mut signature, &mut []);
                assert_eq!(ended, Some(ConditionCode::Two));
            }
        }
    }
}

#[test]
fn the_state_of_a_stopped_function_fits_after_its_parameter_block() {
    for instruction in Instruction::ALL {
        for function in (1..128).filter_map(|code| Function::of(instruction, code)) {
            let Some(behind) = function.continuation() else {
                continue;
            };
            assert!(behind >= function.parameter_length() && behind.is_multiple_of(8));
            assert!(behind + Signature::STATE <= 4096);
        }
    }
    // By the lengths of the parameter blocks with the doubleword but without the buffer.
    let doubleword = |code| function(Instruction::Kdsa, code).continuation();
    assert_eq!(doubleword(32), Some(104 - 8));
    assert_eq!(doubleword(40), Some(120 - 8));
    assert_eq!(doubleword(1), None);
}
