//! One instruction that interrupts, over and over: STORE CPU ADDRESS, the cheapest there is.
//!
//! A program cannot see where the machine spends its time. QEMU's own log of execution can, and this is the program
//! to log: DAT is on, the program is in supervisor state, the loop stays in one page of code and stores into one
//! page, and it is short, so the log is short, too. The console shows how many times the instruction was executed.
#![no_std]
#![no_main]

use guests::{dat, println};

guests::clause!("measure: the way of one interruption", native = true);
guests::guest!(run);

/// How often the instruction is executed.
const TIMES: u64 = 200;

fn run() {
    dat::prepare();
    dat::on();
    let mut address = 0_u16;
    // SAFETY: stores two bytes into a local; nothing else is changed but the count.
    unsafe {
        core::arch::asm!(
            "40: stap 0({a})",
            "brctg {times}, 40b",
            a = in(reg_addr) &raw mut address,
            times = inout(reg) TIMES => _,
        );
    }
    dat::off();
    println!("times {TIMES}");
}
