//! Known shares: of every 100 instructions in the program itself 90 are in `hot` and 10 in `warm`. The kernel also
//! works for it, so that some of a hundred samples are the kernel's.
#![no_std]
#![no_main]

use programs::{call, steps::steps};

/// How often the program does all of it.
const ROUNDS: u32 = 1_000;

programs::program!(run);

// Not a multiple of an interval, so that samples fall everywhere.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn hot() {
    steps(90_090);
}

#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn warm() {
    steps(10_010);
}

fn run() -> u8 {
    // The kernel composes this text anew for each reader: much work for two system calls.
    let Ok(storage) = call::open(c"/proc/meminfo") else {
        return 1;
    };
    let mut text = [0; 4096];
    for _ in 0..ROUNDS {
        hot();
        warm();
        if call::rewind(storage).is_err() || call::read(storage, &mut text).is_err() {
            return 2;
        }
    }
    0
}
