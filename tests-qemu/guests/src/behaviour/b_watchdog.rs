//! DIAGNOSE 288: the watchdog. When its time is over, the guest is loaded again.

use guests::attempt::suppressed;
use guests::attempt_on_registers;
use guests::check::check;
use guests::insn::clock::stck;
use guests::insn::control::wait;
use guests::psw;

guests::clause!(
    "DIAGNOSE 288",
    native = true,
    options = "--qemu-arg '-device diag288'"
);
guests::case!(run);

const INITIALIZE: u64 = 0;
const CHANGE: u64 = 1;
const CANCEL: u64 = 2;
const SPECIFICATION: u16 = 6;

/// Clock units in a second.
const SECOND: u64 = 1_000_000 << 12;

/// A doubleword that nothing of the guest is loaded into: the clock when the watchdog was set.
const MARK: usize = 0x10_0000;

fn mark() -> *mut u64 {
    core::ptr::with_exposed_provenance_mut(MARK)
}

/// DIAGNOSE 288 with the pair of registers 2 and 3 and the action in register 4.
fn watchdog(function: u64, seconds: u64, action: u64) -> u64 {
    let mut registers = [0, function, seconds, action, 0];
    attempt_on_registers!("diag %r2, %r4, 0x288", &mut registers).number()
}

/// What is refused, and what is not.
fn requests() {
    let refused = suppressed(SPECIFICATION, 4);
    for (name, function, seconds, action) in [
        ("changed before it is set", CHANGE, 15, 0),
        ("cancelled before it is set", CANCEL, 0, 0),
        ("less than 15 seconds", INITIALIZE, 14, 0),
        ("another action", INITIALIZE, 15, 1),
        ("another function", 3, 15, 0),
        ("a function that needs more than 32 bits", 1 << 32, 15, 0),
    ] {
        check(name, watchdog(function, seconds, action), refused);
    }
    let mut registers = [0, 15, INITIALIZE, 0, 0];
    let odd = attempt_on_registers!("diag %r3, %r4, 0x288", &mut registers);
    check("an odd register", odd.number(), refused);
    check("set", watchdog(INITIALIZE, 15, 0), 0);
    check("set again", watchdog(INITIALIZE, 16, 0), 0);
    check("changed", watchdog(CHANGE, 15, 0), 0);
    check("changed to less", watchdog(CHANGE, 14, 0), refused);
    check("cancelled", watchdog(CANCEL, 0, 0), 0);
    check("cancelled twice", watchdog(CANCEL, 0, 0), refused);
    check("changed when cancelled", watchdog(CHANGE, 15, 0), refused);
}

fn run() {
    // SAFETY: nothing else uses it.
    let began = unsafe { mark().read_volatile() };
    if began == 0 {
        requests();
        check("it is set", watchdog(INITIALIZE, 15, 0), 0);
        // SAFETY: nothing else uses it.
        unsafe { mark().write_volatile(stck()) };
        guests::println!("waits");
        loop {
            wait(psw::EXTERNAL);
        }
    }
    guests::println!("loaded again");
    check("seconds until it expired", (stck() - began) / SECOND, 15);
    let disabled = watchdog(CHANGE, 15, 0);
    check("it is disabled", disabled, suppressed(SPECIFICATION, 4));
}
