//! A whole virtual CPU in the hands of chance: random text, registers, control registers, PSWs, tables and lowcores,
//! interrupted by every class, with channel programs and a device.
//!
//! The array machine ends the test at an access outside of guest storage and the HSA. After the steps no entry of the
//! shadow leads anywhere but to guest storage, the machine's own prefix area and the code copies, what is never changed
//! in the HSA has not changed, and no count has gone back. `MILLIMETER_STEPS` names another number of steps than the
//! usual one, and `MILLIMETER_SEED` another beginning.

use crate::channel::virtio::attention;
use crate::dispatch::{self, Next};
use crate::external_means;
use crate::hardware::Hardware;
use crate::state::device::ROOM_LENGTH;
use crate::state::pending_work::PendingWork;
use crate::state::shadow::Side;
use crate::state::vcpu::CpuState;
use crate::storage::shadow::whole::{astray_in_own_tables, astray_in_shared_tables};
use crate::storage::shadow::{build_identity, valid_entries};
use crate::test_machine::{Bench, Subchannel};
use crate::test_random::Random;
use arch::address::{Absolute, PAGE, PREFIX_AREA, Virtual};
use arch::channel::{IoInterruption, PMCW_DEVICE_VALID};
use arch::cpu::MAXIMUM_CPUS;
use arch::interruption::Class;
use arch::psw::{self, Psw};
use arch::table::{PTE_FRAME, PTE_INVALID, PTE_PROTECTION};
use command::Change;
use cpumf::CounterSets;

/// The usual number of steps.
const STEPS: u64 = 2_000_000;
/// Steps on one machine. The next ones begin with a new machine, and a seed that the message of a failure names.
const STEPS_OF_A_MACHINE: u64 = 500;
/// Guest storage.
const END: u64 = 4 << 20;
/// Where the guest's text, tables, programs and data are.
const TEXT: u64 = 0x6000;
const TABLES: u64 = 0x2_0000;
const PAGE_TABLE: u64 = 0x2_4000;
const PROGRAMS: u64 = 0x1_0000;
const DATA: u64 = 0x3_0000;

impl Random {
    /// An address or a length that something may depend on.
    fn value(&mut self) -> u64 {
        let near = [
            0,
            8,
            0x100,
            0x1000,
            0x1FF8,
            0x2000,
            TEXT,
            TABLES,
            TABLES | 3,
            PROGRAMS,
            DATA,
            DATA + 1,
            END - 1,
            END - 8,
            END - 0x1000,
            END,
            END + 8,
            1 << 31,
            1 << 32,
            u64::MAX,
            u64::MAX - 7,
            1,
            2,
            3,
            16,
            255,
            4096,
        ];
        match self.below(8) {
            0 => self.next(),
            1 => self.next() & 0xFFFF_FFFF,
            2 => self.below(END),
            _ => self.one_of(&near),
        }
    }
}

/// The first halfwords of instructions that the machine performs, or looks at.
const OPCODES: [u16; 96] = [
    0xB202, 0xB204, 0xB205, 0xB206, 0xB207, 0xB208, 0xB209, 0xB20A, 0xB20B, 0xB20D, 0xB210, 0xB211,
    0xB212, 0xB218, 0xB219, 0xB21A, 0xB221, 0xB222, 0xB223, 0xB224, 0xB225, 0xB226, 0xB227, 0xB229,
    0xB22A, 0xB22B, 0xB22C, 0xB22E, 0xB230, 0xB231, 0xB232, 0xB233, 0xB234, 0xB235, 0xB236, 0xB238,
    0xB239, 0xB23A, 0xB23B, 0xB23C, 0xB240, 0xB246, 0xB247, 0xB248, 0xB249, 0xB24A, 0xB24B, 0xB24C,
    0xB250, 0xB254, 0xB257, 0xB25F, 0xB276, 0xB278, 0xB279, 0xB27C, 0xB27D, 0xB280, 0xB284, 0xB285,
    0xB286, 0xB287, 0xB28E, 0xB2B0, 0xB2B1, 0xB2B2, 0xB2E0, 0xB2E1, 0xB2E4, 0xB2E5, 0xB2EC, 0xB2ED,
    0xB98A, 0xB98D, 0xB98E, 0xB99E, 0xB9A2, 0xB9AA, 0xB9AF, 0xB9BD, 0xE500, 0xE501, 0xE50E, 0xE50F,
    0xEB25, 0xEB2F, 0xEB17, 0x8000, 0x8200, 0x8300, 0xAC00, 0xAD00, 0xAE12, 0x4400, 0xC600, 0x0A00,
];

/// Program-interruption codes that the hardware presents.
const CODES: [u16; 24] = [
    1, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7, 0x10, 0x11, 0x12, 0x13, 0x38, 0x39, 0x3A, 0x3B, 0x40, 0x80,
    0x81, 0x15, 0x0D,
];

