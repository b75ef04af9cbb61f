//! The large TLB against an ideal one.
//!
//! The model is what each CPU's TLB may hold: every translation that the CPU has made, until the guest purges
//! it as architected. When a CPU lets its guest continue, every entry of its shadow must be in the model,
//! with all the protection of the guest's tables and of the states of the page frames.

use super::*;
use crate::millicode::perform;
use crate::state::access::{Access, Space as Which, Translation};
use crate::state::page_frames::PageState;
use crate::state::shadow::SEGMENT;
use crate::storage::dat;
use crate::storage::scanner::{self, Entry};
use crate::storage::shadow::fill::{BLOCK, BLOCK_OF_PROGRAM};
use crate::storage::shadow::spaces::valid_entries;
use crate::test_machine::{Bench, TestMachine};
use arch::address::{Absolute, PAGE, Real, Virtual};
use arch::control::asce;
use arch::psw::{DAT, PROBLEM};
use arch::table::{
    PTE_EXECUTION_PROTECTION, PTE_FRAME, PTE_INVALID, PTE_PROTECTION, STE_INVALID, STE_PROTECTION,
};
use insn::{Instruction, Operand};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const CPUS: usize = 2;
/// Address spaces: more than the pool of a CPU has room for.
const SPACES: u64 = 14;
/// The guest's page tables, two to a page frame.
const PAGE_TABLES: u64 = 4;
/// Page frames that are mapped; more than there are code copies.
const FRAMES: u64 = 24;
/// Pages and segments of a space that are accessed.
const PAGES: u64 = 4;
const SEGMENTS: u64 = 2;

const REGIONS_AT: u64 = 0x1_0000;
const SEGMENTS_AT: u64 = 0x8_0000;
const PAGES_AT: u64 = 0x10_0000;
const FRAMES_AT: u64 = 0x18_0000;

/// Spaces with odd numbers have a region-third table, the others begin with their segment table.
const fn element(space: u64) -> u64 {
    if space.is_multiple_of(2) {
        segment_table(space) | 3
    } else {
        (REGIONS_AT + space * 0x4000) | 1 << 2 | 3
    }
}

const fn segment_table(space: u64) -> u64 {
    SEGMENTS_AT + space * 0x4000
}

const fn page_entry(table: u64, page: u64) -> u64 {
    PAGES_AT + table * 0x800 + page * 8
}

#[derive(Clone, Copy, Debug)]
struct Place {
    cpu: usize,
    space: u64,
    at: Virtual,
    /// Whether the CPU is in the problem state, and so has one table for instructions and operands.
    is_program: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Access(Place, Access),
    /// An access of the first CPU, and IPTE of the entry that it used, by another CPU, before the shadow is
    /// filled.
    Race(Place, usize),
    /// A change of a page-table entry, or of a segment-table entry, without any purge.
    SetPage(u64, u64, u64),
    /// The second number says whether the segment is protected.
    SetSegment(u64, u64, Option<(u64, bool)>),
    Ipte(usize, u64, u64),
    ClearSpace(usize, u64),
    InvalidateSegment(usize, u64, u64),
    Cspg(usize),
    Ptlb(usize),
    /// SET PREFIX with the prefix that the CPU already has.
    Spx(usize),
    /// Another PSW, and another secondary-space control. The next access has a PSW of its own.
    Attach(usize, Attachment),
    /// A store into a page frame by absolute address; true if it stores the bits of EPSW.
    Store(u64, bool),
}

/// What decides which of a CPU's address-space-control elements are in use.
#[derive(Clone, Copy, Debug)]
struct Attachment {
    dat: bool,
    mode: AddressSpace,
    secondary_space_control: bool,
}

impl Attachment {
    /// DAT is off.
    const NONE: Self = Self {
        dat: false,
        mode: AddressSpace::Primary,
        secondary_space_control: false,
    };

    /// In the primary-space mode, with DAT on.
    const PRIMARY: Self = Self {
        dat: true,
        ..Self::NONE
    };

