//! Random instructions of every opcode that the problem state has, one at a time: which general registers each changes.
//!
//! One line for each instruction that was completed and went on to the next one: its text, the condition codes before and
//! after it, and the registers that it changed. What it is to be judged by is not here.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicBool, Ordering};

use guests::dat::{INVALID, PageTable, SEGMENT_INVALID};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::interruption::{self, Class, Registers, old_psw, set_old_psw};
use guests::psw::{self, Psw};
use guests::workload::text::Generator;
use guests::{lowcore, println};

guests::clause!(
    "Millimeter: in which registers an instruction places values",
    native = true
);
guests::guest!(run);

/// What a test writes into the guest's file before it is IPLed.
#[repr(C)]
struct Parameters {
    mark: [u8; 24],
    seed: u64,
    /// How often each opcode is executed.
    rounds: u64,
}

#[used]
static mut PARAMETERS: Parameters = Parameters {
    mark: *b"random placements from..",
    seed: 1,
    rounds: 16,
};

const PAGES: usize = 16;
/// The page of the instruction, which no register designates.
const TEXT: u64 = 15 * 4096;

#[repr(C, align(16384))]
struct Segments([u64; 2048]);

static mut SEGMENTS: Segments = Segments([SEGMENT_INVALID; 2048]);
static mut TABLE: PageTable = PageTable([INVALID; 256]);
static mut SANDBOX: [Page; PAGES] = [const { Page([0; 4096]) }; PAGES];

static INSIDE: AtomicBool = AtomicBool::new(false);
/// The registers and the PSW after the instruction, if it was completed.
static mut AFTER: Option<(Registers, Psw)> = None;

/// Fields in the prefix page: the registers of the program, the address where it goes on, and the registers and the PSW of
/// the instruction.
const SAVED: usize = 0xC80;
const BACK: usize = 0xD00;
const IN: usize = 0xD80;
const IN_PSW: usize = 0xE00;

fn ended(class: Class, registers: &mut Registers) {
    if !INSIDE.swap(false, Ordering::Relaxed) {
        guests::end::end_failure(0x20);
    }
    *registers = lowcore::read(SAVED);
    set_old_psw(class, Psw::new(psw::INITIAL, lowcore::read(BACK)));
}

extern "C" fn program(registers: &mut Registers) {
    ended(Class::Program, registers);
}

extern "C" fn supervisor_call(registers: &mut Registers) {
    // SAFETY: one CPU, disabled.
    unsafe { AFTER = Some((*registers, old_psw(Class::SupervisorCall))) };
    ended(Class::SupervisorCall, registers);
}

/// Executes the instruction at [`TEXT`], whose SUPERVISOR CALL follows.
fn execute(registers: Registers, mask: u64) {
    lowcore::write(IN, registers);
    lowcore::write(IN_PSW, Psw::new(mask, TEXT));
    INSIDE.store(true, Ordering::Relaxed);
    // SAFETY: the handlers load every register again and go on at 31.
    unsafe {
        AFTER = None;
        core::arch::asm!(
            "stmg %r0, %r15, 0xC80(%r0)",
            "larl %r1, 31f",
            "stg %r1, 0xD00(%r0)",
            "lmg %r0, %r15, 0xD80(%r0)",
            "lpswe 0xE00(%r0)",
            "31:",
            out("r1") _,
        );
    }
}

/// Where the second part of an opcode is: a byte of the text, or the right half of byte 1.
#[derive(Clone, Copy)]
enum Rest {
    Byte(usize),
    Half,
}

fn rest(first: u8) -> Option<(Rest, u16)> {
    match first {
        0x01 | 0xB2 | 0xB3 | 0xB9 | 0xE5 => Some((Rest::Byte(1), 256)),
        0xE3 | 0xE6 | 0xE7 | 0xEB | 0xEC | 0xED => Some((Rest::Byte(5), 256)),
        0xA5 | 0xA7 | 0xAA | 0xC0 | 0xC2 | 0xC4 | 0xC6 | 0xC8 | 0xCC => Some((Rest::Half, 16)),
        _ => None,
    }
}

