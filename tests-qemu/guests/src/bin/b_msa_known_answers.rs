//! Published known answers, by the instructions: every available function gives the answer of the document that
//! defines it.
//!
//! FIPS 197 and SP 800-38A (AES), FIPS 81 and 113 and SP 800-67 (DEA, TDEA), IEEE 1619 (XTS), SP 800-38B
//! (CMAC), SP 800-38D (GCM, GHASH), FIPS 180 and 202 (digests), SP 800-90A (random numbers), RFC 6979,
//! 8032 and 7748 (curves).
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use guests::check::{check, holds};
use guests::insn::assist::{
    Instruction, MODIFIER, Registers, all, kdsa, kimd, klmd, km, kma, kmac, kmc, kmctr, kmf, kmo,
    pcc, pckmo, prno, query,
};
use guests::insn::cpu::stfle;
use guests::supervisor::task::with_heap;
use vectors::*;

guests::clause!(
    "Principles of Operation, message-security assist: every function",
    native = false,
    options = "--cryptography"
);
guests::guest!(run);

/// Written once, for this guest and for the host's tests of the functions.
#[path = "../../../../src/msa/vectors/mod.rs"]
mod vectors;

/// The bytes that `digits` spells; white space between them does not matter.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .bytes()
        .filter(u8::is_ascii_hexdigit)
        .map(|digit| (digit & 15) + if digit > b'9' { 9 } else { 0 })
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn joined(parts: &[&str]) -> Vec<u8> {
    parts.iter().flat_map(|part| hex(part)).collect()
}

/// Each 32 bytes with the highest byte first.
fn reversed(digits: &str) -> Vec<u8> {
    hex(digits)
        .chunks(32)
        .flat_map(|field| field.iter().rev().copied())
        .collect()
}

/// A parameter block with zeros behind it: signatures and scalar multiplications have up to 4096 bytes
/// to keep there what they need to go on.
fn block(parameter: &[u8]) -> Vec<u8> {
    let mut block = parameter.to_vec();
    block.resize(4096, 0);
    block
}

/// The functions of one instruction, and which of them have been shown.
struct Shown {
    name: &'static str,
    instruction: Instruction,
    codes: u128,
}

impl Shown {
    fn new(name: &'static str, instruction: Instruction) -> Self {
        Self {
            name,
            instruction,
            codes: 1 << 127,
        }
    }

    /// An answer of function `control` was right, or not.
    fn answer(&mut self, control: u64, right: bool) {
        if !right {
            guests::println!("{} {:x}:", self.name, control);
            holds("  the known answer", false);
        }
        self.codes |= 1 << (127 - (control & 0x7F));
    }

    /// Enciphers to `cipher` and deciphers back.
    fn both_ways(&mut self, control: u64, parameter: &[u8], plain: &[u8], cipher: &[u8]) {
        for (modifier, from, to) in [(0, plain, cipher), (MODIFIER, cipher, plain)] {
            let mut parameter = parameter.to_vec();
            let mut output = vec![0; from.len()];
            let mut registers = Registers::new(control | modifier, &mut parameter)
                .first(&mut output)
                .second(from);
            let cc = all(self.instruction, &mut registers);
            self.answer(control, cc == 0 && output == to);
        }
    }

    /// Processes a message. The parameter block must then begin with `expected`.
    fn digest(&mut self, control: u64, parameter: &[u8], message: &[u8], expected: &[u8]) {
        let mut parameter = block(parameter);
        let mut registers = Registers::new(control, &mut parameter).second(message);
        let cc = all(self.instruction, &mut registers);
        self.answer(control, cc == 0 && parameter[..expected.len()] == *expected);
    }

    /// Computes in the parameter block, which must then have `expected` at `at`.
    fn compute(&mut self, control: u64, parameter: &[u8], at: usize, expected: &[u8]) {
        let mut parameter = block(parameter);
        let cc = all(
            self.instruction,
            &mut Registers::new(control, &mut parameter),
        );
        self.answer(
            control,
            cc == 0 && parameter[at..at + expected.len()] == *expected,
        );
    }

    /// Every function that the query offers has been shown.
    fn end(self) {
        let offered = query(self.instruction);
        check(self.name, self.codes, offered);
    }
}

