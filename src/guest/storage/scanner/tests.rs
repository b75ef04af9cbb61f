//! A page from its first execution to the last place that is uncovered in it.

use crate::hardware::Hardware;
use crate::state::account::Mode;
use crate::state::configuration::Configuration;
use crate::state::page_frames::PageState;
use crate::state::pending_work::PendingWork;
use crate::state::schedule::NEVER;
use crate::state::shadow::Side;
use crate::storage::scanner::{self, Entry};
use crate::storage::shadow::build_identity;
use crate::test_machine::Bench;
use crate::{delivery, dispatch};
use arch::address::{Absolute, PAGE, Real};
use arch::interruption::Class;
use arch::psw::{DAT, HOME_SPACE, PROBLEM, Psw, SECONDARY_SPACE};
use arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_FRAME, PTE_INVALID, PTE_PROTECTION, STE_INVALID, TEID_FETCH,
};
use arch::tod::units;
use core::sync::atomic::{AtomicU16, Ordering};
use std::sync::Arc;

/// The page: BR 14 at 100; data with the bits of EPSW at 182; at 200 INSERT PROGRAM MASK, EPSW at
/// 204, CR and BER 14; and at 280 an unassigned opcode.
const PAGE_AT: u64 = 0x5_0000;
const CODE: u64 = PAGE_AT + 0x100;
const DATA: u64 = PAGE_AT + 0x182;
const HIDDEN: u64 = PAGE_AT + 0x200;
const EPSW: u64 = HIDDEN + 4;
const UNASSIGNED: u64 = PAGE_AT + 0x280;

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.set(CODE, &[0x07, 0xFE]);
    bench.set(DATA, &[0xB9, 0x8D, 0, 0x23]);
    let hidden = [
        0xB2, 0x22, 0, 0x50, 0xB9, 0x8D, 0, 0x23, 0x19, 0, 0x07, 0x8E, 0, 0,
    ];
    bench.set(HIDDEN, &hidden);
    bench.set(UNASSIGNED, &[0xB9, 0xC1, 0, 0]);
    bench.configuration.mode = Mode::Exact { shift: 0 };
    bench.cpu.account.mode = Mode::Exact { shift: 0 };
    bench.cpu.clock_comparator = NEVER;
    build_identity(&bench.configuration, &mut bench.hardware);
    bench
}

/// A program interruption after an instruction of this length, after one tick of the guest.
fn trap(bench: &mut Bench, code: u16, length: u64, address: u64) {
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    cpu.account.left = hardware.tod;
    hardware.tod += units(1);
    cpu.account.entered = hardware.tod;
    cpu.interruption.old = Psw {
        mask: dispatch::real_psw(cpu).mask,
        address,
    };
    cpu.interruption.cause = (length as u32) << 16 | u32::from(code);
    dispatch::take_over(cpu);
    dispatch::enter(cpu, configuration, hardware, Class::Program);
    dispatch::program(cpu, configuration, hardware);
    dispatch::leave(cpu, configuration, hardware);
}

/// The guest executes at `address`, in a page from which instructions cannot be fetched.
fn executes(bench: &mut Bench, address: u64) {
    bench.cpu.interruption.identification = address & !(PAGE - 1) | TEID_FETCH;
    trap(bench, 0x11, 2, address);
}

/// An operation exception, which suppresses, by an instruction of this length at `address`.
fn unassigned(bench: &mut Bench, length: u64, address: u64) {
    trap(bench, 1, length, address + length);
}

/// What CPU 0 translates the page with on a side, DAT off.
fn entry(bench: &Bench, side: Side) -> u64 {
    let register = if side == Side::Instructions { 1 } else { 7 };
    let table = Real(bench.hardware.controls[register] & !0xFFF);
    let segment = bench.hardware.hsa_load(table.offset((PAGE_AT >> 20) * 8));
    let index = PAGE_AT / PAGE % 256;
    bench
        .hardware
        .hsa_load(Real(segment & !0x7FF).offset(index * 8))
}

fn copy(bench: &Bench) -> Real {
    match bench.configuration.page_frames.state(Absolute(PAGE_AT)) {
        PageState::Copied(copy) => copy,
        other => panic!("{other:?}"),
    }
}

/// A halfword as it is fetched for execution.
fn fetched(bench: &Bench, at: u64) -> u16 {
    let doubleword = copy(bench).offset((at - PAGE_AT) & !7);
    (bench.hardware.hsa_load(doubleword) >> (48 - 8 * (at & 6))) as u16
}

