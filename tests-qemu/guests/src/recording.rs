//! Executes a piece of program text while program events are recorded, and keeps every interruption that they cause.
//!
//! The text is put at [`text`] and ends with an operation that is not assigned: the interruption for that is the last
//! one. Recording begins with the first instruction, by LOAD PSW EXTENDED.

use core::arch::global_asm;

use crate::insn::control::{lctlg_all, stctg_all};
use crate::interruption::{self, Class, Handler, Registers, old_psw, set_old_psw};
use crate::lowcore;
use crate::psw::{INITIAL, Psw, bit};

mod event;
mod form;

pub use event::{Event, expect};
pub use form::{Form, form};

use event::{NONE, UNTOUCHED};

/// The PER mask of the PSW.
pub const PER: u64 = bit(1);

/// Successful branching, as an event mask in control register 9.
pub const BRANCH: u64 = 0x8000_0000;
/// Instruction fetching.
pub const FETCH: u64 = 0x4000_0000;
/// Storage alteration.
pub const STORE: u64 = 0x2000_0000;
/// General-register alteration; the masks of the registers are the last two bytes.
pub const REGISTERS: u64 = 0x1000_0000;
/// Store using real address.
pub const STORE_REAL: u64 = 0x0800_0000;
/// Instruction fetching nullifies.
pub const NULLIFY: u64 = 0x0100_0000;
/// Branches only if the target is in the range.
pub const BRANCH_ADDRESS: u64 = 0x0080_0000;
/// Stores only in spaces whose address-space-control elements have [`EVENT_SPACE`].
pub const DESIGNATED_SPACES: u64 = 0x0020_0000;
/// The storage-alteration-event bit of an address-space-control element.
pub const EVENT_SPACE: u64 = bit(56);

/// The most interruptions that are kept. Later ones are lost.
const MOST: usize = 64;

/// How far behind the text the page of its operands begins.
pub const OPERANDS: u64 = 4096;

/// The text, and a page for its operands.
#[repr(C, align(4096))]
struct TextAndOperands([u8; 8192]);

static mut PAGES: TextAndOperands = TextAndOperands([0; 8192]);
static mut EVENTS: [Event; MOST] = [NONE; MOST];
static mut COUNT: usize = 0;
static mut END: u64 = 0;
/// General registers before and after the text, the PSW that enters it, and the stack pointer of the caller.
static mut REGISTERS_IN: Registers = [0; 16];
static mut REGISTERS_OUT: Registers = [0; 16];
#[unsafe(no_mangle)]
static mut RECORDING_PSW: Psw = Psw::new(0, 0);
#[unsafe(no_mangle)]
static mut RECORDING_STACK: u64 = 0;

global_asm!(
    ".section .text.recording,\"ax\",@progbits",
    ".globl recording_enter",
    "recording_enter:",
    "stmg %r6, %r15, 48(%r15)",
    "larl %r1, RECORDING_STACK",
    "stg %r15, 0(%r1)",
    "lgr %r1, %r2",
    "larl %r2, RECORDING_PSW",
    "mvc 0x728(8,%r0), 0(%r2)",
    "mvc 0x730(8,%r0), 8(%r2)",
    "lmg %r0, %r15, 0(%r1)",
    "lpswe 0x728(%r0)",
    ".globl recording_left",
    "recording_left:",
    "larl %r1, RECORDING_STACK",
    "lg %r15, 0(%r1)",
    "lmg %r6, %r15, 48(%r15)",
    "br %r14",
);

unsafe extern "C" {
    fn recording_enter(registers: *const Registers);
    fn recording_left();
}

/// Where the text stands.
#[must_use]
pub fn text() -> u64 {
    (&raw const PAGES) as u64
}

/// Puts bytes into the page of operands.
pub fn put(offset: u64, bytes: &[u8]) {
    let at = (text() + OPERANDS + offset) as *mut u8;
    // SAFETY: inside the page of operands. Guests do not go beyond its length.
    unsafe { core::ptr::copy(bytes.as_ptr(), at, bytes.len()) };
}

/// Which events are recorded, and how the text is executed.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Control register 9.
    pub events: u64,
    /// Control registers 10 and 11.
    pub range: [u64; 2],
    /// General registers at the beginning.
    pub registers: Registers,
    /// Bits of the PSW beside the PER mask.
    pub mask: u64,
}

