//! The conditional emergency signal to a stopped CPU depends on the PSW and the address spaces of that CPU; to one that
//! operates it is not conditional. (QEMU takes every stopped CPU for one that waits, hence not native.)

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use guests::externals::{self, EMERGENCY_SIGNAL};
use guests::insn::control::{lctlg_0, lctlg_all, stctg_0, stctg_all, stnsm, stosm};
use guests::insn::cpu::Order;
use guests::insn::yield_cpu;
use guests::psw::{EXTERNAL, INITIAL, IO, Psw, WAIT};
use guests::shows;
use guests::smp::{self, INCORRECT_STATE};
use guests::status::{self, Status};

guests::clause!(
    "SA22-7832, Chapter 4, Signal-Processor Orders (conditional emergency signal)",
    native = false,
    cpus = 2
);
guests::case!(run);

/// The address-space numbers of the other CPU, and another one.
const PRIMARY: u32 = 5;
const SECONDARY: u32 = 6;
const OTHER: u32 = 7;

const BOTH: u64 = IO | EXTERNAL;

/// The PSW that the other CPU loads.
static MASK: AtomicU64 = AtomicU64::new(0);
static ADDRESS: AtomicU64 = AtomicU64::new(0);
/// How many signals the other CPU has found, plus one.
static FOUND: AtomicU64 = AtomicU64::new(0);

/// Loads the address-space numbers and the PSW. No interruption has its subclass mask.
extern "C" fn load() -> ! {
    let mut control = stctg_all();
    control[0] = 0;
    control[3] = SECONDARY.into();
    control[4] = PRIMARY.into();
    control[6] = 0;
    lctlg_all(&control);
    let (mask, address) = (&MASK, &ADDRESS);
    let psw = Psw::new(
        mask.load(Ordering::Acquire),
        address.load(Ordering::Acquire),
    );
    // SAFETY: the PSW waits, or leads to a loop.
    unsafe { asm!("lpswe 0({p})", p = in(reg_addr) &raw const psw, options(noreturn)) }
}

extern "C" fn turn() -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// Takes the signals that are pending.
extern "C" fn take() -> ! {
    externals::record();
    lctlg_0(stctg_0() | EMERGENCY_SIGNAL);
    stosm::<0x01>();
    stnsm::<0xFE>();
    FOUND.store(1 + externals::take_codes(), Ordering::Release);
    loop {
        yield_cpu();
    }
}

/// Starts the other CPU with this PSW, and stops it when it has loaded it.
fn stop_with(mask: u64, address: u64) {
    MASK.store(INITIAL | mask, Ordering::Relaxed);
    ADDRESS.store(address, Ordering::Release);
    smp::start(1, load);
    loop {
        yield_cpu();
        smp::stop(1);
        smp::signal(1, Order::StoreStatusAtAddress, status::area());
        let psw = Status::in_area().psw();
        let has_loaded = psw.mask & (BOTH | WAIT) == mask && psw.address & !0xF == address & !0xF;
        if has_loaded {
            return;
        }
        smp::signal(1, Order::Start, 0);
    }
}

/// The answer to the signal, and whether the other CPU then finds one.
fn signal(asn: u32) -> ((u8, u32), bool) {
    let answer = smp::signal(1, Order::ConditionalEmergencySignal, asn);
    FOUND.store(0, Ordering::Relaxed);
    smp::start(1, take);
    while FOUND.load(Ordering::Acquire) == 0 {
        yield_cpu();
    }
    smp::stop(1);
    (answer, FOUND.load(Ordering::Relaxed) != 1)
}

const PENDING: ((u8, u32), bool) = ((0, 0), true);
const REFUSED: ((u8, u32), bool) = ((1, INCORRECT_STATE), false);

fn run() {
    let loops = turn as *const () as u64;
    for mask in [0, IO, EXTERNAL] {
        stop_with(mask, loops);
        shows!("SIGP-34", signal(OTHER), PENDING);
        stop_with(mask | WAIT, 0);
        shows!("SIGP-34", signal(OTHER), PENDING);
    }
    stop_with(BOTH | WAIT, loops);
    shows!("SIGP-35", signal(OTHER), PENDING);
    for asn in [PRIMARY, SECONDARY, 0xFFFF_0000 | SECONDARY] {
        stop_with(BOTH, loops);
        shows!("SIGP-36", signal(asn), PENDING);
    }
    for asn in [PRIMARY, OTHER] {
        stop_with(BOTH | WAIT, 0);
        shows!("SIGP-22", signal(asn), REFUSED);
    }
    for asn in [0, OTHER] {
        stop_with(BOTH, loops);
        shows!("SIGP-22", signal(asn), REFUSED);
    }
    // The same CPU, started.
    stop_with(BOTH, loops);
    smp::signal(1, Order::Start, 0);
    shows!("SIGP-37", signal(OTHER), PENDING);
}
