//! From the machine's start PSW to a guest's `main`.
//!
//! The first instruction is the entry. It sets up the stack, clears .bss (a flat image has none) and goes on in Rust,
//! which sets up the prefix area of CPU 0 before any interruption can occur.

use core::arch::global_asm;

use crate::{end, interruption};

/// Bytes of one class stack.
pub(crate) const CLASS_STACK: usize = 16 * 1024;
/// Bytes of the stack a CPU starts on.
pub(crate) const STACK: usize = 256 * 1024;

/// Stacks of one CPU: the six class stacks, then the one it starts on.
#[repr(C, align(4096))]
pub(crate) struct Stacks {
    pub(crate) classes: [[u8; CLASS_STACK]; 6],
    pub(crate) start: [u8; STACK],
}

#[unsafe(no_mangle)]
static mut FIRST_STACKS: Stacks = Stacks {
    classes: [[0; CLASS_STACK]; 6],
    start: [0; STACK],
};

global_asm!(
    ".section .text.entry,\"ax\",@progbits",
    ".globl _start",
    "_start:",
    "larl %r15, FIRST_STACKS",
    "agfi %r15, {stack}",
    "larl %r2, __bss_start",
    "larl %r3, __bss_end",
    "slgr %r3, %r2",
    "lghi %r4, 0",
    "lghi %r5, 0",
    "0: mvcle %r2, %r4, 0",
    "jo 0b",
    "brasl %r14, guest_start",
    "j .",
    stack = const size_of::<Stacks>() - 160,
);

unsafe extern "Rust" {
    fn guest_main();
}

#[unsafe(no_mangle)]
extern "C" fn guest_start() -> ! {
    interruption::establish(&raw const FIRST_STACKS as usize, CLASS_STACK);
    // SAFETY: defined by `guest!` in every guest.
    unsafe { guest_main() };
    end::end_success()
}

/// Names the function that a guest performs. The guest succeeds when it returns.
#[macro_export]
macro_rules! guest {
    ($main:path) => {
        #[unsafe(no_mangle)]
        fn guest_main() {
            $main()
        }
    };
}

/// Declares a module of the behaviour program as a case. The case starts at an entry named after the module, which
/// records the function and goes on like every guest.
#[macro_export]
macro_rules! case {
    ($main:path) => {
        core::arch::global_asm!(
            ".pushsection .text.case,\"ax\",@progbits",
            ".p2align 1",
            concat!(".globl \"", module_path!(), "\""),
            concat!("\"", module_path!(), "\":"),
            "larl %r1, {main}",
            "stgrl %r1, CHOSEN_CASE",
            "jg _start",
            ".popsection",
            main = sym $main,
        );
    };
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    crate::println!("panic: {info}");
    end::end_failure(3)
}
