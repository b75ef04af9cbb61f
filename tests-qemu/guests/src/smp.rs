//! More than one CPU: find, start and stop the others.

use core::arch::global_asm;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::entry::{CLASS_STACK, STACK, Stacks};
use crate::insn::cpu::{Order, sigp, spx, stap, stpx};
use crate::interruption::{self, Class};
use crate::lowcore;
use crate::psw::{self, Psw};

/// The runtime looks at CPU addresses below this one.
pub const MOST_CPUS: u16 = 16;
/// The status bit of a stopped CPU.
pub const STOPPED: u32 = 0x40;
/// The status bit of an incorrect state.
pub const INCORRECT_STATE: u32 = 0x200;
/// The status bit of an invalid parameter.
pub const INVALID_PARAMETER: u32 = 0x100;
/// The status bit of an invalid order.
pub const INVALID_ORDER: u32 = 0x2;

#[repr(C, align(8192))]
struct PrefixArea([u8; 8192]);

static mut PREFIX_AREAS: [PrefixArea; MOST_CPUS as usize - 1] =
    [const { PrefixArea([0; 8192]) }; MOST_CPUS as usize - 1];
static mut OTHER_STACKS: [Stacks; MOST_CPUS as usize - 1] = [const {
    Stacks {
        classes: [[0; CLASS_STACK]; 6],
        start: [0; STACK],
    }
}; MOST_CPUS as usize - 1];

global_asm!(
    ".section .text.cpu_start,\"ax\",@progbits",
    ".globl cpu_start",
    "cpu_start:",
    "lg %r15, 0x7C0(%r0)",
    "lg %r1, 0x7C8(%r0)",
    "basr %r14, %r1",
    "j .",
);

unsafe extern "C" {
    /// Enters the function at [`lowcore::CPU_FUNCTION`] on the stack at [`lowcore::CPU_STACK`].
    pub(crate) fn cpu_start();
}

/// SIGNAL PROCESSOR until it is not busy. Returns condition code and status.
pub fn signal(cpu: u16, order: Order, parameter: u32) -> (u8, u32) {
    loop {
        let (cc, status) = sigp(cpu, order, parameter);
        if cc != 2 {
            return (cc, status);
        }
        crate::insn::yield_cpu();
    }
}

/// Whether this CPU address is operational.
#[must_use]
pub fn present(cpu: u16) -> bool {
    signal(cpu, Order::Sense, 0).0 != 3
}

/// How many CPUs the configuration has, among the addresses that the runtime looks at.
#[must_use]
pub fn count() -> u16 {
    (0..MOST_CPUS).take_while(|&cpu| present(cpu)).count() as u16
}

/// The absolute address of the prefix area that [`start`] gives a CPU (1 or higher).
#[must_use]
pub fn prefix_area(cpu: u16) -> usize {
    // SAFETY: the address only.
    unsafe { &raw const PREFIX_AREAS[usize::from(cpu) - 1] as usize }
}

/// Starts another CPU in `function` by SIGP SET PREFIX and RESTART. Sets up its prefix area, handlers and stacks; DAT
/// is off, and interruptions are disabled.
pub fn start(cpu: u16, function: extern "C" fn() -> !) {
    let area = prefix_area(cpu);
    // SAFETY: the address only.
    let stacks = unsafe { &raw const OTHER_STACKS[usize::from(cpu) - 1] as usize };
    // To write the assigned locations of the other CPU, takes over its prefix for a moment.
    let mine = stpx();
    spx(area as u32);
    interruption::establish(stacks, CLASS_STACK);
    lowcore::write(
        Class::Restart.new(),
        Psw::new(psw::INITIAL, cpu_start as *const () as u64),
    );
    lowcore::write(lowcore::CPU_STACK, stacks + size_of::<Stacks>() - 160);
    lowcore::write(lowcore::CPU_FUNCTION, function as usize);
    spx(mine);
    signal(cpu, Order::SetPrefix, area as u32);
    signal(cpu, Order::Restart, 0);
}

/// Stops one CPU and waits until it is stopped. Returns whether there is such a CPU.
pub fn stop(cpu: u16) -> bool {
    if signal(cpu, Order::Stop, 0).0 == 3 {
        return false;
    }
    loop {
        let (cc, status) = signal(cpu, Order::Sense, 0);
        if cc == 3 || (cc == 1 && status & STOPPED != 0) {
            return true;
        }
        crate::insn::yield_cpu();
    }
}

/// Stops every CPU but this one. The addresses of CPUs have no gaps.
pub fn stop_others() {
    let mine = stap();
    for cpu in (0..MOST_CPUS).filter(|&cpu| cpu != mine) {
        if !stop(cpu) {
            break;
        }
    }
}

/// A lock between CPUs. A CPU that waits for it gives its turn away (DIAGNOSE 44), so that under one virtual clock
/// the holder goes on.
pub struct Lock(AtomicBool);

impl Lock {
    /// A free lock.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Performs `critical` on one CPU at a time.
    pub fn with<R>(&self, critical: impl FnOnce() -> R) -> R {
        while self.0.swap(true, Ordering::Acquire) {
            crate::insn::yield_cpu();
        }
        let result = critical();
        self.0.store(false, Ordering::Release);
        result
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}
