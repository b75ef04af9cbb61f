//! Channel programs that are copied, and programs with addresses outside the guest's storage.

use super::*;
use crate::millicode;
use crate::state::channel_program::RUNS;
use crate::state::channels::COPY_LENGTH;
use crate::test_machine::{Bench, Subchannel};
use arch::address::{PAGE, Real};
use arch::channel::ORB_LONG_INDIRECT;
use arch::channel::PMCW_BLOCK_UPDATE;
use arch::channel::SCSW_SUSPENDED;
use arch::interruption::ProgramInterruption;
use insn::{Instruction, Operand};

/// Where the operation-request block and the response are.
const ORB: u64 = 0x800;
const RESPONSE: u64 = 0x900;
/// Where the program begins.
const START: u32 = 0x2000;
const DATA: u64 = 0x8000;
/// CCW flags.
const CC: u64 = 0x40;
const CD: u64 = 0x80;
const SLI: u64 = 0x20;
const IDA: u64 = 0x04;
const S: u64 = 0x02;
const MIDA: u64 = 0x01;
/// Commands; the data of the last one are an address.
const READ: u64 = 0x02;
const NOP: u64 = 0x03;
const TIC: u64 = 0x08;
const SET_INDICATORS: u64 = 0x43;

fn ccw(command: u64, flags: u64, count: u64, address: u64) -> u64 {
    command << 56 | flags << 48 | count << 32 | address
}

/// A bench with a device at subchannel 0, whose program begins with these words.
fn bench(words: &[u64]) -> Bench {
    let mut bench = Bench::new();
    bench.hardware.subchannels.push(Subchannel::default());
    bench.cpu.general[1] = 0x1_0000;
    bench.set_doublewords(START.into(), words);
    bench
}

fn at(address: u64) -> Operand {
    Operand {
        index: 0,
        base: 0,
        displacement: address as i32,
    }
}

/// Performs one instruction; returns its condition code.
fn issue(bench: &mut Bench, instruction: Instruction) -> Result<u8, ProgramInterruption> {
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    millicode::perform(cpu, configuration, hardware, &instruction)
        .map(|_| cpu.psw.condition_code() as u8)
        .map_err(|fault| fault.interruption)
}

fn ssch(bench: &mut Bench, controls: u32, program: u32) -> Result<u8, ProgramInterruption> {
    let block = [7, controls, program].map(u32::to_be_bytes).concat();
    bench.set(ORB, &block);
    issue(bench, Instruction::Ssch { second: at(ORB) })
}

/// The doublewords in the HSA at an address that was passed to the machine below.
fn copied(bench: &Bench, at: u64, count: u64) -> std::vec::Vec<u64> {
    (0..count)
        .map(|n| bench.hardware.hsa_load(Real(at + 8 * n)))
        .collect()
}

/// Starts the program with these controls; returns where its copy is.
fn start(bench: &mut Bench, controls: u32) -> u64 {
    assert_eq!(ssch(bench, controls, START), Ok(0));
    let [parameter, given, copy] = bench.hardware.subchannels[0].orb;
    assert_eq!((parameter, given), (7, controls | ORB_FORMAT));
    copy.into()
}

/// The copy of a program of format 1 with this many words.
fn copy_of(words: &[u64], count: u64) -> std::vec::Vec<u64> {
    let mut bench = bench(words);
    let copy = start(&mut bench, ORB_FORMAT);
    copied(&bench, copy, count)
}

#[test]
fn a_program_whose_addresses_are_the_guests_is_copied_as_it_stands() {
    let program = [
        ccw(NOP, CC, 0, 0),
        ccw(READ, CC | SLI, 0x100, DATA),
        ccw(READ, 0, 1, 4 << 20).wrapping_sub(1),
    ];
    assert_eq!(copy_of(&program, 4), [&program[..], &[0]].concat());
}

#[test]
fn a_command_with_an_address_beyond_the_guests_storage_becomes_an_invalid_one() {
    let end = 4 << 20;
    for bad in [
        ccw(READ, CC, 1, end),
        ccw(READ, CC, 2, end - 1),
        ccw(READ, CC, 0xFFFF, end - 0xFFFE),
        ccw(READ, CC, 1, 0x8000_0000),
        ccw(READ, CC | MIDA, 1, DATA),
        ccw(READ, CC | IDA, 1, end),
        ccw(READ, CC | IDA, 1, DATA + 2),
        ccw(TIC, CC, 0, START.into()),
        ccw(0x10, CC, 1, DATA),
    ] {
        let program = [ccw(NOP, CC, 0, 0), bad, ccw(NOP, 0, 0, 0)];
        assert_eq!(copy_of(&program, 3), [program[0], 0, 0], "{bad:016x}");
    }
}