    /// Whether the architecture lets a TLB form entries of the space in this control register.
    fn holds(self, register: usize) -> bool {
        let Self {
            dat,
            mode,
            secondary_space_control,
        } = self;
        dat && match register {
            1 => true,
            7 => mode == AddressSpace::Secondary || secondary_space_control,
            _ => mode == AddressSpace::Home,
        }
    }
}

fn attachment() -> impl Strategy<Value = Attachment> {
    let mode = prop::sample::select(&[
        AddressSpace::Primary,
        AddressSpace::Secondary,
        AddressSpace::Home,
    ]);
    (any::<bool>(), mode, any::<bool>()).prop_map(|(dat, mode, secondary_space_control)| {
        Attachment {
            dat,
            mode,
            secondary_space_control,
        }
    })
}

fn place() -> impl Strategy<Value = Place> {
    let place = (0..CPUS, 0..SPACES, 0..SEGMENTS, 0..PAGES, any::<bool>());
    place.prop_map(|(cpu, space, segment, page, is_program)| Place {
        cpu,
        space,
        at: Virtual(segment * SEGMENT + page * PAGE),
        is_program,
    })
}

fn page_value() -> impl Strategy<Value = u64> {
    let bits = prop_oneof![
        4 => Just(0),
        1 => Just(PTE_PROTECTION),
        1 => Just(PTE_EXECUTION_PROTECTION),
        1 => Just(PTE_INVALID)
    ];
    (0..FRAMES, bits).prop_map(|(frame, bits)| (FRAMES_AT + frame * PAGE) | bits)
}

fn step() -> impl Strategy<Value = Step> {
    let access = prop_oneof![
        Just(Access::Fetch),
        Just(Access::Store),
        Just(Access::Execute)
    ];
    let table = 0..PAGE_TABLES;
    prop_oneof![
        24 => (place(), access).prop_map(|(place, access)| Step::Access(place, access)),
        2 => (place(), 0..CPUS).prop_map(|(place, by)| Step::Race(place, by)),
        4 => (table.clone(), 0..PAGES, page_value()).prop_map(|(t, p, v)| Step::SetPage(t, p, v)),
        2 => (0..SPACES, 0..SEGMENTS, prop::option::weighted(0.9, (table.clone(), any::<bool>())))
            .prop_map(|(space, segment, table)| Step::SetSegment(space, segment, table)),
        4 => (0..CPUS, table, 0..PAGES).prop_map(|(cpu, t, p)| Step::Ipte(cpu, t, p)),
        2 => (0..CPUS, 0..SPACES).prop_map(|(cpu, space)| Step::ClearSpace(cpu, space)),
        1 => (0..CPUS, 0..SPACES, 0..SEGMENTS)
            .prop_map(|(cpu, space, segment)| Step::InvalidateSegment(cpu, space, segment)),
        2 => (0..CPUS).prop_map(Step::Cspg),
        2 => (0..CPUS).prop_map(Step::Ptlb),
        1 => (0..CPUS).prop_map(Step::Spx),
        3 => (0..CPUS, attachment()).prop_map(|(cpu, attachment)| Step::Attach(cpu, attachment)),
        4 => (0..FRAMES, any::<bool>()).prop_map(|(frame, code)| Step::Store(frame, code)),
    ]
}

/// What a TLB may hold for a space and a page: more than one translation, if the guest changes its tables
/// without a purge.
type Ideal = BTreeMap<(u64, u64), Vec<Translation>>;

struct Test {
    cpus: [Vcpu; CPUS],
    attached: [Attachment; CPUS],
    ideal: [Ideal; CPUS],
    /// What was purged and may be formed again, by element and address.
    anew: [BTreeSet<(u64, u64)>; CPUS],
    configuration: Configuration,
    hardware: TestMachine,
}