#[test]
fn instructions_come_from_the_copy_and_operands_from_the_page() {
    let mut bench = bench();
    bench.cpu.pending_work.add(PendingWork::CONTROLS);
    unassigned(&mut bench, 2, 0x9_0000);
    assert_eq!(entry(&bench, Side::Instructions), PTE_INVALID);
    assert_eq!(entry(&bench, Side::Operands), PAGE_AT);
    executes(&mut bench, CODE);
    let copy = copy(&bench).0;
    assert_eq!(entry(&bench, Side::Instructions) & PTE_FRAME, copy);
    assert_eq!(entry(&bench, Side::Operands), PAGE_AT | PTE_PROTECTION);
    // Halfwords that are known to be executed are unchanged; those that may be sensitive are
    // replaced.
    assert_eq!(
        [CODE, DATA, EPSW].map(|at| fetched(&bench, at)),
        [0x07FE, 0xB9FF, 0xB9FF]
    );
    let real = dispatch::real_psw(&bench.cpu).mask;
    assert_ne!(real & SECONDARY_SPACE, 0);
    assert_eq!(bench.cpu.psw.mask & SECONDARY_SPACE, 0, "the guest's own");
}

#[test]
fn control_that_comes_to_what_is_covered_uncovers_it_and_costs_the_guest_no_instruction() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    let before = bench.cpu.account.total();
    unassigned(&mut bench, 4, HIDDEN);
    assert_eq!(bench.cpu.psw.address, HIDDEN, "the guest goes on there");
    assert_eq!(bench.cpu.account.total(), before);
    let fetched =
        [HIDDEN, HIDDEN + 2, EPSW, EPSW + 2, EPSW + 4, DATA].map(|at| fetched(&bench, at));
    assert_eq!(fetched, [0xB222, 0x0050, 0xB9FF, 0x0023, 0x1900, 0xB9FF]);
    assert_eq!(
        bench
            .configuration
            .page_frames
            .uncovered
            .load(Ordering::Relaxed),
        1
    );
}

#[test]
fn a_sensitive_instruction_is_performed_wherever_control_comes_to_it_from() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    bench.cpu.general[2] = 1;
    unassigned(&mut bench, 4, EPSW);
    assert_eq!(bench.cpu.psw.address, EPSW + 4);
    assert_eq!(
        bench.cpu.general[2] as u32,
        (bench.cpu.psw.mask >> 32) as u32
    );
    // What follows is uncovered when control comes to it.
    unassigned(&mut bench, 2, EPSW + 4);
    assert_eq!(
        (bench.cpu.psw.address, fetched(&bench, EPSW + 4)),
        (EPSW + 4, 0x1900)
    );
}

#[test]
fn an_unassigned_opcode_is_the_guests_even_where_it_was_covered() {
    let mut bench = bench();
    bench.set_doublewords(0x1D0, &[0x0000_0001_8000_0000, 0x7_0000]);
    executes(&mut bench, CODE);
    // The hardware says so, when it has nothing else.
    unassigned(&mut bench, 4, UNASSIGNED);
    assert_eq!(bench.cpu.psw.address, UNASSIGNED);
    assert_eq!(
        fetched_alone(&bench, UNASSIGNED),
        Some(0xB9C1_0000_0000_0000)
    );
    unassigned(&mut bench, 4, UNASSIGNED);
    assert_eq!(bench.cpu.psw.address, 0x7_0000, "the program new PSW");
    assert_eq!(
        bench.doubleword(0x158),
        UNASSIGNED + 4,
        "the program old PSW"
    );
    assert_eq!(bench.doubleword(0x88) as u32, 0x4_0001, "length and code");
}

#[test]
fn what_nothing_covers_is_tried_with_its_text_stored_anew_once_for_each_other_cpu() {
    for cpus in 1..=4 {
        let mut bench = bench();
        bench.set_doublewords(0x1D0, &[0x0000_0001_8000_0000, 0x7_0000]);
        executes(&mut bench, CODE);
        (bench.configuration.mode, bench.configuration.cpus) = (Mode::RealTime, cpus);
        bench.cpu.uncovered = bench
            .configuration
            .page_frames
            .uncovered
            .load(Ordering::Relaxed);
        let place = copy(&bench).offset((CODE - PAGE_AT) & !7);
        let stores = Arc::new(AtomicU16::new(0));
        let counted = Arc::clone(&stores);
        bench.hardware.watcher = Some(Box::new(move |_, at| {
            counted.fetch_add(u16::from(at == place), Ordering::Relaxed);
        }));
        for time in 1..cpus {
            unassigned(&mut bench, 2, CODE);
            assert_eq!(bench.cpu.psw.address, CODE, "time {time} of {cpus} CPUs");
            assert_eq!(stores.load(Ordering::Relaxed), time);
        }
        unassigned(&mut bench, 2, CODE);
        assert_eq!(bench.cpu.psw.address, 0x7_0000, "{cpus} CPUs");
    }
}

