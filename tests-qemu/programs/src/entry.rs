//! From the kernel's start of a program to its `main`.
//!
//! At the start general register 15 designates the number of arguments; the addresses of the arguments follow, a zero, the
//! addresses of the environment's strings, and a zero. The entry makes a stack frame below it.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Where the number of arguments is.
static START: AtomicPtr<u64> = AtomicPtr::new(core::ptr::null_mut());

/// What the program was started with: lists of addresses that end with a zero, as the kernel takes them again.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The program's own name, and its arguments.
    pub arguments: *const u64,
    /// The environment.
    pub environment: *const u64,
}

/// What this program was started with.
pub fn start() -> Start {
    let start = START.load(Ordering::Relaxed);
    // SAFETY: the kernel has put the number there, and the lists behind it.
    unsafe {
        let count = start.read() as usize;
        Start {
            arguments: start.add(1),
            environment: start.add(1 + count + 1),
        }
    }
}

impl Start {
    /// An argument; 0 is the program's own name.
    pub fn argument(&self, number: usize) -> Option<&'static CStr> {
        for at in 0..=number {
            // SAFETY: the list ends with a zero, behind which nothing is read.
            let address = unsafe { self.arguments.add(at).read() };
            if address == 0 {
                return None;
            }
            if at == number {
                // SAFETY: the kernel has put a string there, and nobody changes it.
                return Some(unsafe { CStr::from_ptr(address as *const _) });
            }
        }
        None
    }
}

/// Keeps where the kernel has put what the program was started with.
#[doc(hidden)]
pub fn keep(start: *mut u64) {
    START.store(start, Ordering::Relaxed);
}

/// Names the function that a program performs. Its result is the exit code.
#[macro_export]
macro_rules! program {
    ($run:path) => {
        core::arch::global_asm!(
            ".globl _start",
            "_start:",
            "lgr %r2, %r15",
            "aghi %r15, -160",
            "lghi %r11, 0",
            "brasl %r14, program_main",
            "j .",
        );

        #[unsafe(no_mangle)]
        extern "C" fn program_main(start: *mut u64) -> ! {
            $crate::entry::keep(start);
            let code: u8 = $run();
            $crate::call::exit(code)
        }
    };
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    crate::call::exit(101)
}
