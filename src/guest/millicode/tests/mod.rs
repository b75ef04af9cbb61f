//! The routines, on the test machine.

mod anything;
mod beside;
mod fast_path;
mod kept;
mod keys;
mod measurement;
mod peripheral;
mod resets;
mod services;
mod signals;
mod spaces;
mod supervisor;
mod watchdog;

use super::perform;
use crate::millicode::outcome::{Outcome, Performed};
use crate::state::device::{Queue, QueueNumber, QueuePlace, Rings, Sight};
use crate::test_machine::{Bench, Subchannel};
use arch::bits::bit64;
use arch::channel::{IoInterruption, SCHIB_STATUS, SCSW_PENDING};
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;
use arch::psw::{DAT, PROBLEM};
use arch::table::{PTE_INVALID, STE_INVALID};
use insn::{Instruction, Operand};

/// Where the segment table of the primary space is; that of the secondary space follows.
const SEGMENTS: u64 = 0x1_0000;
/// Where the page table of the primary space is; that of the secondary space follows.
const PAGES: u64 = 0x1_4000;

/// An operand at an address, without registers.
fn at(address: i32) -> Operand {
    Operand {
        index: 0,
        base: 0,
        displacement: address,
    }
}

/// Performs one instruction.
fn issue(bench: &mut Bench, instruction: Instruction) -> Performed {
    perform(
        &mut bench.cpu,
        &bench.configuration,
        &mut bench.hardware,
        &instruction,
    )
}

/// Performs one instruction that completes; returns the condition code.
fn complete(bench: &mut Bench, instruction: Instruction) -> u8 {
    let performed = issue(bench, instruction);
    assert!(
        matches!(
            performed,
            Ok(Outcome::Completed | Outcome::Yield | Outcome::Jumped)
        ),
        "{instruction}: {performed:?}"
    );
    bench.cpu.psw.condition_code() as u8
}

/// Performs one instruction that meets a program exception.
fn exception(bench: &mut Bench, instruction: Instruction) -> ProgramInterruption {
    match issue(bench, instruction) {
        Err(fault) => fault.interruption,
        other => panic!("{instruction}: {other:?}"),
    }
}

/// A bench in the problem state.
fn problem() -> Bench {
    let mut bench = Bench::new();
    bench.cpu.psw.mask |= PROBLEM;
    bench
}

/// A bench with DAT on. The first MiB of the primary and of the home space is mapped to the same
/// real addresses, that of the secondary space to real storage from 1 MiB on. The rest is invalid
/// segments.
fn translating() -> Bench {
    let mut bench = Bench::new();
    for space in 0..2 {
        let (segments, pages) = (SEGMENTS + space * 0x1000, PAGES + space * 0x800);
        bench.set_doublewords(segments, &[STE_INVALID; 512]);
        bench.set_doublewords(segments, &[pages]);
        let entries: Vec<u64> = (0..256).map(|page| (space * 256 + page) << 12).collect();
        bench.set_doublewords(pages, &entries);
    }
    bench.cpu.control[1] = SEGMENTS;
    bench.cpu.control[7] = SEGMENTS + 0x1000;
    bench.cpu.control[13] = SEGMENTS;
    bench.cpu.control[0] |= bit64(37);
    bench.cpu.psw.mask |= DAT;
    bench
}

/// Sets bits in the primary page-table entry of a page.
fn change_entry(bench: &mut Bench, page: u64, bits: u64) {
    let entry = PAGES + page * 8;
    let value = bench.doubleword(entry) | bits;
    bench.set_doublewords(entry, &[value]);
}

/// Makes a page of the primary space invalid.
fn invalidate(bench: &mut Bench, page: u64) {
    change_entry(bench, page, PTE_INVALID);
}

