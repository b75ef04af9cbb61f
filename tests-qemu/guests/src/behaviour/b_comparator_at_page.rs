//! The clock comparator and the CPU timer interrupt once, however near to the first instruction of a page that has changed
//! since it was executed last: before it, or when it has been fetched. What the program does next depends on which of them
//! it was, so a run that is performed again must have the same order.

use core::arch::asm;
use core::hint::black_box;
use core::ptr::write_volatile;
use core::sync::atomic::{AtomicU64, Ordering};

use guests::check::check;
use guests::externals::{CLOCK_COMPARATOR, CPU_TIMER};
use guests::insn::clock::{MICROSECOND, sckc, spt, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::cpu::Page;
use guests::interruption::{self, Class, Registers, old_psw};

guests::clause!(
    "SA22-7832, Chapter 6, Priority of Interruptions",
    native = true
);
guests::case!(run);

static mut CODE: Page = Page([0; 4096]);

/// When the interruption came, or zero, and before which instruction.
static INTERRUPTED: AtomicU64 = AtomicU64::new(0);
static BEFORE: AtomicU64 = AtomicU64::new(0);

extern "C" fn handler(_: &mut Registers) {
    sckc(u64::MAX);
    spt(i64::MAX);
    INTERRUPTED.store(stckf(), Ordering::Relaxed);
    BEFORE.store(old_psw(Class::External).address, Ordering::Relaxed);
}

/// BR 14 and a no-operation.
const RETURN: u32 = 0x07FE_0700;

/// Sets a timer so that it interrupts `ahead` clock units from now, branches to the page, and comes back. Gives the clock at
/// which it is due.
macro_rules! branch {
    ($set:literal, $ahead:expr) => {{
        let ahead: u64 = $ahead;
        let mut due = 0_u64;
        // SAFETY: the page holds a branch back.
        unsafe {
            write_volatile((&raw mut CODE).cast(), RETURN);
            asm!(
                "stckf 0({due})",
                "alg {until}, 0({due})",
                "stg {until}, 0({due})",
                $set,
                "basr %r14, {code}",
                due = in(reg_addr) &raw mut due,
                until = inout(reg) ahead => _,
                timer = in(reg_addr) &raw const ahead,
                code = in(reg_addr) &raw const CODE,
                out("r14") _,
            );
        }
        due
    }};
}

fn comparator(ahead: u64) -> u64 {
    branch!("sckc 0({due}) # {timer}", ahead)
}

fn cpu_timer(ahead: u64) -> u64 {
    branch!("spt 0({timer})", ahead)
}

/// Whether the timer interrupts once when it is set to this distance.
fn interrupts(branch: fn(u64) -> u64, ahead: u64) -> bool {
    let due = branch(ahead);
    while stckf() < due + 64 {}
    let at = INTERRUPTED.swap(0, Ordering::Relaxed);
    // A machine may take longer to fetch the page than to interrupt.
    for microsecond in 0..at.saturating_sub(due) / MICROSECOND {
        black_box(microsecond);
    }
    at >= due
}

/// About the least distance at which the timer interrupts before the page, not before the branch to it.
fn nearest(branch: fn(u64) -> u64) -> u64 {
    let (mut before, mut at) = (0, 1 << 14);
    while at - before > 1 {
        let middle = (before + at) / 2;
        let is_interrupted = interrupts(branch, middle);
        let page = &raw const CODE as u64;
        if is_interrupted && BEFORE.load(Ordering::Relaxed) >= page {
            at = middle;
        } else {
            before = middle;
        }
    }
    at
}

fn run() {
    interruption::replace(Class::External, handler);
    sckc(u64::MAX);
    spt(i64::MAX);
    let cr0 = stctg_0();
    lctlg_0(cr0 | CLOCK_COMPARATOR | CPU_TIMER);
    stosm::<0x01>();
    for timer in [comparator, cpu_timer] {
        let nearest = nearest(timer);
        // Each place of some instructions, in clock units.
        let count = (0..96).filter(|more| interrupts(timer, (nearest + more).saturating_sub(48)));
        check("interruptions", count.count(), 96);
    }
    stnsm::<0xFE>();
    lctlg_0(cr0);
}
