//! Random instructions, each executed on its own because its registers are recorded.
//!
//! A program is a few dozen instructions: arithmetic, loads and stores, branches over the next one, branches to
//! themselves, EXECUTEs, and some that end with an exception. It is executed twice from the same registers: once with
//! every fetch and the alteration of randomly chosen registers recorded, and once with nothing recorded. With
//! recording, each interruption must indicate that a chosen register was altered exactly if the instruction has placed a
//! value in one, or if it failed and one differs from its contents at the interruption before. Both runs must end with the same registers, storage, condition code and
//! number of exceptions. So no instruction was executed twice, and none was skipped.
#![no_std]
#![no_main]

use guests::check::check;
use guests::interruption::{Class, Registers, old_psw, set_old_psw};
use guests::lowcore;
use guests::psw::INITIAL;
use guests::recording::{self, FETCH, OPERANDS, REGISTERS, Run};
use guests::workload::text::Generator;

guests::clause!(
    "System/370 Principles of Operation, Program-Event Recording, General-Register Alteration",
    native = false,
    options = "--no-sampling"
);
guests::guest!(run);

/// What a test writes into the guest's file before it is IPLed.
#[repr(C)]
struct Parameters {
    /// The mark by which a test finds them.
    mark: [u8; 24],
    seed: u64,
    /// How many instructions are executed one at a time.
    instructions: u64,
}

#[used]
static mut PARAMETERS: Parameters = Parameters {
    mark: *b"random instructions from",
    seed: 11,
    instructions: 100_000,
};

/// Bytes of a program.
const LENGTH: usize = 160;
/// Bytes of its storage: the longest operand begins within the first 512.
const OPERANDS_LENGTH: usize = 512 + 32;

/// What the interruptions of a program have shown.
struct Seen {
    registers: Registers,
    masks: u16,
    steps: u64,
    exceptions: u64,
    wrong: u64,
    /// Instructions that changed a register in which they place nothing, by the model here.
    unplaced: u64,
}

static mut SEEN: Seen = Seen {
    registers: [0; 16],
    masks: 0,
    steps: 0,
    exceptions: 0,
    wrong: 0,
    unplaced: 0,
};

/// Compares the registers with those of the last interruption.
extern "C" fn compare(registers: &mut Registers) {
    let code: u16 = lowcore::read(lowcore::PROGRAM_CODE);
    let events: u8 = lowcore::read(lowcore::PER_CODE);
    // SAFETY: one CPU, disabled.
    let seen = unsafe { &mut *(&raw mut SEEN) };
    let mut altered = 0_u16;
    for (before, after) in seen.registers.iter().zip(registers.iter()) {
        altered = altered << 1 | u16::from(before != after);
    }
    seen.registers = *registers;
    if code == 0x80 {
        let at: u64 = lowcore::read(lowcore::PER_ADDRESS);
        let placed = placed(at);
        seen.unplaced += u64::from(altered & !placed != 0);
        altered = placed;
    }
    if code & 0x80 != 0 {
        seen.steps += 1;
        let indicated = events & 0x10 != 0;
        if indicated != (altered & seen.masks != 0) || events & !0x10 != 0x40 {
            if seen.wrong == 0 {
                guests::println!(
                    "at {:x}: code {code:04x}, events {events:02x}, altered {altered:04x} of {:04x}",
                    old_psw(Class::Program).address - recording::text(),
                    seen.masks
                );
            }
            seen.wrong += 1;
        }
    }
    note(code, registers);
}

/// The registers in which an instruction of [`compose`] places values, as the description of each says.
fn placed(at: u64) -> u16 {
    // SAFETY: the text of the program, which nobody changes, and six bytes of it.
    let [first, second, _, fourth, _, last] = unsafe { (at as *const [u8; 6]).read() };
    let r1 = |fields: u8| 0x8000 >> (fields >> 4);
    match first {
        // The target of EXRL is at 10 or more bytes behind it; its address has the displacement in its last byte.
        0xC6 => placed(at + 2 * u64::from(last)),
        0xB9 => r1(fourth),
        // BCTR, NR to LR, AR, SR, LTR.
        0x06 | 0x12 | 0x14..=0x18 | 0x1A | 0x1B => r1(second),
        // LGHI, AGHI, MGHI, BRCTG, but not BRC.
        0xA7 if second & 15 != 4 => r1(second),
        // LG, AG, XG, but not STG.
        0xE3 if last != 0x24 => r1(second),
        // L, A, IC; SLLG, RLLG.
        0x58 | 0x5A | 0x43 | 0xEB => r1(second),
        // LM of three registers, of which none is behind register 5.
        0x98 => 0xE000 >> (second >> 4),
        // ST, STC, STM, MVC, OC, XC, BCR.
        _ => 0,
    }
}

