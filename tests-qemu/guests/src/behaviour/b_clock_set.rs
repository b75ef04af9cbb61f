//! SET CLOCK sets the one TOD clock of the configuration and changes no CPU timer. A CPU that waits for its CPU timer
//! is interrupted at the same time as without SET CLOCK, and then sees the clock that another CPU set. (QEMU
//! sometimes leaves a started CPU asleep, hence not native.)

use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use guests::check::{check, holds};
use guests::externals::{self, CPU_TIMER};
use guests::insn::clock::{MICROSECOND, sck, spt, stck, stckf, stpt};
use guests::insn::control::{lctlg_0, stctg_0, wait};
use guests::insn::yield_cpu;
use guests::{psw, smp};

guests::clause!(
    "Principles of Operation, SET CLOCK; CPU Timer",
    native = false,
    cpus = 2
);
guests::case!(run);

const HOUR: u64 = 3600 * 1_000_000 * MICROSECOND;
/// How long the other CPU waits.
const WAIT: i64 = 50_000 * MICROSECOND as i64;

static WAITS: AtomicBool = AtomicBool::new(false);
static SEEN: AtomicU64 = AtomicU64::new(0);
static REST: AtomicI64 = AtomicI64::new(0);

extern "C" fn other() -> ! {
    externals::record();
    lctlg_0(stctg_0() | CPU_TIMER);
    spt(WAIT);
    WAITS.store(true, Ordering::Release);
    wait(psw::EXTERNAL);
    REST.store(stpt(), Ordering::Relaxed);
    SEEN.store(stck(), Ordering::Release);
    loop {
        yield_cpu();
    }
}

fn run() {
    smp::start(1, other);
    while !WAITS.load(Ordering::Acquire) {
        yield_cpu();
    }
    let soon = stckf() + WAIT as u64 / 10;
    while stckf() < soon {}
    holds(
        "the other CPU waits",
        SEEN.load(Ordering::Acquire) == 0 && externals::recorded() == 0,
    );
    spt(i64::MAX);
    let before = stpt();
    let back = stckf() - 25 * HOUR;
    check("SET CLOCK a day back", sck(back), 0);
    holds(
        "it leaves this CPU's timer alone",
        before - stpt() < WAIT / 10,
    );
    while SEEN.load(Ordering::Acquire) == 0 && stckf() - back < HOUR {
        yield_cpu();
    }
    let seen = SEEN.load(Ordering::Acquire);
    check(
        "the other CPU's timer interrupts",
        externals::take_codes(),
        0x1005,
    );
    holds(
        "not long after it should",
        seen > back && seen - back < 4 * WAIT as u64,
    );
    holds(
        "and not before",
        seen - back > WAIT as u64 / 2 && REST.load(Ordering::Relaxed) > 0,
    );
    smp::stop_others();
}
