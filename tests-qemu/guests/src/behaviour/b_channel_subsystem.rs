//! The channel subsystem stores its characteristics on request, and rejects a command that it does not know. A
//! request with a wrong length is an operand exception.

use core::arch::asm;
use guests::attempt;
use guests::check::{check, holds};
use guests::insn::cpu::Page;

guests::clause!(
    "Principles of Operation, CHANNEL SUBSYSTEM CALL; QEMU, ioinst_handle_chsc",
    native = true
);
guests::case!(run);

static mut BLOCK: Page = Page([0; 4096]);

/// CHANNEL SUBSYSTEM CALL with a request of this length. Returns the condition code.
fn chsc(block: &mut Page, length: u16, command: u16) -> u8 {
    block.0.fill(0xEE);
    block.0[..16].fill(0);
    block.0[..2].copy_from_slice(&length.to_be_bytes());
    block.0[2..4].copy_from_slice(&command.to_be_bytes());
    let cc: u64;
    // SAFETY: request and response stay within the page.
    unsafe {
        asm!(".insn rre,0xb25f0000,{a},%r0", "ipm {c}", a = in(reg_addr) block.0.as_mut_ptr(), c = out(reg) cc);
    }
    (cc >> 28) as u8 & 3
}

/// The halfword at an offset.
fn halfword(block: &Page, at: usize) -> u16 {
    u16::from_be_bytes([block.0[at], block.0[at + 1]])
}

fn run() {
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    check("characteristics: condition code", chsc(block, 16, 0x10), 0);
    check("response length", halfword(block, 16), 4080);
    check("response code", halfword(block, 18), 1);
    holds(
        "there is a characteristic",
        block.0[24..4096].iter().any(|&byte| byte != 0),
    );
    check("events: condition code", chsc(block, 16, 0x0E), 0);
    check("none is pending: response code", halfword(block, 18), 5);
    check(
        "another command: condition code",
        chsc(block, 64, 0x7777),
        0,
    );
    check("response length", halfword(block, 64), 8);
    check("response code", halfword(block, 66), 4);
    check("behind the response nothing is stored", block.0[72], 0xEE);
    for length in [8_u16, 20, 4096] {
        block.0[..2].copy_from_slice(&length.to_be_bytes());
        let page = block.0.as_mut_ptr() as u64;
        let wrong = attempt!(".insn rre,0xb25f0000,{a},%r0", a = in(reg_addr) page);
        check("a wrong length: code", wrong.code(), 0x15);
    }
    let odd = block.0.as_mut_ptr() as u64 + 8;
    let odd = attempt!(".insn rre,0xb25f0000,{a},%r0", a = in(reg_addr) odd);
    check("block not on a page boundary: code", odd.code(), 6);
}
