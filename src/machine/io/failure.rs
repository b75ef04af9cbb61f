//! Failures of the machine itself: it reports what failed and where, stops the other CPUs, and ends in
//! a disabled wait whose address is the reason.
//!
//! The book lists the addresses, for those who find a machine in such a wait.

use crate::arch::condition::ConditionCode;
use crate::arch::cpu::MAXIMUM_CPUS;
use crate::arch::psw::{ADDRESSING_64, Psw, WAIT};
use crate::link::frame::Channel;
use crate::link::state::{FailureHead, Payload};
use crate::machine::hardware::{instruction, lowcore};
use crate::machine::io::console;
use core::fmt::Write;
use core::sync::atomic::{AtomicBool, Ordering};
use zerocopy::IntoBytes;
use zerocopy::byteorder::big_endian::U64;

/// Why the machine has stopped: the address of its disabled wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum WaitState {
    /// The guest ended by a disabled wait at FFF, stopped all its CPUs, or named the exit code 0: success.
    Success = 0xFFF,
    /// There is too little storage, or the machine does not say how much.
    Storage = 0x101,
    /// The loader block or what it designates is refused.
    LoaderBlock = 0x102,
    /// The machine below lacks what a guest needs.
    Facilities = 0x103,
    /// A CPU did not start.
    CpuStart = 0x104,
    /// An IPL from a device did not read everything: `boot/channel.s`.
    NotRead = 0x105,
    /// A panic: this machine's own error.
    Panic = 0x201,
    /// A program interruption in the firmware itself.
    OwnProgram = 0x202,
    /// A machine check while the firmware had control.
    MachineCheck = 0x203,
    /// The operator's restart while the firmware had control.
    Restart = 0x204,
    /// A part of the HSA that must not change has changed.
    Integrity = 0x205,
    /// The guest ended by a disabled wait at another address than FFF, or named an exit code other than 0.
    GuestFailed = 0x301,
    /// The guest reached the check-stop state.
    GuestCheckStop = 0x302,
    /// The operator ended the guest.
    OperatorEnd = 0x303,
    /// The guest's program interruptions lead only to further program interruptions.
    GuestLoops = 0x304,
    /// The guest's external new PSW is enabled for an external interruption that stays pending.
    GuestInterrupted = 0x305,
}

unsafe extern "C" {
    // Typed as doublewords because they are on such a boundary, and LARL cannot reach odd addresses.
    static __image_start: u64;
    static __constants_end: u64;
    static __image_end: u64;
}

/// The base of the image, the end of its text, and the end of the image, where they are now.
#[must_use]
pub fn image() -> (u64, u64, u64) {
    // Only the addresses of these symbols are used.
    (
        (&raw const __image_start).addr() as u64,
        (&raw const __constants_end).addr() as u64,
        (&raw const __image_end).addr() as u64,
    )
}

/// Ends in a disabled wait.
pub fn stop(why: WaitState) -> ! {
    let psw = Psw {
        mask: WAIT | ADDRESSING_64,
        address: u64::from(why as u32),
    };
    // SAFETY: a disabled wait runs nothing.
    unsafe { instruction::lpswe(&psw) }
}

/// SIGNAL PROCESSOR orders.
const SENSE: u8 = 1;
const START: u8 = 4;
const STOP: u8 = 5;
/// The bit of a stopped CPU in a status.
const STOPPED: u64 = 0x40;

/// SIGNAL PROCESSOR. Returns whether the CPU is stopped, or not operational.
fn signal(cpu: u16, order: u8) -> bool {
    // SAFETY: a stopped CPU runs nothing, and one that is started goes on where it was stopped.
    let (code, status) = unsafe { instruction::sigp_until_taken(cpu, order, 0) };
    code == ConditionCode::Three || status & STOPPED != 0
}

/// Stops every other CPU. Returns those that were not stopped before: one bit each, from the right.
pub fn stop_others() -> u64 {
    let me = instruction::stap();
    let mut running = 0;
    for cpu in (0..MAXIMUM_CPUS as u16).filter(|&cpu| cpu != me) {
        if !signal(cpu, SENSE) {
            running |= 1 << cpu;
        }
        signal(cpu, STOP);
    }
    running
}

/// Stops every other CPU at a moment at which none of them has what `is_held` finds to be held: a CPU that has it goes on for
/// a while.
pub fn stop_others_without(is_held: impl Fn() -> bool) {
    loop {
        let stopped = stop_others();
        let those = || (0..MAXIMUM_CPUS as u16).filter(|&cpu| stopped & 1 << cpu != 0);
        // The order is accepted before it is carried out.
        those().for_each(|cpu| while !signal(cpu, SENSE) {});
        if !is_held() {
            break;
        }
        those().for_each(|cpu| {
            signal(cpu, START);
        });
        // A CPU that is stopped again at once would do nothing.
        (0..100_000).for_each(|_| core::hint::spin_loop());
    }
}

