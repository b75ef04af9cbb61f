//! The message-security assist, on the test machine.

mod random_numbers;
mod signatures;

use super::PIECE;
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::perform;
use crate::state::access::Fault;
use crate::state::account::{Account, Mode};
use crate::state::assist::Assist;
use crate::test_machine::Bench;
use arch::address::PAGE;
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption as P;
use arch::psw::{ADDRESSING_64, BASIC_ADDRESSING, DAT, PROBLEM};
use arch::table::{PTE_INVALID, PTE_PROTECTION, STE_INVALID};
use cpumf::counters::{CoprocessorGroups, CounterSets};
use cpumf::instruction::{load_cpu_counter_set_controls, load_peripheral_counter_set_controls};
use insn::Instruction as I;
use msa::{self, Control, Function};

/// Where the parameter block, the first, the second and the third operand are.
const PARAMETERS: u64 = 0x2_0000;
const FIRST: u64 = 0x3_0000;
const SECOND: u64 = 0x5_0000;
const THIRD: u64 = 0x7_0000;
/// Tables of a space that maps the first MiB to the same real addresses.
const SEGMENTS: u64 = 0x9_0000;
const PAGES: u64 = 0x9_1000;

const KM: I = I::Km { r1: 2, r2: 4 };
const KMC: I = I::Kmc { r1: 2, r2: 4 };
const KMF: I = I::Kmf { r1: 2, r2: 4 };
const KMCTR: I = I::Kmctr {
    r1: 2,
    r2: 4,
    r3: 6,
};
const KMA: I = I::Kma {
    r1: 2,
    r2: 4,
    r3: 6,
};
const KIMD: I = I::Kimd { r1: 2, r2: 4 };
const KLMD: I = I::Klmd { r1: 2, r2: 4 };
const PRNO: I = I::Prno { r1: 2, r2: 4 };
const KDSA: I = I::Kdsa { r1: 2, r2: 4 };

const AES_128: u64 = 18;
const DECIPHER: u64 = 0x80;

/// A bench that supplies all functions, with registers that designate the operands, all of length
/// 0.
fn bench(function: u64) -> Bench {
    let mut bench = Bench::new();
    let below = msa::Instruction::ALL.map(|_| u128::MAX);
    *bench.configuration.groups() = CoprocessorGroups::new(4, 2);
    bench.configuration.assist = Assist::new(true, below);
    let assist = &bench.configuration.assist;
    bench.configuration.facilities = assist.facilities(bench.configuration.facilities.with(76));
    let registers = [
        (0, function),
        (1, PARAMETERS),
        (2, FIRST),
        (4, SECOND),
        (6, THIRD),
    ];
    for (n, value) in registers {
        bench.cpu.general[n] = value;
    }
    bench
}

fn issue(bench: &mut Bench, instruction: I) -> Performed {
    perform(
        &mut bench.cpu,
        &bench.configuration,
        &mut bench.hardware,
        &instruction,
    )
}

/// Performs an instruction that completes; its condition code.
fn complete(bench: &mut Bench, instruction: I) -> u8 {
    assert_eq!(issue(bench, instruction), Ok(Outcome::Completed));
    bench.cpu.psw.condition_code() as u8
}

/// Performs an instruction that meets an exception and leaves registers and storage unchanged.
fn exception(bench: &mut Bench, instruction: I) -> Fault {
    let before = (
        bench.cpu.general,
        bench.cpu.psw,
        bench.hardware.storage.clone(),
    );
    let found = issue(bench, instruction).expect_err("no exception");
    assert_eq!(bench.cpu.general, before.0, "{instruction}");
    assert_eq!(bench.cpu.psw, before.1, "{instruction}");
    assert!(
        bench.hardware.storage == before.2,
        "{instruction}: storage changed"
    );
    found
}

