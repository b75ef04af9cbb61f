//! A CPU that is stepped by slots; the test plays the hardware.

use super::*;
use crate::dispatch::{self, Next};
use crate::external_means;
use crate::recording::per::played::{self, BEHIND, trap};
use crate::state::shadow::slots::TEXT as HALF;
use crate::storage::shadow;
use crate::test_machine::Bench;
use arch::address::PAGE;
use arch::psw::{ADDRESSING_64, Psw};
use command::Change;
use per::Range;
use per::trace::{Action, Trace, What};

/// Where the program is.
const TEXT: u64 = 0x2000;

/// A bench before a program of which every instruction is traced.
fn bench(program: &[u8]) -> Bench {
    let mut bench = Bench::new();
    played::prepare(&mut bench);
    bench.set(TEXT, program);
    bench.cpu.psw = Psw {
        mask: ADDRESSING_64,
        address: TEXT,
    };
    let what = What::Registers(u16::MAX);
    let trace = Trace {
        what,
        range: Range::ALL,
        action: Action::Trace,
    };
    bench.configuration.tracing.begin(trace).unwrap();
    external_means::ask(&bench.configuration, 0, Change::Traces).unwrap();
    bench.cpu.pending_work |= PendingWork::ATTENTION;
    bench
}

/// Leaves to the guest; returns the text that the hardware finds, and where.
fn leave(bench: &mut Bench) -> (u64, [u8; 8]) {
    let (cpu, configuration) = (&mut bench.cpu, &bench.configuration);
    let next = dispatch::leave(cpu, configuration, &mut bench.hardware);
    assert_eq!(next, Next::Run);
    let area = configuration.shadow.slots(0);
    assert_eq!(bench.hardware.controls[1], area.asce());
    let real = dispatch::real_psw(&bench.cpu);
    assert_eq!(real.mask & psw::ADDRESS_SPACE, psw::SECONDARY_SPACE);
    let at = real.address;
    // As the hardware translates: by the segment and the page table.
    let table = bench.hardware.hsa_load(area.segment_table());
    let entry = bench
        .hardware
        .hsa_load(arch::address::Real(table + at / PAGE * 8));
    let place = arch::address::Real((entry & !0xFFF) + at % PAGE);
    (at, bench.hardware.hsa_load(place).to_be_bytes())
}

#[test]
fn an_instruction_is_executed_in_a_slot_and_the_trap_behind_it_shows_that_it_has_completed() {
    // LGHI 2,5; AGR 2,2; LG 2,0(4), in each addressing mode.
    let program = [
        0xA7, 0x29, 0, 5, 0xB9, 0x08, 0, 0x22, 0xE3, 0x20, 0x40, 0, 0, 0x04,
    ];
    let modes = [ADDRESSING_64, psw::BASIC_ADDRESSING, 0];
    for mode in modes {
        let mut bench = bench(&program);
        bench.cpu.psw.mask = mode;
        let mut text = &program[..];
        while !text.is_empty() {
            let length = insn::length(text[0]);
            let here = bench.cpu.psw.address;
            let (at, found) = leave(&mut bench);
            assert!(at < 1 << 24);
            assert_eq!(found[..length], text[..length]);
            assert_eq!(found[length..], [0; 8][length..]);
            bench.cpu.general[2] += 1;
            let behind = at + length as u64 + 2;
            assert_eq!(
                trap(&mut bench, Class::Program, BEHIND, behind, 2),
                Next::Run
            );
            assert_eq!(bench.cpu.psw.address, here + length as u64);
            text = &text[length..];
        }
        assert_eq!(bench.configuration.tracing.count(0), 3);
        assert_eq!(bench.cpu.account.total(), 3, "what is behind them is none");
        let heads = bench.hardware.traced.iter().map(|(head, ..)| head.at.get());
        assert!(heads.eq([TEXT, TEXT + 4, TEXT + 8]));
    }
}

#[test]
fn the_same_text_has_the_same_slot_and_another_one_has_its_own() {
    let mut bench = bench(&[0x18, 0x23, 0x18, 0x32, 0x18, 0x23]);
    let slots = [(); 3].map(|()| {
        let (at, text) = leave(&mut bench);
        trap(&mut bench, Class::Program, BEHIND, at + 4, 2);
        (at, text[1])
    });
    assert_eq!(slots[0], slots[2]);
    assert_ne!(slots[0].0, slots[1].0);
    assert_eq!([slots[0].1, slots[1].1], [0x23, 0x32]);
}

#[test]
fn what_depends_on_where_it_is_is_refused_in_its_slot_and_performed() {
    // BRAS 2,*+8; LARL 2,*+16; BASR 2,0; LGRL 2,*.
    let cases: [(&[u8], u64, u64); 4] = [
        (&[0xA7, 0x25, 0, 4], TEXT + 8, TEXT + 4),
        (&[0xC0, 0x20, 0, 0, 0, 8], TEXT + 6, TEXT + 16),
        (&[0x0D, 0x20], TEXT + 2, TEXT + 2),
        (&[0xC4, 0x28, 0, 0, 0, 0], TEXT + 6, 0xC428_0000_0000_0000),
    ];
    for (program, next, value) in cases {
        let mut bench = bench(program);
        let (at, text) = leave(&mut bench);
        let length = program.len() as u64;
        assert_eq!(insn::length(text[0]), program.len());
        assert_ne!(text[..program.len()], *program);
        assert!(!insn::assigned(&text));
        let cause = (length as u32) << 16 | 1;
        assert_eq!(
            trap(&mut bench, Class::Program, cause, at + length, 1),
            Next::Run
        );
        assert_eq!((bench.cpu.psw.address, bench.cpu.general[2]), (next, value));
        assert_eq!(bench.configuration.tracing.count(0), 1);
        assert_eq!(bench.cpu.account.total(), 1);
    }
}

