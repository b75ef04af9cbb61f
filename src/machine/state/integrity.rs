//! The parts of the HSA that must not change, and whether they have.
//!
//! The firmware runs with DAT off, so no hardware protects its own storage from it. Instead some parts are
//! summed before the guest starts and again when it has ended: the image's text and constants, the guard pages
//! below the stacks, the guest's program as it is kept, and the unused part of the HSA.
//!
//! A frame that is larger than a page may lie across a guard page without changing it. So the last quarter of
//! each stack must not change either: a stack is found too small before it overflows.

use crate::arch::address::PAGE;
use crate::machine::hardware::hsa::{Plan, STACK};
use crate::machine::io::failure;

/// The sums that [`check`] compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    text: u64,
    guards: u64,
    program: u64,
    unused: u64,
}

/// A sum of doublewords that depends on their order. It is of all that the guest's program has, so several are summed at once.
fn sum(from: u64, to: u64) -> u64 {
    const AT_ONCE: usize = 16;
    let (mut sum, mut at) = (0u64, from);
    while at + 8 * AT_ONCE as u64 <= to {
        sum = added::<AT_ONCE>(sum, at);
        at += 8 * AT_ONCE as u64;
    }
    while at + 8 <= to {
        sum = added::<1>(sum, at);
        at += 8;
    }
    sum
}

/// The sum with the next `N` doublewords.
#[inline(always)]
fn added<const N: usize>(sum: u64, at: u64) -> u64 {
    let place = core::ptr::with_exposed_provenance::<[u64; N]>(at as usize);
    // SAFETY: doublewords of the HSA; what is kept need not be on a boundary.
    let words = unsafe { place.read_unaligned() };
    let add = |sum: u64, word: &u64| sum.rotate_left(5).wrapping_add(*word);
    words.iter().fold(sum, add)
}

/// Sums what must not change. The host may change the part of the kept program from the first of the `open` addresses up to
/// the second, while it holds the guest.
#[must_use]
pub fn sums(plan: &Plan, open: (u64, u64)) -> Sums {
    let (base, constants_end, _) = failure::image();
    let guards = plan.cpus.iter().fold(0u64, |all, cpu| {
        let end = cpu.guard + PAGE + STACK / 4;
        all.rotate_left(1).wrapping_add(sum(cpu.guard, end))
    });
    Sums {
        text: sum(base, constants_end),
        guards,
        program: sum(plan.kept, open.0).wrapping_add(sum(open.1, plan.end)),
        unused: sum(plan.unused, plan.kept),
    }
}

/// Compares with the sums from before the guest started.
pub fn check(plan: &Plan, open: (u64, u64), before: &Sums) -> Result<(), &'static str> {
    let now = sums(plan, open);
    if now.text != before.text {
        Err("image text or constants")
    } else if now.guards != before.guards {
        Err("the last quarter of a stack, or the guard page below it")
    } else if now.program != before.program {
        Err("the guest's program as it is kept")
    } else if now.unused != before.unused {
        Err("storage of the HSA that nothing uses")
    } else {
        Ok(())
    }
}
