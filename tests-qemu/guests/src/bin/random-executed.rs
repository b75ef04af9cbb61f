//! EXECUTE and EXECUTE RELATIVE LONG of every pair of bytes, with random modifications, in the problem state.
//!
//! A *block* has the 256 pairs with the same first byte. Each is the beginning of a target, by an EXECUTE and by an
//! EXECUTE RELATIVE LONG, with random operands, registers and masks. What a step has left (registers, PSW, code,
//! length, storage) goes into the digest of its block. The program does not know which results are right: it must
//! print the same on bare QEMU and above the machine, but for instructions whose results are a clock's or a machine's.
//!
//! Above the machine it also counts: an EXECUTE and its target are two instructions if the target completes, and
//! none if it is nullified or suppressed.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicBool, Ordering};

use guests::check::{check, fail};
use guests::dat::{INVALID, PageTable, SEGMENT_INVALID};
use guests::externals::CLOCK_COMPARATOR;
use guests::insn::clock::{MICROSECOND, sckc, stckf};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::{Page, facility};
use guests::insn::measurement::{controls, lcctl, set};
use guests::interruption::{self, Class, Registers, old_psw, set_old_psw};
use guests::psw::{self, Psw, bit};
use guests::workload::text::Generator;
use guests::{lowcore, println};

guests::clause!(
    "Principles of Operation, EXECUTE; EXECUTE RELATIVE LONG: as on bare QEMU, pair by pair",
    native = true
);
guests::guest!(run);

/// What a test writes into the guest's file before it is IPLed.
#[repr(C)]
struct Parameters {
    /// The mark by which a test finds them.
    mark: [u8; 24],
    /// Another number makes other modifications and operands.
    seed: u64,
    /// The block whose steps are printed; 256 is none.
    traced: u64,
    /// How far blocks are apart; the seed says where they begin.
    apart: u64,
}

#[used]
static mut PARAMETERS: Parameters = Parameters {
    mark: *b"random executions from..",
    seed: 1,
    traced: 256,
    apart: 1,
};

#[repr(C, align(16384))]
struct Segments([u64; 2048]);

/// Pages of the address space: text, targets, and data.
const PAGES: usize = 4;
/// The virtual address of the first one.
const SPACE: u64 = 0x2000;
const LENGTH: u64 = 4096 * PAGES as u64;

static mut SEGMENTS: Segments = Segments([SEGMENT_INVALID; 2048]);
static mut TABLE: PageTable = PageTable([INVALID; 256]);
static mut SANDBOX: [Page; PAGES] = [const { Page([0; 4096]) }; PAGES];

/// Fields in the prefix area: the registers of the program, the registers and the PSW of the step, the counter before
/// and after it.
const STEP: usize = 0x1380;
const STEP_PSW: usize = 0x740;
const BEFORE: usize = 0x1400;
const AFTER: usize = 0x1408;

static TIMED_OUT: AtomicBool = AtomicBool::new(false);

/// The clock comparator ends a step that has not ended by itself.
extern "C" fn external(_: &mut Registers) {
    sckc(u64::MAX);
    let back: u64 = lowcore::read(lowcore::RESUME);
    if back != 0 {
        TIMED_OUT.store(true, Ordering::Relaxed);
        lowcore::write(lowcore::RESUME, 0_u64);
        set_old_psw(Class::External, Psw::new(psw::INITIAL, back));
    }
}

/// The absolute address of a byte of the space.
fn place(offset: u64) -> u64 {
    &raw mut SANDBOX as u64 + offset % LENGTH
}

fn put(offset: u64, text: &[u8]) {
    for (at, byte) in (offset..).zip(text) {
        // SAFETY: inside the sandbox.
        unsafe { (place(at) as *mut u8).write_volatile(*byte) }
    }
}

fn fill(random: &mut Generator) {
    for at in (0..LENGTH).step_by(8) {
        // The text has nothing but what a step puts there.
        let value = if at < 4096 { 0 } else { random.next() };
        // SAFETY: inside the sandbox.
        unsafe { (place(at) as *mut u64).write_volatile(value) }
    }
}

