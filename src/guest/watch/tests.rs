//! Watching, from the first execution of a page to the proof of what was in doubt.

use crate::arch::address::{Absolute, PAGE, Real, Virtual};
use crate::arch::control::asce::{PRIVATE_SPACE, REAL_SPACE};
use crate::arch::interruption::Class;
use crate::arch::psw::{
    ADDRESS_SPACE, ADDRESSING_64, CONDITION_CODE, DAT, EXTERNAL, PER, PROBLEM, Psw,
};
use crate::arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_INVALID, PTE_PROTECTION, TEID_EXECUTION_PROTECTION, TEID_FETCH,
};
use crate::arch::tod::units;
use crate::guest::account::Mode;
use crate::guest::array::Bench;
use crate::guest::dispatch;
use crate::guest::hardware::Hardware;
use crate::guest::scanner::{self, PageState};
use crate::guest::schedule::NEVER;
use crate::guest::watch::PATIENCE;

/// The page: BR 14 at 100; data with the bits of EPSW at 180; at 200 INSERT PROGRAM MASK, EPSW at
/// 204, and a way back that no decode can follow.
const PAGE_AT: u64 = 0x5_0000;
const CODE: u64 = PAGE_AT + 0x100;
const DATA: u64 = PAGE_AT + 0x180;
const HIDDEN: u64 = PAGE_AT + 0x200;
const EPSW: u64 = HIDDEN + 4;

/// Control registers 9 to 11 while the range is from `start` to `end`.
const fn range(start: u64, end: u64) -> [u64; 3] {
    [0x4100_0000, start, end]
}

fn bench() -> Bench {
    let mut bench = Bench::new();
    bench.set(CODE, &[0x07, 0xFE]);
    bench.set(DATA, &[0, 0, 0xB9, 0x8D, 0, 0x23, 0, 0]);
    let hidden = [
        0xB2, 0x22, 0, 0x50, 0xB9, 0x8D, 0, 0x23, 0x19, 0, 0x07, 0x8E, 0, 0,
    ];
    bench.set(HIDDEN, &hidden);
    bench.configuration.mode = Mode::Exact { shift: 0 };
    bench.cpu.account.mode = Mode::Exact { shift: 0 };
    bench.cpu.clock_comparator = NEVER;
    crate::guest::shadow::build_identity(&bench.configuration, &mut bench.hardware);
    bench
}

/// A program interruption at `address` after `ticks` ticks of the guest.
fn trap(bench: &mut Bench, code: u16, address: u64, ticks: u64) {
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    cpu.account.left = hardware.tod;
    hardware.tod += units(ticks);
    cpu.account.entered = hardware.tod;
    cpu.interruption.old = Psw {
        mask: dispatch::real_psw(cpu).mask,
        address,
    };
    cpu.interruption.cause = cpu.interruption.cause & !0xFFFF | u32::from(code);
    dispatch::enter(cpu, configuration, hardware, Class::Program);
    dispatch::program(cpu, configuration, hardware);
    dispatch::leave(cpu, configuration, hardware);
}

/// The guest executes at `address`, whose page is not executable.
fn executes(bench: &mut Bench, address: u64) {
    bench.cpu.interruption.cause = 2 << 16;
    let page = address & !(PAGE - 1);
    bench.cpu.interruption.identification = page | TEID_FETCH | TEID_EXECUTION_PROTECTION;
    trap(bench, 4, address + 2, 0);
}

/// An event at `address`, and the same once more; the clock is charged `charged` in vain each time.
fn event(bench: &mut Bench, address: u64, executed: u64, charged: u64) {
    trap(bench, 0x80, address, executed + charged);
    assert_eq!(bench.hardware.comparator, NEVER, "nothing comes between");
    trap(bench, 0x80, address, charged);
}

fn loaded(bench: &Bench) -> [u64; 3] {
    [9, 10, 11].map(|n: usize| bench.hardware.controls[n])
}

fn recording(bench: &Bench) -> bool {
    dispatch::real_psw(&bench.cpu).mask & PER != 0
}

/// What CPU 0 translates the page with, DAT off.
fn entry(bench: &Bench) -> u64 {
    let shadow = &bench.configuration.shadow;
    let segments = shadow.private;
    let table = bench
        .hardware
        .hsa_load(Real(segments.0 + (PAGE_AT >> 20) * 8));
    let index = PAGE_AT / PAGE % 256;
    bench.hardware.hsa_load(Real((table & !0x7FF) + index * 8))
}

