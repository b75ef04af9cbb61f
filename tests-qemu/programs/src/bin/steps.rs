//! Known shares: of every 100 instructions in the program itself 90 are in `hot` and 10 in `warm`. The kernel also
//! clears pages for it.
#![no_std]
#![no_main]

use programs::{call, steps::steps};

/// How often the program does all of it.
const ROUNDS: u32 = 1_000;

/// Pages that the kernel clears in a round, so that some of a hundred samples are the kernel's.
const PAGES: u32 = 40;

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
    let Ok(zeros) = call::open(c"/dev/zero") else {
        return 1;
    };
    let mut page = [0xFF; 4096];
    for _ in 0..ROUNDS {
        hot();
        warm();
        for _ in 0..PAGES {
            if call::read(zeros, &mut page) != Ok(4096) {
                return 2;
            }
        }
    }
    0
}