#[test]
fn an_instruction_without_a_routine_is_unknown_and_a_privileged_one_is_refused_in_the_problem_state()
 {
    let mut bench = Bench::new();
    assert_eq!(
        issue(&mut bench, Instruction::Pckmo {}),
        Ok(Outcome::Unknown)
    );
    assert_eq!(
        issue(&mut bench, Instruction::Pfmf { r1: 0, r2: 0 }),
        Ok(Outcome::Unknown)
    );
    assert_eq!(
        issue(&mut bench, Instruction::Unassigned { opcode: 0xB9F3 }),
        Ok(Outcome::Unknown)
    );
    let found = exception(&mut problem(), Instruction::Pckmo {});
    assert_eq!(found, ProgramInterruption::PrivilegedOperation);
}

#[test]
fn every_privileged_instruction_is_refused_in_the_problem_state_before_anything_else() {
    use Instruction as I;
    // Odd, unaligned, outside storage: all these tests come later.
    let (second, first, r1, r2, r3, m4) = (at(0x7FFF_FFF1), at(0x7FFF_FFF1), 1, 3, 5, 0);
    let privileged = [
        I::Ssm { second },
        I::Stnsm { first, i2: 0 },
        I::Stosm { first, i2: 0xFF },
        I::Lpswe { second },
        I::Lpsw { second },
        I::Lctl { r1, r3, second },
        I::Lctlg { r1, r3, second },
        I::Stctl { r1, r3, second },
        I::Stctg { r1, r3, second },
        I::Spx { second },
        I::Stpx { second },
        I::Stap { second },
        I::Stidp { second },
        I::Stfl { second },
        I::Stsi { second },
        I::Sck { second },
        I::Sckc { second },
        I::Stckc { second },
        I::Spt { second },
        I::Stpt { second },
        I::Sckpf {},
        I::Sigp { r1, r3, second },
        I::Servc { r1, r2 },
        I::Diag { r1, r3, second },
        I::Sske { r1, r2, m3: 0 },
        I::Iske { r1, r2 },
        I::Rrbe { r1, r2 },
        I::Tb { r1, r2 },
        I::Lra { r1, second },
        I::Lray { r1, second },
        I::Lrag { r1, second },
        I::Lura { r1, r2 },
        I::Lurag { r1, r2 },
        I::Stura { r1, r2 },
        I::Sturg { r1, r2 },
        I::Strag { first, second },
        I::Tprot { first, second },
        I::Ipte { r1, r2, r3, m4 },
        I::Idte { r1, r2, r3, m4 },
        I::Csp { r1, r2 },
        I::Cspg { r1, r2 },
        I::Ptlb {},
        I::Palb {},
        I::Lpp { second },
        I::Qctri { second },
        I::Lcctl { second },
        I::Scctr { r1, r2 },
        I::Qsi { second },
        I::Lsctl { second },
        I::Ecctr { r1, r2 },
        I::Stcctm { r1, m3: 0, second },
        I::Stsch { second },
        I::Tsch { second },
        I::Msch { second },
        I::Ssch { second },
        I::Csch {},
        I::Hsch {},
        I::Rsch {},
        I::Xsch {},
        I::Rchp {},
        I::Tpi { second },
        I::Stcrw { second },
        I::Stcps { second },
        I::Chsc { r1 },
        // The extraction-authority control is zero.
        I::Ipk {},
    ];
    for instruction in privileged {
        let mut bench = problem();
        let found = exception(&mut bench, instruction);
        assert_eq!(
            found,
            ProgramInterruption::PrivilegedOperation,
            "{instruction}"
        );
        assert!(
            bench.hardware.storage.iter().all(|&byte| byte == 0),
            "{instruction} stored"
        );
    }
}

