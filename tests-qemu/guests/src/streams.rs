//! Ten thousand streams of random bytes, executed in an address space of their own.
//!
//! A stream sees sixteen pages and nothing else, so the guest survives whatever it does. A program interruption, a
//! supervisor call or the clock comparator ends it. In problem state half of the streams are random bytes, and half
//! consist of opcodes that a machine must examine (EXTRACT PSW, STFLE, EXECUTE, the measurement instructions) with
//! random operands. In supervisor state all consist of instructions that a machine performs for a control program.
//! The results do not matter: the test is that the machine and the guest go on.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::dat::{INVALID, PageTable};
use crate::externals::CLOCK_COMPARATOR;
use crate::insn::clock::{MICROSECOND, sckc, stckf};
use crate::insn::control::{lctlg_all, stctg_all};
use crate::insn::cpu::Page;
use crate::interruption::{self, Class, Registers, old_psw, set_old_psw};
use crate::psw::{self, Psw};
use crate::workload::text::Generator;
use crate::{lowcore, println};

const STREAMS: u64 = 10_000;
const PAGES: usize = 16;

#[repr(C, align(16384))]
struct Segments([u64; 2048]);

static mut SEGMENTS: Segments = Segments([crate::dat::SEGMENT_INVALID; 2048]);
static mut TABLE: PageTable = PageTable([INVALID; 256]);
static mut SANDBOX: [Page; PAGES] = [const { Page([0; 4096]) }; PAGES];

static mut CONTROL: [u64; 16] = [0; 16];

static INSIDE: AtomicBool = AtomicBool::new(false);
static PROGRAM: AtomicU64 = AtomicU64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);
static TIMEOUTS: AtomicU64 = AtomicU64::new(0);

/// The handler that ends a stream resumes behind it, in supervisor state with DAT off.
fn ended(class: Class, counter: &AtomicU64, registers: &mut Registers) {
    if !INSIDE.swap(false, Ordering::Relaxed) {
        println!(
            "interruption outside of a stream: {class:?} {:016x}",
            old_psw(class).address
        );
        crate::end::end_failure(0x20);
    }
    counter.fetch_add(1, Ordering::Relaxed);
    // A stream in supervisor state may have loaded control registers, and so turned on low-address protection.
    // SAFETY: written once, before the first stream.
    lctlg_all(unsafe { &*(&raw const CONTROL) });
    *registers = lowcore::read(SAVED);
    set_old_psw(class, Psw::new(psw::INITIAL, lowcore::read(BACK)));
}

extern "C" fn program(registers: &mut Registers) {
    ended(Class::Program, &PROGRAM, registers);
}

extern "C" fn supervisor_call(registers: &mut Registers) {
    ended(Class::SupervisorCall, &CALLS, registers);
}

extern "C" fn external(registers: &mut Registers) {
    sckc(u64::MAX);
    if INSIDE.load(Ordering::Relaxed) {
        ended(Class::External, &TIMEOUTS, registers);
    }
}

/// Fields in the prefix page: the registers of the program, the address where it goes on, the stream's registers and
/// PSW.
const SAVED: usize = 0xC80;
const BACK: usize = 0xD00;
const STREAM: usize = 0xD80;
const STREAM_PSW: usize = 0xE00;

/// Performs the stream at virtual address `address` with these registers.
fn perform(address: u64, registers: Registers, mask: u64) {
    lowcore::write(STREAM, registers);
    lowcore::write(STREAM_PSW, Psw::new(mask, address));
    sckc(stckf() + 20 * MICROSECOND);
    INSIDE.store(true, Ordering::Relaxed);
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
    }
    sckc(u64::MAX);
}

/// Opcodes that a machine examines in problem state, four bytes each. The operands are random.
const PROBLEM: [u32; 24] = [
    0xB98D_0000,
    0xB2B0_0000,
    0xB2E4_0000,
    0xB280_0000,
    0xB284_0000,
    0xB287_0000,
    0xB28E_0000,
    0xB2E0_0000,
    0x4400_0000,
    0xC600_0000,
    0xB201_0000,
    0xB202_0000,
    0x8000_0000,
    0xAC00_0000,
    0xAD00_0000,
    0xB2B2_0000,
    0xEB00_0000,
    0xB220_0000,
    0xAE00_0000,
    0x8300_0000,
    0xB279_0000,
    0xB254_0000,
    0xB928_0000,
    0x0A00_0000,
];

