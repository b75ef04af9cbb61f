//! MOVE PAGE replaces text that has been executed, and the new text is executed the next time. Each has an EXECUTE whose
//! target may be any instruction. As the control program with DAT off and on, and as a program of it.
//!
//! QEMU notices only the first byte of what MOVE PAGE stores, and goes on with what it has translated of the rest.

use guests::attempt_on_registers;
use guests::check::check;
use guests::routines::{self, Program, routine};

guests::clause!(
    "Principles of Operation, Conceptual Sequence (instruction fetching); MOVE PAGE; EXECUTE",
    native = false
);
guests::case!(run);

/// The page that is executed, and the one from which it is replaced.
const EXECUTED: usize = 0;
const NEXT: usize = 0x1000;

/// EX 2,0(3) and BR 14.
const EXECUTE: usize = 0x300;
/// LGHI 2,n and BR 14.
const LOAD: usize = 0x980;

fn run() {
    for page in [EXECUTED, NEXT] {
        routines::put(page + EXECUTE, &[0x4420, 0x3000, 0x07FE]);
    }
    Program::each(|program| {
        for n in 1..5_u16 {
            routines::put(NEXT + LOAD, &[0xA729, n, 0x07FE]);
            let [to, from] = [EXECUTED, NEXT].map(routine);
            let moved = attempt_on_registers!("mvpg %r2, %r3", &mut [0, to, from, 0, 0]);
            check("MOVE PAGE", moved.condition_code(), 0);
            let [loaded, ..] = program.call(EXECUTED + LOAD, &[]);
            check("what the new text loads", loaded, n.into());
        }
    });
}