#[test]
fn a_channel_subsystem_without_subchannels_is_quiet() {
    let mut bench = Bench::new();
    bench.cpu.general[1] = 0x1_0000;
    assert_eq!(
        complete(&mut bench, Instruction::Stsch { second: at(0x2000) }),
        3
    );
    assert_eq!(
        complete(&mut bench, Instruction::Ssch { second: at(0x2000) }),
        3
    );
    assert_eq!(
        complete(&mut bench, Instruction::Tpi { second: at(0x2000) }),
        0
    );
    bench.set(0x2000, &[0xFF; 8]);
    assert_eq!(
        complete(&mut bench, Instruction::Stcrw { second: at(0x2000) }),
        1
    );
    assert_eq!(bench.doubleword(0x2000), 0xFFFF_FFFF);
    let unaligned = exception(&mut bench, Instruction::Tpi { second: at(0x2002) });
    assert_eq!(unaligned, ProgramInterruption::Specification);
}

#[test]
fn test_pending_interruption_takes_what_is_held_first_and_stores_two_words_or_three() {
    let mut bench = Bench::new();
    let held = IoInterruption {
        subsystem: 0x1_0002,
        parameter: 0x1234,
        identification: 0x1800_0000,
    };
    let tpi = |address| Instruction::Tpi {
        second: at(address),
    };
    bench.configuration.channels.held.hold_io(held);
    bench.set(0x2000, &[0xFF; 16]);
    assert_eq!(complete(&mut bench, tpi(0x2000)), 0);
    bench.cpu.control[6] = 0x1000_0000;
    assert_eq!(complete(&mut bench, tpi(0x2000)), 1);
    assert_eq!(bench.doubleword(0x2000), 0x0001_0002_0000_1234);
    assert_eq!(bench.doubleword(0x2008), u64::MAX);
    bench.cpu.prefix = 0x6000;
    let mut subchannel = Subchannel::default();
    subchannel.schib[..2].copy_from_slice(&[0x5678, 0x1800_0000]);
    subchannel.schib[SCHIB_STATUS / 4] = SCSW_PENDING;
    bench.hardware.subchannels = vec![subchannel; 4];
    // The machine below still has one of an earlier program.
    bench.hardware.io = Some([0x1_0003, 0x4321, 0x2000_0000]);
    assert_eq!(complete(&mut bench, tpi(0)), 1);
    assert_eq!(bench.doubleword(0x60B8), 0x0001_0003_0000_5678);
    assert_eq!(bench.word(0x60C0), 0x1800_0000);
    assert_eq!(complete(&mut bench, tpi(0)), 0);
    // One of a subclass that is not enabled stays pending. An adapter's is the guest's only if a device has used a buffer.
    bench.hardware.subchannels[2].schib[1] = 0x2000_0000;
    bench.hardware.io = Some([0x1_0002, 0x5678, 0x2000_0000]);
    assert_eq!(complete(&mut bench, tpi(0)), 0);
    bench.hardware.io = Some([0, 0, 0x9800_0000]);
    assert_eq!(complete(&mut bench, tpi(0)), 0);
    bench.cpu.control[6] = 0x0800_0000;
    assert_eq!(complete(&mut bench, tpi(0)), 1);
}

#[test]
fn a_notification_is_passed_on_when_there_is_a_device() {
    let mut bench = Bench::new();
    let notification = Instruction::Diag {
        r1: 0,
        r3: 0,
        second: at(0x500),
    };
    bench.cpu.general[1..5].copy_from_slice(&[3, 0x1_0000, 2, 9]);
    let refused = exception(&mut bench, notification);
    assert_eq!(refused, ProgramInterruption::Specification);
    bench.configuration.channels.found();
    {
        let mut subchannel = bench.configuration.channels.subchannel(0x1_0000).unwrap();
        subchannel.sight = Sight::Shown;
        let device = subchannel.device.as_deref_mut().unwrap();
        let place = QueuePlace {
            rings: device.room.offset(0x10_0000),
            records: device.room.offset(0x1000),
        };
        let queue = Queue {
            number: QueueNumber::new(2).unwrap(),
            size: 8,
            rings: Some(Rings::default()),
            place,
            offered: 0,
            returned: 0,
            lent: 0,
            is_broken: false,
        };
        device.queues.push(queue).unwrap();
    }
    complete(&mut bench, notification);
    assert_eq!(bench.hardware.notified, [[0x1_0000, 2, 9]]);
    assert_eq!(bench.cpu.general[2], 10);
    bench.cpu.general[1] = 4;
    let refused = exception(&mut bench, notification);
    assert_eq!(refused, ProgramInterruption::Specification);
}

