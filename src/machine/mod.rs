//! The only room that touches hardware: trap entry, lowcore, timers, SCLP, SIGP, instruction wrappers.
//!
//! It is also the only room with unsafe code; each block states its reason. The firmware runs with DAT
//! off and disabled for interruptions, so a real address is a pointer, and no interruption comes
//! unexpectedly. Waits are explicit ([`hardware::wait`]).

mod count;
mod hardware;
mod his;
mod integrity;
mod io;
mod ipl;
mod native;
mod operator;
mod run;
mod shared;
mod stacks;
mod state;
mod still;
mod trap;
mod turn;
mod window;

core::arch::global_asm!(include_str!("../../boot/entry.s"));
core::arch::global_asm!(include_str!("../../boot/parts.s"));
core::arch::global_asm!(
    include_str!("../../boot/channel.s"),
    not_read = const io::failure::WaitState::NotRead as u32
);