/// Instructions that are left out: SVC and the EXECUTEs, which are not the instruction that was meant; MVCRL, and RNSBG, ROSBG
/// and RXSBG that only test, by which QEMU 7.2 ends.
fn is_left_out(text: &[u8; 6]) -> bool {
    match text[0] {
        0x0A | 0x44 => true,
        0xC6 => text[1] & 15 == 0,
        0xE5 => text[1] == 0x0A,
        0xEC => matches!(text[5], 0x54 | 0x56 | 0x57) && text[2] & 0x80 != 0,
        _ => false,
    }
}

fn try_one(generator: &mut Generator, text: [u8; 6]) {
    if is_left_out(&text) {
        return;
    }
    let length = [2, 4, 4, 6][usize::from(text[0] >> 6)];
    let at = &raw mut SANDBOX as u64 + TEXT;
    // SAFETY: inside the sandbox; SVC 0 follows the text.
    unsafe {
        let at = at as *mut u8;
        core::ptr::copy(text.as_ptr(), at, length);
        core::ptr::copy([0x0A_u8, 0].as_ptr(), at.add(length), 2);
    }
    let before: Registers = core::array::from_fn(|_| {
        let value = generator.next();
        match value >> 61 {
            0..=2 => generator.next(),
            3 => value & 0xFF,
            // An address of the sandbox, sometimes on a doubleword boundary.
            4 | 5 => 0x2000 | value & 0x7FF8,
            _ => 0x2000 | value & 0x7FFF,
        }
    });
    let code = generator.next() & 3;
    execute(before, psw::INITIAL | psw::DAT | psw::PROBLEM | code << 44);
    // SAFETY: nothing runs.
    let Some((after, psw)) = (unsafe { (&raw const AFTER).read() }) else {
        return;
    };
    if psw.address != TEXT + length as u64 + 2 {
        return;
    }
    let mut changed = 0_u16;
    for (before, after) in before.iter().zip(&after) {
        changed = changed << 1 | u16::from(before != after);
    }
    let [a, b, c, d, e, f] = text;
    let number = u64::from_be_bytes([0, 0, a, b, c, d, e, f]) >> (8 * (6 - length));
    println!(
        "{number:0width$x} {code} {} {changed:04x}",
        psw.condition_code(),
        width = 2 * length
    );
}

fn run() {
    // SAFETY: nobody writes them while the guest runs.
    let Parameters { seed, rounds, .. } = unsafe { (&raw const PARAMETERS).read_volatile() };
    // SAFETY: the only references, before DAT is used.
    unsafe {
        let table = &mut *(&raw mut TABLE);
        for (n, entry) in table.0.iter_mut().take(PAGES).enumerate() {
            *entry = &raw const SANDBOX as u64 + 4096 * n as u64;
        }
        (*(&raw mut SEGMENTS)).0[0] = &raw const TABLE as u64;
    }
    let mut control = stctg_all();
    for n in [1, 7, 13] {
        control[n] = &raw const SEGMENTS as u64 | 3;
    }
    // AFP registers and vectors.
    control[0] |= psw::bit(45) | psw::bit(46);
    lctlg_all(&control);
    interruption::replace(Class::Program, program);
    interruption::replace(Class::SupervisorCall, supervisor_call);
    let mut generator = Generator::new(seed);
    for _ in 0..rounds {
        for page in 2..PAGES as u64 {
            let at = (&raw mut SANDBOX as u64 + 4096 * page) as *mut u64;
            for n in 0..512 {
                // SAFETY: inside the sandbox.
                unsafe { at.add(n).write_volatile(generator.next()) };
            }
        }
        for first in 0..=255_u8 {
            let (place, count) = rest(first).map_or((None, 1), |(rest, count)| (Some(rest), count));
            for second in 0..count {
                let [_, _, mut text @ ..] = generator.next().to_be_bytes();
                text[0] = first;
                match place {
                    Some(Rest::Byte(at)) => text[at] = second as u8,
                    Some(Rest::Half) => text[1] = text[1] & 0xF0 | second as u8,
                    None => {}
                }
                if matches!(first, 0xB2 | 0xB3 | 0xB9) && generator.next() & 3 != 0 {
                    text[2] = 0;
                }
                try_one(&mut generator, text);
            }
        }
    }
    println!("done");
}
