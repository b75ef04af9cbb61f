//! The firmware's own enabled waits.
//!
//! The firmware runs disabled. To wait, it loads a real control register 0 with only the subclasses that it waits for
//! where that matters (and 6 and 14 where a device may interrupt), exchanges the new PSWs in its lowcore, and loads a
//! wait PSW.

use crate::arch::channel::IoInterruption;
use crate::arch::control::{CR0_LOW_ADDRESS_PROTECTION, CR0_SERVICE_SIGNAL, CR14_CHANNEL_REPORT};
use crate::arch::interruption::external;
use crate::arch::psw::{self, Psw};
use crate::machine::hardware::instruction;
use crate::machine::hardware::lowcore::{self, Lowcore};
use crate::machine::hardware::settle::settle;
use core::arch::global_asm;
use core::mem::offset_of;
use core::sync::atomic::AtomicU64;

/// Real CR0 while the firmware waits for a service signal, which alone may interrupt then.
const CR0_WAIT: u64 = CR0_SERVICE_SIGNAL;

unsafe extern "C" {
    /// Loads the PSW, waits, and returns when an external (0), I/O (1) or machine-check (2) interruption was taken.
    fn firmware_wait(psw: &Psw) -> u64;
    /// The same, after an emergency signal to a CPU, right before which the clock is stored at `at`.
    fn firmware_signal_and_wait(psw: &Psw, cpu: u64, at: &AtomicU64) -> u64;
    /// Opens the masks of the PSW for a moment. Returns 1 if an external or I/O interruption was taken, 0 if none was
    /// pending.
    fn firmware_window(psw: &mut Psw) -> u64;
}

global_asm!(
    ".globl firmware_wait",
    "firmware_wait:",
    "lghi %r4,0",
    ".globl firmware_signal_and_wait",
    "firmware_signal_and_wait:",
    "stmg %r6,%r15,48(%r15)",
    "stg %r15,{caller_stack}(%r0)",
    "lg %r6,{external}(%r0)",
    "lg %r7,{io}(%r0)",
    "lg %r8,{machine_check}(%r0)",
    "stg %r6,{kept}(%r0)",
    "stg %r7,{kept_io}(%r0)",
    "stg %r8,{kept_machine_check}(%r0)",
    "larl %r6,0f",
    "larl %r7,1f",
    "larl %r8,2f",
    "stg %r6,{external}(%r0)",
    "stg %r7,{io}(%r0)",
    "stg %r8,{machine_check}(%r0)",
    "ltgr %r4,%r4",
    "jz 4f",
    // Nothing is between the signal and the wait.
    ".insn s,0xb27c0000,{began}(%r0)",
    "mvc 0(8,%r4),{began}(%r0)",
    "sigp %r6,%r3,{emergency_signal}(%r0)",
    "lpswe 0(%r2)",
    // Only the wait is between the two stamps.
    "4:",
    ".insn s,0xb27c0000,{began}(%r0)",
    "lpswe 0(%r2)",
    "0:",
    ".insn s,0xb27c0000,{ended}(%r0)",
    "lghi %r2,0",
    "j 3f",
    "1:",
    ".insn s,0xb27c0000,{ended}(%r0)",
    "lghi %r2,1",
    "j 3f",
    "2:",
    ".insn s,0xb27c0000,{ended}(%r0)",
    "lghi %r2,2",
    "3:",
    "lg %r15,{caller_stack}(%r0)",
    "lg %r6,{kept}(%r0)",
    "lg %r7,{kept_io}(%r0)",
    "lg %r8,{kept_machine_check}(%r0)",
    "stg %r6,{external}(%r0)",
    "stg %r7,{io}(%r0)",
    "stg %r8,{machine_check}(%r0)",
    "lmg %r6,%r15,48(%r15)",
    "br %r14",
    ".globl firmware_window",
    "firmware_window:",
    "stmg %r6,%r15,48(%r15)",
    "stg %r15,{caller_stack}(%r0)",
    "lg %r6,{external}(%r0)",
    "lg %r7,{io}(%r0)",
    "stg %r6,{kept}(%r0)",
    "stg %r7,{kept_io}(%r0)",
    "larl %r6,1f",
    "stg %r6,{external}(%r0)",
    "stg %r6,{io}(%r0)",
    "larl %r6,0f",
    "stg %r6,8(%r2)",
    "lpswe 0(%r2)",
    "0:",
    // The masks are still open here; this closes them.
    "stnsm {system_mask}(%r0),0xfc",
    "lghi %r2,0",
    "j 2f",
    "1:",
    "lghi %r2,1",
    "2:",
    "lg %r15,{caller_stack}(%r0)",
    "lg %r6,{kept}(%r0)",
    "lg %r7,{kept_io}(%r0)",
    "stg %r6,{external}(%r0)",
    "stg %r7,{io}(%r0)",
    "lmg %r6,%r15,48(%r15)",
    "br %r14",
    caller_stack = const offset_of!(Lowcore, caller_stack),
    external = const offset_of!(Lowcore, external_new.address),
    io = const offset_of!(Lowcore, io_new.address),
    machine_check = const offset_of!(Lowcore, machine_check_new.address),
    kept = const offset_of!(Lowcore, kept_new),
    kept_io = const offset_of!(Lowcore, kept_new) + 8,
    kept_machine_check = const offset_of!(Lowcore, kept_new) + 16,
    began = const offset_of!(Lowcore, wait_began),
    ended = const offset_of!(Lowcore, wait_ended),
    system_mask = const offset_of!(Lowcore, system_mask),
    emergency_signal = const instruction::EMERGENCY_SIGNAL,
);

