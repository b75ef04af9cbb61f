//! A dispatcher in the manner of z/OS: it loads a program parameter for each unit of work, and the unit then works for a
//! while. Two tasks of one address space, a service request of another, and a task with the bit of a dispatched wait.
#![no_std]
#![no_main]

use guests::insn::measurement::lpp;
use guests::sampling::busy;

guests::clause!("measure: program parameters of z/OS", native = false);
guests::guest!(run);

/// Each unit's program parameter, and how many times 100,000 turns it works.
const UNITS: [(u64, u64); 4] = [
    // TCB address, S 0, home ASN, task-ID token.
    (0x008F_1234_0023_0001, 4),
    (0x008F_5678_0023_0002, 3),
    // WEB address, S 1, home ASN, partial WEB address.
    (0x0234_5678_8005_5678, 2),
    // W, and no TCB.
    (0x8000_0000_0001_0000, 1),
];

fn run() {
    for _ in 0..10 {
        for (parameter, turns) in UNITS {
            lpp(parameter);
            busy(100_000 * turns);
        }
    }
    lpp(0);
    guests::println!("all units have worked");
}
