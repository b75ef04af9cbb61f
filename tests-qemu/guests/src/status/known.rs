//! A CPU with a known value in every register that others can find in its status.

use core::sync::atomic::{AtomicBool, Ordering};

use super::Status;
use crate::insn::clock::{sckc, spt};
use crate::insn::control::{lctlg_all, stctg_all};
use crate::insn::registers::Registers;
use crate::insn::yield_cpu;
use crate::smp;

/// The contents of general registers 2 and 13.
const GENERAL: u64 = 0xFEED;
/// The control registers that are changed: the program uses none of them.
const CONTROL: [usize; 7] = [2, 3, 4, 5, 7, 12, 15];
/// The clock comparator.
pub const COMPARATOR: u64 = 0xFEDC_BA98_7654_3200;
/// The CPU timer: more than any time of a run.
const TIMER: u64 = 1 << 61;

static LOADED: AtomicBool = AtomicBool::new(false);

/// Starts a CPU and waits until it has loaded all registers. It then loops.
pub fn start(cpu: u16) {
    LOADED.store(false, Ordering::Relaxed);
    smp::start(cpu, load);
    while !LOADED.load(Ordering::Acquire) {
        yield_cpu();
    }
}

extern "C" fn load() -> ! {
    let mut control = stctg_all();
    for n in CONTROL {
        control[n] = control_register(n);
    }
    lctlg_all(&control);
    registers().load();
    sckc(COMPARATOR);
    spt(TIMER as i64);
    LOADED.store(true, Ordering::Release);
    // SAFETY: none of these registers is used again.
    unsafe {
        core::arch::asm!(
            "lgr %r2, {value}",
            "lgr %r13, {value}",
            "20: j 20b",
            value = in(reg) GENERAL,
            options(noreturn)
        )
    }
}

/// The floating-point, vector and access registers.
#[must_use]
pub fn registers() -> Registers {
    let number = |n: usize| 0x0123_4567_89AB_CDEF_u64.rotate_left(n as u32) ^ n as u64;
    Registers {
        vectors: core::array::from_fn(|n| [number(n), !number(n)]),
        access: core::array::from_fn(|n| 0xACCE_5500 + n as u32),
        control: 0x0080_0000,
    }
}

const fn control_register(n: usize) -> u64 {
    0x1_0000 * n as u64
}

/// Whether a status has the general registers.
#[must_use]
pub fn has_general(status: Status) -> bool {
    [2, 13].iter().all(|&n| status.general(n) == GENERAL)
}

/// Whether a status has the floating-point registers.
#[must_use]
pub fn has_floating_point(status: Status) -> bool {
    let vectors = registers().vectors;
    (0..16).all(|n| status.floating_point(n) == vectors[n][0])
}

/// Whether a status has the access registers.
#[must_use]
pub fn has_access(status: Status) -> bool {
    let access = registers().access;
    (0..16).all(|n| status.access(n) == access[n])
}

/// Whether a status has the control registers.
#[must_use]
pub fn has_control(status: Status) -> bool {
    let mut all = CONTROL.iter();
    all.all(|&n| status.control(n) == control_register(n))
}