fn block_ciphers() {
    let mut km = Shown::new("KM", km);
    let mut kmc = Shown::new("KMC", kmc);
    let mut kmf = Shown::new("KMF", kmf);
    let mut kmo = Shown::new("KMO", kmo);
    let mut counter = Shown::new("KMCTR", kmctr);
    let plain = hex(PLAIN);
    for (n, (code, key)) in AES_KEYS.into_iter().enumerate() {
        let code = u64::from(code);
        let chained = joined(&[CHAINING, key]);
        km.both_ways(code, &hex(key), &plain, &hex(ECB[n]));
        kmc.both_ways(code, &chained, &plain, &hex(CBC[n]));
        kmf.both_ways(code | 16 << 24, &chained, &plain, &hex(CFB[n]));
        kmo.both_ways(code, &chained, &plain, &hex(OFB[n]));
        let counters = hex(COUNTERS);
        counter.counters(code, &hex(key), &counters, &plain, &hex(CTR[n]));
    }
    // FIPS 81; with equal keys TDEA is DEA.
    let time = hex(TIME);
    for copies in 1..=3 {
        let keys: Vec<u8> = (0..copies).flat_map(|_| hex(DEA_KEY)).collect();
        let chained = [hex(DEA_CHAINING), keys.clone()].concat();
        let code = copies as u64;
        km.both_ways(code, &keys, &time, &hex(DEA_ECB));
        kmc.both_ways(code, &chained, &time, &hex(DEA_CBC));
        kmf.both_ways(code | 8 << 24, &chained, &time, &hex(DEA_CFB));
        kmf.both_ways(code | 1 << 24, &chained, &time[..10], &hex(DEA_CFB_8));
        kmo.both_ways(code, &chained, &time, &hex(DEA_OFB));
        // The enciphered counters are the text's own answers, to a text of zeros.
        counter.counters(code, &keys, &time, &[0; 24], &hex(DEA_ECB));
    }
    // SP 800-67.
    km.both_ways(3, &hex(TDEA_KEYS), &hex(FOX), &hex(TDEA_ECB));
    xts(&mut km);
    for shown in [km, kmc, kmf, kmo, counter] {
        shown.end();
    }
}

impl Shown {
    fn counters(&mut self, code: u64, key: &[u8], counters: &[u8], plain: &[u8], cipher: &[u8]) {
        let (mut key, mut output) = (key.to_vec(), vec![0; plain.len()]);
        let mut registers = Registers::new(code, &mut key)
            .first(&mut output)
            .second(plain)
            .third(counters);
        let cc = all(self.instruction, &mut registers);
        self.answer(code, cc == 0 && output == cipher);
    }
}

/// Vectors 2 and 10 of IEEE 1619, with the parameter that PCC computes.
fn xts(km: &mut Shown) {
    let long: Vec<u8> = (0..512).map(|n| n as u8).collect();
    for (vector, plain) in [(XTS_2, vec![0x44; 32]), (XTS_10, long)] {
        let code = u64::from(vector.code);
        let mut prepared = joined(&[vector.keys[1], vector.tweak]);
        let at = prepared.len() + 32;
        prepared.resize(at + 16, 0);
        let cc = all(pcc, &mut Registers::new(code, &mut prepared));
        holds("PCC computes the XTS parameter", cc == 0);
        let parameter = [hex(vector.keys[0]), prepared[at..].to_vec()].concat();
        let (mut block, mut cipher) = (parameter.clone(), vec![0; plain.len()]);
        all(
            km.instruction,
            &mut Registers::new(code, &mut block)
                .first(&mut cipher)
                .second(&plain),
        );
        km.answer(code, cipher[..32] == *hex(vector.head));
        km.both_ways(code, &parameter, &plain, &cipher);
    }
}

fn authentication() {
    let mut shown = Shown::new("KMA", kma);
    for (code, key, cipher, tag) in GCM {
        let code = u64::from(code);
        let (plain, cipher) = (hex(GCM_TEXT), hex(cipher));
        for (modifier, from, to) in [(0, &plain, &cipher), (MODIFIER, &cipher, &plain)] {
            let mut parameter = vec![0; 80];
            parameter[15] = 1;
            parameter[48..56].copy_from_slice(&160_u64.to_be_bytes());
            parameter[56..64].copy_from_slice(&480_u64.to_be_bytes());
            parameter[64..].copy_from_slice(&hex(GCM_COUNTER));
            parameter.extend_from_slice(&hex(GCM_KEY)[..key]);
            let additional = hex(GCM_ADDITIONAL);
            let mut output = vec![0; 60];
            let mut registers = Registers::new(code | modifier | 0x300, &mut parameter)
                .first(&mut output)
                .second(from)
                .third(&additional);
            let cc = all(kma, &mut registers);
            shown.answer(
                code,
                cc == 0 && output == *to && parameter[16..32] == *hex(tag),
            );
        }
    }
    shown.end();
    // CMAC as a program computes it: KMAC for all blocks but the last, PCC for that.
    let mut mac = Shown::new("KMAC", kmac);
    mac.digest(
        1,
        &joined(&["0000000000000000", DEA_KEY]),
        MAC_MESSAGE,
        &hex(MAC),
    );
    let mut codes = 1_u128 << 127;
    let message = hex(PLAIN);
    for (code, key, lengths, answers) in CMAC {
        let code = u64::from(code);
        let block = if code < 18 { 8 } else { 16 };
        for (length, answer) in lengths.into_iter().zip(answers) {
            let before_last = length.saturating_sub(1) / block * block;
            let mut chaining = vec![0; block];
            chaining.extend(hex(key));
            let cc = all(
                kmac,
                &mut Registers::new(code, &mut chaining).second(&message[..before_last]),
            );
            let mut last = message[before_last..length].to_vec();
            let mut parameter = vec![8 * last.len() as u8, 0, 0, 0, 0, 0, 0, 0];
            last.resize(block, 0xA5);
            parameter.extend(last);
            parameter.extend(chaining);
            let computed = all(pcc, &mut Registers::new(code, &mut parameter));
            let right = cc | computed == 0 && parameter[8 + block..8 + 2 * block] == *hex(answer);
            mac.answer(code, right);
            codes |= 1 << (127 - code);
        }
    }
    mac.end();
    curves(codes);
}

