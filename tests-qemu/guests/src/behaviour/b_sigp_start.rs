//! The stopped state: a CPU resumes where it was when it is started, and begins anew when it is restarted, again and
//! again. Its timer stands still meanwhile, and conditions stay pending. (QEMU sometimes leaves a started CPU asleep, and
//! stores an old CPU timer, hence not native.)

use core::sync::atomic::{AtomicU32, Ordering};

use guests::insn::clock::{MICROSECOND, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, wait};
use guests::insn::cpu::Order;
use guests::insn::yield_cpu;
use guests::interruption::Class;
use guests::psw::Psw;
use guests::smp::{self, STOPPED, signal};
use guests::{externals, psw, shows};

guests::clause!(
    "SA22-7832, Chapter 4, Stopped, Operating, Load, and Check-Stop States; Signal-Processor Orders (start, stop, restart)",
    native = false,
    cpus = 2
);
guests::case!(run);

static STARTS: AtomicU32 = AtomicU32::new(0);
static COUNT: AtomicU32 = AtomicU32::new(0);

extern "C" fn count() -> ! {
    STARTS.fetch_add(1, Ordering::Relaxed);
    loop {
        COUNT.fetch_add(1, Ordering::Relaxed);
        yield_cpu();
    }
}

fn wait_for_progress() {
    let before = COUNT.load(Ordering::Relaxed);
    while COUNT.load(Ordering::Relaxed) == before {
        yield_cpu();
    }
}

/// A status, in doublewords.
#[repr(C, align(512))]
struct Status([u64; 64]);
static mut STATUS: Status = Status([0; 64]);

/// A doubleword of the status of the other CPU, which is stopped.
fn stored(offset: usize) -> u64 {
    let at = &raw const STATUS as usize;
    signal(1, Order::StoreStatusAtAddress, at as u32);
    // SAFETY: inside the status.
    unsafe { core::ptr::with_exposed_provenance::<u64>(at + offset).read_volatile() }
}

const PSW: usize = 0x100;
const TIMER: usize = 0x128;

fn delay(microseconds: u64) {
    let end = stckf() + microseconds * MICROSECOND;
    while stckf() < end {}
}

fn start_and_stop() {
    smp::start(1, count);
    wait_for_progress();
    let mut failed = 0;
    for _ in 0..20 {
        smp::stop(1);
        let stopped = COUNT.load(Ordering::Relaxed);
        yield_cpu();
        if COUNT.load(Ordering::Relaxed) != stopped || signal(1, Order::Start, 0).0 != 0 {
            failed += 1;
        }
        wait_for_progress();
    }
    shows!(
        ["CPUSTATE-3", "SIGP-23"],
        (failed, STARTS.load(Ordering::Relaxed)),
        (0, 1)
    );
    shows!("SIGP-24", signal(1, Order::Start, 0), (0, 0));
}

fn restart() {
    shows!("SIGP-25", signal(1, Order::Restart, 0), (0, 0));
    while STARTS.load(Ordering::Relaxed) == 1 {
        yield_cpu();
    }
    smp::stop(1);
    let before = (stored(PSW), stored(PSW + 8));
    shows!("SIGP-26", signal(1, Order::Restart, 0), (0, 0));
    while STARTS.load(Ordering::Relaxed) == 2 {
        yield_cpu();
    }
    shows!("SIGP-26", STARTS.load(Ordering::Relaxed), 3);
    // The old PSW is the one that the CPU had when it was stopped.
    let old = smp::prefix_area(1) + Class::Restart.old();
    // SAFETY: in the other CPU's prefix area.
    let old: Psw = unsafe { core::ptr::with_exposed_provenance::<Psw>(old).read_volatile() };
    shows!("INTERRUPTION-11", (old.mask, old.address), before);
}

fn stands_still() {
    smp::stop(1);
    let timer = stored(TIMER);
    let clock = stckf();
    delay(1000);
    shows!("CPUSTATE-4", stored(TIMER), timer);
    shows!("CPUSTATE-5", stckf() - clock >= 1000 * MICROSECOND);
    signal(1, Order::CpuReset, 0);
    shows!("RESET-8", stored(TIMER), timer);
    let at = &raw const STATUS as usize as u32;
    shows!(
        "SIGP-27",
        signal(1, Order::StoreStatusAtAddress, 0x7FFF_FE00),
        (1, smp::INVALID_PARAMETER)
    );
    let both = smp::INVALID_PARAMETER | smp::INCORRECT_STATE;
    signal(1, Order::Start, 0);
    shows!(
        "SIGP-27",
        signal(1, Order::StoreStatusAtAddress, 0x7FFF_FE00),
        (1, both)
    );
    shows!(
        "SIGP-13",
        signal(1, Order::StoreStatusAtAddress, at),
        (1, smp::INCORRECT_STATE)
    );
    shows!(
        "SIGP-13",
        signal(0, Order::StoreStatusAtAddress, at),
        (1, smp::INCORRECT_STATE)
    );
    smp::stop(1);
}

/// Waits with the masks of an emergency signal open, and counts.
extern "C" fn waits() -> ! {
    externals::record();
    lctlg_0(stctg_0() | externals::EMERGENCY_SIGNAL);
    loop {
        STARTS.fetch_add(1, Ordering::Release);
        wait(psw::EXTERNAL);
        stnsm::<0xFE>();
        COUNT.fetch_add(1, Ordering::Release);
    }
}

fn wait_state() {
    COUNT.store(0, Ordering::Relaxed);
    STARTS.store(0, Ordering::Relaxed);
    smp::start(1, waits);
    while STARTS.load(Ordering::Acquire) == 0 || signal(1, Order::SenseRunningStatus, 0).0 == 0 {
        yield_cpu();
    }
    // It operates, and executes nothing.
    shows!("CPUSTATE-6", signal(1, Order::Sense, 0), (0, 0));
    shows!("CPUSTATE-6", COUNT.load(Ordering::Acquire), 0);
    smp::stop(1);
    let waiting = stored(PSW);
    let timer = stored(TIMER);
    shows!(
        "CPUSTATE-7",
        waiting & !(3 << 44),
        psw::INITIAL | psw::WAIT | psw::EXTERNAL
    );
    // Stopped, it takes no interruption for which it is enabled.
    signal(1, Order::EmergencySignal, 0);
    delay(1000);
    shows!(
        "CPUSTATE-8",
        (COUNT.load(Ordering::Acquire), stored(PSW)),
        (0, waiting)
    );
    shows!("CPUSTATE-8", signal(1, Order::Sense, 0), (1, STOPPED));
    signal(1, Order::Start, 0);
    while COUNT.load(Ordering::Acquire) == 0 {
        yield_cpu();
    }
    shows!("CPUSTATE-8", externals::get(0).code, 0x1201);
    // It waits again, and its timer runs meanwhile.
    while STARTS.load(Ordering::Acquire) == 1 {
        yield_cpu();
    }
    delay(1000);
    smp::stop(1);
    shows!("CPUSTATE-9", timer - stored(TIMER) >= 500 * MICROSECOND);
}

fn run() {
    start_and_stop();
    restart();
    stands_still();
    wait_state();
}