impl Run {
    /// Records these events at every address, in the addressing mode of the form. The registers are zeros, except
    /// that register 1 designates the page of operands.
    #[must_use]
    pub fn of(events: u64) -> Self {
        let mut registers = [0; 16];
        registers[1] = text() + OPERANDS;
        Self {
            events,
            range: [0, u64::MAX],
            registers,
            mask: form().psw(),
        }
    }

    /// The same with another PSW. Its PER mask does not matter.
    #[must_use]
    pub fn under(mut self, mask: u64) -> Self {
        self.mask = mask;
        self
    }

    /// The same in a range whose ends are given by their distances from the beginning of the text.
    #[must_use]
    pub fn within(mut self, start: i64, end: i64) -> Self {
        self.range = [start, end].map(|offset| text().wrapping_add_signed(offset));
        self
    }

    /// The same with this value in a register.
    #[must_use]
    pub fn with(mut self, register: usize, value: u64) -> Self {
        self.registers[register] = value;
        self
    }

    /// The same with these bits of the PSW.
    #[must_use]
    pub fn in_mode(mut self, bits: u64) -> Self {
        self.mask |= bits;
        self
    }

    /// Executes a text. Returns its interruptions, and the registers after it.
    #[must_use]
    pub fn execute(&self, words: &[u8]) -> (&'static [Event], Registers) {
        // SAFETY: one CPU, and the handler runs only while the text does.
        unsafe {
            COUNT = 0;
            END = text() + words.len() as u64;
        }
        let after = self.execute_with(words, note);
        // SAFETY: as above.
        let events = unsafe {
            let first = (&raw const EVENTS).cast::<Event>();
            core::slice::from_raw_parts(first, COUNT.min(MOST))
        };
        (events, after)
    }

    /// Executes a text with another handler for its program interruptions, which ends it by [`leave`]. Returns the
    /// registers after it. Without events the PER mask is zero.
    #[must_use]
    pub fn execute_with(&self, words: &[u8], handler: Handler) -> Registers {
        let saved = stctg_all();
        let mut values = saved;
        (values[9], values[10], values[11]) = (self.events, self.range[0], self.range[1]);
        lctlg_all(&values);
        let previous: Handler = lowcore::read(lowcore::HANDLERS + 8 * Class::Program as usize);
        interruption::replace(Class::Program, handler);
        let recording = if self.events == 0 { 0 } else { PER };
        // SAFETY: one CPU, and the handler runs only while the text does.
        let after = unsafe {
            PAGES.0[..words.len()].copy_from_slice(words);
            PAGES.0[words.len()..][..2].fill(0);
            lowcore::write(lowcore::PER_CODE, UNTOUCHED);
            REGISTERS_IN = self.registers;
            RECORDING_PSW = Psw::new(self.mask | recording, text());
            recording_enter(&raw const REGISTERS_IN);
            REGISTERS_OUT
        };
        interruption::replace(Class::Program, previous);
        lctlg_all(&saved);
        after
    }
}

/// For a handler: ends the text with these registers.
pub fn leave(registers: &Registers) {
    // SAFETY: one CPU; interruptions are disabled here.
    unsafe { REGISTERS_OUT = *registers };
    let back = recording_left as *const () as u64;
    set_old_psw(Class::Program, Psw::new(INITIAL, back));
}

/// Keeps what a program interruption stored. The last interruption goes back to the caller that executed the text.
extern "C" fn note(registers: &mut Registers) {
    let event = Event {
        code: lowcore::read(lowcore::PROGRAM_CODE),
        length: lowcore::read(lowcore::PROGRAM_LENGTH),
        stored: lowcore::read(lowcore::PER_CODE),
        old: old_psw(Class::Program),
    };
    // Marks the fields, to show whether the next event stores into them.
    lowcore::write(lowcore::PER_CODE, UNTOUCHED);
    // SAFETY: one CPU; interruptions are disabled here.
    unsafe {
        if COUNT < MOST {
            EVENTS[COUNT] = event;
        }
        COUNT += 1;
        // Otherwise the event would nullify the instruction forever.
        let Psw { mask, address } = event.old;
        if event.is_translation() {
            let next = address + u64::from(event.length);
            set_old_psw(Class::Program, Psw::new(mask, next));
        } else if event.code & 0x80 != 0 && event.stored[0] & 1 != 0 {
            set_old_psw(Class::Program, Psw::new(mask & !PER, address));
        }
        let failed = event.code & 0x7F != 0;
        if failed && event.old.address == END + 2 || COUNT > 10 * MOST {
            leave(registers);
        }
    }
}
