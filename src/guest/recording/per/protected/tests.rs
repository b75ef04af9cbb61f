//! A CPU that records stores into a range: what the shadow permits, and which instructions are executed on their
//! own.

use super::*;
use crate::delivery::PER_EVENT;
use crate::dispatch::{self, Next};
use crate::recording::per::played;
use crate::state::pending_work::PendingWork;
use crate::state::shadow::Side;
use crate::storage::shadow::forbidden;
use crate::test_machine::Bench;
use arch::control::asce;
use arch::interruption::Class;
use arch::psw::{ADDRESSING_64, DAT, PER, PROBLEM, Psw};
use arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_PROTECTION, TEID_DAT_PROTECTION, TEID_EXECUTION_PROTECTION,
    TEID_FETCH,
};
use per::event;

/// The guest's segment table, and its page table.
const SEGMENTS: u64 = 0x1_0000;
const PAGES: u64 = 0x2_0000;
/// Its address-space-control element, and that of another space with the same tables.
const SPACE: u64 = SEGMENTS | 3;
const OTHER_SPACE: u64 = SPACE | asce::PRIVATE_SPACE;
/// Where OI 0(1),5 is, which the hardware makes whatever it stores into, and where the program-interruption handler begins.
const HERE: u64 = 0x5000;
const HANDLER: u64 = 0x6000;
/// The page of the range, a page beside it, and a virtual page that is the first one in storage.
const PAGE_OF_RANGE: u64 = 0x8000;
const BESIDE: u64 = 0x9000;
const ALIAS: u64 = 0x1_F000;
/// LR 2,3.
const LR: [u8; 2] = [0x18, 0x23];

struct Guest(Bench);

impl Guest {
    /// A guest with DAT on, about to execute the instruction. Stores into these bytes of the page are recorded.
    fn new(start: u64, end: u64) -> Self {
        let mut bench = Bench::new();
        bench.set_doublewords(SEGMENTS, &[0x20; 2048]);
        bench.set_doublewords(SEGMENTS, &[PAGES]);
        let pages: Vec<u64> = (0..256).map(|page| page * PAGE).collect();
        bench.set_doublewords(PAGES, &pages);
        bench.set_doublewords(PAGES + ALIAS / PAGE * 8, &[PAGE_OF_RANGE]);
        bench.set(HERE, &[0x96, 5, 0x10, 0]);
        bench.set_doublewords(0x1D0, &[ADDRESSING_64, HANDLER]);
        played::prepare(&mut bench);
        let cpu = &mut bench.cpu;
        cpu.psw = Psw {
            mask: ADDRESSING_64 | DAT | PER,
            address: HERE,
        };
        cpu.control[1] = SPACE;
        cpu.general[1] = PAGE_OF_RANGE;
        let mut guest = Self(bench);
        guest.record(event::STORE, [start, end].map(|at| PAGE_OF_RANGE + at));
        guest.leave();
        guest
    }

    fn record(&mut self, events: u8, [start, end]: [u64; 2]) {
        let cpu = &mut self.0.cpu;
        cpu.control[9..12].copy_from_slice(&[u64::from(events) << 24, start, end]);
        cpu.pending_work |= PendingWork::CONTROLS;
    }

    /// Loads bits of the PSW.
    fn set_mask(&mut self, mask: u64) {
        self.0.cpu.psw.mask = mask;
        self.0.cpu.pending_work |= PendingWork::CONTROLS;
    }

    fn leave(&mut self) {
        let Bench {
            cpu,
            configuration,
            hardware,
        } = &mut self.0;
        assert_eq!(dispatch::leave(cpu, configuration, hardware), Next::Run);
    }

    /// The hardware interrupts the guest at this address behind the next instruction, or at the instruction itself, wherever
    /// the guest has it; then the guest continues.
    fn trap(&mut self, code: u16, length: u8, address: u64, identification: u64) {
        let bench = &mut self.0;
        let at = match played::stepped(bench) {
            Some(at) => address.wrapping_sub(at) + bench.cpu.psw.address,
            None => address,
        };
        bench.cpu.interruption.identification = identification;
        let cause = u32::from(length) << 16 | u32::from(code);
        assert_eq!(played::trap(bench, Class::Program, cause, at, 0), Next::Run);
        self.leave();
    }