/// Opcodes that a machine performs for a control program in supervisor state. LOAD PSW, SET PREFIX, SIGNAL PROCESSOR
/// and TEST BLOCK (which clears a page, and with a small address the guest's new PSWs) are left out, because they
/// would rightly end the guest; so is EXECUTE, which could perform one of them.
const SUPERVISOR: [u32; 64] = [
    0xB202_0000,
    0xB204_0000,
    0xB206_0000,
    0xB207_0000,
    0xB208_0000,
    0xB209_0000,
    0xB20A_0000,
    0xB20B_0000,
    0xB20D_0000,
    0xB211_0000,
    0xB212_0000,
    0xB218_0000,
    0xB219_0000,
    0xB221_0000,
    0xB223_0000,
    0xB224_0000,
    0xB226_0000,
    0xB227_0000,
    0xB229_0000,
    0xB22A_0000,
    0xB22B_0000,
    0xB24A_0000,
    0xB246_0000,
    0xB24B_0000,
    0xB250_0000,
    0xB254_0000,
    0xB278_0000,
    0xB279_0000,
    0xB27D_0000,
    0xB280_0000,
    0xB284_0000,
    0xB285_0000,
    0xB286_0000,
    0xB287_0000,
    0xB28E_0000,
    0xB2B0_0000,
    0xB2B1_0000,
    0xB2E0_0000,
    0xB2E1_0000,
    0xB2E4_0000,
    0xB2E5_0000,
    0xB2ED_0000,
    0xB220_0000,
    0x8000_0000,
    0xAC00_0000,
    0xAD00_0000,
    0xB600_0000,
    0xB700_0000,
    0xB100_0000,
    0xB98D_0000,
    0xB98E_0000,
    0xB925_0000,
    0xB905_0000,
    0xB98A_0000,
    0xB9AA_0000,
    0xE501_0000,
    0xD900_0000,
    0xDA00_0000,
    0xDB00_0000,
    0xC800_0000,
    0xB232_0000,
    0xB234_0000,
    0xB25F_0000,
    0xEB00_0000,
];

/// Halfwords that must not occur in a stream in this state.
fn left_out(halfword: u16, supervisor: bool) -> bool {
    // LPSW, SIGP, EXECUTE and EXECUTE RELATIVE LONG by their first byte; SPX, TB and the LPSWEs by the whole opcode.
    halfword == MOVE_RIGHT_TO_LEFT
        || supervisor
            && (matches!(halfword >> 8, 0x82 | 0xAE | 0x44 | 0xC6)
                || matches!(halfword, 0xB210 | 0xB22C | 0xB2B2 | 0xB271))
}

/// MOVE RIGHT TO LEFT with a great length in register 0 ends QEMU 7.2 itself (an assertion), whoever issues it, so it
/// does not occur in streams.
const MOVE_RIGHT_TO_LEFT: u16 = 0xE50A;

fn fill(generator: &mut Generator, opcodes: Option<&[u32]>, supervisor: bool) {
    for n in 0..PAGES {
        let page = &raw mut SANDBOX as u64 + 4096 * n as u64;
        for m in 0..8 {
            let mut word = generator.next();
            if let Some(opcodes) = opcodes {
                let high = opcodes[(word >> 40) as usize % opcodes.len()];
                let low = opcodes[(word >> 48) as usize % opcodes.len()];
                word = u64::from(high | word as u32 & 0xFFFF) << 32
                    | u64::from(low | (word >> 16) as u32 & 0xFFFF);
            }
            for halfword in 0..4 {
                if left_out((word >> (16 * halfword)) as u16, supervisor) {
                    word &= !(0xFFFF << (16 * halfword));
                }
            }
            // SAFETY: inside the sandbox.
            unsafe { core::ptr::write_volatile((page as *mut u64).add(m), word) };
        }
    }
}

/// Performs ten thousand streams in problem or supervisor state.
pub fn perform_all(supervisor: bool) {
    // SAFETY: the only references, before DAT is used.
    unsafe {
        let table = &mut *(&raw mut TABLE);
        for (n, entry) in table.0.iter_mut().take(PAGES).enumerate() {
            *entry = &raw const SANDBOX as u64 + 4096 * n as u64;
        }
        (*(&raw mut SEGMENTS)).0[0] = &raw const TABLE as u64;
    }
    let mut registers = stctg_all();
    for n in [1, 7, 13] {
        registers[n] = &raw const SEGMENTS as u64 | 3;
    }
    registers[0] |= CLOCK_COMPARATOR;
    lctlg_all(&registers);
    // SAFETY: no stream yet.
    unsafe { CONTROL = registers };
    interruption::replace(Class::Program, program);
    interruption::replace(Class::SupervisorCall, supervisor_call);
    interruption::replace(Class::External, external);
    let mut generator = Generator::new(7);
    for stream in 0..STREAMS {
        if stream % 16 == 0 {
            let opcodes: &[u32] = if supervisor { &SUPERVISOR } else { &PROBLEM };
            fill(
                &mut generator,
                (supervisor || stream / 16 % 2 == 1).then_some(opcodes),
                supervisor,
            );
        }
        let mut values = [0; 16];
        for value in &mut values {
            // Mostly addresses of the sandbox, sometimes anything.
            let r = generator.next();
            *value = if r >> 62 == 0 {
                generator.next()
            } else {
                r & 0xFFFF | 0x2000
            };
        }
        // Not the first two pages: with DAT off they would be the prefix area.
        let page = (2 + stream % (PAGES as u64 - 2)) * 4096;
        let state = if supervisor { 0 } else { psw::PROBLEM };
        perform(
            page,
            values,
            psw::INITIAL | psw::DAT | psw::EXTERNAL | state,
        );
    }
    let all = PROGRAM.load(Ordering::Relaxed)
        + CALLS.load(Ordering::Relaxed)
        + TIMEOUTS.load(Ordering::Relaxed);
    println!("random streams that ended: {all} of {STREAMS}");
    crate::check::check("every stream ended", all, STREAMS);
}
