//! Two CPUs of a machine that keeps what it may between traps, beside the same two of one that keeps nothing.
//!
//! Both execute the same instructions, in several spaces, modes and prefix areas, and purge as the architecture requires: a
//! page-table entry changes only behind IPTE, a segment-table entry behind IDTE or CSPG. What the programs see is the same
//! after each instruction. Where the first machine performs several in one trap, the other performs them one by one.

use super::super::fast_path;
use super::*;
use crate::state::access::{Access, Space};
use crate::state::account::Mode;
use crate::state::configuration::Configuration;
use crate::state::kept::KeptArea;
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::{CpuState, Vcpu};
use crate::storage::scanner::{self, Entry};
use crate::storage::{dat, shadow};
use crate::test_machine::TestMachine;
use crate::{delivery, dispatch};
use arch::address::{Absolute, PAGE, Real, Virtual};
use arch::control;
use arch::psw::{ADDRESSING_64, BASIC_ADDRESSING, HOME_SPACE, Psw, SECONDARY_SPACE};
use arch::table::{PTE_EXECUTION_PROTECTION, PTE_PROTECTION, STE_PROTECTION, TEID_FETCH};
use proptest::prelude::*;

const CPUS: usize = 2;
/// Address spaces, each with a segment table of one segment and a page table; two of them share the last one.
const SPACES: u64 = 4;
const TABLES: u64 = 3;
/// Pages of a segment that are mapped, and the page frames for them, behind those of the prefix areas.
const MAPPED: u64 = 4;
const FRAMES: u64 = 9;
const SEGMENTS_AT: u64 = 0x1_0000;
const PAGES_AT: u64 = 0x1_8000;
const FRAMES_AT: u64 = 0x2_0000;
/// Behind all that is stored into.
const END: usize = 0x3_0000;
const PREFIXES: [u64; 3] = [0, 0x8000, 0xA000];
/// Where an instruction is in its page, and what follows it.
const OFFSETS: [u64; 3] = [0x600, 0x400, 0xFF8];
/// Where operands are in theirs.
const OPERANDS: [u64; 6] = [0x900, 0xA10, 0x208, 0xFF8, 0x10, 0x140];

const MASKS: [u64; 9] = [
    ADDRESSING_64,
    ADDRESSING_64 | DAT,
    ADDRESSING_64 | DAT | HOME_SPACE,
    ADDRESSING_64 | DAT | HOME_SPACE,
    ADDRESSING_64 | DAT | SECONDARY_SPACE,
    ADDRESSING_64 | DAT | PROBLEM,
    ADDRESSING_64 | DAT | PROBLEM | SECONDARY_SPACE,
    BASIC_ADDRESSING | DAT,
    ADDRESSING_64 | DAT | (3 << 52),
];

const fn element(space: u64) -> u64 {
    SEGMENTS_AT + space * 0x1000
}

const fn page_entry(table: u64, page: u64) -> u64 {
    PAGES_AT + table * 0x800 + page * 8
}

/// A page frame that is mapped: one of the prefix areas too.
const fn frame(number: u64) -> u64 {
    match number {
        0..6 => PREFIXES[number as usize / 2] + number % 2 * PAGE,
        _ => FRAMES_AT + (number - 6) * PAGE,
    }
}

/// An instruction, with its operands at the addresses in registers 5 and 6.
#[derive(Clone, Copy, Debug)]
enum Op {
    Stpt,
    Return,
    Stosm(u8),
    Stnsm(u8),
    Ssm(u8),
    Lctlg(u8, u64),
    Lpswe(usize),
    Sac(u8),
    Spx(usize),
    Spka(u8),
    Lra,
    LraSturg,
    Sturg,
    Mvcos(u64, u64),
    Ptlb,
    Svc,
    Csp,
    Stap,
}

#[derive(Clone, Copy, Debug)]
struct At {
    cpu: usize,
    /// The pages of the instruction and of the operands, and the offsets in them.
    text: (u64, usize),
    operand: (u64, usize),
    other: (u64, usize),
    /// Whether the hardware could not fetch the instruction.
    is_missed: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Issue(At, Op),
    /// IPTE, and another entry.
    Map(usize, u64, u64, u64),
    /// IDTE or, if so, CSPG, and another entry.
    Segment(usize, u64, u64, bool),
    /// IDTE that clears by the element.
    Clear(usize, u64),
    /// Loads the PSW from outside.
    Enter(usize, usize),
    /// Something in this frame is executed.
    Execute(u64),
}

