//! The message-security assist processes a long operand in parts: condition code 3 with addresses and lengths
//! advanced past the processed part, in every addressing mode. The final result is the same as one block at a time.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use guests::check::{check, holds};
use guests::insn::assist::{
    Instruction, Registers, all, kdsa, kimd, klmd, km, kma, kmac, kmc, kmctr, kmf, kmo, prno,
};
use guests::supervisor::task::with_heap;

guests::clause!(
    "Principles of Operation, CIPHER MESSAGE and its like: partial completion",
    native = false,
    options = "--cryptography"
);
guests::guest!(run);

const LENGTH: usize = 40_000;

/// The public key of Ed25519 of the private key whose bytes all are 7 (RFC 8032), the highest byte
/// first.
const PUBLIC: [u8; 32] = [
    0x2c, 0xd2, 0x46, 0x14, 0x69, 0xea, 0x1e, 0x42, 0x92, 0x7b, 0xbe, 0xbe, 0xae, 0x76, 0x47, 0x95,
    0xf9, 0xc5, 0x2e, 0x13, 0x7b, 0x50, 0xf5, 0xbe, 0x0a, 0x52, 0x9c, 0xe2, 0x63, 0x6c, 0x4a, 0xea,
];

/// Bytes that the text repeats: a prime, so that no two blocks near each other are alike. A text that is made byte by byte
/// would be most of what the guest executes, and tests trace all of that.
const PERIOD: usize = 1009;

fn text() -> Vec<u8> {
    let period: Vec<u8> = (0..PERIOD).map(|n| (n * 31 + (n >> 8) * 7) as u8).collect();
    let mut text = period.repeat(LENGTH.div_ceil(PERIOD));
    text.truncate(LENGTH);
    text
}

/// Issues an instruction to its end. Returns how often it was issued, and whether the registers were right each time.
fn steps(instruction: Instruction, registers: &mut Registers, block: u64) -> (u64, bool) {
    let (mut times, mut true_each_time) = (0, true);
    loop {
        let before = *registers;
        let cc = instruction(registers);
        times += 1;
        let done = before.second.1 - registers.second.1;
        true_each_time &= registers.second.0 - before.second.0 == done;
        true_each_time &=
            registers.first.0 == before.first.0 || registers.first.0 - before.first.0 == done;
        if cc != 3 {
            true_each_time &= cc == 0 && registers.second.1 == 0;
            return (times, true_each_time);
        }
        true_each_time &= done > 0 && done % block == 0;
    }
}

fn ciphers() {
    let text = text();
    for (name, instruction, control, block, parameters) in [
        ("KM", km as Instruction, 18, 16, 16),
        ("KM with XTS", km, 50, 16, 32),
        ("KMC", kmc, 20, 16, 48),
        ("KMF", kmf, 18 | 8 << 24, 8, 32),
        ("KMO", kmo, 3, 8, 32),
        ("KMC deciphering", kmc, 18 | 0x80, 16, 32),
    ] {
        let mut parameter = vec![5; parameters];
        let mut output = vec![0; LENGTH];
        let mut registers = Registers::new(control, &mut parameter)
            .first(&mut output)
            .second(&text);
        let (times, truth) = steps(instruction, &mut registers, block);
        holds(name, truth);
        holds("  it was interrupted", times > 1);
        let mut by_block = vec![5; parameters];
        let mut expected = vec![0; LENGTH];
        let block = block as usize;
        for (from, to) in text.chunks(block).zip(expected.chunks_mut(block)) {
            all(
                instruction,
                &mut Registers::new(control, &mut by_block)
                    .first(to)
                    .second(from),
            );
        }
        holds("  the same as block by block", output == expected);
        holds("  and the same chaining value", parameter == by_block);
    }
}

fn digests() {
    let text = text();
    for (name, instruction, control, block, parameters) in [
        ("KIMD", kimd as Instruction, 1, 64, 20),
        ("KIMD with SHA-512", kimd, 3, 128, 64),
        ("KMAC", kmac, 18, 16, 32),
        ("KIMD with GHASH", kimd, 65, 16, 32),
    ] {
        let text = &text[..LENGTH / block as usize * block as usize];
        let mut parameter = vec![5; parameters];
        let mut registers = Registers::new(control, &mut parameter).second(text);
        let (times, truth) = steps(instruction, &mut registers, block);
        holds(name, truth);
        holds("  it was interrupted", times > 1);
        let mut by_block = vec![5; parameters];
        for from in text.chunks(block as usize) {
            all(
                instruction,
                &mut Registers::new(control, &mut by_block).second(from),
            );
        }
        holds("  the same as block by block", parameter == by_block);
    }
    // SHAKE: the message and then the first operand, both long.
    let mut output = vec![0; 20_000];
    let mut parameter = vec![0; 200];
    let mut registers = Registers::new(36, &mut parameter)
        .first(&mut output)
        .second(&text);
    let mut codes = 0;
    while klmd(&mut registers) == 3 {
        codes += 1;
    }
    holds("KLMD with SHAKE was interrupted", codes > 10);
    check("  the message is taken", registers.second.1, 0);
    check("  the output is full", registers.first.1, 0);
    check(
        "  and the padding is remembered",
        registers.control,
        36 | 0x100,
    );
    let mut head = vec![0; 100];
    let mut parameter = vec![0; 200];
    all(
        klmd,
        &mut Registers::new(36, &mut parameter)
            .first(&mut head)
            .second(&text),
    );
    holds("  the same as a short one", output[..100] == head[..]);
}

