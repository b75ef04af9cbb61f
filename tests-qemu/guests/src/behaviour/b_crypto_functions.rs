//! Every available function of the message-security assist counts once in the counters of its kind, and in no other:
//! in the set with five kinds, and in the set that has no elliptic curves.

use guests::check::holds;
use guests::coprocessor::{Counted, KINDS, Kind};
use guests::insn::assist::{
    Instruction, MODIFIER, Registers, kdsa, kimd, klmd, km, kma, kmac, kmc, kmctr, kmf, kmo, pcc,
    pckmo, prno, query,
};
use guests::insn::measurement::{controls, lcctl, qctri, set};
use guests::shows;

guests::clause!(
    "SA23-2260, Crypto-Activity Counter Set: what the function counts count",
    native = false,
    options = "--cryptography; --cryptography --model z10"
);
guests::case!(run);

const INSTRUCTIONS: [(&str, Instruction); 12] = [
    ("PRNO", prno),
    ("KIMD", kimd),
    ("KLMD", klmd),
    ("KM", km),
    ("KMC", kmc),
    ("KMF", kmf),
    ("KMO", kmo),
    ("KMCTR", kmctr),
    ("KMAC", kmac),
    ("KMA", kma),
    ("PCC", pcc),
    ("KDSA", kdsa),
];

/// The Galois-field multiplier's function of KIMD.
const GHASH: u64 = 65;
/// The function of PRNO that only returns a ratio, and generates nothing.
const RATIO: u64 = 112;

/// The kind of a function.
fn kind(name: &str, code: u64) -> Kind {
    match (name, code) {
        ("PRNO", _) => Kind::Prng,
        ("KIMD", GHASH) => Kind::Aes,
        ("KIMD" | "KLMD", _) => Kind::Sha,
        ("KDSA", _) | ("PCC", 64..) => Kind::Ecc,
        (_, 1..=3) => Kind::Dea,
        _ => Kind::Aes,
    }
}

/// General register 0 for a function: the modifiers with which it accepts the operands of this guest.
fn control(name: &str, code: u64) -> u64 {
    code | match (name, code) {
        // Every cipher allows feedback of one byte at a time, and of eight.
        ("KMF", _) => 8 << 24,
        // The last part of the additional data and of the text.
        ("KMA", _) => 0x300,
        // Not with a random nonce.
        ("KDSA", 9..=11) => MODIFIER,
        _ => 0,
    }
}

/// A length of the message that is a multiple of the function's data block.
fn length(name: &str, code: u64) -> usize {
    match (name, code) {
        ("KIMD", 1 | 2) => 64,
        ("KIMD", 3) => 128,
        ("KIMD", 32) => 144,
        ("KIMD", 33 | 37) => 136,
        ("KIMD", 34) => 104,
        ("KIMD", 35) => 72,
        ("KIMD", 36) => 168,
        _ => 48,
    }
}

/// Issues a function once. Returns what was counted meanwhile.
fn counted(instruction: Instruction, control: u64, parameter: &mut [u8], length: usize) -> Counted {
    let (input, counters, mut output) = ([3; 168], [5; 168], [0; 168]);
    let mut registers = Registers::new(control, parameter)
        .first(&mut output[..length])
        .second(&input[..length])
        .third(&counters[..length]);
    let before = Counted::now();
    instruction(&mut registers);
    Counted::now().since(before)
}

/// Asserts that one function of `kind` was counted. A model may have no counters for it.
fn counts(kind: Kind, counted: Counted) {
    let one = (counted.of(kind)[0], counted.only(kind));
    match kind {
        Kind::Prng => shows!("CRYPTO-3", one, (1, true)),
        Kind::Sha => shows!("CRYPTO-7", one, (1, true)),
        Kind::Dea => shows!("CRYPTO-11", one, (1, true)),
        Kind::Aes => shows!("CRYPTO-15", one, (1, true)),
        Kind::Ecc if qctri().second_version < 6 => {
            shows!("CRYPTO-1", counted, Counted::NOTHING);
        }
        Kind::Ecc => shows!("CRYPTO-19", one, (1, true)),
    }
}

fn run() {
    lcctl(controls(set::CRYPTO, set::CRYPTO));
    let mut parameter = [0; 400];
    // The generator needs seeding, which counts as a function of random numbers.
    let seed = counted(prno, 3 | MODIFIER, &mut parameter, 64);
    counts(Kind::Prng, seed);
    let mut seen = [0_u32; KINDS.len()];
    for (name, instruction) in INSTRUCTIONS {
        let offered = query(instruction);
        for code in (1..128).filter(|code| offered >> (127 - code) & 1 == 1) {
            if (name, code) == ("PRNO", RATIO) {
                continue;
            }
            if name != "PRNO" {
                parameter.fill(0);
            }
            let kind = kind(name, code);
            let control = control(name, code);
            let counted = counted(instruction, control, &mut parameter, length(name, code));
            counts(kind, counted);
            seen[kind as usize] += 1;
            match (name, code) {
                ("KIMD", GHASH) | ("KMA", _) => {
                    shows!("CRYPTO-23", counted.of(Kind::Aes)[0], 1);
                }
                ("PRNO", _) => shows!(
                    "CRYPTO-24",
                    (counted.of(Kind::Prng)[0], counted.of(Kind::Sha)),
                    (1, [0; 4])
                ),
                _ => {}
            }
        }
    }
    holds(
        "each kind has functions",
        seen.iter().all(|&number| number > 0),
    );
    holds(
        "KMC has no pseudorandom function here",
        query(kmc) >> (127 - 67) & 1 == 0,
    );
    nothing();
}

/// No coprocessor performs a query, so it counts nothing. Neither does an instruction that finds nothing to do.
fn nothing() {
    let mut parameter = [0; 400];
    let all = INSTRUCTIONS
        .into_iter()
        .chain([("PCKMO", pckmo as Instruction)]);
    for (name, instruction) in all {
        let query = counted(instruction, 0, &mut parameter, 0);
        holds(name, query == Counted::NOTHING);
    }
    for (name, instruction) in [("no bytes of KM", km as Instruction), ("of KMC", kmc)] {
        let empty = counted(instruction, 18, &mut parameter, 0);
        holds(name, empty == Counted::NOTHING);
    }
}