fn at() -> impl Strategy<Value = At> {
    let place = || (0..MAPPED, 0..OPERANDS.len());
    (
        0..CPUS,
        (
            0..MAPPED,
            prop_oneof![4 => Just(0), 3 => Just(1), 1 => Just(2)],
        ),
        place(),
        place(),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(cpu, text, operand, other, is_missed)| At {
            cpu,
            text,
            operand,
            other,
            is_missed,
        })
}

fn op() -> impl Strategy<Value = Op> {
    let mask = || prop::sample::select(vec![0x03_u8, 0x04, 0x00, 0xFB, 0xFF, 0xFC]);
    let control = prop::sample::select(vec![1_u8, 7, 13, 1, 7, 0]);
    prop_oneof![
        2 => Just(Op::Stpt),
        4 => Just(Op::Return),
        1 => prop::sample::select(vec![0x03_u8, 0x04, 0x00]).prop_map(Op::Stosm),
        1 => mask().prop_map(Op::Stnsm),
        1 => prop::sample::select(vec![0x04_u8, 0x00]).prop_map(Op::Ssm),
        4 => (control, 0..SPACES).prop_map(|(number, space)| Op::Lctlg(number, space)),
        6 => (0..MASKS.len()).prop_map(Op::Lpswe),
        2 => prop::sample::select(vec![0_u8, 1, 3]).prop_map(Op::Sac),
        1 => (0..PREFIXES.len()).prop_map(Op::Spx),
        1 => prop::sample::select(vec![0_u8, 0, 3]).prop_map(Op::Spka),
        3 => Just(Op::Lra),
        2 => Just(Op::LraSturg),
        2 => Just(Op::Sturg),
        6 => (prop::sample::select(vec![0x81, 0x81_0000, 0x81_0000, 0, 0x1_0001]), prop::sample::select(vec![8, 0x20, 0x100, 0x1000]))
            .prop_map(|(controls, length)| Op::Mvcos(controls, length)),
        1 => Just(Op::Ptlb),
        4 => Just(Op::Svc),
        1 => Just(Op::Csp),
        1 => Just(Op::Stap),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let bits = prop_oneof![
        6 => Just(0),
        1 => Just(PTE_PROTECTION),
        1 => Just(PTE_EXECUTION_PROTECTION),
        1 => Just(PTE_INVALID),
    ];
    prop_oneof![
        30 => (at(), op()).prop_map(|(at, op)| Step::Issue(at, op)),
        3 => (0..CPUS, 0..TABLES, 0..MAPPED, 0..FRAMES, bits)
            .prop_map(|(cpu, table, page, number, bits)| Step::Map(cpu, table, page, frame(number) | bits)),
        1 => (0..CPUS, 0..SPACES, 0..TABLES, any::<bool>(), any::<bool>()).prop_map(|(cpu, space, table, swaps, protects)| {
            let protection = if protects { STE_PROTECTION } else { 0 };
            Step::Segment(cpu, space, page_entry(table, 0) | protection, swaps)
        }),
        1 => (0..CPUS, 0..SPACES).prop_map(|(cpu, space)| Step::Clear(cpu, space)),
        2 => (0..CPUS, 0..MASKS.len()).prop_map(|(cpu, mask)| Step::Enter(cpu, mask)),
        2 => (0..FRAMES).prop_map(Step::Execute),
    ]
}

struct Machine {
    cpus: [Vcpu; CPUS],
    configuration: Configuration,
    hardware: TestMachine,
    /// Whether anything is kept.
    keeps: bool,
}

impl Machine {
    fn new(keeps: bool) -> Self {
        let Bench {
            mut configuration,
            hardware,
            ..
        } = Bench::new();
        configuration.cpus = CPUS as u16;
        configuration.mode = Mode::Exact { shift: 0 };
        let cpus = core::array::from_fn(|number| {
            let mut cpu = Vcpu::new(number as u16, Bench::facility(), Bench::facility());
            cpu.known_as = number as u16;
            cpu.state = CpuState::Operating;
            cpu.psw.mask = ADDRESSING_64;
            cpu.control[0] = bit64(37) | control::CR0_INSTRUCTION_EXECUTION_PROTECTION;
            cpu.control[1] = element(0);
            cpu.control[7] = element(1);
            cpu.control[13] = element(number as u64);
            cpu.prefix = PREFIXES[number];
            cpu
        });
        let mut machine = Self {
            cpus,
            configuration,
            hardware,
            keeps,
        };
        shadow::build_identity(&machine.configuration, &mut machine.hardware);
        for space in 0..SPACES {
            for index in 0..512 {
                machine.set(element(space) + index * 8, STE_INVALID);
            }
            machine.set(element(space), page_entry(space.min(TABLES - 1), 0));
        }
        for table in 0..TABLES {
            for page in 0..256 {
                let value = if page < MAPPED {
                    frame((page + 2 * table) % FRAMES)
                } else {
                    PTE_INVALID
                };
                machine.set(page_entry(table, page), value);
            }
        }
        for prefix in PREFIXES {
            machine.new_psws(prefix);
        }
        machine
    }

    /// The new PSWs of a prefix area, and the LPSWE 410 at 400.
    fn new_psws(&mut self, prefix: u64) {
        let handler = [ADDRESSING_64 | DAT | HOME_SPACE, PAGE + OFFSETS[0]];
        for at in [0x1A0, 0x1B0, 0x1C0, 0x1D0, 0x1E0, 0x1F0] {
            self.set(prefix + at, handler[0]);
            self.set(prefix + at + 8, handler[1]);
        }
        self.set(prefix + 0x400, 0xB2B2_0410_0000_0000);
        self.set(prefix + 0x410, ADDRESSING_64 | DAT | PROBLEM);
        self.set(prefix + 0x418, 2 * PAGE + OFFSETS[0]);
    }

    /// A store of the hardware, by whatever address.
    fn set(&mut self, at: u64, value: u64) {
        scanner::store_into(&self.configuration, &mut self.hardware, Absolute(at));
        self.hardware.store_u64(Absolute(at), value);
    }

    fn parts(&mut self, cpu: usize) -> (&mut Vcpu, &Configuration, &mut TestMachine) {
        (&mut self.cpus[cpu], &self.configuration, &mut self.hardware)
    }

    /// Where the guest's tables lead.
    fn place(&self, cpu: usize, at: Virtual, access: Access) -> Option<Absolute> {
        let cpu = &self.cpus[cpu];
        let real = if cpu.psw.dat() {
            let space = Space::of(cpu, access);
            let (configuration, hardware) = (&self.configuration, &self.hardware);
            let element = space.asce(cpu);
            dat::translate(cpu, configuration, hardware, element, space, at, access)
                .ok()?
                .real
        } else {
            Real(at.0)
        };
        Some(cpu.absolute(real))
    }

    /// The same in the home space, for instructions.
    fn place_in_home(&mut self, cpu: usize, at: Virtual) -> Option<Absolute> {
        let psw = self.cpus[cpu].psw;
        self.cpus[cpu].psw.mask = ADDRESSING_64 | DAT | HOME_SPACE;
        let found = self.place(cpu, at, Access::Execute);
        self.cpus[cpu].psw = psw;
        found
    }

    /// The CPU goes on with its guest; a CPU that has stopped or waits is restarted.
    fn leave(&mut self, cpu: usize) {
        if !self.keeps {
            self.cpus[cpu].forget_translations();
            self.cpus[cpu].kept.area = KeptArea::NONE;
        }
        loop {
            let (cpu, configuration, hardware) = self.parts(cpu);
            hardware.number = cpu.address;
            match dispatch::leave(cpu, configuration, hardware) {
                dispatch::Next::Run => break,
                _ => {
                    // Whatever has happened, the CPU is restarted.
                    cpu.state = CpuState::Operating;
                    cpu.in_a_row = 0;
                    cpu.psw = Psw {
                        mask: ADDRESSING_64,
                        address: 0,
                    };
                    cpu.pending_work |= PendingWork::CONTROLS | PendingWork::ATTENTION;
                }
            }
        }
        if !self.keeps {
            self.cpus[cpu].forget_translations();
            self.cpus[cpu].kept.area = KeptArea::NONE;
        }
    }

    /// The instruction at the address in the PSW traps.
    fn trap(&mut self, number: usize, text: [u8; 8], is_missed: bool) {
        let (cpu, configuration, hardware) = self.parts(number);
        let at = cpu.psw.address;
        let length = insn::length(text[0]) as u64;
        cpu.interruption.cause = (length as u32) << 16 | 2;
        if text[0] == 0x0A {
            cpu.psw.address = (at + length) & cpu.psw.address_mask();
            cpu.interruption.cause = (length as u32) << 16 | u32::from(text[1]);
            dispatch::supervisor_call(cpu, configuration, hardware);
        } else if is_missed {
            let code = 0x11;
            cpu.interruption.cause = 2 << 16 | code;
            cpu.interruption.identification = Virtual(at).page().0 | TEID_FETCH;
            if !fast_path::perform_not_fetched(cpu, configuration, hardware) {
                dispatch::program(cpu, configuration, hardware);
            }
        } else {
            cpu.psw.address = at + length;
            if !fast_path::perform(cpu, configuration, hardware) {
                dispatch::refused(cpu, configuration, hardware);
            }
        }
        let keeps = self.keeps;
        let (cpu, configuration, hardware) = self.parts(number);
        if keeps && cpu.pending_work == PendingWork::SPACE {
            fast_path::perform_first(cpu, configuration, hardware);
        }
        self.leave(number);
    }

    /// What is at the address in the PSW, up to the end of its page, if it can be executed.
    fn text(&self, cpu: usize) -> Option<[u8; 8]> {
        let at = Virtual(self.cpus[cpu].psw.address);
        let room = (PAGE - at.byte_index()).min(8);
        if !at.0.is_multiple_of(2) || room < 4 {
            return None;
        }
        let place = self.place(cpu, at, Access::Execute)?;
        let mut text = [0; 8];
        let bytes = text.get_mut(..room as usize)?;
        self.configuration
            .holds(place, room)
            .then(|| self.hardware.load(place, bytes))?;
        Some(text)
    }

    fn perform(&mut self, number: usize, instruction: Instruction, registers: [u64; 3]) {
        self.leave(number);
        let (cpu, configuration, hardware) = self.parts(number);
        let (psw, general) = (cpu.psw, cpu.general);
        cpu.psw.mask = ADDRESSING_64;
        cpu.general[2..5].copy_from_slice(&registers);
        let done = perform(cpu, configuration, hardware, &instruction);
        assert!(done.is_ok(), "{instruction}");
        (cpu.psw, cpu.general) = (psw, general);
        self.leave(number);
    }

    fn execute(&mut self, at: Absolute, offset: u64) {
        let entry = Entry::At(offset as usize);
        scanner::make_executable(&self.configuration, &mut self.hardware, at.page(), entry);
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Issue(..) => {}
            Step::Map(cpu, table, page, value) => {
                let ipte = Instruction::Ipte {
                    r1: 2,
                    r2: 3,
                    r3: 0,
                    m4: 0,
                };
                self.perform(cpu, ipte, [page_entry(table, 0), page * PAGE, 0]);
                self.set(page_entry(table, page), value);
            }
            Step::Segment(cpu, space, value, swaps) => {
                if swaps {
                    let before = self.hardware.load_u64(Absolute(element(space)));
                    let cspg = Instruction::Cspg { r1: 2, r2: 4 };
                    self.perform(cpu, cspg, [before, value, element(space) | 1]);
                } else {
                    let idte = Instruction::Idte {
                        r1: 2,
                        r2: 3,
                        r3: 4,
                        m4: 0,
                    };
                    self.perform(cpu, idte, [element(space), 0, 0]);
                    self.set(element(space), value);
                }
            }
            Step::Clear(cpu, space) => {
                let idte = Instruction::Idte {
                    r1: 2,
                    r2: 3,
                    r3: 4,
                    m4: 0,
                };
                self.perform(cpu, idte, [0, 0x800, element(space)]);
            }
            Step::Enter(cpu, mask) => {
                self.leave(cpu);
                delivery::load_psw(
                    &mut self.cpus[cpu],
                    Psw {
                        mask: MASKS[mask],
                        address: PAGE,
                    },
                );
                self.leave(cpu);
            }
            Step::Execute(number) => self.execute(Absolute(frame(number)), 0x800),
        }
    }

    /// Prepares an instruction; returns its text unless it cannot be there.
    fn prepare(&mut self, at: At, op: Op) -> Option<[u8; 8]> {
        self.leave(at.cpu);
        let cpu = &mut self.cpus[at.cpu];
        let address = |(page, offset): (u64, usize)| page * PAGE + OPERANDS[offset];
        cpu.psw.address = at.text.0 * PAGE + OFFSETS[at.text.1];
        cpu.general[5] = address(at.operand);
        cpu.general[6] = address(at.other);
        cpu.general[9] = 0x0123_4567_89AB_CDE0;
        let here = Virtual(cpu.psw.address);
        let text: [u8; 8] = match op {
            Op::Stpt => [0xB2, 0x09, 0x50, 0, 0x07, 0xFE, 0, 0],
            Op::Return => [0xB2, 0x09, 0x50, 0, 0x47, 0xF0, 0x04, 0x00],
            Op::Stosm(mask) => [0xAD, mask, 0x50, 0, 0, 0, 0, 0],
            Op::Stnsm(mask) => [0xAC, mask, 0x50, 0, 0, 0, 0, 0],
            Op::Ssm(_) => [0x80, 0, 0x50, 0, 0, 0, 0, 0],
            Op::Lctlg(number, _) => [0xEB, number << 4 | number, 0x50, 0, 0, 0x2F, 0, 0],
            Op::Lpswe(_) => [0xB2, 0xB2, 0x50, 0, 0, 0, 0, 0],
            Op::Sac(code) => [0xB2, 0x19, code, 0, 0, 0, 0, 0],
            Op::Spx(_) => [0xB2, 0x10, 0x50, 0, 0, 0, 0, 0],
            Op::Spka(key) => [0xB2, 0x0A, 0, key << 4, 0, 0, 0, 0],
            Op::Lra => [0xB1, 0x10, 0x60, 0, 0x07, 0xFE, 0, 0],
            Op::LraSturg => [0xB1, 0x10, 0x60, 0, 0xB9, 0x25, 0, 0x91],
            Op::Sturg => [0xB9, 0x25, 0, 0x91, 0, 0, 0, 0],
            Op::Mvcos(..) => [0xC8, 0x70, 0x50, 0, 0x60, 0, 0, 0],
            Op::Ptlb => [0xB2, 0x0D, 0, 0, 0, 0, 0, 0],
            Op::Svc => [0x0A, 7, 0, 0, 0, 0, 0, 0],
            Op::Csp => [0xB2, 0x50, 0, 0x45, 0, 0, 0, 0],
            Op::Stap => [0xB2, 0x12, 0x50, 0, 0, 0, 0, 0],
        };
        if let Op::Mvcos(controls, length) = op {
            (cpu.general[0], cpu.general[7]) = (controls, length);
        }
        if let Op::Sturg = op {
            cpu.general[1] = frame(at.other.0 + 3) + 0x928;
        }
        if let Op::Csp = op {
            (cpu.general[4], cpu.general[5]) = (0, cpu.general[5] & !3 | 1);
        }
        let place = self.place(at.cpu, here, Access::Execute)?;
        if !self.configuration.holds(place, 8) || place.0 < FRAMES_AT && place.0 >= 0xC000 {
            return None;
        }
        self.set(place.0, u64::from_be_bytes(text));
        // The handlers begin with STPT, too.
        let operand = Virtual(self.cpus[at.cpu].general[5]);
        let value: Option<[u64; 2]> = match op {
            Op::Lctlg(0, space) => Some([
                bit64(37)
                    | if space % 2 == 0 {
                        0
                    } else {
                        control::CR0_LOW_ADDRESS_PROTECTION
                    }
                    | if space < 2 {
                        0
                    } else {
                        control::CR0_INSTRUCTION_EXECUTION_PROTECTION
                    },
                0,
            ]),
            Op::Lctlg(_, space) => Some([element(space), 0]),
            Op::Lpswe(mask) => Some([MASKS[mask], PAGE + OFFSETS[0]]),
            Op::Spx(prefix) => Some([PREFIXES[prefix] << 32, 0]),
            Op::Ssm(mask) => Some([u64::from(mask) << 56, 0]),
            _ => None,
        };
        if let Some(value) = value
            && let Some(place) = self.place(at.cpu, operand, Access::Fetch)
            && self.configuration.holds(place, 16)
            && (place.0 < 0xC000 || place.0 >= FRAMES_AT)
        {
            self.set(place.0, value[0]);
            if operand.byte_index() < PAGE - 8 {
                self.set(place.0 + 8, value[1]);
            }
        }
        match op {
            // The handler begins with STPT 0(5).
            Op::Svc => {
                if let Some(place) = self.place_in_home(at.cpu, Virtual(PAGE + OFFSETS[0])) {
                    self.set(place.0, 0xB209_5000_07FE_0000);
                }
            }
            Op::Return => {
                if let Some(place) = self.place(at.cpu, Virtual(0x400), Access::Execute)
                    && self.configuration.holds(place, 0x20)
                {
                    self.set(place.0, 0xB2B2_0410_0000_0000);
                    let mask = MASKS[at.other.1 % MASKS.len()];
                    self.set(place.0 + 0x10, mask);
                    self.set(place.0 + 0x18, PAGE + OFFSETS[0]);
                }
            }
            _ => {}
        }
        if !at.is_missed {
            // The hardware fetches no instruction from a page of data.
            self.execute(place, here.byte_index());
        }
        self.leave(at.cpu);
        (self.text(at.cpu)? == text).then_some(text)
    }

    /// What the programs see.
    fn seen(&self) -> Vec<String> {
        let cpus = self.cpus.iter();
        cpus.map(|cpu| {
            format!(
                "{:x?} {:x?} {:x?} {:x} {:?}",
                cpu.psw, cpu.general, cpu.control, cpu.prefix, cpu.state
            )
        })
        .collect()
    }
}