impl Test {
    fn new() -> Self {
        let Bench {
            mut configuration,
            hardware,
            ..
        } = Bench::new();
        configuration.cpus = CPUS as u16;
        let cpus = core::array::from_fn(|number| {
            let mut cpu = Vcpu::new(number as u16, Bench::facility(), Bench::facility());
            cpu.psw.mask |= DAT;
            cpu.control[0] |= control::CR0_INSTRUCTION_EXECUTION_PROTECTION;
            cpu.control[1] = element(0);
            cpu.control[7] = element(1);
            cpu.control[13] = element(2);
            cpu
        });
        let mut test = Self {
            cpus,
            attached: [Attachment::PRIMARY; CPUS],
            ideal: Default::default(),
            anew: Default::default(),
            configuration,
            hardware,
        };
        build_identity(&test.configuration, &mut test.hardware);
        for space in 0..SPACES {
            for index in 0..2048 {
                test.set(segment_table(space) + index * 8, STE_INVALID);
            }
            for segment in 0..SEGMENTS {
                let table = (space + segment) % PAGE_TABLES;
                test.set(segment_table(space) + segment * 8, page_entry(table, 0));
            }
            if space % 2 == 1 {
                let entry = segment_table(space) | 1 << 2 | 3;
                test.set(element(space) & asce::ORIGIN, entry);
            }
        }
        for table in 0..PAGE_TABLES {
            for page in 0..BLOCK {
                let frame = (table * PAGES + page) % FRAMES;
                test.set(page_entry(table, page), FRAMES_AT + frame * PAGE);
            }
        }
        test
    }

    fn set(&mut self, at: u64, value: u64) {
        scanner::store_into(&self.configuration, &mut self.hardware, Absolute(at));
        self.hardware.store_u64(Absolute(at), value);
    }

    /// Every translation is purged from the TLBs of these CPUs, which may form the same ones again.
    fn purged(&mut self, cpus: core::ops::Range<usize>) {
        for cpu in cpus {
            let purged = core::mem::take(&mut self.ideal[cpu]);
            self.anew[cpu].extend(purged.into_keys());
        }
    }

    /// A TLB forms translations again, of the spaces that are attached.
    fn form_anew(&mut self, cpu: usize) {
        for (guest, at) in core::mem::take(&mut self.anew[cpu]) {
            let registers = [1, 7, 13].into_iter();
            let attachment = self.attached[cpu];
            if !registers
                .filter(|&register| attachment.holds(register))
                .any(|register| self.cpus[cpu].control[register] == guest)
            {
                continue;
            }
            let state = (&self.cpus[cpu], &self.configuration, &self.hardware);
            if let Ok(found) = dat::walk(state.0, state.1, state.2, guest, Virtual(at)) {
                self.ideal[cpu].entry((guest, at)).or_default().push(found);
            }
        }
    }

    /// A TLB forms the translation of an access, and with it those of the block of pages.
    fn form(&mut self, place: Place, translation: &Translation) {
        let guest = element(place.space);
        let block = if place.is_program {
            BLOCK_OF_PROGRAM
        } else {
            BLOCK
        };
        let of_page = self.ideal[place.cpu]
            .entry((guest, place.at.0))
            .or_default();
        of_page.push(*translation);
        let first = place.at.0 & !(block * PAGE - 1);
        for at in (first..).step_by(PAGE as usize).take(block as usize) {
            let state = (&self.cpus[place.cpu], &self.configuration, &self.hardware);
            if let Ok(found) = dat::walk(state.0, state.1, state.2, guest, Virtual(at)) {
                let key = (guest, at);
                self.ideal[place.cpu].entry(key).or_default().push(found);
            }
        }
    }