#[test]
fn the_channel_subsystem_answers_behind_the_request_and_refuses_what_it_does_not_offer() {
    let mut bench = Bench::new();
    let call = Instruction::Chsc { r1: 2 };
    bench.cpu.general[2] = 0x2000;
    let characteristics = vec![0, 12, 0, 1, 0, 0, 0, 0, 3, 0, 0, 7];
    bench.hardware.requests.insert(0x10, characteristics);
    bench.set(0x2000, &[0xFF; 4096]);
    bench.set(0x2000, &[0, 16, 0, 0x10, 0, 0, 0, 0]);
    assert_eq!(complete(&mut bench, call), 0);
    assert_eq!(bench.doubleword(0x2000), 0x0010_0010_0000_0000);
    assert_eq!(bench.doubleword(0x2010), 0x000C_0001_0000_0000);
    assert_eq!(bench.doubleword(0x2018), 0x0300_0007_FFFF_FFFF);
    // Another command is not passed to the machine below, though that would answer.
    bench.hardware.requests.insert(0x04, vec![0, 8, 0, 1]);
    bench.set(0x2000, &[0x0F, 0xF0, 0, 0x04]);
    assert_eq!(complete(&mut bench, call), 0);
    assert_eq!(bench.doubleword(0x2FF0), 0x0008_0004_0000_0000);
    for length in [0_u16, 8, 17, 4088, 0xFFF0] {
        bench.set(0x2000, &length.to_be_bytes());
        assert_eq!(exception(&mut bench, call), ProgramInterruption::Operand);
    }
    bench.cpu.general[2] = 0x2800;
    let unaligned = exception(&mut bench, call);
    assert_eq!(unaligned, ProgramInterruption::Specification);
    bench.cpu.general[2] = bench.configuration.storage.end();
    let beyond = exception(&mut bench, call);
    assert_eq!(beyond, ProgramInterruption::Addressing);
}

#[test]
fn a_turn_that_is_given_up_in_favour_of_another_cpu_is_meant_for_that_cpu() {
    let mut bench = Bench::new();
    bench.configuration.cpus = 3;
    for (address, favoured) in [(2, 3), (3, 0), (1, 2)] {
        bench.cpu.general[4] = address;
        let directed = Instruction::Diag {
            r1: 4,
            r3: 0,
            second: at(0x9C),
        };
        assert_eq!(issue(&mut bench, directed), Ok(Outcome::Yield));
        let found = *bench.configuration.favoured.get_mut();
        assert_eq!(found, favoured);
    }
}

#[test]
fn diagnose_gives_up_the_turn_and_refuses_every_other_function() {
    let mut bench = Bench::new();
    bench.cpu.set_cc(ConditionCode::Two);
    for function in [0x44, 0x9C] {
        let yielded = issue(
            &mut bench,
            Instruction::Diag {
                r1: 0,
                r3: 0,
                second: at(function),
            },
        );
        assert_eq!(yielded, Ok(Outcome::Yield));
    }
    for function in [0x30C, 0x500, 0x204, 0x258, 0x260, 0x288, 0] {
        let refused = Instruction::Diag {
            r1: 0,
            r3: 0,
            second: at(function),
        };
        assert_eq!(
            exception(&mut bench, refused),
            ProgramInterruption::Specification
        );
    }
    assert_eq!(bench.cpu.psw.condition_code(), ConditionCode::Two);
}