#[test]
fn a_program_that_does_not_stand_in_the_guests_storage_begins_with_a_refusal() {
    for program in [4 << 20, (4 << 20) - 4, 0x7FFF_FFF8, START + 4] {
        let mut bench = bench(&[]);
        assert_eq!(ssch(&mut bench, ORB_FORMAT, program), Ok(0));
        let copy = bench.hardware.subchannels[0].orb[2];
        assert_eq!(copied(&bench, copy.into(), 1), [0]);
    }
}

#[test]
fn a_program_that_ends_with_the_guests_storage_goes_no_further() {
    let mut bench = bench(&[]);
    let last = (4 << 20) - 8;
    bench.set_doublewords(last, &[ccw(NOP, CC, 0, 0)]);
    assert_eq!(ssch(&mut bench, ORB_FORMAT, last as u32), Ok(0));
    let copy = bench.hardware.subchannels[0].orb[2];
    assert_eq!(copied(&bench, copy.into(), 2), [ccw(NOP, CC, 0, 0), 0]);
}

#[test]
fn words_of_format_0_become_words_of_format_1() {
    let mut bench = bench(&[0x0200_8000_40FF_0100, 0xF800_3000_FFFF_FFFF]);
    bench.set_doublewords(0x3000, &[0x0300_0000_0000_0001]);
    let copy = start(&mut bench, 0);
    let transfer = ccw(TIC, 0, 0, copy + 8 * 3);
    let expected = [
        ccw(READ, CC, 0x100, DATA),
        transfer,
        0,
        ccw(NOP, 0, 1, 0),
        0,
    ];
    assert_eq!(copied(&bench, copy, 5), expected);
}

#[test]
fn a_transfer_leads_to_the_copy_of_its_target() {
    let there = u64::from(START) + 0x100;
    let mut bench = bench(&[ccw(NOP, CC, 0, 0), ccw(TIC, 0, 0, there)]);
    bench.set_doublewords(there, &[ccw(READ, 0, 8, DATA)]);
    let copy = start(&mut bench, ORB_FORMAT);
    let transfer = ccw(TIC, 0, 0, copy + 8 * 3);
    let expected = [ccw(NOP, CC, 0, 0), transfer, 0, ccw(READ, 0, 8, DATA), 0];
    assert_eq!(copied(&bench, copy, 5), expected);
}

#[test]
fn a_circle_without_an_end_is_refused_at_the_transfer_that_closes_it() {
    let back = ccw(TIC, 0, 0, START.into());
    let there = u64::from(START) + 0x100;
    for command in [
        ccw(NOP, CC, 0, 0),
        ccw(0x21, CC, 5, DATA),
        ccw(READ, CD, 1, DATA),
    ] {
        // Back at once.
        let mut bench = bench(&[command, back, ccw(READ, 0, 8, DATA)]);
        let copy = start(&mut bench, ORB_FORMAT);
        assert_eq!(copied(&bench, copy, 3), [command, 0, 0]);
        // Over another transfer.
        bench.set_doublewords(START.into(), &[command, ccw(TIC, 0, 0, there)]);
        bench.set_doublewords(there, &[command, back]);
        let copy = start(&mut bench, ORB_FORMAT);
        let transfer = ccw(TIC, 0, 0, copy + 8 * 3);
        assert_eq!(
            copied(&bench, copy, 6),
            [command, transfer, 0, command, 0, 0]
        );
    }
    // To itself, and each to the other.
    let mut bench = bench(&[ccw(NOP, CC, 0, 0), ccw(TIC, 0, 0, u64::from(START) + 8)]);
    let copy = start(&mut bench, ORB_FORMAT);
    assert_eq!(copied(&bench, copy, 2), [ccw(NOP, CC, 0, 0), 0]);
    let other = [ccw(TIC, 0, 0, there), 0];
    bench.set_doublewords(START.into(), &[ccw(NOP, CC, 0, 0), other[0]]);
    bench.set_doublewords(there, &[ccw(TIC, 0, 0, u64::from(START) + 8)]);
    let copy = start(&mut bench, ORB_FORMAT);
    assert_eq!(copied(&bench, copy, 4)[3], 0);
}

