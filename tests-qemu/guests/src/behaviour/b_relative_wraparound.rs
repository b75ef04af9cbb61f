//! The address of a relative-long operand wraps around as the addressing mode says. (QEMU computes it with 31 bits in
//! the 24-bit mode, and finds no storage there; above the machine that must not be different, or worse.)

use core::arch::{asm, global_asm};
use core::ptr::with_exposed_provenance_mut;

use guests::attempt_on_registers;
use guests::check::{check, holds};

guests::clause!(
    "Principles of Operation, Address Size and Wraparound; LOAD RELATIVE LONG",
    native = true
);
guests::case!(run);

/// The last four bytes of what 24 bits address.
const LAST: usize = 0xFF_FFFC;
/// Where the instruction is executed.
const HERE: u64 = 0x800;
const ADDRESSING: u16 = 5;

global_asm!(
    ".section .text.relative,\"ax\",@progbits",
    ".globl load_relative",
    "load_relative:",
    "sam24",
    // LRL of the address -4, from 802.
    ".short 0xC42D",
    ".long (-4 - 0x802) / 2",
    "sam64",
    "br %r4",
);

unsafe extern "C" {
    fn load_relative();
}

fn run() {
    // SAFETY: storage that nothing else uses; the last piece is code.
    unsafe {
        with_exposed_provenance_mut::<u32>(LAST).write_volatile(0x1234_5678);
        asm!(
            "mvc 0(16,{to}), 0({from})",
            to = in(reg_addr) HERE,
            from = in(reg_addr) load_relative as *const () as u64,
        );
    }
    let mut registers = [0, 0, HERE, 0, 0];
    let outcome = attempt_on_registers!("basr %r4, %r3", &mut registers);
    if outcome.code() == 0 {
        check("the operand", registers[1] as u32, 0x1234_5678);
    } else {
        holds(
            "no storage is at the end of 31 bits",
            outcome.code() == ADDRESSING,
        );
    }
}
