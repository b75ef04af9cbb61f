//! DIAGNOSE 308: load normal (subcode 4) and load clear (3) load the guest anew and reset every CPU. Load normal
//! leaves storage alone that nothing is loaded into; load clear clears it, and its keys. The TOD clock goes on.

use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

use guests::check::{check, holds};
use guests::insn::clock::{sck, stck};
use guests::insn::control::{lctlg_4, stctg_all};
use guests::insn::cpu::{Order, spx, stpx};
use guests::insn::measurement::{controls, lcctl, lpp, lsctl, qctri, qsi, set};
use guests::insn::yield_cpu;
use guests::{lowcore, sampling, shows, smp};

guests::clause!(
    "DIAGNOSE 308; SA22-7832, Chapter 4, Resets; Initial Program Loading; SA23-2260, Resets",
    native = false,
    cpus = 2
);
guests::case!(run);

const LOAD_CLEAR: u64 = 3;
const LOAD_NORMAL: u64 = 4;

/// A doubleword that nothing of the guest is loaded into, and the value that a guest leaves there.
const MARK: usize = 0x10_0000;
const LOADED_ONCE: u64 = 0x4C4F_4144_4544_2031;
/// A page that nothing of the guest is loaded into, for instructions to execute.
const CODE: usize = 0x11_0000;
/// A prefix.
const PREFIX: u32 = 0x12_0000;
/// The time that the second guest sets the clock to. The first guest does not know it.
const LATER: u64 = 0xF800_0000_0000_0000;

/// Part of the loaded image: a load restores its first value.
static mut LOADED: u64 = 5;
/// The same, but zeros.
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

/// Puts `lghi %r2,NUMBER; br %r14` at [`CODE`] and executes it.
fn executed(number: u16) -> u64 {
    let code = core::ptr::with_exposed_provenance_mut::<u16>(CODE);
    let result: u64;
    // SAFETY: storage that nothing else uses, and a leaf function that changes one register.
    unsafe {
        for (n, halfword) in [0xA729, number, 0x07FE].into_iter().enumerate() {
            code.add(n).write_volatile(halfword);
        }
        asm!("basr %r14, {c}", c = in(reg) code, out("r2") result, out("r14") _);
    }
    result
}

/// Changes everything that a reset resets and a load loads, and loads the guest anew.
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
    // SAFETY: nothing else looks at it. Nothing else uses the storage for the prefix area, and from here on no
    // interruption occurs.
    unsafe {
        (&raw mut LOADED).write_volatile(6);
        asm!("sske {k}, {a}", k = in(reg) 0x30_u64, a = in(reg) MARK);
        spx(PREFIX);
        asm!("diag %r2, {s}, 0x308", "j .", s = in(reg_addr) subcode, options(noreturn));
    }
}

/// Checks the state of every guest that was loaded anew.
fn after_load() {
    // SAFETY: nothing else looks at it.
    check("loaded", unsafe { (&raw const LOADED).read_volatile() }, 5);
    check("zeros", RUNNING.load(Ordering::Relaxed), 0);
    shows!("LOADING-1", (stpx(), stctg_all()[4]), (0, 0));
    let counters = qctri();
    check("counters", counters.enable | counters.activation, 0);
    check(
        "authorized",
        counters.authorization & set::BASIC,
        set::BASIC,
    );
    check("sampling", qsi().state, 0x0002_0000);
    let (cc, status) = smp::signal(1, Order::Sense, 0);
    shows!("LOADING-2", (cc, status), (1, 0x40));
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
            // The mark has been found: this is how it is known.
            shows!("LOADING-3", found, LOADED_ONCE);
            shows!("LOADING-4", key(), 0x30);
            shows!("LOADING-7", sck(LATER), 0);
            load(LOAD_CLEAR)
        }
        (found, true) => {
            guests::println!("load clear");
            after_load();
            shows!("LOADING-5", found, 0);
            shows!("LOADING-6", key(), 0);
            shows!("LOADING-5", lowcore::read::<u64>(CODE), 0);
            check("what is executed", executed(77), 77);
            // The first program did not know the time that the second one has set.
            shows!("LOADING-7", is_later);
        }
        _ => holds("it is the first guest or one that was loaded anew", false),
    }
}