/// What a wait may take besides external interruptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// I/O-interruption subclasses, as masks: bits 32-39 of control register 6.
    pub subclasses: u8,
    /// Machine checks that announce channel reports.
    pub reports: bool,
}

impl Open {
    /// Nothing.
    pub const NOTHING: Self = Self {
        subclasses: 0,
        reports: false,
    };
}

/// An interruption that the firmware has taken.
#[derive(Clone, Copy, Debug)]
pub enum Taken {
    /// External, with its code.
    External(u16),
    /// I/O.
    Io(IoInterruption),
    /// Machine check, with its code.
    MachineCheck(u64),
}

/// A wait that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    /// What ended it.
    pub taken: Taken,
    /// The clock when the wait began.
    pub from: u64,
    /// The clock when it ended.
    pub to: u64,
}

/// Waits until an external interruption of an enabled subclass was taken. Service signals are excluded, because they
/// would be lost here.
pub fn for_external() -> Waited {
    closed(|| exchange_and_wait(0))
}

/// As [`for_external`], after an emergency signal to CPU `next`. `at` is the clock when it was signalled.
pub fn for_external_after(next: u16, at: &AtomicU64) -> Waited {
    closed(|| {
        let psw = wait_psw(0);
        // SAFETY: as in `exchange_and_wait`; the CPU that is signalled waits in the firmware.
        ended(unsafe { firmware_signal_and_wait(&psw, next.into(), at) })
    })
}

/// Works without low-address protection, which covers the new PSWs and which the guest's setting applies to the machine
/// too, and without service signals.
pub fn closed<T>(work: impl FnOnce() -> T) -> T {
    let real = loaded_cr0();
    let closed = CR0_LOW_ADDRESS_PROTECTION | CR0_SERVICE_SIGNAL;
    if real & closed != 0 {
        return under_cr0(real & !closed, work);
    }
    work()
}

/// Works under another real CR0.
fn under_cr0<T>(value: u64, work: impl FnOnce() -> T) -> T {
    let real = loaded_cr0();
    // SAFETY: while DAT is off, CR0 decides only about interruptions and low-address protection.
    unsafe { instruction::lctlg(0, value) };
    let done = work();
    // SAFETY: as above.
    unsafe { instruction::lctlg(0, real) };
    done
}

/// Real CR0 as the guest runs under it.
fn loaded_cr0() -> u64 {
    lowcore::CONTROL_0.get()
}

/// Works under other masks in control register 6 or 14.
fn under_control<T>(number: u8, value: u64, work: impl FnOnce() -> T) -> T {
    let real = instruction::stctg(number);
    if real == value {
        return work();
    }
    // SAFETY: these registers hold masks of interruptions only.
    unsafe { instruction::lctlg(number, value) };
    let done = work();
    // SAFETY: as above.
    unsafe { instruction::lctlg(number, real) };
    done
}

/// The PSW of a wait for external interruptions, and for those that these masks enable.
const fn wait_psw(more: u64) -> Psw {
    Psw {
        mask: psw::EXTERNAL | psw::WAIT | psw::ADDRESSING_64 | more,
        address: 0,
    }
}