/// The checksum of the sandbox.
fn checksum() -> u64 {
    let sum: u64;
    // SAFETY: fetches from the sandbox.
    unsafe {
        core::arch::asm!(
            "2: cksm {s},%r4",
            "jo 2b",
            s = inout(reg) 0_u64 => sum,
            inout("r4") place(0) => _,
            inout("r5") LENGTH => _,
        );
    }
    sum
}

/// Instructions that end QEMU 7.2 itself, whoever issues them: MOVE RIGHT TO LEFT, and ROTATE THEN EXCLUSIVE OR SELECTED
/// BITS with some positions. TRANSLATE ONE or TWO TO ONE or TWO is interruptible, and may have stored over its own text by
/// then; QEMU 10.0 then does not end it.
const fn is_left_out(first: u16, last: u8) -> bool {
    matches!(first, 0xE50A | 0xB990..=0xB993) || first >> 8 == 0xEC && last == 0x57
}

/// Instructions whose results are a clock's or a machine's, or which QEMU performs in the problem state although they
/// are privileged, or which it does not know, some of them unless their unused bits are zeros.
const fn is_compared(first: u16, last: u8) -> bool {
    // MOVE LONG, MOVE LONG EXTENDED: how much is moved before an exception is QEMU's choice, also of its own text.
    !matches!(first >> 8, 0x0E | 0xA8) && !matches!(
        first,
        // STORE CLOCK, STORE CLOCK EXTENDED and FAST, STORE FACILITY LIST EXTENDED.
        0xB205 | 0xB278 | 0xB27C | 0xB2B0
        // The load-program-parameter and the CPU-measurement facilities.
        | 0xB280 | 0xB284..=0xB287 | 0xB28E | 0xB2E0 | 0xB2E1 | 0xB2E4 | 0xB2E5 | 0xB2ED
        // SET SYSTEM MASK, LOAD PSW.
        | 0x8001..=0x80FF | 0x8201..=0x82FF
        // SET ADDRESS SPACE CONTROL, and the fast form: QEMU has the access-register mode.
        | 0xB219 | 0xB279
        // INSERT ADDRESS SPACE CONTROL, EXTRACT PRIMARY and SECONDARY ASN: QEMU does not have them.
        | 0xB224 | 0xB226 | 0xB227
        // TEST PROTECTION, PERFORM CRYPTOGRAPHIC KEY MANAGEMENT OPERATIONS.
        | 0xB928 | 0xE501
    )
        // STORE CPU COUNTER MULTIPLE, EXTRACT CPU ATTRIBUTE.
        && !(first >> 8 == 0xEB && matches!(last, 0x17 | 0x4C))
        // EXTRACT CPU TIME. MOVE WITH OPTIONAL SPECIFICATIONS: QEMU lets a program fetch from the home space.
        && !(first >> 8 == 0xC8 && first & 15 <= 1)
}

/// Branches: what they lead to is any instruction.
const fn is_branch(first: u16, last: u8) -> bool {
    match first >> 8 {
        0x05..=0x07 | 0x0B..=0x0D | 0x45..=0x47 | 0x4D | 0x84..=0x87 => true,
        0xA7 => matches!(first & 15, 4..=7),
        0xC0 => matches!(first & 15, 4..=5),
        0xCC => first & 15 == 6,
        0xE3 | 0xEB => matches!(last, 0x44..=0x47),
        0xEC => matches!(
            last,
            0x44 | 0x45 | 0x64 | 0x65 | 0x76 | 0x77 | 0x7C..=0x7F | 0xE4 | 0xE5 | 0xF6 | 0xF7 | 0xFC..
        ),
        _ => false,
    }
}

/// How a step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ended {
    /// Class number, or 9 for the clock comparator.
    class: u64,
    code: u16,
    length: u16,
    data: u32,
    identification: u64,
    mask: u64,
    address: u64,
}

/// An address as the addressing mode has it. QEMU 7.2 branches by EXECUTE to all 64 bits in any mode.
const fn in_mode(mask: u64, address: u64) -> u64 {
    match mask >> 31 & 3 {
        0 => address & 0xFF_FFFF,
        1 => address & 0x7FFF_FFFF,
        _ => address,
    }
}

