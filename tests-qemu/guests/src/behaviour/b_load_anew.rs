//! DIAGNOSE 308: load normal (subcode 4) and load clear (3) load the guest anew, with every CPU reset. Load
//! normal leaves storage alone where nothing is loaded, load clear clears it with its keys; the TOD clock goes on.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

use guests::check::{check, holds};
use guests::insn::clock::{sck, stck};
use guests::insn::control::{lctlg_4, stctg_all};
use guests::insn::cpu::{Order, spx, stpx};
use guests::insn::measurement::{controls, lcctl, lpp, lsctl, qctri, qsi, set};
use guests::insn::yield_cpu;
use guests::{lowcore, sampling, smp};

guests::clause!(
    "DIAGNOSE 308; Principles of Operation, Resets; SA23-2260, Resets",
    native = false,
    cpus = 2
);
guests::case!(run);

const LOAD_CLEAR: u64 = 3;
const LOAD_NORMAL: u64 = 4;

/// A doubleword where nothing of the guest is loaded, and what a guest leaves there.
const MARK: usize = 0x10_0000;
const LOADED_ONCE: u64 = 0x4C4F_4144_4544_2031;
/// A page where nothing of the guest is loaded, in which instructions are executed.
const CODE: usize = 0x11_0000;
/// A prefix.
const PREFIX: u32 = 0x12_0000;
/// The clock, set by the second guest: a time that the first one does not know.
const LATER: u64 = 0xF800_0000_0000_0000;

/// In what is loaded: a load brings the first value back.
static mut LOADED: u64 = 5;
/// As the first, but zeros.
static RUNNING: AtomicU32 = AtomicU32::new(0);

extern "C" fn other() -> ! {
    lcctl(controls(set::BASIC, set::BASIC));
    loop {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        yield_cpu();
    }
}

fn mark() -> *mut u64 {
    core::ptr::with_exposed_provenance_mut(MARK)
}

/// The storage key of the mark.
fn key() -> u64 {
    let mut key = 0_u64;
    // SAFETY: a storage key.
    unsafe { asm!("iske {k}, {a}", k = inout(reg) key, a = in(reg) MARK) };
    key & 0xF8
}

/// Executes `lghi %r2,NUMBER; br %r14` at [`CODE`], where it is put.
fn executed(number: u16) -> u64 {
    let code = core::ptr::with_exposed_provenance_mut::<u16>(CODE);
    let result: u64;
    // SAFETY: storage that nothing uses, and a leaf that changes one register.
    unsafe {
        for (n, halfword) in [0xA729, number, 0x07FE].into_iter().enumerate() {
            code.add(n).write_volatile(halfword);
        }
        asm!("basr %r14, {c}", c = in(reg) code, out("r2") result, out("r14") _);
    }
    result
}

/// Changes what a reset resets and a load loads, and has the guest loaded anew.
fn load(subcode: u64) -> ! {
    smp::start(1, other);
    while RUNNING.load(Ordering::Relaxed) == 0 {
        yield_cpu();
    }
    check(
        "counters active",
        lcctl(controls(set::BASIC, set::BASIC)),
        0,
    );
    check("sampling active", lsctl(&sampling::prepare(4, 10_000)), 0);
    lpp(0x99);
    lctlg_4(0x4444);
    check("executed", executed(subcode as u16), subcode);
    // SAFETY: nothing else looks at it; the prefix area is storage that nothing uses, and from here on
    // nothing is interrupted.
    unsafe {
        (&raw mut LOADED).write_volatile(6);
        asm!("sske {k}, {a}", k = in(reg) 0x30_u64, a = in(reg) MARK);
        spx(PREFIX);
        asm!("diag %r2, {s}, 0x308", "j .", s = in(reg_addr) subcode, options(noreturn));
    }
}

/// What every guest finds that was loaded anew.
fn after_load() {
    // SAFETY: nothing else looks at it.
    check("loaded", unsafe { (&raw const LOADED).read_volatile() }, 5);
    check("zeros", RUNNING.load(Ordering::Relaxed), 0);
    check("prefix", stpx(), 0);
    check("control register 4", stctg_all()[4], 0);
    let counters = qctri();
    check("counters", counters.enable | counters.activation, 0);
    check(
        "authorized",
        counters.authorization & set::BASIC,
        set::BASIC,
    );
    check("sampling", qsi().state, 0x0002_0000);
    let (cc, status) = smp::signal(1, Order::Sense, 0);
    check("the other CPU", u32::from(cc) << 16 | status, 0x1_0040);
}

fn run() {
    // SAFETY: storage that nothing else uses.
    let found = unsafe { mark().read_volatile() };
    let is_later = stck() >= LATER;
    match (found, is_later) {
        (0, false) => {
            guests::println!("loaded for the first time");
            // SAFETY: as above.
            unsafe { mark().write_volatile(LOADED_ONCE) };
            load(LOAD_NORMAL)
        }
        (LOADED_ONCE, false) => {
            guests::println!("load normal");
            after_load();
            check("the storage key", key(), 0x30);
            check("the clock can be set", sck(LATER), 0);
            load(LOAD_CLEAR)
        }
        (found, true) => {
            guests::println!("load clear");
            after_load();
            check("storage", found, 0);
            check("the storage key", key(), 0);
            check("what was executed", lowcore::read::<u64>(CODE), 0);
            check("what is executed", executed(77), 77);
        }
        _ => holds("it is the first guest or one that was loaded anew", false),
    }
}