/// Waits for external interruptions, and for those that these masks of the PSW enable.
fn exchange_and_wait(more: u64) -> Waited {
    // SAFETY: the lowcore of this CPU holds valid new PSWs, which return from the wait.
    ended(unsafe { firmware_wait(&wait_psw(more)) })
}

/// The wait that has just ended by an interruption of this class.
fn ended(class: u64) -> Waited {
    let taken = match class {
        0 => Taken::External(lowcore::EXTERNAL_CODE.get()),
        1 => Taken::Io(lowcore::io_interruption()),
        _ => Taken::MachineCheck(lowcore::MACHINE_CHECK_CODE.get()),
    };
    let (from, mut to) = (lowcore::WAIT_BEGAN.get(), lowcore::WAIT_ENDED.get());
    if matches!(taken, Taken::External(external::CLOCK_COMPARATOR)) {
        to = settle(from, to);
    }
    Waited { taken, from, to }
}

/// Stops the real CPU timer. No other interruption may be enabled, neither the clock comparator nor another CPU's
/// signals.
///
/// When every CPU waits, QEMU's virtual clock jumps to the next timer, however far that is: a machine that waits for a
/// slow host would be decades ahead. No value of SET CPU TIMER turns QEMU's timer off, but after it has interrupted it
/// stays stopped.
pub fn stop_cpu_timer() {
    instruction::spt(0);
    while !matches!(for_external().taken, Taken::External(external::CPU_TIMER)) {}
    quiet_cpu_timer();
}

/// Sets the real CPU timer far ahead if it has interrupted and is still negative: its condition then stays pending, as the
/// architecture says, and would interrupt for ever. QEMU forgets it, and shows a positive value.
pub fn quiet_cpu_timer() {
    if instruction::stpt() >> 63 != 0 {
        instruction::spt(i64::MAX as u64);
    }
}

/// Absorbs a pending service signal, if there is one, and nothing else. Returns whether it said that events wait to be
/// read.
pub fn absorb_service_signal() -> bool {
    let mut psw = Psw {
        mask: psw::EXTERNAL | psw::ADDRESSING_64,
        address: 0,
    };
    // SAFETY: the window returns by the new PSWs or by itself.
    under_cr0(CR0_WAIT, || unsafe {
        firmware_window(&mut psw) != 0 && lowcore::EXTERNAL_PARAMETER.get() & 1 != 0
    })
}

/// Loads real CR0, and remembers it for after a wait.
pub fn load_cr0(value: u64) {
    lowcore::set_control_0(value);
    // SAFETY: while DAT is off, CR0 decides only about interruptions and low-address protection.
    unsafe { instruction::lctlg(0, value) };
}

/// Works with these bits of real CR0 one, besides those that the firmware last loaded.
pub fn with_cr0<T>(more: u64, work: impl FnOnce() -> T) -> T {
    under_cr0(loaded_cr0() | more, work)
}

/// As [`for_external`], but also for service signals if `input`, and for what is `open`, in this one wait.
pub fn for_more(input: bool, open: Open) -> Waited {
    if !input && open == Open::NOTHING {
        return for_external();
    }
    let real = loaded_cr0() & !CR0_LOW_ADDRESS_PROTECTION;
    let real = if input {
        real | CR0_SERVICE_SIGNAL
    } else {
        real
    };
    under_cr0(real, || {
        if open == Open::NOTHING {
            return exchange_and_wait(0);
        }
        let io = if open.subclasses == 0 { 0 } else { psw::IO };
        let reports = if open.reports { psw::MACHINE_CHECK } else { 0 };
        under_control(6, u64::from(open.subclasses) << 24, || {
            under_control(14, CR14_CHANNEL_REPORT, || exchange_and_wait(io | reports))
        })
    })
}

/// Takes a pending I/O interruption of these subclasses, if there is one, and nothing else.
pub fn take_io(subclasses: u8) -> Option<IoInterruption> {
    let mut psw = Psw {
        mask: psw::IO | psw::ADDRESSING_64,
        address: 0,
    };
    let real = loaded_cr0() & !CR0_LOW_ADDRESS_PROTECTION;
    // SAFETY: the window returns by the new PSWs or by itself.
    let taken = under_cr0(real, || {
        under_control(6, u64::from(subclasses) << 24, || unsafe {
            firmware_window(&mut psw)
        })
    });
    (taken != 0).then(lowcore::io_interruption)
}