    /// The instruction at [`HERE`] has no translation for a page that it fetches from or stores into.
    fn miss(&mut self, at: u64, kind: u64) {
        self.trap(0x11, 4, HERE, at | kind | self.space_of_operands());
    }

    /// The instruction stores into a protected page.
    fn store(&mut self, at: u64) {
        let identification = at | TEID_DAT_PROTECTION | self.space_of_operands();
        self.trap(4, 4, HERE + 4, identification);
    }

    /// The hardware accesses operands in the secondary space.
    fn space_of_operands(&self) -> u64 {
        if shadow::has_single_table(&self.0.cpu) {
            3
        } else {
            2
        }
    }

    /// The hardware has executed the instruction in its slot.
    fn complete(&mut self) {
        assert_eq!(played::complete(&mut self.0), Next::Run);
        self.leave();
    }

    /// The same; it has branched to this address.
    fn complete_to(&mut self, at: u64) {
        assert_eq!(played::complete(&mut self.0), Next::Run);
        self.0.cpu.psw.address = at;
        self.leave();
    }

    fn protected(&self, at: u64) -> Option<bool> {
        self.protected_in(SPACE, at)
    }

    fn protected_in(&self, space: u64, at: u64) -> Option<bool> {
        let side = if shadow::has_single_table(&self.0.cpu) {
            Side::Single
        } else {
            Side::Operands
        };
        let found = forbidden(&self.0.cpu, &self.0.hardware, space, side, Virtual(at));
        found.map(|forbidden| forbidden & PTE_PROTECTION != 0)
    }

    /// Whether the instruction at [`HERE`] is executed on its own.
    fn steps(&self) -> bool {
        self.stepped() == Some(HERE)
    }

    /// The address of the instruction that is executed on its own, if one is.
    fn stepped(&self) -> Option<u64> {
        played::stepped(&self.0)
    }

    /// Whether the execution of a page is forbidden, on the side for instructions.
    fn closed(&self, at: u64) -> Option<bool> {
        let (cpu, hardware) = (&self.0.cpu, &self.0.hardware);
        let side = if shadow::has_single_table(cpu) {
            Side::Single
        } else {
            Side::Instructions
        };
        let found = forbidden(cpu, hardware, SPACE, side, Virtual(at));
        found.map(|forbidden| forbidden & PTE_EXECUTION_PROTECTION != 0)
    }

    /// The next instruction, at an address, is in a page that forbids execution, or that is not in the shadow.
    fn enter(&mut self, at: u64) {
        self.0.cpu.psw.address = at;
        let space = if shadow::has_single_table(&self.0.cpu) {
            3
        } else {
            0
        };
        let identification = (at & !0xFFF) | TEID_EXECUTION_PROTECTION | TEID_FETCH | space;
        self.trap(4, 2, at + 2, identification);
    }

    /// Whether the guest runs freely.
    fn runs(&self) -> bool {
        self.stepped().is_none() && !self.0.cpu.per.in_slots && !self.0.cpu.per.watching
    }

    /// The instruction at [`HERE`] fetches from the page of the range what is not its first halfword.
    fn fetch_target(&mut self) {
        let identification = PAGE_OF_RANGE | TEID_EXECUTION_PROTECTION | TEID_FETCH;
        self.0.cpu.psw.address = HERE;
        self.trap(4, 4, HERE + 4, identification);
    }

    /// The code of the last program interruption.
    fn code(&self) -> u16 {
        self.0.word(0x8C) as u16
    }
}

#[test]
fn the_page_of_a_range_is_protected_and_no_other_one() {
    let mut guest = Guest::new(0x100, 0x107);
    assert!(guest.runs());
    guest.miss(PAGE_OF_RANGE, TEID_FETCH);
    guest.miss(BESIDE, TEID_STORE);
    guest.miss(ALIAS, TEID_STORE);
    assert!(guest.runs());
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(true));
    assert_eq!(guest.protected(BESIDE), Some(false));
    assert_eq!(guest.protected(ALIAS), Some(false));
}

#[test]
fn a_store_beside_the_range_is_executed_on_its_own_and_has_no_event() {
    let mut guest = Guest::new(0x100, 0x107);
    guest.miss(PAGE_OF_RANGE, TEID_FETCH);
    guest.store(PAGE_OF_RANGE);
    assert!(guest.steps());
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(false));
    guest.complete();
    assert!(guest.runs());
    assert_eq!(guest.0.cpu.psw.address, HERE + 4);
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(true));
    assert_eq!(guest.code(), 0);
}