#[test]
fn an_execute_uncovers_itself_and_then_its_target() {
    let mut bench = bench();
    // EXRL 0,HIDDEN, after the data.
    let execute = PAGE_AT + 0x300;
    let mut text = [0xC6, 0, 0, 0, 0, 0];
    let distance = (HIDDEN as i64 - execute as i64) / 2;
    text[2..].copy_from_slice(&(distance as i32).to_be_bytes());
    bench.set(execute, &text);
    executes(&mut bench, CODE);
    unassigned(&mut bench, 6, execute);
    // This EXECUTE shows what its target is.
    assert_eq!(
        (bench.cpu.psw.address, fetched(&bench, execute)),
        (execute, 0xC600)
    );
    assert_eq!(fetched(&bench, HIDDEN), 0xB222);
    // The same by a register, which cannot be known in advance: EX 0,0(1).
    bench.cpu.general[1] = EPSW + 4;
    bench.set(0x9_0000, &[0x44, 0, 0x10, 0]);
    unassigned(&mut bench, 4, 0x9_0000);
    assert_eq!(bench.cpu.psw.address, 0x9_0000);
    assert_eq!(fetched(&bench, EPSW + 4), 0x1900);
}

/// EX 4,0(5) of a SEARCH STRING and its way back, in a page of its own; registers 4 and 5 are set for it.
fn modified() -> Bench {
    let mut bench = bench();
    bench.set(PLAIN, &[0x44, 0x40, 0x50, 0, 0x07, 0xFE]);
    bench.cpu.general[4] = 0x0A;
    bench.cpu.general[5] = PLAIN + 0x80;
    bench.set(PLAIN + 0x80, &[0xB2, 0x54, 0, 0x23]);
    bench.cpu.pending_work.add(PendingWork::CONTROLS);
    executes(&mut bench, PLAIN);
    bench
}

/// The doubleword from which the hardware fetches an instruction, by the four levels of tables of an EXECUTE alone.
fn fetched_alone(bench: &Bench, at: u64) -> Option<u64> {
    let mut entry = bench.hardware.controls[1];
    assert_eq!(entry & 0xC, 0xC, "a region-first table");
    for level in (0..4).rev() {
        let index = at >> (20 + 11 * level) & 0x7FF;
        entry = bench
            .hardware
            .hsa_load(Real(entry & !0xFFF).offset(index * 8));
        assert_eq!(entry & STE_INVALID, 0);
    }
    let page = bench
        .hardware
        .hsa_load(Real(entry & !0x7FF).offset((at / PAGE % 256) * 8));
    if page & PTE_INVALID != 0 {
        return None;
    }
    assert_ne!(page & PTE_PROTECTION, 0);
    Some(
        bench
            .hardware
            .hsa_load(Real(page & PTE_FRAME).offset(at & 0xFF8)),
    )
}

#[test]
fn an_execute_that_may_make_a_sensitive_instruction_is_executed_alone() {
    let mut bench = modified();
    let spaces = bench.hardware.controls[1];
    let before = bench.cpu.account.total();
    unassigned(&mut bench, 4, PLAIN);
    assert_eq!(bench.cpu.psw.address, PLAIN);
    // It designates the target as modified, far from anything else.
    let place = (PLAIN & 0xFFF) + PAGE / 2;
    assert_eq!(
        fetched_alone(&bench, PLAIN),
        Some(0x4400_0000_0000_0000 | place << 32)
    );
    assert_eq!(fetched_alone(&bench, place), Some(0xB25E_0023_0000_0000));
    for other in [PLAIN + 8, PLAIN + 0x80] {
        assert_eq!(fetched_alone(&bench, other), Some(0));
    }
    assert_eq!(fetched_alone(&bench, PLAIN + PAGE), None);
    assert_eq!(bench.cpu.account.total(), before);
    // It is completed; what follows is not there.
    unassigned(&mut bench, 2, PLAIN + 4);
    assert_eq!(bench.cpu.psw.address, PLAIN + 4);
    assert_eq!(bench.hardware.controls[1], spaces);
}

#[test]
fn an_execute_whose_target_no_mask_makes_sensitive_is_trusted() {
    let mut bench = modified();
    bench.set(PLAIN + 0x80, &[0xD2, 0, 0x40, 0, 0x50, 0]);
    let (spaces, before) = (bench.hardware.controls[1], bench.cpu.account.total());
    let state = bench.configuration.page_frames.state(Absolute(PLAIN));
    let PageState::Copied(copy) = state else {
        panic!("{state:?}");
    };
    assert_eq!(bench.hardware.hsa_load(copy) >> 48, 0xB9FF);
    unassigned(&mut bench, 4, PLAIN);
    assert_eq!(bench.hardware.hsa_load(copy) >> 48, 0x4440);
    assert_eq!(bench.cpu.psw.address, PLAIN);
    assert_eq!(bench.hardware.controls[1], spaces);
    assert_eq!(bench.cpu.account.total(), before);
}

#[test]
fn an_interruption_before_it_ends_it_and_a_missing_operand_does_not() {
    let mut bench = modified();
    let spaces = bench.hardware.controls[1];
    for _ in 0..2 {
        unassigned(&mut bench, 4, PLAIN);
        assert_ne!(bench.hardware.controls[1], spaces);
        // An operand that the shadow does not have.
        bench.cpu.interruption.identification = 0x7_0000;
        trap(&mut bench, 0x11, 4, PLAIN);
        assert_ne!(bench.hardware.controls[1], spaces);
        let Bench {
            cpu,
            configuration,
            hardware,
        } = &mut bench;
        cpu.interruption.old.address = PLAIN;
        dispatch::take_over(cpu);
        dispatch::enter(cpu, configuration, hardware, Class::External);
        dispatch::leave(cpu, configuration, hardware);
        assert_eq!((hardware.controls[1], cpu.psw.address), (spaces, PLAIN));
    }
}