    /// Gives a CPU a PSW, and a secondary-space control.
    fn attach(&mut self, cpu: usize, attachment: Attachment) {
        self.attached[cpu] = attachment;
        let cpu = &mut self.cpus[cpu];
        let dat = if attachment.dat { DAT } else { 0 };
        let mode = match attachment.mode {
            AddressSpace::Secondary => SECONDARY_SPACE,
            AddressSpace::Home => HOME_SPACE,
            _ => 0,
        };
        cpu.psw.mask = cpu.psw.mask & !(DAT | ADDRESS_SPACE | PROBLEM) | dat | mode;
        cpu.control[0] &= !control::CR0_SECONDARY_SPACE;
        if attachment.secondary_space_control {
            cpu.control[0] |= control::CR0_SECONDARY_SPACE;
        }
        cpu.pending_work |= PendingWork::CONTROLS;
    }

    /// The CPU lets its guest continue.
    fn settle(&mut self, cpu: usize) {
        self.form_anew(cpu);
        let cpu = &mut self.cpus[cpu];
        if stale(cpu, &self.configuration) || cpu.pending_work.any(PendingWork::CONTROLS) {
            load_controls(cpu, &self.configuration, &mut self.hardware);
        }
    }

    fn issue(&mut self, cpu: usize, instruction: Instruction, registers: [u64; 3]) {
        let attachment = self.attached[cpu];
        let cpu = &mut self.cpus[cpu];
        // The operands of all but PTLB are real addresses.
        cpu.psw.mask &= !PROBLEM;
        if instruction != (Instruction::Ptlb {}) {
            cpu.psw.mask &= !DAT;
        }
        cpu.general[2..5].copy_from_slice(&registers);
        let done = perform(cpu, &self.configuration, &mut self.hardware, &instruction);
        if attachment.dat {
            cpu.psw.mask |= DAT;
        }
        assert!(done.is_ok(), "{instruction:?}");
    }

    fn ipte(&mut self, cpu: usize, table: u64, page: u64) {
        let ipte = Instruction::Ipte {
            r1: 2,
            r2: 3,
            r3: 0,
            m4: 0,
        };
        self.issue(cpu, ipte, [page_entry(table, 0), page * PAGE, 0]);
        let entry = Real(page_entry(table, page));
        for ideal in &mut self.ideal {
            for translations in ideal.values_mut() {
                translations.retain(|translation| translation.entry != entry);
            }
        }
    }

    /// An access that the hardware refused, handled as the dispatcher does. Returns whether the guest's own
    /// tables permit it.
    fn access(&mut self, place: Place, access: Access, between: Option<usize>) -> bool {
        let guest = element(place.space);
        self.attach(place.cpu, Attachment::PRIMARY);
        let cpu = &mut self.cpus[place.cpu];
        cpu.control[1] = guest;
        if place.is_program {
            cpu.psw.mask |= PROBLEM;
        }
        cpu.pending_work |= PendingWork::CONTROLS;
        self.settle(place.cpu);
        let cpu = &self.cpus[place.cpu];
        let found = dat::translate(
            cpu,
            &self.configuration,
            &self.hardware,
            guest,
            Which::Primary,
            place.at,
            access,
        );
        let Ok(translation) = found else {
            return false;
        };
        self.form(place, &translation);
        if let Some(by) = between {
            let entry = translation.entry.0 - PAGES_AT;
            self.ipte(by, entry / 0x800, entry % 0x800 / 8);
        }
        let frame = Absolute(translation.real.0);
        match access {
            Access::Execute => {
                let at = Entry::At(0);
                scanner::make_executable(&self.configuration, &mut self.hardware, frame, at);
            }
            Access::Store => {
                scanner::store_into(&self.configuration, &mut self.hardware, frame);
            }
            Access::Fetch => {}
        }
        fill(
            &mut self.cpus[place.cpu],
            &self.configuration,
            &mut self.hardware,
            guest,
            place.at,
            &translation,
            access,
        );
        self.settle(place.cpu);
        true
    }

