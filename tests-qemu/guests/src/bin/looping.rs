//! CPU 0 takes interruptions without end, and executes no instruction: the new PSW of each is open to the next one, or
//! its own first instruction cannot be executed. If there is a second CPU, it goes on, and gives CPU 0 a new PSW that
//! ends this.
#![no_std]
#![no_main]

use core::arch::{asm, global_asm};
use core::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use guests::check::holds;
use guests::end::end_success;
use guests::insn::clock::{MICROSECOND, sckc, stck};
use guests::insn::control::{lctlg_all, stctg_all, stosm};
use guests::insn::cpu::stpx;
use guests::interruption::Class;
use guests::psw::{self, Psw};
use guests::recording::PER;
use guests::{externals, lowcore, println, smp};

guests::clause!(
    "Principles of Operation, Interruptions (an unending string of interruptions)",
    native = false
);
guests::guest!(run);

/// What the test puts behind the mark.
#[repr(C)]
struct Parameters {
    mark: [u8; 24],
    kind: u64,
}

#[used]
static mut PARAMETERS: Parameters = Parameters {
    mark: *b"the kind of loop, 1 - 5:",
    kind: 1,
};

/// Where no storage is.
const NOWHERE: u64 = 1 << 40;
/// A real location that the last handler stores into.
const LEFT: u64 = 0x900;
/// Event masks in control register 9: an instruction-fetching event that nullifies.
const NULLIFY: u64 = 0x4100_0000;

global_asm!(
    ".section .text.looping,\"ax\",@progbits",
    ".globl loop_handler",
    "loop_handler:",
    "nopr",
    "j loop_handler",
    ".globl loop_left",
    "loop_left:",
    "mvi 0x900(%r0), 1",
    "j .",
);

unsafe extern "C" {
    fn loop_handler();
    fn loop_left();
}

/// The location of a class's new PSW of CPU 0, as CPU 1 finds it: prefixing exchanges the first two pages.
fn new_psw_of_cpu_0(class: Class) -> usize {
    stpx() as usize + class.new()
}

/// Lets the handler of CPU 0 get further.
extern "C" fn other() -> ! {
    let end = stck() + 30_000 * MICROSECOND;
    while stck() < end {}
    println!("CPU 1 goes on");
    let left = Psw::new(psw::INITIAL, loop_left as *const () as u64);
    for class in [Class::Program, Class::External] {
        let at = with_exposed_provenance_mut::<u64>(new_psw_of_cpu_0(class));
        // A doubleword each: the mask comes first, because the address may be reached with either mask.
        // SAFETY: CPU 0 uses it only for interruptions.
        unsafe {
            at.write_volatile(left.mask);
            at.add(1).write_volatile(left.address);
        }
    }
    let flag = with_exposed_provenance::<u8>(stpx() as usize + LEFT as usize);
    // SAFETY: storage of CPU 0 that nothing else uses.
    while unsafe { flag.read_volatile() } == 0 {
        guests::insn::yield_cpu();
    }
    holds("CPU 0 has left the loop", true);
    end_success()
}

/// Makes the clock comparator a condition that stays pending, and opens its subclass.
fn let_clock_comparator_interrupt() {
    let mut registers = stctg_all();
    registers[0] |= externals::CLOCK_COMPARATOR;
    lctlg_all(&registers);
    sckc(0);
}

fn set_new_psw(class: Class, mask: u64, address: u64) {
    lowcore::write(class.new(), Psw::new(psw::INITIAL | mask, address));
}

fn run() {
    // SAFETY: the test may have changed it before the program was loaded.
    let kind = unsafe { (&raw const PARAMETERS.kind).read_volatile() };
    println!("the loop of kind {kind} begins");
    if smp::present(1) {
        smp::start(1, other);
    }
    let handler = loop_handler as *const () as u64;
    match kind {
        // The clock comparator stays pending, and its own new PSW is open to it.
        1 => {
            set_new_psw(Class::External, psw::EXTERNAL, handler);
            let_clock_comparator_interrupt();
            stosm::<0x01>();
        }
        // The same in the wait state.
        2 => {
            set_new_psw(Class::External, psw::EXTERNAL | psw::WAIT, handler);
            let_clock_comparator_interrupt();
            stosm::<0x01>();
        }
        // An event nullifies the first instruction of the handler for events.
        3 => {
            let mut registers = stctg_all();
            registers[9..12].copy_from_slice(&[NULLIFY, handler, handler]);
            lctlg_all(&registers);
            set_new_psw(Class::Program, PER | psw::EXTERNAL, handler);
            psw::load_psw(psw::INITIAL | PER | psw::EXTERNAL);
            // SAFETY: the handler keeps control.
            unsafe { asm!("brasl %r14, loop_handler", out("r14") _) };
        }
        // The handler is where no storage is, and interruptions are open.
        4 => {
            set_new_psw(Class::Program, psw::EXTERNAL, NOWHERE);
            // SAFETY: an operation exception.
            unsafe { asm!(".2byte 0") };
        }
        // The handlers of two classes are there, and one interrupts the other.
        _ => {
            set_new_psw(Class::Program, psw::EXTERNAL, NOWHERE);
            set_new_psw(Class::External, 0, NOWHERE);
            let_clock_comparator_interrupt();
            stosm::<0x01>();
        }
    }
    holds("the loop keeps control", false);
}