#[test]
fn an_ordinary_store_beside_the_range_is_made_by_millicode_and_the_page_stays_protected() {
    let mut guest = Guest::new(0x100, 0x107);
    guest.0.set(HERE, &[0x92, 5, 0x10, 0]);
    guest.miss(PAGE_OF_RANGE, TEID_FETCH);
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(true));
    let before = guest.0.cpu.account.total();
    guest.store(PAGE_OF_RANGE);
    assert!(guest.runs());
    assert_eq!(guest.0.cpu.psw.address, HERE + 4);
    assert_eq!(guest.0.doubleword(PAGE_OF_RANGE) >> 56, 5);
    assert_eq!(guest.0.cpu.account.total() - before, 1);
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(true));
    assert_eq!(guest.code(), 0);
}

#[test]
fn an_ordinary_store_into_the_range_has_its_event_at_once() {
    let mut guest = Guest::new(0, 7);
    guest.0.set(HERE, &[0x92, 5, 0x10, 0]);
    guest.miss(PAGE_OF_RANGE, TEID_FETCH);
    guest.store(PAGE_OF_RANGE);
    assert_eq!((guest.code(), guest.0.doubleword(0x98)), (PER_EVENT, HERE));
    assert_eq!(guest.0.doubleword(PAGE_OF_RANGE) >> 56, 5);
}

#[test]
fn a_store_into_the_range_has_its_event_also_if_its_page_was_never_accessed() {
    let mut guest = Guest::new(0, 0);
    guest.miss(PAGE_OF_RANGE, TEID_STORE);
    assert!(guest.steps());
    guest.complete();
    assert_eq!(
        (guest.code(), guest.0.cpu.psw.address),
        (PER_EVENT, HANDLER)
    );
}

#[test]
fn an_instruction_may_store_into_several_pages() {
    let mut guest = Guest::new(0xFFF, 0x1000);
    guest.store(BESIDE);
    assert!(guest.steps());
    guest.miss(PAGE_OF_RANGE, TEID_STORE);
    assert!(guest.steps());
    let pages = [PAGE_OF_RANGE, BESIDE];
    assert_eq!(pages.map(|page| guest.protected(page)), [Some(false); 2]);
    guest.complete();
    assert_eq!(pages.map(|page| guest.protected(page)), [Some(true); 2]);
}

#[test]
fn a_store_that_the_guest_forbids_itself_is_its_own_exception() {
    let mut guest = Guest::new(0, 0);
    let entry = PAGES + PAGE_OF_RANGE / PAGE * 8;
    guest.0.set_doublewords(entry, &[PAGE_OF_RANGE | 0x200]);
    guest.miss(PAGE_OF_RANGE, TEID_FETCH);
    guest.store(PAGE_OF_RANGE);
    assert_eq!((guest.code(), guest.0.cpu.psw.address), (4, HANDLER));
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(true));
}

#[test]
fn a_page_that_was_stored_into_before_recording_began_is_protected_when_it_begins() {
    let mut guest = Guest::new(0, 0);
    let mask = guest.0.cpu.psw.mask;
    guest.set_mask(mask & !PER);
    guest.leave();
    guest.miss(PAGE_OF_RANGE, TEID_STORE);
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(false));
    guest.set_mask(mask);
    guest.leave();
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(true));
    // Another range: its page is protected.
    guest.miss(BESIDE, TEID_STORE);
    guest.record(event::STORE, [BESIDE, BESIDE]);
    guest.leave();
    assert_eq!(guest.protected(BESIDE), Some(true));
}

#[test]
fn each_space_that_the_program_goes_to_is_protected() {
    let mut guest = Guest::new(0, 0);
    let mask = guest.0.cpu.psw.mask;
    for space in [SPACE, OTHER_SPACE] {
        guest.set_mask(mask & !PER);
        guest.0.cpu.control[1] = space;
        guest.leave();
        guest.miss(PAGE_OF_RANGE, TEID_STORE);
    }
    for space in [OTHER_SPACE, SPACE, OTHER_SPACE] {
        guest.set_mask(mask);
        guest.0.cpu.control[1] = space;
        guest.leave();
        assert_eq!(guest.protected_in(space, PAGE_OF_RANGE), Some(true));
        guest.store(PAGE_OF_RANGE);
        assert_eq!(guest.protected_in(space, PAGE_OF_RANGE), Some(false));
        guest.complete();
    }
}