    fn entry(&self, place: Place, side: Side) -> Option<u64> {
        let wanted = (element(place.space), side, place.at);
        valid_entries(&self.cpus[place.cpu], &self.hardware)
            .into_iter()
            .find(|&(guest, side, at, _)| (guest, side, at) == wanted)
            .map(|(_, _, _, entry)| entry)
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Access(place, access) => {
                if self.access(place, access, None) {
                    let entry = self.entry(place, Side::of(&self.cpus[place.cpu], access));
                    let entry = entry.expect("what was filled is there");
                    assert!(access != Access::Store || entry & PTE_PROTECTION == 0);
                }
            }
            Step::Race(place, by) => {
                self.access(place, Access::Fetch, Some(by));
            }
            Step::SetPage(table, page, value) => self.set(page_entry(table, page), value),
            Step::SetSegment(space, segment, table) => {
                let value = table.map_or(STE_INVALID, |(table, is_protected)| {
                    let protection = if is_protected { STE_PROTECTION } else { 0 };
                    page_entry(table, 0) | protection
                });
                self.set(segment_table(space) + segment * 8, value);
            }
            Step::Ipte(cpu, table, page) => self.ipte(cpu, table, page),
            Step::ClearSpace(cpu, space) => {
                self.idte(cpu, 0, 0x800, element(space));
                for ideal in &mut self.ideal {
                    ideal.retain(|&(guest, _), _| guest != element(space));
                }
            }
            Step::InvalidateSegment(cpu, space, segment) => {
                self.idte(cpu, segment_table(space), segment * SEGMENT, 0);
                self.purged(0..CPUS);
            }
            Step::Cspg(cpu) => {
                let cspg = Instruction::Cspg { r1: 2, r2: 4 };
                self.issue(cpu, cspg, [0, 0, 0x2001]);
                self.purged(0..CPUS);
            }
            Step::Ptlb(cpu) => {
                // At once, so the tables are as they are now.
                self.issue(cpu, Instruction::Ptlb {}, [0; 3]);
                self.purged(cpu..cpu + 1);
                self.form_anew(cpu);
            }
            Step::Attach(cpu, attachment) => self.attach(cpu, attachment),
            Step::Spx(cpu) => {
                let zero = Operand {
                    base: 0,
                    index: 0,
                    displacement: 0x800,
                };
                // With DAT off, so that no table is attached.
                self.issue(cpu, Instruction::Spx { second: zero }, [0; 3]);
                self.ideal[cpu].clear();
                self.anew[cpu].clear();
            }
            Step::Store(frame, code) => {
                let epsw = 0xB98D_0023_07FE_0000;
                self.set(FRAMES_AT + frame * PAGE, if code { epsw } else { 0 });
            }
        }
    }

    fn idte(&mut self, cpu: usize, table: u64, selection: u64, guest: u64) {
        let idte = Instruction::Idte {
            r1: 2,
            r2: 3,
            r3: 4,
            m4: 0,
        };
        self.issue(cpu, idte, [table, selection, guest]);
    }

    /// Compares the shadow of a CPU, which is about to let its guest continue, with the model.
    fn check(&self, cpu: usize) {
        for (guest, side, at, entry) in valid_entries(&self.cpus[cpu], &self.hardware) {
            let ideal = self.ideal[cpu].get(&(guest, at.0));
            let allowed = ideal
                .into_iter()
                .flatten()
                .any(|translation| self.agrees(translation, side, entry));
            assert!(
                allowed,
                "CPU {cpu}: {at:x?} of {guest:x} is {entry:x}, {ideal:x?}"
            );
        }
    }

    /// Whether an entry is a translation, with all the protection of the guest's tables and of the page
    /// frame's state.
    fn agrees(&self, translation: &Translation, side: Side, entry: u64) -> bool {
        let pages = &self.configuration.page_frames;
        let frame = Absolute(translation.real.0).page();
        let (to, protected) = (entry & PTE_FRAME, entry & PTE_PROTECTION != 0);
        let executed = match side {
            Side::Instructions => true,
            Side::Operands => false,
            Side::Single => entry & PTE_EXECUTION_PROTECTION == 0,
        };
        let by_state = match pages.state(frame) {
            PageState::Data => to == frame.0 && !executed,
            PageState::Text => to == frame.0 && protected,
            PageState::Still => to == frame.0 && protected && !executed,
            PageState::Copied(_) if side == Side::Single => {
                protected && to == frame.0 && (!executed || pages.is_of_executes(frame))
            }
            PageState::Copied(copy) => protected && to == if executed { copy.0 } else { frame.0 },
        };
        by_state
            && !(executed && translation.execution_protected)
            && (protected || !translation.protected)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn a_shadow_holds_only_what_a_tlb_might(steps in prop::collection::vec((step(), 0..CPUS), 1..120)) {
        hold_only_what_a_tlb_might(&steps);
    }
}