#[test]
fn an_execute_has_its_own_length_in_a_slot_and_its_target_behind_it_as_modified() {
    // EX 3,0(4); EXRL 3,*+X.
    let offset = ((0x3000 - TEXT) / 2).to_be_bytes();
    let relative = [0xC6, 0x30, offset[4], offset[5], offset[6], offset[7]];
    for execute in [&[0x44, 0x30, 0x40, 0][..], &relative] {
        let mut bench = bench(execute);
        bench.set(0x3000, &[0x1A, 0x20]);
        bench.cpu.general[3] = 0x05;
        bench.cpu.general[4] = 0x3000;
        let (at, text) = leave(&mut bench);
        assert_eq!((text[0], text[1]), (execute[0], 0), "R1 is zero");
        let target = match execute.len() {
            4 => u64::from(u16::from_be_bytes([text[2], text[3]])),
            _ => at + 2 * u64::from(text[5]),
        };
        assert!(target == at + HALF && target < PAGE);
        let area = bench.configuration.shadow.slots(0);
        let found = bench.hardware.hsa_load(area.place(target));
        assert_eq!(found, 0x1A25 << 48);
        bench.cpu.general[2] = 7;
        let length = execute.len() as u64;
        trap(&mut bench, Class::Program, BEHIND, at + length + 2, 3);
        assert_eq!(bench.cpu.psw.address, TEXT + length);
        assert_eq!(bench.cpu.account.total(), 2);
        let (head, ..) = &bench.hardware.traced[0];
        assert_eq!(
            (head.length, head.text[..2].to_vec()),
            (length as u8, vec![0x1A, 0x25])
        );
    }
}

#[test]
fn an_exception_of_the_instruction_has_the_address_and_the_length_of_the_guests() {
    // DR 2,3, which divides by zero; the new PSW disables everything.
    let mut bench = bench(&[0x1D, 0x23]);
    bench.set_doublewords(0x1D0, &[ADDRESSING_64, 0x7000]);
    let (at, _) = leave(&mut bench);
    trap(&mut bench, Class::Program, 0x0002_0009, at + 2, 0);
    assert_eq!(bench.cpu.psw.address, 0x7000);
    assert_eq!(bench.doubleword(0x158), TEXT + 2);
    assert_eq!(bench.word(0x8C), 0x0002_0009);
}

#[test]
fn an_interruption_before_or_behind_the_instruction_finds_the_guest_there() {
    for (offset, completed) in [(0, 0), (2, 1)] {
        let mut bench = bench(&[0x18, 0x23]);
        let (at, _) = leave(&mut bench);
        trap(&mut bench, Class::External, 0, at + offset, completed);
        assert_eq!(bench.cpu.psw.address, TEXT + offset);
        assert_eq!(bench.cpu.account.total(), completed);
        let traced = bench.hardware.traced.len() as u64;
        assert!(traced <= completed);
    }
    // SVC 1.
    let mut bench = bench(&[0x0A, 1]);
    bench.set_doublewords(0x1C0, &[ADDRESSING_64, 0x6000]);
    let (at, _) = leave(&mut bench);
    trap(&mut bench, Class::SupervisorCall, 0x0002_0001, at + 2, 1);
    let (cpu, configuration) = (&mut bench.cpu, &bench.configuration);
    dispatch::supervisor_call(cpu, configuration, &mut bench.hardware);
    assert_eq!(bench.doubleword(0x148), TEXT + 2);
}

#[test]
fn what_cannot_be_fetched_is_tried_where_the_guest_has_it() {
    let mut bench = bench(&[]);
    bench.cpu.psw.address = TEXT + 1;
    let (cpu, configuration) = (&mut bench.cpu, &bench.configuration);
    assert_eq!(
        dispatch::leave(cpu, configuration, &mut bench.hardware),
        Next::Run
    );
    assert_eq!(bench.cpu.psw.address, TEXT + 1);
    let area = bench.configuration.shadow.slots(0);
    assert_ne!(bench.hardware.controls[1], area.asce());
}

#[test]
fn when_nothing_is_traced_any_more_the_guest_has_its_own_instructions() {
    let mut bench = bench(&[0x18, 0x23]);
    let (at, _) = leave(&mut bench);
    trap(&mut bench, Class::Program, BEHIND, at + 4, 2);
    bench.configuration.tracing.traces.lock().end(None).unwrap();
    external_means::ask(&bench.configuration, 0, Change::Traces).unwrap();
    bench.cpu.pending_work |= PendingWork::ATTENTION;
    let (cpu, configuration) = (&mut bench.cpu, &bench.configuration);
    assert_eq!(
        dispatch::leave(cpu, configuration, &mut bench.hardware),
        Next::Run
    );
    assert_eq!(bench.cpu.psw.address, TEXT + 2);
    let area = bench.configuration.shadow.slots(0);
    assert_ne!(bench.hardware.controls[1], area.asce());
}

#[test]
fn an_instruction_that_was_to_be_alone_is_stepped_in_its_slot() {
    const LGHI: [u8; 6] = [0xA7, 0x29, 0, 5, 0, 0];
    let mut bench = bench(&LGHI[..4]);
    shadow::alone::request(&mut bench.cpu, LGHI, None);
    let (_, text) = leave(&mut bench);
    assert_eq!(text[..4], LGHI[..4]);
}