/// PCC and KDSA; the functions of PCC that have been shown before.
fn curves(codes: u128) {
    let mut pcc = Shown::new("PCC", pcc);
    // CMAC with DEA is that with equal keys of TDEA; XTS was shown with KM.
    pcc.codes |= codes | 1 << (127 - 50) | 1 << (127 - 52);
    let dea = |copies: usize| {
        let mut parameter = vec![40, 0, 0, 0, 0, 0, 0, 0];
        parameter.extend(hex("6bc1bee22e000000 0000000000000000"));
        (0..copies).for_each(|_| parameter.extend(hex(DEA_KEY)));
        let code = if copies == 1 { 1 } else { 3 };
        all(pcc.instruction, &mut Registers::new(code, &mut parameter));
        parameter[16..24].to_vec()
    };
    let same = dea(1) == dea(3);
    pcc.answer(1, same);
    let mut kdsa = Shown::new("KDSA", kdsa);
    for sample in &SAMPLES {
        let [verifying, signing, multiplying] =
            [sample.verify, sample.sign, sample.multiply].map(u64::from);
        let ([r, s], [x, y]) = (sample.signature, sample.public);
        let (length, public) = (hex(x).len(), joined(&[x, y]));
        let zeros = vec![0; 2 * length];
        let generator = [
            zeros.clone(),
            joined(&[sample.generator[0], sample.generator[1], sample.private]),
        ];
        pcc.compute(multiplying, &generator.concat(), 0, &public);
        let verify = joined(&[r, s, sample.digest, x, y]);
        kdsa.compute(verifying, &verify, 0, &verify);
        let mut wrong = verify;
        wrong[3 * length - 1] ^= 1;
        let cc = all(kdsa.instruction, &mut Registers::new(verifying, &mut wrong));
        kdsa.answer(verifying, cc == 2);
        let sign = [
            zeros,
            joined(&[sample.digest, sample.private, sample.nonce]),
        ]
        .concat();
        kdsa.compute(signing | MODIFIER, &sign, 0, &joined(&[r, s]));
    }
    for [private, public, message, signature] in ED25519 {
        let signature = reversed(signature);
        kdsa.digest(
            40,
            &[vec![0; 64], hex(private)].concat(),
            &hex(message),
            &signature,
        );
        let good = [signature, reversed(public)].concat();
        kdsa.digest(32, &good, &hex(message), &good);
        let mut longer = hex(message);
        longer.push(0);
        let mut bad = block(&good);
        let cc = all(
            kdsa.instruction,
            &mut Registers::new(32, &mut bad).second(&longer),
        );
        kdsa.answer(32, cc == 2);
    }
    for [private, public, ..] in ED25519 {
        // Key generation of RFC 8032, with KLMD and PCC.
        let mut digest = hex(SHA_512);
        digest.resize(80, 0);
        digest[78..].copy_from_slice(&256_u16.to_be_bytes());
        all(
            klmd,
            &mut Registers::new(3, &mut digest).second(&hex(private)),
        );
        digest[0] &= 248;
        digest[31] = digest[31] & 127 | 64;
        digest[..32].reverse();
        let mut expected = reversed(public);
        expected[0] &= 0x7F;
        let parameter = [vec![0; 64], joined(&BASE_POINT), digest[..32].to_vec()].concat();
        pcc.compute(72, &parameter, 32, &expected);
    }
    let mut scalar = hex(X25519_SCALAR);
    scalar[0] &= 248;
    scalar[31] = scalar[31] & 127 | 64;
    scalar.reverse();
    let source = reversed(X25519_POINT);
    let product = reversed(X25519_PRODUCT);
    pcc.compute(80, &[vec![0; 32], source, scalar].concat(), 0, &product);
    pcc.end();
    kdsa.end();
}