/// Tables of a space in which each address is its own: a segment table and a page table, which the guest changes later.
fn build_tables(bench: &mut Bench) {
    bench.set_doublewords(TABLES, &[PAGE_TABLE; 4]);
    let pages: Vec<u64> = (0..256).map(|page| page * PAGE).collect();
    bench.set_doublewords(PAGE_TABLE, &pages);
    for control in [1, 7, 13] {
        bench.cpu.control[control] = TABLES | 3;
    }
}

/// The guest changes its storage, its registers and its PSW in every way.
fn change(bench: &mut Bench, random: &mut Random) {
    for _ in 0..random.below(4) {
        let at = match random.below(6) {
            0 => random.below(0x2000),
            1 => random.one_of(&[TABLES, PAGE_TABLE]) + random.below(0x800),
            2 => PROGRAMS + random.below(0x200),
            3 => TEXT + random.below(0x2000),
            4 => DATA + random.below(0x2000),
            _ => random.below(END - 8),
        };
        let value = random.value();
        bench.hardware.store_u64(Absolute(at & !7), value);
    }
    let register = random.below(16) as usize;
    bench.cpu.general[register] = random.value();
    if random.one_in(6) {
        let control = random.below(16) as usize;
        let value = random.value() ^ random.one_of(&[0, 1 << 61, 0xFF00_0000]);
        let is_space = matches!(control, 1 | 7 | 13) && !random.one_in(8);
        bench.cpu.control[control] = if is_space { TABLES | 3 } else { value };
        bench.cpu.pending_work |= PendingWork::CONTROLS;
    }
    if random.one_in(20) {
        // The guest's own test of an impossible prefix is elsewhere.
        bench.cpu.prefix = random.one_of(&[0, 0x2000, 0x4000, END - 0x2000]);
        bench.cpu.pending_work |= PendingWork::CONTROLS;
    }
    if random.one_in(3) {
        let masks = [
            psw::DAT,
            psw::PROBLEM,
            psw::EXTERNAL,
            psw::IO,
            psw::PER,
            psw::WAIT,
            psw::MACHINE_CHECK,
        ];
        let mut mask = random.one_of(&[psw::ADDRESSING_64, psw::BASIC_ADDRESSING, 0]);
        for bit in masks {
            if random.one_in(4) {
                mask |= bit;
            }
        }
        mask |= random.one_of(&[0, 1 << 46, 2 << 46, 3 << 46]);
        let address = match random.below(4) {
            0 => random.value(),
            _ => TEXT + random.below(0x1000) / 2 * 2,
        };
        bench.cpu.psw = Psw { mask, address };
        bench.cpu.pending_work |= PendingWork::CONTROLS | PendingWork::ATTENTION;
    }
}

/// Puts an instruction where the PSW is, as far as that is in storage; returns its length.
fn place(bench: &mut Bench, random: &mut Random) -> u64 {
    let opcode = random.one_of(&OPCODES).to_be_bytes();
    let rest = random.next().to_be_bytes();
    let low = |byte: u8| byte & 0x0F;
    let text = [
        opcode[0],
        opcode[1],
        rest[0],
        low(rest[1]),
        rest[2],
        rest[3],
    ];
    let at = bench.cpu.psw.address;
    if at < END - 8 {
        bench.set(at, &text);
    }
    2 * [1, 2, 2, 3][usize::from(text[0] >> 6)]
}

/// One interruption of the hardware, all that the machine does for it, and the way out.
fn step(bench: &mut Bench, random: &mut Random) {
    change(bench, random);
    let length = place(bench, random);
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    hardware.tod = hardware.tod.wrapping_add(random.below(1 << 20));
    hardware.timer = random.value();
    cpu.account.entered = cpu.account.left.wrapping_add(random.below(1 << 16));
    let class = match random.below(12) {
        0 => Class::SupervisorCall,
        1 => Class::External,
        2 => Class::InputOutput,
        _ => Class::Program,
    };
    let code = random.one_of(&CODES);
    cpu.interruption.old = Psw {
        mask: dispatch::real_psw(cpu).mask ^ random.one_of(&[0, 1 << 44, 2 << 44]),
        address: cpu.psw.address.wrapping_add(length),
    };
    cpu.interruption.cause = (length as u32) << 16 | u32::from(code);
    // An access exception names the page of the instruction or of an operand.
    let page = match random.below(3) {
        0 => random.value(),
        1 => cpu.general[random.below(16) as usize],
        _ => cpu.psw.address,
    };
    cpu.interruption.identification = page & !0xFFF | random.below(0x1000);
    cpu.interruption.parameter = random.next() as u32;
    cpu.interruption.access = random.next() as u8;
    dispatch::take_over(cpu);
    dispatch::enter(cpu, configuration, hardware, class);
    match class {
        Class::Program => {
            dispatch::program(cpu, configuration, hardware);
        }
        Class::SupervisorCall => dispatch::supervisor_call(cpu, configuration, hardware),
        Class::External => {
            cpu.pending.interrupt_key |= random.one_in(2);
            let change = random.one_of(&[
                Change::InterruptKey,
                Change::LoseSampleData,
                Change::BasicSampling(true),
                Change::Counters(CounterSets::HONEST, true),
            ]);
            let _ = external_means::ask(configuration, 0, change);
            external_means::make_changes(cpu, configuration, hardware);
            cpu.pending_work |= PendingWork::ATTENTION;
        }
        _ => {
            let interruption = IoInterruption {
                subsystem: 0x1_0000,
                parameter: random.next() as u32,
                identification: random.next() as u32,
            };
            attention::taken(configuration, hardware, interruption);
            cpu.pending_work |= PendingWork::ATTENTION;
        }
    }
    for _ in 0..100 {
        match dispatch::leave(cpu, configuration, hardware) {
            Next::Run => return,
            Next::Wait => cpu.psw.mask &= !psw::WAIT,
            _ => {
                cpu.state = CpuState::Operating;
                cpu.psw = Psw {
                    mask: psw::ADDRESSING_64,
                    address: TEXT,
                };
            }
        }
        cpu.pending_work |= PendingWork::ATTENTION | PendingWork::CONTROLS;
    }
}