fn perform(registers: &Registers, step: Psw, counts: bool) -> (Ended, Registers, u64) {
    lowcore::write(STEP, *registers);
    lowcore::write(STEP_PSW, step);
    TIMED_OUT.store(false, Ordering::Relaxed);
    lowcore::write(lowcore::ENDED_BY, 0_u64);
    sckc(stckf() + 20_000 * MICROSECOND);
    // SAFETY: whatever ends the step resumes at 31, where all registers are loaded again.
    unsafe {
        core::arch::asm!(
            "stmg %r0, %r15, 0x1300(%r0)",
            "larl %r1, 31f",
            "stg %r1, 0x700(%r0)",
            "ltgr {counts}, {counts}",
            "jz 30f",
            "lghi %r1, 1",
            ".insn rre,0xb2e40000,%r2,%r1",
            "stg %r2, 0x1400(%r0)",
            "30:",
            "lmg %r0, %r15, 0x1380(%r0)",
            "lpswe 0x740(%r0)",
            "31:",
            "lmg %r0, %r15, 0x1300(%r0)",
            "ltgr {counts}, {counts}",
            "jz 32f",
            "lghi %r1, 1",
            ".insn rre,0xb2e40000,%r2,%r1",
            "stg %r2, 0x1408(%r0)",
            "32:",
            counts = in(reg) u64::from(counts),
            out("r1") _,
            out("r2") _,
        );
    }
    sckc(u64::MAX);
    let count = lowcore::read::<u64>(AFTER).wrapping_sub(lowcore::read(BEFORE));
    if TIMED_OUT.load(Ordering::Relaxed) {
        let ended = Ended {
            class: 9,
            ..Ended::default()
        };
        return (ended, [0; 16], count);
    }
    let class = lowcore::read::<u64>(lowcore::ENDED_BY).wrapping_sub(1);
    let is_program = class == Class::Program as u64;
    let old = old_psw(if is_program {
        Class::Program
    } else {
        Class::SupervisorCall
    });
    let mut ended = Ended {
        class,
        mask: old.mask,
        address: in_mode(old.mask, old.address),
        ..Ended::default()
    };
    if is_program {
        ended.code = lowcore::read(lowcore::PROGRAM_CODE);
        ended.length = lowcore::read::<u16>(lowcore::PROGRAM_LENGTH) & 6;
        match ended.code {
            4 | 0x10 | 0x11 | 0x38..=0x3B => {
                let identification = lowcore::read(lowcore::TRANSLATION_EXCEPTION);
                ended.identification = in_mode(old.mask, identification);
            }
            7 | 0x1B => ended.data = lowcore::read(lowcore::DATA_EXCEPTION_CODE),
            _ => {}
        }
    } else {
        ended.code = lowcore::read(lowcore::SVC_CODE);
        ended.length = lowcore::read::<u16>(lowcore::SVC_LENGTH) & 6;
    }
    (
        ended,
        lowcore::read(lowcore::SAVE + 128 * class as usize),
        count,
    )
}

/// Prepares the address space.
fn prepare() {
    // SAFETY: the only references, before DAT is used.
    unsafe {
        let table = &mut *(&raw mut TABLE);
        for page in 0..PAGES {
            table.0[(SPACE >> 12) as usize + page] = place(4096 * page as u64);
        }
        (*(&raw mut SEGMENTS)).0[0] = &raw const TABLE as u64;
    }
    let mut registers = stctg_all();
    for n in [1, 7, 13] {
        registers[n] = &raw const SEGMENTS as u64 | 3;
    }
    // The secondary space, the additional floating-point registers and the vector registers.
    registers[0] |= CLOCK_COMPARATOR | bit(37) | bit(45) | bit(46);
    lctlg_all(&registers);
    interruption::replace(Class::External, external);
}

/// The supervisor call behind an EXECUTE.
const BEHIND: u8 = 0xFE;
/// What is between two reads of the counter beside the step, if a supervisor call or a program interruption ends it: the
/// guest finds it out.
struct Overhead([Option<u64>; 2]);

