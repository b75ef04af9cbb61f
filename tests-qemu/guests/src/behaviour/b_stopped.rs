//! A guest that stops all its CPUs, itself last, has switched its machine off, which is a success. A CPU that is
//! stopped while an order to start it is on its way goes on.

use guests::insn::cpu::Order;
use guests::insn::yield_cpu;
use guests::smp;

guests::clause!(
    "Principles of Operation, Stopped, Operating, Load, and Check-Stop States; Millimeter: how a guest ends",
    native = true,
    cpus = 2
);
guests::case!(run);

/// Condition code 1 with the status stopped.
const STOPPED: (u8, u32) = (1, 0x40);

/// Starts CPU 0 as soon as it is stopped, and stops itself at once.
extern "C" fn start_the_first() -> ! {
    while smp::signal(0, Order::Sense, 0) != STOPPED {
        yield_cpu();
    }
    smp::signal(0, Order::Start, 0);
    loop {
        smp::signal(1, Order::Stop, 0);
    }
}

fn run() {
    smp::start(1, start_the_first);
    smp::signal(0, Order::Stop, 0);
    guests::println!("started again");
    while smp::signal(1, Order::Sense, 0) != STOPPED {
        yield_cpu();
    }
    guests::println!("about to stop the last CPU");
    loop {
        smp::signal(0, Order::Stop, 0);
    }
}
