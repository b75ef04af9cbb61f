//! A program that profiles its own machine by DIAGNOSE 700: in each of four phases of work, with a wait for the
//! operator behind each, it prints how many instructions were counted below it and how many it counted itself.
#![no_std]
#![no_main]

use guests::externals::wait_for_the_operator;
use guests::insn::measurement::{controls, ecctr, lcctl, set};
use guests::insn::service::{BASIC, EVENT_DATA, Request};
use guests::sampling::busy;
use guests::{end, println};

guests::clause!(
    "measure: a profiler in the guest, four phases of work",
    native = false
);
guests::guest!(run);

/// Turns of a phase.
const TURNS: u64 = 3_000_000;

/// Makes a request that must be done.
fn made(request: &mut Request) {
    let (_, reason) = request.make();
    if reason != 0 {
        println!("FAILED a request of the service: reason {reason:04X}");
        end::end_failure(0x10);
    }
}

/// Instructions of CPU 0 below the guest.
fn below(token: u64) -> u64 {
    let mut area = [0_u64; 64];
    made(&mut Request::query(EVENT_DATA, token, &mut area));
    // Head of 16 bytes, that of the CPU 24, that of the set 8; counter 0, counter 1.
    area[7]
}

fn run() {
    if lcctl(controls(set::BASIC, set::BASIC)) != 0 {
        println!("the basic counter set is not authorized");
        end::end_failure(0x11);
    }
    let mut start = Request::start(b"GUEST   ", BASIC);
    made(&mut start);
    let token = start.token;
    for phase in 1..=4 {
        let before = below(token);
        let (_, own) = ecctr(1);
        busy(TURNS);
        let (_, own_end) = ecctr(1);
        let counted = below(token) - before;
        let own = own_end - own;
        println!("phase {phase}: {own} instructions, below {counted}");
        wait_for_the_operator();
    }
    made(&mut Request::stop(token));
    println!("profiled");
}