/// Return addresses on the stack from `stack` upwards, as offsets in the image, innermost first.
///
/// Without a back chain, the stack is searched for addresses of the text that follow a BRASL or BASR.
fn backtrace(stack: u64) -> heapless::Vec<U64, 32> {
    let mut found = heapless::Vec::new();
    let (base, text_end, _) = image();
    let top = (stack | 0xFFFF).min(stack + 16384);
    let mut at = stack & !7;
    while at < top && !found.is_full() {
        // SAFETY: this machine's own stack, between the failing frame and its end or slightly beyond,
        // still in the HSA.
        let word: u64 =
            unsafe { core::ptr::read_volatile(core::ptr::with_exposed_provenance(at as usize)) };
        if word > base + 6 && word < text_end && word & 1 == 0 {
            // SAFETY: inside the image's text.
            let before: [u8; 6] = unsafe {
                core::ptr::read_volatile(core::ptr::with_exposed_provenance((word - 6) as usize))
            };
            if (before[0] == 0xC0 && before[1] & 0x0F == 5) || before[4] == 0x0D {
                let _ = found.push(U64::new(word - base));
            }
        }
        at += 8;
    }
    found
}

/// Set by the first failure. A failure during a failure ends at once.
static FAILING: AtomicBool = AtomicBool::new(false);

/// Reports what failed and where, and ends.
pub fn fail(why: WaitState, psw: Psw, registers: &[u64; 16], text: core::fmt::Arguments<'_>) -> ! {
    if FAILING.swap(true, Ordering::SeqCst) {
        stop(why);
    }
    stop_others();
    // SAFETY: every other CPU is stopped, and this one does not return.
    unsafe { console::seize() };
    let trace = backtrace(registers[15]);
    let mut line = heapless::String::<256>::new();
    let _ = line.write_fmt(text);
    if console::framed() {
        let head = FailureHead {
            wait_state: (why as u32).into(),
            psw_mask: psw.mask.into(),
            psw_address: psw.address.into(),
            registers: registers.map(U64::new),
            backtrace: (trace.len() as u16).into(),
        };
        let [kind, body] = head.pieces();
        console::send(
            Channel::RunState,
            &[kind, body, trace.as_bytes(), line.as_bytes()],
        );
    } else {
        let base = image().0;
        console::say(format_args!(
            "Millimeter has failed, wait state {:03X}: {line}\n",
            why as u32
        ));
        console::say(format_args!(
            "PSW {:016X} {:016X}, image at {base:X}\n",
            psw.mask, psw.address
        ));
        for (number, four) in registers.as_chunks::<4>().0.iter().enumerate() {
            console::say(format_args!(
                "R{:<2} {:016X} {:016X} {:016X} {:016X}\n",
                number * 4,
                four[0],
                four[1],
                four[2],
                four[3]
            ));
        }
        for address in &trace {
            console::say(format_args!("  called from image + {:X}\n", address.get()));
        }
    }
    console::flush();
    stop(why)
}

/// A refusal to continue that is not an error of this machine: one clear message, and the end.
pub fn refuse(why: WaitState, text: core::fmt::Arguments<'_>) -> ! {
    if console::framed() {
        fail(why, Psw::default(), &[0; 16], text)
    }
    console::say(format_args!("{text}\n"));
    console::flush();
    stop(why)
}

/// An interruption that the firmware itself caused. `class` is as in the trap entry.
#[unsafe(no_mangle)]
extern "C" fn own_interruption(class: u64) -> ! {
    let registers = lowcore::FAILED_REGISTERS.get();
    let (why, psw, what) = match class {
        0 => (WaitState::Restart, lowcore::RESTART_OLD.get(), "restart"),
        4 => (
            WaitState::MachineCheck,
            lowcore::MACHINE_CHECK_OLD.get(),
            "machine check",
        ),
        _ => (
            WaitState::OwnProgram,
            lowcore::PROGRAM_OLD.get(),
            "program interruption",
        ),
    };
    let code = lowcore::PROGRAM_IDENTIFICATION.get();
    let teid = lowcore::TRANSLATION_EXCEPTION.get();
    fail(
        why,
        psw,
        &registers,
        format_args!(
            "{what} while the firmware had control, code {:04X}, at image + {:X}, TEID {teid:X}",
            code & 0xFFFF,
            psw.address.wrapping_sub(image().0)
        ),
    )
}

#[panic_handler]
fn panic(information: &core::panic::PanicInfo<'_>) -> ! {
    let stack: u64;
    // SAFETY: copies the stack register.
    unsafe { core::arch::asm!("lgr {},%r15", out(reg) stack, options(nomem, nostack)) };
    let mut registers = [0; 16];
    registers[15] = stack;
    fail(
        WaitState::Panic,
        Psw::default(),
        &registers,
        format_args!("{information}"),
    )
}
