//! CPU reset and initial CPU reset by SIGNAL PROCESSOR: what they clear, what they set to an initial value, and what they
//! leave alone. A status that is stored before and after shows every register. (QEMU sometimes leaves a started CPU
//! asleep, hence not native.)

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guests::externals::{self, EMERGENCY_SIGNAL, EXTERNAL_CALL};
use guests::insn::clock::{MICROSECOND, sckc, spt, stckf};
use guests::insn::control::{lctlg_0, lctlg_all, stctg_0, stctg_all, stnsm, stosm};
use guests::insn::cpu::Order;
use guests::insn::registers::Registers;
use guests::insn::yield_cpu;
use guests::smp::{self, STOPPED};
use guests::{psw, shows};

guests::clause!(
    "SA22-7832, Chapter 4, Resets (CPU reset, initial CPU reset)",
    native = false,
    cpus = 2
);
guests::case!(run);

/// A status, in doublewords, and its places.
#[repr(C, align(512))]
struct Status([u64; 64]);
static mut STATUS: Status = Status([0; 64]);

const FLOATING_POINT: usize = 0;
const GENERAL: usize = 0x80;
const PSW: usize = 0x100;
const PREFIX: usize = 0x118;
const FLOATING_POINT_CONTROL: usize = 0x11C;
const TIMER: usize = 0x128;
const COMPARATOR: usize = 0x130;
const ACCESS: usize = 0x140;
const CONTROL: usize = 0x180;

const COMPARATOR_SET: u64 = 0xFEDC_BA98_7654_3200;
/// The CPU timer that the other CPU sets: more than any time of this run.
const TIMER_SET: u64 = 1 << 61;

static LOADED: AtomicBool = AtomicBool::new(false);
/// What a CPU was interrupted by after a reset, and that it is done.
static CODES: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicBool = AtomicBool::new(false);

fn registers() -> Registers {
    let number = |n: usize| 0x0123_4567_89AB_CDEF_u64.rotate_left(n as u32) ^ n as u64;
    Registers {
        vectors: core::array::from_fn(|n| [number(n), !number(n)]),
        access: core::array::from_fn(|n| 0xACCE_5500 + n as u32),
        control: 0x0080_0000,
    }
}

/// Gives every register a value.
extern "C" fn second() -> ! {
    let mut control = stctg_all();
    for n in [2, 3, 4, 5, 7, 12, 15] {
        control[n] = 0x1_0000 * n as u64;
    }
    lctlg_all(&control);
    registers().load();
    sckc(COMPARATOR_SET);
    spt(TIMER_SET as i64);
    LOADED.store(true, Ordering::Release);
    // SAFETY: none of these registers is used again.
    unsafe {
        core::arch::asm!(
            "lgr %r2, {value}",
            "lgr %r13, {value}",
            "20: j 20b",
            value = in(reg) 0xFEED_u64,
            options(noreturn)
        )
    }
}

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

fn status() -> *mut u64 {
    // SAFETY: the address only.
    unsafe { (&raw mut STATUS.0).cast() }
}

fn doubleword(offset: usize) -> u64 {
    // SAFETY: inside the status.
    unsafe { status().byte_add(offset).read_volatile() }
}

fn word(offset: usize) -> u32 {
    // SAFETY: inside the status.
    unsafe { status().byte_add(offset).cast::<u32>().read_volatile() }
}

/// Stores the status of the other CPU, which is stopped.
fn store_status() {
    let at = status() as usize as u32;
    shows!(
        "SIGP-15",
        smp::signal(1, Order::StoreStatusAtAddress, at),
        (0, 0)
    );
}

/// Whether general, floating-point and access registers are as they were loaded.
fn program_registers() -> bool {
    let expected = registers();
    let general = [2, 13]
        .iter()
        .all(|n| doubleword(GENERAL + 8 * n) == 0xFEED);
    let floating = (0..16).all(|n| doubleword(FLOATING_POINT + 8 * n) == expected.vectors[n][0]);
    let access = (0..16).all(|n| word(ACCESS + 4 * n) == expected.access[n]);
    general && floating && access
}

fn start_second() {
    LOADED.store(false, Ordering::Relaxed);
    smp::start(1, second);
    while !LOADED.load(Ordering::Acquire) {
        yield_cpu();
    }
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
    start_second();
    // It operates, and the reset stops it.
    shows!("RESET-1", smp::signal(1, Order::CpuReset, 0).0, 0);
    shows!("RESET-2", smp::signal(1, Order::Sense, 0), (1, STOPPED));
    store_status();
    shows!("RESET-3", program_registers());
    shows!("RESET-4", word(FLOATING_POINT_CONTROL), registers().control);
    shows!(
        "RESET-5",
        [2, 3, 4, 5, 7, 12, 15]
            .iter()
            .all(|&n| doubleword(CONTROL + 8 * n) == 0x1_0000 * n as u64)
    );
    shows!("RESET-6", word(PREFIX), smp::prefix_area(1) as u32);
    shows!("RESET-7", doubleword(PSW) & !(3 << 44), psw::INITIAL);
    shows!(
        "RESET-7",
        (0x20_0000..0x80_0000).contains(&doubleword(PSW + 8))
    );
    shows!("RESET-8", doubleword(COMPARATOR), COMPARATOR_SET >> 8);
    shows!(
        "RESET-9",
        pending_signals(Order::CpuReset),
        (STOPPED | 0x80, STOPPED, 0)
    );
}

fn initial_cpu_reset() {
    start_second();
    let before = stckf();
    shows!("RESET-10", smp::signal(1, Order::InitialCpuReset, 0).0, 0);
    shows!("RESET-11", smp::signal(1, Order::Sense, 0), (1, STOPPED));
    store_status();
    shows!("RESET-12", program_registers());
    shows!("RESET-13", word(FLOATING_POINT_CONTROL), 0);
    let control = |n: usize| doubleword(CONTROL + 8 * n);
    shows!("RESET-14", control(0), 0xE0);
    shows!("RESET-15", control(14), 0xC200_0000);
    shows!(
        "RESET-16",
        (1..16).filter(|&n| n != 14).all(|n| control(n) == 0)
    );
    shows!("RESET-17", word(PREFIX), 0);
    shows!("RESET-18", (doubleword(PSW), doubleword(PSW + 8)), (0, 0));
    shows!("RESET-19", doubleword(COMPARATOR), 0);
    shows!("RESET-20", doubleword(TIMER), 0);
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