fn bytes(bench: &Bench, at: u64, length: u64) -> Vec<u8> {
    bench.hardware.storage[at as usize..][..length as usize].to_vec()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .map(|digit| digit.to_digit(16).expect("a digit") as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// Bytes without a short period.
fn text(length: u64) -> Vec<u8> {
    (0..length).map(|n| (n * 31 + (n >> 8) * 7) as u8).collect()
}

/// Turns DAT on: the first MiB is mapped to the same real addresses.
fn translate(bench: &mut Bench) {
    bench.set_doublewords(SEGMENTS, &[STE_INVALID; 512]);
    bench.set_doublewords(SEGMENTS, &[PAGES]);
    let entries: Vec<u64> = (0..256).map(|page| page << 12).collect();
    bench.set_doublewords(PAGES, &entries);
    bench.cpu.control[1] = SEGMENTS;
    bench.cpu.psw.mask |= DAT;
}

fn change_page(bench: &mut Bench, at: u64, bits: u64) {
    let entry = PAGES + (at / PAGE) * 8;
    let value = bench.doubleword(entry) & !(PTE_INVALID | PTE_PROTECTION) | bits;
    bench.set_doublewords(entry, &[value]);
    bench.cpu.forget_translations();
}

/// Sets the second operand.
fn message(bench: &mut Bench, message: &[u8]) {
    bench.set(SECOND, message);
    bench.cpu.general[5] = message.len() as u64;
}

#[test]
fn function_code_0_stores_what_is_offered_and_touches_no_other_operand() {
    for (instruction, assist) in [
        (KM, msa::Instruction::Km),
        (KMA, msa::Instruction::Kma),
        (KLMD, msa::Instruction::Klmd),
        (PRNO, msa::Instruction::Prno),
        (I::Pcc {}, msa::Instruction::Pcc),
        (I::Pckmo {}, msa::Instruction::Pckmo),
    ] {
        let mut bench = bench(0);
        for n in [2, 3, 4, 5, 6, 7] {
            bench.cpu.general[n] = u64::MAX;
        }
        assert_eq!(complete(&mut bench, instruction), 0);
        assert_eq!(bytes(&bench, PARAMETERS, 16), msa::query(assist));
        assert_eq!(bench.cpu.general[2..8], [u64::MAX; 6]);
    }
}

#[test]
fn function_code_0_refuses_the_modifier_where_no_function_or_signing_only_has_one() {
    let mac = I::Kmac { r1: 2, r2: 4 };
    for instruction in [mac, KIMD, KLMD, KDSA, I::Pcc {}, I::Pckmo {}] {
        let fault = exception(&mut bench(DECIPHER), instruction);
        assert_eq!(fault.interruption, P::Specification, "{instruction}");
    }
    let output = I::Kmo { r1: 2, r2: 4 };
    for instruction in [KM, KMC, KMF, output, KMCTR, KMA, PRNO] {
        assert_eq!(complete(&mut bench(DECIPHER), instruction), 0);
    }
}

#[test]
fn every_parameter_block_has_room_in_the_firmware() {
    for instruction in msa::Instruction::ALL {
        for function in (1..128).filter_map(|code| Function::of(instruction, code)) {
            let length = function.parameter_length();
            assert!(length <= Function::LONGEST_PARAMETER_BLOCK);
            assert!(function.updated().end <= length);
        }
    }
}

#[test]
fn an_instruction_whose_facility_is_not_shown_is_not_installed() {
    let mut bench = Bench::new();
    for instruction in [KM, KMF, KMA, PRNO, KDSA, I::Pckmo {}] {
        assert_eq!(issue(&mut bench, instruction), Ok(Outcome::Unknown));
    }
    bench.configuration.facilities = bench.configuration.facilities.with(17);
    assert_eq!(complete(&mut bench, KM), 0);
    assert_eq!(issue(&mut bench, KMF), Ok(Outcome::Unknown));
}

#[test]
fn a_function_that_is_not_offered_and_a_modifier_without_meaning_are_specification_exceptions() {
    for (instruction, function) in [
        (KM, 4),
        (KM, 26),
        (KMA, 1),
        (KIMD, 4),
        (KIMD, 2 | DECIPHER),
        (KLMD, 65),
        (PRNO, 5),
        (PRNO, 112 | DECIPHER),
        (KDSA, 127),
        (I::Pcc {}, 18 | DECIPHER),
        (I::Pckmo {}, 1),
        // A feedback of zero bytes, and one of more than a block.
        (KMF, AES_128),
        (KMF, AES_128 | 17 << 24),
    ] {
        let mut bench = bench(function);
        let found = exception(&mut bench, instruction);
        assert_eq!(
            found.interruption,
            P::Specification,
            "{instruction} {function}"
        );
    }
}

#[test]
fn pckmo_is_privileged_and_its_functions_come_after_that() {
    let mut bench = bench(1);
    bench.cpu.psw.mask |= PROBLEM;
    let found = exception(&mut bench, I::Pckmo {});
    assert_eq!(found.interruption, P::PrivilegedOperation);
}

#[test]
fn a_register_that_is_odd_or_0_holds_no_operand() {
    let odd = |bad: u8| {
        vec![
            I::Km { r1: bad, r2: 4 },
            I::Km { r1: 2, r2: bad },
            I::Kmctr {
                r1: 2,
                r2: 4,
                r3: bad,
            },
            I::Kma {
                r1: 2,
                r2: 4,
                r3: bad,
            },
            I::Kmac { r1: 2, r2: bad },
            I::Kimd { r1: 2, r2: bad },
            I::Klmd { r1: 2, r2: bad },
            I::Prno { r1: bad, r2: 4 },
            I::Kdsa { r1: 2, r2: bad },
        ]
    };
    for bad in [0, 1, 3, 15] {
        for instruction in odd(bad) {
            let found = exception(&mut bench(0), instruction);
            assert_eq!(found.interruption, P::Specification, "{instruction}");
        }
    }
    // Digests have no first operand, except SHAKE.
    for (function, exceptional) in [(2, false), (36, true)] {
        let performed = issue(&mut bench(function), I::Klmd { r1: 3, r2: 4 });
        assert_eq!(performed.is_err(), exceptional);
    }
}

#[test]
fn km_enciphers_and_deciphers_the_example_of_fips_197() {
    let mut bench = bench(AES_128);
    let key = hex("000102030405060708090a0b0c0d0e0f");
    let plain = hex("00112233445566778899aabbccddeeff");
    let cipher = hex("69c4e0d86a7b0430d8cdb78070b4c55a");
    bench.set(PARAMETERS, &key);
    message(&mut bench, &plain);
    assert_eq!(complete(&mut bench, KM), 0);
    assert_eq!(bytes(&bench, FIRST, 16), cipher);
    assert_eq!(bench.cpu.general[2..6], [FIRST + 16, 0, SECOND + 16, 0]);
    // Deciphers it again, in place and with one pair of registers.
    bench.cpu.general[0] = AES_128 | DECIPHER;
    bench.cpu.general[4] = FIRST;
    bench.cpu.general[5] = 16;
    assert_eq!(complete(&mut bench, I::Km { r1: 4, r2: 4 }), 0);
    assert_eq!(bytes(&bench, FIRST, 16), plain);
    assert_eq!(bench.cpu.general[4..6], [FIRST + 16, 0]);
    assert_eq!(bytes(&bench, PARAMETERS, 16), key);
}

#[test]
fn a_length_of_zero_completes_without_an_access_and_one_that_is_no_multiple_is_an_exception() {
    for instruction in [KM, KMC, KMCTR, KIMD] {
        let function = if instruction == KIMD { 2 } else { AES_128 };
        let mut bench = bench(function);
        for n in [1, 2, 4, 6] {
            bench.cpu.general[n] = 0x7FFF_FFF0;
        }
        assert_eq!(complete(&mut bench, instruction), 0, "{instruction}");
        bench.cpu.general[5] = 17;
        let found = exception(&mut bench, instruction);
        assert_eq!(found.interruption, P::Specification, "{instruction}");
    }
}

#[test]
fn a_long_message_is_processed_in_pieces_with_condition_code_3_and_gives_what_one_piece_gives() {
    let length = 3 * PIECE + 48;
    let mut bench = bench(AES_128);
    let block = text(32);
    bench.set(PARAMETERS, &block);
    message(&mut bench, &text(length));
    let mut codes = Vec::new();
    for done in 1.. {
        codes.push(complete(&mut bench, KMC));
        if codes.last() == Some(&0) {
            break;
        }
        let advanced = done * PIECE;
        let registers = [FIRST + advanced, 0, SECOND + advanced, length - advanced];
        assert_eq!(bench.cpu.general[2..6], registers);
    }
    assert_eq!(codes, [3, 3, 3, 0]);
    let function = Function::of(msa::Instruction::Kmc, AES_128 as u8).unwrap();
    let (mut parameter, mut output) = (block.clone(), vec![0; length as usize]);
    function.process(Control(AES_128), &mut parameter, &text(length), &mut output);
    assert!(bytes(&bench, FIRST, length) == output);
    assert_eq!(bytes(&bench, PARAMETERS, 32), parameter);
    assert_ne!(parameter, block);
}

#[test]
fn kmctr_takes_a_counter_for_each_block() {
    let length = PIECE + 32;
    let mut bench = bench(AES_128);
    let key = text(16);
    bench.set(PARAMETERS, &key);
    let counters: Vec<u8> = text(length).into_iter().rev().collect();
    bench.set(THIRD, &counters);
    message(&mut bench, &text(length));
    assert_eq!(complete(&mut bench, KMCTR), 3);
    assert_eq!(complete(&mut bench, KMCTR), 0);
    let function = Function::of(msa::Instruction::Kmctr, AES_128 as u8).unwrap();
    let mut output = vec![0; length as usize];
    function.process_counters(&key, &counters, &text(length), &mut output);
    assert!(bytes(&bench, FIRST, length) == output);
    assert_eq!(bench.cpu.general[6], THIRD + length);
}

#[test]
fn accessible_bytes_are_processed_before_the_exception_of_the_next_page() {
    for (operand, register) in [(FIRST, 2), (SECOND, 4), (THIRD, 6)] {
        let mut bench = bench(AES_128);
        translate(&mut bench);
        // Three whole blocks and a part of one are in the first page.
        let start = operand + PAGE - 56;
        bench.cpu.general[register] = start;
        bench.cpu.general[5] = 160;
        change_page(&mut bench, operand + PAGE, PTE_INVALID);
        assert_eq!(complete(&mut bench, KMCTR), 3);
        assert_eq!(bench.cpu.general[register], start + 48);
        assert_eq!(bench.cpu.general[5], 112);
        let found = exception(&mut bench, KMCTR);
        assert_eq!(found.interruption, P::PageTranslation);
        change_page(&mut bench, operand + PAGE, 0);
        assert_eq!(complete(&mut bench, KMCTR), 0);
        assert_eq!(bench.cpu.general[register], start + 160);
    }
}

#[test]
fn every_byte_of_the_parameter_block_is_fetched_and_what_changes_is_stored() {
    let mut bench = bench(AES_128);
    translate(&mut bench);
    message(&mut bench, &text(16));
    // The chaining value in one page, the key in the next.
    let at = PARAMETERS + PAGE - 16;
    bench.cpu.general[1] = at;
    change_page(&mut bench, at + 16, PTE_INVALID);
    assert_eq!(exception(&mut bench, KMC).interruption, P::PageTranslation);
    // The key is only fetched, the chaining value is stored as well.
    change_page(&mut bench, at + 16, PTE_PROTECTION);
    change_page(&mut bench, at, PTE_PROTECTION);
    assert_eq!(exception(&mut bench, KMC).interruption, P::Protection);
    change_page(&mut bench, at, 0);
    assert_eq!(complete(&mut bench, KMC), 0);
    let first = bytes(&bench, FIRST, 16);
    assert_eq!(bytes(&bench, at, 16), first);
}

#[test]
fn addresses_wrap_and_the_left_halves_stay_in_the_narrow_addressing_modes() {
    // In the 31-bit mode the length has 32 bits, and bit 32 is not part of an address.
    let high = 0xDEAD_BEEF_0000_0000;
    let mut narrow = bench(AES_128);
    narrow.cpu.psw.mask = narrow.cpu.psw.mask & !ADDRESSING_64 | BASIC_ADDRESSING;
    message(&mut narrow, &text(32));
    for n in 1..6 {
        narrow.cpu.general[n] |= high;
    }
    narrow.cpu.general[2] |= 0x8000_0000;
    assert_eq!(complete(&mut narrow, KM), 0);
    let registers = [FIRST + 32, 0, SECOND + 32, 0].map(|value| high | value);
    assert_eq!(narrow.cpu.general[2..6], registers);

    // In the 24-bit mode an operand that ends beyond 16 MiB continues at 0.
    let mut short = bench(AES_128);
    let mut wide = Bench::with_storage(16 << 20);
    wide.configuration.facilities = short.configuration.facilities;
    wide.configuration.assist = core::mem::take(&mut short.configuration.assist);
    wide.cpu.general = short.cpu.general;
    wide.cpu.psw.mask &= !ADDRESSING_64;
    let end = 16 << 20;
    wide.set(end - 16, &text(16));
    wide.set(0, &text(32)[16..]);
    wide.cpu.general[4] = 0xFF00_0000 | (end - 16);
    wide.cpu.general[5] = 32;
    let mut expected = vec![0; 32];
    let function = Function::of(msa::Instruction::Km, AES_128 as u8).unwrap();
    function.process(Control(AES_128), &mut [0; 16], &text(32), &mut expected);
    assert_eq!(complete(&mut wide, KM), 0);
    assert_eq!(bytes(&wide, FIRST, 32), expected);
    assert_eq!(wide.cpu.general[4], 16);
}

#[test]
fn klmd_pads_the_end_of_a_message_that_kimd_or_itself_began() {
    // SHA-256 of "abc", from FIPS 180.
    let mut bench = bench(2);
    let initial = hex("6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19");
    bench.set(PARAMETERS, &initial);
    bench.set_doublewords(PARAMETERS + 32, &[24]);
    message(&mut bench, b"abc");
    assert_eq!(complete(&mut bench, KLMD), 0);
    let digest = hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(bytes(&bench, PARAMETERS, 32), digest);
    assert_eq!(bench.cpu.general[4..6], [SECOND + 3, 0]);

    let length = 2 * PIECE + 100;
    let mut results = Vec::new();
    for by_kimd in [false, true] {
        bench.set(PARAMETERS, &initial);
        bench.set_doublewords(PARAMETERS + 32, &[length * 8]);
        bench.cpu.general[4] = SECOND;
        message(&mut bench, &text(length));
        if by_kimd {
            bench.cpu.general[5] = 2 * PIECE;
            while complete(&mut bench, KIMD) == 3 {}
            bench.cpu.general[5] = 100;
            assert_eq!(complete(&mut bench, KLMD), 0);
        } else {
            assert_eq!(complete(&mut bench, KLMD), 3);
            assert_eq!(complete(&mut bench, KLMD), 3);
            assert_eq!(complete(&mut bench, KLMD), 0);
        }
        results.push(bytes(&bench, PARAMETERS, 32));
    }
    assert_eq!(results[0], results[1]);
}

#[test]
fn klmd_fills_the_first_operand_from_a_shake_function_and_remembers_that_it_has_padded() {
    let length = PIECE + 1000;
    let mut bench = bench(36);
    message(&mut bench, &text(500));
    bench.cpu.general[3] = length;
    assert_eq!(complete(&mut bench, KLMD), 3);
    let piece = PIECE - PIECE % 168;
    assert_eq!(
        bench.cpu.general[2..6],
        [FIRST + piece, length - piece, SECOND + 500, 0]
    );
    assert_eq!(bench.cpu.general[0], 36 | 0x100);
    assert_eq!(complete(&mut bench, KLMD), 0);
    let function = Function::of(msa::Instruction::Klmd, 36).unwrap();
    let (mut state, mut output) = (vec![0; 200], vec![0; length as usize]);
    let message = text(500);
    function.digest(&mut state, &message[..336]);
    function.digest_last(&mut state, &message[336..]);
    function.extend(&mut state, false, &mut output);
    assert!(bytes(&bench, FIRST, length) == output);
    // An output that cannot be stored is an exception before the message is processed.
    let mut bench = self::bench(36);
    bench.cpu.general[2] = 0x7FFF_F000;
    bench.cpu.general[3] = 8;
    assert_eq!(exception(&mut bench, KLMD).interruption, P::Addressing);
}

/// Test case 4 of the specification of the Galois/counter mode: parameter block, additional data,
/// text, ciphertext and tag.
fn galois() -> [Vec<u8>; 5] {
    let key = hex("feffe9928665731c6d6a8f9467308308");
    let j0 = hex("cafebabefacedbaddecaf88800000001");
    let mut parameter = vec![0; 80];
    parameter[15] = 1;
    parameter[48..56].copy_from_slice(&160_u64.to_be_bytes());
    parameter[56..64].copy_from_slice(&480_u64.to_be_bytes());
    parameter[64..80].copy_from_slice(&j0);
    parameter.extend(key);
    [
        parameter,
        hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
        hex(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
             1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        ),
        hex(
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
             21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
        ),
        hex("5bc94fbc3221a5db94fae95ae7121a47"),
    ]
}

#[test]
fn kma_authenticates_and_enciphers_at_once_or_bit_by_bit() {
    let [parameter, additional, plain, cipher, tag] = galois();
    let (last_additional, last_text) = (0x200, 0x100);
    for in_pieces in [false, true] {
        let mut bench = bench(AES_128 | last_additional | last_text);
        bench.set(PARAMETERS, &parameter);
        bench.set(THIRD, &additional);
        bench.cpu.general[7] = 20;
        message(&mut bench, &plain);
        if in_pieces {
            bench.cpu.general[0] = AES_128;
            // Less than a block is left, and more must follow.
            assert_eq!(complete(&mut bench, KMA), 2);
            assert_eq!(bench.cpu.general[6..8], [THIRD + 16, 4]);
            assert_eq!(bench.cpu.general[4..6], [SECOND, 60]);
            assert_eq!(complete(&mut bench, KMA), 2);
            bench.cpu.general[0] |= last_additional;
            assert_eq!(complete(&mut bench, KMA), 2);
            assert_eq!(bench.cpu.general[6..8], [THIRD + 20, 0]);
            assert_eq!(bench.cpu.general[4..6], [SECOND + 48, 12]);
            bench.cpu.general[0] |= last_text;
        }
        assert_eq!(complete(&mut bench, KMA), 0);
        assert_eq!(bytes(&bench, FIRST, 60), cipher);
        assert_eq!(bytes(&bench, PARAMETERS + 16, 16), tag);
        // The hash subkey is supplied now.
        assert_eq!(bench.cpu.general[0] & 0x400, 0x400);
        assert_eq!(bench.cpu.general[2], FIRST + 60);
        assert_eq!(bench.cpu.general[4..8], [SECOND + 60, 0, THIRD + 20, 0]);
    }
}

#[test]
fn kma_takes_the_additional_data_before_it_meets_an_exception_of_the_text() {
    let [parameter, additional, ..] = galois();
    let mut bench = bench(AES_128 | 0x300);
    bench.set(PARAMETERS, &parameter);
    bench.set(THIRD, &additional);
    bench.cpu.general[7] = 20;
    bench.cpu.general[4] = 0x7FFF_F000;
    bench.cpu.general[5] = 60;
    assert_eq!(complete(&mut bench, KMA), 3);
    assert_eq!(bench.cpu.general[7], 0);
    assert_eq!(exception(&mut bench, KMA).interruption, P::Addressing);
}

/// A bench in exact mode on CPU `cpu`, which counts functions.
fn counting(bench: &mut Bench, cpu: u16) {
    bench.cpu.address = cpu;
    bench.cpu.account = Account::new(Mode::Exact { shift: 0 }, 1000);
    bench.cpu.own = Bench::facility();
    let now = bench.cpu.account.activity();
    let own = &mut bench.cpu.own;
    own.authorize_counters(CounterSets::CRYPTO_ACTIVITY, &now);
    load_cpu_counter_set_controls(own, &now, 0x0008_0008).unwrap();
    let mut groups = bench.configuration.groups();
    own.authorize_coprocessor_groups(true, &groups);
    load_peripheral_counter_set_controls(own, &mut groups, 3).unwrap();
}

/// Issues KM for 64 bytes; returns the four AES counters, and until when the CPU is occupied.
fn cipher_64(bench: &mut Bench) -> ([u64; 4], u64) {
    bench.cpu.general[5] = 64;
    assert_eq!(issue(bench, KM), Ok(Outcome::Occupied));
    assert_eq!(bench.cpu.psw.condition_code(), ConditionCode::Zero);
    let now = bench.cpu.account.activity();
    let counter = |number| bench.cpu.own.counters().read(number, &now).unwrap();
    ([76, 77, 78, 79].map(counter), bench.cpu.occupied_until)
}

#[test]
fn cpus_of_one_group_block_each_other_for_as_long_as_the_coprocessor_is_busy() {
    let mut bench = bench(AES_128);
    counting(&mut bench, 0);
    assert_eq!(cipher_64(&mut bench), ([1, 64, 0, 0], 64));
    bench.configuration.assist.gives_up(&bench.cpu);
    // The other CPU of the group, 16 cycles later; one of another group at the same time.
    counting(&mut bench, 1);
    bench.cpu.account.cycles = [10, 6];
    assert_eq!(cipher_64(&mut bench), ([1, 64, 1, 48], 128));
    counting(&mut bench, 2);
    bench.cpu.account.cycles = [16, 0];
    assert_eq!(cipher_64(&mut bench), ([1, 64, 0, 0], 80));
    // Another coprocessor of the group is free.
    counting(&mut bench, 0);
    bench.cpu.general[0] = 2;
    bench.cpu.general[5] = 64;
    assert_eq!(issue(&mut bench, KIMD), Ok(Outcome::Occupied));
    let now = bench.cpu.account.activity();
    let counter = |number| bench.cpu.own.counters().read(number, &now).unwrap();
    assert_eq!([68, 69, 70, 71].map(counter), [1, 128, 0, 0]);
    assert_eq!([72, 76, 80, 64].map(counter), [0; 4]);
}

#[test]
fn an_execution_that_finds_nothing_to_do_occupies_no_coprocessor() {
    let mut bench = bench(0);
    counting(&mut bench, 0);
    assert_eq!(issue(&mut bench, KM), Ok(Outcome::Completed));
    bench.cpu.general[0] = AES_128;
    assert_eq!(issue(&mut bench, KM), Ok(Outcome::Completed));
    let now = bench.cpu.account.activity();
    assert_eq!(bench.cpu.own.counters().read(76, &now), Some(0));
}