/// Takes the steps. After each it compares the shadow of the CPU concerned with the model, and after all that
/// of every CPU.
fn hold_only_what_a_tlb_might(steps: &[(Step, usize)]) {
    let mut test = Test::new();
    for &(step, other) in steps {
        test.take(step);
        // A CPU need not notice at once.
        test.settle(other);
        test.check(other);
    }
    for cpu in 0..CPUS {
        test.settle(cpu);
        test.check(cpu);
    }
}

#[test]
fn idte_of_a_segment_that_nobody_accessed_leaves_only_what_a_tlb_might_hold() {
    hold_only_what_a_tlb_might(&[
        (Step::Access(here(0, 0, 0), Access::Fetch), 0),
        (Step::InvalidateSegment(0, 0, 1), 0),
    ]);
}

#[test]
fn spaces_that_are_filled_behind_idte_of_a_segment_hold_only_what_a_tlb_might() {
    let second_segment = Place {
        at: Virtual(SEGMENT + 3 * PAGE),
        ..here(0, 9, 0)
    };
    hold_only_what_a_tlb_might(&[
        (Step::Access(here(1, 2, 3), Access::Fetch), 0),
        (Step::InvalidateSegment(0, 0, 0), 0),
        (Step::Access(second_segment, Access::Execute), 0),
        (Step::Access(here(0, 0, 0), Access::Fetch), 0),
    ]);
}

const fn here(cpu: usize, space: u64, page: u64) -> Place {
    Place {
        cpu,
        space,
        at: Virtual(page * PAGE),
        is_program: false,
    }
}

/// Both CPUs have page 1 and page 2 of spaces 0 and 4, which share a page table.
fn filled() -> Test {
    let mut test = Test::new();
    for cpu in 0..CPUS {
        for (space, page) in [(0, 1), (0, 2), (4, 1), (4, 2)] {
            assert!(test.access(here(cpu, space, page), Access::Fetch, None));
        }
    }
    test
}

/// How many of the eight entries of [`filled`] are left on each CPU.
fn left(test: &mut Test) -> [usize; CPUS] {
    core::array::from_fn(|cpu| {
        test.settle(cpu);
        test.check(cpu);
        valid_entries(&test.cpus[cpu], &test.hardware).len()
    })
}

#[test]
fn ipte_takes_the_entries_that_were_filled_from_one_and_no_other() {
    let mut test = filled();
    assert_eq!(left(&mut test), [4, 4]);
    test.take(Step::Ipte(0, 0, 1));
    assert_eq!(left(&mut test), [2, 2]);
    assert!(test.entry(here(1, 4, 2), Side::Operands).is_some());
}

#[test]
fn idte_that_clears_by_asce_takes_one_space() {
    let mut test = filled();
    test.take(Step::ClearSpace(1, 4));
    assert_eq!(left(&mut test), [2, 2]);
    assert!(test.entry(here(0, 0, 1), Side::Operands).is_some());
}

#[test]
fn ptlb_takes_what_the_tables_no_longer_say_of_its_own_cpu_and_cspg_of_all() {
    let mut test = filled();
    test.take(Step::SetPage(0, 1, PTE_INVALID));
    assert_eq!(left(&mut test), [4, 4]);
    test.take(Step::Ptlb(0));
    // Space 0 is not attached.
    assert_eq!(left(&mut test), [1, 4]);
    test.take(Step::Cspg(0));
    assert_eq!(left(&mut test), [1, 1]);
}

