//! CPU reset and initial CPU reset by SIGNAL PROCESSOR: what they clear, what they set to an initial value, and what they
//! leave alone. A status that is stored before and after shows every register. (QEMU sometimes leaves a started CPU
//! asleep, hence not native.)

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guests::externals::{self, EMERGENCY_SIGNAL, EXTERNAL_CALL};
use guests::insn::clock::{MICROSECOND, stckf};
use guests::insn::control::{lctlg_0, stctg_0, stnsm, stosm};
use guests::insn::cpu::Order;
use guests::insn::yield_cpu;
use guests::psw::Psw;
use guests::smp::{self, STOPPED};
use guests::status::{self, Status, known};
use guests::{psw, shows};

guests::clause!(
    "SA22-7832, Chapter 4, Resets (CPU reset, initial CPU reset)",
    native = false,
    cpus = 2
);
guests::case!(run);

/// What a CPU was interrupted by after a reset, and that it is done.
static CODES: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicBool = AtomicBool::new(false);

/// Opens the masks of both signals for a moment.
extern "C" fn look() -> ! {
    externals::record();
    lctlg_0(stctg_0() | EMERGENCY_SIGNAL | EXTERNAL_CALL);
    stosm::<0x01>();
    stnsm::<0xFE>();
    CODES.store(externals::take_codes(), Ordering::Relaxed);
    DONE.store(true, Ordering::Release);
    loop {
        yield_cpu();
    }
}

/// Stores the status of the other CPU, which is stopped.
fn store_status() -> Status {
    let stored = smp::signal(1, Order::StoreStatusAtAddress, status::area());
    shows!("SIGP-15", stored, (0, 0));
    Status::in_area()
}

/// Whether general, floating-point and access registers are as they were loaded.
fn has_program_registers(status: Status) -> bool {
    known::has_general(status) && known::has_floating_point(status) && known::has_access(status)
}

/// Signals a stopped CPU twice, resets it, and lets it look for what is pending.
fn pending_signals(reset: Order) -> (u32, u32, u64) {
    smp::signal(1, Order::ExternalCall, 0);
    smp::signal(1, Order::EmergencySignal, 0);
    let before = smp::signal(1, Order::Sense, 0).1;
    smp::signal(1, reset, 0);
    let after = smp::signal(1, Order::Sense, 0).1;
    DONE.store(false, Ordering::Relaxed);
    smp::start(1, look);
    while !DONE.load(Ordering::Acquire) {
        yield_cpu();
    }
    smp::stop(1);
    (before, after, CODES.load(Ordering::Relaxed))
}

fn cpu_reset() {
    known::start(1);
    // It operates, and the reset stops it.
    shows!("RESET-1", smp::signal(1, Order::CpuReset, 0).0, 0);
    shows!("RESET-2", smp::signal(1, Order::Sense, 0), (1, STOPPED));
    let status = store_status();
    shows!("RESET-3", has_program_registers(status));
    shows!(
        "RESET-4",
        status.floating_point_control(),
        known::registers().control
    );
    shows!("RESET-5", known::has_control(status));
    shows!("RESET-6", status.prefix(), smp::prefix_area(1) as u32);
    shows!("RESET-7", status.psw().mask & !(3 << 44), psw::INITIAL);
    shows!(
        "RESET-7",
        (0x20_0000..0x80_0000).contains(&status.psw().address)
    );
    shows!("RESET-8", status.clock_comparator(), known::COMPARATOR >> 8);
    shows!(
        "RESET-9",
        pending_signals(Order::CpuReset),
        (STOPPED | 0x80, STOPPED, 0)
    );
}

fn initial_cpu_reset() {
    known::start(1);
    let before = stckf();
    shows!("RESET-10", smp::signal(1, Order::InitialCpuReset, 0).0, 0);
    shows!("RESET-11", smp::signal(1, Order::Sense, 0), (1, STOPPED));
    let status = store_status();
    shows!("RESET-12", has_program_registers(status));
    shows!("RESET-13", status.floating_point_control(), 0);
    shows!("RESET-14", status.control(0), 0xE0);
    shows!("RESET-15", status.control(14), 0xC200_0000);
    shows!(
        "RESET-16",
        (1..16).filter(|&n| n != 14).all(|n| status.control(n) == 0)
    );
    shows!("RESET-17", status.prefix(), 0);
    shows!("RESET-18", status.psw(), Psw::new(0, 0));
    shows!("RESET-19", status.clock_comparator(), 0);
    shows!("RESET-20", status.cpu_timer(), 0);
    let now = stckf();
    shows!(
        "RESET-21",
        now > before && now - before < 100_000_000 * MICROSECOND
    );
    shows!(
        "RESET-22",
        pending_signals(Order::InitialCpuReset),
        (STOPPED | 0x80, STOPPED, 0)
    );
}

fn run() {
    cpu_reset();
    initial_cpu_reset();
}