#[test]
fn a_circle_whose_suspension_moves_on_is_resumed_without_end() {
    let list = 0x5000;
    let command = |suspends: bool| ccw(READ, CC | IDA | if suspends { S } else { 0 }, 8, list);
    let words = |first: bool, second: bool| {
        let back = ccw(TIC, 0, 0, START.into());
        [command(first), command(second), back]
    };
    let mut bench = bench(&words(false, true));
    bench.set_doublewords(list, &[0x0000_8800_0000_0000]);
    let mut suspended = start(&mut bench, ORB_FORMAT | ORB_SUSPEND) + 8;
    for turn in 0..100 {
        let is_first = turn % 2 == 1;
        bench.set_doublewords(START.into(), &words(!is_first, is_first));
        resume(&mut bench);
        // What the channel fetches from here on, up to the next suspension.
        let mut commands = 0;
        loop {
            let [word] = copied(&bench, suspended, 1)[..] else {
                panic!("one word");
            };
            match word >> 56 {
                TIC => suspended = word & 0xFFFF_FFFF,
                READ if word & S << 48 != 0 => break,
                READ => {
                    let there = copied(&bench, word & 0xFFFF_FFFF, 1);
                    assert_eq!(there, [0x0000_8800_0000_0000], "turn {turn}");
                    commands += 1;
                    suspended += 8;
                }
                _ => panic!("turn {turn}: {word:016x}"),
            }
        }
        assert_eq!(commands, 1, "turn {turn}");
    }
}

/// The subchannel has this status, and the program asks for it.
fn test_subchannel(bench: &mut Bench, status: [u32; 3]) {
    bench.hardware.subchannels[0].schib[7..10].copy_from_slice(&status);
    let tsch = Instruction::Tsch {
        second: at(RESPONSE),
    };
    assert_eq!(issue(bench, tsch), Ok(0));
}

/// The program is suspended, and is resumed.
fn resume(bench: &mut Bench) {
    bench.hardware.subchannels[0].schib[7] = SCSW_SUSPENDED;
    assert_eq!(issue(bench, Instruction::Rsch {}), Ok(0));
    bench.hardware.subchannels[0].schib[7] = 0;
}

#[test]
fn lists_of_indirect_addresses_are_copied_and_each_address_is_checked() {
    let list = 0x5000;
    let program = [ccw(READ, IDA, 0x1801, list)];
    let mut bench = bench(&program);
    bench.set_doublewords(list, &[0x0000_8800_0001_0000, 0x003F_F800_0002_0000]);
    let copy = start(&mut bench, ORB_FORMAT);
    let [word] = copied(&bench, copy, 1)[..] else {
        panic!("one word");
    };
    assert_eq!(word >> 32, program[0] >> 32);
    let there = word & 0xFFFF_FFFF;
    assert!(there > copy && there < copy + COPY_LENGTH);
    assert_eq!(
        copied(&bench, there, 2),
        [0x0000_8800_0001_0000, 0x003F_F800_0002_0000]
    );
    for bad in [
        0x0000_8800_0040_0000,
        0x0000_8800_0001_0800 - 0x400,
        0x8000_8800_0001_0000,
    ] {
        bench.set_doublewords(list, &[bad]);
        let copy = start(&mut bench, ORB_FORMAT);
        assert_eq!(copied(&bench, copy, 1), [0], "{bad:016x}");
    }
    // 64 bits each, for 4 KiB.
    bench.set_doublewords(list, &[0x8800, 0x1_0000]);
    let copy = start(&mut bench, ORB_FORMAT | ORB_LONG_INDIRECT);
    let there = copied(&bench, copy, 1)[0] & 0xFFFF_FFFF;
    assert_eq!(copied(&bench, there, 2), [0x8800, 0x1_0000]);
    bench.set_doublewords(list, &[0x8800, 1 << 40]);
    let copy = start(&mut bench, ORB_FORMAT | ORB_LONG_INDIRECT);
    assert_eq!(copied(&bench, copy, 1), [0]);
}

#[test]
fn a_device_gets_the_machines_addresses_instead_of_the_guests() {
    let mut bench = bench(&[ccw(SET_INDICATORS, SLI, 8, DATA)]);
    bench.set_doublewords(DATA, &[(4 << 20) - 8]);
    let copy = start(&mut bench, ORB_FORMAT);
    let there = copied(&bench, copy, 1)[0] & 0xFFFF_FFFF;
    let given = copied(&bench, there, 1)[0];
    assert!(given >= 4 << 20, "{given:x}");
    bench.set_doublewords(DATA, &[(4 << 20) - 7]);
    let copy = start(&mut bench, ORB_FORMAT);
    assert_eq!(copied(&bench, copy, 1), [0]);
    // In two pieces the data cannot be checked, and some channels execute the command of the second one.
    bench.set_doublewords(DATA, &[0x4000]);
    bench.set_doublewords(START.into(), &[ccw(SET_INDICATORS, CD, 4, DATA)]);
    let copy = start(&mut bench, ORB_FORMAT);
    assert_eq!(copied(&bench, copy, 1), [0]);
    let program = [ccw(0x01, CD, 4, DATA), ccw(SET_INDICATORS, 0, 8, DATA)];
    bench.set_doublewords(START.into(), &program);
    let copy = start(&mut bench, ORB_FORMAT);
    assert_eq!(copied(&bench, copy, 2), [program[0], 0]);
}