/// Whether each of the eight entries of [`filled`] on CPU 0 outlasts a purge under this PSW, by the space and the page.
fn outlasting(attachment: Attachment, purge: Step) -> [[bool; 2]; 2] {
    let mut test = filled();
    test.attach(0, attachment);
    test.take(purge);
    left(&mut test);
    [0, 4]
        .map(|space| [1, 2].map(|page| test.entry(here(0, space, page), Side::Operands).is_some()))
}

#[test]
fn no_entry_outlasts_a_purge_with_dat_off() {
    for purge in [
        Step::Ptlb(0),
        Step::Spx(0),
        Step::Cspg(0),
        Step::Cspg(1),
        Step::InvalidateSegment(0, 9, 1),
        Step::InvalidateSegment(1, 9, 1),
    ] {
        let found = outlasting(Attachment::NONE, purge);
        assert_eq!(found, [[false; 2]; 2], "{purge:?}");
    }
}

#[test]
fn an_entry_of_a_space_that_is_not_attached_does_not_outlast_a_purge() {
    for purge in [
        Step::Ptlb(0),
        Step::Cspg(0),
        Step::Cspg(1),
        Step::InvalidateSegment(1, 9, 1),
    ] {
        // The last one that was accessed is in control register 1.
        let found = outlasting(Attachment::PRIMARY, purge);
        assert_eq!(found, [[false; 2], [true; 2]], "{purge:?}");
    }
}

#[test]
fn an_entry_of_a_secondary_or_home_space_outlasts_a_purge_while_attached() {
    use AddressSpace::{Home, Primary, Secondary};
    for (space, mode, secondary_space_control, outlasts) in [
        (1, Primary, false, false),
        (1, Primary, true, true),
        (1, Secondary, false, true),
        (1, Home, false, false),
        (1, Home, true, true),
        (2, Primary, true, false),
        (2, Secondary, true, false),
        (2, Home, false, true),
    ] {
        let mut test = Test::new();
        assert!(test.access(here(0, space, 1), Access::Fetch, None));
        assert!(test.access(here(0, 4, 1), Access::Fetch, None));
        let attachment = Attachment {
            dat: true,
            mode,
            secondary_space_control,
        };
        test.attach(0, attachment);
        test.take(Step::Ptlb(0));
        left(&mut test);
        let found = [space, 4].map(|space| test.entry(here(0, space, 1), Side::Operands).is_some());
        assert_eq!(found, [outlasts, true], "{space} {attachment:?}");
    }
}

#[test]
fn set_prefix_of_the_same_prefix_purges() {
    let mut test = filled();
    test.take(Step::SetPage(0, 1, PTE_INVALID));
    test.take(Step::Spx(0));
    assert_eq!(left(&mut test), [0, 4]);
}

#[test]
fn cspg_empties_a_shadow_that_has_more_entries_than_are_looked_at() {
    let mut test = filled();
    for _ in 0..3 {
        // Each fill is still remembered after IPTE has dropped its entry, so it counts as if the entry were
        // there.
        for page in [1, 2] {
            test.take(Step::Ipte(0, 0, page));
            test.take(Step::SetPage(0, page, FRAMES_AT));
            assert!(test.access(here(0, 0, page), Access::Fetch, None));
        }
    }
    test.take(Step::Cspg(1));
    assert_eq!(left(&mut test)[0], 0);
}

#[test]
fn a_first_execution_takes_the_entries_of_its_frame_and_no_other() {
    let mut test = filled();
    assert!(test.access(here(0, 0, 1), Access::Execute, None));
    assert_eq!(left(&mut test), [3, 2]);
}