#[test]
fn an_instruction_that_the_hardware_refuses_alone_is_an_operation_exception() {
    let mut bench = modified();
    bench.set_doublewords(0x1D0, &[0x0000_0001_8000_0000, 0x7_0000]);
    bench.cpu.general[4] = 0x80;
    unassigned(&mut bench, 4, PLAIN);
    assert_eq!(bench.cpu.psw.address, PLAIN);
    unassigned(&mut bench, 4, PLAIN);
    assert_eq!(bench.cpu.psw.address, 0x7_0000, "the program new PSW");
    assert_eq!(bench.doubleword(0x158), PLAIN + 4, "the program old PSW");
    assert_eq!(bench.doubleword(0x88) as u32, 0x4_0001, "length and code");
}

#[test]
fn a_value_that_may_change_the_target_of_a_trusted_execute_makes_its_page_data() {
    let mut bench = bench();
    // EXRL 4 of an MVC in the same page.
    bench.set(PLAIN, &[0xC6, 0x40, 0, 0, 0, 0x40, 0x07, 0xFE]);
    bench.set(PLAIN + 0x80, &[0xD2, 0, 0x40, 0, 0x50, 0]);
    executes(&mut bench, PLAIN);
    let state = |bench: &Bench| bench.configuration.page_frames.state(Absolute(PLAIN));
    assert_eq!(state(&bench), PageState::Text);
    let store = |bench: &mut Bench, at: u64, value: u64| {
        let Bench {
            configuration,
            hardware,
            ..
        } = bench;
        let width = if at.is_multiple_of(8) { 8 } else { 4 };
        scanner::store_value_into(configuration, hardware, Absolute(at), (value, width));
    };
    // NOPR in the place of BR 14, and the next doubleword.
    store(&mut bench, PLAIN + 4, 0x0040_0700);
    store(&mut bench, PLAIN + 8, 0x0700_0700_0700_07FE);
    assert_eq!(state(&bench), PageState::Text);
    // The value alone is harmless: it is another distance.
    store(&mut bench, PLAIN + 4, 0x0044_0700);
    assert_eq!(state(&bench), PageState::Data);
    // LGR is not harmless: it may be the target.
    executes(&mut bench, PLAIN);
    store(&mut bench, PLAIN + 0x80, 0xB904_4000_5000_0000);
    assert_eq!(state(&bench), PageState::Data);
}

#[test]
fn a_harmless_value_stored_beside_a_replaced_execute_is_in_the_copy_too() {
    let mut bench = bench();
    bench.set(PLAIN, &[0x44, 0x40, 0x50, 0, 0x07, 0xFE]);
    executes(&mut bench, PLAIN);
    let PageState::Copied(copy) = bench.configuration.page_frames.state(Absolute(PLAIN)) else {
        panic!("it has no copy");
    };
    let Bench {
        configuration,
        hardware,
        ..
    } = &mut bench;
    // What begins two halfwords behind the EXECUTE is not a part of any.
    let text = 0x0700_0700_0700_07FE;
    scanner::store_value_into(configuration, hardware, Absolute(PLAIN + 8), (text, 8));
    assert_eq!(hardware.hsa_load(copy), 0xB9FF_5000_07FE_0000);
    assert_eq!(hardware.hsa_load(copy.offset(8)), text);
    // A word, on the boundary of a doubleword and beside it.
    for (at, after) in [(16, 0x0700_07FE_0000_0000), (28, 0x0700_07FE)] {
        let place = Absolute(PLAIN + at);
        scanner::store_value_into(configuration, hardware, place, (0x0700_07FE, 4));
        assert_eq!(hardware.hsa_load(copy.offset(at & !7)), after);
    }
    assert_eq!(
        configuration.page_frames.state(Absolute(PLAIN)),
        PageState::Copied(copy)
    );
}

#[test]
fn a_store_into_the_page_makes_it_data_on_both_sides() {
    for state in [0, PROBLEM] {
        let mut bench = bench();
        bench.cpu.psw.mask |= state;
        executes(&mut bench, CODE);
        scanner::store_into(&bench.configuration, &mut bench.hardware, Absolute(DATA));
        assert_eq!(entry(&bench, Side::Instructions), PTE_INVALID);
        assert_eq!(entry(&bench, Side::Operands), PAGE_AT);
        // What is there then is scanned again.
        bench.set(DATA, &[0; 4]);
        bench.set(EPSW, &[0; 4]);
        executes(&mut bench, CODE);
        assert_eq!(
            bench.configuration.page_frames.state(Absolute(PAGE_AT)),
            PageState::Text
        );
    }
}