fn digests() {
    let mut last = Shown::new("KLMD", klmd);
    let mut intermediate = Shown::new("KIMD", kimd);
    for (code, initial, counter, digest) in [
        (1, SHA_1, 8, SHA_1_OF_ABC),
        (2, SHA_256, 8, SHA_256_OF_ABC),
        (3, SHA_512, 16, SHA_512_OF_ABC),
    ] {
        let mut parameter = hex(initial);
        let end = parameter.len() + counter;
        parameter.resize(end, 0);
        parameter[end - 1] = 24;
        last.digest(code, &parameter, b"abc", &hex(digest));
        // What KLMD pads, padded by hand.
        let mut block = vec![0; if code == 3 { 128 } else { 64 }];
        block[..4].copy_from_slice(b"abc\x80");
        *block.last_mut().unwrap() = 24;
        intermediate.digest(code, &hex(initial), &block, &hex(digest));
    }
    for (code, answers) in SHA_3 {
        let code = u64::from(code);
        let rate = 200 - 2 * hex(answers[0]).len();
        for (message, answer) in [&b""[..], b"abc", &[0xA3; 200]].into_iter().zip(answers) {
            last.digest(code, &[0; 200], message, &hex(answer));
        }
        let mut block = vec![0; rate];
        block[..4].copy_from_slice(b"abc\x06");
        block[rate - 1] |= 0x80;
        intermediate.digest(code, &[0; 200], &block, &hex(answers[1]));
    }
    for ((code, head), rate) in SHAKE_OF_NOTHING.into_iter().zip([168, 136]) {
        let code = u64::from(code);
        let (mut state, mut output) = (vec![0; 200], vec![0; 512]);
        let cc = all(
            klmd,
            &mut Registers::new(code, &mut state).first(&mut output),
        );
        last.answer(code, cc == 0 && output[..32] == *hex(head));
        let mut block = vec![0; rate];
        block[0] = 0x1F;
        block[rate - 1] |= 0x80;
        intermediate.digest(code, &[0; 200], &block, &hex(head));
    }
    // The initial counter value of test case 6 of the Galois/counter mode.
    let mut vector = hex(GCM_VECTOR_6);
    vector.resize(72, 0);
    vector.extend(480_u64.to_be_bytes());
    let (mut key, mut subkey) = (hex(GCM_KEY)[..16].to_vec(), vec![0; 16]);
    all(
        km,
        &mut Registers::new(18, &mut key)
            .first(&mut subkey)
            .second(&[0; 16]),
    );
    let parameter = [vec![0; 16], subkey].concat();
    intermediate.digest(65, &parameter, &vector, &hex(GCM_COUNTER_6));
    last.end();
    intermediate.end();
}

fn random_numbers() {
    let mut shown = Shown::new("PRNO", prno);
    let mut parameter = vec![0; 240];
    let seed = hex(DRNG_SEED);
    all(
        prno,
        &mut Registers::new(3 | MODIFIER, &mut parameter).second(&seed),
    );
    let mut output = vec![0; 256];
    for _ in 0..2 {
        all(
            prno,
            &mut Registers::new(3, &mut parameter).first(&mut output),
        );
    }
    let answer = hex(DRNG);
    shown.answer(3, output == answer);
    shown.compute(112, &[0; 8], 0, &[0, 0, 0, 4, 0, 0, 0, 1]);
    if query(prno) >> (127 - 114) & 1 == 1 {
        let (mut raw, mut conditioned) = (vec![0; 100], vec![0; 100]);
        let mut registers = Registers::new(114, &mut []).first(&mut raw);
        registers.second = (conditioned.as_mut_ptr() as u64, 100);
        let cc = all(prno, &mut registers);
        let random = |bytes: &[u8]| bytes.iter().any(|&byte| byte != bytes[0]);
        shown.answer(
            114,
            cc == 0 && random(&raw) && random(&conditioned) && raw != conditioned,
        );
    }
    shown.end();
}

fn run() {
    with_heap(answer);
}

extern "C" fn answer() {
    let mut list = [0; 4];
    stfle(&mut list);
    for bit in [17, 57, 76, 77, 146, 155] {
        let shown = list[bit / 64] >> (63 - bit % 64) & 1;
        check("facility", (bit as u64) << 4 | shown, (bit as u64) << 4 | 1);
    }
    block_ciphers();
    authentication();
    digests();
    random_numbers();
    Shown::new("PCKMO, the query alone", pckmo).end();
}