struct Counted {
    overhead: Overhead,
    checked: u64,
    wrong: u64,
    /// The first byte of the last one that was told.
    last: u16,
}

impl Counted {
    fn check(&mut self, ended: &Ended, begin: u64, length: u64, count: u64, first: u16) {
        let next = begin + length;
        let (index, expected) = match ended.class {
            2 if ended.code == BEHIND.into() && ended.address == next + 2 => {
                // QEMU executes these within the EXECUTE, and its clock counts one.
                let is_within = matches!(first >> 8, 0xD0 | 0xD2 | 0xD4..=0xD7 | 0xDC | 0xDD);
                (0, if is_within { 2 } else { 3 })
            }
            2 if ended.address == next => (0, 2),
            // What the clock charges for these depends on where QEMU finds them: when it translates the instruction or
            // when it executes it. Data exceptions end in several ways, and so does what transactions and PER have.
            3 if matches!(
                ended.code,
                3 | 6 | 7 | 8 | 9 | 0xA..=0xF | 0x13 | 0x1B | 0x40 | 0x80..
            ) =>
            {
                return;
            }
            // An EXECUTE of a move into its own page, whose source is not there: QEMU gives up its translation of the
            // EXECUTE first, and then neither sets the address back nor the clock.
            3 if matches!(ended.code, 0x10 | 0x11 | 0x38..=0x3B) && ended.address != begin => {
                return;
            }
            3 if ended.address == begin || ended.address == next => (1, 0),
            _ => return,
        };
        let found = count.wrapping_sub(expected);
        let usual = *self.overhead.0[index].get_or_insert(found);
        self.checked += 1;
        if usual != found {
            self.wrong += 1;
            if self.last != first >> 8 {
                self.last = first >> 8;
                println!(
                    "FAILED {first:04X}: {} instructions, not {expected}: {ended:x?}",
                    found.wrapping_add(expected).wrapping_sub(usual) as i64
                );
            }
        }
    }
}

fn mix(digest: &mut u64, value: u64) {
    *digest = (*digest ^ value)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .rotate_left(29);
}