#[test]
fn a_store_by_a_device_is_noticed_and_a_covered_site_is_not_taken_for_one() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    let look = |bench: &mut Bench| {
        scanner::look_for_device_store(
            &bench.configuration,
            &mut bench.hardware,
            Absolute(PAGE_AT),
        );
        bench.configuration.page_frames.state(Absolute(PAGE_AT))
    };
    assert!(matches!(look(&mut bench), PageState::Copied(_)));
    bench.set(CODE, &[0x07, 0xF8]);
    assert_eq!(look(&mut bench), PageState::Data);
}

/// Another page, with BR 14 alone.
const PLAIN: u64 = 0x6_0000;
/// The program's segment table and its page table.
const SEGMENT_TABLE: u64 = 0x8_0000;
const PAGE_TABLE: u64 = 0x8_4000;

/// A program with DAT on: each address of the first megabyte is mapped to the same real address.
fn program() -> Bench {
    let mut bench = bench();
    bench.set(PLAIN, &[0x07, 0xFE]);
    for entry in 0..2048 {
        let value = if entry == 0 { PAGE_TABLE } else { STE_INVALID };
        bench.set_doublewords(SEGMENT_TABLE + 8 * entry, &[value]);
    }
    for page in 0..256 {
        bench.set_doublewords(PAGE_TABLE + 8 * page, &[page * PAGE]);
    }
    bench.cpu.control[1] = SEGMENT_TABLE | 3;
    bench.cpu.control[13] = SEGMENT_TABLE | 3;
    bench.cpu.psw.mask |= DAT | PROBLEM;
    bench.cpu.pending_work.add(PendingWork::CONTROLS);
    bench
}

/// The guest continues with another PSW.
fn goes_on(bench: &mut Bench, mask: u64) {
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    let address = cpu.psw.address;
    delivery::load_psw(cpu, Psw { mask, address });
    dispatch::leave(cpu, configuration, hardware);
}

/// The address-space control that the hardware runs the guest with.
fn mode(bench: &Bench) -> u64 {
    dispatch::real_psw(&bench.cpu).mask & HOME_SPACE
}

/// How the hardware translates a page of the program, by a control register.
fn translated(bench: &Bench, register: usize, at: u64) -> u64 {
    let table = Real(bench.hardware.controls[register] & !0xFFF);
    let segment = bench.hardware.hsa_load(table);
    if segment & STE_INVALID != 0 {
        return PTE_INVALID;
    }
    let index = at / PAGE % 256;
    bench
        .hardware
        .hsa_load(Real(segment & !0x7FF).offset(index * 8))
}

#[test]
fn a_program_has_one_table_until_it_executes_a_page_that_has_a_copy() {
    let mut bench = program();
    executes(&mut bench, PLAIN);
    executes(&mut bench, PLAIN);
    assert_eq!(mode(&bench), HOME_SPACE);
    assert_eq!(translated(&bench, 13, PLAIN), PLAIN | PTE_PROTECTION);
    let spaces = [1, 7].map(|register: usize| bench.hardware.controls[register]);
    // The control program is in a space of its own, and the program's table stays loaded.
    let program = bench.hardware.controls[13];
    let supervisor = bench.cpu.psw.mask & !PROBLEM | HOME_SPACE;
    goes_on(&mut bench, supervisor);
    executes(&mut bench, PLAIN);
    assert_eq!(
        (mode(&bench), bench.hardware.controls[13]),
        (SECONDARY_SPACE, program)
    );
    assert_eq!(translated(&bench, 1, PLAIN), PLAIN | PTE_PROTECTION);
    assert_ne!(
        [1, 7].map(|register: usize| bench.hardware.controls[register]),
        spaces
    );
    let spaces = [1, 7].map(|register: usize| bench.hardware.controls[register]);
    let problem = bench.cpu.psw.mask & !HOME_SPACE | PROBLEM;
    goes_on(&mut bench, problem);
    // A copy: the program has two sides from now on. No other space uses the copy.
    executes(&mut bench, CODE);
    assert_eq!(translated(&bench, 13, CODE) & PTE_FRAME, PAGE_AT);
    assert_eq!(mode(&bench), SECONDARY_SPACE);
    assert_eq!(
        [1, 7].map(|register: usize| bench.hardware.controls[register]),
        spaces,
        "it is the same space here"
    );
    executes(&mut bench, CODE);
    assert_eq!(translated(&bench, 1, CODE) & PTE_FRAME, copy(&bench).0);
}

#[test]
fn a_program_with_one_table_executes_a_page_itself_if_only_executes_are_replaced_in_its_copy() {
    let mut bench = program();
    bench.set(PLAIN, &[0x44, 0x40, 0x50, 0, 0x07, 0xFE]);
    executes(&mut bench, PLAIN);
    executes(&mut bench, PLAIN);
    assert_eq!(mode(&bench), HOME_SPACE);
    assert_eq!(translated(&bench, 13, PLAIN), PLAIN | PTE_PROTECTION);
    // The control program executes the copy.
    let supervisor = bench.cpu.psw.mask & !PROBLEM | HOME_SPACE;
    goes_on(&mut bench, supervisor);
    executes(&mut bench, PLAIN);
    let PageState::Copied(copy) = bench.configuration.page_frames.state(Absolute(PLAIN)) else {
        panic!("it has no copy");
    };
    assert_eq!(translated(&bench, 1, PLAIN), copy.0 | PTE_PROTECTION);
    assert_eq!(bench.hardware.hsa_load(copy) >> 48, 0xB9FF);
}

