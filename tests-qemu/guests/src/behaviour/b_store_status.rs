//! SIGNAL PROCESSOR, store status and store additional status: the area has all registers of the stopped CPU when the
//! instruction ends. What is not stored there stays unchanged.

use core::sync::atomic::{AtomicBool, Ordering};

use guests::insn::clock::{MICROSECOND, sckc, stckf};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::{Order, facility};
use guests::insn::registers::Registers;
use guests::insn::yield_cpu;
use guests::shows;
use guests::smp::{self, INCORRECT_STATE, INVALID_PARAMETER};

guests::clause!(
    "SA22-7832, Chapter 4, Store Status; Signal-Processor Orders (stop and store status, store status at address, store \
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

/// The clock comparator of the other CPU.
const COMPARATOR: u64 = 0xFEDC_BA98_7654_3200;

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
    sckc(COMPARATOR);
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
    shows!(
        "STATUS-3",
        (0..16).all(|n| doubleword(8 * n) == expected.vectors[n][0])
    );
    shows!(
        "STATUS-4",
        (doubleword(0x80 + 8 * 2), doubleword(0x80 + 8 * 13)),
        (0xFEED, 0xFEED)
    );
    shows!("STATUS-2", word(0x118), smp::prefix_area(1) as u32);
    shows!("STATUS-5", word(0x11C), expected.control);
    shows!("STATUS-6", word(0x124), 0);
    shows!(
        "STATUS-7",
        (0..16).all(|n| word(0x140 + 4 * n) == expected.access[n])
    );
    shows!(
        "STATUS-8",
        [2, 3, 4, 5, 7, 12, 15]
            .iter()
            .all(|&n| doubleword(0x180 + 8 * n) == 0x1_0000 * n as u64)
    );
    shows!("STATUS-9", doubleword(0x130), COMPARATOR >> 8);
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
    shows!("SIGP-28", order(additional, at), refused(INCORRECT_STATE));
    smp::stop(1);
    fill();
    shows!("SIGP-15", order(Order::StoreStatusAtAddress, at), 0);
    // The area is looked at at once.
    has_status(area().cast());
    shows!("STATUS-10", doubleword(512), BEFORE);
    let timer = doubleword(0x128);
    let end = stckf() + 1000 * MICROSECOND;
    while stckf() < end {}
    shows!("SIGP-15", order(Order::StoreStatusAtAddress, at), 0);
    shows!("STATUS-11", doubleword(0x128), timer);
    shows!("SIGP-29", facility(129));
    for parameter in [at + 512, at + 10] {
        shows!(
            "SIGP-28",
            order(additional, parameter),
            refused(INVALID_PARAMETER)
        );
    }
    fill();
    shows!("SIGP-29", order(additional, at), 0);
    let expected = registers();
    shows!(
        "SIGP-29",
        (0..32).all(|n| [doubleword(16 * n), doubleword(16 * n + 8)] == expected.vectors[n])
    );
    shows!("SIGP-30", (64..128).all(|n| doubleword(8 * n) == BEFORE));
    shows!("SIGP-31", order(Order::StopAndStoreStatus, 0), 0);
    while order(Order::Sense, 0) != refused(smp::STOPPED) {
        yield_cpu();
    }
    has_status(core::ptr::with_exposed_provenance(0x1200));
    // SAFETY: an assigned location.
    let mode = unsafe { core::ptr::with_exposed_provenance::<u8>(0xA3).read_volatile() };
    shows!("STATUS-12", mode, 1);
}
