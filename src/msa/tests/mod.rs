//! Published known answers for every function, and messages cut into any pieces.

mod authentication;
mod block_ciphers;
mod cuts;
mod digests;
mod ecdsa;
mod eddsa;
mod functions;
mod random_numbers;
mod xts;

use super::vectors::*;
use super::{Control, Function, Instruction};
use arch::condition::ConditionCode;

/// The bytes that `digits` spells; white space between them does not matter.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .map(|digit| digit.to_digit(16).unwrap() as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2));
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn function(instruction: Instruction, code: u8) -> Function {
    Function::of(instruction, code).unwrap()
}

/// General register 0 to encipher with function `code`, and to decipher.
fn directions(code: u8) -> [Control; 2] {
    [Control(code.into()), Control(0x80 | u64::from(code))]
}

/// All of `input` in one piece; the parameter block is as the instruction leaves it.
fn process(
    instruction: Instruction,
    control: Control,
    parameter: &mut [u8],
    input: &[u8],
) -> Vec<u8> {
    let function = function(instruction, control.function_code());
    assert!(function.accepts(control));
    assert_eq!(parameter.len(), function.parameter_length());
    let mut output = vec![0; input.len()];
    function.process(control, parameter, input, &mut output);
    output
}

/// Enciphers `plain` to `cipher` and back, with the parameter block `before`. Returns the parameter block
/// afterwards.
fn both_ways(
    instruction: Instruction,
    code: u8,
    before: &[u8],
    plain: &str,
    cipher: &str,
) -> Vec<u8> {
    let [encipher, decipher] = directions(code);
    let mut after = before.to_vec();
    let output = process(instruction, encipher, &mut after, &hex(plain));
    assert_eq!(output, hex(cipher), "{instruction:?} {code} enciphers");
    let mut after_decipher = before.to_vec();
    let output = process(instruction, decipher, &mut after_decipher, &hex(cipher));
    assert_eq!(output, hex(plain), "{instruction:?} {code} deciphers");
    assert_eq!(after, after_decipher, "{instruction:?} {code} chains");
    after
}

/// KDSA with a message that is one slice.
fn kdsa(control: Control, parameter: &mut [u8], message: &[u8]) -> ConditionCode {
    let kdsa = function(Instruction::Kdsa, control.function_code());
    assert!(kdsa.accepts(control));
    assert_eq!(parameter.len(), kdsa.parameter_length());
    if kdsa.continuation().is_none() {
        return kdsa.sign_or_verify(control, parameter);
    }
    let mut signature = kdsa.signature(parameter, None).unwrap();
    loop {
        signature.take(message);
        if let Some(condition) = kdsa.end_pass(&mut signature, parameter) {
            return condition;
        }
    }
}