/// Handles an exception: skips the instruction, or ends the program.
fn note(code: u16, registers: &mut Registers) {
    let code = code & 0x7F;
    if code == 0 {
        return;
    }
    let mut old = old_psw(Class::Program);
    let nullified = matches!(code, 0x10 | 0x11 | 0x38..=0x3B);
    if nullified {
        old.address += u64::from(lowcore::read::<u16>(lowcore::PROGRAM_LENGTH));
        set_old_psw(Class::Program, old);
    }
    // SAFETY: one CPU, disabled.
    unsafe { SEEN.exceptions += 1 };
    if code == 1 && old.address >= recording::text() + LENGTH as u64 {
        recording::leave(registers);
    }
}

/// The same with nothing recorded.
extern "C" fn pass(registers: &mut Registers) {
    note(lowcore::read(lowcore::PROGRAM_CODE), registers);
}

/// Makes a program of instructions that leave alone registers 12 and 13, which designate its storage, and register
/// 11, which counts. Branches go forward by one instruction, or to themselves until the count is zero.
fn compose(generator: &mut Generator, text: &mut [u8; LENGTH]) {
    let mut length = 0;
    while length < LENGTH - 16 {
        let random = generator.next();
        let [pick, registers, more, low, value, ..] = random.to_be_bytes();
        let (r1, r2) = (registers >> 4 & 7, registers & 7);
        let pair = r1 << 4 | r2;
        let displacement = [0xC0 | more & 1, low & 0xF8];
        let instruction: &[u8] = match pick % 24 {
            // LGR, AGR, SGR, XGR, LTGR, LCGR, MSGR.
            0..=6 => {
                let opcode = [0x04, 0x08, 0x09, 0x82, 0x02, 0x03, 0x0C][usize::from(pick % 24)];
                &[0xB9, opcode, 0, pair]
            }
            // AR, SR, LR, NR, OR, XR, BCTR without a target, LTR.
            7 => &[
                [0x1A, 0x1B, 0x18, 0x14, 0x16, 0x17, 0x06, 0x12][usize::from(low & 7)],
                if low & 7 == 6 { pair & 0xF0 } else { pair },
            ],
            // LGHI, AGHI, MGHI.
            8 | 9 => &[
                0xA7,
                r1 << 4 | [9, 11, 13, 9][usize::from(more & 3)],
                value,
                low,
            ],
            // LG, STG, AG, XG with base 12 and displacements of up to 504.
            10..=12 => &[
                0xE3,
                r1 << 4,
                displacement[0],
                displacement[1],
                0,
                [0x04, 0x24, 0x08, 0x82][usize::from(value & 3)],
            ],
            // L, ST, A, IC, STC.
            13 => &[
                [0x58, 0x50, 0x5A, 0x43, 0x42][usize::from(value % 5)],
                r1 << 4,
                displacement[0],
                displacement[1],
            ],
            // MVC, XC, OC of up to 8 bytes.
            14 => &[
                [0xD2, 0xD7, 0xD6][usize::from(value % 3)],
                low & 7,
                0xC0,
                value & 0xF8,
                displacement[0],
                displacement[1],
            ],
            // LM, STM.
            15 => &[
                [0x98, 0x90][usize::from(value & 1)],
                (r1 & 3) << 4 | (r1 & 3) + 2,
                displacement[0],
                displacement[1],
            ],
            // SLLG, RLLG.
            16 => &[
                0xEB,
                pair,
                0,
                low & 63,
                0,
                [0x0D, 0x1C][usize::from(value & 1)],
            ],
            // BRC over the next instruction, which is a NOPR.
            17 => &[0xA7, 0x04 | value & 0xF0, 0, 3, 0x07, 0],
            // LGHI 11,n; BRCTG 11,*.
            18 => &[0xA7, 0xB9, 0, 1 + low % 5, 0xA7, 0xB7, 0, 0],
            // EXRL of the instruction behind a branch over it: MVC with a length from a register, or AGR.
            19 => &[
                0xC6,
                r1 << 4,
                0,
                0,
                0,
                5,
                0xA7,
                0xF4,
                0,
                5,
                0xD2,
                0,
                0xD0,
                8,
                0xC0,
                16,
            ],
            20 => &[0xC6, 0, 0, 0, 0, 5, 0xA7, 0xF4, 0, 4, 0xB9, 0x08, 0, pair],
            // Odd register pair, and an unassigned operation.
            21 => &[0x1D, 0x30 | r2],
            22 => &[0xB2, 0xFF, 0, 0],
            // From beyond storage: LG from the address in register 14.
            _ => &[0xE3, r1 << 4, 0xE0, 0, 0, 0x04],
        };
        if length + instruction.len() <= LENGTH - 16 {
            text[length..][..instruction.len()].copy_from_slice(instruction);
            length += instruction.len();
        }
    }
    // BCR 0,0 up to the end.
    for halfword in text[length..].chunks_exact_mut(2) {
        halfword.copy_from_slice(&[0x07, 0x00]);
    }
}

