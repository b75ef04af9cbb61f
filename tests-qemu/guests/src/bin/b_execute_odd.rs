//! EXECUTE of an odd address is a specification exception. (QEMU performs what it finds there, hence not
//! native.)
#![no_std]
#![no_main]

use guests::attempt;
use guests::attempt::suppressed;
use guests::check::check;

guests::clause!(
    "Principles of Operation, EXECUTE; Specification Exception",
    native = false
);
guests::guest!(run);

core::arch::global_asm!(
    ".section .text.targets,\"ax\",@progbits",
    ".p2align 3",
    "odd_target: lghi %r1, 0",
    "stap 0x900(%r0)",
    ".text",
);

unsafe extern "C" {
    fn odd_target();
}

fn run() {
    let target = odd_target as *const () as u64;
    check(
        "EX of an odd address",
        attempt!("ex %r0, 1({t})", t = in(reg_addr) target).number(),
        suppressed(6, 4),
    );
    check(
        "EX of another",
        attempt!("ex %r0, 3({t})", t = in(reg_addr) target).number(),
        suppressed(6, 4),
    );
}