#[test]
fn an_operand_in_a_page_that_has_a_copy_is_not_executed_by_a_program() {
    let mut bench = program();
    // Another program executes it.
    let entry = scanner::Entry::At((CODE - PAGE_AT) as usize);
    scanner::make_executable(
        &bench.configuration,
        &mut bench.hardware,
        Absolute(PAGE_AT),
        entry,
    );
    executes(&mut bench, PLAIN);
    bench.cpu.interruption.identification = PAGE_AT | TEID_FETCH;
    trap(&mut bench, 0x11, 4, PLAIN);
    let expected = PAGE_AT | PTE_PROTECTION | PTE_EXECUTION_PROTECTION;
    assert_eq!(translated(&bench, 13, PAGE_AT), expected);
    assert_eq!(mode(&bench), HOME_SPACE);
}

#[test]
fn a_cpu_that_begins_with_dat_on_and_zeros_in_its_controls_is_never_run_by_them() {
    for mask in [DAT, DAT | HOME_SPACE, DAT | PROBLEM] {
        let mut bench = bench();
        goes_on(&mut bench, mask);
        let controls = bench.hardware.controls;
        assert!(
            [1, 7, 13].iter().all(|&n: &usize| controls[n] != 0),
            "{mask:x}: {controls:x?}"
        );
    }
}

#[test]
fn a_page_is_scanned_and_a_copy_filled_only_when_no_other_cpu_can_use_them() {
    const RETURN: [u8; 2] = [0x07, 0xFE];
    const TEXT: [u8; 4] = [0xB9, 0x8D, 0x00, 0x23];
    let mut bench = Bench::new();
    bench.configuration.cpus = 2;
    let Bench {
        configuration,
        hardware,
        ..
    } = Box::leak(Box::new(bench));
    let configuration: &'static Configuration = configuration;
    let pages = &configuration.page_frames;
    let count = pages.owners.len() as u64;
    // CPU 1 is aside first, and later in the guest.
    for page in 0..=count {
        let at = Absolute((0x10 + page) * PAGE);
        hardware.store(at, &[0x17, page as u8]);
        hardware.store(at.offset(2), &TEXT);
        let robbed = Absolute(0x10 * PAGE);
        if page == count {
            let PageState::Copied(copy) = pages.state(robbed) else {
                panic!("the first page has no copy")
            };
            let before = hardware.hsa_load(copy);
            configuration.shadow.passed.passes(1, 0);
            hardware.meanwhile.push(Box::new(move |hardware| {
                assert_eq!(hardware.woken, [1]);
                assert_eq!(pages.state(robbed), PageState::Data);
                assert_eq!(pages.state(at), PageState::Still);
                assert_eq!(hardware.hsa_load(copy), before, "CPU 1 executes from it");
                // CPU 1 stores once more before it passes the requests.
                hardware.store(at, &RETURN);
                configuration
                    .shadow
                    .passed
                    .passes(1, configuration.shadow.posted());
            }));
        }
        let state = scanner::make_executable(configuration, hardware, at, Entry::At(0));
        let PageState::Copied(copy) = state else {
            panic!("page {page}: {state:?}")
        };
        if page == count {
            assert_eq!(hardware.hsa_load(copy) >> 48, 0x07FE);
        }
    }
    assert!(hardware.meanwhile.is_empty());
}

#[test]
fn the_hardware_is_told_of_the_end_of_text_that_any_program_executes_in_its_page() {
    // BR 14 alone, with EX 1,0(3), and with STFLE 0(3), which is executed in the copy by all.
    let texts: [(&[u8], usize); 3] = [
        (&[0x07, 0xFE], 1),
        (&[0x44, 0x10, 0x30, 0x00, 0x07, 0xFE], 1),
        (&[0xB2, 0xB0, 0x30, 0x00, 0x07, 0xFE], 0),
    ];
    for (text, ended) in texts {
        let mut bench = Bench::new();
        bench.set(PAGE_AT, text);
        let (configuration, hardware) = (&bench.configuration, &mut bench.hardware);
        let at = Absolute(PAGE_AT);
        scanner::make_executable(configuration, hardware, at, Entry::At(0));
        assert_ne!(configuration.page_frames.state(at), PageState::Data);
        for _ in 0..2 {
            scanner::store_into(configuration, hardware, at);
            assert_eq!(hardware.ended_texts, ended, "{text:x?}");
        }
    }
}

