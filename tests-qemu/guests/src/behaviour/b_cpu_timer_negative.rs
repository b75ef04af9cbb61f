//! A negative CPU timer reads negative, goes on decrementing, and its condition is pending as long as it is negative:
//! it interrupts each time the masks open, until a positive value removes the condition. (QEMU's own timer interrupts
//! once for each change to negative and reads positive, hence not native.)

use core::sync::atomic::{AtomicU32, Ordering};

use guests::externals::CPU_TIMER;
use guests::insn::clock::{MICROSECOND, spt, stckf, stpt};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::interruption::{self, Class, Registers};
use guests::{lowcore, shows};

guests::clause!(
    "SA22-7832, Chapter 4, CPU Timer; Chapter 10, SET CPU TIMER",
    native = false
);
guests::case!(run);

static TIMER: AtomicU32 = AtomicU32::new(0);
static OTHER: AtomicU32 = AtomicU32::new(0);

extern "C" fn external(_: &mut Registers) {
    if lowcore::read::<u16>(lowcore::EXTERNAL_CODE) == 0x1005 {
        // The condition stays. The handler sets the timer at the third interruption.
        if TIMER.fetch_add(1, Ordering::Relaxed) == 2 {
            spt(i64::MAX);
        }
    } else {
        OTHER.fetch_add(1, Ordering::Relaxed);
    }
}

fn delay(microseconds: u64) {
    let end = stckf() + microseconds * MICROSECOND;
    while stckf() < end {}
}

fn run() {
    interruption::replace(Class::External, external);
    lctlg_0(stctg_0() | CPU_TIMER);
    spt(50 * MICROSECOND as i64);
    delay(200);
    let first = stpt();
    let second = stpt();
    shows!("TIMER-3", first < 0);
    shows!("TIMER-3", second < first);
    spt(-1);
    shows!("TIMER-4", stpt() < 0);
    shows!("TIMER-4", TIMER.load(Ordering::Relaxed), 0);
    stosm::<0x01>();
    delay(50);
    stnsm::<0xFE>();
    shows!(["TIMER-5", "SPT-3"], TIMER.load(Ordering::Relaxed), 3);
    spt(50 * MICROSECOND as i64);
    delay(200);
    spt(i64::MAX);
    stosm::<0x01>();
    delay(50);
    stnsm::<0xFE>();
    shows!(["TIMER-6", "SPT-2"], TIMER.load(Ordering::Relaxed), 3);
    shows!("TIMER-6", OTHER.load(Ordering::Relaxed), 0);
}