#[test]
fn a_program_that_is_too_long_or_has_too_many_transfers_ends_with_a_refusal() {
    let mut bench = bench(&[ccw(NOP, CC, 0, 0); 200]);
    let copy = start(&mut bench, ORB_FORMAT);
    let words = copied(&bench, copy, 128);
    assert!(words[..127].iter().all(|&word| word == ccw(NOP, CC, 0, 0)));
    assert_eq!(words[127], 0);
    for n in 0..40 {
        let here = u64::from(START) + 0x100 * n;
        let next = ccw(TIC, 0, 0, here + 0x100);
        bench.set_doublewords(here, &[ccw(NOP, CC, 0, 0), next]);
    }
    let copy = start(&mut bench, ORB_FORMAT);
    let words = copied(&bench, copy, 128);
    let transfers = words.iter().filter(|&&word| word >> 56 == TIC);
    assert_eq!(transfers.count(), RUNS - 1);
}

#[test]
fn what_follows_a_suspension_is_copied_when_the_program_is_resumed() {
    let first = [ccw(NOP, CC, 0, 0), ccw(NOP, S, 0, 0), ccw(READ, 0, 1, DATA)];
    let mut bench = bench(&first);
    let copy = start(&mut bench, ORB_FORMAT | ORB_SUSPEND);
    assert_eq!(copied(&bench, copy, 3), [first[0], first[1], 0]);
    let changed = [
        0,
        ccw(NOP, CC, 0, 0),
        ccw(READ, CC, 2, DATA),
        ccw(READ, 0, 2, 4 << 20),
    ];
    bench.set_doublewords(START.into(), &changed);
    // Not while the channel may be anywhere in the copy.
    assert_eq!(issue(&mut bench, Instruction::Rsch {}), Ok(0));
    assert_eq!(copied(&bench, copy, 3), [first[0], first[1], 0]);
    resume(&mut bench);
    let [before, command, transfer] = copied(&bench, copy, 3)[..] else {
        panic!("three words");
    };
    assert_eq!(
        (before, command, transfer >> 32),
        (first[0], changed[1], TIC << 24)
    );
    let rest = transfer & 0xFFFF_FFFF;
    assert_eq!(copied(&bench, rest, 3), [changed[2], 0, 0]);
    // A status shows where this was copied from.
    for (address, expected) in [(copy + 16, START + 16), (rest + 8, START + 24)] {
        test_subchannel(&mut bench, [0x4007, address as u32, 0]);
        assert_eq!(bench.word(RESPONSE + 4), expected);
    }
}

#[test]
fn a_list_that_was_copied_before_a_suspension_is_never_overwritten() {
    let list = 0x5000;
    let hsa = 0x003F_FFFF_0040_0000;
    // The data of the command behind the suspension are chosen by the guest.
    let program = [
        ccw(READ, CC | IDA, 0x1000, list),
        ccw(NOP, CC | S, 0, 0),
        ccw(SET_INDICATORS, CC, 64, DATA),
        ccw(TIC, 0, 0, START.into()),
    ];
    let mut bench = bench(&program);
    bench.set_doublewords(list, &[0x0000_8800_0001_0000, 0x0002_0000_0002_0800]);
    bench.set_doublewords(DATA, &[0x4000, hsa, hsa, hsa, hsa, hsa, hsa, hsa]);
    let copy = start(&mut bench, ORB_FORMAT | ORB_SUSPEND);
    let before = copied(&bench, copy, 2);
    let there = before[0] & 0xFFFF_FFFF;
    let addresses = copied(&bench, there, 3);
    bench.set_doublewords(START.into(), &[program[0], ccw(NOP, CC, 0, 0)]);
    resume(&mut bench);
    assert_eq!(copied(&bench, copy, 1), before[..1]);
    assert_eq!(copied(&bench, there, 3), addresses);
    let all = copied(&bench, copy, COPY_LENGTH / 8);
    assert!(!all.contains(&hsa), "data that nobody checked");
}

