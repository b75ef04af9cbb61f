//! Measures at IPL what the clock of the machine below counts.
//!
//! An instruction-counting clock advances 2^N ns with each instruction. Guest time is then the number of
//! instructions, once two things are known: how many instructions a trap itself takes, and which traps charge the
//! instruction that caused them. To find out, known sequences run in problem state between the same few
//! instructions that enclose a guest, in guest storage that is not used yet.
//!
//! Where the counter facility of the machine below counts instead, the same sequences show which traps it charges.

use crate::arch::address::PAGE;
use crate::arch::control::CR8_MONITOR;
use crate::arch::interruption::{Class, ProgramInterruption};
use crate::arch::psw::{ADDRESSING_64, PROBLEM, PROGRAM_MASK, Psw};
use crate::arch::tod::{UNITS_PER_MICROSECOND, nanoseconds};
use crate::guest::hardware::Hardware;
use crate::guest::state::account::{Charges, Mode, measured_speed};
use crate::guest::storage::Piece;
use crate::machine::hardware::counting;
use crate::machine::hardware::hsa::Plan;
use crate::machine::hardware::lowcore;
use crate::machine::ipl::probe::{Probed, probe};
use crate::machine::ipl::staged;
use crate::machine::native::Native;

/// Where the sequences are: guest storage that is cleared afterwards.
pub(super) const SEQUENCE: u64 = 0x1_0000;

/// The offset from there of a doubleword, and more, for instructions that fetch and store. General register 1 designates it.
pub(super) const OPERANDS: u64 = 0x800;

/// The storage of the sequences.
pub fn storage(plan: &Plan) -> Option<Piece> {
    staged::guest_storage(plan, SEQUENCE, PAGE)
}

/// Two bytes that do nothing: BCR 0,0.
const NO_OPERATION: [u8; 2] = [0x07, 0x00];

/// SUPERVISOR CALL 0, which completes and ends a sequence.
const SUPERVISOR_CALL: [u8; 2] = [0x0A, 0x00];

/// Number of instructions without effect in a sequence.
const PLAIN: u64 = 40;

/// An address at which no machine has storage.
const BEYOND: u64 = 1 << 62;
/// The code of an addressing exception.
const ADDRESSING: u16 = ProgramInterruption::Addressing.code();

/// The program entry tests the old PSW's problem-state bit before it takes its stamp: TM and a branch. The entries of
/// restart and machine check do so, too, and load a register instead of branching from a copy of their own.
const PROGRAM_EXTRA: u64 = 2;

/// Stores `plain` instructions without effect, followed by `last`, and runs them.
pub(super) fn run(
    native: &mut Native,
    storage: Piece,
    plain: u64,
    last: &[u8],
    program_mask: u64,
) -> Probed {
    for index in 0..plain {
        native.store(storage.at(index * 2), &NO_OPERATION);
    }
    native.store(storage.at(plain * 2), last);
    let mut registers = [0u64; 16];
    // The operands, and an EXECUTE target.
    registers[1] = SEQUENCE + OPERANDS;
    registers[2] = SEQUENCE + 0x900;
    registers[3] = BEYOND;
    registers[4] = 0x7FFF_FFFF;
    let psw = Psw {
        mask: PROBLEM | ADDRESSING_64 | (program_mask & PROGRAM_MASK),
        address: SEQUENCE,
    };
    probe(psw, &registers)
}

fn span(probed: &Probed) -> u64 {
    nanoseconds(probed.entered.wrapping_sub(probed.left))
}

/// What counts the instructions of a sequence.
#[derive(Clone, Copy)]
pub enum Meter {
    /// The clock, which advances 2^shift ns with each of them, and also with those of the trap.
    Clock {
        /// The shift.
        shift: u32,
    },
    /// The counter facility of the machine below, which counts those of the problem state.
    Facility,
}

