//! The loop of [`spin`](crate::spin) under a clock comparator that interrupts at an interval, with a handler of eleven
//! instructions that only rearms it: the least that sampling at that interval could cost.

use core::arch::global_asm;

use crate::externals::CLOCK_COMPARATOR;
use crate::insn::clock::{sckc, stckf};
use crate::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use crate::interruption::Class;
use crate::psw::{self, Psw};
use crate::{lowcore, println};

// The interval is at real C08, the interruptions are counted at C10, registers are saved at C20.
global_asm!(
    ".section .text.rearm,\"ax\",@progbits",
    ".p2align 3",
    "rearm: stg %r1, 0xC20(%r0)",
    "stg %r2, 0xC28(%r0)",
    "stckf 0xC00(%r0)",
    "lg %r1, 0xC00(%r0)",
    "ag %r1, 0xC08(%r0)",
    "stg %r1, 0xC00(%r0)",
    "sckc 0xC00(%r0)",
    "agsi 0xC10(%r0), 1",
    "lg %r1, 0xC20(%r0)",
    "lg %r2, 0xC28(%r0)",
    "lpswe 0x130(%r0)",
);

unsafe extern "C" {
    fn rearm();
}

/// Runs the loop with an interruption every `interval` instructions: nanoseconds of a clock that advances one for each.
pub fn run(interval: u64) {
    // TOD-clock units: 4096 of them make 1000 ns.
    let units = interval * 4096 / 1000;
    lowcore::write(0xC08, units);
    lowcore::write(0xC10, 0_u64);
    lowcore::write(
        Class::External.new(),
        Psw::new(psw::INITIAL, rearm as *const () as u64),
    );
    lctlg_0(stctg_0() | CLOCK_COMPARATOR);
    sckc(stckf() + units);
    stosm::<0x01>();
    let result = crate::spin::spin();
    stnsm::<0xFE>();
    println!("bare-timer: {result:016x}");
    let interruptions: u64 = lowcore::read(0xC10);
    println!(
        "interruptions: {}",
        if interruptions > 0 { "counted" } else { "none" }
    );
}
