//! DIAGNOSE 288 on two CPUs: whichever sets the watchdog, and whatever CPU 0 does, the guest is loaded again on CPU 0 when
//! the time is over. It is no other time if the clock is set.

use core::arch::asm;

use guests::check::{check, holds};
use guests::insn::clock::{sck, stck};
use guests::insn::control::wait;
use guests::insn::cpu::{Order, stap};
use guests::{psw, smp};

guests::clause!(
    "DIAGNOSE 288",
    native = false,
    cpus = 2,
    options = "--qemu-arg '-device diag288'"
);
guests::case!(run);

/// Clock units in a second.
const SECOND: u64 = 1_000_000 << 12;
const YEAR: u64 = 31_536_000 * SECOND;

/// Two doublewords that nothing of the guest is loaded into: how often it was loaded, and the clock when it sets the watchdog.
const MARK: usize = 0x10_0000;

fn mark(index: usize) -> *mut u64 {
    core::ptr::with_exposed_provenance_mut::<u64>(MARK).wrapping_add(index)
}

/// Enables the watchdog for so many seconds.
fn begin(seconds: u64) {
    // SAFETY: the doubleword is nothing else's, and the watchdog changes nothing before it expires.
    unsafe {
        mark(1).write_volatile(stck());
        asm!("diag %r2, %r4, 0x288", in("r2") 0_u64, in("r3") seconds, in("r4") 0_u64);
    }
}

fn rest() -> ! {
    loop {
        wait(psw::EXTERNAL);
    }
}

/// CPU 0 waits already.
extern "C" fn sets_it() -> ! {
    begin(20);
    rest()
}

extern "C" fn stops_cpu_0() -> ! {
    begin(15);
    smp::stop(0);
    rest()
}

/// The clock is set a year forward.
extern "C" fn sets_the_clock() -> ! {
    begin(25);
    let now = stck();
    check("the clock can be set", sck(now + YEAR), 0);
    // SAFETY: nothing else uses it.
    unsafe { mark(1).write_volatile(mark(1).read_volatile() + YEAR) };
    rest()
}

fn run() {
    // SAFETY: nothing else uses them.
    let (loads, began) = unsafe { (mark(0).read_volatile(), mark(1).read_volatile()) };
    // SAFETY: nothing else uses it.
    unsafe { mark(0).write_volatile(loads + 1) };
    let passed = (stck() - began) / SECOND;
    if loads != 0 {
        check("it is loaded on CPU 0", stap(), 0);
        let (cc, status) = smp::signal(1, Order::Sense, 0);
        holds("CPU 1 is stopped", (cc, status) == (1, smp::STOPPED));
    }
    match loads {
        0 => smp::start(1, sets_it),
        1 => {
            check("seconds, when CPU 0 waits", passed, 20);
            smp::start(1, stops_cpu_0);
        }
        2 => {
            check("seconds, when CPU 0 is stopped", passed, 15);
            smp::start(1, sets_the_clock);
        }
        _ => {
            check("seconds, when the clock is set", passed, 25);
            return;
        }
    }
    rest()
}
