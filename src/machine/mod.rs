//! The only room that touches hardware: trap entry, lowcore, timers, SCLP, SIGP, instruction wrappers.
//!
//! And the only one with unsafe code, each block with its reason. The firmware runs with DAT off and
//! disabled for interruptions, so that a real address is a pointer and nothing comes in between; when
//! it has to wait it says so ([`hardware::wait`]).

mod count;
mod hardware;
mod his;
mod io;
mod ipl;
mod native;
mod operator;
mod run;
mod shared;
mod state;
mod trap;
mod turn;

core::arch::global_asm!(include_str!("../../boot/entry.s"));