fn run() {
    // SAFETY: nothing else has a reference.
    let (seed, traced, apart) = unsafe {
        let parameters = &raw const PARAMETERS;
        (
            (&raw const (*parameters).seed).read_volatile(),
            (&raw const (*parameters).traced).read_volatile(),
            (&raw const (*parameters).apart).read_volatile(),
        )
    };
    let counts = facility(67);
    if counts {
        let _ = lcctl(controls(set::BASIC, set::BASIC));
    }
    prepare();
    let mut counted = Counted {
        overhead: Overhead([None, None]),
        checked: 0,
        wrong: 0,
        last: 0,
    };
    for block in 0..256_u64 {
        if block % apart != seed % apart {
            continue;
        }
        if traced < block {
            break;
        }
        let mut random = Generator::new(seed * 1000 + block);
        let (mut digest, mut compared) = (0, 0_u64);
        fill(&mut random);
        // In some blocks the text of the EXECUTEs stays, and in the others it is changed, too.
        let stays = random.next() & 1 == 0;
        for pair in 0..512_u64 {
            let bits = random.next();
            let relative = pair & 1 == 1;
            let target_bytes = {
                let rest = random.next().to_be_bytes();
                [
                    block as u8,
                    (pair >> 1) as u8,
                    rest[0],
                    rest[1],
                    rest[2],
                    rest[3],
                ]
            };
            let mut registers: Registers = [0; 16];
            for register in &mut registers {
                let r = random.next();
                *register = match r >> 61 {
                    0 => random.next(),
                    1 => r & 0xFF,
                    _ => SPACE + r % LENGTH,
                };
            }
            // The text is in the first page. The target is in the same one, in the next one, or across its end.
            let text = if stays { 0x100 } else { 0x100 + (bits & 0x7FE) };
            let target = match bits >> 12 & 7 {
                0 => text + 16 + (bits >> 16 & 0xFE),
                1 | 2 => 0x1FFE,
                _ => 0x1000 + (bits >> 16 & 0xFFE),
            };
            let (r1, base) = if stays {
                (2, 3)
            } else {
                (bits >> 32 & 15, 1 + (bits >> 36) % 15)
            };
            let code = if relative {
                let distance = ((target as i64 - text as i64) / 2) as u32;
                let [a, b, c, d] = distance.to_be_bytes();
                [0xC6, (r1 << 4) as u8, a, b, c, d, 0x0A, BEHIND]
            } else {
                let displacement = if stays { 0 } else { bits >> 40 & 0xFFF };
                registers[base as usize] = SPACE + target - displacement;
                [
                    0x44,
                    (r1 << 4) as u8,
                    (base << 4 | displacement >> 8) as u8,
                    displacement as u8,
                    0x0A,
                    BEHIND,
                    0,
                    0,
                ]
            };
            let length = if relative { 6 } else { 4 };
            let mask = if r1 == 0 {
                0
            } else {
                registers[r1 as usize] as u8
            };
            let first = u16::from_be_bytes([target_bytes[0], target_bytes[1] | mask]);
            if is_left_out(first, target_bytes[5]) {
                continue;
            }
            put(target, &target_bytes);
            let at = if relative { text + 8 } else { text };
            // SAFETY: inside the sandbox.
            let is_there = !relative
                && stays
                && (0..6).all(
                    |n| unsafe { (place(at + n) as *const u8).read_volatile() } == code[n as usize],
                );
            if !is_there {
                put(at, &code[..length + 2]);
            }
            let code_distance = if relative {
                // The text of an EXECUTE RELATIVE LONG is eight bytes farther.
                let distance = ((target as i64 - at as i64) / 2) as u32;
                put(at + 2, &distance.to_be_bytes());
                distance
            } else {
                0
            };
            let mode = match bits >> 52 & 15 {
                0 => psw::INITIAL & !(3 << 31),
                1 => psw::INITIAL & !(3 << 31) | 1 << 31,
                _ => psw::INITIAL,
            };
            let begin = SPACE + at;
            let step = Psw::new(mode | psw::DAT | psw::EXTERNAL | psw::PROBLEM, begin);
            let is_printed = traced == block;
            if is_printed {
                println!("at {target:x}, {step:x?}");
            }
            let (ended, left, count) = perform(&registers, step, counts);
            // SAFETY: inside the sandbox.
            let is_changed = (target..)
                .zip(target_bytes)
                .any(|(at, byte)| unsafe { (place(at) as *const u8).read_volatile() != byte });
            let branches = is_branch(first, target_bytes[5]);
            if counts && !branches {
                counted.check(&ended, begin, length as u64, count, first);
            }
            let sum = checksum();
            if ended.class == 9 || branches || !is_compared(first, target_bytes[5]) {
                if is_printed {
                    println!("{first:04X} {target_bytes:02x?} mask {mask:02x}: not compared");
                }
                // The rest of the block must not depend on it.
                let mut again = Generator::new(bits);
                fill(&mut again);
                continue;
            }
            compared += 1;
            for value in [
                ended.class,
                ended.code.into(),
                ended.length.into(),
                ended.data.into(),
                ended.identification,
                ended.mask,
                ended.address,
                sum,
            ]
            .into_iter()
            .chain(left)
            {
                mix(&mut digest, value);
            }
            if is_printed {
                let mut sums = 0;
                for value in left {
                    mix(&mut sums, value);
                }
                println!(
                    "{first:04X} {target_bytes:02x?} mask {mask:02x} at {target:x} by {} at {at:x} ({code_distance:x}): {ended:x?} storage {sum:x} registers {sums:x}",
                    if relative { "EXRL" } else { "EX" },
                );
            }
        }
        println!("{block:02X}: {compared} {digest:016x}");
    }
    if counted.wrong != 0 {
        println!("{} of {} counts are wrong", counted.wrong, counted.checked);
        fail();
    }
    if counts {
        // Not the same on bare QEMU: a test leaves the line out.
        println!("counted exactly: {}", counted.checked - counted.wrong);
    }
    check("wrong counts", counted.wrong, 0);
}