fn executable(bench: &Bench) -> bool {
    entry(bench) & (PTE_INVALID | PTE_EXECUTION_PROTECTION) == 0
}

#[test]
fn a_page_with_a_candidate_in_doubt_is_executed_with_recording_on_and_the_guest_does_not_see_it() {
    let mut bench = bench();
    bench.cpu.control[9] = 0x1234;
    executes(&mut bench, CODE);
    assert!(recording(&bench) && executable(&bench));
    assert!(bench.configuration.pages.watched(Absolute(PAGE_AT)));
    assert_eq!(loaded(&bench), range(CODE + 2, PAGE_AT + PAGE - 1));
    assert_ne!(entry(&bench) & PTE_PROTECTION, 0, "no store goes unseen");
    assert_eq!(bench.cpu.psw.mask, ADDRESSING_64);
    assert_eq!(bench.cpu.control[9..12], [0x1234, 0, 0]);
    let guest = bench.cpu.psw.mask;
    trap(&mut bench, 1, CODE, 0);
    assert_eq!(bench.doubleword(0x150) & !CONDITION_CODE, guest, "old PSW");
}

#[test]
fn a_candidate_that_is_reached_is_replaced_and_data_of_the_same_bits_are_not() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    event(&mut bench, HIDDEN, 100, 7);
    let PageState::Copied(copy) = bench.configuration.pages.state(Absolute(PAGE_AT)) else {
        panic!("no copy");
    };
    let halfword = |at: u64| {
        let doubleword = bench.hardware.hsa_load(copy.offset((at - PAGE_AT) & !7));
        (doubleword >> (48 - 8 * (at & 6))) as u16
    };
    assert_eq!(halfword(EPSW), 0xB9F3);
    assert_eq!(halfword(DATA + 2), 0xB98D);
    assert_eq!(bench.cpu.psw.address, HIDDEN, "the guest goes on there");
    // The data are still in doubt; between them and the code nothing is.
    assert!(recording(&bench) && executable(&bench));
    assert_eq!(entry(&bench) & !0xFFF, copy.0);
    assert_eq!(loaded(&bench), range(CODE + 2, HIDDEN - 1));
}

#[test]
fn an_event_is_never_the_guests_and_costs_it_no_instruction() {
    for problem in [0, PROBLEM] {
        let mut bench = bench();
        bench.cpu.psw.mask |= problem | EXTERNAL;
        executes(&mut bench, CODE);
        let before = bench.cpu.account.total();
        event(&mut bench, HIDDEN, 100, 9);
        assert_eq!(bench.cpu.account.total(), before + 100);
        assert_eq!(
            bench.cpu.account.cycles[usize::from(problem != 0)],
            before + 100
        );
        assert_eq!(bench.cpu.watch.doubtful, 0);
        assert_eq!(bench.word(0x8C), 0, "no program interruption");
    }
}

#[test]
fn an_event_whose_charge_the_clock_comparator_may_have_cut_short_is_counted() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    bench.hardware.comparator = bench.hardware.tod + units(50);
    event(&mut bench, HIDDEN, 50, 9);
    assert_eq!(bench.cpu.watch.doubtful, 1);
}

#[test]
fn a_charge_that_the_old_clock_comparator_may_have_cut_short_is_measured_once_more() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    let before = bench.cpu.account.total();
    bench.hardware.comparator = bench.hardware.tod + units(22);
    trap(&mut bench, 0x80, HIDDEN, 10 + 9);
    assert_eq!(bench.cpu.watch.doubtful, 0);
    // Cut short after 4 ticks; then whole.
    trap(&mut bench, 0x80, HIDDEN, 4);
    assert_eq!(bench.cpu.watch.events, 0);
    trap(&mut bench, 0x80, HIDDEN, 9);
    assert_eq!(bench.cpu.watch.events, 1);
    assert_eq!(bench.cpu.account.total(), before + 10);
}

#[test]
fn what_comes_between_the_two_events_sets_the_clock_comparator_again() {
    let mut bench = bench();
    bench.cpu.clock_comparator = units(1 << 30);
    executes(&mut bench, CODE);
    trap(&mut bench, 0x80, HIDDEN, 20);
    assert_eq!(bench.hardware.comparator, NEVER);
    trap(&mut bench, 1, HIDDEN, 0);
    assert_ne!(bench.hardware.comparator, NEVER);
}