#[test]
fn a_program_with_one_table_is_protected_in_it() {
    let mut guest = Guest::new(0x100, 0x107);
    let mask = guest.0.cpu.psw.mask;
    guest.set_mask(mask | PROBLEM);
    guest.leave();
    assert!(shadow::has_single_table(&guest.0.cpu));
    guest.miss(PAGE_OF_RANGE, TEID_FETCH);
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(true));
    guest.store(PAGE_OF_RANGE);
    // In a slot it has two tables.
    assert!(guest.steps() && !shadow::has_single_table(&guest.0.cpu));
    guest.miss(PAGE_OF_RANGE, TEID_STORE);
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(false));
    guest.complete();
    assert!(shadow::has_single_table(&guest.0.cpu));
    assert_eq!(guest.protected(PAGE_OF_RANGE), Some(true));
}

#[test]
fn where_no_page_is_protected_each_instruction_is_executed_on_its_own() {
    let mut guest = Guest::new(0, 0);
    let mask = guest.0.cpu.psw.mask;
    let mut steps = |mask, space, events, range| {
        guest.0.cpu.psw.address = HERE;
        guest.set_mask(mask);
        guest.0.cpu.control[1] = space;
        guest.record(events, range);
        guest.leave();
        assert!(guest.steps() != guest.runs());
        guest.steps()
    };
    let range = [0, MOST_PAGES * PAGE - 1];
    assert!(!steps(mask, SPACE, event::STORE, range));
    assert!(!steps(mask & !DAT, SPACE, event::STORE_REAL, range));
    assert!(!steps(mask & !DAT, SPACE, event::STORE, range));
    assert!(!steps(mask, SPACE | asce::REAL_SPACE, event::STORE, range));
    assert!(steps(mask, SPACE, event::STORE, [0, range[1] + 1]));
    assert!(steps(mask & !DAT, SPACE, event::STORE, [0, range[1] + 1]));
    assert!(steps(mask, SPACE, event::STORE | event::BRANCH, range));
    assert!(!steps(
        mask,
        SPACE,
        event::FETCH,
        [0x10_0000, 0x10_0000 + range[1]]
    ));
    assert!(steps(
        mask,
        SPACE,
        event::FETCH,
        [0x10_0000, 0x10_0001 + range[1]]
    ));
}

#[test]
fn a_page_counts_if_any_of_its_bytes_is_in_the_range() {
    // (start, end, pages)
    let table = [
        (0, 0, 1),
        (0xFFF, 0x1000, 2),
        (0x1000, 0x1FFF, 1),
        (0x1001, 0x3000, 3),
        (u64::MAX, 0, 2),
        (1, MOST_PAGES * PAGE, MOST_PAGES + 1),
    ];
    for (start, end, count) in table {
        assert_eq!(pages(Range { start, end }), count, "{start:x} to {end:x}");
    }
    for (start, end) in [(0, u64::MAX), (0x1800, 0x17FF), (0x1000, 0)] {
        assert!(
            pages(Range { start, end }) > MOST_PAGES,
            "{start:x} to {end:x}"
        );
    }
}

/// A guest whose instructions in these bytes of the page are recorded.
fn recording_fetches(start: u64, end: u64) -> Guest {
    let mut guest = Guest::new(0, 0);
    for at in (0..PAGE).step_by(2) {
        guest.0.set(PAGE_OF_RANGE + at, &LR);
    }
    guest.record(event::FETCH, [start, end].map(|at| PAGE_OF_RANGE + at));
    guest.leave();
    guest
}

#[test]
fn each_instruction_in_a_page_with_a_range_is_executed_on_its_own_until_the_program_leaves_it() {
    for mask in [0, PROBLEM] {
        let mut guest = recording_fetches(0x100, 0x107);
        let old = guest.0.cpu.psw.mask;
        guest.set_mask(old | mask);
        guest.leave();
        for _ in 0..100 {
            assert!(guest.runs());
            guest.enter(PAGE_OF_RANGE);
            assert_eq!(guest.stepped(), Some(PAGE_OF_RANGE));
            guest.complete();
            assert_eq!(guest.stepped(), Some(PAGE_OF_RANGE + 2));
            guest.complete_to(PAGE_OF_RANGE + 0x200);
            assert_eq!(guest.stepped(), Some(PAGE_OF_RANGE + 0x200));
            guest.complete_to(BESIDE);
            assert!(guest.runs());
            assert_eq!(guest.closed(PAGE_OF_RANGE), Some(true));
            assert_eq!(guest.code(), 0);
        }
        guest.enter(PAGE_OF_RANGE + 0x100);
        guest.complete();
        assert_eq!(guest.code(), PER_EVENT);
    }
}

