//! A step: loads a PSW and sixteen registers, and performs instructions until something ends it.

use core::sync::atomic::{AtomicU64, Ordering};

use super::tables::{SPACES, World};
use super::text::{APART, COUNT, CROSSING, DATA, REAL, REAL_NAME, SEQUENCES, SINGLE, SINGLES};
use super::{Random, cpus};
use crate::insn::control::{lctlg_all, stctg_all};
use crate::interruption::{Class, Registers, old_psw};
use crate::lowcore;
use crate::psw::{self, Psw};

/// Fields in the prefix page: the registers of the program, and the registers and the PSW of the step.
const STEP: usize = 0x1380;
const STEP_PSW: usize = 0x740;
/// The control registers that the CPU has loaded: 0, 1, 7 and 13.
const LOADED: usize = 0x760;

/// The initial state of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    cpu: u16,
    psw: Psw,
    /// Control registers 0, 1, 7 and 13.
    control: [u64; 4],
    registers: Registers,
}

/// The event that ended it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    /// Supervisor call, or program interruption.
    class: u64,
    code: u16,
    length: u16,
    mask: u64,
    address: u64,
    identification: u64,
    pub registers: Registers,
}

/// A completed step.
pub(super) struct Trial {
    pub outcome: Outcome,
    pub cpu: u16,
}

/// The addresses of the step for a CPU to perform and of its outcome.
static PRESENT: AtomicU64 = AtomicU64::new(0);

impl Step {
    /// Chooses a step.
    pub(super) fn choose(random: &mut Random, world: &mut World) -> Self {
        if random.one_in(6) {
            let n = random.below(SPACES as u64) as usize;
            world.selected[random.below(3) as usize] = n;
        }
        let space = world.selected.map(|n| world.spaces[n]);
        let control = [world.controls, space[0], space[1], space[2]];
        let dat = !random.one_in(8);
        let mode = random.pick(&[0_u64, 0, 2, 3]);
        let problem = random.one_in(4);
        let (addressing, limit) = match random.below(12) {
            0 if dat => (0, 0xFF_FFFF),
            1 | 2 => (psw::bit(32), 0x7FFF_FFFF),
            _ => (psw::ADDRESSING_64, u64::MAX),
        };
        let (text_space, operand_space) = match mode {
            2 => (space[0], space[1]),
            3 => (space[2], space[2]),
            _ => (space[0], space[0]),
        };
        let page = |random: &mut Random, space| {
            if dat {
                world.page(random, space)
            } else {
                world.frame(random)
            }
        };
        let text = page(random, text_space);
        let (addressing, limit) = if text & limit | 0xFFF == limit {
            // An EXECUTE RELATIVE LONG there would wrap.
            (psw::ADDRESSING_64, u64::MAX)
        } else {
            (addressing, limit)
        };
        let state = if problem { 2 } else { 1 };
        let within = if dat && !problem && random.one_in(12) {
            REAL
        } else {
            SEQUENCES + APART * random.below(COUNT / state)
        };
        let address = (text + within) & limit;
        let mut registers = [0; 16];
        registers[0] = match random.below(8) {
            0 | 1 => 0x1000,
            2..=4 if !problem => controls(random) << 16 | controls(random),
            5 if !problem => 0x830,
            _ => 0,
        };
        registers[1] = 0x0001_0000_0000_0000;
        for register in &mut registers[2..6] {
            let space = if random.one_in(4) {
                random.pick(&space)
            } else {
                operand_space
            };
            *register = page(random, space) + byte(random);
            // The part of the first two pages that low-address protection covers, or the part just beyond it.
            if dat && random.one_in(10) {
                let low = random.pick(&[0x10, 0x48, 0x1F0, 0x1F8, 0x1FC, 0x200, 0x208]);
                *register = *register & !0xF_FFFF_FFFF | random.below(2) << 12 | low;
            }
        }
        registers[6] = page(random, text_space) + SINGLE + 8 * random.below(SINGLES / state);
        registers[7] = world.page_index(random);
        registers[8] = world.frame(random) + byte(random) & !7;
        registers[9] = random.pick(&[0, 1, 8, 16]);
        registers[10] = random.data();
        registers[11] = random.data();
        registers[12] = world.page_table_origin(random);
        registers[14] = 0x0001_0000_0000_0010;
        registers[15] = 0x0001_0000_0000_0000;
        if addressing == 0 {
            // The remainder of an address beyond the end of storage differs between machines.
            for register in &mut registers[2..9] {
                if (world.end..world.end + (1 << 20)).contains(register) {
                    *register -= world.end;
                }
            }
        }
        let dat = if dat { psw::DAT } else { 0 };
        let problem = if problem { psw::PROBLEM } else { 0 };
        let key = random.below(2) << 52;
        let mask = dat | mode << 46 | problem | addressing | key | random.below(4) << 44;
        Self {
            cpu: random.below(world.cpus.min(2).into()) as u16,
            psw: Psw::new(mask, address),
            control,
            registers,
        }
    }