#[test]
fn outside_the_page_the_range_spans_every_stretch_and_between_two_it_is_all_the_rest() {
    let mut bench = bench();
    // Code that leads to both sides of the data.
    bench.set(CODE, &[0xA7, 0x14, 0, 0x60, 0x07, 0xFE]);
    bench.set(CODE + 0xC0, &[0x07, 0xFE]);
    executes(&mut bench, CODE);
    let (first, second) = ((CODE + 6, CODE + 0xC0), (CODE + 0xC2, PAGE_AT + PAGE));
    assert_eq!(loaded(&bench), range(first.0, second.1 - 1));
    event(&mut bench, CODE + 0xC0, 1, 3);
    assert_eq!(loaded(&bench), range(second.0, first.1 - 1));
    // And out of the page.
    event(&mut bench, 0x9_0000, 1, 3);
    assert_eq!(loaded(&bench), range(first.0, second.1 - 1));
    assert!(recording(&bench));
}

#[test]
fn a_store_into_the_page_ends_the_watch_and_what_is_known_of_it() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    scanner::store_into(&bench.configuration, &mut bench.hardware, Absolute(DATA));
    assert!(!executable(&bench));
    event(&mut bench, HIDDEN, 5, 5);
    assert!(!recording(&bench), "the event finds the watch ended");
    assert_eq!(
        bench.configuration.pages.state(Absolute(PAGE_AT)),
        PageState::Data
    );
    bench.set(DATA + 2, &[0, 0]);
    bench.set(EPSW, &[0x07, 0x00, 0x07, 0x00]);
    executes(&mut bench, CODE);
    assert!(!recording(&bench) && executable(&bench));
}

/// The way out, with control at another page.
fn leaves_elsewhere(bench: &mut Bench) {
    bench.cpu.psw.address = 0x9_0000;
    dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
}

#[test]
fn a_cpu_that_is_somewhere_else_for_long_rests_and_the_page_is_known_when_it_comes_back() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    event(&mut bench, HIDDEN, 5, 5);
    let known = loaded(&bench);
    leaves_elsewhere(&mut bench);
    assert!(
        recording(&bench) && executable(&bench),
        "it may be back soon"
    );
    bench.cpu.account.correct(0, -(PATIENCE as i64), false);
    leaves_elsewhere(&mut bench);
    assert!(!recording(&bench) && !executable(&bench));
    executes(&mut bench, HIDDEN);
    assert!(recording(&bench) && executable(&bench));
    assert_eq!(loaded(&bench), known);
}

#[test]
fn an_execute_in_any_page_finds_its_target_in_a_watched_one_executable() {
    const EXECUTE: u64 = 0x9_0000;
    for state in [0, PROBLEM] {
        let mut bench = bench();
        bench.cpu.psw.mask |= state;
        let mut text = [0xC6, 0, 0, 0, 0, 0];
        let distance = (CODE as i64 - EXECUTE as i64) / 2;
        text[2..].copy_from_slice(&(distance as i32).to_be_bytes());
        bench.set(EXECUTE, &text);
        bench.cpu.interruption.cause = 6 << 16;
        bench.cpu.interruption.identification = PAGE_AT | TEID_FETCH | TEID_EXECUTION_PROTECTION;
        trap(&mut bench, 4, EXECUTE + 6, 0);
        assert!(executable(&bench), "{state:x}");
    }
}

#[test]
fn a_watch_does_not_end_before_an_event_is_tried_once_more() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    trap(&mut bench, 0x80, HIDDEN, PATIENCE);
    leaves_elsewhere(&mut bench);
    assert!(recording(&bench));
}

#[test]
fn a_page_that_is_watched_again_is_not_scanned_again_until_it_is_stored_into() {
    const OTHER: u64 = 0x2_0000;
    let mut bench = bench();
    let mut page = [0; PAGE as usize];
    bench.hardware.load(Absolute(PAGE_AT), &mut page);
    bench.set(OTHER, &page);
    executes(&mut bench, CODE);
    event(&mut bench, HIDDEN, 100, 7);
    let known = loaded(&bench);
    executes(&mut bench, OTHER + 0x100);
    assert_ne!(loaded(&bench), known);
    // A scan would find nothing more to watch the page for.
    bench.set(DATA + 2, &[0, 0]);
    executes(&mut bench, HIDDEN + 8);
    assert!(recording(&bench));
    assert_eq!(loaded(&bench), known);
    executes(&mut bench, OTHER + 0x100);
    scanner::store_into(&bench.configuration, &mut bench.hardware, Absolute(PAGE_AT));
    executes(&mut bench, HIDDEN + 8);
    assert_ne!(loaded(&bench), known);
}

