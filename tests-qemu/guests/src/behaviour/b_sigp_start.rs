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
use guests::status::{self, Status};
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

/// The status of the other CPU, which is stopped.
fn stored() -> Status {
    signal(1, Order::StoreStatusAtAddress, status::area());
    Status::in_area()
}

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
    let before = stored().psw();
    shows!("SIGP-26", signal(1, Order::Restart, 0), (0, 0));
    while STARTS.load(Ordering::Relaxed) == 2 {
        yield_cpu();
    }
    shows!("SIGP-26", STARTS.load(Ordering::Relaxed), 3);
    // The old PSW is the one that the CPU had when it was stopped.
    let old = smp::prefix_area(1) + Class::Restart.old();
    // SAFETY: in the other CPU's prefix area.
    let old: Psw = unsafe { core::ptr::with_exposed_provenance::<Psw>(old).read_volatile() };
    shows!("INTERRUPTION-11", old, before);
}

fn stands_still() {
    smp::stop(1);
    let timer = stored().cpu_timer();
    let clock = stckf();
    delay(1000);
    shows!("CPUSTATE-4", stored().cpu_timer(), timer);
    shows!("CPUSTATE-5", stckf() - clock >= 1000 * MICROSECOND);
    signal(1, Order::CpuReset, 0);
    shows!("RESET-8", stored().cpu_timer(), timer);
    let at = status::area();
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
    let waiting = stored().psw().mask;
    let timer = stored().cpu_timer();
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
        (COUNT.load(Ordering::Acquire), stored().psw().mask),
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
    shows!(
        "CPUSTATE-9",
        timer - stored().cpu_timer() >= 500 * MICROSECOND
    );
}

fn run() {
    start_and_stop();
    restart();
    stands_still();
    wait_state();
}
