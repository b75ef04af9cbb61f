//! While a CPU has not carried out an order yet, it is busy: it accepts no other one, which then has no effect. (With
//! one virtual clock an order is always carried out before the next one, so this needs CPUs that run at the same
//! time.)

use core::sync::atomic::{AtomicU32, Ordering};

use guests::insn::cpu::{Order, sigp};
use guests::insn::yield_cpu;
use guests::shows;
use guests::smp::{self, STOPPED, signal};

guests::clause!(
    "SA22-7832, Chapter 4, CPU Signaling and Response (busy)",
    native = false,
    cpus = 2,
    options = "--real-time"
);
guests::case!(run);

/// So often an order may be accepted at once.
const MOST: u32 = 100_000;

static COUNT: AtomicU32 = AtomicU32::new(0);

extern "C" fn count() -> ! {
    loop {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

fn run() {
    smp::start(1, count);
    let mut found = None;
    for _ in 0..MOST {
        let before = COUNT.load(Ordering::Relaxed);
        while COUNT.load(Ordering::Relaxed) == before {
            yield_cpu();
        }
        // Stop, and a start that the CPU does not accept.
        let stop = sigp(1, Order::Stop, 0).0;
        let start = sigp(1, Order::Start, 0);
        if (stop, start.0) == (0, 2) {
            found = Some((start.1, signal(1, Order::Sense, 0)));
            break;
        }
        let _ = signal(1, Order::Start, 0);
    }
    shows!("SIGP-33", found, Some((0, (1, STOPPED))));
    smp::stop(1);
}
