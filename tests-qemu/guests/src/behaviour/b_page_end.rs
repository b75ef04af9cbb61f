//! EXTRACT PSW and STORE FACILITY LIST EXTENDED at the end of a page, across the end of a page, and in a page that
//! the program stores data into while it executes there.

use core::arch::{asm, global_asm};

use guests::check::{check, holds};
use guests::insn::cpu::stfle;

guests::clause!(
    "Principles of Operation, EXTRACT PSW; STORE FACILITY LIST EXTENDED",
    native = true
);
guests::case!(run);

global_asm!(
    ".section .text.page_end,\"ax\",@progbits",
    ".p2align 12",
    // One page whose last instruction is EPSW.
    ".skip 4096 - 4",
    "last_epsw: epsw %r2, %r3",
    "br %r14",
    // The next page ends in the first half of an EPSW.
    ".skip 4096 - 4",
    "across_epsw: epsw %r2, %r3",
    "br %r14",
    // The next page ends in the first half of STFLE.
    ".skip 4096 - 6",
    "across_stfle: stfle 0(%r2)",
    "br %r14",
    ".section .data.mixed,\"awx\",@progbits",
    ".p2align 12",
    // Code and its counter word, in one page.
    "mixed: lgr %r4, %r2",
    "0: larl %r1, mixed_count",
    "asi 0(%r1), 1",
    "epsw %r2, %r3",
    "brctg %r4, 0b",
    "br %r14",
    ".p2align 3",
    "mixed_count: .long 0",
    ".p2align 12",
    ".text",
);

unsafe extern "C" {
    fn last_epsw();
    fn across_epsw();
    fn across_stfle();
    fn mixed();
    static mixed_count: u64;
}

fn call(code: unsafe extern "C" fn(), first: u64) -> (u64, u64) {
    let (high, low): (u64, u64);
    // SAFETY: each of the pieces above uses only these registers.
    unsafe {
        asm!(
            "basr %r14, {c}",
            c = in(reg_addr) code as *const () as u64,
            inout("r0") 3_u64 => _,
            inout("r2") first => high,
            inout("r3") 0_u64 => low,
            out("r1") _,
            out("r4") _,
            out("r14") _,
        );
    }
    (high, low)
}

fn run() {
    for _ in 0..3 {
        let (high, low) = call(last_epsw, 0);
        check("EPSW as a page's last instruction", high & !0x3000, 1);
        check("  bits 32-63", low, 0x8000_0000);
        let (high, low) = call(across_epsw, 0);
        check("EPSW across a page's end", high & !0x3000, 1);
        check("  bits 32-63", low, 0x8000_0000);
        let (mut here, mut there) = ([0_u64; 4], [0_u64; 4]);
        stfle(&mut here);
        call(across_stfle, there.as_mut_ptr() as u64);
        // SAFETY: stored by the call.
        unsafe { core::ptr::read_volatile(&raw const there) };
        holds(
            "STFLE across a page's end shows the same list",
            here == there,
        );
    }
    let (high, low) = call(mixed, 50);
    check("EPSW in a page that is stored into", high & !0x3000, 1);
    check("  bits 32-63", low, 0x8000_0000);
    // SAFETY: reads the word.
    check(
        "stores into the page",
        unsafe { (&raw const mixed_count).cast::<u32>().read_volatile() },
        50,
    );
}