impl Meter {
    /// Stores and runs a sequence. Returns the program-interruption code, and how many instructions were charged.
    fn run(
        self,
        native: &mut Native,
        storage: Piece,
        plain: u64,
        last: &[u8],
        program_mask: u64,
    ) -> (u16, u64) {
        match self {
            Self::Clock { shift } => {
                let probed = run(native, storage, plain, last, program_mask);
                (probed.code, span(&probed) >> shift)
            }
            Self::Facility => {
                let [_, before] = counting::read();
                let probed = run(native, storage, plain, last, program_mask);
                let [_, after] = counting::read();
                (probed.code, after.wrapping_sub(before))
            }
        }
    }
}

/// Whether the counter facility of the machine below, which has been activated, counts every instruction of a sequence.
pub fn facility_counts(native: &mut Native, storage: Piece) -> bool {
    let mut count = |plain| {
        let (_, counted) = Meter::Facility.run(native, storage, plain, &SUPERVISOR_CALL, 0);
        counted
    };
    let short = count(PLAIN);
    short >= PLAIN
        && [1, 100, 777]
            .into_iter()
            .all(|more| count(PLAIN + more) == short + more)
}

/// BRANCH RELATIVE ON COUNT of register 5 to itself, and SUPERVISOR CALL 0.
const LOOP: [u8; 6] = [0xA7, 0x57, 0, 0, 0x0A, 0];

/// How often a loop is timed. The shortest time is that of a run that nothing interrupted.
const REPETITIONS: u32 = 8;

/// A loop is long enough if it takes as many clock units as these 40 microseconds: reading the clock takes far less. A much
/// longer one would be interrupted each time.
const LONG_ENOUGH: u64 = 40 * UNITS_PER_MICROSECOND;

/// Passes of the first loop that is tried, and the most.
const FIRST_PASSES: u64 = 50_000;
const MOST_PASSES: u64 = FIRST_PASSES << 10;

/// How many cycles the counter facility of the machine below, which has been activated, counts per microsecond of the clock.
pub fn facility_speed(native: &mut Native, storage: Piece) -> Option<u32> {
    native.store(storage.start(), &LOOP);
    // The shortest time of so many passes, with the cycles that were counted then.
    let time = |passes| {
        let mut shortest = (u64::MAX, 0);
        for _ in 0..REPETITIONS {
            let mut registers = [0; 16];
            registers[5] = passes;
            let psw = Psw {
                mask: PROBLEM | ADDRESSING_64,
                address: SEQUENCE,
            };
            let [before, _] = counting::read();
            let probed = probe(psw, &registers);
            let [after, _] = counting::read();
            let units = probed.entered.wrapping_sub(probed.left);
            shortest = shortest.min((units, after.wrapping_sub(before)));
        }
        shortest
    };
    // Both times include that of the trap, but their difference does not.
    let (short, short_cycles) = time(1);
    let mut passes = FIRST_PASSES;
    loop {
        let (long, long_cycles) = time(passes);
        let units = long.saturating_sub(short);
        if units >= LONG_ENOUGH || passes >= MOST_PASSES {
            return measured_speed(long_cycles.saturating_sub(short_cycles), units);
        }
        passes *= 2;
    }
}

/// Finds the mode: exact if the clock advances 2^`shift` ns with each instruction.
pub fn find_mode(native: &mut Native, storage: Piece, shift: Option<u32>) -> Mode {
    let Some(shift) = shift.filter(|&shift| shift < 16) else {
        return Mode::RealTime;
    };
    for more in [1u64, 100, 777] {
        let short = span(&run(native, storage, PLAIN, &SUPERVISOR_CALL, 0));
        let long = span(&run(native, storage, PLAIN + more, &SUPERVISOR_CALL, 0));
        if long.wrapping_sub(short) != more << shift {
            return Mode::RealTime;
        }
    }
    Mode::Exact { shift }
}

