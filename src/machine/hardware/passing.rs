//! Passes the turn between real CPUs, so that the next one begins it at the same clock in every run.
//!
//! Under an instruction-counting clock QEMU executes its CPUs one after the other, each until it waits. Other threads
//! of QEMU can have it leave a CPU at any instruction, as a monitor does that stops the machine, and then it continues
//! with the next one. The CPU that passes the turn may be left like that between its emergency signal and its wait, by
//! one instruction. The next CPU would begin that much earlier, and the rest be executed in the middle of its turn.
//!
//! So a CPU that has received the turn first lets the CPU that passed it come to its wait, and then continues at a
//! clock that depends only on when the turn was passed.

use crate::arch::tod::clock_nanoseconds;
use crate::guest::state::schedule::NEVER;
use crate::machine::hardware::instruction;
use crate::machine::hardware::settle;
use crate::machine::hardware::wait::{self, Waited};
use core::sync::atomic::{AtomicU16, AtomicU64, Ordering};

/// A turn begins this many nanoseconds after it was passed. What comes before needs fewer instructions, even if all
/// attempts are made.
const BEHIND: u64 = 250;

/// How often others are let execute before the turn begins in any case. The CPU that passed the turn has an instruction
/// left, so it takes a host that has QEMU leave a CPU after every instruction to need them all.
const ATTEMPTS: u32 = 4;

/// How the turn was last passed.
#[derive(Debug, Default)]
pub struct Passed {
    /// The CPU that passed it.
    by: AtomicU16,
    /// The clock then.
    at: AtomicU64,
}

impl Passed {
    /// No turn has been passed yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            by: AtomicU16::new(0),
            at: AtomicU64::new(0),
        }
    }

    /// Passes the turn from CPU `me`, which is this one, to CPU `next`, and waits until this CPU is signalled.
    pub fn pass_and_wait(&self, me: u16, next: u16) -> Waited {
        self.by.store(me, Ordering::SeqCst);
        self.received(wait::for_external_after(next, &self.at))
    }

    /// Waits until this CPU is signalled.
    pub fn wait(&self) -> Waited {
        self.received(wait::for_external())
    }

    /// The wait has ended with the turn.
    fn received(&self, waited: Waited) -> Waited {
        let by = self.by.load(Ordering::SeqCst);
        for _ in 0..ATTEMPTS {
            if !instruction::is_running(by) {
                break;
            }
            // QEMU leaves a CPU whose next timer has become an earlier one.
            instruction::sckc(instruction::stckf());
            instruction::sckc(NEVER);
        }
        let begins = clock_nanoseconds(self.at.load(Ordering::SeqCst)) + BEHIND;
        let to = settle::continue_at(begins, instruction::stckf());
        Waited { to, ..waited }
    }
}