    /// The step, with addresses relative to the end of storage.
    pub(super) fn told(mut self, end: u64) -> Self {
        let values = self.registers.iter_mut().chain(&mut self.control);
        for value in values.chain([&mut self.psw.address]) {
            *value = super::told(*value, end);
        }
        self
    }

    /// The real address of its instructions, as a guess.
    pub(super) fn guess(&self, world: &World) -> Option<u64> {
        if self.psw.mask & psw::DAT == 0 {
            return Some(self.psw.address);
        }
        let space = self.control[if self.psw.mask >> 46 & 3 == 3 { 3 } else { 1 }];
        let frame = world.guess(space, self.psw.address)?;
        Some(frame | self.psw.address & 0xFFF)
    }

    /// Whether an EXECUTE or an EXECUTE RELATIVE LONG of this step may have met this exception, when it fetched its
    /// target or its target accessed an operand, whose bases are registers 2 to 5. Addressing and translation-specification exceptions do not say which page they are about.
    fn may_execute_from(&self, outcome: &Outcome) -> bool {
        // Those bits that the 24-bit addressing mode has.
        let page = |at: u64| at >> 12 & 0xFFF;
        let about = page(outcome.identification);
        match outcome.code {
            5 | 0x12 => true,
            4 | 0x10 | 0x11 | 0x38..=0x3B => {
                // An operand may begin in the page before.
                let of_register = |&at: &u64| about == page(at) || about == page(at + 0x100);
                self.registers[2..=6].iter().any(of_register)
                    || about == page(outcome.address + 0x1000)
            }
            _ => false,
        }
    }

    /// Performs it on its CPU.
    pub(super) fn perform(&self) -> Trial {
        let mut whole = (*self, Outcome::default());
        PRESENT.store(&raw mut whole as u64, Ordering::Relaxed);
        cpus::on(self.cpu, perform, 0);
        // The other CPU has changed it without the compiler's knowledge.
        // SAFETY: a local.
        let (step, outcome) = unsafe { (&raw const whole).read_volatile() };
        Trial {
            outcome,
            cpu: step.cpu,
        }
    }
}

/// Operand-access controls: a space and a key, or not.
fn controls(random: &mut Random) -> u64 {
    let space = random.pick(&[0, 2, 3]) << 6;
    // Not a key that would turn the register into an address near the end of storage.
    random.pick(&[0, 1, 3, 5, 8, 15]) << 12 | space | random.below(4)
}

/// The byte index of an operand: mostly on a boundary, sometimes at the end of the page.
fn byte(random: &mut Random) -> u64 {
    match random.below(8) {
        0 => CROSSING + random.below(4),
        1 => DATA + random.below(0x2EC),
        _ => DATA + 8 * random.below(0x5E),
    }
}

/// Undoes what steps have loaded into control register 0.
pub(super) fn reset(_: &mut u64) {
    let mut control = stctg_all();
    control[0] &= !super::tables::CONTROLS.iter().sum::<u64>();
    lctlg_all(&control);
    lowcore::write(LOADED, [0_u64; 4]);
}