#[test]
fn an_instruction_in_the_range_has_its_event_also_if_it_is_the_first_one_of_the_page() {
    let mut guest = recording_fetches(0, 1);
    guest.enter(PAGE_OF_RANGE);
    assert_eq!(guest.stepped(), Some(PAGE_OF_RANGE));
    guest.complete_to(BESIDE);
    assert_eq!(
        (guest.code(), guest.0.doubleword(0x98)),
        (PER_EVENT, PAGE_OF_RANGE)
    );
}

#[test]
fn an_execute_elsewhere_of_an_instruction_in_the_page_is_executed_on_its_own() {
    for (target, code) in [(0x100, PER_EVENT), (0x108, 0)] {
        let mut guest = recording_fetches(0x100, 0x107);
        // EX 0,0(5).
        guest.0.set(HERE, &[0x44, 0, 0x50, 0]);
        guest.0.cpu.general[5] = PAGE_OF_RANGE + target;
        guest.fetch_target();
        assert!(guest.steps());
        guest.complete();
        assert_eq!(guest.code(), code);
    }
}

#[test]
fn an_instruction_elsewhere_that_extends_into_the_page_is_executed_on_its_own() {
    let mut guest = recording_fetches(0x100, 0x107);
    for _ in 0..3 {
        guest.fetch_target();
        assert!(guest.steps());
        guest.complete_to(HERE);
        assert!(guest.runs());
        assert_eq!((guest.code(), guest.closed(PAGE_OF_RANGE)), (0, Some(true)));
    }
}

#[test]
fn an_execute_beside_a_range_has_an_event_if_its_target_is_in_the_range() {
    for (target, code) in [(0x100, PER_EVENT), (0x108, 0)] {
        let mut guest = recording_fetches(0x100, 0x107);
        guest.0.set(PAGE_OF_RANGE + 0x202, &[0x44, 0, 0x50, 0]);
        guest.0.cpu.general[5] = PAGE_OF_RANGE + target;
        guest.enter(PAGE_OF_RANGE + 0x202);
        guest.complete();
        assert_eq!(guest.code(), code);
    }
}

#[test]
fn a_step_counts_one_instruction() {
    let mut guest = Guest::new(0, 0);
    guest.record(event::BRANCH, [0, 0]);
    guest.leave();
    let before = guest.0.cpu.account.total();
    guest.complete();
    assert_eq!(guest.0.cpu.account.total() - before, 1);
}

#[test]
fn real_storage_is_protected_in_tables_of_the_cpus_own_while_it_is_recorded() {
    for real_space in [false, true] {
        let mut guest = Guest::new(0x100, 0x107);
        let mask = guest.0.cpu.psw.mask;
        let off = if real_space { mask } else { mask & !DAT };
        if real_space {
            guest.0.cpu.control[1] = asce::REAL_SPACE;
        }
        let spaces = |guest: &Guest| [1, 7].map(|n| guest.0.hardware.controls[n]);
        guest.set_mask(off & !PER);
        guest.leave();
        let shared = spaces(&guest);
        guest.set_mask(off);
        guest.leave();
        assert!(guest.runs());
        assert_ne!(spaces(&guest), shared);
        guest.miss(PAGE_OF_RANGE, TEID_FETCH);
        guest.miss(BESIDE, TEID_STORE);
        let protected = |guest: &Guest, at| guest.protected_in(asce::REAL_SPACE, at);
        assert_eq!(protected(&guest, PAGE_OF_RANGE), Some(true));
        assert_eq!(protected(&guest, BESIDE), Some(false));
        guest.store(PAGE_OF_RANGE);
        assert!(guest.steps());
        guest.complete();
        assert_eq!(
            (guest.code(), protected(&guest, PAGE_OF_RANGE)),
            (0, Some(true))
        );
        guest.set_mask(off & !PER);
        guest.leave();
        assert_eq!(spaces(&guest), shared);
    }
}