#[test]
fn a_fill_enters_the_valid_pages_of_its_block_once_the_first_fills_are_behind() {
    /// No storage of the guest.
    const BEYOND: u64 = 0x7FFF_F000;
    let mut test = Test::new();
    for space in [0, 4, 8] {
        for page in 0..3 {
            assert!(test.access(here(0, space, page), Access::Fetch, None));
        }
    }
    assert_eq!(left(&mut test), [9, 0], "each was accessed");
    test.take(Step::SetPage(1, 2, PTE_INVALID));
    test.take(Step::SetPage(1, 3, FRAMES_AT | PTE_PROTECTION));
    test.take(Step::SetPage(1, 4, PAGE));
    test.take(Step::SetPage(1, 5, BEYOND));
    for page in 8..12 {
        test.take(Step::SetPage(1, page, PTE_INVALID));
    }
    let at = Virtual(SEGMENT);
    assert!(test.access(
        Place {
            at,
            ..here(0, 0, 0)
        },
        Access::Store,
        None
    ));
    let entry = |page| {
        test.entry(
            Place {
                at: at.offset(page * PAGE),
                ..here(0, 0, 0)
            },
            Side::Operands,
        )
    };
    assert_eq!(entry(1), Some(FRAMES_AT + 5 * PAGE));
    assert_eq!(entry(2), None, "an invalid page");
    assert_eq!(entry(3), Some(FRAMES_AT | PTE_PROTECTION));
    assert_eq!(entry(4), None, "a page of the prefix area");
    assert_eq!(entry(5), None, "a page that is no storage");
    assert_eq!(entry(9), None, "a page among others that are invalid");
    assert_eq!(entry(6), Some(FRAMES_AT + 10 * PAGE));
    assert!(entry(BLOCK - 1).is_some(), "the last one of the block");
}

#[test]
fn a_translation_that_was_purged_before_it_was_filled_is_not_filled() {
    let mut test = Test::new();
    test.access(here(0, 0, 1), Access::Fetch, Some(1));
    assert_eq!(left(&mut test), [0, 0]);
}

#[test]
fn the_space_that_was_not_used_for_the_longest_time_makes_room() {
    let mut test = Test::new();
    for space in 0..SPACES {
        assert!(test.access(here(0, space, 0), Access::Fetch, None));
        assert!(test.access(here(0, 0, 0), Access::Fetch, None));
    }
    assert_eq!(test.cpus[0].shadow.purges, 0, "never emptied");
    assert!(test.entry(here(0, 0, 0), Side::Operands).is_some());
    assert!(test.entry(here(0, SPACES - 1, 0), Side::Operands).is_some());
}

#[test]
fn a_private_space_is_private_in_hardware_a_real_one_too() {
    let mut test = Test::new();
    for kind in [3, asce::REAL_SPACE] {
        for private in [0, asce::PRIVATE_SPACE] {
            let [cpu, ..] = &mut test.cpus;
            cpu.control[1] = segment_table(2) | kind | private;
            cpu.psw.mask |= DAT;
            load_controls(cpu, &test.configuration, &mut test.hardware);
            let loaded = test.hardware.controls[1];
            assert_eq!(loaded & asce::PRIVATE_SPACE, private);
        }
    }
}

#[test]
fn the_tlb_is_purged_behind_the_change_of_the_tables() {
    let mut test = filled();
    let before = test.hardware.purges;
    for space in 0..SPACES {
        // Some have the storage of others.
        assert!(test.access(here(0, space, 3), Access::Fetch, None));
    }
    let filled = test.hardware.purges;
    assert!(filled > before);
    let [cpu, ..] = &mut test.cpus;
    empty(cpu, &test.configuration, &mut test.hardware);
    empty(cpu, &test.configuration, &mut test.hardware);
    assert_eq!(test.hardware.purges, filled, "not yet");
    test.settle(0);
    assert_eq!(test.hardware.purges, filled + 1);
    test.settle(0);
    assert_eq!(test.hardware.purges, filled + 1);
}