#[test]
fn a_relative_target_that_would_be_in_a_page_with_its_execute_is_performed() {
    use crate::storage::shadow::alone::is_too_near;
    use arch::address::Virtual;
    const EXECUTE: [u8; 6] = [0x44, 0x40, 0x50, 0, 0, 0];
    const LARL: [u8; 6] = [0xC0, 0x30, 0, 0, 0, 8];
    const MVC: [u8; 6] = [0xD2, 0, 0x40, 0, 0x50, 0];
    let is_near = |execute: u64, target: u64, text| {
        is_too_near((Virtual(execute), EXECUTE), (Virtual(target), text))
    };
    // The same page, others that are a multiple of a megabyte away, and those across whose end a text is.
    for target in [
        0x5_0800,
        0x15_0000,
        0x35_0FFE,
        0x14_FFFE,
        0xFFF5_0000,
        0x5_1000,
    ] {
        assert!(is_near(0x5_0FFE, target, LARL), "{target:x}");
        assert!(!is_near(0x5_0FFE, target, MVC));
    }
    assert!(!is_near(0x5_0100, 0x15_1000, LARL));
    // Behind it, on the next page.
    assert!(is_near(0x5_0FFC, 0x5_1000, LARL));
    assert!(!is_near(0x5_0FFC, 0x5_1002, LARL));
}

#[test]
fn a_copy_that_differs_by_anything_but_what_is_replaced_is_found() {
    let mut bench = bench();
    let state = scanner::make_executable(
        &bench.configuration,
        &mut bench.hardware,
        Absolute(CODE),
        Entry::At(0x100),
    );
    let PageState::Copied(copy) = state else {
        panic!("the page has no copy");
    };
    let changed = |bench: &Bench| scanner::changed_copy(&bench.configuration, &bench.hardware);
    assert_eq!(changed(&bench), None);
    for offset in [0, 0x100, 0x180, 0xFF8] {
        let at = copy.offset(offset);
        let before = bench.hardware.hsa_load(at);
        bench.hardware.hsa_store(at, before ^ 1 << 20);
        assert_eq!(changed(&bench), Some(at));
        // A device may be storing into the page.
        let frames = &bench.configuration.page_frames;
        frames.device_stores(Absolute(PAGE_AT));
        assert_eq!(changed(&bench), None, "{offset:x}");
        frames.device_has_stored(Absolute(PAGE_AT));
        bench.hardware.hsa_store(at, before);
    }
    assert_eq!(changed(&bench), None);
    // What a page without a copy had does not matter.
    scanner::store_into(&bench.configuration, &mut bench.hardware, Absolute(PAGE_AT));
    bench.hardware.hsa_store(copy, 1);
    assert_eq!(changed(&bench), None);
}

/// RXSBG 1,2,0,63,7 with the T bit, and BR 14.
const TEST: [u8; 8] = [0xEC, 0x12, 0x80, 0x3F, 0x07, 0x57, 0x07, 0xFE];

/// A bench in which the hardware ends at tests of rotated bits, with one at the beginning of the page.
fn bench_with_test() -> Bench {
    let mut bench = bench();
    bench.configuration.quirks.ends_at_tests = true;
    bench.set(PLAIN, &TEST);
    bench
}

#[test]
fn a_test_of_rotated_bits_is_replaced_and_performed_where_the_hardware_would_end() {
    for ends_at_tests in [false, true] {
        let mut bench = bench_with_test();
        bench.configuration.quirks.ends_at_tests = ends_at_tests;
        executes(&mut bench, PLAIN);
        let state = bench.configuration.page_frames.state(Absolute(PLAIN));
        let PageState::Copied(copy) = state else {
            assert!(!ends_at_tests);
            continue;
        };
        assert!(ends_at_tests);
        assert_eq!(bench.hardware.hsa_load(copy), 0xE5FF_803F_0757_07FE);
        for (one, other, cc) in [(0xF80, 0x1F, 0), (0xF80, 0x1E, 1), (0, 1 << 57, 1)] {
            bench.cpu.general[1] = one;
            bench.cpu.general[2] = other;
            unassigned(&mut bench, 6, PLAIN);
            assert_eq!(bench.cpu.psw.address, PLAIN + 6);
            assert_eq!(bench.cpu.psw.mask >> 44 & 3, cc);
            assert_eq!(bench.cpu.general[1..3], [one, other]);
        }
    }
}

