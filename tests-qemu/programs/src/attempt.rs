//! Perform an instruction that may be refused, and tell by which signal.
//!
//! The handler of the signals for program interruptions keeps the signal and resumes behind the instruction. It takes
//! the address to resume at from a variable, because a branch may have gone anywhere.

use core::arch::global_asm;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::call::{Refused, call};

const RT_SIGACTION: u64 = 174;

/// An instruction that is not to be performed.
pub const SIGILL: u64 = 4;
/// A mapping without storage.
pub const SIGBUS: u64 = 7;
/// A data exception, or a similar one.
pub const SIGFPE: u64 = 8;
/// A page that is absent or protected.
pub const SIGSEGV: u64 = 11;
/// A trap.
pub const SIGTRAP: u64 = 5;

const SA_SIGINFO: u64 = 4;
const SA_RESTORER: u64 = 0x0400_0000;
/// The signal may come again while it is handled.
const SA_NODEFER: u64 = 0x4000_0000;

/// Offset of the PSW's address in the context that the kernel gives a handler.
const CONTEXT_ADDRESS: usize = 48;

/// The address to resume at after a signal.
pub static RESUME: AtomicU64 = AtomicU64::new(0);
/// The signal that arrived; zero if there was none.
static CAME: AtomicU64 = AtomicU64::new(0);

/// The structure by which the kernel installs a handler.
#[repr(C)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

global_asm!(".globl attempt_restorer", "attempt_restorer: svc 173");

unsafe extern "C" {
    fn attempt_restorer();
}

extern "C" fn handler(signal: u64, _: u64, context: *mut u8) {
    CAME.store(signal, Ordering::Relaxed);
    // SAFETY: the kernel's context, which it loads from when the handler returns.
    unsafe {
        let address = context.add(CONTEXT_ADDRESS).cast::<u64>();
        address.write(RESUME.load(Ordering::Relaxed));
    }
}

/// Installs the handler for the signals of program interruptions.
pub fn prepare() -> Result<(), Refused> {
    let action = Action {
        handler: handler as *const () as usize,
        flags: SA_SIGINFO | SA_RESTORER | SA_NODEFER,
        restorer: attempt_restorer as *const () as usize,
        mask: 0,
    };
    for signal in [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV] {
        // SAFETY: the structure of this call, whose last parameter is the length of the mask.
        unsafe { call(RT_SIGACTION, [signal, &raw const action as u64, 0, 8]) }?;
    }
    Ok(())
}

/// The signal since the last call; zero if there was none.
pub fn signal() -> u64 {
    CAME.swap(0, Ordering::Relaxed)
}

/// Attempts an instruction with `%r2` as given, a page of the program's own in `%r3`, and `%r0`, `%r4` and `%r5` as
/// given. The result is the signal, or zero.
#[macro_export]
macro_rules! attempt {
    ($text:literal, $r2:expr, $r3:expr, $more:expr) => {{
        let more: [u64; 3] = $more;
        #[allow(unused_unsafe)]
        // SAFETY: the handler resumes behind the instruction; the list names everything the instruction may change.
        unsafe {
            core::arch::asm!(
                "larl %r1, 33f",
                "stg %r1, 0({resume})",
                $text,
                "33: sacf 0",
                resume = in(reg_addr) $crate::attempt::RESUME.as_ptr(),
                inout("r0") more[0] => _,
                out("r1") _,
                inout("r2") $r2 => _,
                inout("r3") $r3 => _,
                inout("r4") more[1] => _,
                inout("r5") more[2] => _,
            );
        }
        $crate::attempt::signal()
    }};
}