fn others() {
    let text = text();
    let mut counters = vec![0; LENGTH];
    for (n, counter) in counters.chunks_mut(16).enumerate() {
        counter[12..].copy_from_slice(&(n as u32).to_be_bytes());
    }
    let mut output = vec![0; LENGTH];
    let mut key = [9; 16];
    let mut registers = Registers::new(18, &mut key)
        .first(&mut output)
        .second(&text)
        .third(&counters);
    let (times, truth) = steps(kmctr, &mut registers, 16);
    holds("KMCTR", truth && times > 1);
    check(
        "  counters",
        registers.third.0 - counters.as_ptr() as u64,
        LENGTH as u64,
    );
    // The counter mode of KMA, with additional data, is the same stream from counter 1 on.
    let mut parameter = vec![0; 96];
    parameter[80..].copy_from_slice(&key);
    parameter[48..56].copy_from_slice(&(LENGTH as u64 * 8).to_be_bytes());
    parameter[56..64].copy_from_slice(&((LENGTH - 16) as u64 * 8).to_be_bytes());
    let mut same = vec![0; LENGTH - 16];
    let mut registers = Registers::new(18 | 0x300, &mut parameter)
        .first(&mut same)
        .second(&text[16..])
        .third(&text);
    let mut times = 0;
    while kma(&mut registers) == 3 {
        times += 1;
    }
    holds("KMA was interrupted", times > 10);
    check("  additional data", registers.third.1, 0);
    check("  text", registers.second.1, 0);
    holds("  the stream of KMCTR", same == output[16..]);
    let tag: Vec<u8> = parameter[16..32].to_vec();
    let mut plain = vec![0; LENGTH - 16];
    parameter[12..48].fill(0);
    let mut registers = Registers::new(18 | 0x380, &mut parameter)
        .first(&mut plain)
        .second(&same)
        .third(&text);
    check("  deciphers", all(kma, &mut registers), 0);
    holds(
        "  to the text, with the same tag",
        plain == text[16..] && parameter[16..32] == tag[..],
    );

    let mut parameter = vec![0; 240];
    check(
        "PRNO: seed",
        prno(&mut Registers::new(3 | 0x80, &mut parameter).second(&text[..64])),
        0,
    );
    let mut stream = vec![0; 10_000];
    let mut registers = Registers::new(3, &mut parameter).first(&mut stream);
    let first = prno(&mut registers);
    check("PRNO is interrupted", first, 3);
    holds(
        "  after whole blocks",
        registers.first.1 % 64 == 0 && registers.first.1 < 10_000,
    );
    check("  and completes", all(prno, &mut registers), 0);
    check("  length", registers.first.1, 0);
    holds(
        "  no two parts are the same",
        stream[..4096] != stream[4096..8192],
    );
}

fn run() {
    with_heap(answer);
}

extern "C" fn answer() {
    ciphers();
    digests();
    others();
    signatures();
}

/// A signature over a message of any length is made and verified in pieces, and is the same each time.
fn signatures() {
    let text = text();
    let sign = |parameter: &mut Vec<u8>| {
        parameter[64..96].fill(7);
        Registers::new(40, parameter).second(&text)
    };
    let mut block = vec![0; 4096];
    let mut registers = sign(&mut block);
    check("KDSA is interrupted", kdsa(&mut registers), 3);
    holds("  and shows it", block[112..120] != [0; 8]);
    check("  and completes", all(kdsa, &mut registers), 0);
    holds("  and shows that", block[112..120] == [0; 8]);
    let signature = block[..64].to_vec();
    check("KDSA once more", all(kdsa, &mut sign(&mut block)), 0);
    holds("  gives the same", block[..64] == signature[..]);
    let mut verify = vec![0; 4096];
    verify[..64].copy_from_slice(&signature);
    verify[64..96].copy_from_slice(&PUBLIC);
    let mut registers = Registers::new(32, &mut verify).second(&text);
    check("KDSA verifies in pieces", kdsa(&mut registers), 3);
    check("  what it has signed", all(kdsa, &mut registers), 0);
    verify[63] ^= 1;
    let mut registers = Registers::new(32, &mut verify).second(&text);
    check("  and nothing else", all(kdsa, &mut registers), 2);
}