#[test]
fn products_of_short_operands_are_replaced_and_performed_where_the_hardware_has_wrong_ones() {
    // MDEBR 2,4 and MDEB 2,100(0,3).
    const TEXT: [u8; 12] = [
        0xB3, 0x0C, 0x00, 0x24, 0xED, 0x20, 0x31, 0x00, 0x00, 0x0C, 0x07, 0xFE,
    ];
    const SHORT: u64 = 0x4040_0000 << 32;
    const LONG: u64 = 0x4022 << 48;
    for multiplies_wrongly in [false, true] {
        let mut bench = bench();
        bench.configuration.quirks.multiplies_wrongly = multiplies_wrongly;
        bench.set(PLAIN, &TEXT);
        executes(&mut bench, PLAIN);
        let state = bench.configuration.page_frames.state(Absolute(PLAIN));
        let PageState::Copied(copy) = state else {
            assert!(!multiplies_wrongly);
            continue;
        };
        assert!(multiplies_wrongly);
        assert_eq!(bench.hardware.hsa_load(copy), 0xB9FF_0024_E5FF_3100);
        bench.cpu.general[3] = PLAIN + 0x100;
        bench.set_doublewords(PLAIN + 0x200, &[SHORT]);
        // The program new PSW.
        bench.set_doublewords(0x1D0, &[arch::psw::ADDRESSING_64, HIDDEN]);
        for (length, at) in [(4, PLAIN), (6, PLAIN + 4)] {
            for n in [2, 4] {
                bench.hardware.vectors[n] = u128::from(SHORT) << 64 | 7;
            }
            // Without the AFP-register control: a data exception, and the next instruction in the old PSW.
            bench.cpu.control[0] = 0;
            unassigned(&mut bench, length, at);
            assert_eq!(bench.doubleword(0x88), length << 16 | 7);
            assert_eq!(bench.doubleword(0x90) >> 32, 2);
            assert_eq!(bench.doubleword(0x158), at + length);
            assert_eq!(bench.hardware.vectors[2], u128::from(SHORT) << 64 | 7);
            bench.cpu.control[0] = arch::control::CR0_AFP;
            unassigned(&mut bench, length, at);
            assert_eq!(bench.cpu.psw.address, at + length);
            assert_eq!(bench.hardware.vectors[2], u128::from(LONG) << 64 | 7);
        }
    }
}

#[test]
fn a_value_that_makes_a_test_of_rotated_bits_with_the_text_around_it_makes_its_page_data() {
    const PLACES: core::ops::Range<u64> = 0x100..0x110;
    // What is in storage is 0700 but for the test.
    let text = |test: Option<u64>, at: u64, width: u64| {
        (at..at + width).fold(0, |left, at| {
            let byte = match test {
                Some(test) if (test..test + 6).contains(&at) => TEST[(at - test) as usize],
                _ => [0x07, 0][at as usize & 1],
            };
            left << 8 | u64::from(byte)
        })
    };
    for test in (0xFE..0x110).step_by(2) {
        for width in [4, 8] {
            for at in PLACES.step_by(width as usize) {
                let mut bench = bench_with_test();
                for place in (0..0x400).step_by(8) {
                    let is_there = place & !(width - 1) != at;
                    let text = text(is_there.then_some(test), place, 8);
                    bench.set_doublewords(PLAIN + place, &[text]);
                }
                if width == 4 {
                    let other = at ^ 4;
                    let text = text(Some(test), other, 4) as u32;
                    bench.set(PLAIN + other, &text.to_be_bytes());
                    let own = 0x0700_0700_u32;
                    bench.set(PLAIN + at, &own.to_be_bytes());
                }
                let is_apart = test + 6 <= at || at + width <= test;
                executes(&mut bench, PLAIN + 0x200);
                let state = |bench: &Bench| {
                    let pages = &bench.configuration.page_frames;
                    pages.state(Absolute(PLAIN))
                };
                if is_apart {
                    assert_ne!(state(&bench), PageState::Text);
                    continue;
                }
                let mut store = |at: u64, value: u64| {
                    let Bench {
                        configuration,
                        hardware,
                        ..
                    } = &mut bench;
                    let value = (value, width);
                    scanner::store_value_into(configuration, hardware, Absolute(PLAIN + at), value);
                    configuration.page_frames.state(Absolute(PLAIN))
                };
                let what = format!("{test:x} {at:x} {width}");
                let value = text(Some(test), at, width);
                // It is none without the other parts, unless it is whole.
                let is_whole = test >= at && test + 6 <= at + width;
                if !is_whole {
                    assert_eq!(store(0x200, value), PageState::Text, "{what}");
                }
                assert_eq!(store(at, 0x0700_0700), PageState::Text, "{what}");
                assert_eq!(store(at, value), PageState::Data, "{what}");
            }
        }
    }
}

#[test]
fn any_store_at_an_end_of_a_page_makes_it_data_where_the_hardware_ends_at_tests_of_rotated_bits() {
    for (at, width) in [(0, 8), (0, 4), (4, 4), (0xFF8, 8), (0xFFC, 4)] {
        for ends_at_tests in [false, true] {
            let mut bench = bench_with_test();
            bench.configuration.quirks.ends_at_tests = ends_at_tests;
            bench.set(PLAIN, &[0; 8]);
            executes(&mut bench, PLAIN + 8);
            let Bench {
                configuration,
                hardware,
                ..
            } = &mut bench;
            let value = (0x0700, width);
            scanner::store_value_into(configuration, hardware, Absolute(PLAIN + at), value);
            let state = configuration.page_frames.state(Absolute(PLAIN));
            assert_eq!(state == PageState::Data, ends_at_tests, "{at:x}");
        }
    }
}