#[test]
fn another_cpu_does_not_execute_what_one_cpu_watches() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    let shared = Real(bench.configuration.shadow.identity.0 + PAGE_AT / PAGE * 8);
    let value = bench.hardware.hsa_load(shared);
    assert_ne!(value & PTE_EXECUTION_PROTECTION, 0);
    bench.cpu.psw.mask |= DAT;
    let allowed = |bench: &Bench, at| {
        let frame = Absolute(PAGE_AT);
        super::shadow::is_allowed(&bench.cpu, &bench.configuration, frame, Virtual(at))
    };
    // In a real space an address is the same as with DAT off, and in any other one it is not.
    bench.cpu.control[1] = REAL_SPACE | PRIVATE_SPACE;
    assert!(allowed(&bench, PAGE_AT));
    assert!(!allowed(&bench, PAGE_AT + PAGE));
    bench.cpu.control[1] = 0x10_0000 | 3;
    assert!(!allowed(&bench, PAGE_AT));
}

#[test]
fn recording_is_off_while_the_guest_executes_in_another_space() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    let goes_on = |bench: &mut Bench, dat| {
        bench.cpu.psw.mask = bench.cpu.psw.mask & !DAT | dat;
        dispatch::leave(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
        recording(bench)
    };
    bench.cpu.control[1] = 0x10_0000 | 3;
    assert!(!goes_on(&mut bench, DAT));
    assert!(executable(&bench), "where it is watched");
    assert!(goes_on(&mut bench, 0));
    bench.cpu.control[1] = REAL_SPACE;
    assert!(goes_on(&mut bench, DAT));
    // The home space has not been the one that instructions come from.
    bench.cpu.control[1] = 0x10_0000 | 3;
    bench.cpu.control[13] = REAL_SPACE;
    assert!(!goes_on(&mut bench, DAT));
    bench.cpu.psw.mask |= ADDRESS_SPACE;
    assert!(goes_on(&mut bench, DAT));
}

#[test]
fn a_watch_in_another_space_ends_the_one_before() {
    let mut bench = bench();
    executes(&mut bench, CODE);
    let (segments, pages) = (0x10_0000, 0x11_0000);
    bench.set_doublewords(segments + (PAGE_AT >> 20) * 8, &[pages]);
    let entry = pages + PAGE_AT / PAGE % 256 * 8;
    bench.set_doublewords(entry, &[PAGE_AT]);
    bench.cpu.control[1] = segments | 3;
    bench.cpu.psw.mask |= DAT;
    executes(&mut bench, CODE);
    assert!(recording(&bench));
    assert!(!executable(&bench), "with DAT off");
}

#[test]
fn an_instruction_that_reaches_into_another_watched_page_is_let_through_alone() {
    let mut bench = bench();
    let other = PAGE_AT + PAGE;
    // LGHI across the boundary, and data in doubt behind it.
    let crossing = other - 2;
    bench.set(crossing, &[0xA7, 0x29, 0, 7, 0x07, 0xFE]);
    bench.set(other + 0x180, &[0, 0, 0xB9, 0x8D, 0, 0x23, 0, 0]);
    executes(&mut bench, CODE);
    executes(&mut bench, crossing);
    // The other half of it is missed.
    bench.cpu.interruption.cause = 2 << 16;
    bench.cpu.interruption.identification = other | TEID_FETCH | TEID_EXECUTION_PROTECTION;
    trap(&mut bench, 4, crossing + 2, 0);
    let executable = |bench: &Bench, page: u64| {
        let real = bench.configuration.shadow.private;
        let table = bench.hardware.hsa_load(Real(real.0 + (page >> 20) * 8)) & !0x7FF;
        let value = bench.hardware.hsa_load(Real(table + page / PAGE % 256 * 8));
        value & (PTE_INVALID | PTE_EXECUTION_PROTECTION) == 0
    };
    assert!(executable(&bench, PAGE_AT) && executable(&bench, other));
    assert_eq!(loaded(&bench), range(crossing + 1, crossing - 1));
    // What comes next is in the other page, which is then the one that is watched.
    event(&mut bench, other + 2, 1, 0);
    assert!(!executable(&bench, other));
    executes(&mut bench, other + 2);
    assert!(!executable(&bench, PAGE_AT) && executable(&bench, other));
    assert!(recording(&bench));
}
