//! A page from its first execution to the last place that is uncovered in it.

use crate::hardware::Hardware;
use crate::state::account::Mode;
use crate::state::page_frames::PageState;
use crate::state::pending_work::PendingWork;
use crate::state::schedule::NEVER;
use crate::state::shadow::Side;
use crate::storage::scanner;
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
use core::sync::atomic::Ordering;

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
        [0x07FE, 0xB9F3, 0xB9F3]
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
    assert_eq!(fetched, [0xB222, 0x0050, 0xB9F3, 0x0023, 0x1900, 0xB9F3]);
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
