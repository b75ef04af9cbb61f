//! SIGNAL PROCESSOR, store status and store additional status: the area has all registers of the stopped CPU when the
//! instruction ends. What is not stored there stays unchanged.

use core::sync::atomic::{AtomicBool, Ordering};

use guests::check::{check, holds};
use guests::insn::clock::{MICROSECOND, stckf};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::{Order, facility};
use guests::insn::registers::Registers;
use guests::insn::yield_cpu;
use guests::smp::{self, INCORRECT_STATE, INVALID_PARAMETER};

guests::clause!(
    "Principles of Operation, Signal-Processor Orders (stop and store status, store status at address, store \
     additional status at address)",
    native = true,
    cpus = 2,
    options = "; --real-time"
);
guests::case!(run);

/// An area for either kind of status, in doublewords.
#[repr(C, align(1024))]
struct Area([u64; 128]);
static mut AREA: Area = Area([0; 128]);

/// What was there before.
const BEFORE: u64 = 0x5A5A_5A5A_5A5A_5A5A;

static LOADED: AtomicBool = AtomicBool::new(false);

fn registers() -> Registers {
    let number = |n: usize| 0x0123_4567_89AB_CDEF_u64.rotate_left(n as u32) ^ n as u64;
    Registers {
        vectors: core::array::from_fn(|n| [number(n), !number(n)]),
        access: core::array::from_fn(|n| 0xACCE_5500 + n as u32),
        control: 0x0080_0000,
    }
}

/// Loads every register that other CPUs can find in a status.
extern "C" fn second() -> ! {
    let mut control = stctg_all();
    for (n, register) in control.iter_mut().enumerate().skip(2) {
        // Primary, secondary and home space are not used; nor are the masks.
        if matches!(n, 2..=5 | 7 | 12 | 15) {
            *register = 0x1_0000 * n as u64;
        }
    }
    lctlg_all(&control);
    registers().load();
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

fn area() -> *mut u64 {
    // SAFETY: the address only.
    unsafe { (&raw mut AREA.0).cast() }
}

/// The doubleword at an offset of the area.
fn doubleword(offset: usize) -> u64 {
    // SAFETY: inside the area.
    unsafe { area().byte_add(offset).read_volatile() }
}

fn word(offset: usize) -> u32 {
    // SAFETY: inside the area.
    unsafe { area().byte_add(offset).cast::<u32>().read_volatile() }
}

fn fill() {
    for n in 0..128 {
        // SAFETY: inside the area.
        unsafe { area().add(n).write_volatile(BEFORE) };
    }
}

/// Checks a status at an absolute address.
fn has_status(at: *const u8) {
    let expected = registers();
    // SAFETY: 512 bytes that a CPU has stored.
    let (doubleword, word) = unsafe {
        (
            |offset: usize| at.add(offset).cast::<u64>().read_volatile(),
            |offset: usize| at.add(offset).cast::<u32>().read_volatile(),
        )
    };
    holds(
        "floating-point registers",
        (0..16).all(|n| doubleword(8 * n) == expected.vectors[n][0]),
    );
    check("general register 2", doubleword(0x80 + 8 * 2), 0xFEED);
    check("general register 13", doubleword(0x80 + 8 * 13), 0xFEED);
    check("prefix", word(0x118), smp::prefix_area(1) as u32);
    check("floating-point control", word(0x11C), expected.control);
    check("TOD programmable register", word(0x124), 0);
    holds(
        "access registers",
        (0..16).all(|n| word(0x140 + 4 * n) == expected.access[n]),
    );
    holds(
        "control registers",
        [2, 3, 4, 5, 7, 12, 15]
            .iter()
            .all(|&n| doubleword(0x180 + 8 * n) == 0x1_0000 * n as u64),
    );
}

fn order(order: Order, parameter: u32) -> u64 {
    let (cc, status) = smp::signal(1, order, parameter);
    u64::from(cc) << 32 | u64::from(status)
}

fn run() {
    let at = area() as usize as u32;
    smp::start(1, second);
    while !LOADED.load(Ordering::Acquire) {
        yield_cpu();
    }
    let refused = |status: u32| 1 << 32 | u64::from(status);
    let additional = Order::StoreAdditionalStatusAtAddress;
    check(
        "additional status of an operating CPU",
        order(additional, at),
        refused(INCORRECT_STATE),
    );
    smp::stop(1);
    fill();
    check(
        "store status at address",
        order(Order::StoreStatusAtAddress, at),
        0,
    );
    // The area is looked at at once.
    has_status(area().cast());
    check("behind the area", doubleword(512), BEFORE);
    let timer = doubleword(0x128);
    let end = stckf() + 1000 * MICROSECOND;
    while stckf() < end {}
    check(
        "a millisecond later",
        order(Order::StoreStatusAtAddress, at),
        0,
    );
    holds("the CPU timer stood still", doubleword(0x128) == timer);
    holds("the vector facility is installed", facility(129));
    for (name, parameter) in [
        ("on a 512-byte boundary", at + 512),
        ("with a length", at + 10),
    ] {
        check(
            name,
            order(additional, parameter),
            refused(INVALID_PARAMETER),
        );
    }
    fill();
    check("store additional status", order(additional, at), 0);
    let expected = registers();
    holds(
        "vector registers",
        (0..32).all(|n| [doubleword(16 * n), doubleword(16 * n + 8)] == expected.vectors[n]),
    );
    holds(
        "behind them nothing is stored",
        (64..128).all(|n| doubleword(8 * n) == BEFORE),
    );
    check("word behind", word(512), BEFORE as u32);
    check(
        "stop and store status",
        order(Order::StopAndStoreStatus, 0),
        0,
    );
    while order(Order::Sense, 0) != refused(smp::STOPPED) {
        yield_cpu();
    }
    has_status(core::ptr::with_exposed_provenance(0x1200));
}