/// Measures what traps take, by the clock.
fn overhead(native: &mut Native, storage: Piece, shift: u32) -> Charges {
    let mut charges = Charges::default();
    // A supervisor call completes and counts as one instruction; the rest belongs to the trap.
    let (_, ticks) = Meter::Clock { shift }.run(native, storage, PLAIN, &SUPERVISOR_CALL, 0);
    let plain_trap = ticks.saturating_sub(PLAIN + 1);
    charges.overhead = [plain_trap; 6];
    for class in [Class::Program, Class::Restart, Class::MachineCheck] {
        charges.overhead[class as usize] = plain_trap + PROGRAM_EXTRA;
    }
    charges.supervisor_call = 1;
    // The program's first instruction is STORE CLOCK FAST, which shows its own tick as well.
    let probed = run(native, storage, 0, &[0xB2, 0x7C, 0x10, 0, 0x0A, 0], 0);
    let shown = native.load_u64(storage.at(OPERANDS));
    charges.exit = (nanoseconds(shown.wrapping_sub(probed.left)) >> shift).saturating_sub(1);
    charges
}

/// Measures what traps take and charge.
pub fn charges(native: &mut Native, storage: Piece, meter: Meter) -> Charges {
    let mut charges = match meter {
        Meter::Clock { shift } => overhead(native, storage, shift),
        Meter::Facility => {
            let (_, counted) = meter.run(native, storage, PLAIN, &SUPERVISOR_CALL, 0);
            Charges {
                supervisor_call: counted.saturating_sub(PLAIN) as u8,
                ..Charges::default()
            }
        }
    };
    let program = charges.overhead[Class::Program as usize] + PLAIN;
    let measure = |native: &mut Native, text: &[u8], mask: u64| {
        let (code, charged) = meter.run(native, storage, PLAIN, text, mask);
        (code, charged.saturating_sub(program) as u8)
    };
    let fixed_point_overflow = 0x0800_0000_0000;
    for (text, mask) in [
        // An unassigned opcode; a privileged instruction (SSM); EXECUTE of an EXECUTE.
        (&[0xB9, 0xF3, 0, 0][..], 0),
        (&[0x80, 0, 0x10, 0][..], 0),
        // Specification: MULTIPLY with an odd register pair. Data: CONVERT TO BINARY of zeros.
        (&[0x1C, 0x30][..], 0),
        (&[0x4F, 0x30, 0x10, 0][..], 0),
        // Fixed-point overflow and fixed-point divide.
        (&[0x1A, 0x44][..], fixed_point_overflow),
        (&[0x1D, 0x66][..], 0),
    ] {
        let (code, charged) = measure(native, text, mask);
        // If the machine below does not recognize an exception, the sequence reaches a supervisor call.
        if code != 0 {
            charges.set(code, charged);
        }
    }
    // COMPARE AND TRAP of a register and itself.
    let (code, charged) = measure(native, &[0xB9, 0x72, 0x80, 0x44], 0);
    charges.compare_and_trap = if code == ProgramInterruption::Data.code() {
        charged
    } else {
        charges.of(ProgramInterruption::Data.code()) as u8
    };
    // A monitor event, of class 0.
    native.load_control(8, CR8_MONITOR);
    let (code, charged) = measure(native, &[0xAF, 0, 0, 0], 0);
    native.load_control(8, 0);
    charges.set(code, charged);
    // EXECUTE of a privileged instruction, against the instruction alone.
    native.store(storage.at(0x900), &[0x80, 0, 0x10, 0]);
    let (_, executed) = measure(native, &[0x44, 0, 0x20, 0], 0);
    charges.execute = executed.saturating_sub(charges.program[2]);
    // EXECUTE of a target beyond the end of storage, and of LOAD from there.
    let (code, charged) = measure(native, &[0x44, 0, 0x30, 0], 0);
    if code == ADDRESSING {
        charges.target_fetch = charged;
    }
    native.store(storage.at(0x900), &[0x58, 0x50, 0x30, 0]);
    let (code, charged) = measure(native, &[0x44, 0, 0x20, 0], 0);
    if code == ADDRESSING {
        charges.target_operand = charged;
    }
    // The facility below charges no overhead from which one could be taken.
    charges.charge_refused();
    charges
}

/// Clears what the sequences left in guest storage.
pub fn clear(native: &mut Native, storage: Piece) {
    native.store(storage.start(), &[0; 4096]);
}