/// Takes a step on both machines, and compares them.
fn take(kept: &mut Machine, plain: &mut Machine, step: Step) {
    let Step::Issue(at, op) = step else {
        kept.take(step);
        plain.take(step);
        return;
    };
    let texts = [&mut *kept, &mut *plain].map(|machine| machine.prepare(at, op));
    assert_eq!(texts[0], texts[1]);
    let [Some(text), _] = texts else { return };
    let is_missed = at.is_missed && !kept.cpus[at.cpu].psw.problem_state() && text[0] != 0x0A;
    kept.trap(at.cpu, text, is_missed);
    plain.trap(at.cpu, text, is_missed);
    // What the first one has performed in the same trap.
    for _ in 0..3 {
        if kept.cpus[at.cpu].psw == plain.cpus[at.cpu].psw {
            break;
        }
        let Some(text) = plain.text(at.cpu) else {
            break;
        };
        if text[..2] == [0x47, 0xF0] {
            let target = u64::from(u16::from_be_bytes([text[2], text[3]]));
            plain.cpus[at.cpu].psw.address = target;
        } else {
            plain.trap(at.cpu, text, false);
        }
    }
}

proptest! {
    #[test]
    fn a_machine_that_keeps_what_it_may_does_what_one_does_that_keeps_nothing(
        steps in prop::collection::vec(step(), 1..80)
    ) {
        let (mut kept, mut plain) = (Machine::new(true), Machine::new(false));
        for (number, &step) in steps.iter().enumerate() {
            take(&mut kept, &mut plain, step);
            let (one, other) = (kept.seen(), plain.seen());
            prop_assert_eq!(one, other, "step {} {:x?}", number, step);
            let [one, other] = [&kept, &plain].map(|machine| &machine.hardware.storage[..END]);
            prop_assert!(one == other, "step {} {:x?}", number, step);
        }
    }
}
