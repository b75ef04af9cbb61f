//! EXECUTE and EXECUTE RELATIVE LONG of targets that are a multiple of a megabyte away, before, at and behind that distance: in
//! the page, next to the EXECUTE, over its own bytes as far as the rightmost bits of the address say, and across a page's end.
//! What EXECUTE and target do, they do once, and what follows the EXECUTE is executed next.

use core::ptr::{read_volatile, write_volatile};

use guests::check::check;
use guests::dat;
use guests::interruption::{self, Class, Registers, old_psw, set_old_psw};
use guests::psw::{self, Psw};
use guests::{lowcore, println};

guests::clause!(
    "Principles of Operation, EXECUTE; EXECUTE RELATIVE LONG",
    native = true,
    options = "; --strict"
);
guests::case!(run);

/// Storage behind the program, for EXECUTEs in the middle of it and targets on both sides.
const FROM: u64 = 0x70_0000;
/// Operands on pages of their own, and in the page of an EXECUTE.
const OPERANDS: u64 = 0xE0_0000;
const OPERANDS_THERE: u64 = FROM + 0x400;
const OPERANDS_LENGTH: u64 = 0x60;
const MEGABYTE: i64 = 0x10_0000;

/// SUPERVISOR CALL.
const SVC: u16 = 0x0AFE;

/// Targets, and what modifies them. Each changes something each time that it is executed; registers 4 and 5 designate operands.
const TARGETS: [(&str, [u16; 3], u8); 16] = [
    ("AR", [0x1A60, 0, 0], 0x07),
    ("AHI", [0xA70A, 0x0007, 0], 0x60),
    ("LA", [0x4106, 0x0003, 0], 0x60),
    ("ALR", [0x1E07, 0, 0], 0x60),
    ("LPGR", [0xB900, 0x0067, 0], 0x00),
    ("LCGR made of LPGR", [0xB900, 0x0067, 0], 0x03),
    ("XC", [0xD700, 0x4000, 0x5000], 0x05),
    ("MVC", [0xD200, 0x4001, 0x4000], 0x05),
    ("NC of 98D", [0xD400, 0x498D, 0x5000], 0x05),
    ("XC of 2B0", [0xD700, 0x42B0, 0x5000], 0x05),
    ("AGSI", [0xEB00, 0x4000, 0x007A], 0x07),
    ("AGFI of B98D", [0xC208, 0x0000, 0xB98D], 0x60),
    ("LARL", [0xC000, 0x0000, 0x0010], 0x60),
    ("LGHRL", [0xC404, 0x0000, 0x0010], 0x60),
    ("STHRL", [0xC407, 0x0000, 0x0010], 0x60),
    ("BRC", [0xA704, 0x0008, 0], 0xF0),
];

fn put(at: u64, halfwords: impl IntoIterator<Item = u16>) {
    for (at, halfword) in (at..).step_by(2).zip(halfwords) {
        // SAFETY: storage that nothing else uses.
        unsafe { write_volatile(at as *mut u16, halfword) }
    }
}

/// Fields in the prefix page: registers and address of this program, registers and PSW of the text.
const REGISTERS: usize = 0xD80;
const PSW: usize = 0xE00;
const SAVED: usize = 0xC80;
const BACK: usize = 0xD00;

static mut LEFT: (Registers, [u64; 3]) = ([0; 16], [0; 3]);

/// The text has ended: this program goes on.
fn ended(class: Class, code: u16, registers: &mut Registers) {
    let old = old_psw(class);
    let left = [code.into(), old.address, old.condition_code().into()];
    // SAFETY: only this CPU, between two texts.
    unsafe { write_volatile(&raw mut LEFT, (*registers, left)) };
    *registers = lowcore::read(SAVED);
    set_old_psw(class, Psw::new(psw::INITIAL, lowcore::read(BACK)));
}

extern "C" fn supervisor_call(registers: &mut Registers) {
    ended(
        Class::SupervisorCall,
        lowcore::read(lowcore::SVC_CODE),
        registers,
    );
}

extern "C" fn program(registers: &mut Registers) {
    ended(
        Class::Program,
        lowcore::read(lowcore::PROGRAM_CODE),
        registers,
    );
}

/// Executes from an address on. Returns the registers, the interruption code, the address and the condition code.
fn execute(mask: u64, at: u64, registers: Registers) -> (Registers, [u64; 3]) {
    lowcore::write(REGISTERS, registers);
    lowcore::write(PSW, Psw::new(mask, at));
    // SAFETY: the handlers load every register again and go on at 31.
    unsafe {
        core::arch::asm!(
            "stmg %r0, %r15, 0xC80(%r0)",
            "larl %r1, 31f",
            "stg %r1, 0xD00(%r0)",
            "lmg %r0, %r15, 0xD80(%r0)",
            "lpswe 0xE00(%r0)",
            "31:",
            out("r1") _,
        );
        read_volatile(&raw const LEFT)
    }
}

