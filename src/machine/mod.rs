//! The only room that touches hardware: trap entry, lowcore, timers, SCLP, SIGP, instruction wrappers.
//!
//! And the only one with unsafe code, each block with its reason. The firmware runs with DAT off and
//! disabled for interruptions, so that a real address is a pointer and nothing comes in between; when
//! it has to wait it says so ([`wait`]).

mod caches;
mod calibrate;
mod channel;
mod console;
mod count;
mod cpu;
mod failure;
mod heap;
mod his;
mod hsa;
mod input;
mod instruction;
mod integrity;
mod ipl;
mod log;
mod native;
mod operator;
mod registers;
mod run;
mod sclp;
mod settle;
mod staged;
mod traces;
mod trap;
mod turn;
mod wait;

core::arch::global_asm!(include_str!("../../boot/entry.s"));