#[test]
fn a_status_shows_the_guests_own_addresses_and_format() {
    let mut bench = bench(&[0x0300_0000_4000_0001, 0xF800_3000_0000_0000]);
    bench.set_doublewords(0x3000, &[0x0300_0000_0000_0001]);
    let copy = start(&mut bench, 0) as u32;
    for (address, expected) in [
        (copy + 8, START + 8),
        (copy + 0x20, 0x3008),
        (copy, START),
        (0, 0),
        (0x4000, 0x4000),
    ] {
        test_subchannel(&mut bench, [0x0080_4007, address, 0x0C00_0000]);
        assert_eq!(
            [bench.word(RESPONSE), bench.word(RESPONSE + 4)],
            [0x0000_4007, expected]
        );
        let stsch = Instruction::Stsch {
            second: at(RESPONSE),
        };
        assert_eq!(issue(&mut bench, stsch), Ok(0));
        assert_eq!(bench.word(RESPONSE + 32), expected);
    }
}

#[test]
fn a_program_that_runs_is_not_copied_over() {
    let mut bench = bench(&[ccw(NOP, 0, 0, 0)]);
    let copy = start(&mut bench, ORB_FORMAT);
    bench.hardware.subchannels[0].schib[7] = 0x4080;
    bench.set_doublewords(START.into(), &[ccw(READ, 0, 1, DATA)]);
    assert_eq!(ssch(&mut bench, ORB_FORMAT, START), Ok(0));
    assert_eq!(copied(&bench, copy, 1), [ccw(NOP, 0, 0, 0)]);
}

#[test]
fn transport_mode_and_modified_indirect_addresses_are_operand_exceptions() {
    for controls in [ORB_FORMAT | 1 << 18, ORB_FORMAT | 1 << 6] {
        let mut bench = bench(&[ccw(NOP, 0, 0, 0)]);
        let refused = ssch(&mut bench, controls, START);
        assert_eq!(refused, Err(ProgramInterruption::Operand));
    }
    let mut bench = bench(&[]);
    let refused = ssch(&mut bench, ORB_FORMAT, 0x8000_0000);
    assert_eq!(refused, Err(ProgramInterruption::Operand));
}

#[test]
fn a_subchannel_that_the_guest_does_not_see_is_not_operational() {
    let mut bench = bench(&[]);
    bench.hardware.subchannels = vec![Subchannel::default(); 20];
    let stsch = Instruction::Stsch {
        second: at(RESPONSE),
    };
    for (subsystem, code) in [(0x1_000F, 0), (0x1_0010, 3), (0x3_0000, 3)] {
        bench.cpu.general[1] = subsystem;
        assert_eq!(issue(&mut bench, stsch), Ok(code), "{subsystem:x}");
    }
    for subsystem in [0, 0x10] {
        bench.cpu.general[1] = subsystem;
        assert_eq!(issue(&mut bench, stsch), Err(ProgramInterruption::Operand));
    }
}

#[test]
fn a_start_is_counted_in_storage_and_the_machine_below_knows_of_no_monitor() {
    let mut bench = bench(&[ccw(READ, 0, 1, DATA)]);
    let schib = &mut bench.hardware.subchannels[0].schib;
    (schib[1], schib[3]) = (schib[1] | PMCW_BLOCK_UPDATE, 2 << 16);
    let subsystem = std::mem::replace(&mut bench.cpu.general[1], 2);
    bench.cpu.general[2] = 0x9000;
    assert_eq!(issue(&mut bench, Instruction::Schm {}), Ok(0));
    assert!(bench.hardware.channel_orders.is_empty());
    bench.cpu.general[1] = subsystem;
    start(&mut bench, ORB_FORMAT);
    assert_eq!(bench.word(0x9040), 0x0001_0000);
    resume(&mut bench);
    assert_eq!(bench.word(0x9040), 0x0002_0000);
}

#[test]
fn pages_that_a_command_designates_are_data_again() {
    use crate::state::page_frames::PageState;
    use crate::storage::scanner::{Entry, make_executable};
    let mut bench = bench(&[ccw(READ, 0, 0x1001, DATA + 0xFFF)]);
    let states = |bench: &Bench| {
        [0, 1, 2].map(|n| {
            bench
                .configuration
                .page_frames
                .state(Absolute(DATA + n * PAGE))
        })
    };
    for n in 0..3 {
        let Bench {
            configuration,
            hardware,
            ..
        } = &mut bench;
        make_executable(
            configuration,
            hardware,
            Absolute(DATA + n * PAGE),
            Entry::At(0),
        );
    }
    start(&mut bench, ORB_FORMAT);
    use PageState::{Data, Text};
    assert_eq!(states(&bench), [Data, Data, Text]);
}