/// An EXECUTE, and what it executes.
#[derive(Clone, Copy)]
struct Case {
    /// The mask of the PSW.
    mask: u64,
    is_relative: bool,
    target: [u16; 3],
    modifies: u8,
}

/// What an EXECUTE at `at` of a target at a distance from it leaves, as one number.
fn perform(case: Case, at: u64, distance: i64, operands: u64) -> u64 {
    let Case {
        mask,
        is_relative,
        target,
        modifies,
    } = case;
    let target_at = at.wrapping_add_signed(distance);
    // What is around both: no instruction, and data for a relative operand.
    for place in [at, target_at] {
        put(place - 0x20, [0x0000; 0x30]);
    }
    put(target_at + 0x20, [0x1234, 0x5678, 0x9ABC, 0xDEF0]);
    let [high, low] = [(distance / 2) >> 16, distance / 2].map(|part| part as u16);
    let execute_text = if is_relative {
        [0xC630, high, low]
    } else {
        [0x4430, 0x2000, SVC]
    };
    put(target_at, target);
    put(at, execute_text);
    put(at + if is_relative { 6 } else { 4 }, [SVC, SVC, SVC]);
    for n in 0..OPERANDS_LENGTH {
        for page in [0, 0x98D, 0x2B0] {
            // SAFETY: storage that nothing else uses.
            unsafe { write_volatile((operands + page + n) as *mut u8, (7 * n + 3) as u8) };
        }
    }
    let mut registers = [0; 16];
    registers[0] = 0x11;
    registers[2] = target_at;
    registers[3] = modifies.into();
    registers[4] = operands;
    registers[5] = operands + 0x40;
    registers[6] = 0x6666;
    registers[7] = 0x7777_7777;
    let (left, [code, address, condition_code]) = execute(mask, at, registers);
    let mut sum = left[6] ^ left[0].rotate_left(20) ^ condition_code << 60;
    // LARL, of which only the distance is the same in all places.
    if target[0] == 0xC000 {
        sum = left[6].wrapping_sub(target_at);
    }
    sum ^= code.rotate_left(40) ^ address.wrapping_sub(at).rotate_left(30);
    // A branch goes from the target.
    if target[0] == 0xA704 {
        sum = code << 32 | address.wrapping_sub(target_at);
    }
    for n in 0..OPERANDS_LENGTH {
        for page in [0, 0x98D, 0x2B0] {
            // SAFETY: as above.
            let byte = unsafe { read_volatile((operands + page + n) as *const u8) };
            sum = sum.wrapping_mul(0x1_0000_01B3).wrapping_add(byte.into());
        }
    }
    // SAFETY: as above.
    let relative = unsafe { read_volatile((target_at + 0x20) as *const u64) };
    sum.wrapping_mul(31).wrapping_add(relative)
}

/// Where the EXECUTE is in its page.
const PLACES: [u64; 2] = [0x100, 0xFFE];

/// All distances around some megabytes, in one mode.
fn test(name: &str, mask: u64) {
    for (form, is_relative) in [("EX", false), ("EXRL", true)] {
        for (what, target, modifies) in TARGETS {
            let case = Case {
                mask,
                is_relative,
                target,
                modifies,
            };
            // Well apart.
            let expected = perform(case, FROM + 0x100, 0x2340, OPERANDS);
            let mut wrong = 0;
            for place in PLACES {
                // Also a target across a page's end.
                let near = (-16..=16).step_by(2);
                let near = near.chain([0xFFE, 0xFFC].map(|end| end - place as i64));
                for near in near {
                    for (megabytes, operands) in [(-3, OPERANDS), (1, OPERANDS_THERE)] {
                        let distance = megabytes * MEGABYTE + near;
                        if perform(case, FROM + place, distance, operands) != expected {
                            if wrong == 0 {
                                println!("wrong: {name}, {form} {what} {place:x} {distance:x}");
                            }
                            wrong += 1;
                        }
                    }
                }
            }
            println!("{name}, {form} of {what}: {expected:016x}");
            check("  wrong at a distance of megabytes", wrong, 0);
        }
    }
}

fn run() {
    interruption::replace(Class::SupervisorCall, supervisor_call);
    interruption::replace(Class::Program, program);
    dat::prepare();
    test("DAT off", psw::INITIAL);
    test("a program", psw::INITIAL | psw::DAT | psw::PROBLEM);
}