/// Performs the present step on this CPU.
fn perform(_: &mut u64) {
    let whole = PRESENT.load(Ordering::Relaxed) as *mut (Step, Outcome);
    // SAFETY: the requesting CPU waits for this.
    let (step, _) = unsafe { whole.read_volatile() };
    let loaded: [u64; 4] = lowcore::read(LOADED);
    if loaded != step.control {
        let mut control = stctg_all();
        let controls = super::tables::CONTROLS.iter().sum::<u64>();
        control[0] = control[0] & !controls | step.control[0] | super::tables::ONES;
        for (register, value) in [1, 7, 13].into_iter().zip(&step.control[1..]) {
            control[register] = *value;
        }
        lctlg_all(&control);
        lowcore::write(LOADED, step.control);
    }
    lowcore::write(STEP, step.registers);
    lowcore::write(STEP_PSW, step.psw);
    // SAFETY: whatever ends the step resumes at 31, where all registers are loaded again.
    unsafe {
        core::arch::asm!(
            "stmg %r0, %r15, 0x1300(%r0)",
            "larl %r1, 31f",
            "stg %r1, 0x700(%r0)",
            "lmg %r0, %r15, 0x1380(%r0)",
            "lpswe 0x740(%r0)",
            "31:",
            "lmg %r0, %r15, 0x1300(%r0)",
            out("r1") _,
        );
    }
    let class = lowcore::read::<u64>(lowcore::ENDED_BY).wrapping_sub(1);
    let program = class == Class::Program as u64;
    let old = old_psw(if program {
        Class::Program
    } else {
        Class::SupervisorCall
    });
    let mut outcome = Outcome {
        class,
        mask: old.mask,
        address: old.address,
        registers: lowcore::read(lowcore::SAVE + 128 * class as usize),
        ..Outcome::default()
    };
    if program {
        outcome.code = lowcore::read(lowcore::PROGRAM_CODE);
        outcome.length = lowcore::read::<u16>(lowcore::PROGRAM_LENGTH) & 6;
        if matches!(outcome.code, 4 | 0x10 | 0x11 | 0x38..=0x3B) {
            outcome.identification = lowcore::read(lowcore::TRANSLATION_EXCEPTION);
        }
        // Instruction-execution protection prevented the fetch of an instruction.
        if outcome.code == 4 && outcome.identification & 0x84 == 0x84 {
            outcome.address = outcome.address.wrapping_sub(outcome.length.into());
            outcome.length = 0;
        }
    } else {
        outcome.code = lowcore::read(lowcore::SVC_CODE);
        outcome.length = lowcore::read::<u16>(lowcore::SVC_LENGTH) & 6;
    }
    if program && step.may_execute_from(&outcome) {
        // After a suppression the address is behind the instruction.
        if matches!(outcome.code, 4 | 5 | 0x12) {
            outcome.address = outcome.address.wrapping_sub(outcome.length.into());
        }
        outcome.length = 0;
    }
    // Keeps only whether there is a real address, and which.
    if outcome.registers[13] == REAL_NAME {
        if program || old.condition_code() != 0 {
            outcome.registers[10] = u64::MAX;
        }
        let registers = outcome.registers;
        outcome = Outcome {
            registers,
            ..Outcome::default()
        };
    }
    // SAFETY: as above.
    unsafe { (&raw mut (*whole).1).write_volatile(outcome) };
}

impl Outcome {
    /// Whether the whole sequence was performed.
    pub(super) const fn has_completed(&self) -> bool {
        self.class == Class::SupervisorCall as u64
    }

    /// The accesses to storage that were made, at least.
    pub(super) const fn accesses(&self) -> u64 {
        let name = self.registers[13];
        if name == REAL_NAME {
            2
        } else if self.has_completed() {
            2 + (name >> 8)
        } else if name != 0 {
            3
        } else {
            1
        }
    }

    /// Everything that must be the same. Addresses are relative to the end of storage.
    pub(super) fn told(self, end: u64) -> [u64; 20] {
        let mut all = [0; 20];
        all[0] = self.class << 32 | u64::from(self.code) << 16 | u64::from(self.length);
        all[1..4].copy_from_slice(&[self.mask, self.address, self.identification]);
        all[4..].copy_from_slice(&self.registers);
        // Otherwise the loaded value is not an address.
        let loaded = all[14];
        if all[17] == REAL_NAME {
            return all.map(|value| super::told(value, end));
        }
        let mut all = all.map(|value| super::told(value, end));
        all[14] = loaded;
        all
    }
}
