//! From the kernel's start of a program to its `main`.
//!
//! At the start general register 15 designates the number of arguments. The entry makes a stack frame below it.

/// Names the function that a program performs. Its result is the exit code.
#[macro_export]
macro_rules! program {
    ($run:path) => {
        core::arch::global_asm!(
            ".globl _start",
            "_start:",
            "aghi %r15, -160",
            "lghi %r11, 0",
            "brasl %r14, program_main",
            "j .",
        );

        #[unsafe(no_mangle)]
        extern "C" fn program_main() -> ! {
            let code: u8 = $run();
            $crate::call::exit(code)
        }
    };
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    crate::call::exit(101)
}