/// What the storage of a program holds.
fn operands() -> &'static mut [u8; OPERANDS_LENGTH] {
    // SAFETY: the page of operands; no program runs.
    unsafe { &mut *((recording::text() + OPERANDS) as *mut [u8; OPERANDS_LENGTH]) }
}

fn run() {
    // SAFETY: nobody writes them while the guest runs.
    let Parameters {
        seed, instructions, ..
    } = unsafe { (&raw const PARAMETERS).read_volatile() };
    let mut generator = Generator::new(seed);
    let mut text = [0; LENGTH];
    let (mut programs, mut steps, mut exceptions, mut wrong, mut different) = (0_u64, 0, 0, 0, 0);
    while steps < instructions {
        compose(&mut generator, &mut text);
        let mut registers = [0; 16];
        for register in &mut registers {
            *register = generator.next();
        }
        registers[12] = recording::text() + OPERANDS;
        registers[13] = registers[12] + 256;
        registers[14] = 0x7000_0000_0000;
        let storage: [u8; OPERANDS_LENGTH] = core::array::from_fn(|_| generator.next() as u8);
        let masks = generator.next() as u16;
        let execute = |events| {
            *operands() = storage;
            // SAFETY: no program runs.
            unsafe {
                SEEN = Seen {
                    registers,
                    masks,
                    steps: 0,
                    exceptions: 0,
                    wrong: 0,
                    unplaced: 0,
                };
            }
            let run = Run {
                events,
                range: [0, u64::MAX],
                registers,
                mask: INITIAL,
            };
            let handler = if events == 0 { pass } else { compare };
            let after = run.execute_with(&text, handler);
            // SAFETY: no program runs any more.
            let seen = unsafe { &*(&raw const SEEN) };
            (
                (after, *operands(), seen.exceptions),
                seen.steps,
                seen.wrong + seen.unplaced,
            )
        };
        let (recorded, stepped, mistaken) = execute(FETCH | REGISTERS | u64::from(masks));
        let (plain, _, _) = execute(0);
        if recorded != plain {
            if different == 0 {
                guests::println!(
                    "program {programs}: {text:02x?}\n{:x?}\n{:x?}",
                    recorded.0,
                    plain.0
                );
            }
            different += 1;
        }
        programs += 1;
        steps += stepped;
        exceptions += recorded.2;
        wrong += mistaken;
    }
    guests::println!("{programs} programs, {steps} instructions, {exceptions} exceptions");
    check(
        "interruptions that told of registers what was not so",
        wrong,
        0,
    );
    check(
        "programs that ended otherwise than without recording",
        different,
        0,
    );
}