/// Every entry of the shadow leads to guest storage, to the machine's prefix area in the place of absolute 0, or, for
/// instructions and read-only, to a code copy.
fn check_shadow(bench: &Bench, seed: u64) {
    let frames = &bench.configuration.page_frames;
    let copies = frames.copies.0..frames.copies.0 + frames.owners.len() as u64 * PAGE;
    let entries = valid_entries(&bench.cpu, &bench.hardware);
    let entries = entries
        .into_iter()
        .map(|(_, side, at, entry)| (side, at, entry));
    let shadow = &bench.configuration.shadow;
    let identity = Side::BOTH.into_iter().flat_map(|side| {
        // Those of the first segment are each CPU's own.
        (256..END / PAGE).map(move |page| {
            let at = shadow.identity_table(0, side).offset(page * 8);
            (side, Virtual(page * PAGE), bench.hardware.hsa_load(at))
        })
    });
    let all = entries.chain(identity);
    for (side, at, entry) in all.filter(|(_, _, entry)| entry & PTE_INVALID == 0) {
        let frame = entry & PTE_FRAME;
        let is_copy = copies.contains(&frame);
        let is_protected = entry & PTE_PROTECTION != 0;
        let is_good = (PREFIX_AREA..END).contains(&frame)
            || (END..END + PREFIX_AREA).contains(&frame)
            || is_copy && matches!(side, Side::Instructions) && is_protected;
        assert!(is_good, "seed {seed}: {side:?} {at:?} leads to {frame:x}");
    }
}

/// Steps on a new machine.
fn run(seed: u64, steps: u64) {
    let mut random = Random(seed | 1);
    let mut bench = Bench::new();
    build_tables(&mut bench);
    build_identity(&bench.configuration, &mut bench.hardware);
    let mut device = Subchannel {
        model: 2,
        ..Subchannel::default()
    };
    device.schib[1] = PMCW_DEVICE_VALID;
    bench.hardware.subchannels = vec![device];
    bench.cpu.pending_work |= PendingWork::CONTROLS;
    let prefixes = (PREFIX_AREA * MAXIMUM_CPUS as u64) as usize;
    let before = bench.hardware.hsa[..prefixes].to_vec();
    let rooms = bench.hardware.hsa.len() - ROOM_LENGTH as usize;
    assert!(rooms > prefixes);
    let mut counted = [0; 2];
    for number in 0..steps {
        step(&mut bench, &mut random);
        let cycles = bench.cpu.account.cycles;
        assert!(
            cycles[0] >= counted[0] && cycles[1] >= counted[1],
            "seed {seed}, step {number}: a count has gone back"
        );
        counted = cycles;
        if number % 100 == 0 {
            check_shadow(&bench, seed);
        }
    }
    check_shadow(&bench, seed);
    let (configuration, hardware) = (&bench.configuration, &bench.hardware);
    let shared = astray_in_shared_tables(configuration, hardware);
    let own = astray_in_own_tables(&bench.cpu, configuration, hardware);
    assert_eq!((shared, own), (None, None), "{seed}");
    assert!(
        bench.hardware.hsa[..prefixes] == before[..],
        "seed {seed}: a prefix area has changed"
    );
}

fn number(variable: &str, usual: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn whatever_a_guest_does_the_machine_stays_whole() {
    let steps = number("MILLIMETER_STEPS", STEPS);
    let first = number("MILLIMETER_SEED", 1);
    for machine in 0..steps.div_ceil(STEPS_OF_A_MACHINE) {
        let seed = (first + machine).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        run(seed, STEPS_OF_A_MACHINE);
    }
}
